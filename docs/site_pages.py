"""Pages of the site that are made at each build: one for each name of `jointsparse`, and for each module, by room."""

import ast
from collections.abc import Iterable
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

from jointsparse import __all__ as TOP

SOURCE = Path(__file__).parents[1] / "src/jointsparse"
ROOMS = {  # in the order of the page
    "norms": "Norms and projections",
    "estimators": "Estimators",
    "features": "Features of pictures",
    "learning": "Training",
    "scores": "Scores and tests",
    "kept": "Models that are kept",
    "datasets": "Datasets",
    "papers": "The papers' experiments",
    "figures": "Figures",
    "explorer": "The page of a dataset",
    "provenance": "Files and records",
    "app": "The command",
}


def write_api(folder: Path) -> None:
    """Write the pages of the API, and their index. Files that would not change stay as they are."""
    wanted = {f"jointsparse.{name}.rst": _page(f"jointsparse.{name}", name, _directive(name)) for name in TOP}
    parts = ["# API", "", *_contents(f"jointsparse.{name}" for name in TOP), "Names to import from `jointsparse`:", ""]
    parts += _rows(f"jointsparse.{name}" for name in TOP)
    for room, title in ROOMS.items():
        names = [name for name in map(_dotted, sorted((SOURCE / room).rglob("*.py"))) if _has_more(name)]
        wanted |= {f"{name}.rst": _page(name, name.removeprefix("jointsparse."), "automodule") for name in names}
        parts += ["", f"## {title}", "", *_contents(names), *_rows(names)]
    wanted["index.md"] = "\n".join(parts) + "\n"
    folder.mkdir(exist_ok=True)
    for old in set(folder.iterdir()) - {folder / name for name in wanted}:
        old.unlink()
    for name, text in wanted.items():
        if not (folder / name).exists() or (folder / name).read_text() != text:
            (folder / name).write_text(text)


def _contents(names: Iterable[str]) -> list[str]:
    return ["```{toctree}", ":hidden:", "", *names, "```", ""]


def _rows(names: Iterable[str]) -> list[str]:
    """A table with the first sentence of each docstring."""
    rows = ["| name | is |", "|---|---|"]
    for name in names:
        module, _, last = name.rpartition(".")
        one = getattr(import_module(module), last) if last in TOP else import_module(name)
        first = " ".join(cleandoc(one.__doc__).split("\n\n")[0].split()).replace("|", "\\|")
        rows.append(f"| {{doc}}`{name.removeprefix('jointsparse.')} <{name}>` | {first} |")
    return rows


def _directive(name: str) -> str:
    return "autoclass" if name[0].isupper() else "autofunction"


def _page(name: str, title: str, directive: str) -> str:
    options = "   :members:\n   :inherited-members: BaseEstimator\n" if directive == "autoclass" else "   :members:\n"
    options = "" if directive == "autofunction" else options
    return f"{title}\n{'=' * len(title)}\n\n.. {directive}:: {name}\n{options}"


def _dotted(file: Path) -> str:
    return ".".join(["jointsparse", *file.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__")


def _has_more(name: str) -> bool:
    """True for a module with a public function or class that `jointsparse` itself does not offer, or for a room."""
    file = SOURCE.joinpath(*name.split(".")[1:])
    if file.is_dir():
        return True
    tree = ast.parse(file.with_suffix(".py").read_bytes())
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return any(name[0] != "_" and name not in TOP for name in found)

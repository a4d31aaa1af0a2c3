"""Pages of the site that are made at each build: one for each name of `jointsparse`, and for each module.

The library comes first, then the pipeline, which needs the extra.
"""

import ast
from collections.abc import Iterable
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

from jointsparse import __all__ as TOP

SOURCE = Path(__file__).parents[1] / "src/jointsparse"
LIBRARY = {  # titles with folders and files of the package, in the order of the page
    "Norms and projections": ("norms",),
    "Training": ("learning",),
    "Estimators": ("estimators",),
    "Features of pictures": ("features",),
    "Metrics, model files and pictures": ("metrics.py", "files.py", "pictures.py"),
}
PIPELINE = {
    "Datasets": ("datasets",),
    "Tasks and fits of a study": ("tasks.py", "sweep.py", "svm.py", "flag.py"),
    "Scores": ("scores",),
    "Figures": ("figures",),
    "Models that a run keeps": ("models",),
    "The papers' experiments": ("papers",),
    "The page of a dataset": ("explorer",),
    "Tables and records": ("provenance",),
    "The command": ("app",),
}
OF_PIPELINE = """## The pipeline

`jointsparse.pipeline` runs the papers' experiments, and your own data, with the library above. The library imports
nothing from it. It needs the extra: `pip install 'jointsparse[pipeline]'`. [Stages](../stages.md) says which rule of
the workflow calls which function.
"""


def write_api(folder: Path) -> None:
    """Write the pages of the API, and their index. Files that would not change stay as they are."""
    wanted = {f"jointsparse.{name}.rst": _page(f"jointsparse.{name}", name, _directive(name)) for name in TOP}
    parts = ["# API", "", *_contents(f"jointsparse.{name}" for name in TOP), "Names to import from `jointsparse`:", ""]
    parts += _rows(f"jointsparse.{name}" for name in TOP)
    for folder_of, titles, level in ((SOURCE, LIBRARY, "##"), (SOURCE / "pipeline", PIPELINE, "###")):
        parts += ["", OF_PIPELINE] if titles is PIPELINE else []
        for title, places in titles.items():
            names = [name for place in places for name in _modules(folder_of / place)]
            wanted |= {f"{name}.rst": _page(name, name.removeprefix("jointsparse."), "automodule") for name in names}
            parts += ["", f"{level} {title}", "", *_contents(names), *_rows(names)]
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


def _modules(place: Path) -> list[str]:
    """The modules of a folder, or of a file, that have a page."""
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    return [name for name in map(_dotted, files) if _has_more(name)]


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

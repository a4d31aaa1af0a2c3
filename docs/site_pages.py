"""Write the API pages of the site at each build: one page for each name of `jointsparse`, and one for each module.

The pages of the library come first, then those of the pipeline, which needs the extra.
"""

import ast
import re
from collections.abc import Iterable
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

from jointsparse import __all__ as TOP

SOURCE = Path(__file__).parents[1] / "src/jointsparse"
FIRST = ("project", "prox", "norm", "dual_norm", "fit", "Warm")  # what people look for on the page of a module
SEARCH_TERMS = {  # terms for which the site's search lists a page first; ! marks the main page for a term
    "jointsparse.norms.l1": "!project onto l1 ball, !l1 projection, !simplex projection, !soft thresholding",
    "jointsparse.norms.l1inf": "!project onto l1inf ball, !l1inf projection, !proximal operator",
    "jointsparse.norms.l12": "!project onto l12 ball, !group lasso projection",
    "jointsparse.norms.l2": "!project onto l2 ball, !l2 projection",
}
LIBRARY = {  # titles with folders and files of the package, in the order of the page
    "Norms and projections": ("norms",),
    "Training": ("learning",),
    "Estimators": ("estimators",),
    "Features of pictures": ("features",),
    "Metrics and pictures": ("metrics.py", "pictures.py"),
}
PIPELINE = {
    "Datasets": ("datasets",),
    "Tasks and fits of a study": ("words.py", "tasks.py", "sweep.py", "svm.py", "flag.py"),
    "Scores": ("scores",),
    "Figures": ("figures",),
    "Models that a run keeps": ("models",),
    "The papers' experiments": ("papers",),
    "Pages": ("page",),
    "Tables and records": ("provenance",),
    "The command": ("app",),
}
PIPELINE_HEAD = """## The pipeline

`jointsparse.pipeline` runs the papers' experiments and your own data with the library above, which imports nothing from
it. It needs the extra `pipeline`: `pip install '.[pipeline]'` in a checkout. [Stages](../stages.md) says which rule of
the workflow calls which function.
"""


def write_api(folder: Path) -> None:
    """Write the pages of the API and their index. Files that would not change are left alone."""
    wanted = {f"jointsparse.{name}.rst": _page_of_name(name) for name in TOP}
    parts = ["# API", "", *_contents(f"jointsparse.{name}" for name in TOP)]
    parts += ["The names that can be imported from `jointsparse` itself:", ""]
    parts += _rows(f"jointsparse.{name}" for name in TOP)
    for source, titles, level in ((SOURCE, LIBRARY, "##"), (SOURCE / "pipeline", PIPELINE, "###")):
        parts += ["", PIPELINE_HEAD] if titles is PIPELINE else []
        for title, places in titles.items():
            names = [name for place in places for name in _modules(source / place)]
            wanted |= {f"{name}.rst": _page_of_module(name) for name in names}
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
    """Return a table of the names with the first paragraph of each docstring."""
    rows = ["| name | description |", "|---|---|"]
    for name in names:
        module, _, last = name.rpartition(".")
        documented = getattr(import_module(module), last) if last in TOP else import_module(name)
        first = " ".join(cleandoc(documented.__doc__).split("\n\n")[0].split()).replace("|", "\\|")
        rows.append(f"| {{doc}}`{name.removeprefix('jointsparse.')} <{name}>` | {first} |")
    return rows


def _page_of_name(name: str) -> str:
    """Return the page of a name of `jointsparse`."""
    options = "   :members:\n   :inherited-members: BaseEstimator\n" if name[0].isupper() else ""
    directive = "autoclass" if name[0].isupper() else "autofunction"
    return f"{name}\n{'=' * len(name)}\n\n.. {directive}:: jointsparse.{name}\n{options}"


def _page_of_module(name: str) -> str:
    """Return the page of a module: what people call first, then the functions that it is built from."""
    title = name.removeprefix("jointsparse.")
    parts = [f".. index:: {SEARCH_TERMS[name]}\n"] if name in SEARCH_TERMS else []
    parts += [f"{title}\n{'=' * len(title)}\n", f".. automodule:: {name}\n"]
    members = sorted(_members(name), key=lambda member: FIRST.index(member[0]) if member[0] in FIRST else len(FIRST))
    main = [member for member, value in members if member in FIRST or re.search(r"\n *-----+\n", value.__doc__)]
    helpers = [member for member, _ in members if member not in main]
    for member in [*main, *helpers]:
        if main and helpers and member == helpers[0]:
            parts.append(".. rubric:: Building blocks\n")
        is_class = isinstance(getattr(import_module(name), member), type)
        parts.append(f".. auto{'class' if is_class else 'function'}:: {name}.{member}\n" + "   :members:\n" * is_class)
    return "\n".join(parts)


def _members(name: str) -> list[tuple[str, object]]:
    """Return the documented public functions and classes of a module, without kernels and names of `jointsparse`."""
    module = import_module(name)
    defined = [node.name for node in _definitions(name) if node.name[0] != "_" and node.name not in TOP]
    values = [(member, getattr(module, member)) for member in defined]
    return [(member, value) for member, value in values if value.__doc__ and not hasattr(value, "py_func")]


def _definitions(name: str) -> list[ast.FunctionDef | ast.ClassDef]:
    """Return the functions and classes that the file of a module defines."""
    file = SOURCE.joinpath(*name.split(".")[1:])
    file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    body = ast.parse(file.read_bytes()).body
    return [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def _modules(place: Path) -> list[str]:
    """Return the modules of a folder, or of a file, that have a page."""
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    return [name for name in map(_dotted, files) if _has_more(name)]


def _dotted(file: Path) -> str:
    return ".".join(["jointsparse", *file.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__")


def _has_more(name: str) -> bool:
    """Return True for a package, and for a module with public functions that `jointsparse` itself does not offer."""
    if SOURCE.joinpath(*name.split(".")[1:]).is_dir():
        return True
    return any(node.name[0] != "_" and node.name not in TOP for node in _definitions(name))

"""The library files that determine the results of a stage, each with a hash of its content."""

import ast
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import jointsparse
from jointsparse.pipeline.provenance import records
from jointsparse.pipeline.settings.datasets import LOADERS
from jointsparse.pipeline.settings.features import EXTRACTORS
from jointsparse.pipeline.settings.studies import EXPERIMENTS, LOSSES, NORMS, SOLVERS
from jointsparse.registry import ROOMS

PACKAGE = Path(jointsparse.__file__).parent  # the folder of the library
FOLDERS = {  # of plug-ins, by room
    "datasets": "pipeline/datasets",
    "experiments": "pipeline/papers/*",
    "features": "features",
    "losses": "learning/losses",
    "norms": "norms",
    "solvers": "learning/solvers",
}
PLUG_INS: Mapping[str, Iterable[str]] = {
    "datasets": LOADERS,
    "experiments": EXPERIMENTS,
    "features": EXTRACTORS,
    "losses": LOSSES,
    "norms": NORMS,
    "solvers": SOLVERS,
}
# For each file, its hash and the names that it imports, as read by this process and by an earlier one. The keys contain
# the size and dates of the file, so a changed file is read again.
_seen, _before = dict[str, list[Any]](), dict[str, list[Any]]()


def code_of(*files: str | Path, package: Path = PACKAGE) -> list[str]:
    """Return a line such as "norms/l1inf.py 3f9a…" for each file, and for each library file that it needs to import.

    files: names of library files in the package ("norms/l1inf.py"), or paths of scripts. Imports are not followed into
    the dictionaries of plug-ins, because the rules name the plug-ins that a stage uses.
    """
    scripts = {f"scripts/{file.name}": file for file in files if isinstance(file, Path)}
    todo = [
        *(file for file in files if isinstance(file, str)),
        *(name for script in scripts.values() for name in _imported(package, script)),
    ]
    found: dict[str, Path] = {}
    while todo:
        name = todo.pop()
        if name not in found:
            found[name] = package / name
            todo += _imported(package, found[name])
    return [f"{name} {_read(path)[0]}" for name, path in sorted((scripts | found).items())]


def params_of(
    scripts: Path,
    script: str,
    *files: str | Path,
    **picked: str | Callable[[Any], str],
) -> list[str | Callable[[Any], str]]:
    """Return the params of a rule that change with its code: one line per file that can change the rule's results.

    Parameters
    ----------
    scripts : path
        The folder of scripts.
    script : str
        The name of the rule's script.
    *files : str or path
        Further library files that the script does not import, or paths of modules in the script's folder.
    **picked : str or function
        For each room that is given as a keyword, the name of the plug-in that the script uses, or a function that
        returns this name for the wildcards of a job.

    Returns
    -------
    list of str or function
        The params. A file that only some plug-ins need has a param of its own, which is empty for jobs that use other
        plug-ins, so that a dry run names only the edited file.
    """
    params: list[str | Callable[[Any], str]] = [*code_of(scripts / f"{script}.py", *files)]
    for room_name, name in picked.items():
        lines_of = {plug_in: code_of(plug_in_file(room_name, plug_in)) for plug_in in PLUG_INS[room_name]}
        if isinstance(name, str):
            params += lines_of[name]
        else:
            lines = {line for own in lines_of.values() for line in own}.difference(params)
            params += [_if_needed(line, lines_of, name) for line in sorted(lines)]
    return params


def _if_needed(line: str, lines_of: Mapping[str, list[str]], name: Callable[[Any], str]) -> Callable[[Any], str]:
    """Return a param whose value is the line if the plug-in of a job needs the file, and otherwise an empty string."""
    return lambda w: line if line in lines_of[name(w)] else ""


def plug_in_file(room: str, name: str) -> str:
    """Return the library file of a plug-in, such as "norms/l1inf.py". It is named after the plug-in."""
    (file,) = [
        path.relative_to(PACKAGE).as_posix()
        for place in (f"{name}.py", f"{name}/__init__.py")
        for path in PACKAGE.glob(f"{FOLDERS[room]}/{place}")
    ]
    return file


@cache
def _imported(package: Path, path: Path) -> tuple[str, ...]:
    """Return the library files that a Python file imports."""
    return tuple(name for module in _read(path)[1] for name in _file_of(package, module))


@cache
def _read(path: Path) -> list[Any]:
    """Return the hash of a file and the names that it imports from the library. Unchanged files are not read again."""
    look = records.look(str(path))
    _seen[look] = _before.get(look) or [
        hashlib.sha256(path.read_bytes()).hexdigest()[:16],
        [name for name in _modules(path) if name.startswith("jointsparse")],
    ]
    return _seen[look]


def recall(file: str | Path) -> None:
    """Load the hashes and imports of library files that an earlier process has saved; see `keep`."""
    _before.update(records.read_json(file))


def keep(file: str | Path) -> None:
    """Save the hashes and imports of library files for later processes, if the file can be written."""
    if _seen != _before:
        with suppress(OSError):
            records.write_json(file, _seen)


def _modules(path: Path) -> Iterator[str]:
    """Yield the full name of everything that a Python file imports. Ruff ensures that imports are absolute."""
    todo: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))] if path.suffix == ".py" else []
    while todo:
        node = todo.pop()
        # ast.walk would also enter expressions, which would take most of the time.
        todo += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt | ast.excepthandler)]
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from [node.module, *(f"{node.module}.{name.name}" for name in node.names)]


@cache
def _file_of(package: Path, module: str) -> tuple[str, ...]:
    """Return the library file of a module; nothing for other libraries, dictionaries of plug-ins and empty packages."""
    library, _, inside = module.partition(".")
    file = inside.replace(".", "/")
    own = package / file / "__init__.py"
    if library != "jointsparse" or not file or module in {room.package for room in ROOMS.values()}:
        return ()
    if (package / f"{file}.py").is_file():
        return (f"{file}.py",)
    code = own.read_text(encoding="utf-8") if own.is_file() else ""
    return (f"{file}/__init__.py",) if re.search("^(def|class) ", code, re.MULTILINE) else ()

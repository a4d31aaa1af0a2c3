"""The library files that determine the results of a stage, each with a hash of its code.

The hash of a Python file is that of its syntax tree, so an edited comment or another layout does not rerun anything.
Docstrings count, because captions and claims come from docstrings. All other files are hashed byte by byte.
"""

import ast
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

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
STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)  # nodes that may contain imports


class Source(NamedTuple):
    """What a rule has to know about a file: the hash of its code, and the names that it imports from the library."""

    digest: str
    imports: list[str]


# The files that this process has read, and those that an earlier process had read. The keys contain the size and dates
# of the file, so a changed file is read again.
_seen, _before = dict[str, Source](), dict[str, Source]()


def code_of(*files: str | Path, package: Path = PACKAGE) -> list[str]:
    """Return a line such as "norms/l1inf.py 3f9a…" for each file, and for each library file that it needs to import.

    files: names of library files in the package ("norms/l1inf.py"), or absolute paths of scripts. Imports are not
    followed into the dictionaries of plug-ins, because the rules name the plug-ins that a stage uses.
    """
    found = {f"scripts/{file.name}" if isinstance(file, Path) else file: package / file for file in files}
    todo = list(found.values())
    while todo:
        for name in _imported(package, todo.pop()):
            if name not in found:
                found[name] = package / name
                todo.append(found[name])
    return [f"{name} {_source(path).digest}" for name, path in sorted(found.items())]


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
    return tuple(name for module in _source(path).imports for name in _file_of(package, module))


@cache
def _source(path: Path) -> Source:
    """Return the hash and the imports of a file. Unchanged files are not read again."""
    look = records.look(str(path))
    _seen[look] = _before.get(look) or _read(path)
    return _seen[look]


def recall(file: str | Path) -> None:
    """Load the hashes and imports of library files that an earlier process has saved; see `keep`."""
    _before.update({look: Source(*source) for look, source in records.read_json(file).items()})


def keep(file: str | Path) -> None:
    """Save the hashes and imports of library files for later processes, if the file can be written."""
    if _seen != _before:
        with suppress(OSError):
            records.write_json(file, _seen)


def _read(path: Path) -> Source:
    """Read a file. A Python file that cannot be parsed is hashed byte by byte: the job that runs it shows the error."""
    content, imports = path.read_bytes(), list[str]()
    if path.suffix == ".py":
        with suppress(SyntaxError, ValueError, RecursionError):
            tree = ast.parse(content)
            imports = [name for name in _modules(tree) if name.startswith("jointsparse")]
            content = _structure(tree).encode()
    return Source(hashlib.sha256(content).hexdigest()[:16], imports)


def _structure(node: Any) -> str:
    """Return a syntax tree as text.

    Unlike a list of tokens, the text does not depend on the version of Python, and f"{x=}" differs from f"{x = }".
    Empty fields are left out, unlike in `ast.dump`, because versions of Python differ in them.
    """
    if isinstance(node, ast.AST):
        fields = [f"{name}={_structure(field)}" for name, field in ast.iter_fields(node) if field not in (None, [])]
        return f"{type(node).__name__}({','.join(fields)})"
    return f"[{','.join(map(_structure, node))}]" if isinstance(node, list) else ascii(node)


def _modules(tree: ast.Module) -> Iterator[str]:
    """Yield the full name of everything that a Python file imports. Ruff ensures that imports are absolute."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        # ast.walk would also enter expressions, which would take most of the time.
        todo += [child for child in ast.iter_child_nodes(node) if isinstance(child, STATEMENTS)]
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from [node.module, *(f"{node.module}.{name.name}" for name in node.names)]


@cache
def _file_of(package: Path, module: str) -> tuple[str, ...]:
    """Return the library file of a module.

    Returns nothing for other libraries, dictionaries of plug-ins, and packages that are empty or only hand names on.
    """
    library, _, inside = module.partition(".")
    file = inside.replace(".", "/")
    own = package / file / "__init__.py"
    if library != "jointsparse" or file in ("", "pipeline") or module in {room.package for room in ROOMS.values()}:
        return ()
    if (package / f"{file}.py").is_file():
        return (f"{file}.py",)
    code = own.read_text(encoding="utf-8") if own.is_file() else ""
    return (f"{file}/__init__.py",) if re.search("^(def|class) ", code, re.MULTILINE) else ()

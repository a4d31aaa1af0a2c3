"""The library files that decide a stage's numbers, each with a hash of its content."""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from jointsparse.registry import ROOMS, room


def code_of(package: Path, *files: str | Path) -> list[str]:
    """Lines such as "norms/l1inf.py 3f9a…": one for each file, and for each library file that these import, in turn.

    package: the folder of the library. files: library files by name ("norms/l1inf", "figures/jointsparse.mplstyle"),
    or paths of scripts. The dictionaries of plug-ins are not followed, as rules name the plug-ins that a stage uses.
    """
    scripts = {file.name: file for file in files if isinstance(file, Path)}
    todo = [
        *(_named(package, file) for file in files if isinstance(file, str)),
        *(name for script in scripts.values() for name in _imported(package, script)),
    ]
    found: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += _imported(package, package / name)
    lines = {f"scripts/{name}": path for name, path in scripts.items()} | {name: package / name for name in found}
    return [f"{name} {_hash(lines[name])}" for name in sorted(lines)]


def plug_in_file(room_name: str, name: str) -> str:
    """The library file of a plug-in, such as "norms/l1inf"."""
    found = room(room_name)[name]
    module = found if isinstance(found, str) else found.__name__
    return module.removeprefix("jointsparse.").replace(".", "/")


def _named(package: Path, file: str) -> str:
    """The file of a module or a data file, relative to the package."""
    for name in (file, f"{file}.py", f"{file}/__init__.py"):
        if (package / name).is_file():
            return name
    raise FileNotFoundError(f"the library must hold {file}, got none in {package}")


@cache
def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


@cache
def _imported(package: Path, path: Path) -> tuple[str, ...]:
    """The library files that a Python file imports."""
    if path.suffix != ".py":
        return ()
    candidates = (
        module.removeprefix("jointsparse").removeprefix(".").replace(".", "/")
        for module in _modules(ast.parse(path.read_text(encoding="utf-8")))
    )
    return tuple(name for candidate in candidates for name in _file_of(package, candidate))


def _modules(tree: ast.Module) -> Iterator[str]:
    """Every name that may be a module of the library."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        # Not ast.walk, which also enters expressions: these take most of its time.
        todo += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt | ast.excepthandler)]
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] == "jointsparse")
        elif isinstance(node, ast.ImportFrom) and node.level:
            raise ValueError(f"imports must name the whole module, got {ast.unparse(node)}")
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "jointsparse":
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


@cache
def _file_of(package: Path, module: str) -> tuple[str, ...]:
    """The file of a module; none for other names, for a dictionary of plug-ins and for a package without code."""
    if module and (package / f"{module}.py").is_file():
        return (f"{module}.py",)
    own = package / module / "__init__.py"
    if not module or not own.is_file() or f"jointsparse.{module.replace('/', '.')}" in ROOMS.values():
        return ()
    tree = ast.parse(own.read_text(encoding="utf-8"))
    defines = any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in tree.body)
    hands_on = any(name.startswith(f"jointsparse.{module.replace('/', '.')}.") for name in _modules(tree))
    return (f"{module}/__init__.py",) if defines or hands_on else ()

"""Docstrings: their sections of parameters name the parameters of the signature, and their examples run."""

import ast
import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.py"))
LIBRARY = [file for file in FILES if "/pipeline/" not in file]  # tests/pipeline/test_readme.py runs the other examples
# Packages that the examples of a module need in addition to the four dependencies of the library.
NEEDS = {
    "jointsparse.estimators.displays": "matplotlib",
    "jointsparse.estimators.path": "pandas",
    "jointsparse.features.transformers": "PIL",
    "jointsparse.pictures": "PIL",
}
MOST_UNSECTIONED = 3  # number of parameters that a docstring may describe without a section


def parameters(node: ast.FunctionDef) -> list[str]:
    arguments = [*node.args.posonlyargs, *node.args.args, node.args.vararg, *node.args.kwonlyargs, node.args.kwarg]
    return [argument.arg for argument in arguments if argument is not None and argument.arg not in ("self", "cls")]


def is_public(node: ast.AST) -> bool:
    """Return True for a function that users may call: not private, no compiled kernel and no overload."""
    if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
        return False
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    return not any(word in decorator for decorator in decorators for word in ("njit", "overload"))


def documented(docstring: str) -> list[str]:
    """Return the names of the parameters in a numpydoc section."""
    section = re.search(r"(?ms)^Parameters\n-{3,}\n(.*?)(?=^\w[\w ]*\n-{3,}$|\Z)|\Z", docstring)
    lines = re.findall(r"(?m)^([*\w][*\w, ]*) : ", section[1] or "")
    return [name.strip(" *") for line in lines for name in line.split(",")]


def test_documented_parameters_match_the_signature():
    for file in FILES:
        for node in filter(is_public, ast.walk(ast.parse((ROOT / file).read_text()))):
            docstring, expected = ast.get_docstring(node), parameters(node)
            got = documented(docstring) if docstring else []
            if docstring and (got or len(expected) > MOST_UNSECTIONED):
                assert set(got) == set(expected), f"{file}:{node.lineno} {node.name}"


@pytest.mark.parametrize("file", [file for file in LIBRARY if "/_" not in file])
def test_examples_run(file):
    module = file.removeprefix("src/").removesuffix(".py").replace("/", ".")
    if module in NEEDS:
        pytest.importorskip(NEEDS[module])
    assert doctest.testmod(import_module(module)).failed == 0

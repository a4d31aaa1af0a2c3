"""What the README shows is true: its Python examples run."""

import doctest
from pathlib import Path


def test_python_examples_of_the_readme():
    readme = Path(__file__).parents[1] / "README.md"
    result = doctest.testfile(str(readme), module_relative=False)
    assert result.attempted > 1
    assert result.failed == 0


def test_examples_in_docstrings():
    package = Path(__file__).parents[1] / "src" / "jointsparse"
    names = [path.relative_to(package).with_suffix("") for path in package.rglob("*.py") if path.stem != "__init__"]
    for name in names:
        module = __import__("jointsparse." + ".".join(name.parts), fromlist=["_"])
        assert doctest.testmod(module).failed == 0, name

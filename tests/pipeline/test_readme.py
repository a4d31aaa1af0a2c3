"""README and documentation are true: examples run, links lead somewhere, and the table of stages has every rule."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest
from test_docstrings import FILES, LIBRARY, assert_parameters_are_those_of_the_signature

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "data" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "papers").glob("*.md")),
]


def rules() -> dict[str, str]:
    """The text of each rule of the workflow."""
    text = "".join(file.read_text() for file in sorted((ROOT / "workflow" / "rules").glob("*.smk")))
    parts = re.split(r"^rule (\w+):", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def table() -> list[list[str]]:
    """The rows of the table of rules: rule, library function, file."""
    page = (ROOT / "docs" / "stages.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `([\w.]+)`.*? \| (.*) \|$", page, re.MULTILINE)
    return [[rule, function, re.search("`(.+?)`", file)[1]] for rule, function, file in rows]


@pytest.mark.parametrize(
    "page", ["README.md", "docs/package.md", "docs/start.md", "docs/estimators.md", "docs/library.md"]
)
def test_python_examples(page):
    failed, attempted = doctest.testfile(str(ROOT / page), module_relative=False)
    assert attempted > 1 and failed == 0


def test_examples_in_docstrings_of_the_pipeline():
    for path in (ROOT / "src" / "jointsparse" / "pipeline").rglob("[!_]*.py"):
        name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        assert doctest.testmod(import_module(name)).failed == 0, name


@pytest.mark.parametrize("file", sorted(set(FILES) - set(LIBRARY)))
def test_parameters_of_docstrings_are_those_of_the_signature(file):
    assert_parameters_are_those_of_the_signature(file)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_of_the_checkout(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text())
    assert [link for link in links if not link.startswith("https://") and not (page.parent / link).exists()] == []


def test_the_readme_is_short_and_the_package_describes_itself_without_pictures_formulas_and_links():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 70
    assert not re.search(r"!\[|\$\$|\]\(", (ROOT / "docs" / "package.md").read_text())


def test_every_rule_has_a_row():
    assert [row[0] for row in table()] and {row[0] for row in table()} == set(rules())


@pytest.mark.parametrize(("rule", "function", "file"), table(), ids=[row[0] for row in table()])
def test_a_row_names_a_function_that_exists_and_a_file_of_the_rule(rule, function, file):
    module, _, name = function.rpartition(".")
    assert callable(getattr(import_module(f"jointsparse.{module}"), name))
    pattern = re.escape(file.removeprefix("…")).replace("<", "{").replace(">", "}")
    assert re.search(rf'[/"]{pattern}"', rules()[rule].replace("\n", " ")), f"{rule} leaves no {file}"

"""README and documentation are true: examples run, links lead somewhere, and the table of stages has every rule."""

import doctest
import re
import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_docstrings import FILES, LIBRARY, assert_parameters_are_those_of_the_signature

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "config" / "README.md",
    ROOT / "data" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "papers").glob("*.md")),
]


def in_one_line(page: str) -> str:
    """Return the text of a page without its line breaks."""
    return " ".join((ROOT / page).read_text().split())


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
    "page", ["README.md", "docs/index.md", "docs/package.md", "docs/start.md", "docs/estimators.md", "docs/library.md"]
)
def test_python_examples(page):
    failed, attempted = doctest.testfile(str(ROOT / page), module_relative=False)
    assert attempted > 1 and failed == 0


def test_the_oldest_supported_versions_are_those_of_the_package():
    bounds = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    stated = re.search(r"oldest versions that the library supports are (.*?\d)\. ", in_one_line("docs/start.md"))[1]
    expected = sorted(bound.replace(">=", " ") for bound in bounds)
    assert sorted(re.split(", | and ", stated.lower())) == expected


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
    assert len((ROOT / "README.md").read_text().splitlines()) <= 90
    assert not re.search(r"!\[|\$\$|\]\(", (ROOT / "docs" / "package.md").read_text())


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_numbers_beside_the_first_picture_are_those_of_its_table(page):
    table = pd.read_csv(ROOT / "docs" / "shared_features.csv").set_index("norm")
    used, error = table["features used"], (100 * table["test error"]).round().astype(int)
    row = table.loc["l1"]
    text = in_one_line(page)
    assert f"spread over {used['l1']} features, learnt together with l1,∞ they stay on {used['l1inf']}]" in text
    for number in (f"{row['tasks']:.0f} tasks", f"{row['relevant features']:.0f} of {row['features']:.0f} features"):
        assert number in text, number
    expected = {
        "README.md": f"(l1) uses {used['l1']} features and misclassifies {error['l1']} % of the test samples. Learning "
        f"all tasks together (l1,∞) uses {used['l1inf']} features and misclassifies {error['l1inf']} %",
        "docs/index.md": f"{used['l1inf']} features instead of {used['l1']}, error {error['l1inf']} % instead of "
        f"{error['l1']} %",
    }
    assert expected[page] in text


def test_milliseconds_on_the_start_page_are_those_of_the_benchmark():
    growth = pd.read_csv(ROOT / "docs" / "benchmarks" / "growth.csv").set_index("entries")
    newton, sort, limit = 1000 * growth.loc[1_000_000, ["newton", "sort", "limit"]].astype(float)
    race = pd.read_csv(ROOT / "docs" / "benchmarks" / "race.csv").query("ball == 'l1inf'")
    assert (
        f"Projecting 1,000,000 entries takes **{newton:.1f} ms**; the paper's algorithm takes {sort:.0f} ms, and "
        f"reading and writing the entries once takes {limit:.1f} ms. The projection was faster than the "
        f"best published code in {(race['ratio'] < 1).sum()} of {len(race)} cases."
    ) in in_one_line("docs/index.md")


def test_durations_of_runs_are_those_of_their_table():
    runs = pd.read_csv(ROOT / "docs" / "runs.csv").set_index("data")
    photographs, table = runs.loc["photographs"], runs.loc["table"]
    minutes, seconds = divmod(int(photographs["seconds"]), 60)
    size = f"{table['samples']:,.0f} × {table['features']:,.0f} features"
    assert (
        f"took {minutes} min {seconds} s and {photographs['mb']:.0f} MB for {photographs['samples']:,.0f} photographs, "
        f"and {table['seconds'] / 60:.0f} min for a table of {size} with {table['labels']:.0f} labels"
    ) in in_one_line("docs/questions.md")
    assert (
        f"takes {photographs['seconds'] / 60:.0f} minutes for {photographs['samples']:,.0f} photographs, and "
        f"{table['seconds'] / 60:.0f} minutes for a table of {size}"
    ) in in_one_line("README.md")


def test_numbers_of_many_photographs_are_those_of_their_table():
    measured = pd.read_csv(ROOT / "docs" / "scale.csv")
    largest, page = measured[measured["pictures"] == 100_000].set_index("stage"), in_one_line("docs/scale.md")
    rows = re.findall(r"\| `(\w+)`[^|]*\| ([\d.]+) \| ([\d.]+) \| (\d+) \| ([\d,]*)", page)
    for stage, seconds, power, mb, disk in rows:
        ends = measured[measured["stage"] == stage].set_index("pictures")["seconds"]
        slope = np.log(ends[100_000] / ends[3_000]) / np.log(100_000 / 3_000)
        row = largest.loc[stage]
        assert [round(row["seconds"]), round(row["mb"])] == [int(seconds), int(mb)], stage
        assert f"{slope:.2f}".removeprefix("0") == power and disk in ("", f"{row['disk_mb']:,.0f}"), stage
    others = largest.drop(index=[stage for stage, *_ in rows])
    assert (
        f"no other stage takes more than {np.ceil(others['seconds'].max()):.0f} s or {others['mb'].max():.0f} MB"
        in page
    )
    peak = measured.loc[measured["mb"].idxmax()]
    assert f"the {peak['mb']:,.0f} MB of `{peak['stage']}` for {peak['pictures']:,} photographs" in page


def test_commands_of_the_readme_are_targets_and_the_last_is_run_by_ci():
    commands = re.findall(r"^make ([\w-]+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    targets = re.findall(r"^([\w-]+):.* ## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert commands == ["digits", "reproduce-all", "test"] and {*commands} <= {*targets}
    assert "make test" in (ROOT / ".ci" / "run").read_text().splitlines()


def test_every_rule_has_a_row():
    assert [row[0] for row in table()] and {row[0] for row in table()} == set(rules())


@pytest.mark.parametrize(("rule", "function", "file"), table(), ids=[row[0] for row in table()])
def test_a_row_names_a_function_that_exists_and_a_file_of_the_rule(rule, function, file):
    module, _, name = function.rpartition(".")
    assert callable(getattr(import_module(f"jointsparse.{module}"), name))
    pattern = re.escape(file.removeprefix("…")).replace("<", "{").replace(">", "}")
    assert re.search(rf'[/"]{pattern}"', rules()[rule].replace("\n", " ")), f"{rule} leaves no {file}"

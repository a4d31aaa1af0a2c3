"""README and documentation are true: examples run, links lead somewhere, and numbers are those of their tables."""

import doctest
import re
from importlib import import_module

import pandas as pd
import pytest
from test_docstrings import FILES, LIBRARY, ROOT

DOCS = ROOT / "docs"
EXAMPLES = ["README.md", *(f"docs/{page}.md" for page in ("index", "package", "start", "estimators", "library"))]


@pytest.mark.parametrize("page", EXAMPLES)
def test_python_examples_of_pages_print_what_they_show(page):
    failed, attempted = doctest.testfile(str(ROOT / page), module_relative=False)
    assert attempted > 1 and failed == 0


def test_examples_in_docstrings_of_the_pipeline_print_what_they_show():
    for file in sorted({*FILES} - {*LIBRARY}):
        name = file.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        assert doctest.testmod(import_module(name)).failed == 0, name


def test_links_lead_to_files_of_the_checkout():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("*/*.md"), *DOCS.glob("papers/*.md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())]
    assert [link for page, link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_commands_of_the_readme_are_targets_of_make():
    commands = re.findall(r"^make ([\w-]+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert {*commands} <= {*re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)}


def test_the_table_of_rules_has_every_rule_with_a_function_that_exists_and_a_file_of_the_rule():
    text = "".join(file.read_text() for file in (ROOT / "workflow" / "rules").glob("*.smk"))
    _, *parts = re.split(r"^rule (\w+):", text, flags=re.MULTILINE)
    rules = dict(zip(parts[::2], parts[1::2], strict=True))
    row = re.compile(r"^\| `(\w+)` \| `([\w.]+)\.(\w+)`.*? \| .*?`…?(.+?)`", re.MULTILINE)
    rows = row.findall((DOCS / "stages.md").read_text())
    assert sorted(rule for rule, *_ in rows) == sorted(rules)
    for rule, module, function, file in rows:
        assert callable(getattr(import_module(f"jointsparse.{module}"), function))
        pattern = re.escape(file).replace("<", "{").replace(">", "}")
        assert re.search(rf'[/"]{pattern}"', rules[rule]), f"{rule} leaves no {file}"


def sentences() -> list[tuple[str, str]]:
    """Return pages, each with a sentence whose numbers are computed from a committed table."""
    norms = pd.read_csv(DOCS / "shared_features.csv").set_index("norm")
    used, error = norms["features used"], (100 * norms["test error"]).round().astype(int)
    spread = f"spread over {used['l1']} features, learnt together with l1,∞ they stay on {used['l1inf']}]"
    growth = pd.read_csv(DOCS / "benchmarks" / "growth.csv").set_index("entries")
    newton, sort, limit = 1000 * growth.loc[1_000_000, ["newton", "sort", "limit"]].astype(float)
    race = pd.read_csv(DOCS / "benchmarks" / "race.csv").query("ball == 'l1inf'")["ratio"]
    runs = pd.read_csv(DOCS / "runs.csv").set_index("data")
    photographs, table = runs.loc["photographs"], runs.loc["table"]
    minutes, seconds = divmod(photographs["seconds"], 60)
    size = f"{table['samples']:,.0f} × {table['features']:,.0f} features"
    return [
        ("README.md", spread),
        ("docs/index.md", spread),
        (
            "README.md",
            f"(l1) uses {used['l1']} features and misclassifies {error['l1']} % of the test samples. Learning all "
            f"tasks together (l1,∞) uses {used['l1inf']} features and misclassifies {error['l1inf']} %",
        ),
        (
            "docs/index.md",
            f"{used['l1inf']} features instead of {used['l1']}, error {error['l1inf']} % instead of {error['l1']} %",
        ),
        (
            "docs/index.md",
            f"Projecting 1,000,000 entries takes **{newton:.1f} ms**; the paper's algorithm takes {sort:.0f} ms, and "
            f"reading and writing the entries once takes {limit:.1f} ms. The projection was faster than the best "
            f"published code in {(race < 1).sum()} of {len(race)} cases.",
        ),
        (
            "docs/questions.md",
            f"took {minutes:.0f} min {seconds:.0f} s and {photographs['mb']:.0f} MB for "
            f"{photographs['samples']:,.0f} photographs, and {table['seconds'] / 60:.0f} min for a table of {size}",
        ),
        (
            "README.md",
            f"takes {photographs['seconds'] / 60:.0f} minutes for {photographs['samples']:,.0f} photographs, and "
            f"{table['seconds'] / 60:.0f} minutes for a table of {size}",
        ),
    ]


def test_numbers_of_pages_are_those_of_their_tables():
    # The text of a page without its line breaks
    assert [said for page, said in sentences() if said not in " ".join((ROOT / page).read_text().split())] == []

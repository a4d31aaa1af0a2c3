"""Pages of the site name code, rules, claims and images that exist. Those of papers miss no claim and no erratum.

Nothing here needs Sphinx, which only the build does.
"""

import re
import sys
from pathlib import Path

import pytest

from jointsparse.pipeline.papers.verdicts import CLAIMS

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import site_places  # noqa: E402

MADE = ("_build", "api", "gallery")  # by the build
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if page.relative_to(DOCS).parts[0] not in MADE]
PLACES = {"src": site_places.place_of_code, "rule": site_places.place_of_rule, "claim": CLAIMS.__getitem__}
OF_PAPERS = "".join(page.read_text() for page in sorted(DOCS.glob("papers/*.md")))


def named(role, text):
    """The names that stand in a role."""
    return re.findall(rf"\{{{role}\}}`([^`]*)`", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_names_and_images_exist(page):
    text = page.read_text()
    for role, place in PLACES.items():
        for name in named(role, text):
            assert place(name), name
    images = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert [image for image in images if not (page.parent / image).exists()] == []


def test_each_step_of_an_algorithm_has_its_lines_of_code():
    found = re.findall(r"^```\{steps\} (\S+)\n(.*?)^```", OF_PAPERS, re.MULTILINE | re.DOTALL)
    got = {name: len(re.findall(r"^\d\. ", steps, re.MULTILINE)) for name, steps in found}
    assert got == {name: len(site_places.steps_of_code(name)) for name, _ in found} and len(got) > 3


def test_each_claim_stands_on_the_page_of_a_paper():
    assert set(CLAIMS) <= set(named("claim", OF_PAPERS))


def test_each_erratum_stands_once():
    numbers = [int(number) for number in re.findall(r"^:name: erratum-(\d+)$", OF_PAPERS, re.MULTILINE)]
    assert sorted(numbers) == list(range(1, max(numbers) + 1))


@pytest.mark.parametrize(
    ("query", "page"),
    {
        "GPU": "questions.md",
        "torch": "questions.md",
        "cite": "questions.md",
        "resume": "questions.md",
        "install": "start.md",
        "column norm": "start.md",
        "photographs": "start.md",
        "missing labels": "estimators.md",
        "groups": "estimators.md",
    }.items(),
)
def test_a_page_is_the_main_entry_of_the_index_for_a_query(query, page):
    # The site's search lists such an entry before all other pages.
    found = []
    for file in PAGES:
        lines = re.findall(r"^```\{index\} (.*)$", file.read_text(), re.MULTILINE)
        terms = [term.strip() for line in lines for term in line.split(",")]
        found += [file.name] * (f"!{query}" in terms)
    assert found == [page]

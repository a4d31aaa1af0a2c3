"""Pages of the site name code, rules, claims and images that exist. Those of papers miss no claim.

Nothing here needs Sphinx, which only the build does.
"""

import re
import sys
from pathlib import Path

from jointsparse.pipeline.papers.verdicts import CLAIMS

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import site_places  # noqa: E402

MADE = ("_build", "api", "gallery")  # by the build
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if page.relative_to(DOCS).parts[0] not in MADE]
PLACES = {"src": site_places.place_of_code, "rule": site_places.place_of_rule, "claim": CLAIMS.__getitem__}
OF_PAPERS = "".join(page.read_text() for page in sorted(DOCS.glob("papers/*.md")))


def named(role, text):
    return re.findall(rf"\{{{role}\}}`([^`]*)`", text)


def test_names_and_images_exist():
    for page in PAGES:
        text = page.read_text()
        for role, place in PLACES.items():
            assert all(map(place, named(role, text))), page  # or an error that names what is missing
        images = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
        assert [image for image in images if not (page.parent / image).exists()] == [], page


def test_each_claim_stands_on_the_page_of_a_paper():
    assert set(CLAIMS) <= set(named("claim", OF_PAPERS))

"""Pages of the site name code, rules, claims and images that exist. Those of papers miss no claim.

Nothing here needs Sphinx, which only the build does.
"""

import re
import shutil
import sys
from pathlib import Path

import pandas as pd

from jointsparse.pipeline.papers.verdicts import CLAIMS

DOCS = Path(__file__).parents[2] / "docs"
sys.path[:0] = [str(DOCS), str(DOCS.parent / "benchmarks")]
import measure  # noqa: E402
import site_benchmarks  # noqa: E402
import site_places  # noqa: E402

MADE = ("_build", "api", "gallery")  # by the build
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if page.relative_to(DOCS).parts[0] not in MADE]
PLACES = {"src": site_places.place_of_code, "rule": site_places.place_of_rule, "claim": CLAIMS.__getitem__}
OF_PAPERS = "".join(page.read_text() for page in sorted(DOCS.glob("papers/*.md")))


def named(role, text):
    """The names that stand in a role."""
    return re.findall(rf"\{{{role}\}}`([^`]*)`", text)


def test_names_and_images_exist():
    for page in PAGES:
        text = page.read_text()
        for role, place in PLACES.items():
            assert all(map(place, named(role, text))), page  # or an error that names what is missing
        images = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
        assert [image for image in images if not (page.parent / image).exists()] == [], page


def test_each_step_of_an_algorithm_has_its_lines_of_code():
    found = re.findall(r"^```\{steps\} (\S+)\n(.*?)^```", OF_PAPERS, re.MULTILINE | re.DOTALL)
    got = {name: len(re.findall(r"^\d\. ", steps, re.MULTILINE)) for name, steps in found}
    assert got == {name: len(site_places.steps_of_code(name)) for name, _ in found} and len(got) > 3


def test_each_claim_stands_on_the_page_of_a_paper():
    assert set(CLAIMS) <= set(named("claim", OF_PAPERS))


# The page of benchmarks says what its tables hold


def test_the_headline_counts_the_cases_of_the_tables(tmp_path):
    shutil.copytree(DOCS / "benchmarks", tmp_path / "benchmarks")
    site_benchmarks.write_benchmarks(tmp_path)
    page = " ".join((tmp_path / "benchmarks.md").read_text().split())
    race, peers = (pd.read_csv(DOCS / "benchmarks" / f"{name}.csv") for name in ("race", "operators"))
    faster = {ball: f"{(ratios < 1).sum()} of {len(ratios)}" for ball, ratios in race.groupby("ball")["ratio"]}
    assert f"published codes in {faster['l1inf']} cases" in page and f"the l1 projection in {faster['l1']}.**" in page
    assert f"were faster in {(peers['package / ours'] > 1).sum()} of {len(peers)} cases" in page


def test_measuring_a_peer_again_replaces_its_rows_alone(tmp_path):
    def write(peers, seconds):
        measured = pd.DataFrame({"problem": ["a", "b"] * len(peers), "peer": [p for p in peers for _ in "ab"]})
        order = {"problem": "ba", "peer": ["old", "new"]}
        measure.merge(measured.assign(seconds=seconds), tmp_path / "fits.csv", "peer", order)
        return pd.read_csv(tmp_path / "fits.csv").agg(lambda row: " ".join(map(str, row)), axis=1).tolist()

    assert write(["new", "old"], 1) == ["b old 1", "b new 1", "a old 1", "a new 1"]
    assert write(["new"], 2) == ["b old 1", "b new 2", "a old 1", "a new 2"]

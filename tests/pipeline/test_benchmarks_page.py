"""The page of benchmarks says what its tables hold."""

import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path[:0] = [str(DOCS), str(DOCS.parent / "benchmarks")]
import measure  # noqa: E402
import site_benchmarks  # noqa: E402


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(DOCS / "benchmarks", folder / "benchmarks")
    site_benchmarks.write_benchmarks(folder)
    return " ".join((folder / "benchmarks.md").read_text().split())


def test_headline_and_losses_follow_from_the_race_against_research_codes(page):
    race = pd.read_csv(DOCS / "benchmarks" / "race.csv")
    for ball, text in (("l1inf", "published codes in {} cases"), ("l1", "the l1 projection in {}.**")):
        ratios = race.loc[race["ball"] == ball, "ratio"]
        assert text.format(f"{(ratios < 1).sum()} of {len(ratios)}") in page
    losses, head, rest = page.partition("All cases in which we are slower")[2].partition("## Against research codes")
    assert head and losses.count("(rebuilt)") == (race["ratio"] > 1).sum() and "not part of this repository" in rest


def test_page_has_milliseconds_of_every_package_and_all_losses_against_packages(page):
    peers = pd.read_csv(DOCS / "benchmarks" / "operators.csv")
    assert f"were faster in {(peers['package / ours'] > 1).sum()} of {len(peers)} cases" in page
    losses = page.partition("All cases in which we are slower")[2].partition("## What exactness costs")[0]
    for package, ratios in peers.groupby("package")["package / ours"]:
        assert losses.count(f"| {package} |") == (ratios < 1).sum()
        library, versions = package.split(",")[0], peers.loc[ratios.index[0], "versions"]
        assert page.count(f"| {library} | {versions} | 1 |") == 1


def test_times_of_packages_count_only_if_their_results_are_ours():
    operators = pd.read_csv(DOCS / "benchmarks" / "operators.csv")
    assert (operators["threads"] == 1).all() and (operators.dropna()["distance"] <= 1e-8).all()


def test_measuring_a_peer_again_replaces_its_rows_alone(tmp_path):
    def write(peers, seconds):
        measured = pd.DataFrame({"problem": ["a", "b"] * len(peers), "peer": [p for p in peers for _ in "ab"]})
        order = {"problem": "ba", "peer": ["old", "new"]}
        measure.merge(measured.assign(seconds=seconds), tmp_path / "fits.csv", "peer", order)
        return pd.read_csv(tmp_path / "fits.csv").agg(lambda row: " ".join(map(str, row)), axis=1).tolist()

    assert write(["new", "old"], 1) == ["b old 1", "b new 1", "a old 1", "a new 1"]
    assert write(["new"], 2) == ["b old 1", "b new 2", "a old 1", "a new 2"]

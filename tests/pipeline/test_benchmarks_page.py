"""The page of benchmarks says what its tables hold."""

import shutil
import sys
from pathlib import Path

import pandas as pd

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import site_benchmarks  # noqa: E402


def test_headline_and_losses_follow_from_the_tables(tmp_path):
    shutil.copytree(DOCS / "benchmarks", tmp_path / "benchmarks")
    site_benchmarks.write_benchmarks(tmp_path)
    page = " ".join((tmp_path / "benchmarks.md").read_text().split())
    race = pd.read_csv(DOCS / "benchmarks" / "race.csv")
    for ball, text in (("l1inf", "published codes in {} cases"), ("l1", "the l1 projection in {}.**")):
        ratios = race.loc[race["ball"] == ball, "ratio"]
        assert text.format(f"{(ratios < 1).sum()} of {len(ratios)}") in page
    losses, head, rest = page.partition("## Where we are slower")[2].partition("## Against research codes")
    assert head and losses.count("(rebuilt)") == (race["ratio"] > 1).sum() and "not part of this repository" in rest

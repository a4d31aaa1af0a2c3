"""Memory and minutes that jobs request from a cluster: more than they used, and at most twice as much."""

import re
from pathlib import Path

import cluster_resources as resources
import pandas as pd
import pytest

BASE = Path(__file__).parents[2]
MEASURED = pd.read_csv(BASE / "benchmarks" / "resources.csv", keep_default_na=False)
MOST = 2.0
# Data that differ not only in size: sparse features of text beside histograms, l1 with plain histograms, and pictures
# without unusual ones.
MOST_OF = {"fit_basis": 2.6, "train_path": 2.1, "read_images": 6.6}


def test_every_rule_requests_memory_and_time():
    rules = "".join(file.read_text() for file in (BASE / "workflow" / "rules").glob("*.smk"))
    names = [
        *re.findall(r"^rule (\w+):", rules, re.MULTILINE),
        "repeat",
    ]  # "repeat" stands for the rules of all experiments
    assert {need.split()[0] for need in resources.NEEDS} == set(names)
    assert rules.count("        **needs,\n") == len(names)


@pytest.mark.parametrize("rule", sorted(set(MEASURED["rule"])))
def test_jobs_request_more_than_they_used_and_at_most_twice_as_much(rule):
    for row in MEASURED[MEASURED["rule"] == rule].itertuples():
        used, asked = row.max_rss_mb + resources.SNAKEMAKE, resources.megabytes(rule, row.norm, row.read_mb)
        assert used <= asked <= MOST_OF.get(rule, MOST) * used, row
        assert 2 * row.seconds <= 60 * resources.minutes(rule, row.norm, row.read_mb), row


def test_an_unmeasured_norm_requests_the_most_of_any_norm():
    for rule in ("train_path", "fit_final"):
        measured = [resources.megabytes(rule, norm, 1.0) for norm in ("l1", "l12", "l1inf", "l2")]
        assert resources.megabytes(rule, "mine", 1.0) == max(measured)


def test_the_largest_existing_file_counts(tmp_path):
    (tmp_path / "a").write_bytes(bytes(2_000_000))
    (tmp_path / "b").write_bytes(bytes(1000))
    assert resources.largest_mb([tmp_path / "c"]) == 0.0
    assert resources.largest_mb([tmp_path / name for name in "abca"]) == 2.0
    (tmp_path / "histograms").mkdir()
    for name in ("0-of-2.npz", "1-of-2.npz"):
        (tmp_path / "histograms" / name).write_bytes(bytes(1_500_000))
    assert resources.largest_mb([tmp_path / "a", *(tmp_path / "histograms").iterdir()]) == 3.0  # all shards together
    assert resources.largest_mb((tmp_path / "histograms").iterdir(), joined=False) == 1.5
    assert resources.minutes("set_aside", "", 3000.0) == 100  # ten times as long as for a large file


def test_requests_depend_on_inputs_or_raw_files_and_grow_with_each_attempt(tmp_path):
    (tmp_path / "raw").write_bytes(bytes(100_000_000))
    needs, raw = resources.needs(lambda w: [tmp_path / "raw"]), {"dataset": "mine"}
    read = resources.megabytes("read_samples", "", 100)
    assert needs["mem_mb"](raw, [], 2, "read_samples") == 2 * read
    assert needs["mem_mb"](raw, [tmp_path / "none"], 1, "read_samples") < read
    assert needs["runtime"]({"norm": "l1"}, [], 1, "fit_final") == resources.minutes("fit_final", "l1", 0)

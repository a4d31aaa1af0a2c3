"""Memory and minutes that jobs request from a cluster: more than they used, and at most twice as much; and cores."""

import re
import subprocess
import sys
from types import SimpleNamespace

import cluster_resources as resources
import pandas as pd
import pytest
from miniature import BASE

from jointsparse.pipeline.app.command_line import WORKFLOW

MOST = 2.0
# Data that differ not only in size: sparse features of text beside histograms, l1 with plain histograms, and pictures
# without unusual ones.
MOST_OF = {"fit_basis": 2.6, "train_path": 2.1, "read_images": 6.6}


def test_every_rule_requests_memory_and_time():
    rules = "".join(file.read_text() for file in (BASE / "workflow" / "rules").glob("*.smk"))
    # "repeat" stands for the rules of all experiments.
    names = [*re.findall(r"^rule (\w+):", rules, re.MULTILINE), "repeat"]
    assert {need.split()[0] for need in resources.NEEDS} == set(names)
    assert rules.count("        **needs,\n") == len(names)


def test_jobs_request_more_than_they_used_and_at_most_twice_as_much():
    for row in pd.read_csv(BASE / "benchmarks" / "resources.csv", keep_default_na=False).itertuples():
        used, asked = row.max_rss_mb + resources.SNAKEMAKE, resources.megabytes(row.rule, row.norm, row.read_mb)
        assert used <= asked <= MOST_OF.get(row.rule, MOST) * used, row
        assert 2 * row.seconds <= 60 * resources.minutes(row.rule, row.norm, row.read_mb), row


def test_an_unmeasured_norm_requests_the_most_of_any_norm():
    for rule in ("train_path", "fit_final"):
        measured = [resources.megabytes(rule, norm, 1.0) for norm in ("l1", "l12", "l1inf", "l2")]
        assert resources.megabytes(rule, "mine", 1.0) == max(measured)


def test_the_largest_existing_file_counts_and_shards_are_one_file(tmp_path):
    (tmp_path / "histograms").mkdir()
    for name, size in {"a": 2_000_000, "b": 1000, "histograms/0.npz": 1_500_000, "histograms/1.npz": 1_500_000}.items():
        (tmp_path / name).write_bytes(bytes(size))
    files = [tmp_path / name for name in "abca"]
    assert resources.largest_mb([tmp_path / "c"]) == 0.0
    assert resources.largest_mb(files) == 2.0
    assert resources.largest_mb([*files, *(tmp_path / "histograms").iterdir()]) == 3.0
    assert resources.largest_mb((tmp_path / "histograms").iterdir(), joined=False) == 1.5
    assert resources.minutes("set_aside", "", 3000.0) == 100  # ten times as long as for a large file


def test_requests_depend_on_inputs_or_raw_files_and_grow_with_each_attempt(tmp_path):
    (tmp_path / "raw").write_bytes(bytes(100_000_000))
    needs, raw = resources.needs(lambda w: [tmp_path / "raw"]), {"dataset": "mine"}
    assert needs["mem_mb"](raw, [], 2, "read_samples") == 2 * resources.megabytes("read_samples", "", 100)
    assert needs["mem_mb"](raw, [tmp_path / "none"], 1, "read_samples") == resources.megabytes("read_samples", "", 0)
    minutes = [needs["runtime"]({"norm": "l1"}, [], 1, rule) for rule in ("fit_final", "repeat_recovery")]
    assert minutes == [resources.minutes("fit_final", "l1", 0), resources.minutes("repeat", "", 0)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cores": -1}, "--cores must be at least 1, got -1"),
        ({"cores": 2, "local_cores": 0}, "--local-cores must be at least 1, got 0"),
        ({"nodes": 0}, "--jobs must be at least 1, got 0"),  # on a cluster
    ],
)
def test_numbers_of_snakemake_are_at_least_one(settings, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        resources.require_cores(SimpleNamespace(**{"cores": None, "nodes": 1, "local_cores": 1} | settings))


def test_the_workflow_itself_refuses_to_wait(tmp_path):
    command = [sys.executable, "-m", "snakemake", "--snakefile", WORKFLOW / "Snakefile", "--cores", "0"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 1 and done.stderr.splitlines()[-1].endswith("must be at least 1, got 0")

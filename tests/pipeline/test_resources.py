"""What jobs need: the memory and minutes that they request from a cluster, their cores and their BLAS kernel.

Requests are above what jobs have used, and at most twice as much. `init` estimates the time and memory of a run;
`trials/estimates.py` compares its estimates with runs.
"""

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import cluster_resources as resources
import pandas as pd
import pytest
from miniature import BASE

from jointsparse.pipeline.app.blas import use_best_kernel
from jointsparse.pipeline.app.command_line import WORKFLOW
from jointsparse.pipeline.app.estimate import Probe, Work, estimated, lines

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
    assert resources.largest_mb(files) == 2.0 and resources.largest_mb([tmp_path / "c"]) == 0.0
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


# The BLAS kernel that jobs choose


SKYLAKE = "processor : 0\nflags\t\t: fpu avx2 avx512f avx512cd avx512bw avx512dq avx512vl\n"
HASWELL = "processor : 0\nflags\t\t: fpu avx2\n"


@pytest.mark.parametrize(
    ("cpuinfo", "before", "expected"),
    [
        pytest.param(SKYLAKE, None, "SkylakeX", id="AVX-512"),
        pytest.param(HASWELL, None, None, id="no AVX-512"),
        pytest.param(SKYLAKE, "Haswell", "Haswell", id="the user's own choice stays"),
        pytest.param(None, None, None, id="no such file"),
    ],
)
def test_only_a_processor_that_can_run_the_kernel_gets_it(tmp_path, monkeypatch, cpuinfo, before, expected):
    monkeypatch.setattr(os, "environ", {} if before is None else {"OPENBLAS_CORETYPE": before})
    if cpuinfo:
        (tmp_path / "cpuinfo").write_text(cpuinfo)
    use_best_kernel(tmp_path / "cpuinfo")
    assert os.environ.get("OPENBLAS_CORETYPE") == expected


# Costs of a run


WORK = Work(n_samples=20_000, n_labels=100, n_features=500, n_values=10_000_000)


def test_more_work_costs_more_and_more_cores_take_less_time_and_more_memory():
    alone, fast = estimated(WORK, Probe(1.0), 1), estimated(WORK, Probe(1.0), 2)
    assert alone.seconds > fast.seconds and alone.mb < fast.mb
    # The slowest fit takes about as long as all others together, so that two cores are as fast as sixteen.
    assert estimated(WORK, Probe(1.0), 16).seconds == fast.seconds
    assert estimated(WORK, Probe(2.0), 1).seconds == 2 * alone.seconds
    for key in ("n_samples", "n_labels", "n_values"):
        more = estimated(WORK._replace(**{key: 2 * getattr(WORK, key)}), Probe(1.0), 2)
        assert more.seconds > fast.seconds and more.mb > fast.mb, key


def test_the_time_to_learn_all_labels_is_that_of_a_run_that_learns_as_many(monkeypatch):
    monkeypatch.setattr(Probe, "of", lambda work: Probe(1.0))
    (_, longer), (alone,) = (lines(WORK._replace(n_labels=n), 200) for n in (100, 200))
    seconds = alone.partition(" will take about ")[2].partition(" on ")[0]
    assert longer == f"To learn all 200, it would take about {seconds}."

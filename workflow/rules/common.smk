"""What the other files here use: the checked config, the library files of a stage, wildcards, the list of results."""

import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

BASE = Path(workflow.basedir)
sys.path[:0] = [str(BASE / "workflow"), str(BASE / "src")]
import configuration

# Scripts run the library of this checkout, whose files the rules list under code=, wherever pip may have put another.
paths = [str(BASE / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
os.environ.update(PYTHONPATH=os.pathsep.join(paths))
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(".snakemake/numba").absolute()))
for library in ("NUMBA", "OMP", "OPENBLAS", "MKL"):
    # One thread per job: the same sums in the same order on any number of cores.
    os.environ[f"{library}_NUM_THREADS"] = "1"

try:
    configuration.check(config, BASE / "workflow" / "config.schema.yaml")
    configuration.raw_files(config, config["dataset"])
except configuration.ConfigError as error:
    raise WorkflowError(str(error))

LOSSES = configuration.names_of("losses")
NORMS = configuration.names_of("norms")


wildcard_constraints:
    dataset=r"[\w-]+",
    study=r"[\w-]+",
    run=r"\d+",
    n=r"\d+",
    shard=r"\d+",
    shards=r"\d+",
    figure=r"\w+",
    loss="|".join(LOSSES),
    norm="|".join(NORMS),


def dataset(w):
    """The entry of the dataset that a job is about."""
    return configuration.dataset_entry(config, w.dataset)


def study(w):
    """The block of the study that a job is about, with what the dataset's entry replaces in it."""
    return configuration.study_block(config, w.dataset, w.study)


def code(*files):
    """The library files that decide a stage's numbers: those named and the neighbours they import."""
    return configuration.library_files(BASE / "src" / "jointsparse", *files)


def raw_files(w):
    """The files a dataset is read from."""
    return configuration.raw_files(config, w.dataset)


def shards(pattern):
    """All parts of a result that is made in shards."""
    return lambda w: expand(pattern, shard=range(dataset(w)["shards"]), shards=dataset(w)["shards"], allow_missing=True)


def runs(w):
    """The numbers of a study's runs."""
    return range(1, study(w)["runs"] + 1)


def sweeps(w):
    """All sweeps of a study."""
    return expand(
        "results/{{dataset}}/{{study}}/sweeps/run{run}/n{n}/{method}.npz",
        run=runs(w),
        n=study(w)["sizes"],
        method=study(w)["methods"],
    )


def everything():
    """What reproduce-all makes: the tables and figures of every study of the configured dataset."""
    name = config["dataset"]
    results = [f"results/{name}/left_out.csv", f"results/{name}/contact_sheet.png"]
    for one in config["studies"]:
        study = configuration.study_block(config, name, one)
        tables = ["words", "auc", "auc_by_word", "convergence", "sparsity"]
        tables += [f"tasks_run{run}" for run in range(1, study["runs"] + 1)]
        if len(study["methods"]) > 1:
            tables.append("significance")
        results += [f"results/{name}/{one}/tables/{table}.csv" for table in tables]
        results += expand(
            f"results/{name}/{one}/figures/{{figure}}.{{suffix}}", figure=study["figures"], suffix=["png", "pdf"]
        )
    return results

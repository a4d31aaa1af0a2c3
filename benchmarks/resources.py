"""Tabulate the peak memory and time of jobs in finished runs; `workflow/cluster_resources.py` is based on this table.

    python benchmarks/resources.py FOLDER... > benchmarks/resources.csv

Each FOLDER is the folder of a run, which contains `config.yaml` and `results`. For jobs that read about the same amount
of data, the table keeps the largest measurements. Jobs that take a second may end before Snakemake has measured their
peak.
"""

import os
import sys
from pathlib import Path

import pandas as pd

BASE = Path(__file__).parents[1]
sys.path[:0] = [str(BASE / "tests" / "pipeline"), str(BASE / "workflow")]
from cluster_resources import largest_mb  # noqa: E402
from miniature import jobs  # noqa: E402

WITH_NORM = ("train_path", "fit_final")  # rules whose jobs have different needs for different norms


def rows(folder):
    """Yield a row for each job in a run: megabytes read, peak memory in megabytes, and time in seconds."""
    os.chdir(folder)
    for rule, rule_jobs in jobs(BASE, folder).items():
        for job in rule_jobs:
            if job.benchmark and os.path.isfile(job.benchmark):
                took = pd.read_csv(job.benchmark, sep="\t").iloc[0]
                norm = job.wildcards.norm if rule in WITH_NORM else ""
                read = largest_mb(job.input or dict(job.params.items()).get("raw", {"paths": []})["paths"])
                yield {"rule": rule, "norm": norm, "read_mb": read, "max_rss_mb": took["max_rss"], "seconds": took["s"]}


if __name__ == "__main__":
    table = pd.DataFrame([row for folder in map(os.path.abspath, sys.argv[1:]) for row in rows(folder)])
    table["read_mb"] = table["read_mb"].map("{:.2g}".format).astype(float)
    kept = table.groupby(["rule", "norm", "read_mb"], as_index=False)[["max_rss_mb", "seconds"]].max()
    kept.round(1).to_csv(sys.stdout, index=False)

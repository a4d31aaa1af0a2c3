"""Repeat an experiment with new draws, and write the results, timings and warnings of all runs to tables."""

from pathlib import Path

import numpy as np
import pandas as pd
from job import job, parts

from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.pipeline.provenance.tables import read_table, write_table
from jointsparse.pipeline.scores import warning_table
from jointsparse.registry import pick


def repeated(experiment, data, params, progress):
    """Yield the table of each run of an experiment."""
    for run, part in parts(params.runs, progress):
        rng = np.random.default_rng([params.seed, run])
        table = experiment.run(data, rng=rng, progress=part, **params.options)
        table.insert(0, "run", run)
        yield table


if __name__ == "__main__":
    with job(snakemake) as progress:
        params = snakemake.params
        files, output = (dict(named.items()) for named in (snakemake.input, snakemake.output))
        left_out = files.pop("left_out")
        data = Samples.read(**files) if files else None
        table = pd.concat(repeated(pick("experiments", params.kind), data, params, progress), ignore_index=True)
        # Timings differ in each run, so they are written to a table of their own.
        if f"{params.kind}_seconds" in output:
            write_table(table, output[f"{params.kind}_seconds"])
        write_table(table.drop(columns="seconds", errors="ignore"), output[params.kind])
        warned = [output[params.kind], *left_out]
        write_table(warning_table.gather({Path(file).stem: read_table(file) for file in warned}), output["warnings"])

"""Run an experiment once, with fresh draws."""

import numpy as np
from job import job

from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.pipeline.provenance.tables import write_table
from jointsparse.registry import pick

if __name__ == "__main__":
    with job(snakemake) as progress:
        files, experiment = dict(snakemake.input.items()), pick("experiments", snakemake.params.kind)
        data, rng = Samples.read(**files) if files else None, np.random.default_rng(snakemake.params.seed)
        table = experiment.run(data, rng=rng, progress=progress, **snakemake.params.options)
        for column, value in snakemake.params.columns.items():
            table.insert(0, column, value)
        write_table(table, snakemake.output.table)

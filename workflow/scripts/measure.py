"""Run an experiment that measures CPU time."""

import numpy as np
from job import job

from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.pipeline.provenance.tables import write_table
from jointsparse.registry import pick

if __name__ == "__main__":
    with job(snakemake) as progress:
        files, params = dict(snakemake.input.items()), snakemake.params
        data, rng = Samples.read(**files) if files else None, np.random.default_rng(params.seed)
        table = pick("experiments", params.kind).run(data, rng=rng, progress=progress, **params.options)
        write_table(table, snakemake.output.table)

"""Measure the CPU seconds of an experiment, on one core."""

import numpy as np
from job import job

from jointsparse.datasets.samples import Samples
from jointsparse.provenance.tables import write_table
from jointsparse.registry import pick


def main(kind, samples, options, seed, output, progress):
    data = Samples.read(**samples) if samples else None
    rng = np.random.default_rng(seed)
    table = pick("experiments", kind).run(data, rng=rng, progress=progress, **options)
    write_table(table, output)


if __name__ == "__main__":
    with job(snakemake) as progress:
        main(
            kind=snakemake.params.kind,
            samples=dict(snakemake.input.items()),
            options=snakemake.params.options,
            seed=snakemake.params.seed,
            output=snakemake.output.table,
            progress=progress,
        )

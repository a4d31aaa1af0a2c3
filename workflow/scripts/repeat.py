"""Repeat an experiment once, with fresh draws."""

import numpy as np
from job import job

from jointsparse.datasets.samples import Samples
from jointsparse.provenance.tables import write_table
from jointsparse.registry import pick


def main(kind, samples, options, seed, run, output, progress):
    data = Samples.read(**samples) if samples else None
    rng = np.random.default_rng([seed, run])
    table = pick("experiments", kind).run(data, rng=rng, progress=progress, **options)
    table.insert(0, "run", run)
    write_table(table, output)


if __name__ == "__main__":
    with job(snakemake) as progress:
        main(
            kind=snakemake.params.kind,
            samples=dict(snakemake.input.items()),
            options=snakemake.params.options,
            seed=snakemake.params.seed,
            run=int(snakemake.wildcards.run),
            output=snakemake.output.table,
            progress=progress,
        )

"""Seconds of an experiment, with the machine to itself."""

import numpy as np
from job import job

from jointsparse.datasets.samples import Samples
from jointsparse.registry import pick
from jointsparse.tables import read_matrix, read_table, write_table


def main(kind, images, captions, features, options, seed, output, progress):
    data = Samples(read_table(images), read_table(captions), None, read_matrix(features)) if features else None
    table = pick("experiments", kind).run(data, rng=np.random.default_rng(seed), progress=progress, **options)
    write_table(table, output)


if __name__ == "__main__":
    with job(snakemake) as progress:
        i, p = snakemake.input, snakemake.params
        main(
            kind=snakemake.wildcards.kind,
            images=i.get("images"),
            captions=i.get("captions"),
            features=i.get("features"),
            options=p.options,
            seed=p.seed,
            output=snakemake.output.table,
            progress=progress,
        )

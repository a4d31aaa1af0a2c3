"""One repetition of an experiment, with fresh draws."""

import numpy as np
from job import job

from jointsparse.datasets.samples import Samples
from jointsparse.registry import pick
from jointsparse.tables import read_matrix, read_table, write_table


def main(kind, images, captions, features, options, seed, run, output, progress):
    data = Samples(read_table(images), read_table(captions), None, read_matrix(features)) if features else None
    rng = np.random.default_rng([seed, run])
    table = pick("experiments", kind).run(data, rng=rng, progress=progress, **options)
    table.insert(0, "run", run)
    write_table(table, output)


if __name__ == "__main__":
    with job(snakemake) as progress:
        i, p = snakemake.input, snakemake.params
        main(
            kind=p.kind,
            images=i.get("images"),
            captions=i.get("captions"),
            features=i.get("features"),
            options=p.options,
            seed=p.seed,
            run=int(snakemake.wildcards.run),
            output=snakemake.output.table,
            progress=progress,
        )

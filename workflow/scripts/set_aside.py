"""Set images aside: a study does not use their captions."""

import numpy as np
from job import job

from jointsparse.learning import tasks
from jointsparse.provenance.tables import read_table, write_table


def main(images, numbers, seed, output):
    table = read_table(images, "image", "split")
    split = tasks.set_aside(table["split"].to_numpy(), numbers, rng=np.random.default_rng(seed))
    write_table(table.assign(split=split), output)


if __name__ == "__main__":
    with job(snakemake):
        main(
            images=snakemake.input.images,
            numbers=snakemake.params.numbers,
            seed=snakemake.params.seed,
            output=snakemake.output.images,
        )

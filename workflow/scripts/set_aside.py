"""Images of which a study uses no captions."""

import numpy as np
from job import job

from jointsparse.learning import tasks
from jointsparse.tables import read_table, write_table


def main(images, numbers, seed, output):
    table = read_table(images, "image", "split")
    split = tasks.set_aside(table["split"].to_numpy(), numbers, rng=np.random.default_rng(seed))
    write_table(table.assign(split=split), output)


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.input.images, snakemake.params.numbers, snakemake.params.seed, snakemake.output[0])

"""Set images aside: a study does not use their captions."""

import numpy as np
from job import job

from jointsparse.learning import tasks
from jointsparse.provenance.tables import read_table, write_table

if __name__ == "__main__":
    with job(snakemake):
        table = read_table(snakemake.input.images, "image", "split")
        rng = np.random.default_rng(snakemake.params.seed)
        split = tasks.set_aside(table["split"].to_numpy(), snakemake.params.numbers, rng=rng)
        write_table(table.assign(split=split), snakemake.output.images)

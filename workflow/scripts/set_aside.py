"""Set images aside, so that a study treats them as unlabelled."""

import numpy as np
from job import job

from jointsparse.pipeline import tasks
from jointsparse.pipeline.provenance.tables import read_groups, read_table, write_table

if __name__ == "__main__":
    with job(snakemake):
        table = read_table(snakemake.input.images, "image", "split")
        split, rng = table["split"].to_numpy(), np.random.default_rng(snakemake.params.seed)
        table["split"] = tasks.set_aside(
            split, snakemake.params.numbers, rng=rng, groups=read_groups(snakemake.input.images)
        )
        write_table(table, snakemake.output.images)

"""Draw a training set for every word and size, and the words whose validation images are used to choose the radius."""

import numpy as np
from job import job

from jointsparse.pipeline import tasks
from jointsparse.pipeline.provenance.tables import read_array, read_table, write_arrays, write_table
from jointsparse.pipeline.words import names_of

if __name__ == "__main__":
    with job(snakemake):
        labels = read_array(snakemake.input.labels)
        drawn, table = tasks.draw(
            labels,
            read_table(snakemake.input.images, "split")["split"].to_numpy(),
            names_of(read_table(snakemake.input.words, "word", "images", "warning"), labels),
            **snakemake.params.options,
            rng=np.random.default_rng([snakemake.params.seed, int(snakemake.wildcards.run)]),
        )
        write_arrays(snakemake.output.tasks, **drawn._asdict())
        write_table(table, snakemake.output.table)

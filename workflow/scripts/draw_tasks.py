"""Draw the training sets of every word and size, and the words whose validation images choose the radius."""

import numpy as np
from job import job

from jointsparse.learning import tasks
from jointsparse.provenance.tables import read_array, read_table, write_arrays, write_table


def main(images, words, labels, options, seed, run, output):
    labels = read_array(labels)
    drawn, table = tasks.draw(
        labels,
        read_table(images, "split")["split"].to_numpy(),
        tasks.names_of(read_table(words, "word", "images", "warning"), labels),
        **options,
        rng=np.random.default_rng([seed, run]),
    )
    write_arrays(output.tasks, **drawn._asdict())
    write_table(table, output.table)


if __name__ == "__main__":
    with job(snakemake):
        main(
            images=snakemake.input.images,
            words=snakemake.input.words,
            labels=snakemake.input.labels,
            options=snakemake.params.options,
            seed=snakemake.params.seed,
            run=int(snakemake.wildcards.run),
            output=snakemake.output,
        )

"""A vocabulary tree from a sample of the descriptors."""

import numpy as np
from job import job

from jointsparse.features import shards, vocabulary_tree
from jointsparse.tables import read_array, read_table, write_arrays


def main(images, descriptors, counts, options, seed, output, progress):
    sample = shards.sample(
        [read_array(path, mapped=True) for path in descriptors],
        [read_array(path) for path in counts],
        read_table(images, "split")["split"].isin(options["fitted_on"]).to_numpy(),
        options["sample_size"],
        rng=np.random.default_rng(seed),
    )
    tree = vocabulary_tree.grow(
        sample, branching=options["branching"], depth=options["depth"], seed=seed, progress=progress
    )
    write_arrays(output, **tree._asdict())


if __name__ == "__main__":
    with job(snakemake) as progress:
        i, p = snakemake.input, snakemake.params
        main(i.images, i.descriptors, i.counts, p.options, p.seed, snakemake.output[0], progress)

"""Grow a vocabulary tree from a sample of the descriptors."""

import numpy as np
from job import job

from jointsparse.features import shards, vocabulary_tree
from jointsparse.provenance.tables import read_array, read_table, write_arrays


def main(images, descriptors, counts, fitted_on, sample_size, options, seed, output, progress):
    sample = shards.sample(
        [read_array(path, mapped=True) for path in descriptors],
        [read_array(path) for path in counts],
        read_table(images, "split")["split"].isin(fitted_on).to_numpy(),
        sample_size,
        rng=np.random.default_rng(seed),
    )
    write_arrays(output, **vocabulary_tree.grow(sample, **options, seed=seed, progress=progress)._asdict())


if __name__ == "__main__":
    with job(snakemake) as progress:
        main(
            images=snakemake.input.images,
            descriptors=snakemake.input.descriptors,
            counts=snakemake.input.counts,
            fitted_on=snakemake.params.fitted_on,
            sample_size=snakemake.params.sample_size,
            options=snakemake.params.options,
            seed=snakemake.params.seed,
            output=snakemake.output.tree,
            progress=progress,
        )

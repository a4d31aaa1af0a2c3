"""Grow a vocabulary tree from a sample of the descriptors."""

import numpy as np
from job import job

from jointsparse.features import shards, vocabulary_tree
from jointsparse.provenance.tables import read_array, read_table, write_arrays

if __name__ == "__main__":
    with job(snakemake) as progress:
        sample = shards.sample(
            [read_array(path, mapped=True) for path in snakemake.input.descriptors],
            [read_array(path) for path in snakemake.input.counts],
            read_table(snakemake.input.images, "split")["split"].isin(snakemake.params.fitted_on).to_numpy(),
            snakemake.params.sample_size,
            rng=np.random.default_rng(snakemake.params.seed),
        )
        options = snakemake.params.options | {"seed": snakemake.params.seed, "progress": progress}
        write_arrays(snakemake.output.tree, **vocabulary_tree.grow(sample, **options)._asdict())

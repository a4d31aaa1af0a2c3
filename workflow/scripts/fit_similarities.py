"""Compute the similarities of the images to unlabelled images."""

import numpy as np
from job import job

from jointsparse.arrays import select
from jointsparse.features import similarities
from jointsparse.pipeline.provenance.tables import read_features, read_table, write_matrix

if __name__ == "__main__":
    with job(snakemake):
        X, split = (
            read_features(snakemake.input.features, snakemake.params.vocabulary),
            read_table(snakemake.input.images, "split")["split"].to_numpy(),
        )
        unlabelled, training = (select(X, split == name) for name in ("unlabelled", "train"))
        fitted = similarities.fit(
            unlabelled, training, **snakemake.params.options, rng=np.random.default_rng(snakemake.params.seed)
        )
        write_matrix(snakemake.output.prototypes, fitted.prototypes)
        write_matrix(snakemake.output.features, similarities.project(X, fitted))

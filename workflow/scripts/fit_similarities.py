"""Compute similarities of the images to unlabelled ones."""

import numpy as np
from job import job

from jointsparse.checks import select
from jointsparse.features import similarities
from jointsparse.provenance.tables import read_matrix, read_table, write_matrix


def main(images, features, options, seed, output):
    X = read_matrix(features)
    split = read_table(images, "split")["split"].to_numpy()
    unlabelled, training = (select(X, split == name) for name in ("unlabelled", "train"))
    fitted = similarities.fit(unlabelled, training, **options, rng=np.random.default_rng(seed))
    write_matrix(output.prototypes, fitted.prototypes)
    write_matrix(output.features, similarities.project(X, fitted))


if __name__ == "__main__":
    with job(snakemake):
        main(
            images=snakemake.input.images,
            features=snakemake.input.features,
            options=snakemake.params.options,
            seed=snakemake.params.seed,
            output=snakemake.output,
        )

"""Fit a basis in which features are uncorrelated, and express the images in it."""

import numpy as np
from job import job

from jointsparse.checks import select
from jointsparse.features import basis
from jointsparse.provenance.tables import read_matrix, read_table, write_arrays, write_matrix


def main(images, features, fitted_on, options, seed, output):
    X = read_matrix(features)
    rows = read_table(images, "split")["split"].isin(fitted_on).to_numpy()
    fitted = basis.fit(select(X, rows), **options, rng=np.random.default_rng(seed))
    write_arrays(output.basis, **fitted._asdict())
    write_matrix(output.features, basis.project(X, fitted))


if __name__ == "__main__":
    with job(snakemake):
        main(
            images=snakemake.input.images,
            features=snakemake.input.features,
            fitted_on=snakemake.params.fitted_on,
            options=snakemake.params.options,
            seed=snakemake.params.seed,
            output=snakemake.output,
        )

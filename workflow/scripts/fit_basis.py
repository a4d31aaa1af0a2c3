"""Fit a basis in which features are uncorrelated, and express the images in it."""

import numpy as np
from job import job

from jointsparse.checks import select
from jointsparse.features import basis
from jointsparse.provenance.tables import read_matrix, read_table, write_arrays, write_matrix

if __name__ == "__main__":
    with job(snakemake):
        X, rng = read_matrix(snakemake.input.features), np.random.default_rng(snakemake.params.seed)
        rows = read_table(snakemake.input.images, "split")["split"].isin(snakemake.params.fitted_on).to_numpy()
        fitted = basis.fit(select(X, rows), **snakemake.params.options, rng=rng)
        write_arrays(snakemake.output.basis, **fitted._asdict())
        write_matrix(snakemake.output.features, basis.project(X, fitted))

"""Fit a basis in which the features are uncorrelated, and transform the images into it."""

import numpy as np
from job import job

from jointsparse.features import basis
from jointsparse.pipeline.provenance.tables import new_array, read_blocks, read_table, write_arrays
from jointsparse.written import written

if __name__ == "__main__":
    with job(snakemake):
        given, params = snakemake.input, snakemake.params
        images = read_table(given.images, "image", "split")
        fitted_on, names = images["split"].isin(params.fitted_on).to_numpy(), images["image"].tolist()

        def blocks():
            for rows, X in read_blocks(given.features, params.vocabulary, names):
                yield X[fitted_on[rows]]

        fitted = basis.fit(blocks, **params.options, rng=np.random.default_rng(params.seed))
        write_arrays(snakemake.output.basis, **fitted._asdict())
        with written(snakemake.output.features) as path:
            shape = len(names), len(fitted.singular_values)
            features = new_array(path, shape)
            for rows, X in read_blocks(given.features, params.vocabulary, names):
                features[rows] = basis.project(X, fitted)
            features.flush()

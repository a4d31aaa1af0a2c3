"""The images in a basis in which features are uncorrelated."""

import numpy as np
from job import job

from jointsparse.checks import select
from jointsparse.features import basis
from jointsparse.tables import read_matrix, read_table, write_arrays, write_matrix


def main(images, features, options, seed, output):
    X = read_matrix(features)
    fitted_on = read_table(images, "split")["split"].isin(options["fitted_on"]).to_numpy()
    fitted = basis.fit(
        select(X, fitted_on),
        rank=options["rank"],
        centred=options["centred"],
        whitened=options["whitened"],
        rng=np.random.default_rng(seed),
    )
    write_arrays(output.basis, **fitted._asdict())
    write_matrix(output.features, basis.project(X, fitted))


if __name__ == "__main__":
    with job(snakemake):
        main(*snakemake.input[:2], snakemake.params.options, snakemake.params.seed, snakemake.output)

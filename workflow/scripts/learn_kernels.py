"""Exponentiated gradient against projections, on classes told apart by similarities to a support set."""

import numpy as np
from job import job

from jointsparse import kernels, tasks
from jointsparse.checks import select
from jointsparse.tables import read_matrix, read_table, write_table


def main(images, captions, features, options, seed, run, output, progress):
    images, X = read_table(images), read_matrix(features)
    y = tasks.classes(images, read_table(captions))
    learn, test = tasks.halves(images)
    rng = np.random.default_rng([seed, run])
    table = kernels.run(
        select(X, learn), y[learn], select(X, test), y[test], run=run, rng=rng, **options, progress=progress
    )
    write_table(table, output)


if __name__ == "__main__":
    with job(snakemake) as progress:
        p, run = snakemake.params, int(snakemake.wildcards.run)
        main(*snakemake.input[:3], p.options, p.seed, run, snakemake.output[0], progress)

"""Exponentiated gradient against projections, on one label of sparse samples."""

import numpy as np
from job import job

from jointsparse import exponentiated, tasks
from jointsparse.checks import select
from jointsparse.tables import read_matrix, read_table, write_table


def main(images, captions, features, label, options, seed, run, output, progress):
    images, X = read_table(images), read_matrix(features)
    label, y = tasks.one_label(images, read_table(captions), label)
    learn, test = tasks.halves(images)
    rng = np.random.default_rng([seed, run])
    learn = tasks.thinned(learn, rng)
    table = exponentiated.run(
        select(X, learn), y[learn], select(X, test), y[test], run=run, rng=rng, **options, progress=progress
    )
    write_table(table.assign(label=label), output)


if __name__ == "__main__":
    with job(snakemake) as progress:
        p, run = snakemake.params, int(snakemake.wildcards.run)
        main(*snakemake.input[:3], p.label, p.options, p.seed, run, snakemake.output[0], progress)

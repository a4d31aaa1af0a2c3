"""Seconds of a sparse update with many non-zero weights."""

import numpy as np
from job import job

from jointsparse import online_text, tasks
from jointsparse.checks import select
from jointsparse.tables import read_matrix, read_table, write_table


def main(images, captions, features, label, options, seed, output, progress):
    images = read_table(images)
    label, y = tasks.one_label(images, read_table(captions), label)
    learn, _ = tasks.halves(images)
    rng = np.random.default_rng(seed)
    X = select(read_matrix(features), learn)
    table = online_text.updates(X, y[learn], rng=rng, **options, progress=progress)
    write_table(table.assign(label=label), output)


if __name__ == "__main__":
    with job(snakemake) as progress:
        p = snakemake.params
        main(*snakemake.input[:3], p.label, p.options, p.seed, snakemake.output[0], progress)

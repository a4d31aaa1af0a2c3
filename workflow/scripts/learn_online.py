"""One pass over sparse samples: projected stochastic subgradient with the tree against exponentiated gradient."""

import numpy as np
from job import job

from jointsparse import online_text, tasks
from jointsparse.checks import select
from jointsparse.tables import read_matrix, read_table, write_table


def main(images, captions, features, label, options, seed, run, output, progress):
    images = read_table(images)
    label, y = tasks.one_label(images, read_table(captions), label)
    learn, _ = tasks.halves(images)
    rng = np.random.default_rng([seed, run])
    X = select(read_matrix(features), learn)
    table = online_text.one_pass(X, y[learn], run=run, rng=rng, **options, progress=progress)
    write_table(table.assign(label=label), output)


if __name__ == "__main__":
    with job(snakemake) as progress:
        p, run = snakemake.params, int(snakemake.wildcards.run)
        main(*snakemake.input[:3], p.label, p.options, p.seed, run, snakemake.output[0], progress)

"""Independent linear classifiers with scikit-learn's LinearSVC, over a grid of C."""

import numpy as np
from job import job

from jointsparse import svm
from jointsparse.tables import read_arrays, write_arrays


def main(features, tasks, n, grid, seed, output, progress):
    tasks = read_arrays(tasks)
    Y = tasks["Y"][tasks["sizes"] == n][0]
    trained = svm.run(np.load(features), Y, **grid, seed=seed, progress=progress)
    write_arrays(output, **trained)


if __name__ == "__main__":
    with job(snakemake) as progress:
        n, p = int(snakemake.wildcards.n), snakemake.params
        main(*snakemake.input[:2], n, p.grid, p.seed, snakemake.output[0], progress)

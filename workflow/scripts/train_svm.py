"""Independent linear classifiers with scikit-learn's LinearSVC, over a grid of C."""

from job import job

from jointsparse.learning import svm
from jointsparse.learning.tasks import training_sets
from jointsparse.tables import read_arrays, read_matrix, write_arrays


def main(features, tasks, n, grid, seed, output, progress):
    Y = training_sets(read_arrays(tasks, "Y", "sizes"), n)
    trained = svm.run(read_matrix(features), Y, **grid, seed=seed, progress=progress)
    write_arrays(output, **trained)


if __name__ == "__main__":
    with job(snakemake) as progress:
        n, p = int(snakemake.wildcards.n), snakemake.params
        main(*snakemake.input[:2], n, p.grid, p.seed, snakemake.output[0], progress)

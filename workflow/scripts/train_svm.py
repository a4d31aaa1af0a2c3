"""Train independent linear classifiers with scikit-learn's LinearSVC, over a grid of C."""

from job import job

from jointsparse.learning import svm
from jointsparse.learning.tasks import Tasks
from jointsparse.tables import read_matrix, read_record, write_record


def main(features, tasks, n, grid, seed, output, progress):
    X, Y = read_matrix(features), read_record(Tasks, tasks).training_sets(n)
    write_record(output, svm.run(X, Y, **grid, seed=seed, progress=progress))


if __name__ == "__main__":
    with job(snakemake) as progress:
        main(
            features=snakemake.input.features,
            tasks=snakemake.input.tasks,
            n=int(snakemake.wildcards.n),
            grid=snakemake.params.grid,
            seed=snakemake.params.seed,
            output=snakemake.output.sweep,
            progress=progress,
        )

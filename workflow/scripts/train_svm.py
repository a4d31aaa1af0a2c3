"""Train independent linear classifiers with scikit-learn's LinearSVC, over a grid of C."""

from job import job, part_of

from jointsparse.learning import svm
from jointsparse.learning.tasks import Tasks
from jointsparse.tables import read_matrix, read_record, write_records


def main(features, tasks, sizes, grid, seed, output, progress):
    X, tasks = read_matrix(features), read_record(Tasks, tasks)
    sweeps = {}
    for done, n in enumerate(sizes):
        share = part_of(progress, done, len(sizes))
        sweeps[n] = svm.run(X, tasks.training_sets(n), **grid, seed=seed, progress=share)
    write_records(output, sweeps)


if __name__ == "__main__":
    with job(snakemake) as progress:
        main(
            features=snakemake.input.features,
            tasks=snakemake.input.tasks,
            sizes=snakemake.params.sizes,
            grid=snakemake.params.grid,
            seed=snakemake.params.seed,
            output=snakemake.output.sweep,
            progress=progress,
        )

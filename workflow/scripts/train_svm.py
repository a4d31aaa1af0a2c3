"""Train independent linear classifiers with scikit-learn's LinearSVC, over a grid of C."""

from functools import partial

from job import job, part_of

from jointsparse.features.basis import factors
from jointsparse.learning import svm, sweep
from jointsparse.learning.tasks import Tasks
from jointsparse.provenance.tables import read_arrays, read_matrix, read_record, write_records


def main(features, basis, tasks, powers, grid, seed, output, progress):
    X, tasks = read_matrix(features), read_record(Tasks, tasks)
    sizes = tasks.each_size()
    scales = factors(*read_arrays(basis, "singular_values").values(), powers) if basis else {}
    sweeps = {}
    for done, n in enumerate(sizes):
        share = part_of(progress, done, len(sizes))
        train = partial(svm.run, Y=tasks.training_sets(n), **grid, seed=seed, progress=share)
        sweeps[n] = sweep.in_powers(X, scales, train)
    write_records(output, sweeps)


if __name__ == "__main__":
    with job(snakemake) as progress:
        main(
            features=snakemake.input.features,
            basis=snakemake.input.basis,
            tasks=snakemake.input.tasks,
            powers=snakemake.params.powers,
            grid=snakemake.params.grid,
            seed=snakemake.params.seed,
            output=snakemake.output.sweep,
            progress=progress,
        )

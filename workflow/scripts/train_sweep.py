"""Train every pair of first step size and radius, for one loss and norm."""

from job import job, part_of

from jointsparse.learning import sweep
from jointsparse.learning.tasks import Tasks
from jointsparse.tables import read_matrix, read_record, write_records


def main(features, tasks, sizes, loss, norm, grid, training, output, progress):
    X, tasks = read_matrix(features), read_record(Tasks, tasks)
    sweeps = {}
    for done, n in enumerate(sizes):
        share = part_of(progress, done, len(sizes))
        sweeps[n] = sweep.run(X, tasks.training_sets(n), loss=loss, norm=norm, **grid, **training, progress=share)
    write_records(output, sweeps)


if __name__ == "__main__":
    with job(snakemake) as progress:
        main(
            features=snakemake.input.features,
            tasks=snakemake.input.tasks,
            sizes=snakemake.params.sizes,
            loss=snakemake.wildcards.loss,
            norm=snakemake.wildcards.norm,
            grid=snakemake.params.grid,
            training=snakemake.params.training,
            output=snakemake.output.sweep,
            progress=progress,
        )

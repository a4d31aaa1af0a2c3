"""Train every pair of first step size and radius, for one loss and norm."""

from job import job

from jointsparse.learning import sweep
from jointsparse.learning.tasks import Tasks
from jointsparse.tables import read_matrix, read_record, write_record


def main(features, tasks, n, loss, norm, grid, training, output, progress):
    X, Y = read_matrix(features), read_record(Tasks, tasks).training_sets(n)
    write_record(output, sweep.run(X, Y, loss=loss, norm=norm, **grid, **training, progress=progress))


if __name__ == "__main__":
    with job(snakemake) as progress:
        main(
            features=snakemake.input.features,
            tasks=snakemake.input.tasks,
            n=int(snakemake.wildcards.n),
            loss=snakemake.wildcards.loss,
            norm=snakemake.wildcards.norm,
            grid=snakemake.params.grid,
            training=snakemake.params.training,
            output=snakemake.output.sweep,
            progress=progress,
        )

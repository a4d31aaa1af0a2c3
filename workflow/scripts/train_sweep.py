"""Train every pair of first step size and radius, for one loss and norm."""

from job import job

from jointsparse.learning import sweep
from jointsparse.learning.tasks import training_sets
from jointsparse.tables import read_arrays, read_matrix, write_arrays


def main(features, tasks, n, loss, norm, grid, training, output, progress):
    Y = training_sets(read_arrays(tasks, "Y", "sizes"), n)
    trained = sweep.run(read_matrix(features), Y, loss=loss, norm=norm, **grid, **training, progress=progress)
    write_arrays(output, **trained)


if __name__ == "__main__":
    with job(snakemake) as progress:
        w, p = snakemake.wildcards, snakemake.params
        main(*snakemake.input[:2], int(w.n), w.loss, w.norm, p.grid, p.training, snakemake.output[0], progress)

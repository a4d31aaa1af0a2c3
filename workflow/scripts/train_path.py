"""Train a path of radii for one loss and norm, on the largest training sets."""

from job import job

from jointsparse.learning import sweep
from jointsparse.learning.tasks import Tasks
from jointsparse.tables import read_matrix, read_record, write_record


def main(features, tasks, loss, norm, grid, ends, stop, normalisation, output, progress):
    X, Y = read_matrix(features), read_record(Tasks, tasks).training_sets()
    radius = sweep.spaced(grid, **ends)
    path = sweep.path(X, Y, loss=loss, norm=norm, radius=radius, normalisation=normalisation, **stop, progress=progress)
    write_record(output, path)


if __name__ == "__main__":
    with job(snakemake) as progress:
        options = snakemake.params.options
        main(
            features=snakemake.input.features,
            tasks=snakemake.input.tasks,
            loss=snakemake.wildcards.loss,
            norm=snakemake.wildcards.norm,
            grid=snakemake.params.grid,
            ends={key: options[key] for key in ("n_radii", "lowest", "highest")},
            stop={key: options[key] for key in ("n_iter", "tol")},
            normalisation=snakemake.params.normalisation,
            output=snakemake.output.path,
            progress=progress,
        )

"""Train a path of radii for one loss and norm, on the largest training sets."""

from job import job

from jointsparse.learning import sweep
from jointsparse.learning.tasks import training_sets
from jointsparse.tables import read_arrays, read_matrix, write_arrays


def main(features, tasks, loss, norm, grid, options, normalisation, output, progress):
    Y = training_sets(read_arrays(tasks, "Y", "sizes"))
    radius = sweep.spaced(grid, **{key: options[key] for key in ("n_radii", "lowest", "highest")})
    stop = {key: options[key] for key in ("n_iter", "tol")}
    X = read_matrix(features)
    trained = sweep.path(
        X, Y, loss=loss, norm=norm, radius=radius, **stop, normalisation=normalisation, progress=progress
    )
    write_arrays(output, **trained)


if __name__ == "__main__":
    with job(snakemake) as progress:
        i, w, p = snakemake.input, snakemake.wildcards, snakemake.params
        main(i.features, i.tasks, w.loss, w.norm, p.grid, p.options, p.normalisation, snakemake.output[0], progress)

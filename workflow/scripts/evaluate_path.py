"""Test every radius of the paths."""

from itertools import product

from job import job

from jointsparse.scores import evaluation
from jointsparse.tables import read_array, read_arrays, read_matrix, read_table, write_table

FITS = ("radius", "W", "objective", "gap", "at_zero", "learnt_from")


def main(files, runs, n, methods, metric, output):
    tasks = {
        run: read_arrays(path, "Y", "sizes", "validation_words") for run, path in zip(runs, files.tasks, strict=True)
    }
    paths = [
        evaluation.trained_sweep(run, n, method, tasks[run], read_arrays(path, *FITS))
        for (run, method), path in zip(product(runs, methods), files.paths, strict=True)
    ]
    split = read_table(files.images, "split")["split"].to_numpy()
    table = evaluation.path_table(paths, read_matrix(files.features), read_array(files.labels), split, metric=metric)
    write_table(table, output)


if __name__ == "__main__":
    with job(snakemake):
        p = snakemake.params
        main(snakemake.input, p.runs, p.n, p.methods, p.metric, snakemake.output[0])

"""Test every radius of the paths."""

from itertools import product

import numpy as np
from job import job

from jointsparse import comparison
from jointsparse.tables import read_arrays, read_matrix, read_table, write_table


def main(files, runs, n, methods, metric, output):
    tasks = dict(zip(runs, map(read_arrays, files.tasks), strict=True))
    paths = [
        comparison.trained_sweep(run, n, method, tasks[run], read_arrays(path))
        for (run, method), path in zip(product(runs, methods), files.paths, strict=True)
    ]
    split = read_table(files.images)["split"].to_numpy()
    table = comparison.path_table(paths, read_matrix(files.features), np.load(files.labels), split, metric=metric)
    write_table(table, output)


if __name__ == "__main__":
    with job(snakemake):
        p = snakemake.params
        main(snakemake.input, p.runs, p.n, p.methods, p.metric, snakemake.output[0])

"""Choose the best pair of every sweep and test it."""

from itertools import product

from job import job

from jointsparse.learning.tasks import names_of
from jointsparse.scores import evaluation
from jointsparse.tables import read_array, read_arrays, read_matrix, read_table, write_arrays, write_table

FITS = ("radius", "eta0", "W", "objective", "gap", "learnt_from")


def trained_sweeps(runs, sizes, methods, tasks, sweeps):
    tasks = {run: read_arrays(path, "Y", "sizes", "validation_words") for run, path in zip(runs, tasks, strict=True)}
    for (run, n, method), path in zip(product(runs, sizes, methods), sweeps, strict=True):
        yield evaluation.trained_sweep(run, n, method, tasks[run], read_arrays(path, *FITS))


def main(files, runs, sizes, methods, metric, at_size, output):
    labels = read_array(files.labels)
    tables = evaluation.evaluate(
        trained_sweeps(runs, sizes, methods, files.tasks, files.sweeps),
        read_matrix(files.features),
        labels,
        read_table(files.images, "split")["split"].to_numpy(),
        names_of(read_table(files.words, "word", "images"), labels),
        converging_method=methods[0],
        metric=metric,
        at_size=at_size,
    )
    for name in ("chosen", "by_word", "sparsity", "convergence", "weights"):
        write_table(getattr(tables, name), output[name])
    write_arrays(output.scores, **tables.scores)


if __name__ == "__main__":
    with job(snakemake):
        p = snakemake.params
        main(snakemake.input, p.runs, p.sizes, p.methods, p.metric, p.at_size, snakemake.output)

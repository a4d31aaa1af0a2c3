"""Choose the best pair (eta0, radius) of every sweep and test it."""

from itertools import product

from job import job

from jointsparse.learning.sweep import Sweep
from jointsparse.learning.tasks import Tasks, names_of
from jointsparse.provenance.tables import read_array, read_matrix, read_record, read_table, write_arrays, write_table
from jointsparse.scores import evaluation
from jointsparse.scores.learnt import words_learnt


def trained_sweeps(tasks, methods, sweeps):
    sweeps = dict(zip(product(tasks, methods), sweeps, strict=True))
    for run in tasks:
        for n, method in product(tasks[run].each_size(), methods):
            yield evaluation.trained_sweep(run, n, method, tasks[run], read_record(Sweep, sweeps[run, method], n))


def main(images, features, words, labels, tasks, sweeps, runs, methods, metric, selection, at_size, output):
    labels = read_array(labels)
    tasks = {run: read_record(Tasks, path) for run, path in zip(runs, tasks, strict=True)}
    tables = evaluation.evaluate(
        trained_sweeps(tasks, methods, sweeps),
        read_matrix(features),
        labels,
        read_table(images, "split")["split"].to_numpy(),
        names_of(read_table(words, "word", "images", "warning"), labels),
        converging_method=methods[0],
        metric=metric,
        selection=selection,
        at_size=tasks[runs[0]].size_at_most(at_size),
    )
    for name in ("chosen", "by_word", "sparsity", "convergence", "weights"):
        write_table(getattr(tables, name), output[name])
    write_table(words_learnt(tables.by_word, len(tables.scores.labels)), output["words_learnt"])
    write_arrays(output["scores"], **tables.scores._asdict())


if __name__ == "__main__":
    with job(snakemake):
        main(
            images=snakemake.input.images,
            features=snakemake.input.features,
            words=snakemake.input.words,
            labels=snakemake.input.labels,
            tasks=snakemake.input.tasks,
            sweeps=snakemake.input.sweeps,
            runs=snakemake.params.runs,
            methods=snakemake.params.methods,
            metric=snakemake.params.metric,
            selection=snakemake.params.selection,
            at_size=snakemake.params.at_size,
            output=dict(snakemake.output.items()),
        )

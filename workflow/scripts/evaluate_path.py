"""Test every radius of the paths for the largest training sets, and the one that validation chooses for each."""

from itertools import product

from job import job

from jointsparse.learning.sweep import Sweep
from jointsparse.learning.tasks import Tasks
from jointsparse.scores import evaluation
from jointsparse.tables import read_array, read_matrix, read_record, read_table, write_table


def main(images, features, labels, tasks, paths, chosen, runs, sizes, methods, metric, selection, output):
    tasks = {run: read_record(Tasks, path) for run, path in zip(runs, tasks, strict=True)}
    trained = [
        evaluation.trained_sweep(run, n, method, tasks[run], read_record(Sweep, path, n))
        for (run, method), path in zip(product(runs, methods), paths, strict=True)
        for n in sizes
    ]
    split = read_table(images, "split")["split"].to_numpy()
    data = read_matrix(features), read_array(labels), split, read_table(chosen, "run", "n", "method")
    tables = evaluation.path_tables(trained, *data, at_size=max(sizes), metric=metric, selection=selection)
    for name, table in tables._asdict().items():
        write_table(table, output[name])


if __name__ == "__main__":
    with job(snakemake):
        main(
            images=snakemake.input.images,
            features=snakemake.input.features,
            labels=snakemake.input.labels,
            tasks=snakemake.input.tasks,
            paths=snakemake.input.paths,
            chosen=snakemake.input.chosen,
            runs=snakemake.params.runs,
            sizes=snakemake.params.sizes,
            methods=snakemake.params.methods,
            metric=snakemake.params.metric,
            selection=snakemake.params.selection,
            output=dict(snakemake.output.items()),
        )

"""Test every radius of the paths."""

from itertools import product

from job import job

from jointsparse.learning.sweep import Sweep
from jointsparse.learning.tasks import Tasks
from jointsparse.scores import evaluation
from jointsparse.tables import read_array, read_matrix, read_record, read_table, write_table


def main(images, features, labels, tasks, paths, runs, n, methods, metric, output):
    tasks = {run: read_record(Tasks, path) for run, path in zip(runs, tasks, strict=True)}
    trained = [
        evaluation.trained_sweep(run, n, method, tasks[run], read_record(Sweep, path))
        for (run, method), path in zip(product(runs, methods), paths, strict=True)
    ]
    split = read_table(images, "split")["split"].to_numpy()
    table = evaluation.path_table(trained, read_matrix(features), read_array(labels), split, metric=metric)
    write_table(table, output)


if __name__ == "__main__":
    with job(snakemake):
        main(
            images=snakemake.input.images,
            features=snakemake.input.features,
            labels=snakemake.input.labels,
            tasks=snakemake.input.tasks,
            paths=snakemake.input.paths,
            runs=snakemake.params.runs,
            n=snakemake.params.n,
            methods=snakemake.params.methods,
            metric=snakemake.params.metric,
            output=snakemake.output.path,
        )

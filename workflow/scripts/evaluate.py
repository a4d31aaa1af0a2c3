"""Choose the best pair (eta0, radius) of every sweep, test it, and gather the warnings of the study."""

from itertools import product
from pathlib import Path

from job import job

from jointsparse.pipeline.provenance.tables import (
    read_array,
    read_features,
    read_record,
    read_table,
    write_arrays,
    write_table,
)
from jointsparse.pipeline.scores import evaluation, warning_table
from jointsparse.pipeline.scores.learnt import words_learnt
from jointsparse.pipeline.scores.runs import means
from jointsparse.pipeline.sweep import Sweep
from jointsparse.pipeline.tasks import Tasks
from jointsparse.pipeline.words import names_of


def trained_sweeps(tasks, methods, files):
    files = dict(zip(product(tasks, methods), files, strict=True))
    for run in tasks:
        for n, method in product(tasks[run].each_size(), methods):
            yield evaluation.trained_sweep(run, n, method, tasks[run], read_record(Sweep, files[run, method], n))


if __name__ == "__main__":
    with job(snakemake):
        input, params, output = snakemake.input, snakemake.params, dict(snakemake.output.items())
        warnings = output.pop("warnings")
        tasks = {run: read_record(Tasks, path) for run, path in zip(params.runs, input.tasks, strict=True)}
        labels = read_array(input.labels)
        words = names_of(read_table(input.words, "word", "images", "warning"), labels)
        tables = evaluation.evaluate(
            trained_sweeps(tasks, params.methods, input.sweeps),
            read_features(input.features, params.vocabulary),
            labels,
            read_table(input.images, "split")["split"].to_numpy(),
            words,
            converging_method=params.methods[0],
            metric=params.metric,
            selection=params.selection,
            at_size=tasks[params.runs[0]].size_at_most(params.at_size),
        )
        write_arrays(output.pop("scores"), **tables.scores._asdict())
        write_table(means(tables.chosen), output.pop("means"))
        write_table(
            words_learnt(tables.by_word, dict(zip(words, (tables.scores.labels >= 0).sum(axis=0), strict=True))),
            output.pop("words_learnt"),
        )
        warned = [input.odd_features, input.words, output["chosen"], output["by_word"], *input.drawn, *input.left_out]
        for name, path in output.items():
            write_table(getattr(tables, name), path)
        write_table(warning_table.gather({Path(file).stem: read_table(file) for file in warned}), warnings)

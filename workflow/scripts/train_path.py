"""Train a path of radii on training sets of every size, for one loss and norm, as far as validation scores say."""

from functools import partial

from job import job, parts

from jointsparse.features.basis import factors
from jointsparse.pipeline import sweep
from jointsparse.pipeline.provenance.tables import (
    read_array,
    read_arrays,
    read_features,
    read_record,
    read_table,
    write_records,
)
from jointsparse.pipeline.scores.evaluation import validation_score
from jointsparse.pipeline.tasks import Tasks


def path(X, labels, split, words, metric, **options):
    return sweep.path(X, score=validation_score(X, labels, split, words, metric=metric), **options)


if __name__ == "__main__":
    with job(snakemake) as progress:
        X = read_features(snakemake.input.features, snakemake.params.vocabulary)
        tasks = read_record(Tasks, snakemake.input.tasks)
        scales = (
            factors(*read_arrays(snakemake.input.basis, "singular_values").values(), snakemake.params.powers)
            if snakemake.input.basis
            else {}
        )
        train = partial(
            path,
            labels=read_array(snakemake.input.labels),
            split=read_table(snakemake.input.images, "split")["split"].to_numpy(),
            words=tasks.validation_words,
            metric=snakemake.params.metric,
            loss=snakemake.wildcards.loss,
            norm=snakemake.wildcards.norm,
            **snakemake.params.training,
        )
        paths = {
            n: sweep.in_powers(X, scales, partial(train, Y=tasks.training_sets(n), progress=part))
            for n, part in parts(tasks.each_size(), progress)
        }
        write_records(snakemake.output.path, paths)

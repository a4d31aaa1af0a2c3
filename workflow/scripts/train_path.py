"""For one loss and norm, train along a path of radii, for every training set size. Validation scores end a path."""

from functools import partial

from job import job
from training import fits_of_sizes

from jointsparse.pipeline import sweep
from jointsparse.pipeline.provenance.tables import read_array, read_record, read_table, write_records
from jointsparse.pipeline.scores.evaluation import validation_score
from jointsparse.pipeline.tasks import Tasks


def path(X, labels, split, words, metric, **options):
    return sweep.path(X, score=validation_score(X, labels, split, words, metric=metric), **options)


if __name__ == "__main__":
    with job(snakemake) as progress:
        given, params, wildcards = snakemake.input, snakemake.params, snakemake.wildcards
        train = partial(
            path,
            labels=read_array(given.labels),
            split=read_table(given.images, "split")["split"].to_numpy(),
            words=read_record(Tasks, given.tasks).validation_words,
            metric=params.metric,
            loss=wildcards.loss,
            norm=wildcards.norm,
            **params.training,
        )
        write_records(snakemake.output.path, fits_of_sizes(given, params, train, progress))

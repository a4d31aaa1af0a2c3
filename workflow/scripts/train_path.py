"""Train a path of radii on training sets of every size, for one loss and norm, as far as validation scores say."""

from functools import partial

from job import job, part_of

from jointsparse.features.basis import factors
from jointsparse.learning import sweep
from jointsparse.learning.tasks import Tasks
from jointsparse.provenance.tables import read_array, read_arrays, read_matrix, read_record, read_table, write_records
from jointsparse.scores.evaluation import validation_score


def main(images, features, basis, labels, tasks, powers, loss, norm, training, metric, output, progress):
    X, tasks = read_matrix(features), read_record(Tasks, tasks)
    sizes = tasks.each_size()
    scales = factors(*read_arrays(basis, "singular_values").values(), powers) if basis else {}
    split, labels = read_table(images, "split")["split"].to_numpy(), read_array(labels)

    def path(X, **options):
        score = validation_score(X, labels, split, tasks.validation_words, metric=metric)
        return sweep.path(X, loss=loss, norm=norm, score=score, **training, **options)

    paths = {}
    for done, n in enumerate(sizes):
        share = part_of(progress, done, len(sizes))
        paths[n] = sweep.in_powers(X, scales, partial(path, Y=tasks.training_sets(n), progress=share))
    write_records(output, paths)


if __name__ == "__main__":
    with job(snakemake) as progress:
        main(
            images=snakemake.input.images,
            features=snakemake.input.features,
            basis=snakemake.input.basis,
            labels=snakemake.input.labels,
            tasks=snakemake.input.tasks,
            powers=snakemake.params.powers,
            loss=snakemake.wildcards.loss,
            norm=snakemake.wildcards.norm,
            training=snakemake.params.training,
            metric=snakemake.params.metric,
            output=snakemake.output.path,
            progress=progress,
        )

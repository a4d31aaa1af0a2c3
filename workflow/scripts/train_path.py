"""Train a path of radii on training sets of every size, for one loss and norm, as far as validation scores say."""

from job import job, part_of

from jointsparse.learning import sweep
from jointsparse.learning.tasks import Tasks
from jointsparse.scores.evaluation import validation_score
from jointsparse.tables import read_array, read_matrix, read_record, read_table, write_records


def main(images, features, labels, tasks, sizes, loss, norm, stop, normalisation, metric, output, progress):
    X, tasks = read_matrix(features), read_record(Tasks, tasks)
    split = read_table(images, "split")["split"].to_numpy()
    score = validation_score(X, read_array(labels), split, tasks.validation_words, metric=metric)
    plug_ins = {"loss": loss, "norm": norm, "normalisation": normalisation}
    paths = {}
    for done, n in enumerate(sizes):
        share = part_of(progress, done, len(sizes))
        paths[n] = sweep.path(X, tasks.training_sets(n), **plug_ins, **stop, score=score, progress=share)
    write_records(output, paths)


if __name__ == "__main__":
    with job(snakemake) as progress:
        main(
            images=snakemake.input.images,
            features=snakemake.input.features,
            labels=snakemake.input.labels,
            tasks=snakemake.input.tasks,
            sizes=snakemake.params.sizes,
            loss=snakemake.wildcards.loss,
            norm=snakemake.wildcards.norm,
            stop=snakemake.params.stop,
            normalisation=snakemake.params.normalisation,
            metric=snakemake.params.metric,
            output=snakemake.output.path,
            progress=progress,
        )

"""Intervals of the first method's lead over each other one, by resampling the test images."""

from job import job

from jointsparse import comparison
from jointsparse.checks import select
from jointsparse.tables import read_array, read_arrays, read_table, write_table


def main(files, runs, methods, n_resamples, seed, output):
    table = comparison.differences(
        read_arrays(files.scores),
        select(read_array(files.labels), (read_table(files.images, "split")["split"] == "test").to_numpy(), "labels"),
        {
            run: read_arrays(path, "validation_words")["validation_words"]
            for run, path in zip(runs, files.tasks, strict=True)
        },
        n_samples=read_table(files.chosen, "n", "n_samples").set_index("n")["n_samples"].to_dict(),
        methods=methods,
        n_resamples=n_resamples,
        seed=seed,
    )
    write_table(table, output)


if __name__ == "__main__":
    with job(snakemake):
        p = snakemake.params
        main(snakemake.input, p.runs, p.methods, p.n_resamples, p.seed, snakemake.output[0])

"""The first method against each other one: sign tests, or intervals of its lead by resampling the test images."""

from job import job

from jointsparse.checks import select
from jointsparse.scores import comparison
from jointsparse.tables import read_array, read_arrays, read_table, write_table

TABLES = {"significance": comparison.significance, "differences": comparison.differences}


def main(files, table, runs, options, output):
    rows = TABLES[table](
        read_arrays(files.scores),
        select(read_array(files.labels), (read_table(files.images, "split")["split"] == "test").to_numpy(), "labels"),
        {
            run: read_arrays(path, "validation_words")["validation_words"]
            for run, path in zip(runs, files.tasks, strict=True)
        },
        n_samples=read_table(files.chosen, "n", "n_samples").set_index("n")["n_samples"].to_dict(),
        **options,
    )
    write_table(rows, output)


if __name__ == "__main__":
    with job(snakemake):
        p = snakemake.params
        main(snakemake.input, p.table, p.runs, p.options, snakemake.output[0])

"""Join all repetitions in one table, with or without their measured seconds."""

from job import job

from jointsparse.provenance.tables import read_tables, write_table


def main(runs, with_seconds, output):
    table = read_tables(runs)
    write_table(table if with_seconds else table.drop(columns="seconds", errors="ignore"), output)


if __name__ == "__main__":
    with job(snakemake):
        main(
            runs=snakemake.input.runs,
            with_seconds=snakemake.wildcards.folder == "timings",
            output=snakemake.output.table,
        )

"""All repetitions in one table, whose seconds stand in another, as they differ each time."""

from job import job

from jointsparse.tables import read_tables, write_table


def main(runs, output):
    table = read_tables(runs, "seconds")
    write_table(table, output.seconds)
    write_table(table.drop(columns="seconds"), output.table)


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.input.runs, snakemake.output)

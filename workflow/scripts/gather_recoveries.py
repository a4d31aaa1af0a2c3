"""All repetitions of the synthetic experiment in one table."""

from job import job

from jointsparse.tables import read_tables, write_table


def main(runs, output):
    write_table(read_tables(runs), output)


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.input.runs, snakemake.output[0])

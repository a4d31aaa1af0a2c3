"""All repetitions in one table, whose seconds stand in another, as they differ each time."""

import pandas as pd
from job import job

from jointsparse.tables import read_table, write_table


def main(runs, output):
    table = pd.concat(map(read_table, runs), ignore_index=True)
    write_table(table, output.seconds)
    write_table(table.drop(columns="seconds"), output.table)


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.input.runs, snakemake.output)

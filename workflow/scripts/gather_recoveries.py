"""All repetitions of the synthetic experiment in one table."""

import pandas as pd
from job import job

from jointsparse.tables import read_table, write_table


def main(runs, output):
    write_table(pd.concat(map(read_table, runs), ignore_index=True), output)


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.input.runs, snakemake.output[0])

"""Join all repetitions in one table, with or without their measured seconds."""

import pandas as pd
from job import job

from jointsparse.provenance.tables import read_table, write_table


def main(runs, with_seconds, output):
    table = pd.concat(map(read_table, runs), ignore_index=True)
    write_table(table if with_seconds else table.drop(columns="seconds", errors="ignore"), output)


if __name__ == "__main__":
    with job(snakemake):
        main(
            runs=snakemake.input.runs,
            with_seconds=snakemake.wildcards.folder == "timings",
            output=snakemake.output.table,
        )

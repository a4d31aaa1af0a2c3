"""Join all repetitions in one table, with or without their measured seconds."""

import pandas as pd
from job import job

from jointsparse.provenance.tables import read_table, write_table

if __name__ == "__main__":
    with job(snakemake):
        table = pd.concat(map(read_table, snakemake.input.runs), ignore_index=True)
        timed = snakemake.wildcards.folder == "timings"
        write_table(table if timed else table.drop(columns="seconds", errors="ignore"), snakemake.output.table)

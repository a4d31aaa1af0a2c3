"""Join all repetitions in one table, with or without their measured seconds."""

import pandas as pd
from job import job

from jointsparse.pipeline.provenance.tables import read_table, write_table

if __name__ == "__main__":
    with job(snakemake):
        left_out = [] if snakemake.wildcards.folder == "timings" else ["seconds"]
        table = pd.concat(map(read_table, snakemake.input.runs), ignore_index=True)
        write_table(table.drop(columns=left_out, errors="ignore"), snakemake.output.table)

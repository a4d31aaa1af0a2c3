"""Gather all warnings of a study's tables."""

from pathlib import Path

from job import job

from jointsparse.pipeline.provenance.tables import read_table, write_table
from jointsparse.pipeline.scores import flags

if __name__ == "__main__":
    with job(snakemake):
        tables = {Path(file).stem: read_table(file) for file in snakemake.input.tables}
        write_table(flags.gather(tables), snakemake.output.warnings)

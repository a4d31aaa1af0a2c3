"""Gather all warnings of a study's tables."""

from pathlib import Path

from job import job

from jointsparse.provenance.tables import read_table, write_table
from jointsparse.scores import flags


def main(tables, output):
    write_table(flags.gather({Path(file).stem: read_table(file) for file in tables}), output)


if __name__ == "__main__":
    with job(snakemake):
        main(tables=snakemake.input.tables, output=snakemake.output.warnings)

"""Gather what a run was made with, its settings, and the checksums of the files it read and of its tables."""

from pathlib import Path

import pandas as pd
from job import job

from jointsparse.provenance import manifest, records
from jointsparse.provenance.tables import write_table, written


def main(tables, inputs, settings, output):
    raw = {name: (one["paths"], records.raw_files(one["paths"], one["cache"])) for name, one in inputs.items()}
    made = manifest.make(Path(output.manifest).parent, tables=tables, raw=raw, settings=settings)
    with written(output.manifest) as path:
        path.write_text(manifest.dumps(made), encoding="utf-8")
    rows = [(name, value) for name, values in sorted(made["made_with"].items()) for value in values]
    write_table(pd.DataFrame(rows, columns=["name", "value"]), output.made_with)


if __name__ == "__main__":
    with job(snakemake):
        main(
            tables=snakemake.input.tables,
            inputs=snakemake.params.inputs,
            settings=snakemake.params.settings,
            output=snakemake.output,
        )

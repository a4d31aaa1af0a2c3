"""Record the settings of a run, the versions of its software, and the checksums of its raw files and tables."""

import pandas as pd
from job import job

from jointsparse.pipeline.provenance import manifest, records
from jointsparse.pipeline.provenance.tables import write_table

if __name__ == "__main__":
    with job(snakemake):
        raw = {
            name: records.checksums(one["paths"], one["cache"], records.LARGEST_RAW)
            for name, one in snakemake.params.inputs.items()
        }
        made = manifest.make(snakemake.input.tables, raw, snakemake.params.settings)
        records.write_json(snakemake.output.manifest, made)
        rows = [(name, value) for name, values in sorted(made["made_with"].items()) for value in values]
        write_table(pd.DataFrame(rows, columns=["name", "value"]), snakemake.output.made_with)

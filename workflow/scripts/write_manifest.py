"""Versions, settings and checksums of a run, beside its results."""

from pathlib import Path

from job import job

from jointsparse import records
from jointsparse.tables import written

# Whose versions may change a number.
PACKAGES = ["numba", "llvmlite", "numpy", "scipy", "scikit-learn", "scikit-image", "pillow", "pandas", "pyarrow"]
PACKAGES += ["snowballstemmer", "snakemake"]


def main(tables, inputs, settings, output):
    made = records.make(Path(output).parent, tables=tables, inputs=inputs, settings=settings, packages=PACKAGES)
    with written(output) as path:
        path.write_text(records.dumps(made), encoding="utf-8")


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.input.tables, snakemake.params.inputs, snakemake.params.settings, snakemake.output[0])

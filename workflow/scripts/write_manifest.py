"""Write versions, settings and checksums of a run beside its results."""

from pathlib import Path

from job import job

from jointsparse import records
from jointsparse.tables import written

PACKAGES = [  # those whose versions may change a number
    *("numba", "llvmlite", "numpy", "scipy", "scikit-learn", "scikit-image", "pillow", "pandas", "pyarrow"),
    *("snowballstemmer", "snakemake"),
]


def main(tables, inputs, settings, output):
    made = records.make(Path(output).parent, tables=tables, inputs=inputs, settings=settings, packages=PACKAGES)
    with written(output) as path:
        path.write_text(records.dumps(made), encoding="utf-8")


if __name__ == "__main__":
    with job(snakemake):
        main(
            tables=snakemake.input.tables,
            inputs=snakemake.params.inputs,
            settings=snakemake.params.settings,
            output=snakemake.output.manifest,
        )

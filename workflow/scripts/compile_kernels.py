"""Compile the kernels of a norm, so that the jobs that use them do not all compile the same."""

import numpy as np
from job import job

from jointsparse.learning.warmup import warmup
from jointsparse.provenance.tables import written


def main(norm, output):
    warmup(norm, losses=("hinge",), dtypes=(np.float32,), progress=False)
    with written(output) as path:
        path.write_text(f"The kernels of {norm} are compiled.\n", encoding="utf-8")


if __name__ == "__main__":
    with job(snakemake):
        main(norm=snakemake.wildcards.norm, output=snakemake.output.done)

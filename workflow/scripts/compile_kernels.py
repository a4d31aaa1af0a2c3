"""Compile the kernels of all norms in use in advance, so that many jobs do not each compile them."""

import numpy as np
from job import job

from jointsparse.learning.warmup import warmup
from jointsparse.written import written

if __name__ == "__main__":
    with job(snakemake), written(snakemake.output.done) as path:
        norms = snakemake.params.norms
        warmup(*norms, losses=("hinge",), dtypes=(np.float32,), progress=False)
        path.write_text(f"The kernels of {', '.join(norms)} are compiled.\n", encoding="utf-8")

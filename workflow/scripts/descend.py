"""One problem drawn at random, solved by each method: how far each is at each step, and what that took."""

import numpy as np
from job import job

from jointsparse import suboptimality
from jointsparse.tables import write_table


def main(problem, n, run, options, seed, output, progress):
    rng = np.random.default_rng([seed, run, n])
    write_table(suboptimality.run(problem=problem, n=n, run=run, rng=rng, **options, progress=progress), output)


if __name__ == "__main__":
    with job(snakemake) as progress:
        p, w = snakemake.params, snakemake.wildcards
        main(w.problem, int(w.n), int(w.run), p.options, p.seed, snakemake.output[0], progress)

"""One repetition of the synthetic experiment: tasks drawn with known weights, and learnt."""

import numpy as np
from job import job

from jointsparse import recovery
from jointsparse.datasets import synthetic
from jointsparse.tables import write_table


def main(tasks, options, seed, run, output, progress):
    data = synthetic.draw(**tasks, n_train=max(options["sizes"]), rng=np.random.default_rng([seed, run]))
    write_table(recovery.run(data=data, **options, run=run, progress=progress), output)


if __name__ == "__main__":
    with job(snakemake) as progress:
        p = snakemake.params
        main(p.tasks, p.options, p.seed, int(snakemake.wildcards.run), snakemake.output[0], progress)

"""Seconds of projections and of sparse updates."""

from job import job

from jointsparse import projection_cost
from jointsparse.tables import write_table


def main(options, seed, output, progress):
    write_table(projection_cost.measure(**options, seed=seed, progress=progress), output)


if __name__ == "__main__":
    with job(snakemake) as progress:
        p = snakemake.params
        main(p.options, p.seed, snakemake.output[0], progress)

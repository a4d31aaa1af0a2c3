"""For one loss and norm, train with every pair of initial step size and radius, for every training set size."""

from functools import partial

from job import job
from training import fits_of_sizes

from jointsparse.pipeline import sweep
from jointsparse.pipeline.provenance.tables import write_records

if __name__ == "__main__":
    with job(snakemake) as progress:
        params, wildcards = snakemake.params, snakemake.wildcards
        train = partial(sweep.run, loss=wildcards.loss, norm=wildcards.norm, **params.grid, **params.training)
        write_records(snakemake.output.sweep, fits_of_sizes(snakemake.input, params, train, progress))

"""Train independent linear classifiers with scikit-learn's LinearSVC, over a grid of C."""

from functools import partial

from job import job
from training import fits_of_sizes

from jointsparse.pipeline import svm
from jointsparse.pipeline.provenance.tables import write_records

if __name__ == "__main__":
    with job(snakemake) as progress:
        params = snakemake.params
        train = partial(svm.run, seed=params.seed, **params.grid)
        write_records(snakemake.output.sweep, fits_of_sizes(snakemake.input, params, train, progress))

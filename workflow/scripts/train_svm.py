"""Train independent linear classifiers with scikit-learn's LinearSVC, over a grid of C."""

from functools import partial

from job import job, parts

from jointsparse.features.basis import factors
from jointsparse.pipeline import svm, sweep
from jointsparse.pipeline.provenance.tables import read_arrays, read_features, read_record, write_records
from jointsparse.pipeline.tasks import Tasks

if __name__ == "__main__":
    with job(snakemake) as progress:
        X = read_features(snakemake.input.features, snakemake.params.vocabulary)
        tasks = read_record(Tasks, snakemake.input.tasks)
        scales = (
            factors(*read_arrays(snakemake.input.basis, "singular_values").values(), snakemake.params.powers)
            if snakemake.input.basis
            else {}
        )
        train = partial(svm.run, seed=snakemake.params.seed, **snakemake.params.grid)
        sweeps = {
            n: sweep.in_powers(X, scales, partial(train, Y=tasks.training_sets(n), progress=part))
            for n, part in parts(tasks.each_size(), progress)
        }
        write_records(snakemake.output.sweep, sweeps)

"""Resample the test images for intervals of the first method's lead over each other one."""

from job import job

from jointsparse.provenance.tables import read_record, write_table
from jointsparse.scores import comparison
from jointsparse.scores.metrics import Scores


def main(scores, n_resamples, seed, output):
    write_table(comparison.differences(read_record(Scores, scores), n_resamples=n_resamples, seed=seed), output)


if __name__ == "__main__":
    with job(snakemake):
        main(
            scores=snakemake.input.scores,
            n_resamples=snakemake.params.n_resamples,
            seed=snakemake.params.seed,
            output=snakemake.output.differences,
        )

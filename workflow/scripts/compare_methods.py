"""Test the first method against each other one by sign tests."""

from job import job

from jointsparse.provenance.tables import read_record, write_table
from jointsparse.scores import comparison
from jointsparse.scores.metrics import Scores


def main(scores, n_pairings, seed, output):
    write_table(comparison.significance(read_record(Scores, scores), n_pairings=n_pairings, seed=seed), output)


if __name__ == "__main__":
    with job(snakemake):
        main(
            scores=snakemake.input.scores,
            n_pairings=snakemake.params.n_pairings,
            seed=snakemake.params.seed,
            output=snakemake.output.significance,
        )

"""Compare the first method with each of the others, by sign tests and by resampling the test images."""

from job import job

from jointsparse.pipeline.provenance.tables import read_groups, read_record, read_table, write_table
from jointsparse.pipeline.scores import comparison
from jointsparse.pipeline.scores.scored_fits import ScoredFits

if __name__ == "__main__":
    with job(snakemake):
        scores, seed, tests = (
            read_record(ScoredFits, snakemake.input.scores),
            snakemake.params.seed,
            snakemake.params.tests,
        )
        on_test = read_table(snakemake.input.images, "split")["split"] == "test"
        groups = read_groups(snakemake.input.images)
        tables = {
            "significance": comparison.significance(scores, n_pairings=tests["n_pairings"], seed=seed),
            "differences": comparison.differences(
                scores, n_resamples=tests["n_resamples"], seed=seed, groups=None if groups is None else groups[on_test]
            ),
        }
        for name, table in tables.items():
            write_table(table, snakemake.output[name])

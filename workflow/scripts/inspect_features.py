"""List oddities of a study's features, and images that repeat in another split."""

from job import job

from jointsparse.provenance.tables import read_matrix, read_table, write_table
from jointsparse.scores import flags

if __name__ == "__main__":
    with job(snakemake):
        features, given = read_matrix(snakemake.input.features), read_matrix(snakemake.input.given)
        counts, repeated = flags.of_features(features, given, read_table(snakemake.input.images, "image", "split"))
        write_table(counts, snakemake.output.features)
        write_table(repeated, snakemake.output.repeated)

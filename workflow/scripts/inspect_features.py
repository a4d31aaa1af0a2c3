"""List oddities of a study's features, and images that repeat in another split."""

from job import job

from jointsparse.provenance.tables import read_features, read_table, write_table
from jointsparse.scores import flags

if __name__ == "__main__":
    with job(snakemake):
        files, vocabulary = snakemake.input, snakemake.params.vocabulary
        features, given = (read_features(one, vocabulary) for one in (files.features, files.given))
        counts, repeated = flags.of_features(features, given, read_table(files.images, "image", "split"))
        write_table(counts, snakemake.output.features)
        write_table(repeated, snakemake.output.repeated)

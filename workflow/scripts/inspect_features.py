"""List anomalies in a study's features, and images that occur in more than one split."""

from job import job

from jointsparse.pipeline.provenance.tables import read_blocks, read_table, write_table
from jointsparse.pipeline.scores import flags

if __name__ == "__main__":
    with job(snakemake):
        files, vocabulary = snakemake.input, snakemake.params.vocabulary
        images = read_table(files.images, "image", "split")
        names = images["image"].tolist()
        features, given = (read_blocks(one, vocabulary, names) for one in (files.features, files.given))
        counts, repeated = flags.of_features(features, given, images)
        write_table(counts, snakemake.output.features)
        write_table(repeated, snakemake.output.repeated)

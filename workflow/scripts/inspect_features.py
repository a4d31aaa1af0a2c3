"""List oddities of a study's features, and images that repeat in another split."""

from job import job

from jointsparse.provenance.tables import read_matrix, read_table, write_table
from jointsparse.scores import flags


def main(images, features, given, output):
    counts, repeated = flags.of_features(
        read_matrix(features), read_matrix(given), read_table(images, "image", "split")
    )
    write_table(counts, output.features)
    write_table(repeated, output.repeated)


if __name__ == "__main__":
    with job(snakemake):
        main(
            images=snakemake.input.images,
            features=snakemake.input.features,
            given=snakemake.input.given,
            output=snakemake.output,
        )

"""Choose the most frequent content words, and tell which image has which."""

from job import job

from jointsparse.learning import tasks
from jointsparse.provenance.tables import read_table, write_array, write_table


def main(images, captions, smallest_size, options, output):
    words, labels = tasks.choose_words(
        read_table(images, "image", "split"),
        read_table(captions, "image", "caption"),
        smallest_size=smallest_size,
        **options,
    )
    write_table(words, output.words)
    write_array(output.labels, labels)


if __name__ == "__main__":
    with job(snakemake):
        main(
            images=snakemake.input.images,
            captions=snakemake.input.captions,
            smallest_size=snakemake.params.smallest_size,
            options=snakemake.params.options,
            output=snakemake.output,
        )

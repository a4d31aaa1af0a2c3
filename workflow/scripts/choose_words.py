"""Choose the most frequent content words, and record which words each image has."""

from job import job

from jointsparse.pipeline.provenance.tables import read_table, write_array, write_table
from jointsparse.pipeline.words import choose_words

if __name__ == "__main__":
    with job(snakemake):
        words, labels = choose_words(
            read_table(snakemake.input.images, "image", "split"),
            read_table(snakemake.input.captions, "image", "caption"),
            smallest_size=snakemake.params.smallest_size,
            **snakemake.params.options,
        )
        write_table(words, snakemake.output.words)
        write_array(snakemake.output.labels, labels)

"""Count how often each image of a shard has each visual word."""

from job import job

from jointsparse.features import vocabulary_tree
from jointsparse.provenance.tables import read_array, read_arrays, reading, write_matrix


def main(descriptors, counts, tree, output):
    with reading(tree):
        tree = vocabulary_tree.from_arrays(read_arrays(tree, *vocabulary_tree.Tree._fields))
    histograms = vocabulary_tree.encode(tree, read_array(descriptors, mapped=True), read_array(counts))
    write_matrix(output, histograms)


if __name__ == "__main__":
    with job(snakemake):
        main(
            descriptors=snakemake.input.descriptors,
            counts=snakemake.input.counts,
            tree=snakemake.input.tree,
            output=snakemake.output.histograms,
        )

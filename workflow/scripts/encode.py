"""Count how often each image of a shard has each visual word."""

from job import job

from jointsparse.features import vocabulary_tree
from jointsparse.provenance.tables import read_array, read_record, write_matrix


def main(descriptors, counts, tree, output):
    tree = read_record(vocabulary_tree.Tree, tree)
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

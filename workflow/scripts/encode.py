"""Count how often each image of a shard has each visual word."""

from job import job

from jointsparse.features import vocabulary_tree
from jointsparse.provenance.tables import read_array, read_record, write_matrix

if __name__ == "__main__":
    with job(snakemake):
        tree = read_record(vocabulary_tree.Tree, snakemake.input.tree)
        descriptors = read_array(snakemake.input.descriptors, mapped=True)
        counts = read_array(snakemake.input.counts)
        write_matrix(snakemake.output.histograms, vocabulary_tree.encode(tree, descriptors, counts))

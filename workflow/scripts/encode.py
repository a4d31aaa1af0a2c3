"""How often each image of a shard has each visual word."""

import numpy as np
from job import job

from jointsparse.features import vocabulary_tree
from jointsparse.tables import read_arrays, write_matrix


def main(descriptors, counts, tree, output):
    tree = vocabulary_tree.VocabularyTree(**read_arrays(tree))
    histograms = vocabulary_tree.encode(tree, np.load(descriptors, mmap_mode="r"), np.load(counts))
    write_matrix(output, histograms)


if __name__ == "__main__":
    with job(snakemake):
        main(*snakemake.input[:3], snakemake.output[0])

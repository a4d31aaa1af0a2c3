"""Count how often each visual word of each vocabulary occurs in each image of a shard, and weight the counts."""

import numpy as np
from describing import added_to, arrays_of, described, of_shard
from job import job, key_of, left_by
from scipy import sparse

from jointsparse.features import shards, vocabulary_tree
from jointsparse.pipeline.provenance.tables import (
    parts_of,
    read_arrays,
    read_matrix,
    read_record,
    read_table,
    write_arrays,
)


def words_of(file, name, weighting):
    """Return a function that computes weighted histograms, and an empty matrix to which histograms are appended."""
    tree, idf = read_record(vocabulary_tree.Tree, file, name), None
    if weighting["weighting"] == "tf-idf":
        idf = read_arrays(file, f"{name}/idf")[f"{name}/idf"]

    def words(descriptors, counts):
        return vocabulary_tree.weigh(vocabulary_tree.encode(tree, descriptors, counts), tree, idf=idf, **weighting)

    return words, sparse.csr_matrix((0, tree.n_words), dtype=np.float32)


if __name__ == "__main__":
    with job(snakemake) as progress:
        given, params, place, file = snakemake.input, snakemake.params, snakemake.wildcards, snakemake.output.histograms
        images = of_shard(read_table(given.images, "image"), place)
        key = key_of(params, *map(str, read_arrays(given.vocabularies, "key", "images").values()))
        left, words = left_by(file, key, "names", "digests"), {}
        for name, block in params.vocabularies.items():
            words[name], left[name] = words_of(given.vocabularies, name, block)
            left[name] = read_matrix(file, f"{name}/") if "names" in left else left[name]
        new, order = added_to(left, images)
        rows, arrays = shards.encode(described(new, params, progress), words), {}
        for name in words:
            arrays |= parts_of(sparse.vstack([left[name], *rows[name]], format="csr")[order], f"{name}/")
        write_arrays(file, key=key, **arrays_of(images), **arrays)

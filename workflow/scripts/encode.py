"""Count how often each visual word of each vocabulary occurs in each image of a shard, and weight the counts."""

import numpy as np
from describing import described, digests_of
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
    """Return a function that computes weighted histograms, and an empty matrix of histograms to start from."""
    tree, idf = read_record(vocabulary_tree.Tree, file, name), None
    if weighting["weighting"] == "tf-idf":
        idf = read_arrays(file, f"{name}/idf")[f"{name}/idf"]

    def words(descriptors, counts):
        return vocabulary_tree.weigh(vocabulary_tree.encode(tree, descriptors, counts), tree, idf=idf, **weighting)

    return words, sparse.csr_matrix((0, tree.n_words), dtype=np.float32)


if __name__ == "__main__":
    with job(snakemake) as progress:
        given, params, place, file = snakemake.input, snakemake.params, snakemake.wildcards, snakemake.output.histograms
        images = digests_of(read_table(given.images, "image"))
        images = {name: images[name] for name in shards.part(list(images), int(place.shard), int(place.shards))}
        key = key_of(params, *map(str, read_arrays(given.vocabularies, "key", "images").values()))
        left, words = left_by(file, key, "names", "digests"), {}
        for name, block in params.vocabularies.items():
            words[name], left[name] = words_of(given.vocabularies, name, block)
            left[name] = read_matrix(file, f"{name}/") if "names" in left else left[name]
        row = {image: row for row, image in enumerate(zip(left.get("names", ()), left.get("digests", ()), strict=True))}
        new = {name: digest for name, digest in images.items() if (name, digest) not in row}
        rows = shards.encode(described(new, params, progress), words)
        row |= {image: len(row) + i for i, image in enumerate(new.items())}
        order, arrays = [row[image] for image in images.items()], {}
        for name in words:
            arrays |= parts_of(sparse.vstack([left[name], *rows[name]], format="csr")[order], f"{name}/")
        names, digests = (np.array(list(values), dtype=str) for values in (images, images.values()))
        write_arrays(file, key=key, names=names, digests=digests, **arrays)

"""Grow the vocabulary trees of a dataset from descriptors of some of its images."""

import hashlib

import numpy as np
from describing import described, digests_of
from job import job, key_of, left_by, parts
from scipy import sparse

from jointsparse.features import shards, vocabulary_tree
from jointsparse.pipeline.provenance.tables import read_table, write_arrays


def grown(images, params, progress):
    rng, tell = np.random.default_rng(params.seed), parts(["", *params.vocabularies], progress)
    _, describing = next(tell)  # the first part of the job describes the sampled images
    sample = shards.sample(described(images, params, describing), len(images), params.sample["descriptors"], rng=rng)
    for name, growing in tell:
        block = params.vocabularies[name]
        options = {key: block[key] for key in ("branching", "depth")} | {"seed": params.seed, "progress": growing}
        tree = vocabulary_tree.grow(sample, **options)
        yield from ((f"{name}/{field}", array) for field, array in tree._asdict().items())
        if block["weighting"] == "tf-idf":
            count = {name: lambda *given, tree=tree: vocabulary_tree.encode(tree, *given)}
            counts = sparse.vstack(shards.encode(described(images, params, growing), count)[name], format="csr")
            yield f"{name}/idf", vocabulary_tree.inverse_frequencies(counts)


if __name__ == "__main__":
    with job(snakemake) as progress:
        table, params = read_table(snakemake.input.images, "image", "split"), snakemake.params
        file = snakemake.output.vocabularies
        images = digests_of(table[table["split"].isin(params.sample["fitted_on"])])
        few = {name: images[name] for name in shards.drawn(list(images), params.sample["images"], params.seed)}
        key, of_images = key_of(params), hashlib.sha256(repr(few).encode()).hexdigest()
        left = left_by(file, key)
        if not left or not (params.keep or of_images == str(left["images"])):
            left = {"key": key, "images": of_images, **dict(grown(few, params, progress))}
        write_arrays(file, **left)

"""Use a pretrained network to compute the features of the images in a shard."""

import numpy as np
from describing import added_to, arrays_of, of_shard, opened
from job import job, key_of, left_by

from jointsparse.features.embedding import colours_of, fitted
from jointsparse.pipeline.provenance.tables import read_table, write_arrays
from jointsparse.registry import pick

LONGEST_SIDE = 320  # in pixels, of the pictures that the loader paints

if __name__ == "__main__":
    with job(snakemake) as progress:
        params, file, dense = snakemake.params, snakemake.output.features, f"{snakemake.params.vocabulary}/dense"
        dataset = pick("datasets", params.loader)
        network = fitted(params.extractor_options, params.network["digest"])
        images = of_shard(read_table(snakemake.input.images, "image"), snakemake.wildcards)
        key = key_of(params)
        left = left_by(file, key, "names", "digests", dense)
        new, order = added_to(left, images)

        def colours(image):
            options = {"image": image, **params.options}
            painted = images[image] == ""  # by the loader, and not read from a file
            picture = dataset.thumbnail(**options, longest_side=LONGEST_SIDE) if painted else dataset.file(**options)
            return colours_of(picture, *network.size_)

        rows = [network.transform([picture]) for picture in opened(new, params, progress, colours)]
        kept = left.get(dense, np.empty((0, network.n_features_), np.float32))
        write_arrays(file, key=key, **arrays_of(images), **{dense: np.concatenate([kept, *rows])[order]})

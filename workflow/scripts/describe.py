"""Save the local descriptors of one shard of the images, and the number of descriptors of each image."""

import numpy as np
from describing import described, digests_of
from job import job

from jointsparse.features import shards
from jointsparse.pipeline.provenance.tables import read_table, write_array

if __name__ == "__main__":
    with job(snakemake) as progress:
        images, place = digests_of(read_table(snakemake.input.images, "image")), snakemake.wildcards
        names = shards.part(list(images), int(place.shard), int(place.shards))
        found = list(described({name: images[name] for name in names}, snakemake.params, progress))
        write_array(snakemake.output.descriptors, np.concatenate(found) if found else np.empty((0, 0), np.uint8))
        write_array(snakemake.output.counts, np.array([len(one) for one in found], dtype=np.int64))

"""Compute the local descriptors of one shard of the images."""

from functools import partial

from job import job

from jointsparse.datasets.pictures import of_machine
from jointsparse.features import shards
from jointsparse.provenance.tables import read_table, write_array
from jointsparse.registry import pick


def grey_of(image, *, loader, **options):
    try:
        return pick("datasets", loader).picture(image, **options)
    except Exception as error:  # whatever Pillow raises
        if of_machine(error):
            raise
        raise ValueError(
            f"{image} could be read when the dataset was checked, and cannot now ({error}): run again, which lists it "
            "in left_out.csv if it was changed"
        ) from None


if __name__ == "__main__":
    with job(snakemake) as progress:
        params, shard = snakemake.params, (int(snakemake.wildcards.shard), int(snakemake.wildcards.shards))
        descriptors, counts = shards.describe(
            shards.part(read_table(snakemake.input.images, "image")["image"], *shard),
            partial(grey_of, loader=params.loader, **params.options, longest_side=params.longest_side),
            partial(pick("features", params.extractor).describe, **params.extractor_options),
            progress=progress,
        )
        write_array(snakemake.output.descriptors, descriptors)
        write_array(snakemake.output.counts, counts)

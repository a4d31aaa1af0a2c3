"""Compute the local descriptors of one shard of the images."""

from job import job

from jointsparse.datasets.pictures import of_machine
from jointsparse.features import shards
from jointsparse.provenance.tables import read_table, write_array
from jointsparse.registry import pick


def main(images, shard, n_shards, loader, options, longest_side, extractor, extractor_options, output, progress):
    def grey_of(image):
        try:
            return pick("datasets", loader).picture(image, **options, longest_side=longest_side)
        except Exception as error:  # whatever Pillow raises
            if of_machine(error):
                raise
            raise ValueError(
                f"{image} could be read when the dataset was checked, and cannot now ({error}): run again, which lists "
                "it in left_out.csv if it was changed"
            ) from None

    descriptors, counts = shards.describe(
        shards.part(read_table(images, "image")["image"], shard, n_shards),
        grey_of,
        lambda grey: pick("features", extractor).describe(grey, **extractor_options),
        progress=progress,
    )
    write_array(output.descriptors, descriptors)
    write_array(output.counts, counts)


if __name__ == "__main__":
    with job(snakemake) as progress:
        main(
            images=snakemake.input.images,
            shard=int(snakemake.wildcards.shard),
            n_shards=int(snakemake.wildcards.shards),
            loader=snakemake.params.loader,
            options=snakemake.params.options,
            longest_side=snakemake.params.longest_side,
            extractor=snakemake.params.extractor,
            extractor_options=snakemake.params.extractor_options,
            output=snakemake.output,
            progress=progress,
        )

"""A dataset's pictures and their descriptors, for the scripts that describe pictures."""

import hashlib

import numpy as np

from jointsparse.checks import require
from jointsparse.features import shards
from jointsparse.pipeline.datasets.picture_check import of_machine
from jointsparse.registry import pick


def described(images, params, progress):
    """Yield the descriptors of each image. images: for each name, the digest of the file, or "" if it is unknown."""
    dataset, describe = pick("datasets", params.loader), pick("features", params.extractor).describe

    def grey(image):
        return dataset.picture(image, **params.options, longest_side=params.longest_side)

    for picture in opened(images, params, progress, grey):
        yield describe(picture, **params.extractor_options)


def opened(images, params, progress, open_image):
    """For the name of each image, yield the result of `open_image`. images: see `described`."""
    for done, (image, digest) in enumerate(images.items(), start=1):
        yield _checked(image, digest, params, open_image)
        progress(done, len(images))


def _checked(image, digest, params, open_image):
    dataset = pick("datasets", params.loader)
    try:
        picture = open_image(image)
        if digest:
            with dataset.file(image, **params.options).open("rb") as file:
                require(hashlib.file_digest(file, "sha256").hexdigest() == digest, "its contents have changed")
    except Exception as error:  # Pillow raises many kinds of errors
        if of_machine(error):
            raise
        raise ValueError(
            f"{image} could be read when the dataset was checked, but cannot be read now ({error}): run "
            "again, and a changed file is listed in left_out.csv"
        ) from None
    return picture


def of_shard(images, place):
    """Return the digests of the images in a shard, by name. place: the wildcards `shard` and `shards` of the job."""
    digests = digests_of(images)
    return {name: digests[name] for name in shards.part(list(digests), int(place.shard), int(place.shards))}


def added_to(left, images):
    """Return the images for which an earlier job has left no features, and the row of each image's features.

    left: the arrays `names` and `digests` of the earlier job, if there was one. The rows of new images come after its
    rows.
    """
    row = {image: row for row, image in enumerate(zip(left.get("names", ()), left.get("digests", ()), strict=True))}
    new = {name: digest for name, digest in images.items() if (name, digest) not in row}
    row |= {image: len(row) + i for i, image in enumerate(new.items())}
    return new, [row[image] for image in images.items()]


def arrays_of(images):
    """Return the names and digests of images as arrays that can be stored in a file of features."""
    return {key: np.array(list(column), dtype=str) for key, column in (("names", images), ("digests", images.values()))}


def digests_of(images):
    """Return a dictionary from the names of images to the digests of their files. images: the table of images."""
    return dict(zip(images["image"], images["digest"] if "digest" in images else [""] * len(images), strict=True))

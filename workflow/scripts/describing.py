"""Descriptors of a dataset's pictures, for the scripts that describe pictures."""

import hashlib

from jointsparse.checks import require
from jointsparse.pipeline.datasets.picture_check import of_machine
from jointsparse.registry import pick


def described(images, params, progress):
    """Yield the descriptors of each image. images: the digest of each file, by name; empty if it is unknown."""
    describe = pick("features", params.extractor).describe
    for done, (image, digest) in enumerate(images.items(), start=1):
        yield describe(_grey(image, digest, params), **params.extractor_options)
        progress(done, len(images))


def _grey(image, digest, params):
    dataset, options = pick("datasets", params.loader), params.options
    try:
        grey = dataset.picture(image, **options, longest_side=params.longest_side)
        if digest:
            with dataset.file(image, **options).open("rb") as file:
                require(hashlib.file_digest(file, "sha256").hexdigest() == digest, "its contents have changed")
    except Exception as error:  # Pillow raises errors of many kinds
        if of_machine(error):
            raise
        raise ValueError(
            f"{image} could be read when the dataset was checked, but cannot be read now ({error}): run "
            "again, and a changed file is listed in left_out.csv"
        ) from None
    return grey


def digests_of(images):
    """Return the digest of each image's file by name, from the table of images."""
    return dict(zip(images["image"], images["digest"] if "digest" in images else [""] * len(images), strict=True))

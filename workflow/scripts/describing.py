"""The pictures of a dataset as its extractor describes them, for the scripts that do so."""

import hashlib

from jointsparse.checks import require
from jointsparse.pipeline.datasets.picture_check import of_machine
from jointsparse.registry import pick


def described(images, params, progress):
    """Yield the descriptors of each image. images: a digest of each file by name, empty where there is none."""
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
                require(hashlib.file_digest(file, "sha256").hexdigest() == digest, "it has other contents")
    except Exception as error:  # whatever Pillow raises
        if of_machine(error):
            raise
        raise ValueError(
            f"{image} could be read when the dataset was checked, and cannot now ({error}): run again, which lists it "
            "in left_out.csv if it was changed"
        ) from None
    return grey


def digests_of(images):
    """A digest of each image's file by name, from the table of images."""
    return dict(zip(images["image"], images["digest"] if "digest" in images else [""] * len(images), strict=True))

"""Load a folder of photographs with captions: `images/`, `captions.csv` (image,caption) or JSON, and `splits.csv`.

`splits.csv` is optional. An image may have several rows of captions. Names of images are relative to `images/`.
Flickr8k in this layout is an example.
"""

from pathlib import Path
from typing import Any

from jointsparse.pipeline.datasets.folder import file, picture, read_folder, thumbnail
from jointsparse.pipeline.datasets.names import Files
from jointsparse.pipeline.datasets.samples import Photographs

OFFERS = "pictures"
LABELS = "words"
TAKES = ("root", "images", "captions", "split_names", "fractions", "validation_fraction", "seed")
NEEDS = ("root",)

__all__ = ["file", "picture", "read", "thumbnail"]


def read(root: str | Path, *, captions: Files = "captions.csv", **options: Any) -> Photographs:
    """Read and check a folder of captioned photographs.

    captions: name of the captions file in `root`, a list of names, or a mapping from splits to names.
    `folder.read_folder` describes the other options and the errors.
    """
    return read_folder(root, captions, **options)

"""Load photographs from one folder per class: `images/<class>/…` and optionally `splits.csv` (image,split).

The only caption of an image is the name of its class. Fifteen Scene Categories (Lazebnik et al., CVPR 2006) is an
example.
"""

from pathlib import Path
from typing import Any

from jointsparse.pipeline.datasets.folder import file, picture, read_folder, thumbnail
from jointsparse.pipeline.datasets.samples import Photographs

OFFERS = "pictures"
LABELS = "scenes"
TAKES = ("root", "images", "split_names", "fractions", "validation_fraction", "seed")
NEEDS = ("root",)

__all__ = ["file", "picture", "read", "thumbnail"]


def read(root: str | Path, **options: Any) -> Photographs:
    """Read and check photographs in one folder per class. `folder.read_folder` describes the options and errors."""
    return read_folder(root, None, **options)

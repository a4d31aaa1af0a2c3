"""A folder of photographs with captions: `images/`, `captions.csv` (image,caption) or JSON, and, if any, `splits.csv`.

Several caption rows per image are usual. Names are relative to `images/`. Flickr8k in this shape is an example.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from jointsparse.datasets.captions import read as read_captions
from jointsparse.datasets.folder import Photographs, picture, read_folder, thumbnail

OFFERS = "pictures"
TAKES = ("root", "captions", "split_names", "fractions", "validation_fraction", "seed")
NEEDS = ("root",)

__all__ = ["picture", "read", "thumbnail"]


def read(root: str | Path, *, captions: str = "captions.csv", **options: Any) -> Photographs:
    """Read and check a folder of captioned photographs.

    captions: name of the file in `root` that holds them, see `datasets.captions`. `folder.read_folder` lists the other
    options and the errors.
    """

    def captions_of(folder: Path, names: list[str]) -> pd.DataFrame:
        return read_captions(folder / captions)

    return read_folder(root, captions_of, captions, **options)

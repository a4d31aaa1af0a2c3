"""Photographs sorted into one folder per class: `images/<class>/…` and, if any, `splits.csv` (image,split).

Each image's only caption is the name of its class. Fifteen Scene Categories (Lazebnik et al., CVPR 2006) is an example.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from jointsparse.datasets.folder import Photographs, picture, read_folder, thumbnail

OFFERS = "pictures"
TAKES = ("root", "split_names", "fractions", "validation_fraction", "seed")
NEEDS = ("root",)

__all__ = ["picture", "read", "thumbnail"]


def read(root: str | Path, **options: Any) -> Photographs:
    """Read and check a folder of photographs sorted by class. `folder.read_folder` lists options and errors."""

    def classes(folder: Path, names: list[str]) -> pd.DataFrame:
        loose = [name for name in names if "/" not in name]
        if loose:
            raise ValueError(f"images must lie in one folder per class below {folder / 'images'}, got {loose[0]!r}")
        return pd.DataFrame({"image": names, "caption": [name.split("/")[0] for name in names]}, dtype=str)

    return read_folder(root, classes, **options)

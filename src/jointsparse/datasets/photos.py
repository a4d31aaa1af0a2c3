"""A folder of photographs with captions: `images/`, `captions.csv` (image,caption) and, if any, `splits.csv`.

Several caption rows per image are usual. Names are relative to `images/`. Flickr8k in this shape is one such folder.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from jointsparse.datasets import photographs
from jointsparse.datasets.photographs import Photographs


def read(root: str | Path, *, captions: str = "captions.csv", **options: Any) -> Photographs:
    """Read and check a folder of captioned photographs.

    captions: the file in `root` to read captions from. Other options and errors: `photographs.read_folder`.
    """

    def captions_of(folder: Path, names: list[str]) -> pd.DataFrame:
        return photographs.read_csv(folder / captions, ["image", "caption"])

    return photographs.read_folder(root, captions_of, **options)


def picture(image: str, *, root: str | Path, longest_side: int = 320, **options: Any) -> np.ndarray:
    """One photograph as grey levels in [0, 1], float32 (height, width), at most `longest_side` pixels long."""
    return photographs.open_grey(Path(root) / "images" / image, longest_side)

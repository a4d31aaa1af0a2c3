"""Load photographs that are stored in one folder per class, as `images/<class>/…`, with an optional table of splits.

Each image has a single label, the name of its class. An example of such a
dataset is Fifteen Scene Categories (Lazebnik et al., CVPR 2006).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from jointsparse.pipeline.datasets.folder import Annotations, file, picture, read_folder, thumbnail
from jointsparse.pipeline.datasets.names import composed
from jointsparse.pipeline.datasets.samples import Samples

SHOWS = "pictures"
LABELS = "scenes"

__all__ = ["file", "picture", "read", "thumbnail"]


def read(root: str | Path, *, split_folders: bool = False, images: str = "images", **options: Any) -> Samples:
    """Read and check photographs in one folder per class.

    Parameters
    ----------
    root, images : as in `folder.read_folder`
        See there.
    split_folders : bool
        If True, the folders of the classes are in folders that are named after splits: `train/cat/…`, `test/cat/…`.
        `split_names` gives other names of these folders.
    **options : any
        The other options of `folder.read_folder`. The errors are described there, too.
    """

    def annotated(names: Sequence[str]) -> Annotations:
        below = [name.split("/") for name in names]
        for loose in [parts for parts in below if len(parts) < 2 + split_folders][:1]:
            raise ValueError(
                f"pictures must be in one folder per class below the folder {images!r}, got {'/'.join(loose)!r}"
            )
        classes = [composed(parts[1 if split_folders else 0]) for parts in below]
        captions = pd.DataFrame({"image": names, "caption": classes}, dtype=str)
        splits = pd.DataFrame({"image": names, "split": [parts[0] for parts in below]}, dtype=str)
        return Annotations(captions, set(names), splits if split_folders else None, ["folders"] * split_folders)

    return read_folder(root, annotated, images=images, **options)

"""Load photographs that are stored in one folder per class, as `images/<class>/…`, with an optional `splits.csv`.

`splits.csv` has the columns image and split. Each image has a single caption, the name of its class. An example of such
a dataset is Fifteen Scene Categories (Lazebnik et al., CVPR 2006).
"""

from pathlib import Path
from typing import Any

from jointsparse.pipeline.datasets.folder import file, picture, read_folder, thumbnail
from jointsparse.pipeline.datasets.samples import Photographs

SHOWS = "pictures"
LABELS = "scenes"

__all__ = ["file", "picture", "read", "thumbnail"]


def read(root: str | Path, **options: Any) -> Photographs:
    """Read and check photographs in one folder per class. For the options and errors, see `folder.read_folder`."""
    return read_folder(root, None, **options)

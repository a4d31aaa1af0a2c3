"""Load photographs with captions from a folder that holds `images/`, captions, and optionally `splits.csv`.

The captions are in `captions.csv`, which has the columns image and caption, or in a JSON file. An image with several
captions has several rows. The names of images are relative to `images/`. Flickr8k can be stored in this layout.
"""

from pathlib import Path
from typing import Any

from jointsparse.pipeline.datasets.folder import file, picture, read_folder, thumbnail
from jointsparse.pipeline.datasets.names import Files
from jointsparse.pipeline.datasets.samples import Photographs

SHOWS = "pictures"
LABELS = "words"

__all__ = ["file", "picture", "read", "thumbnail"]


def read(root: str | Path, *, captions: Files = "captions.csv", **options: Any) -> Photographs:
    """Read and check a folder of captioned photographs.

    `captions` is the name of the file of captions in `root`, a list of such names, or a mapping from splits to names.
    The other options and the errors are those of `folder.read_folder`.
    """
    return read_folder(root, captions, **options)

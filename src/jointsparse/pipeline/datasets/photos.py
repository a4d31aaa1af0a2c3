"""Load photographs with captions, which are sentences, from a folder that holds pictures, captions, and perhaps splits.

The captions are in a table with a row per caption, in JSON, or in a text file beside each picture. The names of images
in a table are relative to the folder of the pictures, or to the folder of the table. Flickr8k can be stored in this
layout.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from jointsparse.pipeline.datasets.folder import Annotations, file, picture, read_folder, thumbnail
from jointsparse.pipeline.datasets.names import Files, composed
from jointsparse.pipeline.datasets.rows import rows_of
from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.pipeline.datasets.tabular import NOTHING, text_of

SHOWS = "pictures"
LABELS = "words"

__all__ = ["file", "picture", "read", "thumbnail"]


def read(
    root: str | Path,
    *,
    images: str = "images",
    captions: Files = "captions.csv",
    pictures: str = "image",
    caption: str = "caption",
    split: str | None = None,
    group: str | None = None,
    **options: Any,
) -> Samples:
    """Read and check a folder of captioned photographs.

    Parameters
    ----------
    root, images : as in `folder.read_folder`
        See there.
    captions : str, list of str, or mapping
        File of captions in `root`, see `records.read`; or several files; or a mapping from splits to files, which also
        gives the split of each image. ``"*.txt"`` stands for a file beside each picture, with the picture's name and
        this suffix.
    pictures, caption, split, group : str or None
        Columns of these files, which hold the names of the images, the captions, the splits and the groups. An image
        may have several rows. Without `split` or `group`, the files give no splits or groups.
    **options : any
        The other options of `folder.read_folder`.

    Raises
    ------
    ValueError
        As in `folder.read_folder`, or if a file lacks one of the columns.
    """

    def annotated(names: Sequence[str]) -> Annotations:
        rows = rows_of(
            Path(root), images, captions, names, pictures=pictures, columns=[caption], split=split, group=group
        )
        texts = [composed(text_of(cell)).strip() for cell in rows.table[composed(caption)]]
        has = pd.DataFrame({"image": rows.images, "caption": texts}, dtype=str)
        has = has[~has["caption"].isin(NOTHING)].reset_index(drop=True)
        return rows.given._replace(captions=has, listed={*has["image"]}, lacking="no caption")

    return read_folder(root, annotated, images=images, **options)

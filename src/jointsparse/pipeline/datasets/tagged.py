"""Load photographs with tags: a table that lists the tags of each picture, or has a column for each tag.

Tags are labels of any length. They are neither divided into words nor compared with a list of stop words, and a picture
without tags is a negative of every tag. The module `labels` describes how a table states which tags are there, which
are known not to be there, and which are unknown.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jointsparse.pipeline.datasets import labels as of_labels
from jointsparse.pipeline.datasets.folder import Annotations, file, picture, read_folder, thumbnail
from jointsparse.pipeline.datasets.labels import Meaning
from jointsparse.pipeline.datasets.names import Files, composed
from jointsparse.pipeline.datasets.rows import rows_of
from jointsparse.pipeline.datasets.samples import Samples

SHOWS = "pictures"
LABELS = "tags"

__all__ = ["file", "picture", "read", "thumbnail"]


def read(
    root: str | Path,
    *,
    labels: Files,
    images: str = "images",
    pictures: str = "image",
    split: str | None = None,
    group: str | None = None,
    **options: Any,
) -> Samples:
    """Read and check a folder of photographs with tags.

    Parameters
    ----------
    root, images : as in `folder.read_folder`
        See there.
    labels : str, list of str, or mapping
        File in `root`, see `records.read`; or several files; or a mapping from splits to files, which also gives the
        split of each image. ``"*.txt"`` stands for a file beside each picture, with the name of the picture and this
        suffix, whose text lists the tags.
    pictures, split, group : str or None
        Columns of these files, which hold the names of the images, the splits and the groups. An image may have several
        rows. Without `split` or `group`, the files give no splits or groups.
    **options : any
        Where the labels are, and what their values mean: see `labels.Meaning`. And the other options of
        `folder.read_folder`.

    Raises
    ------
    ValueError
        As in `folder.read_folder`, or if a file lacks a column, or has a value that options do not explain.
    """
    meaning = Meaning.among(options)

    def annotated(names: Sequence[str]) -> Annotations:
        needed = [composed(meaning.tags)] if meaning.tags else None
        rows = rows_of(Path(root), images, labels, names, pictures=pictures, columns=needed, split=split, group=group)
        where = " and ".join(rows.given.files) or f"the files {labels}"
        others = [composed(name) for name in (pictures, split, group) if name]
        stated = of_labels.read(where, rows.table, meaning, others)
        of_rows, listed = np.array(rows.images, object), list(dict.fromkeys(rows.images))
        return rows.given._replace(captions=of_labels.settled(stated, of_rows, listed, meaning))

    of_folder = {name: value for name, value in options.items() if name not in Meaning._fields}
    return read_folder(root, annotated, images=images, **of_folder)

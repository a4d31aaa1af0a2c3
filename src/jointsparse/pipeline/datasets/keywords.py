"""Load photographs that carry their tags themselves, as Lightroom, digiKam, darktable and Apple Photos write them.

The module `metadata` lists the fields that give tags, in a picture or in a sidecar beside it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from jointsparse.pipeline.datasets.checker import ask
from jointsparse.pipeline.datasets.folder import Annotations, file, picture, read_folder, thumbnail
from jointsparse.pipeline.datasets.samples import Samples

SHOWS = "pictures"
LABELS = "tags"

__all__ = ["file", "picture", "read", "thumbnail"]


def read(
    root: str | Path, *, levels: Literal["all", "last"] = "all", images: str = "images", **options: Any
) -> Samples:
    """Read and check photographs that carry their tags.

    Parameters
    ----------
    root, images : as in `folder.read_folder`
        See there.
    levels : "all" or "last"
        The levels of a hierarchical tag, such as "animal|cat", that are tags.
    **options : any
        The other options of `folder.read_folder`. A picture without any tag is left out, because nobody may have tagged
        it yet.

    Raises
    ------
    ValueError
        As in `folder.read_folder`. A picture or sidecar whose metadata cannot be read has no tags.
    """

    def annotated(names: Sequence[str]) -> Annotations:
        reasons, tags = ask(Path(root) / images, names, "tags", levels)
        rows = [(name, tag) for name in names for tag in tags[name] or ()]
        captions = pd.DataFrame(rows, columns=["image", "caption"], dtype=str)
        lacking = "no tag in it or its sidecar"
        return Annotations(captions, {*captions["image"]}, lacking=lacking, beside=[".xmp"], unreadable=reasons)

    return read_folder(root, annotated, images=images, **options)

"""Load photographs that carry their tags themselves, as Lightroom, digiKam, darktable and Apple Photos write them.

The module `metadata` lists the fields that give tags, in a picture or in a sidecar beside it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from jointsparse.pipeline.datasets.checker import ask
from jointsparse.pipeline.datasets.folder import Annotations, file, picture, read_folder, thumbnail
from jointsparse.pipeline.datasets.samples import Samples, listed

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
        reasons, tags = ask(Path(root) / images, names, "both", levels)
        every, inside = (listed(tags, [both[i] if both else () for both in tags.values()]) for i in range(2))
        # Choice: splits are stratified by the tags inside the pictures, so that a sidecar moves no picture to another
        # split. If the tags are in sidecars alone, splits that are drawn for groups are not stratified.
        return Annotations(
            every,
            {*every["image"]},
            lacking="no tag in it or its sidecar",
            beside=[".xmp"],
            unreadable=reasons,
            strata=inside,
        )

    return read_folder(root, annotated, images=images, **options)

"""Groups of rows that belong together, such as the photographs of a patient. No split, fold or resample divides them.

A group is a number, and a row without a group is a group of its own.
"""

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from PIL import Image

from jointsparse.checks import require, shortened
from jointsparse.pictures import FORMATS
from jointsparse.pipeline.datasets.tabular import NOTHING

SECONDS = 3.0  # a photograph that is taken less than this time after the previous one belongs to the same burst
MAKE, MODEL, EXIF = 271, 272, 0x8769  # tags of EXIF 2.32; the others are in the directory EXIF
SERIAL, TIME, SUBSECONDS = 42033, 36867, (37521, 37520)


def numbered(names: Iterable[str]) -> np.ndarray:
    """Return the number of each row's group, (n_rows,), from the names of the groups.

    >>> numbered(["p1", "", "p2", "p1", ""]).tolist()
    [0, 1, 2, 0, 3]
    """
    given = pd.Series(list(names), dtype=object)
    own = pd.Series([(i,) for i in range(len(given))], dtype=object)  # equals no name
    return np.asarray(pd.factorize(given.where(~given.isin(NOTHING), own))[0])


def of_rows(images: Sequence[str], names: Sequence[str], where: str) -> dict[str, str]:
    """Return the group of each image, given by the rows of a table.

    Raises ValueError if rows of an image have different groups. images, names: for each row, its image and its group.
    where: the table, for the error message.
    """
    group_of = dict[str, str]()
    for image, name in zip(images, names, strict=True):
        other = group_of.setdefault(image, name)
        require(
            other == name,
            f"{where} must give each image one group, got {shortened(other)} and {shortened(name)} for "
            f"{shortened(image)}",
        )
    return group_of


def of_files(folder: Path, names: Sequence[str], by: Literal["folder", "burst"]) -> dict[str, str]:
    """Return the group of each photograph: its folder, or the burst in which it was taken.

    A burst is a sequence of photographs from the same camera (by make, model and serial number in EXIF), each taken
    less than `SECONDS` after the previous one. A photograph without a time has no group.
    """
    if by == "folder":
        return {name: os.path.dirname(name) or "." for name in names}
    rows = sorted((*taken, name) for name in names if (taken := _taken(folder / name)))
    group_of, number = dict[str, str](), 0
    for (camera, seconds, name), (last_camera, last, _) in zip(rows, [("", -np.inf, ""), *rows], strict=False):
        number += camera != last_camera or seconds - last >= SECONDS
        group_of[name] = str(number)
    return group_of


def _taken(path: Path) -> tuple[str, float] | None:
    """Return the camera and the time in seconds, or None if the picture has no time or cannot be read."""
    try:
        require(path.is_file(), "a pipe would block")
        with warnings.catch_warnings(action="ignore"), Image.open(path, formats=FORMATS) as picture:
            exif = Image.Image.getexif(picture)  # the method of a PNG would decode the pixels
            more: Mapping[int, object] = exif.get_ifd(EXIF)
        time = datetime.strptime(str(more[TIME]).strip("\0 "), "%Y:%m:%d %H:%M:%S")
        part = next((str(more[tag]).strip("\0 ") for tag in SUBSECONDS if tag in more), "")
    except Exception:  # `check_pictures` reports the picture
        return None
    camera = "\n".join(str(each).strip("\0 ") for each in (exif.get(MAKE), exif.get(MODEL), more.get(SERIAL)))
    return camera, (time - datetime(1970, 1, 1)).total_seconds() + (float(f"0.{part}") if part.isdecimal() else 0)

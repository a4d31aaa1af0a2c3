"""Groups of rows that belong together, such as the photographs of a patient. No split, fold or resample divides them.

A group is a number, and a row without a group is a group of its own.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from jointsparse.checks import require
from jointsparse.messages import shortened
from jointsparse.pipeline.datasets.checker import ask
from jointsparse.pipeline.datasets.tabular import NOTHING

SECONDS = 3.0  # a photograph that is taken less than this time after the previous one belongs to the same burst


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


def of_files(
    folder: Path, names: Sequence[str], by: Literal["folder", "burst"]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the group of each photograph: its folder, or the burst in which it was taken.

    A burst is a sequence of photographs from the same camera (by make, model and serial number in EXIF), each taken
    less than `SECONDS` after the previous one. A photograph without a time has no group. The first dictionary that is
    returned has the reason for each photograph whose time could not be read because its decoder failed.
    """
    if by == "folder":
        return {}, {name: os.path.dirname(name) or "." for name in names}
    reasons, taken = ask(folder, names, "time")
    rows = sorted((*camera_and_time, name) for name, camera_and_time in taken.items() if camera_and_time)
    group_of, number = dict[str, str](), 0
    for (camera, seconds, name), (last_camera, last, _) in zip(rows, [("", -np.inf, ""), *rows], strict=False):
        number += camera != last_camera or seconds - last >= SECONDS
        group_of[name] = str(number)
    return reasons, group_of


def joined(groups: np.ndarray, others: np.ndarray | None) -> np.ndarray:
    """Return the smallest groups such that rows which share a group of either kind are together.

    >>> joined(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])).tolist()
    [0, 0, 0, 1]
    """
    if others is None:
        return groups
    edges = sparse.coo_matrix((np.ones(len(groups)), (groups, others + groups.max() + 1)))
    n = max(edges.shape)
    return np.asarray(connected_components(sparse.coo_matrix((edges.data, edges.coords), (n, n)))[1][groups])

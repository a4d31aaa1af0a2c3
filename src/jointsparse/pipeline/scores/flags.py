"""Warnings about the results of a study, for unfinished fits, constant features, and repeated images."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy  # loads scipy.sparse only when it is used

from jointsparse.checks import Misfit, require, require_extra
from jointsparse.pipeline.datasets.splits import SPLITS
from jointsparse.pipeline.flag import ETA0_EDGES, RADIUS_EDGES, Flag, Kind, kinds_in

require_extra(__name__, "pandas")
import pandas as pd  # noqa: E402

# Choice: the papers have no certificates. GAP is a relative duality gap, see `learning.fit.Fit`.
GAP = 0.05  # fits with a larger gap are marked in tables and figures
UNFINISHED = {Kind.CERTIFIED_GAP, Kind.NOT_CONVERGED, *RADIUS_EDGES}  # flags of fits that may be far from the best
IMAGES_AT_ONCE = 4096
Blocks = Iterable[tuple[Any, Any]]  # pairs of row indices and the matrix of these rows


def unfinished(fits: pd.DataFrame) -> pd.Series:
    """Return a mask of the fits that may be far from the optimum or from the best parameters of the grid.

    fits: a table with the column `warning`, and optionally `gap`. If the gap of a fit is certified, it does not matter
    whether eta0 is at an edge of its grid.

    >>> edges = ["eta0 at the upper edge of its grid", "radius at the upper edge of its grid", "tasks not converged: 2"]
    >>> warnings, gaps = [*edges, "", edges[0], edges[0]], [0.9, 0.01, np.nan, 0.2, 0.01, GAP]
    >>> unfinished(pd.DataFrame({"warning": warnings, "gap": gaps})).tolist()
    [True, True, True, True, False, False]
    """
    gap = fits["gap"] if "gap" in fits else pd.Series(np.nan, fits.index)
    kinds = fits["warning"].map(kinds_in)
    flagged = kinds.map(lambda cell: bool(cell & UNFINISHED)).astype(bool)
    at_edge = kinds.map(lambda cell: bool(cell & ETA0_EDGES)).astype(bool)
    return flagged | (at_edge & ~(gap <= GAP)) | (gap > GAP)


def of_features(X: Blocks, given: Blocks, images: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Count constant features and empty images, and find images that have the features of an image in another split.

    Parameters
    ----------
    X : iterable of blocks
        The features to learn from, (n_images, n_features). A block is a pair (row indices into `images`, dense or CSR
        features of these rows).
    given : iterable of blocks
        The features to compare between images, such as the histograms from which X was computed, or X itself.
    images : table
        Columns `image`, `split` and perhaps `group`.

    Returns
    -------
    table
        Rows for constant features, empty images, repeated images and, if there are groups, groups that are in more than
        one of the splits for training, validation and tests, and images in a group with others. The columns are

        - `what`: a name for what is counted;
        - `count`, `of`: the number of such features, images or groups, and the number of all of them;
        - `warning`: a flag if the count is not 0.
    repeated : table
        Columns `image`, `split`, `same_as` and `split_of_that`, with a row for each image whose given features are
        bitwise identical to the features of an image in an earlier split (in the order train, validation, test,
        unlabelled). Images whose features are all zero are not compared.

    Raises
    ------
    Misfit
        If the numbers of rows differ.
    """
    constant, n_features = _constant(_placed("features", X, len(images)), (images["split"] == "train").to_numpy())
    digests: list[bytes | None] = [None] * len(images)
    for places, part in _placed("given features", given, len(images)):
        for place, digest in zip(places, _digests(part), strict=True):
            digests[place] = digest
    repeated = _repeated(digests, images)
    rows = [
        ("constant features", constant, n_features, Kind.CONSTANT),
        ("empty images", sum(digest is None for digest in digests), len(images), Kind.EMPTY),
        ("repeated images", len(repeated), len(images), Kind.REPEATED),
    ]
    if "group" in images:
        n_splits = images[images["split"] != "unlabelled"].groupby("group")["split"].nunique()
        rows.append(("torn groups", int((n_splits > 1).sum()), images["group"].nunique(), Kind.TORN))
        rows.append(("grouped images", int(images["group"].duplicated(keep=False).sum()), len(images), Kind.GROUPED))
    table = [(what, n, of, Flag(kind, n).write() if n else "") for what, n, of, kind in rows]
    return pd.DataFrame(table, columns=["what", "count", "of", "warning"]), repeated


def _placed(name: str, blocks: Blocks, n: int) -> Iterator[tuple[np.ndarray, Any]]:
    """Yield blocks with explicit row indices. Raises Misfit if a block has more or fewer rows than indices."""
    for rows, part in blocks:
        places = np.arange(n)[rows]
        require(
            part.shape[0] == len(places),
            f"{name} must have a row for each of {len(places)} images, got shape {part.shape}",
            Misfit,
        )
        yield places, part


def _constant(blocks: Blocks, counted: np.ndarray) -> tuple[int, int]:
    """Return the number of columns that are constant in the rows of the mask `counted`, and of all columns."""
    highest, lowest = np.array(-np.inf), np.array(np.inf)
    for places, part in blocks:
        rows = np.flatnonzero(counted[places])
        for start in range(0, len(rows), IMAGES_AT_ONCE):
            some = part[rows[start : start + IMAGES_AT_ONCE]]
            ends = some.max(axis=0), some.min(axis=0)
            above, below = (end.toarray()[0] if scipy.sparse.issparse(end) else end for end in ends)
            highest, lowest = np.maximum(highest, above), np.minimum(lowest, below)
    return int((highest == lowest).sum()), highest.size


def _digests(X: Any) -> list[bytes | None]:
    """Return a digest of each row, or None for a row of zeros. Equal rows have equal digests."""
    if not scipy.sparse.issparse(X):
        rows = (row + 0 for row in X)  # turns -0 into 0
        return [hashlib.blake2b(row.tobytes(), digest_size=16).digest() if row.any() else None for row in rows]
    if not X.has_canonical_format or not X.data.all():
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return [
        hashlib.blake2b(X.indices[a:b].tobytes() + X.data[a:b].tobytes(), digest_size=16).digest() if b > a else None
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]


def _repeated(digests: list[bytes | None], images: pd.DataFrame) -> pd.DataFrame:
    """Return each image whose digest equals that of an image in an earlier split, with the first such image."""
    names, splits = images["image"].tolist(), images["split"].tolist()
    first: dict[bytes, int] = {}
    rows = []
    for i in sorted(range(len(names)), key=lambda i: SPLITS.index(splits[i])):
        digest = digests[i]
        if digest is not None and splits[first.setdefault(digest, i)] != splits[i]:
            rows.append((names[i], splits[i], names[first[digest]], splits[first[digest]]))
    return pd.DataFrame(rows, columns=["image", "split", "same_as", "split_of_that"], dtype=str)

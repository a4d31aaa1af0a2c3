"""Warnings of a study's numbers: fits that are not finished, features that say nothing, and images that repeat."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy  # which loads scipy.sparse when it is used

from jointsparse.checks import Misfit, require, require_extra
from jointsparse.pipeline.datasets.splits import SPLITS
from jointsparse.pipeline.flag import ETA0_EDGES, RADIUS_EDGES, Flag, Kind, kinds_in

require_extra(__name__, "pandas")
import pandas as pd  # noqa: E402

# Choice: the papers certify nothing. A fraction of the optimum, see `learning.fit.Fit`.
GAP = 0.05  # fits whose objective may be further from the optimum than this are marked in tables and figures
UNFINISHED = {Kind.CERTIFIED_GAP, Kind.NOT_CONVERGED, *RADIUS_EDGES}  # of fits that may be far from the best
IMAGES_AT_ONCE = 4096
Blocks = Iterable[tuple[Any, Any]]  # rows, and a matrix of these


def unfinished(fits: pd.DataFrame) -> pd.Series:
    """True for each fit, a row, that may be far from its optimum or from the best of its grid.

    fits: column warning, and gap if there is one. A certified fit needs no other eta0.

    >>> edges = ["eta0 at the upper edge of its grid", "radius at the upper edge of its grid", "tasks not converged: 2"]
    >>> unfinished(pd.DataFrame({"warning": [*edges, "", edges[0]], "gap": [0.9, 0.01, np.nan, 0.2, 0.01]})).tolist()
    [True, True, True, True, False]
    """
    gap = fits["gap"] if "gap" in fits else pd.Series(np.nan, fits.index)
    kinds = fits["warning"].map(kinds_in)
    flagged = kinds.map(lambda of_fit: bool(of_fit & UNFINISHED)).astype(bool)
    at_edge = kinds.map(lambda of_fit: bool(of_fit & ETA0_EDGES)).astype(bool)
    return flagged | (at_edge & ~(gap <= GAP)) | (gap > GAP)


def of_features(X: Blocks, given: Blocks, images: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Count features that say nothing, and find images whose features repeat in another split.

    X: features to learn from, (n_images, n_features), in blocks: the rows of `images` that a block is of, and their
    features, dense or CSR. given: likewise, such as the histograms that X was made of; may be those of X. images:
    columns image, split.

    Returns a table what, count, of, warning, with a row for each thing looked for. And a table image, split, same_as,
    split_of_that: the images whose given features are, bit by bit, those of an image in an earlier split (of train,
    validation, test, unlabelled). Images without any feature are counted apart. Raises Misfit where the numbers of rows
    differ.
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
    table = [(what, n, of, Flag(kind, n).write() if n else "") for what, n, of, kind in rows]
    return pd.DataFrame(table, columns=["what", "count", "of", "warning"]), repeated


def _placed(name: str, blocks: Blocks, n: int) -> Iterator[tuple[np.ndarray, Any]]:
    """Blocks with the numbers of their rows. Raises Misfit where a block has another number of rows."""
    for rows, part in blocks:
        places = np.arange(n)[rows]
        require(
            part.shape[0] == len(places),
            f"{name} must have a row for each of {len(places)} images, got shape {part.shape}",
            Misfit,
        )
        yield places, part


def _constant(blocks: Blocks, counted: np.ndarray) -> tuple[int, int]:
    """Number of columns that hold one value in all rows that count, and number of columns."""
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
    """A digest of each row, the same for the same numbers; None for a row of zeros."""
    if not scipy.sparse.issparse(X):
        rows = (row + 0 for row in X)  # which makes 0 of -0
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
    """The images with the digest of one in an earlier split, each with the first of these."""
    names, splits = images["image"].tolist(), images["split"].tolist()
    first: dict[bytes, int] = {}
    rows = []
    for i in sorted(range(len(names)), key=lambda i: SPLITS.index(splits[i])):
        digest = digests[i]
        if digest is not None and splits[first.setdefault(digest, i)] != splits[i]:
            rows.append((names[i], splits[i], names[first[digest]], splits[first[digest]]))
    return pd.DataFrame(rows, columns=["image", "split", "same_as", "split_of_that"], dtype=str)

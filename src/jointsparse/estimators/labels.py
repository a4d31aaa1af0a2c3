"""Labels and targets as users give them: arrays, data frames and lists, in which some may be missing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from jointsparse.checks import require, require_unmasked, shortened


class Labels(NamedTuple):
    """Labels or targets, and which of them are known.

    y : array (n_samples,) or (n_samples, n_tasks), or the sparse matrix or None that came
        With the first known label or target in the place of missing ones.
    is_known : bool array (n_samples, 1) or (n_samples, n_tasks), or (1, 1) if all are
        False for those that were missing.
    """

    y: Any
    is_known: np.ndarray

    @classmethod
    def read(cls, y: Any, name: str = "y", *, numeric: bool = False) -> Labels:
        """Read labels or targets.

        Parameters
        ----------
        y : array, DataFrame or Series (n_samples,) or (n_samples, n_tasks)
            NaN, NaT, None and pandas.NA are missing.
        name : str
            Name of y, for messages.
        numeric : bool
            True for targets, which may be rounded. Labels keep their values, and a type that does not depend on
            whether some are missing.
        """
        require_unmasked(y, name)
        all_known = np.ones((1, 1), dtype=bool)
        if y is None or sparse.issparse(y):
            return cls(y, all_known)
        require(
            not _holds_tags(y),
            f"{name} must be a vector or a matrix, got a list of tags per sample: make one by "
            "binarizer.fit_transform(y) of binarizer = sklearn.preprocessing.MultiLabelBinarizer(), whose classes_ are "
            "the columns",
        )
        given = _as_array(y)
        require(given.ndim, f"{name} must be a vector or a matrix, got {type(y).__name__}")
        is_known = all_known
        if given.dtype.kind in "fmMO":
            test = np.frompyfunc(_is_missing, 1, 1) if given.dtype.kind == "O" else np.isnan
            missing = np.asarray(test(given), dtype=bool)
            if missing.any():
                require(not missing.all(), f"{name} must hold at least one label or target, got missing ones only")
                given, is_known = np.where(missing, given[~missing][0], given), ~missing.reshape(len(missing), -1)
        values = _of_one_type(given) if given.dtype.kind == "O" else given
        if not numeric:
            _require_exact(values, given, name)
        return cls(values, is_known)


def _is_missing(value: Any) -> bool:
    """True for None, pandas.NA, and NaN or NaT of any type."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.inexact | np.datetime64) and value != value


def _holds_tags(y: Any) -> bool:
    """True for a collection per sample that holds text, or as many entries as the sample has tags."""
    entries = y if isinstance(y, list | tuple) else np.asarray(y)
    if isinstance(entries, np.ndarray):
        entries = entries.ravel() if entries.dtype == object else ()
    rows = [row for row in entries if isinstance(row, list | tuple | set | frozenset) or getattr(row, "ndim", False)]
    uneven = any(isinstance(row, set | frozenset) for row in rows) or len({len(row) for row in rows}) > 1
    return uneven or any(isinstance(tag, str) for row in rows for tag in row)


def _as_array(y: Any) -> np.ndarray:
    """Labels or targets as an array: of objects, unless they have one type of NumPy's.

    NumPy rounds whole numbers beyond 2^53 where some are missing, and pandas gives its own types and categories as
    floats.
    """
    types = list(y.dtypes) if hasattr(y, "columns") and hasattr(y, "dtypes") else [getattr(y, "dtype", None)]
    if types and isinstance(types[0], np.dtype) and all(one == types[0] for one in types):
        return np.asarray(y)
    if hasattr(y, "astype"):  # of pandas
        return np.asarray(y.astype(object))
    for rows in ("to_pylist", "rows", "to_list"):  # an array of PyArrow, and a table and a column of Polars
        if hasattr(y, rows):
            return np.asarray(getattr(y, rows)(), dtype=object)
    return np.asarray(y, dtype=object)


def _of_one_type(objects: np.ndarray) -> np.ndarray:
    """Objects as an array of text, numbers or truth values. It stays one of objects if they are something else."""
    values = objects.ravel().tolist()
    types = set(map(type, values))
    if not all(issubclass(one, str | int | float | np.generic) for one in types):
        return objects
    array = np.array(values)
    if (
        array.dtype.kind == "f"
        and min(values, default=-1) >= 0
        and not any(issubclass(one, float | np.inexact) for one in types)
    ):
        array = np.array(values, dtype=np.uint64)  # NumPy makes floats of whole numbers on both sides of 2^63
    return array.reshape(objects.shape)


def _require_exact(labels: np.ndarray, given: np.ndarray, name: str) -> None:
    """Raise ValueError if the array may hold one label where different ones were given."""
    require(
        labels.dtype.kind != "O",
        f"{name} must hold labels that are text, whole numbers of at most 64 bits, or True and False, got objects such "
        f"as {shortened(labels.ravel()[:1].tolist())}",
    )
    changed = list(set(given.ravel().tolist()) - set(labels.ravel().tolist())) if given.dtype.kind == "O" else []
    require(
        not changed,
        f"{name} must hold labels of one type, text or numbers, got {shortened(changed[:1])}, which an array of "
        f"{labels.dtype} does not hold",
    )
    if labels.dtype.kind == "f":
        large = labels[np.isfinite(labels) & (abs(labels) >= 2 / np.finfo(labels.dtype).eps)]
        require(
            not large.size,
            f"{name} must hold labels below {2 / np.finfo(labels.dtype).eps:.0f} where they are {labels.dtype}, got "
            f"{large[:1].tolist()}: larger whole numbers are rounded, so pass them as integers, with None or pandas.NA "
            "for missing ones, or as text",
        )

"""Labels and targets as users pass them: arrays, data frames or lists, possibly with missing values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from jointsparse.arrays import as_numpy
from jointsparse.checks import require, require_unmasked
from jointsparse.messages import shortened


class Labels(NamedTuple):
    """Labels or targets, and a mask of the entries that are known.

    y : array (n_samples,) or (n_samples, n_tasks), sparse matrix or None
        Labels or targets. Missing entries are replaced by the first known value. A sparse matrix or None is left
        unchanged.
    is_known : bool array (n_samples, 1) or (n_samples, n_tasks)
        False for missing entries. The shape is (1, 1) if none are missing.
    """

    y: Any
    is_known: np.ndarray

    @classmethod
    def read(cls, y: Any, name: str = "y", *, numeric: bool = False) -> Labels:
        """Convert labels or targets to an array, and find out which of them are missing.

        Parameters
        ----------
        y : array, DataFrame or Series (n_samples,) or (n_samples, n_tasks)
            Labels or targets. NaN, NaT, None and pandas.NA count as missing.
        name : str
            Name of y in messages.
        numeric : bool
            True if y holds targets, which may be rounded to floats. Labels are never rounded, and their dtype does not
            depend on whether entries are missing.
        """
        require_unmasked(y, name)
        y = as_numpy(y, name)
        all_known = np.ones((1, 1), dtype=bool)
        if y is None or sparse.issparse(y):
            return cls(y, all_known)
        require(
            not _holds_tags(y),
            f"{name} must be a vector or a matrix, got a list of tags per sample: convert it with "
            "binarizer.fit_transform(y), where binarizer = sklearn.preprocessing.MultiLabelBinarizer(); "
            "binarizer.classes_ then names the columns",
        )
        given = _as_array(y)
        require(given.ndim, f"{name} must be a vector or a matrix, got {type(y).__name__}")
        is_known = all_known
        if given.dtype.kind in "fmMO":
            test = np.frompyfunc(_is_missing, 1, 1) if given.dtype.kind == "O" else np.isnan
            missing = np.asarray(test(given), dtype=bool)
            if missing.any():
                require(not missing.all(), f"{name} must hold at least one known value, got only missing values")
                given, is_known = np.where(missing, given[~missing][0], given), ~missing.reshape(len(missing), -1)
        values = _of_one_type(given) if given.dtype.kind == "O" else given
        if not numeric:
            _require_exact(values, given, name)
        return cls(values, is_known)


def _is_missing(value: Any) -> bool:
    """Return True for None, pandas.NA, and NaN or NaT of any type."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    # From Python 3.12 on, a comparison of NaN within a NumPy function gives a RuntimeWarning.
    return isinstance(value, float | np.inexact) and bool(np.isnan(value))


def _holds_tags(y: Any) -> bool:
    """Return True if y seems to hold a list of tags for each sample: strings, sets, or lists of different lengths."""
    entries = y if isinstance(y, list | tuple) else np.asarray(y)
    if isinstance(entries, np.ndarray):
        entries = entries.ravel() if entries.dtype == object else ()
    rows = [row for row in entries if isinstance(row, list | tuple | set | frozenset) or getattr(row, "ndim", False)]
    uneven = any(isinstance(row, set | frozenset) for row in rows) or len({len(row) for row in rows}) > 1
    return uneven or any(isinstance(tag, str) for row in rows for tag in row)


def _as_array(y: Any) -> np.ndarray:
    """Convert labels or targets to an array. It is an array of objects unless they have a single NumPy dtype.

    Objects keep their exact values. In a numeric array, integers beyond 2^53 would be rounded if some entries are
    missing, and pandas would convert its own types and its categories to floats.
    """
    types = list(y.dtypes) if hasattr(y, "columns") and hasattr(y, "dtypes") else [getattr(y, "dtype", None)]
    if types and isinstance(types[0], np.dtype) and all(dtype == types[0] for dtype in types):
        return np.asarray(y)
    if hasattr(y, "astype"):  # pandas
        return np.asarray(y.astype(object))
    for rows in ("to_pylist", "rows", "to_list"):  # PyArrow arrays, Polars data frames, Polars series
        if hasattr(y, rows):
            return np.asarray(getattr(y, rows)(), dtype=object)
    return np.asarray(y, dtype=object)


def _of_one_type(objects: np.ndarray) -> np.ndarray:
    """Convert an array of objects to an array of strings, numbers or booleans; return other arrays unchanged."""
    values = objects.ravel().tolist()
    types = set(map(type, values))
    if not all(issubclass(kind, str | int | float | np.generic) for kind in types):
        return objects
    array = np.array(values)
    if (
        array.dtype.kind == "f"
        and min(values, default=-1) >= 0
        and not any(issubclass(kind, float | np.inexact) for kind in types)
    ):
        array = np.array(values, dtype=np.uint64)  # by default, NumPy converts integers on both sides of 2^63 to float
    return array.reshape(objects.shape)


def _require_exact(labels: np.ndarray, given: np.ndarray, name: str) -> None:
    """Raise ValueError if some of the given labels may have been changed or merged by their conversion to an array."""
    require(
        labels.dtype.kind != "O",
        f"{name} must hold labels that are text, integers of at most 64 bits, or booleans, got objects such as "
        f"{shortened(labels.ravel()[:1].tolist())}",
    )
    changed = list(set(given.ravel().tolist()) - set(labels.ravel().tolist())) if given.dtype.kind == "O" else []
    require(
        not changed,
        f"{name} must hold labels of a single type, text or numbers, got {shortened(changed[:1])}, which an array of "
        f"dtype {labels.dtype} cannot hold",
    )
    if labels.dtype.kind == "f":
        large = labels[np.isfinite(labels) & (abs(labels) >= 2 / np.finfo(labels.dtype).eps)]
        require(
            not large.size,
            f"{name} must hold labels below {2 / np.finfo(labels.dtype).eps:.0f} if their dtype is {labels.dtype}, got "
            f"{large[:1].tolist()}: larger floats may have been rounded, so pass such labels as integers, with None or "
            "pandas.NA for missing labels, or as text",
        )

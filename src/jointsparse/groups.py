"""Groups and weights of features, as the norms take them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import Floats, positive_part, real_array, require, require_finite

MOST_SPREAD = 2.0**500  # largest ratio of two weights: their squares must neither overflow nor underflow


class Groups(NamedTuple):
    """Disjoint groups of features."""

    of_feature: NDArray[np.int64]  # the group of each feature
    order: NDArray[np.int64]  # the features, sorted by group
    starts: NDArray[np.int64]  # the index in `order` at which each group begins

    def reduce(self, ufunc: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Reduce values per feature to values per group, by `np.add` or `np.maximum`."""
        return ufunc.reduceat(values[self.order], self.starts)

    def stacked(self, W: Floats) -> Floats | None:
        """Return a matrix whose row g holds all entries of group g, or None if W is empty or groups differ in size."""
        sizes = np.diff(self.starts, append=len(self.order))
        return W[self.order].reshape(len(sizes), -1) if W.size and (sizes == sizes[0]).all() else None


def as_groups(groups: Any, n_features: int) -> Groups | None:
    """Return `Groups` made from the group number of each feature, or None if `groups` is None.

    Raises ValueError unless the numbers are 0, 1, 2, … without gaps.
    """
    if groups is None:
        return None
    expected = f"groups must be one whole number per feature, shape ({n_features},)"
    try:
        array = np.asarray(groups)
    except ValueError:
        raise ValueError(f"{expected}, got {type(groups).__name__}") from None
    fit = array.shape == (n_features,) and (array.dtype.kind in "iu" or not array.size)
    require(fit, f"{expected}, got shape {array.shape}, dtype {array.dtype}")
    order = np.argsort(array, kind="stable")
    numbers, starts = np.unique(array[order], return_index=True)
    for g in np.flatnonzero(numbers != np.arange(len(numbers)))[:1]:
        raise ValueError(f"groups must be numbered 0, 1, 2, … without gaps, got {numbers[g]} instead of {g}")
    return Groups(array.astype(np.int64), order, starts)


def as_weights(weights: ArrayLike, rows: int | Groups) -> NDArray[np.float64]:
    """Return `weights` as float64. Raise ValueError unless there is one positive number per feature or group."""
    array = real_array(weights, "weights").astype(np.float64)
    row, n = ("group", len(rows.starts)) if isinstance(rows, Groups) else ("feature", rows)
    require(array.shape == (n,), f"weights must be one per {row}, shape ({n},), got shape {array.shape}")
    for i in np.flatnonzero(~((array > 0) & (array < np.inf))).tolist():
        raise ValueError(f"weights must be positive and finite, got {array[i]} at ({i},)")
    least, most = array.min(initial=np.inf), array.max(initial=0.0)
    require(least >= most / MOST_SPREAD, f"weights must differ by a factor of at most 2^500, got {least} and {most}")
    return array


def as_rows(
    W: Floats, weights: ArrayLike | None, groups: Any, positive: bool = False
) -> tuple[Floats, NDArray[np.float64] | None, Groups | None]:
    """Check the arguments that are common to the functions of all norms with PER_TASK = False.

    Parameters
    ----------
    W : array (n_features, n_tasks)
        Matrix, as returned by `as_matrix`.
    weights : array (n_features,) or (n_groups,), or None
        Positive weight of each feature or group.
    groups : array (n_features,) of integers, or None
        Group number of each feature.
    positive : bool
        Whether to return max(W, 0) instead of W.

    Returns
    -------
    W : array (n_features, n_tasks)
        W or, if positive, its positive part.
    weights : array of float64, or None
        Weights, as returned by `as_weights`.
    groups : Groups or None
        Groups, as returned by `as_groups`.
    """
    members = as_groups(groups, len(W))
    s = None if weights is None else as_weights(weights, members or len(W))
    if members is not None:
        require_finite(W)  # before the rows are reordered, so that the message names the right place
    return positive_part(W) if positive else W, s, members

"""Exponentiated gradient: weights are multiplied by exp(-eta * gradient) and then normalised so that they sum to z.

Kivinen, Warmuth: Exponentiated gradient versus gradient descent for linear predictors. Information and Computation 132,
1997. Beck, Teboulle: Mirror descent and nonlinear projected subgradient methods for convex optimization. Operations
Research Letters 31, 2003. Duchi et al. (2008), sec. 7, eq. 13, compare it with projected gradient.

There are two feasible sets of w. In both, w is computed from positive weights u with sum z:
- "nonnegative", {w >= 0, sum w <= z}: w = u, with one additional slack weight in u, whose gradient is 0;
- "ball", {||w||_1 <= z}: two weights per coordinate, w = u+ - u-, with gradients g and -g (EG+-).

The logarithms of u are stored, up to a constant, so that no weight overflows or gets stuck at 0. All weights are equal
at the start. A coordinate of w that has left 0 does not return to exactly 0, except through rounding.
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from jointsparse.checks import require
from jointsparse.compiled import njit
from jointsparse.norms.l1 import add_compensated

Matrix = NDArray[np.float64]
Places = NDArray[np.int64]
Set = Literal["ball", "nonnegative"]
Method = Literal["projection", "entropic"]
SCHEDULES = ("constant", "1/sqrt(t)", "1/t")

LARGEST_CHANGE = 1e200  # largest total change of the logarithms in a sparse step
LARGEST_LOG = 600.0  # exp of a larger logarithm could overflow
SMALLEST_PART = 2.0**-40  # a sum below this fraction of its peak has lost digits to rounding


def n_weights(n: int, of_set: Set) -> int:
    """Return the number of positive weights u for n coordinates of w: n + 1 for "nonnegative", 2 n for "ball"."""
    return {"ball": 2 * n, "nonnegative": n + 1}[of_set]


def step_sizes(
    schedule: str, *, eta0: float, n: int, n_iter: int, method: Method = "entropic", of_set: Set = "ball"
) -> Matrix:
    """Return step sizes (n_iter,) for T steps: eta0 times 1 / sqrt(T), 1 / sqrt(t) or 1 / t.

    For "entropic" with N weights u, they are multiplied by sqrt(log N).

    Parameters
    ----------
    schedule : "constant", "1/sqrt(t)" or "1/t"
        How the step sizes decrease. "constant" is 1 / sqrt(T).
    eta0 : float, above 0
        If the entries of the gradients are in [-L, L], the theory of "entropic" suggests "constant" with
        eta0 = sqrt(2) / L. The objective, averaged over the steps, is then at most z L sqrt(2 log N / T) above the
        optimum, where z is the radius.
    n : int, at least 1
        Number of coordinates.
    n_iter : int, at least 1
        Number of steps T.
    method : "projection" or "entropic"
    of_set : "ball" or "nonnegative"
        The feasible set. N is n + 1 for "nonnegative" and 2 n for "ball".

    References
    ----------
    Beck and Teboulle (2003), sec. 5, for "constant"; Duchi et al. (2008), sec. 7, for the other two schedules.

    Examples
    --------
    >>> step_sizes("1/t", eta0=1.0, n=50, n_iter=3).round(3)
    array([2.146, 1.073, 0.715])
    """
    t = np.arange(1, n_iter + 1, dtype=float)
    # Choice: 1/sqrt(t) and 1/t start with the step size for T = 1, because sqrt(log N / T) requires T beforehand.
    factors = {"constant": np.full(n_iter, n_iter**-0.5), "1/sqrt(t)": t**-0.5, "1/t": 1 / t}[schedule]
    return eta0 * (math.sqrt(math.log(n_weights(n, of_set))) if method == "entropic" else 1.0) * factors


class Entropic:
    """A point W that is moved by multiplicative steps, with each column in its own feasible set.

    At the start, W is 0 in the ball, and all its entries are z / (n + 1) in the nonnegative set. A step takes O(n) per
    column. Because of rounding, the sum or the norm of a column may slightly exceed z.

    Parameters
    ----------
    n : int, at least 1
        Number of coordinates.
    z : float, at least 0
        The sum of the weights u of each column, called z or C in the papers.
    of_set : "ball" or "nonnegative"
        The set of each column; see the docstring of this module.
    n_columns : int or None
        None if W is a vector (n,). Otherwise, W has the shape (n, n_columns).

    References
    ----------
    Duchi et al. (2008), eq. 13.

    Examples
    --------
    >>> point = Entropic(2, z=7.0, of_set="nonnegative")
    >>> point.step(np.array([0.0, 1.0]), eta=np.log(3))
    >>> point.toarray().round(3)
    array([3., 1.])
    """

    def __init__(self, n: int, z: float, *, of_set: Set = "ball", n_columns: int | None = None) -> None:
        self.n, self.z, self.of_set = n, z, of_set
        self.shape = (n,) if n_columns is None else (n, n_columns)
        self._logs = np.zeros((n_weights(n, of_set), n_columns or 1))

    def step(self, G: Matrix, eta: float) -> None:
        """Replace u_i by z u_i exp(-eta G_i) / sum_j u_j exp(-eta G_j) in each column.

        G: the gradient or a subgradient, with the same shape as W. eta: at least 0. Raises ValueError if the step
        exceeds the range of double precision.
        """
        change = eta * G.reshape(self.n, -1)
        self._logs[: self.n] -= change
        if self.of_set == "ball":
            self._logs[self.n :] += change
        self._logs -= self._logs.max(axis=0)
        require(np.isfinite(self._logs).all(), "the step overflows")

    def toarray(self) -> Matrix:
        """Return W."""
        u = np.exp(self._logs)
        u *= self.z / u.sum(axis=0)
        return (u[: self.n] - u[self.n :] if self.of_set == "ball" else u[: self.n]).reshape(self.shape)


@njit
def change(logs, totals, i, by):  # type: ignore[no-untyped-def]
    """Add `by` to logarithm i. Return False if it gets too large. totals: the sum of exp(logs), its error, its peak."""
    # The sum stays exact, because a weight is subtracted bit for bit as it was added, and the rounding error is kept.
    before = math.exp(logs[i])
    logs[i] += by
    if logs[i] > LARGEST_LOG:
        return False
    totals[0], totals[1] = add_compensated(totals[0], totals[1], math.exp(logs[i]))
    totals[0], totals[1] = add_compensated(totals[0], totals[1], -before)
    totals[2] = max(totals[2], totals[0])
    return True


@njit
def sum_afresh(logs, totals):  # type: ignore[no-untyped-def]
    """Shift the logarithms so that the largest is 0, and recompute the sum of their exponentials."""
    logs -= logs.max()
    totals[:2] = 0.0
    for log in logs:
        totals[0], totals[1] = add_compensated(totals[0], totals[1], math.exp(log))
    totals[2] = totals[0]


@njit
def step_sparse(logs, totals, indices, values, eta):  # type: ignore[no-untyped-def]
    """Update u+ and u- at the given indices. Return True if the sum of the weights was recomputed."""
    follows, n = True, logs.size // 2
    for k in range(indices.size):
        by = eta * values[k]
        follows = change(logs, totals, indices[k], -by) and follows
        follows = change(logs, totals, indices[k] + n, by) and follows
    if follows and totals[0] + totals[1] >= SMALLEST_PART * totals[2]:
        return False
    sum_afresh(logs, totals)
    return True


class SparseEntropic:
    """A vector w in the ball ||w||_1 <= z that is moved by multiplicative steps in a few coordinates.

    This is the lazy form of `Entropic`. A step along a gradient with k non-zero entries changes only the logarithms of
    the weights of these k coordinates, and updates the sum by which all weights are normalised. It therefore takes
    O(k). To return the whole array takes O(n).

    Sometimes the sum cannot be updated precisely, because the weights that dominated it have almost vanished, or
    because a weight would overflow. The sum is then recomputed in O(n), and `refreshed` counts how often this happens.
    It cannot happen before all dominant weights have been changed.

    Parameters
    ----------
    n, z : int, float
        As in `Entropic`, but z is a single number.

    References
    ----------
    Duchi et al. (2008), sec. 7: steps of the exponentiated gradient cost O(k).

    Examples
    --------
    >>> point = SparseEntropic(3, z=1.0)
    >>> point.step(np.array([2]), np.array([-1.0]), eta=np.log(3))
    >>> point.toarray().round(3)
    array([0.   , 0.   , 0.364])
    """

    def __init__(self, n: int, z: float) -> None:
        self.n, self.z = n, z
        self._logs = np.zeros(2 * n)
        self._totals = np.array([float(len(self._logs)), 0.0, float(len(self._logs))])
        self.refreshed = 0

    def step(self, indices: Places, values: Matrix, eta: float) -> None:
        """Take a step as in `Entropic`, with the sparse gradient that has `values` at `indices` and zeros elsewhere.

        indices: (k,) integers from 0 to n - 1. If an index is repeated, its values are added up. values: (k,). eta: at
        least 0. Raises ValueError if the magnitudes of the values add up to more than 1e200 / eta.
        """
        require(eta * np.abs(values).sum() <= LARGEST_CHANGE, "the step overflows")
        self.refreshed += step_sparse(self._logs, self._totals, indices, values, eta)

    def take(self, indices: Places) -> Matrix:
        """Return the entries (k,) of w at k given indices from 0 to n - 1. This takes O(k)."""
        u = np.exp(self._logs[indices]) - np.exp(self._logs[indices + self.n])
        return u * float(self.z / (self._totals[0] + self._totals[1]))

    def toarray(self) -> Matrix:
        """Return w as an array (n,)."""
        return self.take(np.arange(self.n))

    def count_nonzero(self) -> int:
        """Return the number of non-zero entries of w."""
        # w is 0 where both logarithms are equal. Comparing them takes a tenth of the time of computing the array.
        return int(np.count_nonzero(self.take(np.flatnonzero(self._logs[: self.n] != self._logs[self.n :]))))

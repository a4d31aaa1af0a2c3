"""Exponentiated gradient: weights that are multiplied by exp(-eta * gradient) and then normalised to the sum z.

Kivinen, Warmuth: Exponentiated gradient versus gradient descent for linear predictors. Information and Computation 132,
1997. Beck, Teboulle: Mirror descent and nonlinear projected subgradient methods for convex optimization. Operations
Research Letters 31, 2003. The peer of the projections in Duchi et al. (2008), sec. 7, eq. 13.

Three sets, all by way of positive weights u with sum z:
- "simplex", {w >= 0, sum w = z}: w = u, one weight per coordinate;
- "nonnegative", {w >= 0, sum w <= z}: one weight more, the slack, whose gradient is 0;
- "ball", {||w||_1 <= z}: two weights per coordinate, w = u+ - u-, with gradients g and -g (EG+-).

What is kept are the logarithms of u up to a constant, so that no weight overflows, or vanishes for good. All weights
start equal. A coordinate never becomes 0, but for rounding.
"""

import math
from typing import Any, Literal

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import as_places, as_positive, as_radii, real_array, require_count, require_finite

Matrix = NDArray[np.float64]
Set = Literal["ball", "nonnegative", "simplex"]
SETS = ("ball", "nonnegative", "simplex")
SCHEDULES = ("constant", "1/sqrt(t)", "1/t")

LARGE = 1e200  # what the logarithms may change by in one sparse step
HIGH = 600.0  # exp of larger logarithms could overflow
LOW = 2.0**-40  # where their sum falls below this part of its peak, its last digits are doubtful


def n_weights(n: int, of_set: str) -> int:
    """The positive weights kept for n coordinates: n (simplex), n + 1 (nonnegative) or 2 n (ball)."""
    return {"ball": 2 * n, "nonnegative": n + 1, "simplex": n}[_known(of_set, SETS, "set")]


def step_sizes(schedule: str, *, eta0: float, n: int, n_iter: int, of_set: str = "ball") -> Matrix:
    """Step sizes (n_iter,): eta0 sqrt(log N) times 1 / sqrt(T), 1 / sqrt(t) or 1 / t, for N weights and T steps.

    schedule: "constant", "1/sqrt(t)" or "1/t". eta0: above 0; for gradients within [-L, L] the theory's steps are
    "constant" with eta0 = sqrt(2) / L: then the mean objective is at most z L sqrt(2 log N / T) above the optimum.
    n, of_set: coordinates and set, which give N. n_iter: T, at least 1. Raises ValueError for other input.

    Source: Beck and Teboulle (2003), sec. 5; the other two schedules are those of Duchi et al. (2008), sec. 7.

    >>> step_sizes("1/t", eta0=1.0, n=50, n_iter=3).round(3)
    array([2.146, 1.073, 0.715])
    """
    _known(schedule, SCHEDULES, "schedule")
    require_count(n, "n")
    require_count(n_iter, "n_iter")
    as_positive(eta0, "eta0")
    t = np.arange(1, n_iter + 1, dtype=float)
    shape = {"constant": np.full(n_iter, n_iter**-0.5), "1/sqrt(t)": t**-0.5, "1/t": 1 / t}[schedule]
    # Choice: 1/sqrt(t) and 1/t begin where a single step would; sqrt(log N / T) itself is for a T known beforehand.
    return eta0 * math.sqrt(math.log(n_weights(n, of_set))) * shape


class Entropic:
    """A point W, each column in its own set, that moves by multiplicative steps.

    n: coordinates, at least 1. z: at least 0 and finite, one number or one per column, the papers' z or C. of_set:
    "ball", "nonnegative" or "simplex", see the head of this file. n_columns: None for a vector (n,), else W is
    (n, n_columns). W starts at 0 in the ball, at z / (n + 1) or z / n in the others. Raises ValueError for other input.

    A step takes O(n) per column. Sums and norms may exceed z by rounding.

    Source: Duchi et al. (2008), eq. 13.

    >>> point = Entropic(2, z=1.0, of_set="simplex")
    >>> point.step([0.0, 1.0], eta=np.log(3))
    >>> point.toarray()
    array([0.75, 0.25])
    """

    def __init__(self, n: int, z: ArrayLike, *, of_set: str = "ball", n_columns: int | None = None) -> None:
        require_count(n, "n")
        self.n = int(n)
        self.of_set = _known(of_set, SETS, "set")
        width = 1 if n_columns is None else n_columns
        require_count(width, "n_columns")
        self.shape = (self.n,) if n_columns is None else (self.n, width)
        self.z = as_radii(z, width, "z")
        _require_finite_z(self.z)
        self._logs = np.zeros((n_weights(self.n, of_set), len(self.z)))

    def step(self, G: ArrayLike, eta: float) -> None:
        """u_i <- z u_i exp(-eta G_i) / sum_j u_j exp(-eta G_j) in each column.

        G: the (sub)gradient, of W's shape. eta: at least 0. Raises ValueError, and changes nothing, for another shape,
        NaN, infinity, and steps beyond double precision.
        """
        gradient = real_array(G, "G")
        if gradient.shape != self.shape:
            raise ValueError(f"G must have shape {self.shape}, got {gradient.shape}")
        step = _step_size(eta)
        with np.errstate(over="ignore", invalid="ignore"):
            change = step * gradient.astype(np.float64).reshape(self.n, -1)
            logs = self._logs.copy()
            logs[: self.n] -= change
            if self.of_set == "ball":
                logs[self.n :] += change
            logs -= logs.max(axis=0)
        if not np.isfinite(logs).all():
            require_finite(gradient, "G")
            raise ValueError(f"a step is too long for double precision: choose an eta below {eta:g}, or scale G")
        self._logs = logs

    def weights(self) -> Matrix:
        """The positive weights u, (n_weights, n_columns), each column with sum z; the slack last, or u- after u+."""
        u = np.exp(self._logs)
        u *= self.z / u.sum(axis=0)
        return u

    def toarray(self) -> Matrix:
        """W."""
        u = self.weights()
        W = u[: self.n] - u[self.n :] if self.of_set == "ball" else u[: self.n]
        return W.reshape(self.shape)


@njit(cache=True)
def add(totals, part):  # type: ignore[no-untyped-def]
    """Add to the sum totals[0], and what rounding takes off it to totals[1]."""
    larger = totals[0] + part
    added = larger - totals[0]
    totals[1] += (totals[0] - (larger - added)) + (part - added)
    totals[0] = larger


@njit(cache=True)
def change(logs, totals, i, by):  # type: ignore[no-untyped-def]
    """Add `by` to a logarithm; False where the sum cannot follow.

    totals: the sum of exp(logs), what rounding has taken off it, and its peak. What is taken off is bit for bit what
    was once added, each by itself, and the sum carries its rounding along: it stays as good as a fresh one.
    """
    before = math.exp(logs[i])
    logs[i] += by
    if logs[i] > HIGH:
        return False
    add(totals, math.exp(logs[i]))
    add(totals, -before)
    totals[2] = max(totals[2], totals[0])
    return True


@njit(cache=True)
def refresh(logs, totals):  # type: ignore[no-untyped-def]
    """Logarithms with the largest 0, and their sum anew."""
    logs -= logs.max()
    totals[:2] = 0.0
    for log in logs:
        add(totals, math.exp(log))
    totals[2] = totals[0]


@njit(cache=True)
def step_sparse(logs, totals, indices, values, eta, mirror):  # type: ignore[no-untyped-def]
    """One step of the weights `indices`; with mirror > 0 also of those `mirror` places on, the other way."""
    fit = True
    for k in range(indices.size):
        by = eta * values[k]
        if fit:
            fit = change(logs, totals, indices[k], -by)
        else:
            logs[indices[k]] -= by
        if mirror > 0:
            i = indices[k] + mirror
            if fit:
                fit = change(logs, totals, i, by)
            else:
                logs[i] += by
    if not fit or totals[0] + totals[1] < LOW * totals[2]:
        refresh(logs, totals)
        return True
    return False


class SparseEntropic:
    """A point w in its set, a vector, that moves by multiplicative steps of a few coordinates: the lazy `Entropic`.

    n, z, of_set: as in `Entropic`, with one z.

    Only the logarithms of touched weights change, and the sum of all weights that normalises them is kept up to date:
    a step with k entries takes O(k). Where the sum cannot follow, since the weights that made it up have all but
    vanished, or one would overflow, it is taken anew in O(n): `refreshed` counts how often. Until all weights that
    matter have been touched, this does not happen. The array takes O(n).

    Source: Duchi et al. (2008), sec. 7: steps of the exponentiated gradient cost O(k).

    >>> point = SparseEntropic(3, z=1.0, of_set="nonnegative")
    >>> point.step([2], [-1.0], eta=np.log(3))
    >>> point.toarray().round(3)
    array([0.167, 0.167, 0.5  ])
    """

    def __init__(self, n: int, z: float, *, of_set: str = "ball") -> None:
        require_count(n, "n")
        self.n = int(n)
        self.of_set = _known(of_set, SETS, "set")
        self.z = as_radii(z, 1, "z")[0]
        _require_finite_z(self.z)
        self._logs = np.zeros(n_weights(self.n, of_set))
        self._totals = np.array([float(len(self._logs)), 0.0, float(len(self._logs))])
        self.refreshed = 0

    def step(self, indices: ArrayLike, values: ArrayLike, eta: float) -> None:
        """The step of `Entropic` with the gradient sum_k values_k e_indices_k.

        indices: (k,) integers in 0..n-1; one that comes twice counts twice. values: (k,). eta: at least 0. Raises
        ValueError, and changes nothing, for other indices, lengths that differ, NaN, infinity, and values whose
        magnitudes sum to more than 1e200 / eta.
        """
        where, numbers = as_places(indices, self.n), real_array(values, "values").astype(np.float64)
        if where.shape != numbers.shape:
            raise ValueError(f"indices and values must be vectors of one length, got {where.shape}, {numbers.shape}")
        step = _step_size(eta)
        with np.errstate(over="ignore", invalid="ignore"):
            small = bool(step * np.abs(numbers).sum() <= LARGE)
        if not small:
            require_finite(numbers, "values")
            raise ValueError(f"a step is too long for double precision: choose an eta below {eta:g}, or scale values")
        mirror = self.n if self.of_set == "ball" else 0
        self.refreshed += step_sparse(self._logs, self._totals, where, numbers, step, mirror)

    def take(self, indices: ArrayLike) -> Matrix:
        """Coordinates (k,) of w for k indices in 0..n-1, in O(k)."""
        where = as_places(indices, self.n)
        u = np.exp(self._logs[where])
        if self.of_set == "ball":
            u -= np.exp(self._logs[where + self.n])
        return u * self._scale()

    def toarray(self) -> Matrix:
        """The point, (n,)."""
        return self.take(np.arange(self.n))

    def _scale(self) -> float:
        return float(self.z / (self._totals[0] + self._totals[1]))


def _known(name: str, names: tuple[str, ...], what: str) -> str:
    if name not in names:
        raise ValueError(f"{what} must be one of {', '.join(names)}, got {name!r}")
    return name


def _step_size(eta: Any) -> float:
    try:
        step = float(eta)
    except (TypeError, ValueError):
        raise ValueError(f"eta must be a number, got {eta!r}") from None
    if not 0 <= step < np.inf:
        raise ValueError(f"eta must be at least 0 and finite, got {step}")
    return step


def _require_finite_z(z: ArrayLike) -> None:
    if not np.isfinite(z).all():
        raise ValueError(f"z must be finite, got {np.max(z)}")

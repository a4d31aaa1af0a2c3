"""One task with an l1 norm, least squares or logistic regression, by the methods that Duchi et al. (2008) compare.

    minimise f(w)  subject to ||w||_1 <= radius,   or   minimise f(w) + penalty ||w||_1,
    f(w) = 1 / n_samples sum_i loss(x_i . w, y_i).

`batch`, `stochastic` and `line_search` solve the first problem, `interior_point` and `coordinate_descent` the second.
With radius = ||w*||_1 of a solution w* of the second problem, both have the same solutions. All methods begin at w = 0.

Each method records the objective with the CPU seconds and the floating-point operations spent so far. The objective and
the lower bound of a record count only if the method itself needs them.

Operations are counted as follows, for n features and m samples. Each of +, -, *, /, exp, log, max and |.| is one.
- Product with X or its transpose: 2 nnz, for nnz stored entries (m n for an array).
- Losses, slopes and curvatures: LOSS_FLOPS, SLOPE_FLOPS and CURVATURE_FLOPS for each sample.
- Projected step: 2 n, and PROJECTION_FLOPS n for the projection. Step of the exponentiated gradient: ENTROPIC_FLOPS n.
- Step that touches k entries: LAZY_PROJECTION_FLOPS k log2(n + 1), or LAZY_ENTROPIC_FLOPS k.
- Trial of the line search: projected step, product, losses and 3 n for Armijo's condition.
- Pass of coordinate descent: 4 nnz, a product and an update per coordinate. Interior-point step: see `interior_point`.

Source: Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008, sec. 7.
"""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse

from jointsparse.checks import (
    as_finite,
    as_positive,
    one_thread,
    real_array,
    require,
    require_count,
    require_finite,
)
from jointsparse.learning.entropic import Entropic, SparseEntropic, shrinking, step_sizes
from jointsparse.learning.lazy import LARGEST_STEP_SUM, Lazy, Matrix, Rows, csr
from jointsparse.learning.losses import logistic, squared
from jointsparse.learning.problem import magnitude
from jointsparse.norms import l1

Vector = NDArray[np.float64]
RowNumbers = NDArray[np.int64] | None  # None: all samples
Method = Literal["projection", "entropic"]
Watch = Callable[[Matrix], None]
Certify = Callable[[Any], tuple[float, float]]

LOSSES = {"squared": squared, "logistic": logistic}
LOSS_FLOPS = {"squared": 4, "logistic": 7}
SLOPE_FLOPS = {"squared": 2, "logistic": 6}
CURVATURE_FLOPS = {"squared": 0, "logistic": 3}
# Choice: linear, as measured. A projection takes about three times as long as the sum of magnitudes and a soft
# threshold, which are six operations per entry.
PROJECTION_FLOPS = 18
ENTROPIC_FLOPS = 15  # two logarithms: step, less the largest, exp, sum, scale; and their difference
LAZY_PROJECTION_FLOPS = 12  # out of a heap or tree and into it again, six operations at each level
LAZY_ENTROPIC_FLOPS = 22  # two logarithms: step, exp before and after, and a sum that carries its rounding along

# Choice: the paper names no constants of the line search.
ARMIJO = 1e-4  # fraction of the decrease promised by the slope that a step must bring
LONGEST_STEP = 1e300  # must not overflow when doubled
SHORTEST_STEP = 2.0**-60  # relative to w; rounding hides shorter steps

LARGEST_MAGNITUDE = 1e100  # of the entries of X and y
DIVERGED = "descent diverged in step {}: choose a smaller eta0, or scale the features"

# Paper (Koh et al. 2007, sec. 3.2): t is multiplied by T_GROWTH as soon as steps are longer than LONG_STEP.
T_GROWTH, LONG_STEP = 2.0, 0.5
DECREASE = 0.01  # of the barrier function, as a fraction of what the slope promises


class Trace(NamedTuple):
    """Records of a run. Entry j of each array but w belongs to record j, entry 0 to the start.

    w: (n_features,), the last iterate. step: steps done. objective: of the problem that the method solves, with the
    penalty if there is one. bound: the largest lower bound of the optimum so far. seconds, flops: CPU seconds and
    floating-point operations so far, see the head of this file. They are NaN where they are not known.
    """

    w: Matrix
    step: NDArray[np.int64]
    objective: Vector
    bound: Vector
    seconds: Vector
    flops: Vector


class View(NamedTuple):
    """Derivatives of f at w, of all samples or estimated from some."""

    w: Vector
    margins: Vector
    slopes: Vector  # of the losses; the gradient is X^T slopes
    gradient: Vector
    n_entries: int  # stored entries of the samples


class Objective:
    """f(w) = 1 / n_samples sum_i loss(x_i . w, y_i).

    X: (n_samples, n_features), array or sparse. y: (n_samples,), -1 and +1 for "logistic", any for "squared". loss:
    "squared", 1/2 (y - f)^2, or "logistic", log(1 + exp(-y f)). Raises ValueError for other input.
    """

    def __init__(self, X: Any, y: ArrayLike, *, loss: str) -> None:
        require(loss in LOSSES, f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
        self.X = _matrix(X)
        self.y = real_array(y, "y").astype(np.float64)
        require(
            self.X.ndim == 2 and 0 not in self.X.shape,
            f"X must be a matrix (n_samples, n_features) that is not empty, got shape {self.X.shape}",
        )
        require(self.y.shape == self.X.shape[:1], f"y must have shape ({self.X.shape[0]},), got {self.y.shape}")
        for name, numbers in (("X", self.X.data if sparse.issparse(self.X) else self.X), ("y", self.y)):
            require_finite(numbers, name)
            require(
                np.abs(numbers).max(initial=0) <= LARGEST_MAGNITUDE,
                f"{name} must hold no number beyond {LARGEST_MAGNITUDE:g}: scale it",
            )
        for label in self.y[np.abs(self.y) != 1][:1] if loss == "logistic" else ():
            raise ValueError(f"y must hold -1 and +1, got {label:g}")
        self.loss = loss
        self.n_samples, self.n_features = self.X.shape
        # Choice: the paper does not say whether losses are added up or averaged. The mean makes step sizes independent
        # of the number of samples.
        self.c = 1 / self.n_samples
        self.nnz = self.X.size  # stored entries

    def value(self, margins: Vector) -> float:
        """f, from the margins X w."""
        return float(LOSSES[self.loss].value(margins[:, None], self.y[:, None], self._weights(margins))[0])

    def slopes(self, margins: Vector, rows: RowNumbers = None) -> Vector:
        """Derivatives of the losses at the margins of `rows`, weighted so that X^T slopes estimates the gradient."""
        # Choice: the samples of a step stand for all. Step sizes then mean the same for any number of samples.
        weights, y = self._weights(margins), self.y
        if rows is not None:
            weights, y = weights * self.n_samples / len(rows), y[rows]
        return np.asarray(LOSSES[self.loss].subgradient(margins[:, None], y[:, None], weights)[:, 0])

    def view(self, w: Vector, rows: RowNumbers = None, margins: Vector | None = None) -> View:
        """Derivatives at w, of all samples or of some. margins: X w, if known."""
        X = self.X if rows is None else self.X[rows]
        margins = np.asarray(X @ w) if margins is None else margins
        slopes = self.slopes(margins, rows)
        return View(w, margins, slopes, np.asarray(X.T @ slopes), X.size)

    def curvatures(self, margins: Vector) -> Vector:
        """Second derivatives of the losses, weighted."""
        if self.loss == "squared":
            return np.full(self.n_samples, self.c)
        share = np.abs(self.slopes(margins))
        return share * (1 - share / self.c)

    def dual_value(self, dual: Vector) -> float:
        """See `losses`: f(w) >= dual_value(dual) - dual . X w for all w."""
        return float(LOSSES[self.loss].dual_value(dual[:, None], self.y[:, None], self._weights(dual))[0])

    def _weights(self, margins: Vector) -> Matrix:
        return np.full((len(margins), 1), self.c)


def _matrix(X: Any) -> Any:
    """A copy in float64, an array or CSR in which each entry is stored once."""
    if not sparse.issparse(X):
        return real_array(X, "X").astype(np.float64)
    require(X.dtype.kind in "fiub", f"X must hold real numbers, got dtype {X.dtype}")
    rows = sparse.csr_matrix(X, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    return rows


class Constrained(NamedTuple):
    """f(w) subject to ||w||_1 <= radius."""

    objective: Objective
    radius: float

    def certify(self, view: View) -> tuple[float, float]:
        """Objective at w, and a lower bound of the optimum: dual_value - radius max_i |gradient_i|.

        Source: Fenchel's duality; see docs/training.md.
        """
        bound = self.objective.dual_value(-view.slopes) - self.radius * float(np.abs(view.gradient).max())
        return self.objective.value(view.margins), bound


class Penalised(NamedTuple):
    """f(w) + penalty ||w||_1."""

    objective: Objective
    penalty: float

    def certify(self, view: View) -> tuple[float, float]:
        """Objective at w, and a lower bound of the optimum.

        The bound is the dual value of the slopes, scaled down until no entry of the gradient exceeds the penalty.
        """
        size = float(np.abs(view.gradient).max())
        dual = -view.slopes * min(1.0, self.penalty / size) if size > 0 else -view.slopes
        value = self.objective.value(view.margins) + self.penalty * float(np.abs(view.w).sum())
        return value, self.objective.dual_value(dual)


class Recorder:
    """Gathers the records of a run.

    certify: returns objective and lower bound of what `add` is given. watch: called with the weights of each record.
    """

    def __init__(self, certify: Certify, watch: Watch | None = None) -> None:
        self.certify, self.watch = certify, watch
        self.rows: list[tuple[int, float, float, float, float]] = []

    def add(self, step: int, w: Matrix, seen: Any, seconds: float, flops: float) -> tuple[float, float]:
        """Record w.

        Parameters
        ----------
        step : int
            Steps so far.
        w : array
        seen : Any
            Derivatives at w, for `certify`.
        seconds : float
            CPU seconds so far.
        flops : float
            Operations so far.

        Returns
        -------
        tuple of float
            Objective, and the largest bound so far. It is at least 0, as no loss is below.
        """
        value, bound = self.certify(seen)
        bound = max(bound, self.rows[-1][2] if self.rows else 0.0)
        self.rows.append((step, value, bound, seconds, flops))
        if self.watch:
            self.watch(w)
        return value, bound

    def trace(self, w: Matrix) -> Trace:
        """Records so far."""
        step, value, bound, seconds, flops = (np.array(column) for column in zip(*self.rows, strict=True))
        return Trace(w.copy(), step, value, bound, seconds, flops.astype(float))


def _recorder(problem: Constrained | Penalised, watch: Watch | None = None) -> Recorder:
    """A recorder whose functions are compiled."""
    problem.certify(problem.objective.view(np.zeros(problem.objective.n_features)))
    return Recorder(problem.certify, watch)


# ---------------------------------------------------------------------------------------------------------------------
# Steps along the gradient
# ---------------------------------------------------------------------------------------------------------------------


class Projected:
    """W <- project(W - eta G), from a W inside the set."""

    def __init__(self, W: Matrix, radius: float, project: Callable[..., Any]) -> None:
        self.W, self.radius, self.project = W, radius, project
        project(W, radius, out=W)  # compiles

    def step(self, G: Matrix, eta: float) -> None:
        self.W -= eta * G
        self.project(self.W, self.radius, out=self.W)

    def toarray(self) -> Matrix:
        return self.W


class Dense(NamedTuple):
    """Weights that all move in each step, along the gradient of some samples.

    objective: has a `view`. point: the weights. flops: returns the operations of a step along a view.
    """

    objective: Any
    point: Projected | Entropic
    flops: Callable[[Any], float]

    def weights(self) -> Matrix:
        return self.point.toarray()

    def see(self, rows: RowNumbers) -> Any:
        """Derivatives at the weights, of all samples or of some."""
        return self.objective.view(self.weights(), rows)

    def step(self, seen: Any, eta: float) -> float:
        """Take a step along what `see` returned, and return its operation count. Raises ValueError on overflow."""
        self.point.step(seen.gradient, eta)
        return self.flops(seen)


@one_thread()
def take_steps(
    iterate: "Dense | _Lazy", recorder: Recorder, sizes: Vector, draw: Callable[[], RowNumbers], every: int = 1
) -> Trace:
    """Move an iterate along gradients, and record it.

    Parameters
    ----------
    iterate : Dense
        Or another one with its methods.
    recorder : Recorder
    sizes : array (n_iter,)
        Step sizes.
    draw : callable
        Returns the samples of the next step, None for all.
    every : int, at least 1
        Steps between two records. The last iterate is recorded too.

    Returns
    -------
    Trace

    Raises
    ------
    ValueError
        A step overflows.
    """
    seconds, flops = 0.0, 0.0
    for t in range(len(sizes) + 1):
        rows = draw()
        start = time.process_time()
        seen = iterate.see(rows)
        pause = time.process_time()
        if t % every == 0 or t == len(sizes):
            recorder.add(t, iterate.weights(), seen if rows is None else iterate.see(None), seconds, flops)
        if t < len(sizes):
            resumed = time.process_time()
            flops += _step(iterate, seen, sizes[t], t)
            seconds += (pause - start) + (time.process_time() - resumed)
    return recorder.trace(iterate.weights())


def _step(iterate: "Dense | _Lazy", seen: Any, eta: float, t: int) -> float:
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return iterate.step(seen, eta)
    except ValueError:
        raise ValueError(DIVERGED.format(t + 1)) from None


def _dense(objective: Objective, radius: float, method: Method) -> Dense:
    """Steps that move all weights, from w = 0."""
    n, of_slope = objective.n_features, SLOPE_FLOPS[objective.loss]
    point: Projected | Entropic = Entropic(n, radius)
    step_flops = ENTROPIC_FLOPS * n
    if method == "projection":
        point, step_flops = Projected(np.zeros(n), radius, l1.project), (2 + PROJECTION_FLOPS) * n
    return Dense(objective, point, lambda seen: 4 * seen.n_entries + of_slope * len(seen.slopes) + step_flops)


class _LazyProjected:
    """w in the ball, projected in steps that touch only the features of their samples."""

    def __init__(self, n: int, radius: float) -> None:
        self.point = Lazy(n, 1, "l1", radius, False)
        self.entry_flops = LAZY_PROJECTION_FLOPS * math.log2(n + 1)

    def margins(self, rows: Rows) -> Vector:
        return self.point.margins(rows)[:, 0]

    def step(self, rows: Rows, slopes: Vector, eta: float) -> None:
        self.point.step(rows, -eta * slopes[:, None])

    def toarray(self) -> Vector:
        return self.point.last()[:, 0]


class _LazyEntropic:
    """w in the ball, moved by steps of the exponentiated gradient that touch only the features of their samples."""

    def __init__(self, n: int, radius: float) -> None:
        self.point = SparseEntropic(n, radius)
        self.entry_flops = float(LAZY_ENTROPIC_FLOPS)

    def margins(self, rows: Rows) -> Vector:
        sample = np.repeat(np.arange(len(rows.indptr) - 1), np.diff(rows.indptr))
        products = self.point.take(rows.indices) * rows.data
        return np.bincount(sample, products, minlength=len(rows.indptr) - 1).astype(np.float64)

    def step(self, rows: Rows, slopes: Vector, eta: float) -> None:
        self.point.step(rows.indices, np.repeat(slopes, np.diff(rows.indptr)) * rows.data, eta)

    def toarray(self) -> Vector:
        return self.point.toarray()


class _Lazy:
    """Steps like those of `Dense` that move only the weights of the features of their samples, from w = 0."""

    def __init__(self, objective: Objective, radius: float, method: Method) -> None:
        kind = _LazyProjected if method == "projection" else _LazyEntropic
        row, compiled = csr(sparse.csr_matrix((1, 1))).take(np.zeros(1, np.int64)), kind(1, radius)
        compiled.step(row, compiled.margins(row), 0.0)
        self.objective, self.samples = objective, csr(objective.X)
        self.point = kind(objective.n_features, radius)

    def weights(self) -> Vector:
        return self.point.toarray()

    def see(self, rows: RowNumbers) -> Any:
        if rows is None:
            return self.objective.view(self.weights())
        X = self.samples.take(rows)
        return X, self.objective.slopes(self.point.margins(X), rows)

    def step(self, seen: tuple[Rows, Vector], eta: float) -> float:
        X, slopes = seen
        if not eta * np.abs(slopes).sum() * magnitude(X.entries()) < LARGEST_STEP_SUM:
            raise ValueError("overflow")
        self.point.step(X, slopes, eta)
        return len(X.data) * (4 + self.point.entry_flops) + SLOPE_FLOPS[self.objective.loss] * len(slopes)


def sizes_of(method: str, schedule: str, eta0: float, *, n: int, n_iter: int, of_set: str = "ball") -> Vector:
    """Step sizes of projections, eta0 times the factors of the schedule, or of the exponentiated gradient.

    Parameters
    ----------
    method : "projection" or "entropic"
    schedule : str
        See `entropic.step_sizes`.
    eta0 : float, above 0
    n : int
        Coordinates.
    n_iter : int, at least 1
    of_set : str
        Set of the exponentiated gradient.

    Returns
    -------
    array (n_iter,)

    Raises
    ------
    ValueError
        Input out of range.
    """
    require(method in ("projection", "entropic"), f"method must be projection or entropic, got {method!r}")
    if method == "entropic":
        return step_sizes(schedule, eta0=eta0, n=n, n_iter=n_iter, of_set=of_set)
    return as_positive(eta0, "eta0") * shrinking(schedule, n_iter)


def batch(
    objective: Objective,
    radius: float,
    *,
    eta0: float,
    n_iter: int,
    method: Method = "projection",
    schedule: str = "1/sqrt(t)",
    watch: Watch | None = None,
) -> Trace:
    """Minimise f(w) subject to ||w||_1 <= radius by steps along the gradient of all samples, recorded each.

    A step takes 4 nnz + SLOPE_FLOPS m operations for the gradient, and the operations of the method.

    Parameters
    ----------
    objective : Objective
    radius : float, at least 0 and finite
        The paper's z.
    eta0 : float, above 0
        First step size.
    n_iter : int, at least 1
        Steps.
    method : "projection" or "entropic"
        w <- P(w - eta0 / sqrt(t) gradient), or exponentiated gradient.
    schedule : str
        Schedule of the step sizes, see `sizes_of`.
    watch : callable, optional
        Called with the w of each record, outside of the measured seconds. It must not keep or change w.

    Returns
    -------
    Trace

    Raises
    ------
    ValueError
        Input out of range, or a step that overflows.

    References
    ----------
    Duchi et al. (2008), sec. 7, eq. 2 and 13.
    """
    radius = as_finite(radius, "radius")
    sizes = sizes_of(method, schedule, eta0, n=objective.n_features, n_iter=n_iter)
    recorder = _recorder(Constrained(objective, radius), watch)
    return take_steps(_dense(objective, radius, method), recorder, sizes, lambda: None)


def stochastic(
    objective: Objective,
    radius: float,
    *,
    batch_size: int,
    rng: np.random.Generator,
    eta0: float,
    n_iter: int,
    method: Method = "projection",
    schedule: str = "1/sqrt(t)",
    every: int = 1,
    lazy: bool = True,
    watch: Watch | None = None,
) -> Trace:
    """Minimise f(w) subject to ||w||_1 <= radius by steps along the gradient of a few samples.

    Samples are drawn without replacement in each step, outside of the measured seconds. Their gradient is scaled to
    estimate the gradient of all. A step takes 4 k + SLOPE_FLOPS batch_size operations for samples with k entries, and
    the operations of the method.

    Parameters
    ----------
    objective : Objective
    radius : float, at least 0 and finite
        The paper's z.
    batch_size : int, from 1 to n_samples
    rng : numpy.random.Generator
        Draws the samples.
    eta0 : float, above 0
        First step size.
    n_iter : int, at least 1
        Steps.
    method : "projection" or "entropic"
    schedule : str
        Schedule of the step sizes, see `sizes_of`.
    every : int, at least 1
        Steps between two records, which each take the time of a batch step.
    lazy : bool
        Let a step touch only the features of its samples, if X is sparse. Dense steps are faster for many samples.
    watch : callable, optional
        As in `batch`.

    Returns
    -------
    Trace

    Raises
    ------
    ValueError
        Input out of range, or a step that overflows.

    References
    ----------
    Duchi et al. (2008), sec. 7.
    """
    radius = as_finite(radius, "radius")
    sizes = sizes_of(method, schedule, eta0, n=objective.n_features, n_iter=n_iter)
    require_count(batch_size, "batch_size", objective.n_samples)
    require_count(every, "every")
    start = _Lazy if lazy and sparse.issparse(objective.X) else _dense
    recorder = _recorder(Constrained(objective, radius), watch)
    draw = drawing(rng, objective.n_samples, batch_size)
    return take_steps(start(objective, radius, method), recorder, sizes, draw, every)


def drawing(rng: np.random.Generator, n_samples: int, batch_size: int) -> Callable[[], RowNumbers]:
    """A function that draws `batch_size` of `n_samples` rows without replacement."""
    return lambda: np.sort(rng.choice(n_samples, batch_size, replace=False))


@one_thread()
def line_search(objective: Objective, radius: float, *, n_iter: int, eta0: float = 1.0) -> Trace:
    """Minimise f(w) subject to ||w||_1 <= radius by projected gradient with backtracking along the projection arc.

    A step goes to w(s) = P(w - s gradient) with f(w(s)) <= f(w) - ARMIJO gradient . (w - w(s)). The first s tried is
    twice the last accepted one, and s is halved until a step is accepted. The trace ends early at an exact optimum,
    w(s) = w, or as soon as rounding hides all further descent.

    Parameters
    ----------
    objective : Objective
    radius : float, at least 0 and finite
    n_iter : int, at least 1
        Steps.
    eta0 : float, above 0
        First s tried.

    Returns
    -------
    Trace

    Raises
    ------
    ValueError
        Input out of range.

    References
    ----------
    Duchi et al. (2008), sec. 7; Bertsekas: On the Goldstein-Levitin-Polyak gradient projection method. IEEE
    Transactions on Automatic Control 21, 1976.
    """
    problem = Constrained(objective, as_finite(radius, "radius"))
    s = 0.5 * as_positive(eta0, "eta0")
    require_count(n_iter, "n_iter")
    n, m, nnz = objective.n_features, objective.n_samples, objective.nnz
    gradient_flops = 2 * nnz + SLOPE_FLOPS[objective.loss] * m
    trial_flops = (2 + PROJECTION_FLOPS + 3) * n + 2 * nnz + LOSS_FLOPS[objective.loss] * m
    recorder, seconds, flops = _recorder(problem), 0.0, 0
    w, margins = l1.project(np.zeros(n), problem.radius), np.zeros(m)  # compiles
    for t in range(n_iter + 1):
        start = time.process_time()
        view = objective.view(w, margins=margins)
        pause = time.process_time()
        value, _ = recorder.add(t, w, view, seconds, flops)
        if t == n_iter:
            break
        resumed = time.process_time()
        moved, s, trials = _backtrack(problem, view, value, min(2 * s, LONGEST_STEP))
        if moved is None or np.array_equal(moved[0], w):
            break
        w, margins = moved
        flops += gradient_flops + trials * trial_flops
        seconds += (pause - start) + (time.process_time() - resumed)
    return recorder.trace(w)


@np.errstate(over="ignore", invalid="ignore")
def _backtrack(
    problem: Constrained, view: View, value: float, s: float
) -> tuple[tuple[Vector, Vector] | None, float, int]:
    """w(s) and its margins for the first of s, s/2, ... that is accepted, this s, and the number of trials."""
    longest, size, trials = float(np.abs(view.gradient).max()), float(np.abs(view.w).max()), 0
    while s * longest > SHORTEST_STEP * size:
        trials += 1
        moved = view.w - s * view.gradient
        if np.isfinite(moved).all():
            l1.project(moved, problem.radius, out=moved)
            margins = np.asarray(problem.objective.X @ moved)
            if problem.objective.value(margins) <= value - ARMIJO * float(view.gradient @ (view.w - moved)):
                return (moved, margins), s, trials
        s *= 0.5
    return None, s, trials


# ---------------------------------------------------------------------------------------------------------------------
# Methods of the penalised problem
# ---------------------------------------------------------------------------------------------------------------------


@one_thread()
def interior_point(objective: Objective, penalty: float, *, tol: float = 1e-8, n_iter: int = 200) -> Trace:
    """Minimise f(w) + penalty ||w||_1 by Newton's method on a barrier function.

    The function is t (f(w) + penalty sum_i u_i) - sum_i log(u_i^2 - w_i^2), for growing t. With p = 1 / (u + w) and
    q = 1 / (u - w), the changes of u are eliminated from the Newton system. There remain n equations,
        (t X^T H X + 4 p^2 q^2 / (p^2 + q^2)) dw = -g_w + (p^2 - q^2) / (p^2 + q^2) g_u,
    solved by Cholesky's method. H holds the curvatures of the losses, g_w = t gradient - p + q and
    g_u = t penalty - p - q.

    Operations of a step:
    - (2 LOSS_FLOPS + SLOPE_FLOPS + CURVATURE_FLOPS) m + 4 nnz for gradient, curvatures, gap and margins of dw;
    - sum_i nnz_i^2 + nnz for X^T H X with nnz_i stored entries in row i, half of the count without symmetry (for
      "squared" once and for all);
    - n^3 / 3 + 2 n^2 for the solution, and 20 n for the rest;
    - (LOSS_FLOPS + 2) m + 10 n for each trial of a length.

    Parameters
    ----------
    objective : Objective
    penalty : float, above 0
    tol : float, above 0
        Duality gap, relative to the objective, to stop at.
    n_iter : int, at least 1
        Largest number of steps.

    Returns
    -------
    Trace

    Raises
    ------
    ValueError
        Input out of range.

    References
    ----------
    Koh, Kim, Boyd: An interior-point method for large-scale l1-regularized logistic regression. JMLR 8, 2007; Kim et
    al.: An interior-point method for large-scale l1-regularized least squares. IEEE JSTSP 1, 2007.
    """
    penalty, tol = as_positive(penalty, "penalty"), as_positive(tol, "tol")
    require_count(n_iter, "n_iter")
    n, m = objective.n_features, objective.n_samples
    w, u, margins, t, length = np.zeros(n), np.ones(n), np.zeros(m), 1 / penalty, 0.0
    gram_flops, step_flops, trial_flops = _newton_flops(objective)
    recorder, gram, flops = _recorder(Penalised(objective, penalty)), None, 0.0
    began = time.process_time()
    for step in range(n_iter + 1):
        seconds = time.process_time() - began
        view = objective.view(w, margins=margins)
        # The method itself needs the gap, so the record is part of its seconds.
        value, bound = recorder.add(step, w, view, seconds, flops)
        gap = value - bound
        if step == n_iter or gap <= tol * value:
            break
        if length >= LONG_STEP:
            t = max(T_GROWTH * min(2 * n / gap, t), t)
        if gram is None or objective.loss != "squared":
            gram = _gram(objective, margins)
            flops += gram_flops
        dw, du, slope = _newton_direction(gram, view.gradient, w, u, t, penalty)
        moved = np.asarray(objective.X @ dw)
        length, trials = _step_length(objective, t, penalty, (w, u, margins), (dw, du, moved), slope)
        flops += step_flops + trials * trial_flops
        if not length:
            break
        w, u, margins = w + length * dw, u + length * du, margins + length * moved
    return recorder.trace(w)


def _newton_flops(objective: Objective) -> tuple[float, float, float]:
    """Operations of X^T H X, of the rest of an interior-point step, and of a trial of its length."""
    n, m, loss = objective.n_features, objective.n_samples, objective.loss
    entries = np.diff(objective.X.indptr) if sparse.issparse(objective.X) else np.full(m, n)
    sample_flops = (2 * LOSS_FLOPS[loss] + SLOPE_FLOPS[loss] + CURVATURE_FLOPS[loss]) * m
    step_flops = 4 * objective.nnz + sample_flops + n**3 / 3 + 2 * n**2 + 20 * n
    gram_flops = float(entries.astype(float) @ entries) + objective.nnz
    return gram_flops, step_flops, (LOSS_FLOPS[loss] + 2) * m + 10 * n


def _gram(objective: Objective, margins: Vector) -> Matrix:
    """X^T H X."""
    root = np.sqrt(objective.curvatures(margins))[:, None]
    scaled = objective.X.multiply(root) if sparse.issparse(objective.X) else objective.X * root
    product: Any = scaled.T @ scaled
    return np.asarray(product.toarray() if sparse.issparse(product) else product)


def _newton_direction(
    gram: Matrix, gradient: Vector, w: Vector, u: Vector, t: float, penalty: float
) -> tuple[Vector, Vector, float]:
    """The changes of w and u, and the derivative of the barrier function along them."""
    p, q = 1 / (u + w), 1 / (u - w)
    sums, differences = p**2 + q**2, p**2 - q**2
    g_w, g_u = t * gradient - p + q, t * penalty - p - q
    system = t * gram
    system.flat[:: len(w) + 1] += 4 * (p * q) ** 2 / sums
    factor = linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    dw = linalg.cho_solve(factor, -g_w + differences / sums * g_u, check_finite=False)
    du = -(g_u + differences * dw) / sums
    return dw, du, float(g_w @ dw + g_u @ du)


def _step_length(
    objective: Objective,
    t: float,
    penalty: float,
    at: tuple[Vector, Vector, Vector],
    along: tuple[Vector, Vector, Vector],
    slope: float,
) -> tuple[float, int]:
    """The first of 1, 1/2, 1/4, ... that stays within |w| < u and descends enough, else 0, and the number of trials."""

    def barrier(length: float) -> float:
        w, u, margins = (here + length * change for here, change in zip(at, along, strict=True))
        if not (np.abs(w) < u).all():
            return np.inf
        return t * (objective.value(margins) + penalty * float(u.sum())) - float(np.log((u + w) * (u - w)).sum())

    start = barrier(0.0)
    length, trials = 1.0, 1
    while length > SHORTEST_STEP:
        if barrier(length) <= start + DECREASE * length * slope:
            return length, trials
        length, trials = 0.5 * length, trials + 1
    return 0.0, trials


@one_thread()
def coordinate_descent(objective: Objective, penalty: float, *, n_iter: Sequence[int]) -> Trace:
    """Minimise f(w) + penalty ||w||_1 by scikit-learn's solvers, with one record for each number of iterations.

    - "squared": `Lasso`, cyclic coordinate descent. An iteration is a pass over the coordinates, 4 nnz operations, or
      fewer if it leaves out coordinates that are known to stay 0.
    - "logistic": liblinear, Newton steps by coordinate descent. It does not report its passes within a step, so flops
      are NaN. It copies X at each fit: the seconds of a fit with the solution 0 are subtracted.

    Each record is a run of its own from w = 0, with the seconds of this run alone. So scikit-learn's input checks count
    once. As clocks are noisy, a record takes at most the seconds of a run with more iterations. Its
    seconds are NaN if nothing is left after the subtraction.

    Parameters
    ----------
    objective : Objective
    penalty : float, above 0
    n_iter : sequence of int
        Numbers of iterations, increasing from 1 on.

    Returns
    -------
    Trace

    Raises
    ------
    ValueError
        Input out of range, or labels of one class only.

    References
    ----------
    Duchi et al. (2008), sec. 7; Friedman et al.: Pathwise coordinate optimization. Annals of Applied Statistics 1,
    2007.
    """
    penalty = as_positive(penalty, "penalty")
    steps = np.asarray(n_iter)
    if steps.ndim != 1 or not steps.size or steps.dtype.kind not in "iu" or (np.diff(steps, prepend=0) < 1).any():
        raise ValueError(f"n_iter must list whole numbers that increase from 1 on, got {n_iter!r}")
    require(
        objective.loss != "logistic" or len(np.unique(objective.y)) >= 2,
        f"y must hold both -1 and +1, got only {objective.y[0]:g}",
    )
    is_lasso = objective.loss == "squared"
    fit = partial(_fit, *(_lasso if is_lasso else _liblinear)(objective, penalty), objective.y)
    pass_flops = 4.0 * objective.nnz if is_lasso else np.nan
    # With so large a penalty w stays 0, and copying X is all that takes time.
    only_copy = partial(_fit, *_liblinear(objective, 1 / SHORTEST_STEP), objective.y)
    copying = 0.0 if is_lasso else min(only_copy(1)[1] for _ in range(3))
    recorder, w = _recorder(Penalised(objective, penalty)), np.zeros(objective.n_features)
    recorder.add(0, w, objective.view(w), 0.0, 0.0)
    fit(1)  # imports
    for step in steps.tolist():
        w, seconds = fit(step)
        recorder.add(step, w, objective.view(w), seconds - copying, step * pass_flops)
    trace = recorder.trace(w)
    least = np.minimum.accumulate(trace.seconds[::-1])[::-1]
    return trace._replace(seconds=np.where((least > 0) | (trace.step == 0), least.clip(0), np.nan))


def _fit(model: Any, X: Any, y: Vector, n_iter: int) -> tuple[Vector, float]:
    """Fit with at most n_iter iterations, and return w and CPU seconds."""
    model.max_iter = n_iter
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the number of iterations is too small to converge
        model.fit(X, y)
    seconds = time.process_time() - start
    return np.array(model.coef_, dtype=np.float64).ravel(), seconds


def _lasso(objective: Objective, penalty: float) -> tuple[Any, Any]:
    """scikit-learn's Lasso, which divides the squares by the number of samples, and X as it takes it."""
    from sklearn.linear_model import Lasso

    X = sparse.csc_matrix(objective.X) if sparse.issparse(objective.X) else np.asfortranarray(objective.X)
    alpha = penalty / (objective.c * objective.n_samples)
    return Lasso(alpha=alpha, fit_intercept=False, tol=1e-15, copy_X=False), X


def _liblinear(objective: Objective, penalty: float) -> tuple[Any, Any]:
    """scikit-learn's LogisticRegression, which multiplies the losses by C and the norm by 1, and X as it takes it."""
    import sklearn
    from sklearn.linear_model import LogisticRegression

    # Version 1.8 changed how to ask for the l1 norm.
    old = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8)
    norm: dict[str, Any] = {"penalty": "l1"} if old else {"l1_ratio": 1.0}
    model = LogisticRegression(
        C=objective.c / penalty, solver="liblinear", fit_intercept=False, tol=1e-15, random_state=0, **norm
    )
    return model, objective.X

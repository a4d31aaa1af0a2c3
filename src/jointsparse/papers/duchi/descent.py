"""One task with an l1 norm, least squares or logistic regression, by the methods that Duchi et al. (2008) compare.

    minimise f(w)  subject to ||w||_1 <= radius,   or   minimise f(w) + penalty ||w||_1,
    f(w) = c sum_i loss(x_i . w, y_i).

`batch`, `stochastic` and `line_search` solve the first problem, `interior_point` and `coordinate_descent` the second;
with radius = ||w*||_1 of a solution w* of the second they have the same solutions. All begin with w = 0.

Each method returns the objective after every step with the CPU seconds and the floating-point operations spent so far,
without those for the record alone: of the objective and the lower bound, where the method itself has no use for them.

How operations are counted, for n features and m samples; +, -, *, /, exp, log, max and |.| are one each:
- a product with X or its transpose: 2 nnz, for nnz stored entries (m n where X is an array);
- losses, their slopes and their curvatures: LOSS, SLOPE and CURVATURE for each sample;
- a projected step: 2 n, and PROJECTION n for the projection; a step of the exponentiated gradient: ENTROPIC n;
- a step that touches k entries: LAZY_PROJECTION k log2(n + 1), or LAZY_ENTROPIC k;
- a trial of the line search: projected step, product, losses and 3 n for Armijo's condition;
- an interior-point step: see there; a pass of coordinate descent: 4 nnz, a product and an update per coordinate.

Source: Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008, sec. 7.
"""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Literal, NamedTuple, ParamSpec, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse
from threadpoolctl import threadpool_limits

from jointsparse.checks import as_finite, as_positive, real_array, require_count, require_finite
from jointsparse.learning.entropic import Entropic, SparseEntropic, step_sizes
from jointsparse.learning.lazy import LONGEST_STEP, Lazy, Rows, csr
from jointsparse.learning.losses import logistic, squared
from jointsparse.learning.problem import largest
from jointsparse.norms import l1

Vector = NDArray[np.float64]
Method = Literal["projection", "entropic"]
Watch = Callable[[Vector], None]
Parameters = ParamSpec("Parameters")

LOSSES = {"squared": squared, "logistic": logistic}
LOSS = {"squared": 4, "logistic": 7}
SLOPE = {"squared": 2, "logistic": 6}
CURVATURE = {"squared": 0, "logistic": 3}
# Choice: of the order that is measured, linear; a projection takes about three times as long as the sum of magnitudes
# and a soft threshold, which are six operations per entry.
PROJECTION = 18
ENTROPIC = 15  # two logarithms: step, less the largest, exp, sum, scale; and their difference
LAZY_PROJECTION = 12  # out of a heap or tree and into it again, six operations at each level
LAZY_ENTROPIC = 22  # two logarithms: step, exp before and after, and a sum that carries its rounding along

# Choice: the paper names no constants of the line search.
ARMIJO = 1e-4  # part of the decrease promised by the slope that a step must bring
LONGEST = 1e300  # step, which must not overflow when it is doubled
SMALL = 2.0**-60  # steps shorter than this part of w are lost in rounding

LARGE = 1e100  # magnitudes of X and y
DIVERGED = "descent diverged in step {}: choose a smaller eta0, or scale the features"

# Paper (Koh et al. 2007, sec. 3.2): t grows by MU as soon as steps are longer than LONG.
MU, LONG = 2.0, 0.5
DECREASE = 0.01  # of the barrier function, as part of what the slope promises


class Trace(NamedTuple):
    """What a method did. Entry j of each array but w belongs to the j-th record, entry 0 to w = 0.

    w: (n_features,), the last iterate. step: how many steps were done. objective: of the problem that the method
    solves, with the penalty if it has one. bound: the largest lower bound of the optimum so far. seconds, flops: CPU
    seconds and floating-point operations so far, see the head of this file; NaN where they are not known.
    """

    w: Vector
    step: NDArray[np.int64]
    objective: Vector
    bound: Vector
    seconds: Vector
    flops: Vector


class Objective:
    """f(w) = c sum_i loss(x_i . w, y_i).

    X: (n_samples, n_features), array or sparse. y: (n_samples,), -1 and +1 for "logistic", any for "squared". loss:
    "squared", 1/2 (y - f)^2, or "logistic", log(1 + exp(-y f)). normalisation: "mean", c = 1 / n_samples, so that step
    sizes do not depend on the number of samples, or "sum", c = 1. Raises ValueError for other input.
    """

    def __init__(self, X: Any, y: ArrayLike, *, loss: str, normalisation: str = "mean") -> None:
        if loss not in LOSS:
            raise ValueError(f"loss must be one of {', '.join(LOSS)}, got {loss!r}")
        if normalisation not in ("mean", "sum"):
            raise ValueError(f"normalisation must be mean or sum, got {normalisation!r}")
        self.X = _matrix(X)
        self.y = real_array(y, "y").astype(np.float64)
        if self.X.ndim != 2 or 0 in self.X.shape:
            raise ValueError(f"X must be a matrix (n_samples, n_features) that is not empty, got shape {self.X.shape}")
        if self.y.shape != self.X.shape[:1]:
            raise ValueError(f"y must have shape ({self.X.shape[0]},), got {self.y.shape}")
        for name, numbers in (("X", self.X.data if sparse.issparse(self.X) else self.X), ("y", self.y)):
            require_finite(numbers, name)
            if np.abs(numbers).max(initial=0) > LARGE:
                raise ValueError(f"{name} must hold no number beyond {LARGE:g}, whose square is none: scale it")
        for label in self.y[np.abs(self.y) != 1][:1] if loss == "logistic" else ():
            raise ValueError(f"y must hold -1 and +1, got {label:g}")
        self.loss = loss
        self.n_samples, self.n_features = self.X.shape
        # Choice: the paper does not say whether losses are added up or averaged.
        self.c = 1 / self.n_samples if normalisation == "mean" else 1.0
        self.nnz = self.X.nnz if sparse.issparse(self.X) else self.X.size

    def value(self, margins: Vector) -> float:
        """f, from the margins X w."""
        return float(LOSSES[self.loss].value(margins[:, None], self.y[:, None], self._weights(margins))[0])

    def slopes(self, margins: Vector, rows: Any = slice(None), c: float | None = None) -> Vector:
        """The derivatives of the losses at the margins of `rows`, weighted by c; the gradient is X^T slopes."""
        weights = self._weights(margins) if c is None else np.full((len(margins), 1), c)
        slopes: Vector = LOSSES[self.loss].subgradient(margins[:, None], self.y[rows, None], weights)[:, 0]
        return slopes

    def curvatures(self, margins: Vector) -> Vector:
        """The second derivatives of the losses, weighted."""
        if self.loss == "squared":
            return np.full(self.n_samples, self.c)
        share = np.abs(self.slopes(margins))
        return share * (1 - share / self.c)

    def dual_value(self, dual: Vector) -> float:
        """See `losses`: f(w) >= dual_value(dual) - dual . X w for all w."""
        return float(LOSSES[self.loss].dual_value(dual[:, None], self.y[:, None], self._weights(dual))[0])

    def _weights(self, margins: Vector) -> NDArray[np.float64]:
        return np.full((len(margins), 1), self.c)


def _matrix(X: Any) -> Any:
    """A copy in float64, an array or CSR in which each entry is stored once."""
    if not sparse.issparse(X):
        return real_array(X, "X").astype(np.float64)
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X must hold real numbers, got dtype {X.dtype}")
    rows = sparse.csr_matrix(X, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    return rows


def lower_bound(
    objective: Objective, dual: ArrayLike, *, radius: float | None = None, penalty: float | None = None
) -> float:
    """A number that no f(w) with ||w||_1 <= radius, or no f(w) + penalty ||w||_1, is smaller than.

    dual: (n_samples,), any dual variables of the losses; best are the negative slopes at a solution. radius, penalty:
    exactly one of them. With v = X^T dual: dual_value(dual) - radius max_i |v_i|, or the dual_value of the dual
    variables scaled down until max_i |v_i| <= penalty. Raises ValueError for other input.

    Source: Fenchel's duality; see docs/training.md.
    """
    if (radius is None) == (penalty is None):
        raise ValueError(f"exactly one of radius and penalty must be given, got {radius!r} and {penalty!r}")
    radius = None if radius is None else as_finite(radius, "radius")
    penalty = None if penalty is None else as_positive(penalty, "penalty")
    a = real_array(dual, "dual").astype(np.float64)
    if a.shape != (objective.n_samples,):
        raise ValueError(f"dual must have shape ({objective.n_samples},), got {a.shape}")
    require_finite(a, "dual")
    return _bound(objective, a, np.asarray(objective.X.T @ a), radius, penalty)


def _bound(objective: Objective, dual: Vector, v: Vector, radius: float | None, penalty: float | None) -> float:
    """`lower_bound` where v = X^T dual is known."""
    size = float(np.abs(v).max())
    if radius is not None:
        return objective.dual_value(dual) - radius * size
    assert penalty is not None
    return objective.dual_value(dual * min(1.0, penalty / size) if size > 0 else dual)


class _Recorder:
    """Gathers a trace."""

    def __init__(
        self,
        objective: Objective,
        *,
        radius: float | None = None,
        penalty: float | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.objective, self.radius, self.penalty = objective, radius, penalty
        self.watch: Watch | None = None
        self.rows: list[tuple[int, float, float, float, float]] = []
        self.add(0, np.zeros(objective.n_features), 0.0, 0.0)  # compiles
        self.rows.clear()
        self.watch = watch

    def add(self, step: int, w: Vector, seconds: float, flops: float) -> None:
        """A record of w with all that it needs computed here."""
        margins = np.asarray(self.objective.X @ w)
        slopes = self.objective.slopes(margins)
        self.add_known(step, w, margins, slopes, np.asarray(self.objective.X.T @ slopes), seconds, flops)

    def add_known(
        self, step: int, w: Vector, margins: Vector, slopes: Vector, gradient: Vector, seconds: float, flops: float
    ) -> tuple[float, float]:
        """Returns the duality gap so far and the objective."""
        value = self.objective.value(margins)
        if self.penalty is not None:
            value += self.penalty * float(np.abs(w).sum())
        bound = max(_bound(self.objective, -slopes, -gradient, self.radius, self.penalty), 0.0)
        if self.rows:
            bound = max(bound, self.rows[-1][2])
        self.rows.append((step, value, bound, seconds, flops))
        if self.watch:
            self.watch(w)
        return value - bound, value

    def trace(self, w: Vector) -> Trace:
        step, value, bound, seconds, flops = (np.array(column) for column in zip(*self.rows, strict=True))
        return Trace(w.copy(), step, value, bound, seconds, flops.astype(float))


def _in_one_thread(run: Callable[Parameters, Trace]) -> Callable[Parameters, Trace]:
    """Let BLAS use one thread: the same bits everywhere, and CPU seconds that mean something."""

    @wraps(run)
    def alone(*arguments: Parameters.args, **options: Parameters.kwargs) -> Trace:
        with threadpool_limits(limits=1, user_api="blas"):
            return run(*arguments, **options)

    return alone


class _Point(Protocol):
    def toarray(self) -> Vector: ...

    def step(self, G: Vector, eta: float) -> None: ...


class _Projected:
    """w <- project(w - eta G)."""

    def __init__(self, n: int, radius: float) -> None:
        self.w, self.radius = np.zeros(n), radius
        l1.project(self.w, radius, out=self.w)  # compiles

    def step(self, G: Vector, eta: float) -> None:
        self.w -= eta * G
        l1.project(self.w, self.radius, out=self.w)

    def toarray(self) -> Vector:
        return self.w


def _start(objective: Objective, radius: float, method: str) -> tuple[_Point, float]:
    """The point w = 0 and the operations of a step."""
    if method == "projection":
        return _Projected(objective.n_features, radius), (2 + PROJECTION) * objective.n_features
    return Entropic(objective.n_features, radius), ENTROPIC * objective.n_features


def sizes_of(method: str, schedule: str, eta0: float, *, n: int, n_iter: int, of_set: str = "ball") -> Vector:
    """Step sizes (n_iter,): eta0 / sqrt(t) of projections, or those of the exponentiated gradient, see `step_sizes`."""
    if method not in ("projection", "entropic"):
        raise ValueError(f"method must be projection or entropic, got {method!r}")
    sizes = step_sizes(schedule, eta0=eta0, n=n, n_iter=n_iter, of_set=of_set)
    if method == "entropic":
        return sizes
    if schedule != "1/sqrt(t)":
        raise ValueError(f"schedule must be 1/sqrt(t) for projections, got {schedule!r}")
    return eta0 / np.sqrt(np.arange(1, n_iter + 1))  # Paper: sec. 7


@_in_one_thread
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
    """Steps along the whole gradient, projected or multiplicative.

    radius: at least 0 and finite, the paper's z. eta0: first step size, above 0. n_iter: steps. method: "projection",
    w <- P(w - eta0 / sqrt(t) gradient), or "entropic", exponentiated gradient with the step sizes of
    `entropic.step_sizes` for this schedule. watch: called with the w of each record, outside of the seconds; it must
    not keep or change it. Raises ValueError for other input, and where steps overflow.

    A step takes 4 nnz + SLOPE m operations for the gradient and those of the step itself.

    Source: Duchi et al. (2008), sec. 7, eq. 2 and 13.
    """
    radius = as_finite(radius, "radius")
    sizes = sizes_of(method, schedule, eta0, n=objective.n_features, n_iter=n_iter)
    point, of_step = _start(objective, radius, method)
    of_gradient = 4 * objective.nnz + SLOPE[objective.loss] * objective.n_samples
    recorder, seconds = _Recorder(objective, radius=radius, watch=watch), 0.0
    for t in range(n_iter + 1):
        start = time.process_time()
        w = point.toarray()
        margins = np.asarray(objective.X @ w)
        slopes = objective.slopes(margins)
        gradient = np.asarray(objective.X.T @ slopes)
        pause = time.process_time()
        recorder.add_known(t, w, margins, slopes, gradient, seconds, t * (of_gradient + of_step))
        if t < n_iter:
            resumed = time.process_time()
            _move(point, gradient, sizes[t], t)
            seconds += (pause - start) + (time.process_time() - resumed)
    return recorder.trace(w)


def _move(point: _Point, gradient: Vector, eta: float, t: int) -> None:
    """A step; an overflow becomes an error that says what to change."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            point.step(gradient, eta)
    except ValueError:
        raise ValueError(DIVERGED.format(t + 1)) from None


class _LazyProjected:
    """w in the ball, where a step touches only the features of its samples."""

    def __init__(self, n: int, radius: float) -> None:
        self.point = Lazy(n, 1, "l1", radius, False)
        self.of_entry = LAZY_PROJECTION * math.log2(n + 1)

    def margins(self, rows: Rows) -> Vector:
        return self.point.margins(rows)[:, 0]

    def step(self, rows: Rows, slopes: Vector, eta: float) -> None:
        self.point.step(rows, -eta * slopes[:, None])

    def toarray(self) -> Vector:
        return self.point.last()[:, 0]


class _LazyEntropic:
    """The same for the exponentiated gradient."""

    def __init__(self, n: int, radius: float) -> None:
        self.point = SparseEntropic(n, radius)
        self.of_entry = float(LAZY_ENTROPIC)

    def margins(self, rows: Rows) -> Vector:
        sample = np.repeat(np.arange(len(rows.indptr) - 1), np.diff(rows.indptr))
        products = self.point.take(rows.indices) * rows.data
        return np.bincount(sample, products, minlength=len(rows.indptr) - 1).astype(np.float64)

    def step(self, rows: Rows, slopes: Vector, eta: float) -> None:
        self.point.step(rows.indices, np.repeat(slopes, np.diff(rows.indptr)) * rows.data, eta)

    def toarray(self) -> Vector:
        return self.point.toarray()


@_in_one_thread
def stochastic(
    objective: Objective,
    radius: float,
    *,
    eta0: float,
    n_iter: int,
    batch_size: int,
    rng: np.random.Generator,
    method: Method = "projection",
    schedule: str = "1/sqrt(t)",
    every: int = 1,
    lazy: bool = True,
    watch: Watch | None = None,
) -> Trace:
    """Steps along the gradient of `batch_size` samples, drawn without replacement in each step.

    The gradient is scaled to stand for that of all samples. Where X is sparse, a step touches only the features of its
    samples, unless lazy is False: then it touches all, which is less work where samples are many. every: steps between
    two records, which each take the time of a batch step; the last step is recorded too. rng: draws the samples,
    outside of the seconds. Other parameters and errors: as in `batch`.

    A step takes 4 k + SLOPE batch_size operations for the gradient of samples with k entries, and those of the step.

    Source: Duchi et al. (2008), sec. 7.
    """
    radius = as_finite(radius, "radius")
    sizes = sizes_of(method, schedule, eta0, n=objective.n_features, n_iter=n_iter)
    require_count(batch_size, "batch_size", objective.n_samples)
    require_count(every, "every")
    is_lazy = lazy and sparse.issparse(objective.X)
    advance, toarray = _stochastic_step(objective, radius, method, batch_size, is_lazy)
    recorder, seconds, flops = _Recorder(objective, radius=radius, watch=watch), 0.0, 0.0
    for t in range(n_iter + 1):
        if t % every == 0 or t == n_iter:
            recorder.add(t, toarray(), seconds, flops)
        if t < n_iter:
            rows = np.sort(rng.choice(objective.n_samples, batch_size, replace=False))
            start = time.process_time()
            flops += advance(rows, sizes[t], t)
            seconds += time.process_time() - start
    return recorder.trace(toarray())


def _stochastic_step(
    objective: Objective, radius: float, method: str, batch_size: int, is_lazy: bool
) -> tuple[Callable[[Any, float, int], float], Callable[[], Vector]]:
    """What takes a step with some samples and returns its operations, and what returns w."""
    # Choice: the samples of a step stand for all: unbiased, and step sizes mean the same for any batch_size.
    c = objective.c * objective.n_samples / batch_size
    of_slopes = SLOPE[objective.loss] * batch_size
    if not is_lazy:
        point, of_step = _start(objective, radius, method)

        def step_dense(rows: Any, eta: float, t: int) -> float:
            X = objective.X[rows]
            slopes = objective.slopes(X @ point.toarray(), rows, c)
            _move(point, np.asarray(X.T @ slopes), eta, t)
            return 4 * X.size + of_slopes + of_step

        return step_dense, point.toarray
    kind = _LazyProjected if method == "projection" else _LazyEntropic
    samples, row = csr(objective.X), csr(sparse.csr_matrix((1, 1))).take(np.zeros(1, np.int64))
    compiled = kind(1, radius)
    compiled.step(row, compiled.margins(row), 0.0)
    lazy = kind(objective.n_features, radius)

    def step_lazy(rows: Any, eta: float, t: int) -> float:
        X = samples.take(rows)
        slopes = objective.slopes(lazy.margins(X), rows, c)
        with np.errstate(over="ignore", invalid="ignore"):
            if not eta * np.abs(slopes).sum() * largest(X.entries()) < LONGEST_STEP:
                raise ValueError(DIVERGED.format(t + 1))
        lazy.step(X, slopes, eta)
        return len(X.data) * (4 + lazy.of_entry) + of_slopes

    return step_lazy, lazy.toarray


@_in_one_thread
def line_search(objective: Objective, radius: float, *, n_iter: int, eta0: float = 1.0) -> Trace:
    """Projected gradient with backtracking along the projection arc: w(s) = P(w - s gradient), s halved until it fits.

    A step fits where f(w(s)) <= f(w) - ARMIJO gradient . (w - w(s)). The first s tried is twice the last one that
    fitted, eta0 at first. radius, n_iter: as in `batch`. The trace ends earlier where w(s) = w, an exact optimum, or
    where rounding hides all further descent. Raises ValueError for other input.

    Source: Duchi et al. (2008), sec. 7; Bertsekas: On the Goldstein-Levitin-Polyak gradient projection method. IEEE
    Transactions on Automatic Control 21, 1976.
    """
    radius = as_finite(radius, "radius")
    s = 0.5 * float(sizes_of("projection", "1/sqrt(t)", eta0, n=objective.n_features, n_iter=n_iter)[0])
    n, m, nnz = objective.n_features, objective.n_samples, objective.nnz
    of_gradient = 2 * nnz + SLOPE[objective.loss] * m
    of_trial = (2 + PROJECTION + 3) * n + 2 * nnz + LOSS[objective.loss] * m
    recorder, seconds, flops = _Recorder(objective, radius=radius), 0.0, 0
    w, margins = l1.project(np.zeros(n), radius), np.zeros(m)  # compiles
    value = objective.value(margins)
    for t in range(n_iter + 1):
        start = time.process_time()
        slopes = objective.slopes(margins)
        gradient = np.asarray(objective.X.T @ slopes)
        pause = time.process_time()
        recorder.add_known(t, w, margins, slopes, gradient, seconds, flops)
        if t == n_iter:
            break
        resumed = time.process_time()
        s, trials, moved = min(2 * s, LONGEST), 0, None
        longest, size = float(np.abs(gradient).max()), float(np.abs(w).max())
        while moved is None and s * longest > SMALL * size:
            moved = _trial(objective, radius, w, gradient, value, s)
            trials += 1
            if moved is None:
                s *= 0.5
        if moved is None or np.array_equal(moved[0], w):
            break
        w, margins, value = moved
        flops += of_gradient + trials * of_trial
        seconds += (pause - start) + (time.process_time() - resumed)
    return recorder.trace(w)


def _trial(
    objective: Objective, radius: float, w: Vector, gradient: Vector, value: float, s: float
) -> tuple[Vector, Vector, float] | None:
    """w(s), its margins and its value, where that fits Armijo's condition."""
    with np.errstate(over="ignore", invalid="ignore"):
        moved = w - s * gradient
    if not np.isfinite(moved).all():
        return None
    l1.project(moved, radius, out=moved)
    margins = np.asarray(objective.X @ moved)
    with np.errstate(over="ignore"):
        reached = objective.value(margins)
    return (moved, margins, reached) if reached <= value - ARMIJO * float(gradient @ (w - moved)) else None


@_in_one_thread
def interior_point(objective: Objective, penalty: float, *, tol: float = 1e-8, n_iter: int = 200) -> Trace:
    """Newton's method on t (f(w) + penalty sum_i u_i) - sum_i log(u_i^2 - w_i^2), for growing t.

    penalty: above 0. tol: above 0, the duality gap, relative to the objective, at which it stops. n_iter: steps at
    most. With p = 1 / (u + w) and q = 1 / (u - w), the changes of u leave the Newton system and
        (t X^T H X + 4 p^2 q^2 / (p^2 + q^2)) dw = -g_w + (p^2 - q^2) / (p^2 + q^2) g_u
    remains, n equations, solved by Cholesky's method. H holds the curvatures of the losses, g_w = t gradient - p + q
    and g_u = t penalty - p - q. Raises ValueError for other input.

    A step takes 4 nnz + (2 LOSS + SLOPE + CURVATURE) m operations for gradient, curvatures, gap and margins of dw;
    sum_i nnz_i^2 + nnz for X^T H X with nnz_i stored entries in row i, half of what it would take without symmetry
    (for "squared" once and for all); n^3 / 3 + 2 n^2 for the solution; 20 n for the rest; and (LOSS + 2) m + 10 n for
    each trial of a length.

    Source: Koh, Kim, Boyd: An interior-point method for large-scale l1-regularized logistic regression. JMLR 8, 2007;
    Kim et al.: An interior-point method for large-scale l1-regularized least squares. IEEE JSTSP 1, 2007.
    """
    penalty, tol = as_positive(penalty, "penalty"), as_positive(tol, "tol")
    require_count(n_iter, "n_iter")
    n, m = objective.n_features, objective.n_samples
    w, u, margins, t, length = np.zeros(n), np.ones(n), np.zeros(m), 1 / penalty, 0.0
    of_gram, of_step, of_trial = _flops_of_newton(objective)
    recorder, gram, flops = _Recorder(objective, penalty=penalty), None, 0.0
    began = time.process_time()
    for step in range(n_iter + 1):
        seconds = time.process_time() - began
        slopes = objective.slopes(margins)
        gradient = np.asarray(objective.X.T @ slopes)
        # The method itself needs the gap, so the record is part of its seconds.
        gap, value = recorder.add_known(step, w, margins, slopes, gradient, seconds, flops)
        if step == n_iter or gap <= tol * value:
            break
        if length >= LONG:
            t = max(MU * min(2 * n / gap, t), t)
        if gram is None or objective.loss != "squared":
            gram = _gram(objective, margins)
            flops += of_gram
        dw, du, slope = _newton_direction(gram, gradient, w, u, t, penalty)
        moved = np.asarray(objective.X @ dw)
        length, trials = _step_length(objective, t, penalty, (w, u, margins), (dw, du, moved), slope)
        flops += of_step + trials * of_trial
        if not length:
            break
        w, u, margins = w + length * dw, u + length * du, margins + length * moved
    return recorder.trace(w)


def _flops_of_newton(objective: Objective) -> tuple[float, float, float]:
    """Operations of X^T H X, of the rest of an interior-point step, and of a trial of its length."""
    n, m = objective.n_features, objective.n_samples
    entries = np.diff(objective.X.indptr) if sparse.issparse(objective.X) else np.full(m, n)
    of_samples = (2 * LOSS[objective.loss] + SLOPE[objective.loss] + CURVATURE[objective.loss]) * m
    of_step = 4 * objective.nnz + of_samples + n**3 / 3 + 2 * n**2 + 20 * n
    of_gram = float(entries.astype(float) @ entries) + objective.nnz
    return of_gram, of_step, (LOSS[objective.loss] + 2) * m + 10 * n


def _gram(objective: Objective, margins: Vector) -> Vector:
    """X^T H X."""
    root = np.sqrt(objective.curvatures(margins))[:, None]
    scaled = objective.X.multiply(root) if sparse.issparse(objective.X) else objective.X * root
    product: Any = scaled.T @ scaled
    return np.asarray(product.toarray() if sparse.issparse(product) else product)


def _newton_direction(
    gram: Vector, gradient: Vector, w: Vector, u: Vector, t: float, penalty: float
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
    """The first of 1, 1/2, 1/4, ... that stays within |w| < u and brings enough; 0 if none does. And how many tried."""

    def barrier(length: float) -> float:
        w, u, margins = (here + length * change for here, change in zip(at, along, strict=True))
        if not (np.abs(w) < u).all():
            return np.inf
        return t * (objective.value(margins) + penalty * float(u.sum())) - float(np.log((u + w) * (u - w)).sum())

    start = barrier(0.0)
    length, trials = 1.0, 1
    while length > SMALL:
        if barrier(length) <= start + DECREASE * length * slope:
            return length, trials
        length, trials = 0.5 * length, trials + 1
    return 0.0, trials


@_in_one_thread
def coordinate_descent(
    objective: Objective, penalty: float, *, n_iter: Sequence[int], solver: str | None = None, seed: int = 0
) -> Trace:
    """scikit-learn's solvers of f(w) + penalty ||w||_1, one record for each of several numbers of iterations.

    penalty: above 0. n_iter: these numbers, increasing from 1 on. solver: "lasso" (for "squared"), "liblinear" or
    "saga" (for "logistic"); by default the first that fits. seed: of liblinear's and saga's orders. Raises ValueError
    for other input.

    - "lasso": cyclic coordinate descent; an iteration is a pass over the coordinates, 4 nnz operations, fewer
      where it leaves out coordinates that are known to stay 0.
    - "liblinear": Newton steps by coordinate descent. The passes within a step are not told: flops are NaN. It copies X
      at each fit: what a fit with a solution of 0 takes is taken off its seconds.
    - "saga": a stochastic gradient method, for comparison; an iteration is a pass over the samples, 4 nnz + 6 m n
      operations, as each step moves the whole of w.

    Each record is a run of its own, from 0 and with the seconds of that run alone, so that what scikit-learn does to
    check its input counts once. As clocks are noisy, it counts no more than a run with more iterations, and NaN where
    less than nothing is left.

    Source: Duchi et al. (2008), sec. 7; Friedman et al.: Pathwise coordinate optimization. Annals of Applied Statistics
    1, 2007.
    """
    penalty = as_positive(penalty, "penalty")
    steps = np.asarray(n_iter)
    if steps.ndim != 1 or not steps.size or steps.dtype.kind not in "iu" or (np.diff(steps, prepend=0) < 1).any():
        raise ValueError(f"n_iter must list whole numbers that increase from 1 on, got {n_iter!r}")
    fitting = {"squared": ("lasso",), "logistic": ("liblinear", "saga")}[objective.loss]
    if objective.loss == "logistic" and len(np.unique(objective.y)) < 2:
        raise ValueError(f"y must hold both -1 and +1, got only {objective.y[0]:g}")
    solver = fitting[0] if solver is None else solver
    if solver not in fitting:
        raise ValueError(f"solver must be one of {', '.join(fitting)} for {objective.loss}, got {solver!r}")
    is_lasso = solver == "lasso"
    model = _lasso(objective, penalty) if is_lasso else _logistic(objective, penalty, solver, seed)
    X = _columns(objective.X) if is_lasso else objective.X
    of_pass = {"lasso": 4 * objective.nnz, "saga": 4 * objective.nnz + 6 * objective.n_samples * objective.n_features}
    recorder, w = _Recorder(objective, penalty=penalty), np.zeros(objective.n_features)
    recorder.add(0, w, 0.0, 0.0)
    _seconds_of_fit(model, X, objective.y, 1)  # imports
    copying = _seconds_of_copying(objective, X) if solver == "liblinear" else 0.0
    for step in steps.tolist():
        seconds = _seconds_of_fit(model, X, objective.y, step) - copying
        w = np.array(model.coef_, dtype=np.float64).ravel()
        recorder.add(step, w, seconds, step * of_pass.get(solver, np.nan))
    trace = recorder.trace(w)
    least = np.minimum.accumulate(trace.seconds[::-1])[::-1]
    return trace._replace(seconds=np.where((least > 0) | (trace.step == 0), least.clip(0), np.nan))


def _seconds_of_fit(model: Any, X: Any, y: Vector, n_iter: int) -> float:
    model.max_iter = n_iter
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that so few iterations are not enough
        model.fit(X, y)
    return time.process_time() - start


def _seconds_of_copying(objective: Objective, X: Any) -> float:
    """What liblinear spends before it begins: the least of some fits so penalised that there is nothing to do."""
    model = _logistic(objective, 1 / SMALL, "liblinear", 0)
    return min(_seconds_of_fit(model, X, objective.y, 1) for _ in range(3))


def _columns(X: Any) -> Any:
    """X stored by column."""
    return sparse.csc_matrix(X) if sparse.issparse(X) else np.asfortranarray(X)


def _lasso(objective: Objective, penalty: float) -> Any:
    """scikit-learn's Lasso divides the squares by the number of samples."""
    from sklearn.linear_model import Lasso

    alpha = penalty / (objective.c * objective.n_samples)
    return Lasso(alpha=alpha, fit_intercept=False, tol=1e-15, copy_X=False)


def _logistic(objective: Objective, penalty: float, solver: str, seed: int) -> Any:
    """scikit-learn's LogisticRegression multiplies the losses by C and the norm by 1."""
    import sklearn
    from sklearn.linear_model import LogisticRegression

    # How to ask for the l1 norm changed with version 1.8.
    old = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8)
    norm: dict[str, Any] = {"penalty": "l1"} if old else {"l1_ratio": 1.0}
    return LogisticRegression(
        C=objective.c / penalty,
        solver=solver,
        fit_intercept=False,
        tol=1e-15,
        random_state=seed,
        **norm,
    )

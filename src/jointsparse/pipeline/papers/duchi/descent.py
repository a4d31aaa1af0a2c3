"""One task with an l1 norm, least squares or logistic regression, by the methods that Duchi et al. (2008) compare.

    minimise f(w)  subject to ||w||_1 <= radius,   or   minimise f(w) + penalty ||w||_1,
    f(w) = 1 / n_samples sum_i loss(x_i . w, y_i).

`descend` and `line_search` solve the first problem, `interior_point` and `coordinate_descent` the second. With radius =
||w*||_1 of a solution w* of the second problem, both have the same solutions. All methods begin at w = 0. Each is a
generator of states, see `harness`.

Operations are counted as follows, for n features and m samples. Each of +, -, `*`, /, exp, log, max and |.| is one.

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
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import linalg, sparse

from jointsparse.checks import as_positive, require
from jointsparse.learning.lazy import LARGEST_STEP_SUM, Lazy, Matrix, Rows, csr
from jointsparse.learning.losses import logistic, squared
from jointsparse.learning.problem import magnitude
from jointsparse.norms import l1
from jointsparse.pipeline.flag import Flag, write_cell
from jointsparse.pipeline.papers.duchi.entropic import Entropic, Set, SparseEntropic, shrinking, step_sizes
from jointsparse.pipeline.papers.harness import State
from jointsparse.pipeline.sweep import at_edge

Vector = NDArray[np.float64]
RowNumbers = NDArray[np.int64]
Method = Literal["projection", "entropic"]

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
SHORTEST_STEP = 2.0**-60  # relative to w; rounding hides shorter steps

# Paper (Koh et al. 2007, sec. 3.2): t is multiplied by T_GROWTH as soon as steps are longer than LONG_STEP.
T_GROWTH, LONG_STEP = 2.0, 0.5
DECREASE = 0.01  # of the barrier function, as a fraction of what the slope promises


# ---------------------------------------------------------------------------------------------------------------------
# The problems and their certificates
# ---------------------------------------------------------------------------------------------------------------------


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
    "squared", 1/2 (y - f)^2, or "logistic", log(1 + exp(-y f)).
    """

    def __init__(self, X: Any, y: Vector, *, loss: str) -> None:
        require(loss in LOSSES, f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
        as_matrix: Any = sparse.csr_matrix if sparse.issparse(X) else np.asarray
        self.X, self.y, self.loss = as_matrix(X, dtype=np.float64), np.asarray(y, dtype=np.float64), loss
        self.n_samples, self.n_features = self.X.shape
        # Choice: the paper does not say whether losses are added up or averaged. The mean makes step sizes independent
        # of the number of samples.
        self.weights = np.full((self.n_samples, 1), 1 / self.n_samples)

    def value(self, margins: Vector) -> float:
        """f, from the margins X w."""
        return float(LOSSES[self.loss].value(margins[:, None], self.y[:, None], self.weights)[0])

    def slopes(self, margins: Vector, rows: RowNumbers | None = None) -> Vector:
        """Derivatives of the losses at the margins of `rows`, weighted so that X^T slopes estimates the gradient."""
        # Choice: the samples of a step stand for all. Step sizes then mean the same for any number of samples.
        y, weights = self.y, self.weights
        if rows is not None:
            y, weights = y[rows], weights[rows] * self.n_samples / len(rows)
        return np.asarray(LOSSES[self.loss].subgradient(margins[:, None], y[:, None], weights)[:, 0])

    def view(self, w: Vector, rows: RowNumbers | None = None, margins: Vector | None = None) -> View:
        """Derivatives at w, of all samples or of some. margins: X w, if known."""
        X = self.X if rows is None else self.X[rows]
        margins = np.asarray(X @ w) if margins is None else margins
        slopes = self.slopes(margins, rows)
        return View(w, margins, slopes, np.asarray(X.T @ slopes), X.size)

    def dual_value(self, dual: Vector) -> float:
        """See `losses`: f(w) >= dual_value(dual) - dual . X w for all w."""
        return float(LOSSES[self.loss].dual_value(dual[:, None], self.y[:, None], self.weights)[0])

    def certify_in_ball(self, view: View, radius: float) -> tuple[float, float]:
        """f at w, and a lower bound of its optimum in the ball: dual_value - radius max_i |gradient_i|.

        Source: Fenchel's duality; see docs/training.md.
        """
        return self.value(view.margins), self.dual_value(-view.slopes) - radius * float(np.abs(view.gradient).max())

    def certify_penalised(self, view: View, penalty: float) -> tuple[float, float]:
        """f(w) + penalty ||w||_1, and a lower bound of its optimum.

        The bound is the dual value of the slopes, scaled down until no entry of the gradient exceeds the penalty.
        """
        size = float(np.abs(view.gradient).max())
        dual = -view.slopes * min(1.0, penalty / size) if size > 0 else -view.slopes
        return self.value(view.margins) + penalty * float(np.abs(view.w).sum()), self.dual_value(dual)


def looking(
    objective: Any, certify: Callable[[Any], tuple[float, float]], **of_weights: Callable[[Matrix], float]
) -> Callable[[State], dict[str, float]]:
    """Return a function from a state to the columns that `harness.record` tabulates: objective, bound, non_zero, more.

    objective: has a `view`, which begins with the weights. certify: returns the objective at a view, and a lower bound
    of the optimum. of_weights: functions of the weights, by column. non_zero is the fraction of weights that are not 0.
    """

    def look(state: State) -> dict[str, float]:
        view = state.seen or objective.view(state.weights())
        columns = dict(zip(("objective", "bound"), certify(view), strict=True))
        columns["non_zero"] = np.count_nonzero(view[0]) / view[0].size
        return columns | {name: function(view[0]) for name, function in of_weights.items()}

    return look


# ---------------------------------------------------------------------------------------------------------------------
# Steps along the gradient
# ---------------------------------------------------------------------------------------------------------------------


class Diverged(ValueError):
    """A step that overflows."""


def take_step(move: Callable[..., None], t: int, *arguments: Any) -> None:
    """Take step t by calling `move`. Raises Diverged."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            move(*arguments)
    except ValueError:
        raise Diverged(f"descent diverged in step {t}: choose a smaller eta0, or scale the features") from None


class Projected:
    """W <- project(W - eta G), from a W inside the set."""

    def __init__(self, W: Matrix, radius: float, project: Callable[..., Any]) -> None:
        self.W, self.radius, self.project = W, radius, project

    def step(self, G: Matrix, eta: float) -> None:
        self.W -= eta * G
        self.project(self.W, self.radius, out=self.W)

    def toarray(self) -> Matrix:
        return self.W


class LazyProjected(Lazy):
    """w in the ball, projected in steps that touch only the features of their samples."""

    def __init__(self, n: int, radius: float) -> None:
        super().__init__(n, 1, "l1", radius)
        self.entry_flops = LAZY_PROJECTION_FLOPS * math.log2(n + 1)

    def move(self, X: Rows, slopes: Vector, eta: float) -> None:
        require(eta * np.abs(slopes).sum() * magnitude(X.entries()) < LARGEST_STEP_SUM, "the step overflows")
        self.step(X, -eta * slopes[:, None])

    def toarray(self) -> Vector:
        return self.last().ravel()


class LazyEntropic(SparseEntropic):
    """w in the ball, moved by steps of the exponentiated gradient that touch only the features of their samples."""

    entry_flops = LAZY_ENTROPIC_FLOPS

    def margins(self, X: Rows) -> Vector:
        sample = np.repeat(np.arange(len(X.indptr) - 1), np.diff(X.indptr))
        return np.bincount(sample, self.take(X.indices) * X.data, minlength=len(X.indptr) - 1).astype(np.float64)

    def move(self, X: Rows, slopes: Vector, eta: float) -> None:
        self.step(X.indices, np.repeat(slopes, np.diff(X.indptr)) * X.data, eta)


def dense_steps(
    objective: Any,
    moving: Projected | Entropic,
    sizes: Vector,
    samples: Sequence[RowNumbers] | None,
    flops: Callable[[Any], float] | None = None,
) -> Iterator[State]:
    """Move all weights along the gradient of all samples, or of those of each step.

    Parameters
    ----------
    objective : object with a `view` that has a gradient
    moving : Projected or Entropic
        The weights.
    sizes : array (n_iter,)
        Step sizes.
    samples : sequence of int arrays, or None
        Numbers of the samples of each step. None for all.
    flops : callable, optional
        Returns the operations of a step along a view. They are not counted by default.
    """
    spent = 0.0 if flops else np.nan
    for t, eta in enumerate(sizes):
        seen = objective.view(moving.toarray()) if samples is None else None
        yield State(t, moving.toarray, spent, seen)
        view: Any = objective.view(moving.toarray(), samples[t]) if samples else seen
        take_step(moving.step, t + 1, view.gradient, eta)
        spent += flops(view) if flops else 0.0
    yield State(len(sizes), moving.toarray, spent)


def lazy_steps(
    objective: Objective, point: LazyProjected | LazyEntropic, sizes: Vector, samples: Sequence[RowNumbers]
) -> Iterator[State]:
    """Move the weights of the features of the samples of each step. X is sparse.

    Parameters
    ----------
    objective : Objective
    point : LazyProjected or LazyEntropic
        The weights.
    sizes : array (n_iter,)
        Step sizes.
    samples : sequence of int arrays
        Numbers of the samples of each step.
    """
    rows, spent = csr(objective.X), 0.0
    for t, eta in enumerate(sizes):
        yield State(t, point.toarray, spent)
        X = rows.take(samples[t])
        slopes = objective.slopes(point.margins(X).ravel(), samples[t])
        take_step(point.move, t + 1, X, slopes, eta)
        spent += len(X.data) * (4 + point.entry_flops) + SLOPE_FLOPS[objective.loss] * len(slopes)
    yield State(len(sizes), point.toarray, spent)


def descend(
    objective: Objective,
    radius: float,
    *,
    eta0: float,
    n_iter: int,
    method: Method = "projection",
    schedule: str = "1/sqrt(t)",
    samples: Sequence[RowNumbers] | None = None,
    lazy: bool = False,
) -> Iterator[State]:
    """Minimise f(w) subject to ||w||_1 <= radius by steps along the gradient of all samples, or of a few.

    The gradient of a few samples is scaled to estimate that of all. For samples with k entries it takes
    4 k + SLOPE_FLOPS batch_size operations, and a step takes those of the method besides.

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
        Schedule of the step sizes, see `entropic.step_sizes`.
    samples : sequence of int arrays, optional
        Numbers of the samples of each step, see `drawn`. All samples by default.
    lazy : bool
        Let a step touch only the features of its samples, if X is sparse. Dense steps are faster for many samples.

    Raises
    ------
    Diverged
        A step overflows.
    ValueError
        Input out of range.

    References
    ----------
    Duchi et al. (2008), sec. 7, eq. 2 and 13.
    """
    n, of_slope = objective.n_features, SLOPE_FLOPS[objective.loss]
    sizes = sizes_of(method, schedule, eta0, n=n, n_iter=n_iter)
    if lazy and samples and sparse.issparse(objective.X):
        kind = LazyEntropic if method == "entropic" else LazyProjected
        return lazy_steps(objective, kind(n, radius), sizes, samples)
    moving = Entropic(n, radius) if method == "entropic" else Projected(np.zeros(n), radius, l1.project)
    of_step = (ENTROPIC_FLOPS if method == "entropic" else 2 + PROJECTION_FLOPS) * n
    return dense_steps(
        objective, moving, sizes, samples, lambda view: 4 * view.n_entries + of_slope * len(view.slopes) + of_step
    )


def drawn(n_iter: int, n_samples: int, batch_size: int, rng: np.random.Generator) -> list[RowNumbers]:
    """Draw the numbers of the samples of each step, without replacement.

    Parameters
    ----------
    n_iter : int
        Steps.
    n_samples : int
        Samples to draw from.
    batch_size : int
        Samples of a step.
    rng : numpy.random.Generator
    """
    return [np.sort(rng.choice(n_samples, batch_size, replace=False)) for _ in range(n_iter)]


# ---------------------------------------------------------------------------------------------------------------------
# Step sizes
# ---------------------------------------------------------------------------------------------------------------------


def sizes_of(method: Method, schedule: str, eta0: float, *, n: int, n_iter: int, of_set: Set = "ball") -> Vector:
    """Step sizes (n_iter,) of projections, eta0 times the factors of the schedule, or of the exponentiated gradient.

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
    """
    return (
        step_sizes(schedule, eta0=eta0, n=n, n_iter=n_iter, of_set=of_set)
        if method == "entropic"
        else as_positive(eta0, "eta0") * shrinking(schedule, n_iter)
    )


def best_of(
    learn: Callable[[str, float], pd.DataFrame], schedules: Sequence[str], eta0: Sequence[float], by: str = "objective"
) -> pd.DataFrame:
    """Try each schedule with each eta0, and return the records with the smallest last number in the column `by`.

    Parameters
    ----------
    learn : callable
        Returns the records of a schedule and an eta0. Those that diverge are left out.
    schedules : sequence of str
        To try.
    eta0 : sequence of float
        To try with each schedule.
    by : str
        Column to choose by.

    Returns
    -------
    DataFrame
        With more columns:
        - schedule, eta0: the best ones.
        - lowest: the smallest `by` that any schedule and eta0 has reached by then.
        - warning: an eta0 at the edge of its grid, or an objective that is no lower at the end.

    Raises
    ------
    ValueError
        All diverge.
    """
    tables = []
    for schedule, eta in product(schedules, eta0):
        with suppress(Diverged):
            tables.append(learn(schedule, eta).assign(schedule=schedule, eta0=eta))
    require(tables, f"steps diverged with each eta0 of {list(eta0)}: choose smaller ones, or scale the features")
    best = min(tables, key=lambda table: table[by].iloc[-1])
    lowest = np.minimum.accumulate(np.min([table[by] for table in tables], axis=0))
    flags = [at_edge("eta0", best["eta0"].iloc[0], eta0)]
    if by == "objective" and not best[by].iloc[-1] < best[by].iloc[0]:
        flags.append(Flag("the last objective is no lower than the first"))
    return best.assign(lowest=lowest, warning=write_cell(flags))


# ---------------------------------------------------------------------------------------------------------------------
# Line search
# ---------------------------------------------------------------------------------------------------------------------


def line_search(objective: Objective, radius: float, *, n_iter: int) -> Iterator[State]:
    """Minimise f(w) subject to ||w||_1 <= radius by projected gradient with backtracking along the projection arc.

    A step goes to w(s) = P(w - s gradient) with f(w(s)) <= f(w) - ARMIJO gradient . (w - w(s)). The first s tried is 1,
    later twice the last accepted one, and s is halved until a step is accepted. The states end early at an exact
    optimum, w(s) = w, or as soon as rounding hides all further descent.

    Parameters
    ----------
    objective : Objective
    radius : float, at least 0 and finite
    n_iter : int, at least 1
        Steps.

    References
    ----------
    Duchi et al. (2008), sec. 7; Bertsekas: On the Goldstein-Levitin-Polyak gradient projection method. IEEE
    Transactions on Automatic Control 21, 1976.
    """
    n, m, nnz = objective.n_features, objective.n_samples, objective.X.size
    gradient_flops = 2 * nnz + SLOPE_FLOPS[objective.loss] * m
    trial_flops = (2 + PROJECTION_FLOPS + 3) * n + 2 * nnz + LOSS_FLOPS[objective.loss] * m
    w, margins, s, flops = np.zeros(n), np.zeros(m), 0.5, 0
    for t in range(n_iter + 1):
        view = objective.view(w, margins=margins)
        yield State(t, w.copy, flops, view)
        found = _backtrack(objective, radius, view, 2 * s)
        if found is None:
            return
        w, margins, s, trials = found
        flops += gradient_flops + trials * trial_flops


def _backtrack(objective: Objective, radius: float, view: View, s: float) -> tuple[Vector, Vector, float, int] | None:
    """w(s), its margins, s and the number of trials, for the first of s, s/2, ... that is accepted and moves w."""
    longest, size = (float(np.abs(numbers).max()) for numbers in (view.gradient, view.w))
    value, trials = objective.value(view.margins), 0
    while s * longest > SHORTEST_STEP * size:
        trials += 1
        moved = l1.project(view.w - s * view.gradient, radius)
        margins = np.asarray(objective.X @ moved)
        if objective.value(margins) <= value - ARMIJO * float(view.gradient @ (view.w - moved)):
            return None if np.array_equal(moved, view.w) else (moved, margins, s, trials)
        s *= 0.5
    return None


# ---------------------------------------------------------------------------------------------------------------------
# Methods of the penalised problem, for arrays X
# ---------------------------------------------------------------------------------------------------------------------


def interior_point(objective: Objective, penalty: float, *, tol: float = 1e-8, n_iter: int = 200) -> Iterator[State]:
    """Minimise f(w) + penalty ||w||_1 by Newton's method on a barrier function.

    The function is t (f(w) + penalty sum_i u_i) - sum_i log(u_i^2 - w_i^2), for growing t. With p = 1 / (u + w) and
    q = 1 / (u - w), the changes of u are eliminated from the Newton system. There remain n equations,

        (t X^T H X + 4 p^2 q^2 / (p^2 + q^2)) dw = -g_w + (p^2 - q^2) / (p^2 + q^2) g_u,

    solved by Cholesky's method. H holds the curvatures of the losses, g_w = t gradient - p + q and
    g_u = t penalty - p - q.

    Operations of a step:

    - (2 LOSS_FLOPS + SLOPE_FLOPS + CURVATURE_FLOPS) m + 4 m n for gradient, curvatures, gap and margins of dw;
    - m n^2 + m n for X^T H X, half of the count without symmetry (for "squared" once and for all);
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

    References
    ----------
    Koh, Kim, Boyd: An interior-point method for large-scale l1-regularized logistic regression. JMLR 8, 2007; Kim et
    al.: An interior-point method for large-scale l1-regularized least squares. IEEE JSTSP 1, 2007.
    """
    n, m, loss = objective.n_features, objective.n_samples, objective.loss
    of_losses = (2 * LOSS_FLOPS[loss] + SLOPE_FLOPS[loss] + CURVATURE_FLOPS[loss]) * m
    step_flops = 4 * m * n + of_losses + n**3 / 3 + 2 * n**2 + 20 * n
    w, u, margins, t, length = np.zeros(n), np.ones(n), np.zeros(m), 1 / penalty, 0.0
    gram, bound, flops = None, 0.0, 0.0
    for step in range(n_iter + 1):
        view = objective.view(w, margins=margins)
        value, of_view = objective.certify_penalised(view, penalty)
        bound = max(bound, of_view)
        yield State(step, w.copy, flops, view)
        if value - bound <= tol * value:
            return
        if length >= LONG_STEP:
            t = max(T_GROWTH * min(2 * n / (value - bound), t), t)
        if gram is None or loss != "squared":
            gram = _gram(objective, view.slopes)
            flops += m * n**2 + m * n
        dw, du, slope = _newton_direction(gram, view.gradient, w, u, t, penalty)
        moved = np.asarray(objective.X @ dw)
        length, trials = _step_length(objective, t, penalty, (w, u, margins), (dw, du, moved), slope)
        flops += step_flops + trials * ((LOSS_FLOPS[loss] + 2) * m + 10 * n)
        if not length:
            return
        w, u, margins = w + length * dw, u + length * du, margins + length * moved


def _gram(objective: Objective, slopes: Vector) -> Matrix:
    """X^T H X. The curvatures H are second derivatives of the losses, weighted."""
    share, c = np.abs(slopes), 1 / objective.n_samples
    curvatures = share * (1 - share / c) if objective.loss == "logistic" else np.full_like(share, c)
    scaled = objective.X * np.sqrt(curvatures)[:, None]
    return np.asarray(scaled.T @ scaled)


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

    start, length, trials = barrier(0.0), 1.0, 1
    while not barrier(length) <= start + DECREASE * length * slope:
        length, trials = 0.5 * length, trials + 1
        if length <= SHORTEST_STEP:
            return 0.0, trials
    return length, trials


def coordinate_descent(objective: Objective, penalty: float, *, n_iter: Sequence[int]) -> Iterator[State]:
    """Minimise f(w) + penalty ||w||_1 by scikit-learn's solvers, with one state for each number of iterations.

    - "squared": `Lasso`, cyclic coordinate descent. An iteration is a pass over the coordinates, 4 nnz operations, or
      fewer if it leaves out coordinates that are known to stay 0.
    - "logistic": liblinear, Newton steps by coordinate descent. It does not report its passes within a step, so flops
      are NaN. It copies X at each fit.

    Each state is a run of its own from w = 0. penalty: above 0. n_iter: numbers of iterations, increasing from 1 on.

    References
    ----------
    Duchi et al. (2008), sec. 7; Friedman et al.: Pathwise coordinate optimization. Annals of Applied Statistics 1,
    2007.
    """
    import sklearn
    from sklearn.linear_model import Lasso, LogisticRegression

    is_lasso, exact = objective.loss == "squared", {"fit_intercept": False, "tol": 1e-15}
    # Lasso divides the squares by the number of samples. LogisticRegression multiplies the losses by C, the norm by 1.
    model: Any = Lasso(alpha=penalty, copy_X=False, **exact)
    if not is_lasso:
        # Version 1.8 changed how to ask for the l1 norm.
        old = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8)
        norm: dict[str, Any] = {"penalty": "l1"} if old else {"l1_ratio": 1.0}
        model = LogisticRegression(
            C=1 / objective.n_samples / penalty, solver="liblinear", random_state=0, **exact, **norm
        )
    X = np.asfortranarray(objective.X) if is_lasso else objective.X
    yield State(0, lambda: np.zeros(objective.n_features), 0.0)
    for step in n_iter:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the number of iterations is too small to converge
            model.set_params(max_iter=step).fit(X, objective.y)
        yield State(step, lambda: np.ravel(model.coef_), step * 4.0 * X.size if is_lasso else np.nan)

"""Exponentiated gradient against projections on digits, told apart by their similarity to a support set of images.

    minimise f(W) = 1/m sum_x log(1 + sum_{r != y} exp(k(x, r) - k(x, y)))
    subject to W_ij >= 0 and sum_i W_ij <= radius for each class j,
    k(x, j) = sum_i W_ij sigma_ij K(x, x_i),   K(x, x_i) = exp(-||x - x_i||^2 / width),

where y is x's class and sigma_ij is 1 where support image i is of class j, else -1.

Source: Duchi, Shalev-Shwartz, Singer, Chandra (ICML 2008), sec. 7, eq. 12 and Fig. 7. `exponentiated` is its twin for
text, Fig. 6.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import Floats, as_positive, one_thread, real_array, require_count, require_finite, select
from jointsparse.datasets.samples import Samples
from jointsparse.features import similarities
from jointsparse.learning import tasks
from jointsparse.learning.entropic import SCHEDULES, Entropic
from jointsparse.norms import l1
from jointsparse.papers.duchi.descent import Trace, sizes_of
from jointsparse.papers.duchi.exponentiated import (
    COLUMNS,
    FORMS,
    OF_PROJECTIONS,
    Attempt,
    Method,
    Watched,
    batch_size,
    compare,
)

Matrix = NDArray[np.float64]

SERVES = "samples"
TABLES = {"digits": "tables", "digits_seconds": "timings"}
WARNS = ("digits",)

GROWTH = 1.1  # of the step of `solve`, from one iteration to the next


class Objective:
    """f(W), see the head of this file.

    K: similarities (n_samples, n_support), float32 or float64, which is the precision of the products with it. y:
    (n_samples,) and of_support: (n_support,), class numbers from 0 to n_classes - 1. W is (n_support, n_classes).
    """

    def __init__(self, K: ArrayLike, y: ArrayLike, of_support: ArrayLike, n_classes: int) -> None:
        self.K = real_array(K, "K")
        require_finite(self.K, "K")
        self.y, support = np.asarray(y), np.asarray(of_support)
        if self.K.ndim != 2 or self.K.shape != (*self.y.shape, *support.shape) or not self.K.size:
            raise ValueError(f"K must have a row for each y and a column for each support image, got {self.K.shape}")
        for labels in (self.y, support):
            if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= n_classes:
                raise ValueError(
                    f"classes must be whole numbers in 0..{n_classes - 1}, got {np.unique(labels)[[0, -1]]}"
                )
        self.signs = np.where(support[:, None] == np.arange(n_classes), 1.0, -1.0)

    def scores(self, W: Matrix, K: Floats | None = None) -> Matrix:
        """k(x, j), (n_samples, n_classes), of all samples or of those that are this similar."""
        return ((self.K if K is None else K) @ (self.signs * W).astype(self.K.dtype)).astype(np.float64)

    def value(self, W: Matrix) -> float:
        """f(W)."""
        return _softmax(self.scores(W), self.y)[0]

    def value_and_gradient(self, W: Matrix, rows: Any = slice(None)) -> tuple[float, Matrix]:
        """The mean loss of some samples, and its gradient."""
        K, y = self.K[rows], self.y[rows]
        value, shares = _softmax(self.scores(W, K), y)
        shares[np.arange(len(y)), y] -= 1
        slopes = (shares / len(y)).astype(self.K.dtype)
        return value, self.signs * (K.T @ slopes)

    def error(self, W: Matrix) -> float:
        """The fraction of samples whose largest score is not that of their class; classes that tie share a sample."""
        scores = self.scores(W)
        best = scores == scores.max(axis=1, keepdims=True)
        return float(1 - (best[np.arange(len(self.y)), self.y] / best.sum(axis=1)).mean())


def _softmax(scores: Matrix, y: NDArray[np.int64]) -> tuple[float, Matrix]:
    """The mean loss, and what part of exp(scores) each class has."""
    scores -= scores.max(axis=1, keepdims=True)
    shares = np.exp(scores)
    totals = shares.sum(axis=1, keepdims=True)
    value = float((np.log(totals[:, 0]) - scores[np.arange(len(y)), y]).mean())
    return value, shares / totals


def lower_bound(value: float, gradient: Matrix, W: Matrix, radius: float) -> float:
    """A number that f is nowhere below on the set, from value and gradient at any W, inside or not.

    The smallest value of the tangent: f(W) + sum_ij G_ij (S_ij - W_ij) over all S of the set. It is as exact as the
    gradient: to about 1e-6 where K is float32.

    Source: Frank, Wolfe: An algorithm for quadratic programming. Naval Research Logistics Quarterly 3, 1956.
    """
    return value - float((gradient * W).sum()) + radius * float(gradient.min(axis=0).clip(max=0).sum())


class _Projected:
    """W <- project(W - eta G)."""

    def __init__(self, W: Matrix, radius: float) -> None:
        self.W, self.radius = W, radius
        l1.project_nonnegative(self.W, radius, out=self.W)  # compiles

    def step(self, G: Matrix, eta: float) -> None:
        self.W -= eta * G
        l1.project_nonnegative(self.W, self.radius, out=self.W)

    def toarray(self) -> Matrix:
        return self.W


def descend(
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
    watch: Callable[[Matrix], None] | None = None,
) -> Trace:
    """Steps along the gradient of `batch_size` samples, drawn without replacement in each step; of all: the true one.

    As `descent.stochastic`, with flops NaN; it begins with all W_ij = radius / (n_support + 1).
    """
    n, n_classes = objective.signs.shape
    m, whole = len(objective.y), batch_size == len(objective.y)
    sizes = sizes_of(method, schedule, eta0, n=n, n_iter=n_iter, of_set="nonnegative")
    require_count(batch_size, "batch_size", m)
    require_count(every, "every")
    # Choice: both methods begin where the exponentiated gradient has to. That is far better than W = 0 already.
    point: Any = Entropic(n, radius, of_set="nonnegative", n_columns=n_classes)
    if method == "projection":
        point = _Projected(point.toarray(), radius)
    records, seconds, bound = [], 0.0, 0.0
    with one_thread():
        for t in range(n_iter + 1):
            rows = slice(None) if whole else np.sort(rng.choice(m, batch_size, replace=False))
            start = time.process_time()
            W = point.toarray()
            value, gradient = objective.value_and_gradient(W, rows)
            pause = time.process_time()
            if t % every == 0 or t == n_iter:
                known = (value, gradient) if whole else objective.value_and_gradient(W)
                bound = max(bound, lower_bound(*known, W, radius))
                records.append((t, known[0], bound, seconds, np.nan))
                if watch:
                    watch(W)
            if t < n_iter:
                resumed = time.process_time()
                point.step(gradient, sizes[t])
                seconds += (pause - start) + (time.process_time() - resumed)
    return Trace(point.toarray(), *(np.array(column) for column in zip(*records, strict=True)))


def solve(objective: Objective, radius: float, *, n_iter: int) -> tuple[Matrix, float]:
    """W near the optimum, and the best lower bound found on the way.

    Projected gradient with momentum, which starts again wherever it points uphill; steps are halved until f lies below
    its quadratic model, and grow by GROWTH in between.

    Source: Beck, Teboulle: A fast iterative shrinkage-thresholding algorithm for linear inverse problems. SIAM Journal
    on Imaging Sciences 2, 2009; O'Donoghue, Candès: Adaptive restart for accelerated gradient schemes. Foundations of
    Computational Mathematics 15, 2015.
    """
    rounding = float(np.finfo(objective.K.dtype).eps)
    W = ahead = np.zeros(objective.signs.shape)
    step, momentum, bound = 1.0, 1.0, 0.0
    with one_thread():
        for _ in range(n_iter):
            value, gradient = objective.value_and_gradient(ahead)
            bound = max(bound, lower_bound(value, gradient, ahead, radius))
            step *= GROWTH
            while True:
                moved = l1.project_nonnegative(ahead - step * gradient, radius)
                change = moved - ahead
                model = value + float((change * (gradient + change / (2 * step))).sum())
                if objective.value(moved) <= model + rounding * value:
                    break
                step /= 2
            if float((change * (moved - W)).sum()) < 0:
                momentum = 1.0
            following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            ahead = moved + (momentum - 1) / following * (moved - W)
            W, momentum = moved, following
    return W, bound


def run(
    data: Samples,
    *,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """One repetition, with classes of images: see `train`."""
    y = tasks.classes(data.images, data.captions)
    learn, test = tasks.halves(data.images)
    return train(select(data.X, learn), y[learn], select(data.X, test), y[test], rng=rng, progress=progress, **options)


def train(
    X_train: Any,
    y_train: ArrayLike,
    X_test: Any,
    y_test: ArrayLike,
    *,
    n_support: int,
    n_train: int,
    width: float,
    radius: float,
    n_iter: Mapping[str, int],
    eta0: Sequence[float],
    entropic_eta0: Sequence[float],
    schedules: Sequence[str] = SCHEDULES,
    n_records: int = 50,
    repeats: int = 3,
    optimum_n_iter: int = 500,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Tell classes apart by both methods in several forms, each with its best step sizes.

    X_train, X_test: images (n_images, n_pixels), arrays or csr. y_train, y_test: (n_images,), the classes, of any type.
    n_support, n_train: images in the support set and training samples, as far as there are so many. width: above 0, 25
    in the paper, in units of a squared pixel. radius: above 0, the paper's z, of each class. n_iter: steps of
    each form that is to be tried, among "batch 25%", "batch 100%", "stochastic 1" and "stochastic 100". rng: draws the
    images, and the samples of the steps. Other arguments: as in `exponentiated.train`, optimum_n_iter those of `solve`.
    Raises ValueError for input out of range, and for a test class that training does not have.

    Returns the table of `exponentiated.train`. non_zero is of all n_support * n_classes weights, flops are NaN.
    """
    radius, width = as_positive(radius, "radius"), as_positive(width, "width")
    for count, name in ((n_support, "n_support"), (n_train, "n_train"), (optimum_n_iter, "optimum_n_iter")):
        require_count(count, name)
    for X, labels, of in ((X_train, y_train, "train"), (X_test, y_test, "test")):
        if np.ndim(labels) != 1 or np.shape(X)[:1] != np.shape(labels):
            raise ValueError(f"y_{of} must have a label for each row of X_{of}, {np.shape(X)}, got {np.shape(labels)}")
    classes, y = np.unique(np.asarray(y_train), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y_train must hold two classes or more, got only {', '.join(map(repr, classes.tolist()))}")
    strange = np.setdiff1d(y_test, classes)
    if len(strange):
        raise ValueError(f"y_test must hold classes of y_train only, got {strange.tolist()[0]!r}")
    # Choice: support images are training samples too; the paper does not say where its support set is from.
    order = rng.permutation(len(y))
    of_train, of_support = order[:n_train], order[:n_support]

    # Choice: the paper gives no scale of pixels; with pixels from 0 to 1 its width of 25 tells classes apart.
    def objective_of(X: Any, labels: Any) -> Objective:
        K = similarities.to_prototypes(X, X_train[of_support], measure="rbf", gamma=1 / width)
        return Objective(K, labels, y[of_support], len(classes))

    objective = objective_of(X_train[of_train], y[of_train])
    test = objective_of(X_test, np.searchsorted(classes, y_test))
    seeds = {form: int(rng.integers(2**63)) for form in FORMS}

    def go(attempt: Attempt) -> pd.DataFrame:
        watched = Watched(test.error)
        trace = descend(
            objective,
            radius,
            eta0=attempt.eta0,
            n_iter=n_iter[attempt.form],
            batch_size=batch_size(attempt.form, len(of_train)),
            rng=np.random.default_rng(seeds[attempt.form]),
            method=attempt.method,
            schedule=attempt.schedule,
            every=attempt.every,
            watch=watched,
        )
        return watched.table(trace)

    table = compare(
        go,
        n_samples=len(of_train),
        n_iter=n_iter,
        grids={"projection": (OF_PROJECTIONS, eta0), "entropic": (schedules, entropic_eta0)},
        n_records=n_records,
        repeats=repeats,
        bound=solve(objective, radius, n_iter=optimum_n_iter)[1],
        at_zero=math.log(len(classes)),
        progress=progress,
    )
    return table.assign(radius=radius)[list(COLUMNS)]

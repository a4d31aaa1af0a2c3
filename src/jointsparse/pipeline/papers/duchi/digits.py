"""Compare exponentiated and projected gradient on digits, which are classified by their similarity to a support set.

    minimise f(W) = 1/m sum_x log(1 + sum_{r != y} exp(k(x, r) - k(x, y)))
    subject to W_ij >= 0 and sum_i W_ij <= radius for each class j.

    k(x, j) = sum_i W_ij sigma_ij K(x, x_i),   K(x, x_i) = exp(-||x - x_i||^2 / width).

Here, y is the class of x, and sigma_ij is 1 if the support sample x_i is of class j, and -1 otherwise.

K is stored in single precision. Bounds and objectives are therefore exact only to about 1e-6, and a suboptimality near
0 can come out slightly negative, such as -1e-7.

Source: Duchi, Shalev-Shwartz, Singer, Chandra (ICML 2008), sec. 7, eq. 12 and Fig. 7. The module `exponentiated` makes
the same comparison on text (Fig. 6).
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from jointsparse.checks import Floats, require
from jointsparse.features import similarities
from jointsparse.norms import l1
from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.pipeline.papers.duchi.comparison import Comparison, certified_columns, halved, train_forms
from jointsparse.pipeline.papers.duchi.entropic import Entropic, Method, step_sizes
from jointsparse.pipeline.papers.duchi.steps import (
    Matrix,
    Projected,
    RowNumbers,
    dense_steps,
)
from jointsparse.pipeline.papers.harness import State
from jointsparse.pipeline.words import classes
from jointsparse.threads import one_thread

STEP_GROWTH = 1.1  # factor by which `near_optimum` increases its step in each iteration


class Tangent(NamedTuple):
    """The value of f and its gradient at W, over all samples or estimated from some of them."""

    W: Matrix
    value: float
    gradient: Matrix


class SimilarityObjective:
    """The objective f(W), as defined in the docstring of this module.

    K: similarities (n_samples, n_support), as float32 or float64. Products with K are computed in the same precision.
    y: the classes of the samples (n_samples,), as integers from 0 to n_classes - 1. support: the classes of the support
    samples (n_support,), as integers in the same range. W has the shape (n_support, n_classes).
    """

    def __init__(self, K: Floats, y: RowNumbers, support: RowNumbers, n_classes: int) -> None:
        self.K, self.y = K, y
        self.signs = np.where(support[:, None] == np.arange(n_classes), 1.0, -1.0)

    def scores(self, W: Matrix, K: Floats) -> Matrix:
        """Return the scores k(x, j), with shape (n_samples, n_classes), for samples with the similarities K."""
        return (K @ (self.signs * W).astype(K.dtype)).astype(np.float64)

    def value(self, W: Matrix) -> float:
        """Return f(W)."""
        return _softmax(self.scores(W, self.K), self.y)[0]

    def tangent(self, W: Matrix, rows: RowNumbers | None = None) -> Tangent:
        """Return the mean loss and its gradient at W, over all samples or only over the samples `rows`."""
        K, y = (self.K, self.y) if rows is None else (self.K[rows], self.y[rows])
        value, shares = _softmax(self.scores(W, K), y)
        shares[np.arange(len(y)), y] -= 1
        return Tangent(W, value, self.signs * (K.T @ (shares / len(y)).astype(K.dtype)))

    def error(self, W: Matrix) -> float:
        """Return the fraction of misclassified samples. If classes are tied, each gets an equal share of the sample."""
        scores = self.scores(W, self.K)
        best = scores == scores.max(axis=1, keepdims=True)
        return float(1 - (best[np.arange(len(self.y)), self.y] / best.sum(axis=1)).mean())


def _softmax(scores: Matrix, y: RowNumbers) -> tuple[float, Matrix]:
    """Return the mean loss, and the values of exp(scores), normalised over the classes."""
    scores -= scores.max(axis=1, keepdims=True)
    shares = np.exp(scores)
    totals = shares.sum(axis=1, keepdims=True)
    return float((np.log(totals[:, 0]) - scores[np.arange(len(y)), y]).mean()), shares / totals


def certify(tangent: Tangent, radius: float) -> tuple[float, float]:
    """Return f at W, and a lower bound of f on the feasible set. W may lie outside this set.

    The bound is the minimum of the tangent, f(W) + sum_ij G_ij (S_ij - W_ij), over all S in the feasible set, where G
    is the gradient at W. The bound is as exact as the gradient, which is exact to about 1e-6 if K is float32.

    Source: Frank, Wolfe: An algorithm for quadratic programming. Naval Research Logistics Quarterly 3, 1956.
    """
    W, value, gradient = tangent
    return value, value - float((gradient * W).sum()) + radius * float(gradient.min(axis=0).clip(max=0).sum())


def descend(
    objective: SimilarityObjective,
    radius: float,
    *,
    eta0: float,
    n_iter: int,
    method: Method = "projection",
    schedule: str = "1/sqrt(t)",
    batches: Sequence[RowNumbers] | None = None,
    lazy: bool = False,
) -> Iterator[State]:
    """Minimise f(W) on the feasible set by steps along the gradient over all samples, or over a few of them.

    Operations are not counted.

    Parameters
    ----------
    objective : SimilarityObjective
    radius : float, above 0
        Radius for each class.
    eta0, n_iter, method, schedule, batches : as in `descent.descend`
        As in `descent.descend`.
    lazy : bool
        Ignored. It is present so that the signature is the same as that of `descent.descend`.
    """
    n, n_classes = objective.signs.shape
    etas = step_sizes(schedule, eta0=eta0, n=n, n_iter=n_iter, method=method, of_set="nonnegative")
    # Choice: both methods start where exponentiated gradient has to start, with all W_ij = radius / (n_support + 1).
    # This point is already far better than W = 0.
    start = Entropic(n, radius, of_set="nonnegative", n_columns=n_classes)
    point = start if method == "entropic" else Projected(start.toarray(), radius, l1.project_nonnegative)
    return dense_steps(objective, point, etas, batches)


@one_thread()
def near_optimum(objective: SimilarityObjective, radius: float, *, n_iter: int) -> tuple[Matrix, float]:
    """Return a W near the optimum, and the best lower bound of the optimum from all iterations.

    The method is projected gradient with momentum. The momentum is reset when it points uphill. In each iteration, the
    step size is first increased by the factor STEP_GROWTH and then halved until f is below its quadratic model.

    Source: Beck, Teboulle: A fast iterative shrinkage-thresholding algorithm for linear inverse problems. SIAM Journal
    on Imaging Sciences 2, 2009; O'Donoghue, Candès: Adaptive restart for accelerated gradient schemes. Foundations of
    Computational Mathematics 15, 2015.
    """
    rounding = float(np.finfo(objective.K.dtype).eps)
    W = ahead = np.zeros(objective.signs.shape)
    step, momentum, bound = 1.0, 1.0, 0.0
    for _ in range(n_iter):
        tangent = objective.tangent(ahead)
        bound = max(bound, certify(tangent, radius)[1])
        step *= STEP_GROWTH
        while True:
            moved = l1.project_nonnegative(ahead - step * tangent.gradient, radius)
            change = moved - ahead
            model = tangent.value + float((change * (tangent.gradient + change / (2 * step))).sum())
            if objective.value(moved) <= model + rounding * tangent.value:
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
    n_support: int,
    n_train: int,
    width: float,
    radius: Sequence[float],
    optimum_n_iter: int = 500,
    rng: np.random.Generator,
    **options: Any,
) -> pd.DataFrame:
    """Do one repetition: learn the classes of a subset of the samples by both methods.

    Parameters
    ----------
    data : Samples
        The samples. Each has a single label, which is its class.
    n_support : int, at least 1
        Size of the support set. If there are fewer training samples, all of them are used.
    n_train : int, at least 1
        Number of training samples to use. If there are fewer, all of them are used.
    width : float, above 0
        Width of the kernel, by which squared distances between samples are divided. The paper uses 25.
    radius : sequence of float, above 0
        The paper's z, which is the same for every class.
    optimum_n_iter : int, at least 1
        Number of iterations of `near_optimum`.
    rng : numpy.random.Generator
        Draws the support and training samples, and the samples of each step.
    **options : Any
        Options of `comparison.train_forms`.

    Returns
    -------
    DataFrame
        The table of `comparison.train_forms`. Its column `non_zero` refers to all n_support * n_classes weights, and
        its column `flops` is NaN.

    Raises
    ------
    ValueError
        If there is only one class, or a test sample has a class that no training sample has.
    """
    X, labels, X_test, labels_test = halved(data, classes(data.images, data.captions))
    names, y = np.unique(labels, return_inverse=True)
    require(len(names) >= 2, f"training samples must have at least two classes, got only {names.tolist()[0]!r}")
    unknown = np.setdiff1d(labels_test, names).tolist()
    if unknown:
        raise ValueError(f"every class of a test sample must occur among the training samples, got {unknown[0]!r}")
    # Choice: the support samples are taken from the training samples. The paper does not say where they come from.
    order = rng.permutation(len(y))
    train, support = order[:n_train], order[:n_support]

    # Choice: the paper does not give the scale of pixels; with pixels from 0 to 1, its width of 25 separates the
    # classes.
    K, K_test = (
        similarities.to_prototypes(some, X[support], measure="rbf", gamma=1 / width) for some in (X[train], X_test)
    )
    objective = SimilarityObjective(K, y[train], y[support], len(names))
    test = SimilarityObjective(K_test, np.searchsorted(names, labels_test), y[support], len(names))
    comparisons = {
        z: Comparison(
            columns=certified_columns(objective, partial(certify, radius=z), test_error=test.error),
            at_zero=math.log(len(names)),
            bound=near_optimum(objective, z, n_iter=optimum_n_iter)[1],
        )
        for z in radius
    }
    return train_forms(partial(descend, objective), comparisons, n_samples=len(train), rng=rng, **options)

"""Compare exponentiated gradient with projected gradient on digits, classified by similarity to a support set.

    minimise f(W) = 1/m sum_x log(1 + sum_{r != y} exp(k(x, r) - k(x, y)))
    subject to W_ij >= 0 and sum_i W_ij <= radius for each class j.

    k(x, j) = sum_i W_ij sigma_ij K(x, x_i),   K(x, x_i) = exp(-||x - x_i||^2 / width).

y is the class of x, and sigma_ij is 1 for a support sample i of class j, else -1.

K is kept in single precision. So bounds and objectives are exact to about 1e-6 only, and a suboptimality near 0 may
come out below 0, at -1e-7 for instance.

Source: Duchi, Shalev-Shwartz, Singer, Chandra (ICML 2008), sec. 7, eq. 12 and Fig. 7. `exponentiated` does the same for
text, Fig. 6.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from jointsparse.checks import Floats, one_thread, require
from jointsparse.features import similarities
from jointsparse.norms import l1
from jointsparse.pipeline import tasks
from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.pipeline.papers.duchi.comparison import Comparison, certified_columns, halved
from jointsparse.pipeline.papers.duchi.entropic import Entropic
from jointsparse.pipeline.papers.duchi.forms import train_forms
from jointsparse.pipeline.papers.duchi.steps import (
    Matrix,
    Method,
    Projected,
    RowNumbers,
    dense_steps,
    scheduled_etas,
)
from jointsparse.pipeline.papers.harness import State

SERVES = "samples"
TABLES = {"digits": "tables", "digits_seconds": "timings"}

STEP_GROWTH = 1.1  # of the step of `near_optimum`, from one iteration to the next


class Tangent(NamedTuple):
    """f and its gradient at W, of all samples or estimated from some."""

    W: Matrix
    value: float
    gradient: Matrix


class SimilarityObjective:
    """f(W), see the head of this file.

    K: similarities (n_samples, n_support), float32 or float64, which is the precision of the products with K. y:
    (n_samples,) and support: (n_support,), class numbers from 0 to n_classes - 1. W is (n_support, n_classes).
    """

    def __init__(self, K: Floats, y: RowNumbers, support: RowNumbers, n_classes: int) -> None:
        self.K, self.y = K, y
        self.signs = np.where(support[:, None] == np.arange(n_classes), 1.0, -1.0)

    def scores(self, W: Matrix, K: Floats) -> Matrix:
        """k(x, j), (n_samples, n_classes), of samples with similarities K."""
        return (K @ (self.signs * W).astype(K.dtype)).astype(np.float64)

    def value(self, W: Matrix) -> float:
        """f(W)."""
        return _softmax(self.scores(W, self.K), self.y)[0]

    def tangent(self, W: Matrix, rows: RowNumbers | None = None) -> Tangent:
        """The mean loss and its gradient, of all samples or of some."""
        K, y = (self.K, self.y) if rows is None else (self.K[rows], self.y[rows])
        value, shares = _softmax(self.scores(W, K), y)
        shares[np.arange(len(y)), y] -= 1
        return Tangent(W, value, self.signs * (K.T @ (shares / len(y)).astype(K.dtype)))

    def error(self, W: Matrix) -> float:
        """Fraction of samples whose largest score is not the score of their class. Classes that tie share a sample."""
        scores = self.scores(W, self.K)
        best = scores == scores.max(axis=1, keepdims=True)
        return float(1 - (best[np.arange(len(self.y)), self.y] / best.sum(axis=1)).mean())


def _softmax(scores: Matrix, y: RowNumbers) -> tuple[float, Matrix]:
    """The mean loss, and the share of each class in exp(scores)."""
    scores -= scores.max(axis=1, keepdims=True)
    shares = np.exp(scores)
    totals = shares.sum(axis=1, keepdims=True)
    return float((np.log(totals[:, 0]) - scores[np.arange(len(y)), y]).mean()), shares / totals


def certify(tangent: Tangent, radius: float) -> tuple[float, float]:
    """f at any W, inside or outside of the set, and a lower bound of f on the set.

    The bound is the smallest value of the tangent, f(W) + sum_ij G_ij (S_ij - W_ij), over all S of the set. It is as
    exact as the gradient: to about 1e-6 if K is float32.

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
    """Minimise f(W) on the set by steps along the gradient of all samples, or of a few.

    Operations are not counted.

    Parameters
    ----------
    objective : SimilarityObjective
    radius : float, above 0
        Of each class.
    eta0, n_iter, method, schedule, batches : as in `descent.descend`
        See there.
    lazy : bool
        Makes no difference.
    """
    n, n_classes = objective.signs.shape
    etas = scheduled_etas(method, schedule, eta0, n=n, n_iter=n_iter, of_set="nonnegative")
    # Choice: both methods begin where the exponentiated gradient has to, with all W_ij = radius / (n_support + 1). That
    # is far better than W = 0 already.
    start = Entropic(n, radius, of_set="nonnegative", n_columns=n_classes)
    point = start if method == "entropic" else Projected(start.toarray(), radius, l1.project_nonnegative)
    return dense_steps(objective, point, etas, batches)


@one_thread()
def near_optimum(objective: SimilarityObjective, radius: float, *, n_iter: int) -> tuple[Matrix, float]:
    """W near the optimum, and the best lower bound found meanwhile.

    The method is projected gradient with momentum, which starts again if it points uphill. Steps are halved until f
    lies below its quadratic model, and grow by STEP_GROWTH in between.

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
    """Do one repetition: learn the classes of a few samples by both methods.

    Parameters
    ----------
    data : Samples
        Each with one label, its class.
    n_support : int, at least 1
        Samples in the support set. All there are, if there are fewer.
    n_train : int, at least 1
        Training samples. All there are, if there are fewer.
    width : float, above 0
        In units of a squared feature. The paper has 25.
    radius : sequence of float, above 0
        The paper's z, of each class.
    optimum_n_iter : int, at least 1
        Iterations of `near_optimum`.
    rng : numpy.random.Generator
        Draws support and training samples, and the samples of each step.
    **options : Any
        Options of `forms.train_forms`.

    Returns
    -------
    DataFrame
        The table of `forms.train_forms`. non_zero is of all n_support * n_classes weights, flops are NaN.

    Raises
    ------
    ValueError
        Input out of range, or a test class that training does not have.
    """
    X, labels, X_test, labels_test = halved(data, tasks.classes(data.images, data.captions))
    classes, y = np.unique(labels, return_inverse=True)
    require(len(classes) >= 2, f"training samples must have two classes or more, got only {classes.tolist()[0]!r}")
    unknown = np.setdiff1d(labels_test, classes).tolist()
    if unknown:
        raise ValueError(f"test samples must have classes of training samples only, got {unknown[0]!r}")
    # Choice: support samples are training samples too; the paper does not say where its support set is from.
    order = rng.permutation(len(y))
    train, support = order[:n_train], order[:n_support]

    # Choice: the paper gives no scale of pixels; with pixels from 0 to 1 its width of 25 tells classes apart.
    K, K_test = (
        similarities.to_prototypes(some, X[support], measure="rbf", gamma=1 / width) for some in (X[train], X_test)
    )
    objective = SimilarityObjective(K, y[train], y[support], len(classes))
    test = SimilarityObjective(K_test, np.searchsorted(classes, labels_test), y[support], len(classes))
    comparisons = {
        z: Comparison(
            columns=certified_columns(objective, partial(certify, radius=z), test_error=test.error),
            at_zero=math.log(len(classes)),
            bound=near_optimum(objective, z, n_iter=optimum_n_iter)[1],
        )
        for z in radius
    }
    return train_forms(partial(descend, objective), comparisons, n_samples=len(train), rng=rng, **options)

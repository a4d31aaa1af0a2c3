"""The mean loss of a single task, for least squares and logistic regression, with lower bounds of the optimum.

    minimise f(w)  subject to ||w||_1 <= radius,   or   minimise f(w) + penalty ||w||_1,
    f(w) = 1 / n_samples sum_i loss(x_i . w, y_i).

`descent` and `line_search` solve the first problem, and `interior_point` and `coordinate_descent` the second. If the
radius is ||w*||_1 for a solution w* of the second problem, both problems have the same solutions. All methods start at
w = 0. Each method is a generator of states; see `harness`.

Operations are counted as follows, for n features and m samples. Each +, -, `*`, /, exp, log, max and |.| counts as one.

- Product with X or its transpose: 2 nnz, for nnz stored entries (m n for an array).
- Losses, slopes and curvatures: LOSS_FLOPS, SLOPE_FLOPS and CURVATURE_FLOPS per sample.
- Projected step: 2 n, and PROJECTION_FLOPS n for the projection.
- Step of exponentiated gradient: ENTROPIC_FLOPS n.
- Lazy step that touches k entries: LAZY_PROJECTION_FLOPS k log2(n + 1) if it is projected, or LAZY_ENTROPIC_FLOPS k for
  exponentiated gradient.
- Trial step of the line search: a projected step, a product with X, the losses, and 3 n for Armijo's condition.
- Pass of coordinate descent: 4 nnz, because each coordinate needs a product with its column of X, and an update.
- Interior-point step: see `interior_point`.

Source: Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008, sec. 7.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from jointsparse.learning.losses import logistic, squared
from jointsparse.pipeline.papers.duchi.steps import RowNumbers, Vector

LOSSES = {"squared": squared, "logistic": logistic}
LOSS_FLOPS = {"squared": 4, "logistic": 7}
SLOPE_FLOPS = {"squared": 2, "logistic": 6}
CURVATURE_FLOPS = {"squared": 0, "logistic": 3}
# Choice: the count is linear in n, as measured. A projection takes about three times as long as summing magnitudes and
# soft thresholding, which together are six operations per entry.
PROJECTION_FLOPS = 18


class Tangent(NamedTuple):
    """The gradient of f at w, with the margins and slopes that it is computed from, of all samples or of a subset."""

    w: Vector
    margins: Vector
    slopes: Vector  # derivatives of the losses; the gradient is X^T slopes
    gradient: Vector
    n_entries: int  # number of stored entries in the rows of the samples


class Objective:
    """The objective f(w) = 1 / n_samples sum_i loss(x_i . w, y_i).

    X: (n_samples, n_features), dense or sparse. y: (n_samples,), with entries -1 or +1 for "logistic", and any numbers
    for "squared". loss: "squared" or "logistic". For a score s = x_i . w, these losses are 1/2 (y_i - s)^2 and
    log(1 + exp(-y_i s)).
    """

    def __init__(self, X: Any, y: Vector, *, loss: str) -> None:
        as_matrix: Any = sparse.csr_matrix if sparse.issparse(X) else np.asarray
        self.X, self.y, self.loss = as_matrix(X, dtype=np.float64), np.asarray(y, dtype=np.float64), loss
        self.n_samples, self.n_features = self.X.shape
        # Choice: the paper does not say whether the losses are summed or averaged. With the mean, suitable step sizes
        # do not depend on the number of samples.
        self.weights = np.full((self.n_samples, 1), 1 / self.n_samples)

    def value(self, margins: Vector) -> float:
        """Return f(w), given the margins X w."""
        return float(LOSSES[self.loss].value(margins[:, None], self.y[:, None], self.weights)[0])

    def slopes(self, margins: Vector, rows: RowNumbers | None = None) -> Vector:
        """Return the derivatives of the losses of the samples `rows`, weighted to estimate the full gradient."""
        # Choice: the weights make the samples of a step represent all samples, so that step sizes do not depend on
        # their number.
        y, weights = self.y, self.weights
        if rows is not None:
            y, weights = y[rows], weights[rows] * self.n_samples / len(rows)
        return np.asarray(LOSSES[self.loss].subgradient(margins[:, None], y[:, None], weights)[:, 0])

    def tangent(self, w: Vector, rows: RowNumbers | None = None, margins: Vector | None = None) -> Tangent:
        """Return the gradient at w with its parts, over all samples or the samples `rows`. margins: X w, if known."""
        X = self.X if rows is None else self.X[rows]
        margins = np.asarray(X @ w) if margins is None else margins
        slopes = self.slopes(margins, rows)
        return Tangent(w, margins, slopes, np.asarray(X.T @ slopes), X.size)

    def dual_value(self, dual: Vector) -> float:
        """Return a value v for which f(w) >= v - dual . X w holds for all w; see `losses`."""
        return float(LOSSES[self.loss].dual_value(dual[:, None], self.y[:, None], self.weights)[0])

    def certify_in_ball(self, tangent: Tangent, radius: float) -> tuple[float, float]:
        """Return f at w, and a lower bound of its minimum in the ball: the dual value - radius max_i |gradient_i|.

        Source: Fenchel duality; see docs/training.md.
        """
        steepest = float(np.abs(tangent.gradient).max())
        return self.value(tangent.margins), self.dual_value(-tangent.slopes) - radius * steepest

    def certify_penalised(self, tangent: Tangent, penalty: float) -> tuple[float, float]:
        """Return f(w) + penalty ||w||_1, and a lower bound of its optimum.

        The bound is the dual value of the slopes, after they are scaled down so that no entry of the gradient exceeds
        the penalty in magnitude.
        """
        steepest = float(np.abs(tangent.gradient).max())
        dual = -tangent.slopes * min(1.0, penalty / steepest) if steepest > 0 else -tangent.slopes
        return self.value(tangent.margins) + penalty * float(np.abs(tangent.w).sum()), self.dual_value(dual)

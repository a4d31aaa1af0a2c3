"""Coordinate descent for a loss with an l1 penalty and dense X, carried out by scikit-learn's solvers."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jointsparse.pipeline.papers.duchi.objective import Objective
from jointsparse.pipeline.papers.harness import State


def coordinate_descent(objective: Objective, penalty: float, *, n_iter: Sequence[int]) -> Iterator[State]:
    """Minimise f(w) + penalty ||w||_1 by scikit-learn's solvers, and yield a state for each entry of `n_iter`.

    - For the loss "squared", the solver is `Lasso`, which is cyclic coordinate descent. An iteration is a pass over the
      coordinates with 4 nnz operations, or fewer if it skips coordinates that are known to stay 0.
    - For the loss "logistic", the solver is liblinear, which computes Newton steps by coordinate descent. It does not
      report the number of passes within a step, so flops are NaN. Each fit copies X.

    Each state is the result of a separate run from w = 0. penalty: a number above 0. n_iter: increasing numbers of
    iterations, each at least 1.

    References
    ----------
    Duchi et al. (2008), sec. 7; Friedman et al.: Pathwise coordinate optimization. Annals of Applied Statistics 1,
    2007.
    """
    import sklearn
    from sklearn.linear_model import Lasso, LogisticRegression

    is_lasso, exact = objective.loss == "squared", {"fit_intercept": False, "tol": 1e-15}
    # Lasso divides the squares by the number of samples. LogisticRegression multiplies the losses, not the norm, by C.
    model: Any = Lasso(alpha=penalty, copy_X=False, **exact)
    if not is_lasso:
        # scikit-learn 1.8 changed how the l1 norm is requested.
        old = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8)
        norm: dict[str, Any] = {"penalty": "l1"} if old else {"l1_ratio": 1.0}
        model = LogisticRegression(
            C=1 / objective.n_samples / penalty, solver="liblinear", random_state=0, **exact, **norm
        )
    X = np.asfortranarray(objective.X) if is_lasso else objective.X
    yield State(0, lambda: np.zeros(objective.n_features), 0.0)
    for step in n_iter:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few iterations do not converge, which is intended
            model.set_params(max_iter=step).fit(X, objective.y)
        yield State(step, lambda: np.ravel(model.coef_), step * 4.0 * X.size if is_lasso else np.nan)

"""Fit random problems with every norm, loss and solver, and compare each certificate with an independent optimum.

    python trials/certificates.py --cases 500

The weights of features differ by factors of up to 1e60, and half of the problems have a ridge term. A fit must lie in
its ball, according to 50-digit arithmetic. An interior-point method solves the same problem on the features that
matter: features with large weights are left out, and features with tiny weights are unconstrained. The objective of the
fit must not be below the optimum of the interior-point method. The lower bound of the fit must not be above the
objective of the interior-point solution after it is scaled into the ball. A case is "certified" if its gap is finite
but the interior-point method found no solution.
"""

import sys
import warnings
from decimal import getcontext
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import harness
import numpy as np
from harness import require
from projections import balls, norm_of
from scipy.optimize import minimize_scalar

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import cvxpy
from oracles_convex import optimum

from jointsparse.learning.certificate import MOST_EXCESS
from jointsparse.learning.losses import LOSSES
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import SOLVERS
from jointsparse.norms import NORMS

SPREADS = (0.0, 0.5, 8.0, 30.0)  # spread of the weights in decades around 1
NO_ROOM, FREE = 1e6, 1e-6  # weights above which features are left out, and below which they are free
OPTIMUM_TOLERANCE = 2e-4  # for errors of the interior-point method, and of the features that it leaves out


Options = dict[str, Any]  # radius, weights (None if the norm has none), positive and l2, as solvers take them


def over_radius(norm: str, W: np.ndarray, given: Options) -> float:
    """Return the norm of W over the radius, or the largest such ratio of all tasks if the norm is one of each task."""
    parts = balls(norm, W.shape, {} if given["weights"] is None else {"weights": given["weights"]})
    return max(float(norm_of(norm, ball.rows(W), ball.s)) for ball in parts) / given["radius"][0]


def drawn(norm: str, loss: str, rng: np.random.Generator) -> tuple[Problem, Options]:
    """Draw a small random problem with three tasks. In half of the problems, the features are far from 0."""
    n, d, m = int(rng.integers(15, 40)), int(rng.integers(3, 9)), 3
    dtype, spread = rng.choice([np.float64, np.float64, np.float32]), rng.choice(SPREADS)
    X = rng.normal(size=(n, d)).astype(dtype)
    targets = X @ rng.normal(size=(d, m)) + 0.5 * rng.normal(size=(n, m))
    Y = targets if loss == "squared" else np.where(targets > 0, 1.0, -1.0) * (rng.random((n, m)) < 0.9)
    X += dtype(rng.choice([0.0, 10.0])) * rng.normal(size=d).astype(dtype)
    return Problem.from_matrix(X, Y, intercept=bool(rng.random() < 0.5)), {
        "radius": 10.0 ** rng.uniform(-1, 1.3, size=1),
        "weights": 10.0 ** rng.uniform(-spread, spread, size=d) if NORMS[norm].WEIGHTED else None,
        "positive": bool(rng.random() < 0.2),
        "l2": float(10.0 ** rng.uniform(-12, 4)) if rng.random() < 0.5 else 0.0,
    }


def best_objective(problem: Problem, loss: str, W: np.ndarray, l2: float) -> float:
    """Return the objective of W with the best intercepts."""
    total, value_of = 0.5 * l2 * float((W * W).sum()), LOSSES[loss].value
    for part in problem.parts:
        F = part.X.astype(float) @ W[:, part.tasks]
        value = lambda b, F=F, part=part: float(value_of(F + b, part.y, part.c)[0])  # noqa: E731
        total += minimize_scalar(value, (-1.0, 1.0)).fun if problem.intercept else value(0.0)
    return total


def independent(problem: Problem, norm: str, loss: str, given: Options) -> tuple[float, float] | None:
    """Return the optimum over the features that matter, and the objective of its solution in the ball."""
    weights = np.ones(problem.n_features) if given["weights"] is None else given["weights"]
    matters = np.flatnonzero(weights < NO_ROOM)
    if not len(matters):
        return None
    part = problem.changed(n_features=len(matters), X=[X[:, matters].astype(float) for X in problem.X])
    options = {"positive": given["positive"], "l2": given["l2"]}
    if given["weights"] is not None:
        options["weights"] = np.where(weights < FREE, 0.0, weights)[matters]
    try:
        expected, solution = optimum(part, loss, norm, float(given["radius"][0]), False, **options)
    except cvxpy.error.SolverError:
        return None
    W = np.zeros((problem.n_features, problem.n_tasks))
    W[matters] = np.maximum(solution, 0) if given["positive"] else solution
    return float(expected), best_objective(problem, loss, W / max(over_radius(norm, W, given), 1.0), given["l2"])


def case(norm: str, loss: str, solver: str, rng: np.random.Generator, folder: Path) -> str | None:
    """Fit a random problem, and compare the fit and its certificate with the independent optimum."""
    module, (problem, given) = SOLVERS[solver], drawn(norm, loss, rng)
    options: dict[str, Any] = {"tol": 1e-4, "n_iter": 5000} if module.STOPS_AT_TOL else {}
    if "eta0" in module.TAKES:
        options |= {"eta0": np.array([0.1]), "n_iter": 500}
    fit = module.fit(problem, loss=LOSSES[loss], norm=NORMS[norm], **given, **options)
    require(np.isfinite(fit.gap[0]), "not certified, because it lies outside of its ball")
    excess = over_radius(norm, fit.W[0], given) - 1
    require(excess <= MOST_EXCESS[fit.W.dtype], f"certified, but the norm exceeds the radius by {excess:.2g}")
    warnings.simplefilter("ignore")  # the interior-point method warns about its accuracy
    optimal = independent(problem, norm, loss, given)
    if optimal is None:
        return "certified"
    expected, feasible = optimal
    require(fit.bound[0] <= feasible * (1 + 1e-9), f"bound {fit.bound[0]:.8g} above {feasible:.8g}, which W can reach")
    lowest = expected - OPTIMUM_TOLERANCE * max(abs(expected), 1e-3 * fit.objective[0, 0])
    require(fit.value[0] >= lowest, f"objective {fit.value[0]:.8g} below the optimum {expected:.8g}")
    return None


KINDS = {", ".join(names): partial(case, *names) for names in product(NORMS, LOSSES, SOLVERS)}

if __name__ == "__main__":
    getcontext().prec = 50
    sys.exit(harness.run(KINDS, harness.parser(__doc__, 500).parse_args(), seconds=120))

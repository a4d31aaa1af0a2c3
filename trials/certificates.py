"""Fit random problems with every norm, loss and solver, and compare each certificate with an independent optimum.

    .venv/bin/python trials/certificates.py --fits 500

The weights of features differ by factors of up to 1e60, and half of the problems have a ridge term. A fit must lie in
its ball, according to 50-digit arithmetic. An interior-point method solves the same problem on the features that
matter: features with large weights are left out, and features with tiny weights are unconstrained. The objective of the
fit must not be below the optimum of the interior-point method. The lower bound of the fit must not be above the
objective of the interior-point solution after it is scaled into the ball.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from decimal import Decimal, getcontext
from itertools import cycle, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import cvxpy
from oracles_convex import optimum

from jointsparse.learning.certificate import MOST_EXCESS
from jointsparse.learning.fit import Fit
from jointsparse.learning.losses import LOSSES
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import SOLVERS
from jointsparse.norms import NORMS

getcontext().prec = 50

SPREADS = (0.0, 0.5, 8.0, 30.0)  # spread of the weights in decades around 1
NO_ROOM, FREE = (
    1e6,
    1e-6,
)  # features with larger weights than NO_ROOM are left out, and those with smaller weights than FREE are free
OPTIMUM_TOLERANCE = 2e-4  # for errors of the interior-point method, and of the features that it leaves out


def exact_norm(name: str, W: np.ndarray, s: np.ndarray) -> Decimal:
    """Return the norm of W by its definition. If the norm acts on each task separately, return the largest value."""
    exact = [[Decimal(float(abs(w))) for w in row] for row in W]
    weights = [Decimal(float(a)) for a in s]
    if name in ("l1", "l2"):
        columns = list(zip(*exact, strict=True))
        if name == "l2":
            return max(sum((x * x for x in column), Decimal(0)).sqrt() for column in columns)
        return max(sum((a * x for a, x in zip(weights, column, strict=True)), Decimal(0)) for column in columns)
    sizes = [max(row) if name == "l1inf" else sum((x * x for x in row), Decimal(0)).sqrt() for row in exact]
    return sum((a * x for a, x in zip(weights, sizes, strict=True)), Decimal(0))


def pose(rng: np.random.Generator, loss: str, dtype: Any) -> Problem:
    """Draw a small random problem with three tasks. In half of the problems, the features are far from 0."""
    n, d, m = int(rng.integers(15, 40)), int(rng.integers(3, 9)), 3
    X = rng.normal(size=(n, d)).astype(dtype)
    targets = X @ rng.normal(size=(d, m)) + 0.5 * rng.normal(size=(n, m))
    Y = targets if loss == "squared" else np.where(targets > 0, 1.0, -1.0) * (rng.random((n, m)) < 0.9)
    X += dtype(rng.choice([0.0, 10.0])) * rng.normal(size=d).astype(dtype)
    return Problem.from_matrix(X, Y, intercept=bool(rng.random() < 0.5))


def best_objective(problem: Problem, loss: str, W: np.ndarray, l2: float) -> float:
    """Return the objective of W with the best intercepts."""
    total = 0.5 * l2 * float((W * W).sum())
    for part in problem.parts:
        F, functions = part.X.astype(float) @ W[:, part.tasks], LOSSES[loss]

        def value(b: float, F: np.ndarray = F, part: Any = part, functions: Any = functions) -> float:
            return float(functions.value(F + b, part.y, part.c)[0])

        total += value(0.0) if not problem.intercept else float(minimize_scalar(value, (-1.0, 1.0)).fun)
    return total


def independent(
    problem: Problem, loss: str, name: str, radius: float, s: np.ndarray | None, positive: bool, l2: float
) -> tuple[float, float]:
    """Return the optimum over the features that matter, and the objective of its solution in the ball, or two NaN."""
    weights = np.ones(problem.n_features) if s is None else s
    matters = np.flatnonzero(weights < NO_ROOM)
    if not len(matters):
        return np.nan, np.nan
    part = problem.changed(n_features=len(matters), X=[X[:, matters].astype(float) for X in problem.X])
    options = {} if s is None else {"weights": np.where(weights < FREE, 0.0, weights)[matters]}
    try:
        expected, solution = optimum(part, loss, name, radius, False, positive=positive, l2=l2, **options)
    except cvxpy.error.SolverError:
        return np.nan, np.nan
    W = np.zeros((problem.n_features, problem.n_tasks))
    W[matters] = np.maximum(solution, 0) if positive else solution
    norms = [float(exact_norm(name, W[:, [k]], weights)) for k in range(problem.n_tasks)]
    norm = np.array(norms) if NORMS[name].PER_TASK else float(exact_norm(name, W, weights))
    return float(expected), best_objective(problem, loss, W / np.maximum(norm / radius, 1.0), l2)


def faults(fit: Fit, name: str, radius: float, s: np.ndarray | None, expected: float, feasible: float) -> Iterator[str]:
    """Yield a line for each property that a fit or its certificate violates."""
    W = fit.W[0]
    weights = np.ones(len(W)) if s is None else s
    norm, excess = exact_norm(name, W, weights), MOST_EXCESS[W.dtype]
    if norm > Decimal(radius) * (1 + Decimal(excess)) and np.isfinite(fit.gap[0]):
        yield f"certified with gap {fit.gap[0]:.2g}, but norm / radius = {norm / Decimal(radius):.6}"
    if not np.isfinite(fit.gap[0]):
        yield "not certified, because it lies outside of its ball"
    size = OPTIMUM_TOLERANCE * max(abs(expected), 1e-3 * fit.objective[0, 0])
    if fit.bound[0] > feasible * (1 + 1e-9):
        yield f"bound {fit.bound[0]:.8g} above the objective {feasible:.8g} of another W in the ball"
    if fit.value[0] < expected - size:
        yield f"objective {fit.value[0]:.8g} below the optimum {expected:.8g}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    rng, wrong, compared, gaps = np.random.default_rng(given.seed), 0, 0, []
    kinds = cycle(product(SPREADS, NORMS, LOSSES, SOLVERS))
    for _, (spread, name, loss, solver) in zip(range(given.fits), kinds, strict=False):
        dtype = rng.choice([np.float64, np.float64, np.float32])
        problem, positive = pose(rng, loss, dtype), bool(rng.random() < 0.2)
        s = 10.0 ** rng.uniform(-spread, spread, size=problem.n_features) if NORMS[name].WEIGHTED else None
        radius = float(10.0 ** rng.uniform(-1, 1.3))
        l2 = float(10.0 ** rng.uniform(-12, 4)) if rng.random() < 0.5 else 0.0
        module, options = SOLVERS[solver], dict[str, Any]()
        if module.STOPS_AT_TOL:
            options |= {"tol": 1e-4, "n_iter": 5000}
        if "eta0" in module.TAKES:
            options |= {"eta0": np.array([0.1]), "n_iter": 500}
        fit = module.fit(
            problem,
            loss=LOSSES[loss],
            norm=NORMS[name],
            radius=np.array([radius]),
            weights=s,
            positive=positive,
            l2=l2,
            **options,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the interior-point method warns about its accuracy
            optimal = independent(problem, loss, name, radius, s, positive, l2)
        compared += np.isfinite(optimal[1])
        gaps.append(fit.gap[0])
        for fault in faults(fit, name, radius, s, *optimal):
            wrong += 1
            form = f"{spread} decades, radius {radius:.3g}, l2 {l2:.3g}"
            print(f"{name}, {loss}, {solver}, {problem.dtype}, {form}: {fault}")
    print(f"{wrong} faults of {given.fits} fits; {compared} compared with an optimum; median gap {np.median(gaps):.1e}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

"""How fast methods near the optimum of l1-regularised least squares and logistic regression, with drawn samples.

Source: Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008, sec. 7, Fig. 4 and 5.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from jointsparse.learning.flag import gap_above, write_cell
from jointsparse.learning.sweep import at_edge
from jointsparse.papers.duchi.descent import (
    Objective,
    Trace,
    batch,
    coordinate_descent,
    interior_point,
    line_search,
    stochastic,
)

SERVES = "drawn"
TABLES = {"race": "tables", "race_seconds": "timings"}
WARNS = ("race",)

PROBLEMS = ("squared", "logistic")
NOISY = 0.1  # Paper: sec. 7, the fraction of labels that are flipped
# Choice: the paper names no penalty. With this one about half of the solution is 0, as of the weights that are drawn.
PENALTY = 0.03
# Choice: the paper chooses eta0 "to give reasonable performance". Good ones for the two problems are far apart.
ETA0 = tuple(2.0**power for power in range(-3, 8))
PASSES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30)
# Choice: the paper does not say how many samples a stochastic step sees. With a fixed fraction of them, step sizes and
# numbers of steps that suit one n suit the others too.
SHARE = 0.05
RECORDS = 100  # of the stochastic method, as each takes the time of a batch step


def draw(problem: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw as many samples as features.

    Weights w are normal(0, 1), half of them set to 0; X is normal(0, 1). "squared": y = X w + normal(0, 1).
    "logistic": y = sign(X w), flipped with probability 0.1. n: at least 2. One state of rng gives the same X and w for
    both problems. Returns X (n, n), y (n,), w (n,). Raises ValueError for another problem or n.

    Source: Duchi et al. (2008), sec. 7.
    """
    if problem not in PROBLEMS:
        raise ValueError(f"problem must be one of {', '.join(PROBLEMS)}, got {problem!r}")
    if not isinstance(n, int) or n < 2:
        raise ValueError(f"n must be a whole number from 2 on, got {n!r}")
    X, w = rng.normal(size=(n, n)), rng.normal(size=n)
    w[rng.permutation(n)[: n // 2]] = 0.0
    scores = np.einsum("ij,j->i", X, w)  # the same bits for any number of threads
    if problem == "squared":
        return X, scores + rng.normal(size=n), w
    return X, np.where(scores > 0, 1.0, -1.0) * np.where(rng.random(n) < NOISY, -1.0, 1.0), w


def run(
    data: None,
    *,
    problems: Sequence[str] = PROBLEMS,
    sizes: Sequence[int],
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """One repetition: each problem of each size drawn afresh and solved, see `solve`. rng: of a known seed."""
    # A generator for each size, so that another size in the list changes nothing of this one.
    seed = rng.bit_generator.seed_seq.entropy  # type: ignore[attr-defined]
    races = [(problem, n) for problem in problems for n in sizes]
    tables = []
    for done, (problem, n) in enumerate(races):
        of_size = np.random.default_rng([*np.atleast_1d(seed).tolist(), n])
        tables.append(solve(problem=problem, n=n, rng=of_size, **options))
        if progress:
            progress(done + 1, len(races))
    return pd.concat(tables, ignore_index=True)


def solve(
    *,
    problem: str,
    n: int,
    rng: np.random.Generator,
    penalty: float = PENALTY,
    eta0: Sequence[float] = ETA0,
    n_iter: int = 100,
    stochastic_n_iter: int = 2000,
    passes: Sequence[int] = PASSES,
    tol: float = 1e-8,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Solve one drawn problem by each method: what is left after each step, and what it has cost so far.

    minimise f(w)  subject to ||w||_1 <= radius   (batch, stochastic, line-search), or
    minimise f(w) + penalty ||w||_1               (coordinate-descent, interior-point),   f the mean loss.

    problem, n, rng: see `draw`; rng also draws the samples of stochastic steps, the same ones for each eta0. penalty:
    as a fraction, between 0 and 1, of the smallest one whose solution is 0. radius is the l1 norm of the solution that
    the interior-point method finds with the relative duality gap tol, so that both problems have that solution. eta0:
    first step sizes of batch and stochastic; the one with the smallest last objective is kept. n_iter: steps of batch
    and line-search. stochastic_n_iter: steps of stochastic, each with 5 % of the samples. passes: of coordinate
    descent, at each record. progress: called with (methods and step sizes done, of
    all). Raises ValueError for other input.

    A row is a record of a method. Columns: problem; n; method; eta0, NaN where there is none; step; suboptimality;
    flops and (CPU) seconds so far, see `descent`; non_zero: the fraction of features with a weight in the method's
    last iterate; radius; penalty; warning: an eta0 at the edge of its grid, or an optimum not certified to tol.

    suboptimality is (objective - bound) / objective at w = 0 for the problem that the method solves. As bound is a
    certified lower bound of that problem's optimum, it is too large rather than too small. For the penalised problem,
    bound is the better one of its two methods. For the constrained problem it is the best one of its three methods and
    of the penalised bound - penalty * radius: no w in the ball has an f below it, for f(w) + penalty ||w||_1 is at most
    f(w) + penalty * radius. That one is the tightest, by default to 1e-8. The methods' own bounds lag behind their
    objectives: after 100 steps of the line search with n = 800 they are lower by 3e-5 (squared) and 1e-2 (logistic).

    Source: Duchi et al. (2008), sec. 7.
    """
    if not 0 < penalty < 1:
        raise ValueError(f"penalty must be a fraction between 0 and 1, got {penalty}")
    if not len(eta0):
        raise ValueError(f"eta0 must list at least one step size, got {eta0}")
    objective = Objective(*draw(problem, n, rng)[:2], loss=problem)
    slopes = objective.slopes(np.zeros(n))
    of_l1 = penalty * float(np.abs(np.einsum("ij,i->j", objective.X, slopes)).max())
    seed = int(rng.integers(2**32))
    count, total = 0, 3 + 2 * len(eta0)

    def done(trace: Trace) -> Trace:
        nonlocal count
        count += 1
        if progress:
            progress(count, total)
        return trace

    interior = done(interior_point(objective, of_l1, tol=tol))
    radius = float(np.abs(interior.w).sum())
    of_stochastic: dict[str, Any] = {
        "n_iter": stochastic_n_iter,
        "batch_size": max(1, round(SHARE * n)),
        "every": max(1, stochastic_n_iter // RECORDS),
    }
    batches = [done(batch(objective, radius, eta0=eta, n_iter=n_iter)) for eta in eta0]
    stochastics = [
        done(stochastic(objective, radius, eta0=eta, rng=np.random.default_rng(seed), **of_stochastic)) for eta in eta0
    ]
    constrained = {
        "batch": _best(batches, eta0),
        "stochastic": _best(stochastics, eta0),
        "line-search": (done(line_search(objective, radius, n_iter=n_iter)), np.nan, ""),
    }
    gap = (interior.objective[-1] - interior.bound[-1]) / interior.objective[-1]
    penalised = {
        "coordinate-descent": (done(coordinate_descent(objective, of_l1, n_iter=passes)), np.nan, ""),
        "interior-point": (interior, np.nan, write_cell([gap_above(tol, gap)])),
    }
    bound = max(trace.bound[-1] for trace, _, _ in penalised.values())
    bound_in_ball = max(bound - of_l1 * radius, *(trace.bound[-1] for trace, _, _ in constrained.values()))
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "problem": problem,
                    "n": n,
                    "method": method,
                    "eta0": eta,
                    "step": trace.step,
                    "suboptimality": (trace.objective - lowest) / trace.objective[0],
                    "flops": trace.flops,
                    "seconds": trace.seconds,
                    "non_zero": np.count_nonzero(trace.w) / n,
                    "radius": radius,
                    "penalty": of_l1,
                    "warning": warning,
                }
            )
            for lowest, traces in ((bound_in_ball, constrained), (bound, penalised))
            for method, (trace, eta, warning) in traces.items()
        ],
        ignore_index=True,
    )


def _best(traces: list[Trace], eta0: Sequence[float]) -> tuple[Trace, float, str]:
    """The trace with the smallest last objective, its eta0, and whether that lies at the edge of its grid."""
    trace, eta = min(zip(traces, eta0, strict=True), key=lambda pair: pair[0].objective[-1])
    return trace, eta, write_cell([at_edge("eta0", eta, eta0)])

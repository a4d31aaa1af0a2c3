"""Compare how fast methods near the optimum of l1-regularised least squares and logistic regression, on drawn samples.

Source: Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008, sec. 7, Fig. 4 and 5.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from jointsparse.checks import require
from jointsparse.pipeline.flag import gap_above, write_cell
from jointsparse.pipeline.papers.duchi.descent import (
    Objective,
    best_of,
    coordinate_descent,
    descend,
    drawn,
    interior_point,
    line_search,
    looking,
)
from jointsparse.pipeline.papers.harness import Progress, record, silent, ticking

SERVES = "drawn"
TABLES = {"race": "tables", "race_seconds": "timings"}
WARNS = ("race",)

NOISY = 0.1  # Paper: sec. 7, the fraction of labels that are flipped
PASSES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30)
# Choice: the paper does not say how many samples a stochastic step sees. With a fixed fraction of them, step sizes and
# numbers of steps that suit one n suit the others too.
BATCH_SHARE = 0.05
N_RECORDS = 100  # of the stochastic method, as each takes the time of a batch step
COLUMNS = (
    *("problem", "n", "method", "eta0", "step", "suboptimality", "flops", "seconds", "non_zero"),
    *("radius", "penalty", "warning"),
)


def draw(problem: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw as many samples as features.

    Weights w are normal(0, 1), half of them set to 0; X is normal(0, 1). "squared": y = X w + normal(0, 1).
    "logistic": y = sign(X w), flipped with probability 0.1. n: at least 2. One state of rng gives the same X and w for
    both problems. Returns X (n, n), y (n,), w (n,).

    Source: Duchi et al. (2008), sec. 7.
    """
    X, w = rng.normal(size=(n, n)), rng.normal(size=n)
    w[rng.permutation(n)[: n // 2]] = 0.0
    scores = np.einsum("ij,j->i", X, w)  # the same bits for any number of threads
    if problem == "squared":
        return X, scores + rng.normal(size=n), w
    return X, np.where(scores > 0, 1.0, -1.0) * np.where(rng.random(n) < NOISY, -1.0, 1.0), w


def run(
    data: None,
    *,
    problems: Sequence[str],
    sizes: Sequence[int],
    rng: np.random.Generator,
    progress: Progress = silent,
    **options: Any,
) -> pd.DataFrame:
    """Do one repetition: draw each problem of each size afresh, and solve it.

    Parameters
    ----------
    data : None
    problems : sequence of str
        "squared" or "logistic".
    sizes : sequence of int, at least 1
        Numbers of features, and of samples.
    rng : numpy.random.Generator
        Of a known seed. Each size has a generator of its own, made from this seed.
    progress : callable
        Called with (problems solved, of all).
    **options : Any
        Options of `solve_by_each`.

    Returns
    -------
    DataFrame
        The tables of `solve_by_each`.
    """
    # A generator for each size, so that another size in the list changes nothing of this one.
    seed = rng.bit_generator.seed_seq.entropy  # type: ignore[attr-defined]
    tick, tables = ticking(progress, len(problems) * len(sizes)), []
    for problem, n in product(problems, sizes):
        tables.append(
            solve_by_each(problem, n, rng=np.random.default_rng([*np.atleast_1d(seed).tolist(), n]), **options)
        )
        tick()
    return pd.concat(tables, ignore_index=True)


def solve_by_each(
    problem: str,
    n: int,
    *,
    penalty: float,
    eta0: Sequence[float],
    n_iter: int,
    stochastic_n_iter: int = 2000,
    passes: Sequence[int] = PASSES,
    tol: float = 1e-8,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Solve one drawn problem by each method.

    minimise f(w)  subject to ||w||_1 <= radius   (batch, stochastic, line-search), or
    minimise f(w) + penalty ||w||_1               (coordinate-descent, interior-point),   f the mean loss.

    radius is the l1 norm of the solution of the interior-point method, so that both problems have this solution.

    Parameters
    ----------
    problem : str
        "squared" or "logistic".
    n : int, at least 1
        Features, and samples.
    penalty : float, between 0 and 1
        As a fraction of the smallest penalty whose solution is 0. Choice: the paper names none. With 0.03 about half of
        the solution is 0, as of the weights that are drawn.
    eta0 : sequence of float, above 0
        First step sizes of batch and stochastic. The one with the smallest last objective is kept. Choice: the paper
        chooses eta0 "to give reasonable performance". Good ones for the two problems are far apart.
    n_iter : int, at least 1
        Steps of batch and line-search.
    stochastic_n_iter : int, at least 1
        Steps of stochastic, each with 5 % of the samples.
    passes : sequence of int
        Passes of coordinate descent, at each record.
    tol : float, above 0
        Relative duality gap of the interior-point method.
    rng : numpy.random.Generator
        Draws the problem, and the samples of stochastic steps, the same ones for each eta0.

    Returns
    -------
    DataFrame
        A row for each record of each method. Columns:
        - problem.
        - n.
        - method.
        - eta0: NaN if there is none.
        - step.
        - suboptimality.
        - flops, seconds: operations and CPU seconds so far, see `descent`.
        - non_zero: the fraction of features with a weight in the last iterate.
        - radius.
        - penalty.
        - warning: an eta0 at the edge of its grid, no gain, or an optimum not certified to tol.

    Raises
    ------
    ValueError
        Input out of range.

    Notes
    -----
    suboptimality is (objective - bound) / objective at w = 0 for the problem that the method solves. As bound is a
    certified lower bound of the optimum, the suboptimality is rather too large than too small. For the penalised
    problem, bound is the better one of its two methods. For the constrained problem it is the best one of its three
    methods and of the penalised bound - penalty * radius. No w in the ball has an f below this number, since
    f(w) + penalty ||w||_1 is at most f(w) + penalty * radius. It is the tightest of them, by default to 1e-8. The
    methods' own bounds lag behind their objectives: after 100 steps of the line search with n = 800 they are lower by
    3e-5 (squared) and 1e-2 (logistic).

    References
    ----------
    Duchi et al. (2008), sec. 7.
    """
    require(0 < penalty < 1, f"penalty must be a fraction between 0 and 1, got {penalty}")
    objective = Objective(*draw(problem, n, rng)[:2], loss=problem)
    penalty = penalty * float(np.abs(np.einsum("ij,i->j", objective.X, objective.slopes(np.zeros(n)))).max())
    samples = drawn(
        stochastic_n_iter, n, max(1, round(BATCH_SHARE * n)), np.random.default_rng(int(rng.integers(2**32)))
    )

    look = looking(
        objective, partial(objective.certify_penalised, penalty=penalty), size=lambda w: float(np.abs(w).sum())
    )
    interior = record(partial(interior_point, objective, penalty, tol=tol), look)
    coordinates = record(partial(coordinate_descent, objective, penalty, n_iter=passes), look, restarts=True)
    value, radius = (float(interior[column].iloc[-1]) for column in ("objective", "size"))
    gap = (value - max(0.0, interior["bound"].max())) / value

    in_ball = looking(objective, partial(objective.certify_in_ball, radius=radius))

    def step_along(n_iter: int, every: int = 1, samples: Any = None) -> pd.DataFrame:
        """Records with the best eta0."""
        method, at = (
            partial(descend, objective, radius, n_iter=n_iter, samples=samples),
            {*range(0, n_iter, every), n_iter},
        )
        return best_of(lambda schedule, eta: record(partial(method, eta0=eta), in_ball, at=at), ["1/sqrt(t)"], eta0)

    interior["warning"] = write_cell([gap_above(tol, gap)])
    penalised = {"coordinate-descent": coordinates, "interior-point": interior}
    constrained = {
        "batch": step_along(n_iter),
        "stochastic": step_along(stochastic_n_iter, max(1, stochastic_n_iter // N_RECORDS), samples),
        "line-search": record(partial(line_search, objective, radius, n_iter=n_iter), in_ball),
    }
    bound = max(0.0, *(table["bound"].max() for table in penalised.values()))
    bound_in_ball = max(bound - penalty * radius, *(table["bound"].max() for table in constrained.values()))
    bounds = dict.fromkeys(constrained, bound_in_ball) | dict.fromkeys(penalised, bound)
    tables = [
        table.assign(
            method=method,
            suboptimality=(table["objective"] - bounds[method]) / table["objective"].iloc[0],
            non_zero=table["non_zero"].iloc[-1],
        )
        for method, table in (constrained | penalised).items()
    ]
    table = pd.concat(tables, ignore_index=True).assign(problem=problem, n=n, radius=radius, penalty=penalty)
    return table.fillna({"warning": ""})[list(COLUMNS)]

"""Compare how fast methods approach the optimum of l1-regularised least squares and logistic regression.

Source: Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008, sec. 7, Fig. 4 and 5.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from jointsparse.pipeline.flag import gap_above, write_cell
from jointsparse.pipeline.papers.duchi.comparison import Comparison, best_runs, certified_columns
from jointsparse.pipeline.papers.duchi.coordinate_descent import coordinate_descent
from jointsparse.pipeline.papers.duchi.descent import descend
from jointsparse.pipeline.papers.duchi.interior_point import interior_point
from jointsparse.pipeline.papers.duchi.line_search import line_search
from jointsparse.pipeline.papers.duchi.objective import Objective
from jointsparse.pipeline.papers.duchi.steps import RowNumbers, draw_batches
from jointsparse.pipeline.papers.harness import Progress, State, record, silent, ticking

NOISY = 0.1  # fraction of the labels that are flipped. Paper: sec. 7
PASSES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30)
# Choice: the paper does not say how many samples a stochastic step uses. With a fixed fraction of all samples, the same
# step sizes and numbers of steps suit every n.
BATCH_SHARE = 0.05
N_RECORDS = 100  # records of the stochastic method; only so many, because a record takes as long as a batch step
COLUMNS = (
    *("problem", "n", "method", "eta0", "step", "suboptimality", "flops", "seconds", "non_zero"),
    *("radius", "penalty", "warning"),
)


def draw(problem: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw a random problem with as many samples as features.

    The weights w are normal(0, 1), except that half of them are set to 0. The entries of X are normal(0, 1). For
    "squared", y = X w + normal(0, 1). For "logistic", y = sign(X w), with each sign flipped with probability 0.1. n: at
    least 2. The same state of `rng` gives the same X and w for both problems. Returns X (n, n), y (n,) and w (n,).

    Source: Duchi et al. (2008), sec. 7.
    """
    X, w = rng.normal(size=(n, n)), rng.normal(size=n)
    w[rng.permutation(n)[: n // 2]] = 0.0
    scores = np.einsum("ij,j->i", X, w)  # bitwise the same result for any number of threads
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
    """Do one repetition: draw a new problem of each kind and size, and solve it.

    Parameters
    ----------
    data : None
    problems : sequence of str
        The problems to draw: "squared", "logistic" or both.
    sizes : sequence of int, at least 1
        Numbers of features. There are as many samples as features.
    rng : numpy.random.Generator
        A generator that knows its seed. From this seed, a separate generator is made for each size.
    progress : callable
        Called with the number of problems solved and the number of all problems.
    **options : Any
        Options of `solve_by_each`.

    Returns
    -------
    DataFrame
        The concatenated tables of `solve_by_each` for all problems and sizes.
    """
    # Each size has its own generator, so that its problems do not depend on the other sizes in the list.
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
    """Draw a random problem and solve it by each method.

    minimise f(w)  subject to ||w||_1 <= radius   (batch, stochastic, line-search), or
    minimise f(w) + penalty ||w||_1               (coordinate-descent, interior-point),   f the mean loss.

    The radius is the l1 norm of the solution that the interior-point method finds, so that both problems have this
    solution.

    Parameters
    ----------
    problem : str
        "squared" or "logistic".
    n : int, at least 1
        Number of features, and of samples.
    penalty : float, between 0 and 1
        The penalty, as a fraction of the smallest penalty for which the solution is 0. Choice: the paper gives no
        penalty. With 0.03, about half of the entries of the solution are 0, as they are in the true weights.
    eta0 : sequence of float, above 0
        First step sizes for the methods "batch" and "stochastic". The one with the smallest final objective is
        kept. Choice: the paper chooses eta0 "to give reasonable performance". The two problems need very different
        values.
    n_iter : int, at least 1
        Number of steps for the methods "batch" and "line-search".
    stochastic_n_iter : int, at least 1
        Number of steps for the method "stochastic", each with 5 % of the samples.
    passes : sequence of int
        Numbers of passes after which coordinate descent is recorded.
    tol : float, above 0
        Relative duality gap at which the interior-point method stops.
    rng : numpy.random.Generator
        Draws the problem and the samples of the stochastic steps, which are the same for each eta0.

    Returns
    -------
    DataFrame
        A row for each record of each method. Columns:

        - problem, n: as above.
        - method: name of the method.
        - eta0: the first step size, or NaN for methods without step sizes.
        - step: number of the step.
        - suboptimality: see the notes.
        - flops: number of operations so far; see `objective`.
        - seconds: CPU time so far, in seconds.
        - non_zero: fraction of features with a non-zero weight in the last iterate.
        - radius: the radius of the constrained problem.
        - penalty: the penalty of the penalised problem.
        - warning: says that eta0 lies at the edge of its grid, that the objective has not decreased, or that the
          optimum is not certified to `tol`.

    Notes
    -----
    The suboptimality is objective - bound, divided by the objective at w = 0, for the problem that the method solves.
    Because `bound` is a certified lower bound of the optimum, the suboptimality is never underestimated. For the
    penalised problem, `bound` is the better of the bounds that its two methods find. For the constrained problem, there
    are the bounds that its three methods find, and the penalised problem's bound minus penalty * radius. The latter
    is a lower bound because f(w) + penalty ||w||_1 is at most f(w) + penalty * radius for w in the ball. `bound` is the
    best of these bounds. By default it is the latter, which is exact to 1e-8. The methods' own bounds converge more
    slowly than their objectives: after 100 steps of the line search with n = 800, they are lower by 3e-5 (squared) and
    1e-2 (logistic).

    References
    ----------
    Duchi et al. (2008), sec. 7.
    """
    objective = Objective(*draw(problem, n, rng)[:2], loss=problem)
    at_zero = objective.value(np.zeros(n))
    penalty = penalty * float(np.abs(np.einsum("ij,i->j", objective.X, objective.slopes(np.zeros(n)))).max())
    batch_size = max(1, round(BATCH_SHARE * n))
    batches = draw_batches(stochastic_n_iter, n, batch_size, np.random.default_rng(int(rng.integers(2**32))))

    certify = partial(objective.certify_penalised, penalty=penalty)
    penalised = Comparison(certified_columns(objective, certify, norm=lambda w: float(np.abs(w).sum())), at_zero, 0.0)
    interior = record(partial(interior_point, objective, penalty, tol=tol), penalised.columns)
    optimum, radius = (float(interior[column].iloc[-1]) for column in ("objective", "norm"))
    gap = (optimum - max(0.0, interior["bound"].max())) / optimum
    coordinates = record(
        partial(coordinate_descent, objective, penalty, n_iter=passes), penalised.columns, restarts=True
    )
    by_penalty = {"coordinate-descent": coordinates, "interior-point": interior}
    interior["warning"] = write_cell([gap_above(tol, gap)])

    bound = max(0.0, *(table["bound"].max() for table in by_penalty.values()))
    certify = partial(objective.certify_in_ball, radius=radius)
    constrained = Comparison(certified_columns(objective, certify), at_zero, bound - penalty * radius)

    def descended(n_iter: int, every: int = 1, batches: Sequence[RowNumbers] | None = None) -> pd.DataFrame:
        """Return the records of the run of `descend` with the best eta0."""

        def begin(_: str, schedule: str, eta0: float) -> Iterator[State]:
            return descend(objective, radius, schedule=schedule, eta0=eta0, n_iter=n_iter, batches=batches)

        at = {*range(0, n_iter, every), n_iter}
        return best_runs(begin, constrained.columns, {"projection": eta0}, ["1/sqrt(t)"], at=at)

    in_ball = {
        "batch": descended(n_iter),
        "stochastic": descended(stochastic_n_iter, max(1, stochastic_n_iter // N_RECORDS), batches),
        "line-search": record(partial(line_search, objective, radius, n_iter=n_iter), constrained.columns),
    }
    table = pd.concat([_joined(constrained, in_ball), _joined(penalised, by_penalty)], ignore_index=True)
    table = table.assign(problem=problem, n=n, radius=radius, penalty=penalty)
    return table.fillna({"warning": ""})[list(COLUMNS)]


def _joined(comparison: Comparison, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Join the records of all methods for a problem. Add the suboptimality, and set `non_zero` to its last value."""
    named = (table.assign(method=method, non_zero=table["non_zero"].iloc[-1]) for method, table in tables.items())
    table = pd.concat(named, ignore_index=True)
    return table.assign(suboptimality=comparison.suboptimality(table))

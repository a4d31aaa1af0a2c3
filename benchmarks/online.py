"""Measure how regret grows with the number of examples, and what a step costs with and without lazy updates.

    python benchmarks/online.py [--quick] [--out FOLDER]

Prints tables, marks results that miss our goals with *, and writes the tables as CSV and a figure, online.png.

Regret: the labels of the examples depend on a few features that the tasks share, and a tenth of the labels are flipped.
The regret after T examples is the sum of their losses, each measured before the step on its example, minus the total
loss of the best fixed W in the ball. The solver pdhg certifies a lower bound of the loss of any fixed W in the ball,
and the table gives the regret relative to this bound. The regret relative to pdhg's own W is no larger and nearly the
same. The slope of log regret over log T should be at most 0.6, because Zinkevich's theorem gives sqrt(T).

Cost: the time of a step on an example with k non-zero features, including the computation of the margins, either by
lazy updates or by projecting the whole matrix (with warm starts). Times are medians of CPU time over interleaved rounds
in one process. The initial W comes from a stream of such examples.
"""

import time
from collections.abc import Iterator
from itertools import count

import numpy as np
import pandas as pd
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from measure import Task, keep, machine, medians, options, show
from scipy import sparse

from jointsparse.estimators.online import OnlineJointSparseClassifier
from jointsparse.learning.lazy import Eager, Lazy, Rows, csr
from jointsparse.learning.losses import hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import pdhg
from jointsparse.norms import NORMS
from jointsparse.pipeline.figures.style import SHEET

GOAL = 0.6  # largest accepted slope of log regret over log T
RADII = {"l1inf": 3.0, "l1": 1.5}
N_FEATURES, N_TASKS, ETA0, NOISE = 50, 8, 0.1, 0.1
HORIZONS = (100, 300, 1_000, 3_000, 10_000, 30_000)
GAP = 1e-4  # relative duality gap to which the best fixed W is computed
STREAM = 2_000  # number of different examples, all of which are learnt before the timing starts


def stream(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw the features (n, n_features) and the labels (n, n_tasks), -1 or +1, of a stream of n examples."""
    rng = np.random.default_rng(seed)
    W = np.zeros((N_FEATURES, N_TASKS))
    W[:5] = rng.choice([-1.0, 1.0], (5, 1)) * rng.uniform(0.5, 1.5, (5, N_TASKS))
    X = rng.normal(size=(n, N_FEATURES))
    return X, np.where((X @ W > 0) ^ (rng.random((n, N_TASKS)) < NOISE), 1, -1)


def losses_of_stream(norm: str, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return the loss of each example, measured before the step on this example."""
    model = OnlineJointSparseClassifier(norm, RADII[norm], eta0=ETA0, labels="signed")
    losses = np.empty(len(Y))
    for t in range(len(Y)):
        F = model.decision_function(X[t : t + 1]) if t else np.zeros((1, N_TASKS))
        losses[t] = hinge.value(F, Y[t : t + 1]).sum()
        model.partial_fit(X[t : t + 1], Y[t : t + 1])
    return losses


def regret_rows(norms: list[str], seeds: list[int], horizons: tuple[int, ...]) -> Iterator[dict[str, object]]:
    """Yield for each norm, seed and number of examples a row with the regret."""
    for norm in norms:
        for seed in seeds:
            X, Y = stream(seed, horizons[-1])
            losses = losses_of_stream(norm, X, Y)
            for T in horizons:
                problem, radius = Problem.from_matrix(X[:T], Y[:T]), np.array([RADII[norm]])
                best = pdhg.fit(problem, loss=hinge, norm=NORMS[norm], radius=radius, n_iter=5000, tol=GAP)
                regret, bound = losses[:T].sum() - best.bound[0], best.bound[0]
                yield {
                    "norm": norm,
                    "seed": seed,
                    "T": T,
                    "loss / T": losses[:T].mean(),
                    "best fixed / T": bound / T,
                    "gap": best.gap[0],
                    "regret": regret,
                    "regret / sqrt(T)": regret / np.sqrt(T),
                }


def slopes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each norm the slope of log regret over log T: its mean and its maximum over the seeds."""
    found = [
        {"norm": norm, "slope": np.polyfit(np.log(of_seed["T"]), np.log(of_seed["regret"]), 1)[0]}
        for (norm, _), of_seed in rows.groupby(["norm", "seed"], sort=False)
    ]
    table = pd.DataFrame(found).groupby("norm", sort=False)["slope"].agg(["mean", "max"]).reset_index()
    table.columns = ["norm", "slope, mean", "slope, largest"]
    return table.assign(goal=["" if worst <= GOAL else "*" for worst in table["slope, largest"]])


def examples(d: int, k: int, m: int) -> tuple[Rows, np.ndarray]:
    """Draw examples with k random non-zero features each, and their subgradients multiplied by the step size."""
    rng = np.random.default_rng(0)
    indices = np.concatenate([rng.choice(d, k, replace=False) for _ in range(STREAM)])
    ends = np.arange(0, STREAM * k + 1, k)
    X = sparse.csr_array((rng.normal(size=STREAM * k), indices, ends), shape=(STREAM, d))
    return csr(X), rng.normal(size=(STREAM, m)) * (rng.random((STREAM, m)) < 0.5) * 0.02


def step_tasks(norm: str, d: int, k: int, m: int) -> tuple[dict[str, Task], int]:
    """Return a lazy step and a step that projects the whole matrix, and how many features have non-zero weights."""
    X, G = examples(d, k, m)
    lazy, eager = Lazy(d, m, norm, 10.0), Eager(d, m, norm, 10.0)
    for t in range(STREAM):
        lazy.step(X.part(slice(t, t + 1)), G[t : t + 1])
    eager.W[...] = lazy.last()
    turns = {"lazy": count(), "full": count()}

    def by_lazy() -> None:
        t = next(turns["lazy"]) % STREAM
        part = X.part(slice(t, t + 1))
        lazy.margins(part)
        lazy.step(part, G[t : t + 1])

    def in_full() -> None:
        t = next(turns["full"]) % STREAM
        where, values = X.indices[t * k : (t + 1) * k], X.data[t * k : (t + 1) * k]
        values @ eager.W[where]
        eager.W[where] += np.outer(values, G[t])
        NORMS[norm].project(eager.W, 10.0, out=eager.W, **eager.warm)

    return {"lazy": by_lazy, "full": in_full}, int(eager.W.any(axis=1).sum())


def cost_rows(norms: list[str], cells: list[tuple[int, int, int]], rounds: int) -> Iterator[dict[str, object]]:
    """Yield a row with the times of a step for each norm and each combination of features, non-zeros and tasks."""
    for norm in norms:
        for d, k, m in cells:
            tasks, alive = step_tasks(norm, d, k, m)
            t = medians(tasks, rounds)
            yield {
                "norm": norm,
                "features": d,
                "k": k,
                "tasks": m,
                "rows not zero": alive,
                "lazy (us)": t["lazy"] * 1e6,
                "full (us)": t["full"] * 1e6,
                "full / lazy": t["full"] / t["lazy"],
                "lazy / (k m) (ns)": t["lazy"] * 1e9 / (k * m),
            }


def draw_regret(axes: Axes, rows: pd.DataFrame) -> None:
    for norm, of_norm in rows.groupby("norm", sort=False):
        by_T = of_norm.groupby("T")["regret"]
        (line,) = axes.plot(by_T.mean().index, by_T.mean(), "o-", label=norm)
        axes.fill_between(by_T.min().index, by_T.min(), by_T.max(), color=line.get_color(), alpha=0.2)
    T = np.array(sorted(rows["T"].unique()))
    first = rows[rows["T"] == T[0]]["regret"].mean()
    axes.plot(T, first * np.sqrt(T / T[0]), "--", color="0.35", label="like sqrt(T)")
    axes.set(xscale="log", yscale="log", xlabel="T, examples", ylabel="regret (sum of hinge losses)")
    axes.set_title("regret; bands: all seeds")
    axes.legend()


def draw_cost(axes: Axes, rows: pd.DataFrame, against: str) -> None:
    fixed = {"features": ("k", 10), "k": ("features", 10_000)}[against]
    rows = rows[(rows[fixed[0]] == fixed[1]) & (rows["tasks"] == 40)]
    for norm, of_norm in rows.groupby("norm", sort=False):
        of_norm = of_norm.sort_values(against)
        (line,) = axes.plot(of_norm[against], of_norm["lazy (us)"], "o-", label=norm)
        axes.plot(of_norm[against], of_norm["full (us)"], "--", color=line.get_color())
    name = {"features": "features", "k": "k, non-zeros per example"}
    axes.set(xscale="log", yscale="log", xlabel=name[against], ylabel="microseconds per example")
    axes.set_title(f"{fixed[0]} = {fixed[1]:,}; dashed: all projected")
    axes.legend()


def figure(regret: pd.DataFrame, cost: pd.DataFrame) -> Figure:
    with style.context(SHEET):
        result = Figure(figsize=(12, 3.6), layout="constrained")
        axes = result.subplots(1, 3)
        draw_regret(axes[0], regret)
        draw_cost(axes[1], cost, "features")
        draw_cost(axes[2], cost, "k")
    return result


def main() -> None:
    given = options(__doc__, "about a minute: fewer seeds, examples and sizes")
    quick, rounds = given.quick, 5 if given.quick else 15
    start = time.perf_counter()
    print(f"{machine()}; medians of at most {rounds} interleaved rounds; * marks missed goals")

    norms, seeds = list(RADII), list(range(2 if quick else 5))
    rows = regret_rows(norms, seeds, HORIZONS[:4] if quick else HORIZONS)
    regret = keep(pd.DataFrame(rows), given.out / "online-regret.csv")
    means = regret.drop(columns="seed").groupby(["norm", "T"], sort=False).mean().reset_index()
    show(f"regret: {N_FEATURES} features, {N_TASKS} tasks, means over {len(seeds)} seeds", means)
    show(f"slope of log regret over log T, goal at most {GOAL}", keep(slopes(regret), given.out / "online-slopes.csv"))

    sizes = [1_000, 10_000] if quick else [1_000, 10_000, 100_000, 1_000_000]
    cells = [(d, 10, 40) for d in sizes] + [(10_000, k, 40) for k in (1, 100, 1_000)]
    cells += [(10_000, 10, m) for m in ((5,) if quick else (5, 200))]
    # For l1, the records of a million features and 40 tasks would take too much memory, 70 bytes per weight.
    cost = pd.DataFrame(cost_rows(["l1inf"], cells, rounds))
    cost_l1 = pd.DataFrame(cost_rows(["l1"], [cell for cell in cells if cell[0] <= 100_000], rounds))
    cost = keep(pd.concat([cost, cost_l1]), given.out / "online-cost.csv")
    show("one step, margins included", cost)
    figure(regret, cost).savefig(given.out / "online.png")
    print(f"\n{time.perf_counter() - start:.0f} s; tables and figure are in {given.out}")


if __name__ == "__main__":
    main()

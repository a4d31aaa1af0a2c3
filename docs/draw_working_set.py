"""Draw working_set.png for training.md: the size of the working set and the certified gap against the work done.

The features shrink like those of an SVD, and the labels of 30 tasks depend on 60 of 1,000 features.
"""

from pathlib import Path

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure

from jointsparse.learning.losses import hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.scales import scales
from jointsparse.learning.solvers import pdhg, working_set
from jointsparse.norms import l1inf
from jointsparse.pipeline.figures.style import SHEET

MULTIPLES = {5: "C0", 20: "C1"}  # of R0, the unit of radii, with their colours
TOLERANCES = [0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3]

rng = np.random.default_rng(0)
X = [(rng.normal(size=(300, 1000)) / np.sqrt(np.arange(1, 1001))).astype(np.float32) for _ in range(30)]
W = np.zeros((1000, 30))
W[rng.choice(300, 60, replace=False)] = rng.normal(size=(60, 30))
y = [np.sign(X_k @ w + 0.2 * rng.normal(size=300)) for X_k, w in zip(X, W.T, strict=True)]
problem = Problem(X, y)
unit = scales(problem, loss=hinge, norm=l1inf).radius

style.use(SHEET)
figure = Figure(figsize=(7.6, 3.2))
left, right = figure.subplots(1, 2)
for multiple, colour in MULTIPLES.items():
    options = {"loss": hinge, "norm": l1inf, "radius": np.array([multiple * unit]), "n_iter": 20_000}
    rounds = working_set.fit(problem, **options, tol=TOLERANCES[-1]).rounds[0]
    n_rows, n_iter, gaps = np.array(rounds).T
    # A round costs its iterations on its rows, and one product with all rows, which is half an iteration.
    work = np.cumsum(0.5 + n_rows / 1000 * np.diff(n_iter, prepend=0))
    left.step(work, n_rows, "o-", where="pre", ms=3, color=colour, label=f"radius {multiple} R0")
    right.loglog(work, gaps, "o-", ms=3, color=colour, label=f"working set, {multiple} R0")
    whole = [pdhg.fit(problem, **options, tol=tol) for tol in TOLERANCES]
    right.loglog(
        [fit.n_iter for fit in whole],
        [fit.gap[0] for fit in whole],
        "s:",
        ms=3,
        color=colour,
        label=f"pdhg, {multiple} R0",
    )
left.set_ylim(0)
right.set_ylim(5e-4, 20)
left.set_ylabel("rows in the working set (of 1,000)")
right.set_ylabel("relative gap, certified for all rows")
for axes in (left, right):
    axes.set_xlabel("products with X, in full-width iterations")
    axes.legend(loc="lower right" if axes is left else "upper right", fontsize=7)
figure.savefig(Path(__file__).with_name("working_set.png"), dpi=110)

"""Draw n_of_theta.png for algorithms.md: the levels of three rows, and their sum, as functions of theta."""

from pathlib import Path

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure

from jointsparse.norms import l1inf
from jointsparse.pipeline.figures.style import SHEET

A = np.array([[3.0, 2.0, 0.5], [2.0, 1.9, 1.8], [1.2, 0.2, 0.1]])
RADIUS = 2.5

thetas = np.linspace(0, 6, 601)
levels = np.array([np.abs(l1inf.prox(A, theta)).max(axis=1) for theta in thetas])
theta = l1inf.project(A, RADIUS, return_theta=True)[1]

style.use(SHEET)
figure = Figure(figsize=(6.4, 3.8))
axes = figure.subplots()
for i, row in enumerate(A):
    axes.plot(thetas, levels[:, i], lw=1.2, label=f"level of row ({', '.join(f'{x:g}' for x in row)})")
axes.plot(thetas, levels.sum(axis=1), "k", lw=2, label="N(θ), the sum of the levels")
axes.plot([0, theta, theta], [RADIUS, RADIUS, 0], "k:", lw=1)
axes.annotate(f"radius {RADIUS:g}, θ = {theta:.3g}", (theta, RADIUS), (theta + 0.3, RADIUS + 0.6))
axes.set_xlim(0, 6)
axes.set_ylim(0)
axes.set_xlabel("θ, the mass that every non-zero row loses")
axes.set_ylabel("level at which a row is clipped")
axes.legend(frameon=False, fontsize=8)
figure.savefig(Path(__file__).with_name("n_of_theta.png"), dpi=110)

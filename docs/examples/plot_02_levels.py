r"""
theta and mu: the mass that a row loses, and its level
======================================================

Projecting W onto the l1,∞ ball clips row i at a level :math:`\mu_i`. The level is 0 for a row
that becomes zero. All rows that stay non-zero lose the same mass :math:`\theta`, and rows with
less mass than that become zero (Quattoni et al. 2009, sec. 4). The sum of the levels, N(θ),
decreases as :math:`\theta` grows. The projection is where N(θ) equals the radius.
"""

import matplotlib.pyplot as plt
import numpy as np

from jointsparse.norms import l1inf

plt.style.use("jointsparse.pipeline.figures.jointsparse")
RADIUS = 5.0
W = np.array(
    [
        [3.4, -2.9, 2.2, 1.0, -0.4],
        [2.0, -2.0, 1.9, 1.8, -1.7],
        [-3.1, 0.5, 0.3, 0.2, 0.1],
        [1.5, 1.3, -1.0, 0.9, 0.8],
        [0.8, -0.6, 0.4, 0.2, 0.1],
    ]
)
B, theta, mu = l1inf.project(W, RADIUS, return_theta=True)
lost = np.abs(W).sum(axis=1) - np.abs(B).sum(axis=1)
print(f"theta {theta:.4g}, levels {mu.round(3)}, mass lost by each row {lost.round(3)}")

# %%
# `prox` takes a given mass off every row, so it gives N(θ) for any θ.

thetas = np.linspace(0, 1.02 * l1inf.dual_norm(W), 500)
levels = np.array([np.abs(l1inf.prox(W, t)).max(axis=1) for t in thetas])

# %%
# The blue part of each weight stays, and the hatched part is taken off. Rows 1 to 4 all lose
# the same mass.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.9), width_ratios=[1.5, 1])
places = 6.5 * np.arange(len(W))
for i, (size, kept) in enumerate(zip(np.abs(W), np.abs(B), strict=True)):
    x, cut = places[i] + np.arange(5), size > kept
    edge, face = ("C1", "#f6d5d8") if mu[i] else ("0.5", "0.9")
    left.bar(x, kept, width=0.9, color="C0")
    left.bar(
        x[cut],
        (size - kept)[cut],
        0.9,
        kept[cut],
        facecolor=face,
        edgecolor=edge,
        hatch="////",
        linewidth=0.6,
    )
    left.plot([x[0] - 0.7, x[-1] + 0.7], [mu[i], mu[i]], color="black", linewidth=1.6)
    left.text(
        x[2],
        size.max() + 0.1,
        f"level {mu[i]:.2f}\nloses {lost[i]:.2f}",
        ha="center",
        fontsize=9,
    )
    right.plot(thetas, levels[:, i], color="0.6", linewidth=1.2)
    at = 90 if i < 3 else 30
    right.text(
        thetas[at],
        levels[at, i],
        i + 1,
        fontsize=7,
        ha="center",
        va="center",
        bbox={"fc": "w", "ec": "none", "pad": 0.6},
    )
left.set(
    ylim=(0, 4.3), xlabel="row of W (feature); a bar for each task", ylabel="size of a weight"
)
left.set_xticks(places + 2, range(1, 6))
left.grid(axis="x", visible=False)
left.set_title(f"every row that stays non-zero loses θ = {theta:.2f}")
right.plot(
    thetas, levels.sum(axis=1), color="C0", linewidth=2.4, label="N(θ), the sum of the levels"
)
right.plot([], [], color="0.6", linewidth=1.2, label="level of each row")
right.plot([0, theta, theta], [RADIUS, RADIUS, 0], color="black", linestyle=":", linewidth=1.2)
right.plot(theta, RADIUS, "o", color="black")
right.annotate(
    f"radius {RADIUS:g}\nθ = {theta:.2f}", (theta, RADIUS), (12, 6), textcoords="offset points"
)
right.set(
    xlim=(0, thetas[-1]), ylim=(0, 11.5), xlabel="θ, the mass that a row loses", ylabel="level"
)
right.set_title("N(θ) meets the radius")
right.legend()
plt.show()

r"""
Groups: one-hot columns enter and leave together
================================================

A categorical variable becomes several columns, one for each category. With `groups` the norm
treats all columns of a variable as one row, :math:`\sum_g \max_{i \in g, k} |W_{ik}|`. The
model then uses a variable with all its categories or not at all. Without groups, categories
enter one by one, so that at many radii a variable is used only in part. A group with more
columns gains more by chance and therefore enters earlier; a larger weight in `feature_weights`
compensates for this. The radii of the two norms are not comparable, so the axes differ.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from jointsparse import JointSparseClassifier

plt.style.use("jointsparse.pipeline.figures.jointsparse")
N_CATEGORIES = {"colour": 5, "size": 4, "shape": 6, "maker": 8, "region": 5, "month": 12}
RELEVANT = ("colour", "shape", "region")  # variables that the labels depend on

rng = np.random.default_rng(3)
table = pd.DataFrame(
    {
        name: [f"{name} {c + 1}" for c in rng.integers(n, size=500)]
        for name, n in N_CATEGORIES.items()
    },
    dtype="category",
)
columns = pd.get_dummies(table, prefix="", prefix_sep="", dtype=float)
columns = columns[[f"{name} {c + 1}" for name, n in N_CATEGORIES.items() for c in range(n)]]
groups = [name.split()[0] for name in columns]
effects = np.where(
    np.isin(groups, RELEVANT)[:, np.newaxis], rng.normal(size=(len(groups), 6)), 0.0
)
F = columns.to_numpy() @ effects
Y = (F + rng.normal(size=F.shape) > np.median(F, axis=0)).astype(int)

# %%
# `path` fits increasing radii. For each radius and column the picture shows the largest
# weight over the 6 tasks.

paths = {
    "no groups": JointSparseClassifier(tol=1e-3).path(columns, Y, n_points=25),
    "groups: one per variable": JointSparseClassifier(groups=groups, tol=1e-3).path(
        columns, Y, n_points=25
    ),
}
starts = np.cumsum([0, *N_CATEGORIES.values()])
figure, panels = plt.subplots(1, 2, figsize=(9.6, 5.2), sharey=True)
for axes, (title, path) in zip(panels, paths.items(), strict=True):
    size = np.abs(path.coef).max(axis=1).T
    shown = np.ma.masked_equal(size / size.max(axis=0), 0)
    edges = np.geomspace(path.strength[0], path.strength[-1], len(path.strength) + 1)
    image = axes.pcolormesh(
        edges, np.arange(len(groups) + 1), shown, cmap="viridis_r", vmin=0, vmax=1
    )
    axes.hlines(starts[1:-1], *edges[[0, -1]], color="0.4", linewidth=0.8)
    axes.set(xscale="log", xlabel="radius", title=title, xlim=edges[[0, -1]])
    axes.grid(visible=False)
panels[0].invert_yaxis()
names = [f"{name}{' (relevant)' if name in RELEVANT else ''}" for name in N_CATEGORIES]
panels[0].set_yticks((starts[1:] + starts[:-1]) / 2, names)
panels[0].set_ylabel("one-hot columns, by variable")
figure.colorbar(image, ax=panels, label="largest |weight| of a column, relative (white: 0)")
plt.show()

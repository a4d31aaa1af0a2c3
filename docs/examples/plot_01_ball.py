r"""
The ball, and what projecting onto it does
==========================================

Feature 1 has a weight in each of two tasks, and feature 2 has a weight in one task. W is then
a point in three dimensions, so the balls can be drawn. The l1,∞ ball,
:math:`\max(|w_{11}|, |w_{12}|) + |w_{21}| \le 1`, is a double pyramid, and the l1 ball is an
octahedron (Quattoni et al. 2009, eq. 3). Projections of random points gather on edges and
corners. On the l1,∞ ball feature 1 is used either by both tasks or by none. On the l1 ball
many projections use it in one task only.
"""

import matplotlib.pyplot as plt
import numpy as np
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

from jointsparse.norms import l1, l1inf

plt.style.use("jointsparse.pipeline.figures.jointsparse")
rng = np.random.default_rng(0)
points = rng.normal(size=(900, 3))
points *= 1.5 / np.linalg.norm(points, axis=1, keepdims=True)  # all at the same distance from 0

# %%
# In W the weight of feature 2 in the second task is 0, and the projection keeps it 0. For the
# l1 norm, the three weights form one vector.


def onto_l1inf(point):
    B = l1inf.project([[point[0], point[1]], [point[2], 0.0]], radius=1.0)
    return B[0, 0], B[0, 1], B[1, 0]


def onto_l1(point):
    return l1.project(point[:, np.newaxis], radius=1.0)[:, 0]


onto = {"l1 ball": onto_l1, "l1,∞ ball": onto_l1inf}
projected = {
    name: np.array([project(point) for point in points]) for name, project in onto.items()
}
for name, ends in projected.items():
    users = np.count_nonzero(ends[:, :2], axis=1)
    print(
        f"{name}: feature 1 is used by 0, 1, 2 tasks in",
        *(f"{np.mean(users == n):.0%}" for n in range(3)),
    )

# %%
# Thin lines connect some of the points with their projections. Points on the far side of a
# ball are not drawn.

belts = {
    "l1 ball": [(1, 0), (0, 1), (-1, 0), (0, -1)],
    "l1,∞ ball": [(1, 1), (-1, 1), (-1, -1), (1, -1)],
}
looks = {0: ("C1", 70, "no task"), 1: ("C2", 12, "one task"), 2: ("C0", 12, "both tasks")}
elevation, azimuth = 24, -60
towards_us = np.array(
    [np.cos(np.radians(azimuth)), np.sin(np.radians(azimuth)), np.tan(np.radians(elevation))]
)

figure = plt.figure(figsize=(9.6, 4.7))
for i, (name, ends) in enumerate(projected.items()):
    axes = figure.add_subplot(1, 2, i + 1, projection="3d", computed_zorder=False)
    belt = [(*corner, 0) for corner in belts[name]]
    faces = [(belt[k], belt[(k + 1) % 4], (0, 0, top)) for k in range(4) for top in (1, -1)]
    axes.add_collection3d(
        Poly3DCollection(faces, facecolor="#cfd6ea", edgecolor="0.55", linewidth=0.8, alpha=0.5)
    )
    near = (points - ends) @ towards_us > 0
    some = np.flatnonzero(near)[:45]
    axes.add_collection3d(
        Line3DCollection(
            list(zip(points[some], ends[some], strict=True)), color="0.7", linewidth=0.6
        )
    )
    axes.scatter(*points[some].T, s=5, color="0.55", depthshade=False)
    users = np.count_nonzero(ends[:, :2], axis=1)
    for n, (colour, size, who) in looks.items():
        shown = ends[near & (users == n)]
        axes.scatter(
            *shown.T,
            s=size,
            color=colour,
            edgecolor="white",
            linewidth=0.3,
            depthshade=False,
            label=who,
        )
    axes.set_title(name, y=1.02)
    axes.set(xlabel="feature 1, task 1", ylabel="feature 1, task 2", zlabel="feature 2")
    axes.set(
        xlim=(-1, 1),
        ylim=(-1, 1),
        zlim=(-1, 1),
        xticks=[-1, 0, 1],
        yticks=[-1, 0, 1],
        zticks=[-1, 0, 1],
    )
    axes.set_box_aspect((1, 1, 1), zoom=0.9)
    axes.view_init(elevation, azimuth)
handles, labels = figure.axes[1].get_legend_handles_labels()
legend = figure.legend(
    handles, labels, title="feature 1 is used by", loc="outside lower center", ncols=3
)
legend.legend_handles[0].set_sizes([45])
plt.show()

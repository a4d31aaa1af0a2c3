"""
Missing labels
==============

In practice, not every sample is labelled for every task. Here an increasing share of the
labels of 12 tasks is missing; missing labels are NaN in the matrix of labels. A task that is
fitted alone then has few labels to learn from. The joint norm loses less AUC, because the
tasks share their features, as they do in these synthetic data.
"""

import matplotlib.pyplot as plt
import numpy as np

from jointsparse import JointSparseClassifierCV, task_scores
from jointsparse.pipeline.figures.style import looks

plt.style.use("jointsparse.pipeline.figures.jointsparse")
N_SAMPLES, N_FEATURES, N_TASKS, N_SHARED, N_DRAWS = 240, 80, 12, 6, 3
UNKNOWN = (0.0, 0.5, 0.8, 0.9)
RADII = (0.1, 0.3, 1, 2, 4)
NORMS = {"l1inf": "l1,∞, joint", "l1": "l1, each task alone", "l2": "l2, each task alone"}


def draw(rng, W, n):
    X = rng.normal(size=(n, N_FEATURES))
    F = X @ W
    return X, (F + F.std() * rng.normal(size=F.shape) > 0).astype(float)


# %%
# Held-out samples choose the radius. The same share of their labels is missing as in the
# training samples.

areas = np.empty((len(NORMS), N_DRAWS, len(UNKNOWN)))
for seed in range(N_DRAWS):
    rng = np.random.default_rng(seed)
    W = np.zeros((N_FEATURES, N_TASKS))
    shape = N_SHARED, N_TASKS
    W[:N_SHARED] = rng.choice([-1, 1], shape) * rng.uniform(0.5, 1, shape)
    (X, Y), (X_val, Y_val), test = (draw(rng, W, n) for n in (N_SAMPLES, N_SAMPLES, 1000))
    order, order_val = rng.random(Y.shape), rng.random(Y_val.shape)
    for i, share in enumerate(UNKNOWN):
        known = np.where(order < share, np.nan, Y)
        held_out = {"X_val": X_val, "y_val": np.where(order_val < share, np.nan, Y_val)}
        for j, norm in enumerate(NORMS):
            model = JointSparseClassifierCV(norm, RADII, tol=1e-2).fit(X, known, **held_out)
            areas[j, seed, i] = task_scores(model, *test).auc.mean()

# %%
# Missing labels cost the joint norm little until few labels are left.

figure, axes = plt.subplots(figsize=(7, 4.2))
places = np.arange(len(UNKNOWN))
for norm, runs in zip(NORMS, areas, strict=True):
    look = looks(["hinge-" + norm])["hinge-" + norm]
    axes.plot(places, runs.mean(axis=0), label=NORMS[norm], **look)
    axes.fill_between(
        places, runs.min(axis=0), runs.max(axis=0), color=look["color"], alpha=0.15, linewidth=0
    )
axes.set_xticks(places, [f"{share:.0%}\n{N_SAMPLES * (1 - share):.0f}" for share in UNKNOWN])
axes.set_xlabel("share of missing labels\nnumber of training labels per task")
axes.set_ylabel("AUC on test samples, mean over tasks")
axes.legend(title=f"line: mean of {N_DRAWS} draws; band: their range", title_fontsize=8)
plt.show()

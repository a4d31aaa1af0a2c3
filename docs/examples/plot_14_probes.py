"""
Which 50 units carry these 40 concepts?
=======================================

A probe is a linear classifier that reads a concept from the activations of a network. Probes of
many concepts on the same units are tasks over one matrix, and a joint norm asks the question
that is usually meant: which few units carry all of these concepts? Here we know the answer,
because the activations are drawn: 50 of 1,000 units carry 40 concepts in superposition, so that
each of these units responds to every concept.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from jointsparse import JointSparseClassifier, metrics

plt.style.use("jointsparse.pipeline.figures.jointsparse")

# %%
# A sample has each concept with a probability of 10 %. All units are rectified, and respond to
# 20 other factors and to noise. Activations are usually stored as float16, in files that may be
# larger than the memory. The estimators take such arrays, and compute in float32.

rng = np.random.default_rng(0)
N_UNITS, N_CARRIERS, N_CONCEPTS, N_TRAIN, N_SAMPLES = 1000, 50, 40, 400, 1400
carriers = np.sort(rng.choice(N_UNITS, N_CARRIERS, replace=False))
concepts = rng.random((N_SAMPLES, N_CONCEPTS)) < 0.1
directions = np.zeros((N_CONCEPTS, N_UNITS))
directions[:, carriers] = rng.normal(scale=0.5, size=(N_CONCEPTS, N_CARRIERS))
factors = rng.normal(size=(N_SAMPLES, 20)) @ rng.normal(scale=0.11, size=(20, N_UNITS))
noise = rng.normal(scale=0.87, size=(N_SAMPLES, N_UNITS))
activations = np.maximum(concepts @ directions + factors + noise, 0).astype(np.float16)

folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "activations.npy"
np.save(file, activations)
X = np.load(file, mmap_mode="r")
train, choice, test = np.split(np.arange(N_SAMPLES), [N_TRAIN, N_TRAIN + 500])

# %%
# Each norm has a path of radii, from few units to many. l1 fits each concept alone. On 500
# samples that no probe has seen, we choose the fit with the fewest units whose mean AUC is at
# most .01 below the best one.

NORMS = {"l1": "l1, each concept alone", "l1inf": "l1,∞, joint", "l12": "l1,2, joint"}
MULTIPLES = np.geomspace(0.05, 2, 12)  # of the unit of radii that radius="auto" computes


def auc(coef, intercept, samples):
    return metrics.auc(X[samples] @ coef.T + intercept, concepts[samples]).mean()


paths, chosen = {}, {}
for norm in NORMS:
    probe = JointSparseClassifier(norm, tol=1e-2)
    unit = probe.fit(X[train], concepts[train].astype(int)).radius_
    path = probe.path(X[train], concepts[train].astype(int), strengths=unit * MULTIPLES)
    fits = list(zip(path.coef, path.intercept, strict=True))
    on_choice = np.array([auc(*fit, choice) for fit in fits])
    first = np.flatnonzero(on_choice >= on_choice.max() - 0.01)[0]
    right = path.coef[:, :, carriers].any(axis=1).sum(axis=1)
    paths[norm] = path.n_features, right, [auc(*fit, test) for fit in fits]
    chosen[norm] = first, path.coef[first]
    print(
        f"{NORMS[norm]}: {path.n_features[first]} units, {right[first]} of the {N_CARRIERS}",
        f"carriers among them, AUC {paths[norm][2][first]:.3f} on test samples",
    )

# %%
# With every norm, the first 50 units in use are almost all carriers. Yet the joint probes read
# the concepts much better with these units: a unit that one concept uses is cheap for all other
# concepts, so that each concept can use all carriers. A probe of a single concept uses only
# some of the carriers, and adds other units. l1,2 is ahead of l1,∞, because the weights of a
# unit differ in size from concept to concept.

QUANTITIES = "carriers among the units in use", "mean AUC on test samples"
TICKS = [10, 20, 50, 100, 200, 500, 1000]
figure, panels = plt.subplots(1, 2, figsize=(9.6, 3.8))
for colour, (norm, name) in zip(("0.5", "C0", "C1"), NORMS.items(), strict=True):
    (n_units, right, on_test), (at, _) = paths[norm], chosen[norm]
    for axes, values in zip(panels, (right / n_units, on_test), strict=True):
        axes.plot(n_units, values, ".-", color=colour, label=name)
        axes.plot(n_units[at], values[at], "o", color=colour, markersize=9)
for axes, quantity in zip(panels, QUANTITIES, strict=True):
    axes.axvline(N_CARRIERS, color="0.8", linewidth=1, zorder=0)
    axes.set(
        xlabel="units in use", ylabel=quantity, xscale="log", xticks=TICKS, xticklabels=TICKS
    )
    axes.minorticks_off()
panels[0].yaxis.set_major_formatter("{x:.0%}")
panels[0].legend(title="dot: the chosen fit")

# %%
# Every cell below is a unit. Its colour tells how many concepts use it in the chosen fit, and
# red frames mark the carriers.

SHAPE = (25, 40)
figure, panels = plt.subplots(1, 3, figsize=(9.6, 3), sharex=True, sharey=True)
for axes, (norm, name) in zip(panels, NORMS.items(), strict=True):
    uses = (chosen[norm][1] != 0).sum(axis=0)
    image = axes.imshow(
        np.ma.masked_equal(uses, 0).reshape(SHAPE), cmap="viridis_r", vmin=1, vmax=N_CONCEPTS
    )
    rows, columns = np.unravel_index(carriers, SHAPE)
    axes.scatter(columns, rows, s=22, marker="s", facecolors="none", edgecolors="C1")
    axes.set_title(f"{name}\n{np.count_nonzero(uses)} units", fontsize=10)
    axes.grid(visible=False)
    axes.set(xticks=[], yticks=[])
figure.colorbar(image, ax=panels, label="concepts that use the unit (white: 0)", shrink=0.8)
plt.show()

"""
Which features can be trusted?
==============================

Six tasks depend on the same 8 of 100 features, and neighbouring features are correlated. The
radius that predicts best selects these features and many others. Stability selection fits
random halves of the samples and keeps the features that almost all halves select. It also
bounds the expected number of false selections, that is, of features that a half selects with a
low probability. (Shah & Samworth 2013.)
"""

import matplotlib.pyplot as plt
import numpy as np

from jointsparse import (
    JointSparseRegressor,
    JointSparseRegressorCV,
    StabilityDisplay,
    stability_selection,
)

plt.style.use("jointsparse.pipeline.figures.jointsparse")
N_SAMPLES, N_FEATURES, N_TASKS, CORRELATION, NOISE = 150, 100, 6, 0.5, 2.0
RELEVANT = np.arange(5, N_FEATURES, 13)

rng = np.random.default_rng(0)
W = np.zeros((N_FEATURES, N_TASKS))
W[RELEVANT] = rng.normal(size=(len(RELEVANT), N_TASKS))
distance = abs(np.subtract.outer(np.arange(N_FEATURES), np.arange(N_FEATURES)))
X = rng.normal(size=(N_SAMPLES, N_FEATURES)) @ np.linalg.cholesky(CORRELATION**distance).T
Y = X @ W + NOISE * rng.normal(size=(N_SAMPLES, N_TASKS))


def report(name, selected):
    right = np.isin(selected, RELEVANT).sum()
    print(
        f"{name}: {right} of {len(RELEVANT)} relevant features, {len(selected) - right} others"
    )


# %%
# Cross-validation chooses the radius for predictions.

chosen = JointSparseRegressorCV().fit(X, Y)
report("one fit", chosen.selected_features_)

# %%
# Each of 50 halves may now select at most 10 features. Features that 90 % of the halves select
# are kept. ``bound`` assumes only that samples are independent; ``unimodal_bound`` also assumes
# that the number of pairs of halves that agree on a feature has a distribution with one peak.

stability = stability_selection(JointSparseRegressor(tol=1e-2), X, Y, n_features=10)
report("stable", stability.selected)
print(f"expected false selections: {stability.bound:.2f} or less")
print(f"if frequencies are unimodal: {stability.unimodal_bound:.2f} or less")

# %%
# The bars show how many halves select a feature, the dots how many halves use it for a task.
# Relevant features have a star.

display = StabilityDisplay(stability).plot()
order = np.argsort(-stability.frequencies, kind="stable")[: len(display.ax_.patches)]
stars = np.flatnonzero(np.isin(order, RELEVANT))
display.ax_.plot(stars, np.full(len(stars), 1.05), "*", color="C1", clip_on=False)
display.ax_.set_title(display.ax_.get_title(), pad=16)
plt.show()

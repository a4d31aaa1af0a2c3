r"""
Learning from samples that arrive one by one
============================================

`OnlineJointSparseClassifier` takes a projected subgradient step for each sample. With steps of
size :math:`\eta_0 / \sqrt t` its regret grows at most like :math:`\sqrt T` (Zinkevich 2003).
The regret is the sum of the losses before each step minus the loss of the best fixed W. For
sparse samples an l1,∞ step writes only the rows of the sample's non-zero features, which
Quattoni et al. (2009, sec. 7) leave to future work. The time of a step therefore hardly
depends on the number of features.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from jointsparse import JointSparseClassifier, OnlineJointSparseClassifier

plt.style.use("jointsparse.pipeline.figures.jointsparse")
N_TASKS, N_SHARED, RADIUS = 8, 5, 3.0


def hinge(F, Y):
    return np.maximum(0, 1 - F * Y).sum(axis=1)


# %%
# A stream of samples whose labels depend on 5 of 50 features. One label in ten is flipped.

rng = np.random.default_rng(0)
W = np.zeros((50, N_TASKS))
W[:N_SHARED] = rng.choice([-1, 1], (N_SHARED, 1)) * rng.uniform(0.5, 1.5, (N_SHARED, N_TASKS))
X = rng.normal(size=(4000, 50))
Y = np.where((X @ W > 0) ^ (rng.random((4000, N_TASKS)) < 0.1), 1, -1)

online = OnlineJointSparseClassifier(radius=RADIUS, eta0=0.1, labels="signed").partial_fit(
    X[:1], Y[:1]
)
F = np.zeros(Y.shape)  # the decisions before each step
for t in range(1, len(X)):
    F[t] = online.decision_function(X[t : t + 1])
    online.partial_fit(X[t : t + 1], Y[t : t + 1])

# %%
# `fit` computes, with a certificate, the best fixed W for the first T samples.

horizons = np.geomspace(50, 4000, 9).astype(int)
setting = {"radius": RADIUS, "loss": "hinge", "labels": "signed", "fit_intercept": False}
regret = []
for T in horizons:
    best = JointSparseClassifier(**setting, tol=1e-3).fit(X[:T], Y[:T])
    regret.append(hinge(F[:T], Y[:T]).sum() - hinge(best.decision_function(X[:T]), Y[:T]).sum())

# %%
# Sparse samples have about 10 non-zero features each, out of more and more features. If the
# same samples are passed as dense arrays, a step writes all rows.


def microseconds(n_features, n_samples, dense):
    """Return the CPU time of a step."""
    rng = np.random.default_rng(1)
    X = sparse.random_array(
        (n_samples, n_features), density=10 / n_features, rng=rng, format="csr"
    )
    X = X.toarray() if dense else X
    Y = rng.choice([-1, 1], (n_samples, N_TASKS))
    model = OnlineJointSparseClassifier(
        radius=RADIUS, labels="signed", max_iter=1, random_state=0
    )
    start = time.process_time()
    model.fit(X, Y)
    return 1e6 * (time.process_time() - start) / n_samples


for dense in (True, False):
    microseconds(1000, 10, dense)  # loads the compiled functions
widths = [300, 1000, 3000, 10_000, 30_000, 100_000]
lazy = [microseconds(n_features, 2000, dense=False) for n_features in widths]
eager = [microseconds(n_features, 50, dense=True) for n_features in widths]

# %%
# Both axes are logarithmic, so a power of T is a straight line.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.2))
left.plot(horizons, regret, "C0o-", label="regret, l1,∞")
root = regret[-1] * np.sqrt(horizons / horizons[-1])
left.plot(horizons, root, "k--", linewidth=1, label="√T")
slope = np.polyfit(np.log(horizons), np.log(regret), 1)[0]
left.set(
    xscale="log",
    yscale="log",
    xlabel="number of samples, T",
    ylabel="regret (sum of hinge losses)",
)
left.set_yticks([200, 500, 1000, 2000], ["200", "500", "1,000", "2,000"])
left.yaxis.set_minor_formatter("")
left.set_title(f"regret grows like T to the power of {slope:.2f}")
left.legend()
right.plot(widths, eager, "C1s--", label="dense sample: all rows are written")
right.plot(widths, lazy, "C0o-", label="sparse sample: about 10 rows are written")
right.set(
    xscale="log", yscale="log", xlabel="features (rows of W)", ylabel="CPU time of a step (µs)"
)
right.set_title(f"{N_TASKS} tasks, l1,∞")
right.legend()
plt.show()

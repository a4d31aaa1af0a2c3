"""Score the estimators with different losses, intercepts, class weights and radii, on random data.

    python benchmarks/defaults.py

Prints the macro AUC of classifiers and the R^2 of regressors on test samples, for multiples of the natural unit of
radii. The estimators' defaults are the settings that are best, or close to the best, on all of these kinds of data.
"""

import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from measure import show
from sklearn.metrics import roc_auc_score

from jointsparse import JointSparseClassifier, JointSparseRegressor

SEEDS = 2
MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)  # radii, in natural units
LABELS: dict[str, dict[str, Any]] = {
    "rare": {},
    "rarer, few samples": {"n": 300, "shares": (0.03, 0.1)},
    "features around 1": {"shift": 1.0},
    "more features than samples": {"n": 400, "d": 600, "m": 30},
    "sparse": {"n": 800, "d": 400, "density": 0.05},
}
TARGETS: dict[str, dict[str, Any]] = {
    "little noise": {"noise": 0.3},
    "noise": {"noise": 1.0},
    "much noise": {"noise": 4.0},
    "more features than samples": {"n": 150, "d": 300, "noise": 1.0},
}


def features(rng: np.random.Generator, n: int, d: int, density: float, shift: float) -> np.ndarray:
    X = rng.normal(size=(n, d))
    return (np.abs(X) * (rng.random((n, d)) < density) if density < 1 else X) + shift


def weights(rng: np.random.Generator, d: int, m: int) -> np.ndarray:
    """Draw the weights of m tasks, each of which uses eight of the same 15 features."""
    W, shared = np.zeros((d, m)), rng.choice(d, 15, replace=False)
    for w in W.T:
        w[rng.choice(shared, 8, replace=False)] = rng.normal(size=8)
    return W


def labels(
    seed: int,
    n: int = 1000,
    d: int = 100,
    m: int = 14,
    shares: tuple[float, float] = (0.02, 0.3),
    density: float = 1.0,
    shift: float = 0.0,
) -> tuple[np.ndarray, ...]:
    """Return features and labels for training and for testing. shares: range of the fractions of positives."""
    rng = np.random.default_rng(seed)
    X = features(rng, 2 * n, d, density, shift)
    F = (X - shift) @ weights(rng, d, m)
    F = F / F.std(axis=0) + 0.5 * rng.logistic(size=F.shape)
    share = rng.uniform(*shares, m)
    Y = np.stack([np.quantile(f, 1 - part) < f for f, part in zip(F.T, share, strict=True)], axis=1).astype(int)
    return X[:n], Y[:n], X[n:], Y[n:]


def targets(seed: int, noise: float, n: int = 300, d: int = 50, m: int = 5) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, d))
    Y = X @ weights(rng, d, m) + noise * rng.normal(size=(2 * n, m))
    return X[:n], Y[:n], X[n:], Y[n:]


def classifiers() -> Iterator[dict[str, Any]]:
    for kind, options in LABELS.items():
        for loss, class_weight, intercept in product(("hinge", "logistic"), (None, "balanced"), (False, True)):
            model = JointSparseClassifier(loss=loss, class_weight=class_weight, fit_intercept=intercept, tol=1e-2)
            row = {"data": kind, "loss": loss, "class_weight": str(class_weight), "intercept": intercept}
            scores = np.zeros(len(MULTIPLES))
            for seed in range(SEEDS):
                X, Y, X_test, Y_test = labels(seed, **options)
                unit = model.set_params(radius="auto").fit(X, Y).radius_
                for i, multiple in enumerate(MULTIPLES):
                    F = model.set_params(radius=multiple * unit).fit(X, Y).decision_function(X_test)
                    scores[i] += roc_auc_score(Y_test, F, average="macro") / SEEDS
            yield row | dict(zip(map(str, MULTIPLES), scores, strict=True))


def regressors() -> Iterator[dict[str, Any]]:
    model = JointSparseRegressor(tol=1e-2)
    for kind, options in TARGETS.items():
        scores = np.zeros(len(MULTIPLES))
        for seed in range(SEEDS):
            X, Y, X_test, Y_test = targets(seed, **options)
            unit = model.set_params(radius="auto").fit(X, Y).radius_ / 2  # the default radius is two units
            for i, multiple in enumerate(MULTIPLES):
                scores[i] += model.set_params(radius=multiple * unit).fit(X, Y).score(X_test, Y_test) / SEEDS
        yield {"data": kind} | dict(zip(map(str, MULTIPLES), scores, strict=True))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    show("Macro AUC by multiples of the natural unit", pd.DataFrame(classifiers()))
    show("R^2 by multiples of the natural unit", pd.DataFrame(regressors()))

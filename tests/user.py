"""A typed script as a user would write it. `make lint` checks its types against the estimators, and a test runs it."""

import numpy as np
import pandas as pd

from jointsparse import JointSparseClassifier, JointSparseClassifierCV, JointSparseRegressor
from jointsparse.estimators import Path

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 6))
Y = pd.DataFrame(X[:, :3] + rng.normal(size=(60, 3)) > 0, columns=["a", "b", "c"]).astype("Int64")

classifier = JointSparseClassifier(
    "l1inf",
    2.0,
    warm_start=True,
    max_time=60.0,
    callback=lambda iteration, objective, gap: gap < 1e-3,
    feature_weights=np.ones(3),
    groups=["u", "u", "v", "v", "w", "w"],
    class_weight="balanced",
    l2=0.1,
).fit(X, Y.mask(rng.random((60, 3)) < 0.05), sample_weight=np.ones((60, 3)))
probable: pd.DataFrame = classifier.calibrate(X, Y).predict_proba(X)
kept: np.ndarray = classifier.transform(X)
path: Path = classifier.path(X, Y, n_points=3)
radius: float | None = JointSparseClassifierCV(cv=2, scoring="roc_auc", n_jobs=1).fit(X, Y).radius_
regressor = JointSparseRegressor(penalty=0.1).fit_tasks({"a": (X, X[:, 0]), "b": (X[:30], X[:30, 1])})
assert probable.shape == (60, 3) and radius and regressor.score(X, X[:, :2]) > 0.5

"""A typed script as a user would write it. `make lint` checks its types against the estimators, and a test runs it."""

import numpy as np
import pandas as pd

from jointsparse import JointSparseClassifier, JointSparseClassifierCV, JointSparseRegressor, JointSparseRegressorCV
from jointsparse.estimators import Path

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 6))
Y = (X[:, :3] + rng.normal(size=(60, 3)) > 0).astype(int)
named = pd.DataFrame(Y, columns=["a", "b", "c"]).astype("Int64").mask(rng.random((60, 3)) < 0.05)

classifier = JointSparseClassifier(
    "l1inf",
    2.0,
    warm_start=True,
    verbose=False,
    max_time=60.0,
    callback=lambda iteration, objective, gap: gap < 1e-3,
    feature_weights=np.ones(6),
    class_weight="balanced",
    positive=True,
    l2=0.1,
).fit(X, named, sample_weight=np.ones((60, 3)))
probable: pd.DataFrame = classifier.predict_proba(X)
weights: pd.DataFrame = classifier.coef_frame()
kept: np.ndarray = classifier.transform(X)
path: Path = classifier.path(X, Y, n_points=3)
calibrated = JointSparseClassifier(loss="hinge", groups=["u", "u", "v", "v", "w", "w"]).fit(X, Y).calibrate(X, Y)
assert calibrated.predict_proba(X).shape == (60, 3) and path.n_features.shape == path.gap.shape == (3,)

search = JointSparseClassifierCV(cv=2, scoring="roc_auc", selection="one_standard_error", n_jobs=1).fit(X, named)
radius: float | None = search.radius_
assert radius is not None and search.scores_.shape == (len(search.grid_), 2)

regressor = JointSparseRegressor(penalty=0.1).fit_tasks({"a": (X, X[:, 0]), "b": (X[:30], X[:30, 1])})
score: float = JointSparseRegressorCV(radii=3, cv=2).fit(X, X[:, :2]).best_score_
assert regressor.coef_frame().shape == (6, 2) and score > 0.5

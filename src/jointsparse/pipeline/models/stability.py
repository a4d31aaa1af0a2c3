"""How often each feature is selected on random halves of the images from which a saved model has learnt."""

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from jointsparse.checks import require_extra
from jointsparse.estimators.classifier import JointSparseClassifier
from jointsparse.estimators.stability import stability_selection
from jointsparse.features.basis import factors
from jointsparse.registry import pick

require_extra(__name__, "pandas")
import pandas as pd  # noqa: E402

COLUMNS = ("feature", "name", "used", "halves", "of", "threshold", "bound")


def stability(
    model: Pipeline,
    X: Any,
    labels: np.ndarray,
    *,
    singular_values: np.ndarray | None,
    n_pairs: int,
    seed: int,
    groups: np.ndarray | None = None,
) -> pd.DataFrame:
    """Count the random halves of the known images on which a fit with the norm and radius of a model uses each feature.

    Parameters
    ----------
    model : Pipeline
        See `annotator.annotator`.
    X : array or csr_matrix, shape (n_known, n_features)
        Features of the known images, in the basis of the model if it has one.
    labels : array, shape (n_known, n_words)
        Which image has which word, see `final.Final`.
    singular_values : array, shape (n_features,), or None
        Singular values of the basis of the model; None without a basis.
    n_pairs : int, at least 1
        Number of pairs of halves.
    seed : int
        Seed of the random generator that draws the halves.
    groups : int array, shape (n_known,), or None
        The group of each known image. No half divides a group.

    Returns
    -------
    table
        A row for each feature, the most frequent features first; no rows if the norm of the model selects no features.
        The columns are

        - `feature`: the index of the feature, which counts from 0;
        - `name`: its name, or "feature" and the index;
        - `used`: True if the model uses the feature;
        - `halves`: the number of halves on which a fit uses the feature for at least one word;
        - `of`: the number of halves;
        - `threshold`, `bound`: a frequency, and the bound on the expected number of false selections among all features
          that are used on at least this fraction of the halves, see `StabilitySelection.bound`.
    """
    classifier, n_features = model[-1], X.shape[1]
    if not pick("norms", classifier.norm).SPARSE:
        return pd.DataFrame(columns=COLUMNS)
    names, columns = model.columns_, np.arange(n_features)
    if singular_values is not None:
        names, columns, power = [], model["basis"].columns_, model["basis"].power
        X = (X * factors(singular_values, [power])[power]).astype(X.dtype)
    selection = stability_selection(
        JointSparseClassifier(classifier.norm, classifier.radius_, loss=classifier.loss),
        X,
        pd.DataFrame(np.where(labels >= 0, labels == 1, np.nan), columns=list(classifier.classes_)),
        n_pairs=n_pairs,
        sample_groups=groups,
        random_state=seed,
    )
    halves = np.rint(2 * n_pairs * selection.frequencies).astype(int)
    used = np.isin(np.arange(n_features), columns[classifier.coef_.any(axis=0)])
    names = names or [f"feature {i}" for i in range(n_features)]
    values = (np.arange(n_features), names, used, halves, 2 * n_pairs, selection.threshold, selection.bound)
    table = pd.DataFrame(dict(zip(COLUMNS, values, strict=True)))
    return table.sort_values("halves", ascending=False, kind="stable", ignore_index=True)

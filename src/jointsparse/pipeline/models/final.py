"""The final fit of a study: one model of all its labelled images, with probabilities, and its numbers on test images.

The comparison of methods learns from few images of each word, as the papers do. What is kept learns from all.
"""

import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold

from jointsparse.checks import require, require_extra
from jointsparse.estimators.classifier import JointSparseClassifier, platt_scaling
from jointsparse.estimators.search import FOLD_TOL, JointSparseClassifierCV, choose, strata
from jointsparse.metrics import by_rank, estimates, resample, resampled

require_extra(__name__, "pandas")
import pandas as pd  # noqa: E402

KNOWN = ("train", "validation")  # splits that a final fit learns from
N_FOLDS = 5
LOG = logging.getLogger(__name__)
METRICS = ("auc", "precision_of_first", "average_precision")  # and how the names of their intervals' ends begin
ALL_WORDS = "(all words)"  # names the row of means


class Final(NamedTuple):
    """A final fit.

    Attributes
    ----------
    model : JointSparseClassifierCV
        Trained on all known images. Its classes are the words, its calibration is that of `scores`.
    power : float
        Of the singular values in its features.
    scores : array (n_known, n_words)
        Decisions on each known image, of a model with the same radius that was trained on other folds.
    labels : bool array (n_known, n_words)
        Which known image has which word.
    """

    model: JointSparseClassifierCV
    power: float
    scores: np.ndarray
    labels: np.ndarray


def fit(
    X: Any, labels: np.ndarray, words: Sequence[str], *, norm: str, scales: Mapping[float, Any], loss: str = "logistic"
) -> Final:
    """Choose a radius by folds, calibrate on what each fold has not seen, and train on all known images.

    Parameters
    ----------
    X : array or csr_matrix, shape (n_known, n_features)
        Features of the training and validation images.
    labels : bool array, shape (n_known, n_words)
        Which image has which word.
    words : list of str, (n_words,)
        Their names.
    norm : str
        A name in `jointsparse.norms.NORMS`.
    scales : mapping
        Power of the singular values -> factors (n_features,) of the features; see `features.basis.factors`. The power
        with the best mean AUC over the folds is taken.
    loss : str
        The loss.

    Returns
    -------
    final : Final

    Raises
    ------
    ValueError
        If a word is in all images, in none, or in fewer than two.
    """
    rare = [word for word, y in zip(words, labels.T, strict=True) if min((y == 1).sum(), (y == 0).sum()) < 2]
    require(not rare, f"each word must be in at least two of {len(labels)} known images, and not in two, got {rare}")
    has, known = labels == 1, labels >= 0
    Y = pd.DataFrame(has.astype(int), columns=list(words)).where(known)
    fits = {
        power: JointSparseClassifierCV(norm, loss=loss, cv=N_FOLDS).fit(_scaled(X, factors), Y)
        for power, factors in (scales or {1.0: None}).items()
    }
    power = max(fits, key=lambda power: fits[power].best_score_)
    model, features = fits[power], _scaled(X, (scales or {1.0: None})[power])
    scores = np.empty(labels.shape)
    by = strata(np.where(has, 1, -1), N_FOLDS)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(by, by)
    for number, (taught, held_out) in enumerate(folds, start=1):
        LOG.info("%s, radius %.4g, fold %d of %d for probabilities", norm, model.radius_, number, N_FOLDS)
        fold = JointSparseClassifier(norm, model.radius_, loss=loss, tol=FOLD_TOL).fit(features[taught], Y.iloc[taught])
        scores[held_out] = fold.decision_function(features[held_out])
    model.calibration_ = platt_scaling(scores, np.where(has, 1, -1), known.astype(float))
    return Final(model, power, scores, labels)


def fit_and_test(
    X: Any,
    labels: np.ndarray,
    split: np.ndarray,
    words: Sequence[str],
    *,
    norm: str,
    scales: Mapping[float, Any],
    n_resamples: int,
    seed: int,
) -> tuple[Final, pd.DataFrame]:
    """Fit on training and validation images together, and look at the test images once.

    Parameters
    ----------
    X : array or csr_matrix, shape (n_images, n_features)
        Features of all images.
    labels : bool array, shape (n_images, n_words)
        Which image has which word.
    split : text array, shape (n_images,)
        The split of each.
    words, norm, scales : as in `fit`
        See there.
    n_resamples, seed : int
        See `tested`.

    Returns
    -------
    final : Final
    table
        See `table`.
    """
    known, on_test = np.isin(split, KNOWN), split == "test"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "features differ in size")  # which says nothing of these
        final = fit(X[known], labels[known], words, norm=norm, scales=scales)
    features = _scaled(X[on_test], scales[final.power] if scales else None)
    scores = np.asarray(final.model.decision_function(features))
    numbers = tested(scores, labels[on_test], n_resamples=n_resamples, seed=seed)
    return final, table(final, numbers, labels[on_test] == 1, norm)


def _scaled(X: Any, factors: np.ndarray | None) -> Any:
    """The features times their factors, in the type that they came in."""
    return X if factors is None else (X * factors).astype(X.dtype)


def tested(scores: np.ndarray, labels: np.ndarray, *, n_resamples: int, seed: int) -> dict[str, np.ndarray]:
    """AUC, average precision and precision of the first `metrics.FIRST` images of each word, and of their mean.

    Parameters
    ----------
    scores, labels : arrays, shape (n_images, n_words)
        Decisions on test images, and which has which word, bool.
    n_resamples : int
        Resamples of the images, for the intervals.
    seed : int
        Of the resamples.

    Returns
    -------
    numbers : dict
        Metric -> array (3, n_words + 1): the number, and the ends of its interval of 95 %. The last column is the mean
        of the words. NaN for words that no test image has, or all have; they do not count in the mean.
    """
    counts = resample(len(labels), n_resamples, np.random.default_rng(seed))
    resamples = {"auc": resampled(scores, labels, counts)[0]}
    resamples["precision_of_first"], resamples["average_precision"] = by_rank(scores, labels, counts)
    # A resample without the word, or with it alone, does not count.
    return {
        metric: estimates(np.where(np.isnan(resamples["auc"]), np.nan, values)) for metric, values in resamples.items()
    }


def table(final: Final, numbers: Mapping[str, np.ndarray], on_test: np.ndarray, norm: str) -> pd.DataFrame:
    """A row for each word of a final fit, and the row "all words" with means.

    Parameters
    ----------
    final : Final
        The fit.
    numbers : dict
        From `tested`.
    on_test : bool array, shape (n_images, n_words)
        Which test image has which word.
    norm : str
        Its norm.

    Returns
    -------
    table
        Columns norm, word, images (known ones that have it), test_images (likewise), features (in use), each metric
        with its low and high end, radius, power, and gap, the certified one.
    """
    model, W = final.model, final.model.coef_
    columns: dict[str, Any] = {
        "norm": norm,
        "word": [*map(str, final.model.classes_), ALL_WORDS],
        "images": [*(final.labels == 1).sum(axis=0), int((final.labels == 1).any(axis=1).sum())],
        "test_images": [*on_test.sum(axis=0), int(on_test.any(axis=1).sum())],
        "features": [*(W != 0).sum(axis=1), int(W.any(axis=0).sum())],
    }
    for metric, (value, low, high) in numbers.items():
        columns |= {metric: value, f"{metric}_low": low, f"{metric}_high": high}
    return pd.DataFrame(columns | {"radius": model.radius_, "power": final.power, "gap": model.duality_gap_})


def chosen_norm(models: Mapping[str, JointSparseClassifierCV]) -> str:
    """Return the norm that folds choose of final fits on the same folds, by norm.

    As with `JointSparseClassifierCV(norm="auto")` it is the one with the fewest features whose score is within one
    standard error of the best over the folds.
    """
    return choose({norm: model.results_by_norm_[norm] for norm, model in models.items()}, penalised=False)[0]


def norms(models: Mapping[str, JointSparseClassifierCV], tables: Sequence[pd.DataFrame], kept: str) -> pd.DataFrame:
    """Compare the final fits of a dataset: a row for each norm.

    Parameters
    ----------
    models : mapping
        The fits by norm.
    tables : list of tables
        Of each fit, see `table`.
    kept : str
        The norm of the fit that is kept.

    Returns
    -------
    table
        Columns norm, kept, validation (the mean AUC over the folds), features (in use), of (all features), and the
        means over the words on the test images: each metric with its low and high end.
    """
    rows = []
    for (norm, model), words in zip(models.items(), tables, strict=True):
        mean = words.iloc[-1]
        numbers = {key: mean[key] for key in words.columns if key.startswith(METRICS)}
        used = {"features": mean["features"], "of": model.coef_.shape[1]}
        rows.append({"norm": norm, "kept": norm == kept, "validation": model.best_score_} | used | numbers)
    return pd.DataFrame(rows)

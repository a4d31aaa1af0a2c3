"""The final fit of a study, with calibrated probabilities and test scores.

In the comparisons of methods, each word is learnt from few images, as in the papers. The final fit, which a run saves,
is learnt from all labelled training and validation images.
"""

import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold

from jointsparse.checks import require, require_extra, select
from jointsparse.estimators.classifier import JointSparseClassifier, platt_scaling
from jointsparse.estimators.search import FOLD_TOL, JointSparseClassifierCV, choose, strata
from jointsparse.learning.radii import first_of_best
from jointsparse.metrics import by_rank, estimates, resample, resampled

require_extra(__name__, "pandas")
import pandas as pd  # noqa: E402

KNOWN = ("train", "validation")  # the splits that a final fit learns from
N_FOLDS = 5
LOG = logging.getLogger(__name__)
METRICS = ("auc", "precision_of_first", "average_precision")  # names of columns, and prefixes of the interval columns
ALL_WORDS = "(all words)"  # name of the row of means


class Final(NamedTuple):
    """The final fit of a study, which is trained on its training and validation images together.

    Attributes
    ----------
    model : JointSparseClassifierCV
        The model, trained on all known images. Its classes are the words, and its calibration was fitted to `scores`.
    power : float
        Power of the singular values in the features.
    scores : array (n_known, n_words)
        Held-out scores of each known image, from a model with the same radius that was trained on the other folds.
    labels : bool array (n_known, n_words)
        Which known image has which word. If some labels are unknown, int8 with 1, 0, and -1 for unknown.
    """

    model: JointSparseClassifierCV
    power: float
    scores: np.ndarray
    labels: np.ndarray


def fit(
    X: Any, labels: np.ndarray, words: Sequence[str], *, norm: str, scales: Mapping[float, Any], loss: str = "logistic"
) -> Final:
    """Choose the radius by cross-validation, calibrate on held-out scores, and train on all known images.

    Parameters
    ----------
    X : array or csr_matrix, shape (n_known, n_features)
        Features of the training and validation images.
    labels : array, shape (n_known, n_words)
        Which image has which word, see `Final`.
    words : list of str, (n_words,)
        Names of the words.
    norm : str
        A name in `jointsparse.norms.NORMS`.
    scales : mapping
        For each power of the singular values, the factors (n_features,) by which the features are scaled, see
        `features.basis.factors`. The power with the best mean AUC over the folds is chosen; in a tie, the
        first one. If the mapping is empty, the features are not scaled.
    loss : str
        Name of the loss.

    Returns
    -------
    final : Final

    Raises
    ------
    ValueError
        If fewer than two images have some word, or if fewer than two lack it.
    """
    rare = [word for word, y in zip(words, labels.T, strict=True) if min((y == 1).sum(), (y == 0).sum()) < 2]
    require(
        not rare,
        f"of the {len(labels)} known images at least two must have each word and at least two must lack it, got {rare}",
    )
    has, known = labels == 1, labels >= 0
    Y = pd.DataFrame(has.astype(int), columns=list(words)).where(known)
    fits = {
        power: JointSparseClassifierCV(norm, loss=loss, cv=N_FOLDS).fit(_scaled(X, factors), Y)
        for power, factors in (scales or {1.0: None}).items()
    }
    power = list(fits)[first_of_best(np.array([fit.best_score_ for fit in fits.values()]))]
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
    """Fit a model on the training and validation images together, then evaluate it on the test images.

    Parameters
    ----------
    X : array or csr_matrix, shape (n_images, n_features)
        Features of all images.
    labels : array, shape (n_images, n_words)
        Which image has which word, see `Final`.
    split : text array, shape (n_images,)
        Split of each image.
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
        warnings.filterwarnings("ignore", "features differ in size")  # the features of a basis do so by design
        final = fit(select(X, known), labels[known], words, norm=norm, scales=scales)
    features = _scaled(select(X, on_test), scales[final.power] if scales else None)
    scores = np.asarray(final.model.decision_function(features))
    numbers = tested(scores, labels[on_test], n_resamples=n_resamples, seed=seed)
    return final, table(final, numbers, labels[on_test] == 1, norm)


def _scaled(X: Any, factors: np.ndarray | None) -> Any:
    """Return the features times their factors, with the same dtype."""
    return X if factors is None else (X * factors).astype(X.dtype)


def tested(scores: np.ndarray, labels: np.ndarray, *, n_resamples: int, seed: int) -> dict[str, np.ndarray]:
    """Return AUC, average precision, and precision among the top `metrics.FIRST` images of each word, with intervals.

    Parameters
    ----------
    scores, labels : arrays, shape (n_images, n_words)
        Scores of the test images, and which test image has which word, see `Final`.
    n_resamples : int
        Number of bootstrap resamples of the images for the intervals.
    seed : int
        Seed of the random generator that draws the resamples.

    Returns
    -------
    numbers : dict
        For each metric an array (3, n_words + 1), whose rows are the value and the two ends of its 95 % interval. The
        last column is the mean over the words. The columns of words that all test images have or lack are NaN and are
        left out of the mean.
    """
    counts = resample(len(labels), n_resamples, np.random.default_rng(seed))
    resamples = {"auc": resampled(scores, labels, counts)[0]}
    resamples["precision_of_first"], resamples["average_precision"] = by_rank(scores, labels, counts)
    # A resample in which all images have the word, or none, does not count.
    return {
        metric: estimates(np.where(np.isnan(resamples["auc"]), np.nan, values)) for metric, values in resamples.items()
    }


def table(final: Final, numbers: Mapping[str, np.ndarray], on_test: np.ndarray, norm: str) -> pd.DataFrame:
    """Return the table of a final fit, with a row for each word and a last row of means.

    Parameters
    ----------
    final : Final
        The fit.
    numbers : dict
        Result of `tested`.
    on_test : bool array, shape (n_images, n_words)
        Which test image has which word.
    norm : str
        Norm of the fit.

    Returns
    -------
    table
        The columns are

        - `norm`, `word`;
        - `images`, `test_images`: the number of known images and of test images with the word;
        - `features`: the number of features in use;
        - each metric in `METRICS`, and the ends of its interval in columns with the suffixes `_low` and `_high`;
        - `radius`, `power`;
        - `gap`: the certified duality gap.
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
    """Return the norm that cross-validation chooses. models: for each norm its final fit, all on the same folds.

    As in `JointSparseClassifierCV(norm="auto")`, the fit with the fewest features is chosen among those whose score is
    within one standard error of the best.
    """
    return choose({norm: model.results_by_norm_[norm] for norm, model in models.items()}, penalised=False)[0]


def norms(models: Mapping[str, JointSparseClassifierCV], tables: Sequence[pd.DataFrame], kept: str) -> pd.DataFrame:
    """Return a table that compares the final fits of a dataset, with a row for each norm.

    Parameters
    ----------
    models : mapping
        The fits by norm.
    tables : list of tables
        The table of each fit, as returned by `table`.
    kept : str
        Norm of the fit that the run saves.

    Returns
    -------
    table
        The columns are

        - `norm`;
        - `kept`: True for the fit that the run saves;
        - `validation`: the mean AUC over the folds;
        - `features`, `of`: the number of features in use, and the total number of features;
        - for each metric in `METRICS` its mean over the words, and the ends of the interval of the mean.
    """
    rows = []
    for (norm, model), words in zip(models.items(), tables, strict=True):
        mean = words.iloc[-1]
        numbers = {key: mean[key] for key in words.columns if key.startswith(METRICS)}
        used = {"features": mean["features"], "of": model.coef_.shape[1]}
        rows.append({"norm": norm, "kept": norm == kept, "validation": model.best_score_} | used | numbers)
    return pd.DataFrame(rows)

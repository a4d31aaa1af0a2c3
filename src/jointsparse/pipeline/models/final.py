"""The final fit of a study, with calibrated probabilities and test scores.

In the comparisons of methods, each word is learnt from few images, as in the papers. The final fit, which a run saves,
is learnt from all labelled training and validation images.
"""

import logging
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from jointsparse.arrays import select
from jointsparse.checks import require, require_extra
from jointsparse.estimators.classifier import JointSparseClassifier, platt_scaling
from jointsparse.estimators.search import FOLD_TOL, JointSparseClassifierCV, choose, strata
from jointsparse.learning.radii import first_of_best
from jointsparse.metrics import STATISTICS, estimates, resample

require_extra(__name__, "pandas")
import pandas as pd  # noqa: E402

KNOWN = ("train", "validation")  # the splits that a final fit learns from
N_FOLDS = 5
ENOUGH = 2000  # Choice: from this number of known images on, the radius is chosen on a single split
HELD_OUT = (0.1, 0.5)  # the fraction of validation images among the known ones that makes a good split
LOSS = "logistic"
LOG = logging.getLogger(__name__)
ALL_WORDS = "(all words)"  # name of the row of means


class Chosen(NamedTuple):
    """A fit to the known images, which are the training and validation images together.

    Attributes
    ----------
    model : JointSparseClassifier or JointSparseClassifierCV
        The model, trained on all known images. Its classes are the words.
    power : float
        Power of the singular values in the features.
    labels : bool array (n_known, n_words)
        Which known image has which word. If some labels are unknown, int8 with 1, 0, and -1 for unknown.
    """

    model: JointSparseClassifier | JointSparseClassifierCV
    power: float
    labels: np.ndarray


class Fit(NamedTuple):
    """A final fit as arrays, as a run stores it for each norm.

    Attributes
    ----------
    norm, words
        The norm, and the names of the words, (n_words,).
    coef, intercept, radius, gap
        The weights, (n_words, n_features), intercepts, (n_words,), radius and duality gap of the fit.
    score : float
        Mean score of this radius on held-out images.
    scores, errors, features : arrays, (n_radii, …)
        Results of all radii, see `JointSparseClassifierCV.results_by_norm_`.
    """

    norm: np.ndarray
    words: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    radius: np.ndarray
    gap: np.ndarray
    score: np.ndarray
    scores: np.ndarray
    errors: np.ndarray
    features: np.ndarray

    @classmethod
    def of(cls, model: JointSparseClassifierCV) -> "Fit":
        """Return the arrays of a fitted model."""
        results = model.results_by_norm_[model.norm]
        return cls(
            norm=np.array(model.norm),
            words=np.array([str(word) for word in model.classes_]),
            coef=model.coef_,
            intercept=model.intercept_,
            radius=np.array(model.radius_),
            gap=np.array(model.duality_gap_),
            score=np.array(model.best_score_),
            **{name: results[name] for name in ("scores", "errors", "features")},
        )

    def model(self) -> JointSparseClassifier:
        """Return the fitted classifier."""
        return JointSparseClassifier.from_coef(
            self.coef,
            self.intercept,
            self.words.tolist(),
            gap=float(self.gap),
            norm=str(self.norm),
            radius=float(self.radius),
            loss=LOSS,
        )


class Final(NamedTuple):
    """The final fit of a study, with calibrated probabilities.

    Attributes
    ----------
    model, power, labels : as in `Chosen`
        The calibration of the model was fitted to `scores`.
    scores : array (n_known, n_words)
        Held-out scores of each known image, from a model with the same radius that was trained on the other folds.
    """

    model: JointSparseClassifier | JointSparseClassifierCV
    power: float
    labels: np.ndarray
    scores: np.ndarray


def fit(
    X: Any,
    labels: np.ndarray,
    words: Sequence[str],
    *,
    norm: str,
    scales: Mapping[float, Any],
    validation: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> Chosen:
    """Choose the radius on held-out images, and train on all known images.

    From ENOUGH images on, a single split replaces the folds, because five times as many fits would change the AUC by
    less than 0.001.

    Parameters
    ----------
    X : array or csr_matrix, shape (n_known, n_features)
        Features of the training and validation images.
    labels : array, shape (n_known, n_words)
        Which image has which word, see `Chosen`.
    words : list of str, (n_words,)
        Names of the words.
    norm : str
        A name in `jointsparse.norms.NORMS`.
    scales : mapping
        For each power of the singular values, the factors (n_features,) by which the features are scaled, see
        `features.basis.factors`. The power with the best mean AUC on held-out images is chosen; in a tie, the
        first one. If the mapping is empty, the features are not scaled.
    validation : bool array, shape (n_known,), or None
        Which images are validation images.
    groups : int array, shape (n_known,), or None
        The group of each image. Images of a group are held out together.

    Returns
    -------
    chosen : Chosen

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
    Y, cv = _targets(labels, words), splits(labels, validation, groups)
    together = {} if groups is None else {"groups": groups}
    fits = {
        power: JointSparseClassifierCV(norm, loss=LOSS, cv=cv).fit(_scaled(X, factors), Y, **together)
        for power, factors in (scales or {1.0: None}).items()
    }
    power = list(fits)[first_of_best(np.array([fit.best_score_ for fit in fits.values()]))]
    return Chosen(fits[power], power, labels)


def splits(
    labels: np.ndarray, validation: np.ndarray | None, groups: np.ndarray | None = None
) -> list[tuple[np.ndarray, np.ndarray]] | int:
    """Return the folds on which the radius is chosen, or their number, or, for many images, a single split.

    The split holds out the validation images or, if they are too few or too many, or if some of their groups are among
    the training images, a stratified fifth of all images.

    Parameters
    ----------
    labels, validation, groups : as in `fit`
        See there.
    """
    if len(labels) < ENOUGH:
        return N_FOLDS if groups is None else _folds(labels, groups)
    if validation is not None and HELD_OUT[0] <= validation.mean() <= HELD_OUT[1]:
        taught, held_out = np.flatnonzero(~validation), np.flatnonzero(validation)
        if groups is None or not np.isin(groups[held_out], groups[taught]).any():
            return [(taught, held_out)]
    return _folds(labels, groups)[:1]


def _folds(labels: np.ndarray, groups: np.ndarray | None) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the training and the held-out images of N_FOLDS folds, which are stratified by the rarest words.

    No fold divides a group. There are fewer folds if there are fewer groups. Raises ValueError if there is only one.
    """
    by = strata(np.where(labels == 1, 1, -1), N_FOLDS)
    if groups is None:
        return list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(by, by))
    n_groups = len(np.unique(groups))
    require(
        n_groups > 1,
        f"the {len(labels)} known images must be from at least two groups, got {n_groups}: leave out the option group "
        "or group_by, or give other groups",
    )
    return list(StratifiedGroupKFold(min(N_FOLDS, n_groups), shuffle=True, random_state=0).split(by, by, groups))


def _targets(labels: np.ndarray, words: Iterable[Any]) -> pd.DataFrame:
    """Return the labels as a table with a column of 0, 1 and NaN for each word."""
    return pd.DataFrame((labels == 1).astype(int), columns=list(words)).where(labels >= 0)


def calibrated(chosen: Chosen, X: Any, factors: np.ndarray | None = None, groups: np.ndarray | None = None) -> Final:
    """Fit the calibration of a model to held-out scores of the known images, from fits to the other folds.

    Parameters
    ----------
    chosen : Chosen
        The fit. The calibration is stored in its model.
    X : array or csr_matrix, shape (n_known, n_features)
        Features of the known images.
    factors : array, shape (n_features,), or None
        Factors by which the features are scaled for the power of the fit.
    groups : int array, shape (n_known,), or None
        The group of each known image. Images of a group are held out together.

    Returns
    -------
    final : Final
    """
    model, _, labels = chosen
    features, Y, scores = _scaled(X, factors), _targets(labels, model.classes_), np.empty(labels.shape)
    folds = _folds(labels, groups)
    for number, (taught, held_out) in enumerate(folds, start=1):
        LOG.info("%s, radius %.4g, fold %d of %d for probabilities", model.norm, model.radius_, number, len(folds))
        fold = JointSparseClassifier(model.norm, model.radius_, loss=LOSS, tol=FOLD_TOL)
        with _quiet():
            scores[held_out] = fold.fit(features[taught], Y.iloc[taught]).decision_function(features[held_out])
    model.calibration_ = platt_scaling(scores, np.where(labels == 1, 1, -1), (labels >= 0).astype(float))
    return Final(*chosen, scores)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the warning that features differ in size, which the features of a basis do by design."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "features differ in size")
        yield


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
    groups: np.ndarray | None = None,
) -> tuple[Chosen, pd.DataFrame]:
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
    groups : int array, shape (n_images,), or None
        The group of each image. Folds and resamples divide no group.

    Returns
    -------
    chosen : Chosen
    table
        See `table`.
    """
    known, on_test = np.isin(split, KNOWN), split == "test"
    known_features, test_features = select(X, known), select(X, on_test)
    del X  # frees the memory of the features, unless the caller keeps them
    of_known, of_test = (None if groups is None else groups[mask] for mask in (known, on_test))
    given = {"norm": norm, "scales": scales, "validation": split[known] == "validation", "groups": of_known}
    with _quiet():
        chosen = fit(known_features, labels[known], words, **given)
    scaled = _scaled(test_features, scales[chosen.power] if scales else None)
    scores = np.asarray(chosen.model.decision_function(scaled))
    numbers = tested(scores, labels[on_test], n_resamples=n_resamples, seed=seed, groups=of_test)
    return chosen, table(chosen, numbers, labels[on_test] == 1, norm)


def _scaled(X: Any, factors: np.ndarray | None) -> Any:
    """Return the features times their factors, with the same dtype."""
    return X if factors is None else (X * factors).astype(X.dtype)


def tested(
    scores: np.ndarray, labels: np.ndarray, *, n_resamples: int, seed: int, groups: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Return the statistics of each word with their intervals.

    Parameters
    ----------
    scores, labels : arrays, shape (n_images, n_words)
        Scores of the test images, and which test image has which word, see `Final`.
    n_resamples : int
        Number of bootstrap resamples of the images for the intervals.
    seed : int
        Seed of the random generator that draws the resamples.
    groups : int array, shape (n_images,), or None
        The group of each test image. Whole groups are resampled.

    Returns
    -------
    numbers : dict
        For each key of `metrics.STATISTICS` an array (3, n_words + 1), whose rows are the value and the two ends of its
        95 % interval. The last column is the mean over the words. The columns of words that all test images have or
        lack are NaN and are left out of the mean. A resample in which all images have a word, or none, does not count.
    """
    counts = resample(len(labels), n_resamples, np.random.default_rng(seed), groups)
    return {key: estimates(statistic.resampled(scores, labels, counts)) for key, statistic in STATISTICS.items()}


def table(final: Chosen | Final, numbers: Mapping[str, np.ndarray], on_test: np.ndarray, norm: str) -> pd.DataFrame:
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
        - each statistic in `numbers`, and the ends of its interval in columns with the suffixes `_low` and `_high`;
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
    for key, (value, low, high) in numbers.items():
        columns |= {key: value, f"{key}_low": low, f"{key}_high": high}
    return pd.DataFrame(columns | {"radius": model.radius_, "power": final.power, "gap": model.duality_gap_})


def chosen_norm(fits: Mapping[str, Fit]) -> str:
    """Return the norm that held-out images choose. fits: for each norm its final fit, all on the same split or folds.

    As in `JointSparseClassifierCV(norm="auto")`, the fit with the fewest features is chosen among those whose score is
    within one standard error of the best.
    """
    return choose({norm: fit._asdict() for norm, fit in fits.items()}, penalised=False)[0]


def norms(fits: Mapping[str, Fit], tables: Sequence[pd.DataFrame], kept: str) -> pd.DataFrame:
    """Return a table that compares the final fits of a dataset, with a row for each norm.

    Parameters
    ----------
    fits : mapping
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
        - for each key of `metrics.STATISTICS` its mean over the words, and the ends of the interval of the mean.
    """
    rows = []
    for (norm, fit), words in zip(fits.items(), tables, strict=True):
        mean = words.iloc[-1]
        numbers = {key: mean[key] for key in words.columns if key.startswith(tuple(STATISTICS))}
        used = {"features": mean["features"], "of": fit.coef.shape[1]}
        rows.append({"norm": norm, "kept": norm == kept, "validation": float(fit.score)} | used | numbers)
    return pd.DataFrame(rows)

"""Measures of how well a fitted model ranks samples in each task, and the comparison of two models."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from jointsparse.checks import require, require_count
from jointsparse.estimators.classifier import Labelled
from jointsparse.estimators.labels import Labels
from jointsparse.estimators.linear import in_words
from jointsparse.messages import shortened, warn_user
from jointsparse.metrics import (
    STATISTICS,
    as_trials,
    by_chance,
    estimates,
    holm,
    interval,
    resample,
    resampled,
    with_mean,
)


class Truth(NamedTuple):
    """Labels of samples.

    tasks: names of the tasks, or their numbers, (n_tasks,). labels: 1 for a positive label, 0 for a negative label and
    -1 for an unknown label, (n_samples, n_tasks). is_vector: True if the labels were passed as a vector.
    """

    tasks: np.ndarray
    labels: np.ndarray
    is_vector: bool


def task_scores(model: Any, X: Any, Y: Any, *, labels: str = "classes") -> Bunch:
    """Measure how well a fitted model ranks samples in each task, and test whether it is better than chance.

    Parameters
    ----------
    model : estimator
        Any estimator with `decision_function` or `predict_proba` that was trained on a vector or a matrix of labels.
    X : Any
        Held-out samples, in a form that the model accepts.
    Y : array, DataFrame or sparse matrix (n_samples,) or (n_samples, n_tasks)
        Labels of these samples. NaN, None and pandas.NA stand for unknown labels. In a vector with three or more
        classes, each class is a task.
    labels : {"classes", "01", "signed", "masked"}, default="classes"
        Coding of Y, as in JointSparseClassifier.

    Returns
    -------
    Bunch
        Arrays with one entry per task; `pandas.DataFrame(...)` makes a table of them. The measures of a task without
        positives or without negatives are NaN.

        - task: name of the task, or its number if it has no name.
        - positives, negatives: number of samples with a positive and with a negative label.
        - auc, average_precision, precision_at_10: area under the ROC curve, average precision, and precision among the
          ten samples with the highest scores, see `metrics.STATISTICS`. None of them depends on the order of samples
          with equal scores.
        - auc_low, auc_high: limits of the 95 % confidence interval of the AUC (Newcombe 2006).
        - p, p_holm: one-sided p-value of the hypothesis that the model ranks by chance, and this p-value with Holm's
          correction for the number of tasks. It is computed with the normal approximation of the Mann-Whitney test, and
          is inaccurate for fewer than three positives, and too large if many scores are equal.

    Raises
    ------
    ValueError
        If the model has no scores, or if their shape does not fit Y.

    Warns
    -----
    UserWarning
        If tasks lack positives or negatives.

    Examples
    --------
    >>> from jointsparse import JointSparseClassifier, task_scores
    >>> X, Y = [[1.0], [-1.0], [2.0], [-2.0]], [[1, 0], [0, 1], [1, 0], [0, 0]]
    >>> scores = task_scores(JointSparseClassifier(radius=1.0).fit(X, Y), X, Y)
    >>> scores.auc.round(2).tolist(), scores.average_precision.round(2).tolist()
    ([1.0, 0.67], [1.0, 0.5])
    """
    tasks, truth, (scores,) = _read([model], X, Y, labels)
    values = {key: statistic(scores, truth) for key, statistic in STATISTICS.items()}
    auc, positives, n = values["auc"], (truth == 1).sum(axis=0), (truth >= 0).sum(axis=0)
    low, high = interval(*as_trials(auc, positives, n))
    p = np.where(np.isnan(auc), np.nan, by_chance(auc, positives, n))
    counts = {"positives": positives, "negatives": n - positives}
    return Bunch(task=tasks, **counts, **values, auc_low=low, auc_high=high, p=p, p_holm=holm(p))


def compare(
    model_a: Any,
    model_b: Any,
    X: Any,
    Y: Any,
    *,
    labels: str = "classes",
    n_resamples: int = 1000,
    sample_groups: ArrayLike | None = None,
    random_state: int = 0,
) -> Bunch:
    """Compare how well two fitted models rank samples, in each task and on average over all tasks.

    Parameters
    ----------
    model_a, model_b : estimators
        Models as in `task_scores`. They may be of different types.
    X, Y, labels : Any
        Samples, labels and their coding, as in `task_scores`.
    n_resamples : int, at least 1, default=1000
        Number of bootstrap resamples for the confidence intervals and p-values. Both models and all tasks are evaluated
        on the same resamples.
    sample_groups : array (n_samples,) or None
        Name of each sample's group, for example of the person or the place. Whole groups are resampled. No name may be
        missing.
    random_state : int, default=0
        Seed of the random generator that draws the resamples.

    Returns
    -------
    Bunch
        Arrays with one entry per task and a last entry for all tasks; `pandas.DataFrame(...)` makes a table of them.
        The entries of a task without positives or without negatives are NaN.

        - task: name of the task, or its number if it has no name; "(all tasks)" for the last entry.
        - auc_a, auc_b: area under the ROC curve for each model. The last entry is the mean over the tasks.
        - difference, low, high: auc_a - auc_b, and the limits of its 95 % confidence interval.
        - p, p_reverse: one-sided bootstrap p-values. p is the fraction of the resamples in which model_a is not better;
          p_reverse is the fraction in which model_b is not better. The interval lies above 0 where p is below .025, and
          below 0 where p_reverse is below .025. For the sign test of the paper see `metrics.sign_test`.
        - p_holm, p_reverse_holm: p and p_reverse with Holm's correction for the number of tasks. The last entry is not
          corrected.

    Raises
    ------
    ValueError
        If a model has no scores, or if their shape does not fit Y.

    Warns
    -----
    UserWarning
        If tasks lack positives or negatives.

    References
    ----------
    Quattoni et al. (2009), sec. 6.1.

    Examples
    --------
    >>> from jointsparse import JointSparseClassifier, compare
    >>> X, Y = [[1.0], [-1.0], [2.0], [-2.0]], [[1, 0], [0, 1], [1, 0], [0, 0]]
    >>> right, nothing = (JointSparseClassifier(radius=radius).fit(X, Y) for radius in (1.0, 0.0))
    >>> comparison = compare(right, nothing, X, Y)
    >>> comparison.task.tolist(), comparison.difference.round(2).tolist()
    ([0, 1, '(all tasks)'], [0.5, 0.17, 0.33])
    """
    require_count(n_resamples, "n_resamples")
    tasks, truth, (f, g) = _read([model_a, model_b], X, Y, labels)
    groups = None
    if sample_groups is not None:
        groups, is_known = Labels.read(sample_groups, "sample_groups")
        require(
            np.shape(groups) == (len(truth),) and is_known.all(),
            f"sample_groups must name a group for each of {len(truth)} samples, got {shortened(sample_groups)}",
        )
    counts = resample(len(truth), n_resamples, np.random.default_rng(random_state), groups)
    auc_a, auc_b = (resampled(scores, truth, counts)[0] for scores in (f, g))
    difference, low, high = estimates(auc_a - auc_b)
    drawn = with_mean(auc_a - auc_b)[1:]
    n_drawn = (~np.isnan(drawn)).sum(axis=0)
    # The original samples count as one more resample, against either model, so that no p-value is 0.
    p = np.array([(1 + against.sum(axis=0)) / (1 + n_drawn) for against in (drawn <= 0, drawn >= 0)])
    p = np.where(np.isnan(difference), np.nan, p)
    corrected = [np.append(holm(each[:-1]), each[-1]) for each in p]
    numbers = {"auc_a": estimates(auc_a[:1])[0], "auc_b": estimates(auc_b[:1])[0]}
    numbers |= {"difference": difference, "low": low, "high": high, "p": p[0], "p_reverse": p[1]}
    numbers |= {"p_holm": corrected[0], "p_reverse_holm": corrected[1]}
    return Bunch(task=np.append(tasks, "(all tasks)"), **numbers)


def read_labels(Y: Any, coding: str, classes: Any = None) -> Truth:
    """Read the labels of samples in one of the codings of JointSparseClassifier. classes: the classes of a vector."""
    shape, reader = np.shape(Labels.read(Y, "Y").y), Labelled(labels=coding)
    classes = classes if len(shape) == 1 else None
    _, signs, weights = reader._read(np.zeros((shape[0], 1)), Y, None, training=False, name="Y", classes=classes)
    labels = np.where(weights > 0, signs > 0, -1)
    return Truth(np.array(reader.classes_[-labels.shape[1] :], dtype=object), labels, reader._flat)


def _read(models: list[Any], X: Any, Y: Any, coding: str) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Return the names of the tasks, the labels as in `Truth`, and the scores of each model in the same shape."""
    tasks, truth, is_vector = read_labels(Y, coding, getattr(models[0], "classes_", None))
    scores = [_scores(model, X, Y, truth, is_vector) for model in models]
    lacking = tasks[~((truth == 1).any(axis=0) & (truth == 0).any(axis=0))]
    if len(lacking):
        warn_user(
            f"{len(lacking)} of {len(tasks)} tasks have no positives or no negatives among these samples, so their "
            f"scores are NaN (add samples, or leave these tasks out): {in_words(lacking)}"
        )
    return tasks, truth, scores


def _scores(model: Any, X: Any, Y: Any, truth: np.ndarray, is_vector: bool) -> np.ndarray:
    """Return the decision values of a model, or else its probabilities, in the shape of the labels `truth`."""
    score = getattr(model, "decision_function", None) or getattr(model, "predict_proba", None)
    require(score, f"model must have decision_function or predict_proba, got {type(model).__name__}")
    scores = score(X)  # type: ignore[misc]
    columns = list(getattr(scores, "columns", ()))
    if columns and hasattr(Y, "columns"):
        given = list(Y.columns)
        require(
            given == columns,
            f"Y must have the columns of the model, {shortened(columns)}, in this order, got {shortened(given)}",
        )
    if isinstance(scores, list):  # one array per task, with a column per class
        scores = np.column_stack([of_task[:, -1] for of_task in scores])
    F = np.asarray(scores, dtype=float).reshape(len(scores), -1)
    expected = f"Y must have a row for each sample and a column for each task of the model, {F.shape}, got "
    if is_vector and F.shape[1] > 1:  # the columns must be classes, so the model must have been trained on a vector
        require(np.ndim(model.predict(X)) == 1, f"{expected}a vector")
        # With "ovo" there would be a score for each pair of classes.
        require(
            "ovo" not in map(str, getattr(model, "get_params", dict)().values()),
            "decision_function_shape must be 'ovr', which gives one score per class, got 'ovo'",
        )
        F = F[:, 1:] if truth.shape[1] == 1 else F  # two classes are one task
    require(F.shape == truth.shape, f"{expected}{truth.shape}")
    require(not np.isnan(F).any(), "the scores of the model must not contain NaN")
    return F

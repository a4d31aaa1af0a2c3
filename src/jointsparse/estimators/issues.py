"""Labels that may be wrong or missing: those that models trained on other samples find improbable."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import BaseCrossValidator, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import Bunch, _safe_indexing, check_consistent_length

from jointsparse.checks import require, require_count
from jointsparse.estimators.ranking import Truth, read_labels
from jointsparse.estimators.search import strata

KINDS = ("wrong", "missing")  # a label that is there, and a label that is not there


def label_issues(
    estimator: Any,
    X: Any,
    Y: Any,
    *,
    cv: int | BaseCrossValidator | Iterable[tuple[ArrayLike, ArrayLike]] = 5,
    groups: ArrayLike | None = None,
    labels: str = "classes",
    max_issues: int = 1000,
) -> Bunch:
    """Find the labels that are most likely to be wrong, and the labels that are most likely to be missing.

    Each fold is predicted by a clone of the estimator that was trained on the other folds. The score of a label is
    1 - p, where p is the predicted probability of the label as it stands, which cleanlab calls self-confidence.

    Parameters
    ----------
    estimator : estimator
        Any classifier or pipeline with `predict_proba` that learns from Y.
    X : array, DataFrame or sparse matrix (n_samples, n_features), or list
        Samples, in a form that the estimator accepts.
    Y : array or DataFrame (n_samples,) or (n_samples, n_tasks)
        Labels of these samples. NaN, None and pandas.NA stand for unknown labels, which are no issues. In a vector with
        three or more classes, each class is a task.
    cv : int, splitter or iterable, default=5
        Number of folds, stratified by the rarest label of each sample; or a splitter or list of folds, as scikit-learn
        takes them. Each sample must be in one held-out part.
    groups : array (n_samples,) or None
        Group of each sample, such as the patient. The folds keep groups together. This has nothing to do with the
        groups of features of an estimator.
    labels : {"classes", "01", "signed", "masked"}, default="classes"
        Coding of Y, as in JointSparseClassifier.
    max_issues : int, at least 1, default=1000
        Largest number of issues of each kind to return.

    Returns
    -------
    Bunch
        Arrays with one entry per issue, the highest score first; `pandas.DataFrame(...)` makes a table of them.

        - sample: row number of the sample.
        - task: name of the task, or its number if it has no name.
        - kind: "wrong" for a label that the sample has, "missing" for a label that it is known not to have.
        - probability: predicted probability that the sample has the label.
        - score: 1 - probability for a wrong label, and probability for a missing label.

    Raises
    ------
    ValueError
        If X and Y have different numbers of samples, if the estimator predicts no probabilities, or if the folds do not
        hold out each sample once.

    References
    ----------
    C. Northcutt, L. Jiang, I. Chuang: Confident learning, JAIR 70 (2021).

    Examples
    --------
    >>> import numpy as np
    >>> from jointsparse import JointSparseClassifier, label_issues
    >>> X = np.repeat([[2.0, 0.1], [-2.0, 0.1], [2.0, -0.1], [-2.0, -0.1]], 5, axis=0)
    >>> y = (X[:, 0] > 0).astype(int)
    >>> y[3] = 0
    >>> issues = label_issues(JointSparseClassifier(radius=2.0), X, y, max_issues=1)
    >>> int(issues.sample[0]), str(issues.kind[0])
    (3, 'missing')
    """
    require_count(max_issues, "max_issues")
    truth = read_labels(Y, labels)
    check_consistent_length(X, truth.labels)
    if isinstance(cv, int):
        by = strata(np.where(truth.labels == 1, 1, -1), cv)
        splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
        folds = splitter(cv, shuffle=True, random_state=0).split(by, by, groups)
    else:
        folds = check_cv(cv).split(X, Y, groups)
    probabilities, n_times = np.zeros(truth.labels.shape), np.zeros(len(truth.labels), int)
    for train, held_out in folds:
        model = clone(estimator).fit(_safe_indexing(X, train), _safe_indexing(Y, train))
        probabilities[held_out] = _probabilities(model, _safe_indexing(X, held_out), truth)
        np.add.at(n_times, held_out, 1)
    require(
        (n_times == 1).all(),
        f"cv must hold out each sample once, got {(n_times == 0).sum()} samples that are never held out and "
        f"{(n_times > 1).sum()} that are held out several times",
    )
    return worst(probabilities, truth, max_issues=max_issues)


def _probabilities(model: Any, X: Any, truth: Truth) -> np.ndarray:
    """Return the probability of a positive label, (n_samples, n_tasks), by a model that was trained on such labels."""
    require(
        hasattr(model, "predict_proba"),
        f"estimator must predict probabilities, got {type(model).__name__} without predict_proba",
    )
    P, n_tasks = model.predict_proba(X), len(truth.tasks)
    if isinstance(P, list):  # an array for each task, with a column for each class that the training samples have
        columns = [P_k[:, np.flatnonzero(np.equal(c, 1))] for P_k, c in zip(P, model.classes_, strict=True)]
        P = np.column_stack([column.sum(axis=1) for column in columns])
    elif truth.is_vector:
        of_class = dict(zip(list(model.classes_), np.asarray(P).T, strict=True))
        nothing = np.zeros(len(P))  # the training samples lacked the class
        P = np.column_stack([of_class.get(task, nothing) for task in truth.tasks])
    P = np.asarray(P, dtype=float)
    require(P.shape[1] == n_tasks, f"predict_proba must return a column for each of {n_tasks} tasks, got {P.shape[1]}")
    return P


def worst(probabilities: np.ndarray, truth: Truth, *, max_issues: int) -> Bunch:
    """Return the labels with the highest scores, as in `label_issues`, from held-out probabilities of positive labels.

    probabilities: (n_samples, n_tasks).
    """
    places = []
    for value in (1, 0):
        rows, columns = np.nonzero(truth.labels == value)
        as_it_stands = np.abs(probabilities[rows, columns] - (1 - value))
        order = np.argsort(as_it_stands, kind="stable")[:max_issues]
        places.append((rows[order], columns[order]))
    sample, column = np.concatenate(places, axis=1)
    kind = np.repeat(KINDS, [len(rows) for rows, _ in places])
    probability = probabilities[sample, column]
    score = np.where(kind == KINDS[0], 1 - probability, probability)
    issues = Bunch(sample=sample, task=truth.tasks[column], kind=kind, probability=probability, score=score)
    order = np.argsort(-score, kind="stable")
    return Bunch(**{name: values[order] for name, values in issues.items()})

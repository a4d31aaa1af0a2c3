"""The solvers as a scikit-learn classifier: codings of labels, their weights, and predictions in the same coding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from jointsparse.checks import require
from jointsparse.estimators.base import Linear, in_words, parameters, plug_in, weights_of
from jointsparse.estimators.labels import Labels
from jointsparse.estimators.path import OneStrength
from jointsparse.schema import FLOATS, Sizes, array, labels, one_of, optional

# Numbers that a matrix y may hold under each value of `labels`.
CODES = {"classes": (0, 1), "01": (0, 1), "signed": (-1, 1), "masked": (-1, 0, 1)}


def has_probabilities(classifier: Any) -> bool:
    if classifier.loss == "logistic" or hasattr(classifier, "calibration_"):
        return True
    raise AttributeError(
        f"probabilities need loss='logistic', or calibrate(X, y) on held-out samples, got loss={classifier.loss!r}"
    )


def platt_scaling(F: np.ndarray, Y: np.ndarray, weights: np.ndarray, names: Sequence[Any] | None = None) -> np.ndarray:
    """Numbers a and b of each task, (n_tasks, 2), with which logistic(a f + b) is the probability at the decision f.

    Raises ValueError if a task has no positive, or no negative sample.

    Parameters
    ----------
    F, Y, weights : array (n_samples, n_tasks)
        Decisions on samples that were not trained on, signs, and weights.
    names : list or None
        Names of the tasks, for messages.
    """
    calibration = []
    for k in range(F.shape[1]):
        positive, negative = (float(weights[sign * Y[:, k] > 0, k].sum()) for sign in (1, -1))
        require(
            positive > 0 and negative > 0,
            f"{in_words([k if names is None else names[k]])} must have a positive and a negative to be calibrated, "
            f"got no {'positive' if positive == 0 else 'negative'}",
        )
        # Paper: Platt's targets, (N+ + 1) / (N+ + 2) and 1 / (N- + 2), as weights of both labels.
        target = np.where(Y[:, k] > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
        weights_of_labels = np.concatenate([weights[:, k] * target, weights[:, k] * (1 - target)])
        f, sides = np.tile(F[:, [k]], (2, 1)).astype(float), np.repeat([1, 0], len(F))
        fitted = LogisticRegression(C=np.inf).fit(f, sides, sample_weight=weights_of_labels)
        calibration.append([fitted.coef_[0, 0], fitted.intercept_[0]])
    return np.array(calibration)


@parameters
class Labelled(ClassifierMixin, Linear):
    """A classifier for labels in every coding: class weights, decisions and predictions."""

    _HOLDS: ClassVar = {
        "loss": plug_in("losses"),
        "labels": one_of(*CODES),
        "_codes": labels("codes"),
        "classes_": labels("classes"),
        "calibration_": optional(array(FLOATS, "tasks", 2)),
    }

    loss: str = "logistic"
    labels: str = "classes"
    class_weight: str | Mapping[Any, float] | None = None

    def _require_consistent(self, sizes: Sizes) -> None:
        super()._require_consistent(sizes)
        m = sizes["tasks"]
        # A vector of two classes is one task with two codes; a vector of more has a task and a code per class. In both
        # cases the codes are the classes. A matrix, or tasks with their own samples: two codes, and a class per task.
        n_codes = m if self._flat and m > 1 else 2
        n_classes = n_codes if self._flat else m
        require(
            (sizes["codes"], sizes["classes"]) == (n_codes, n_classes),
            f"classes_ must name {n_classes} classes of {m} tasks, got {sizes['classes']} and {sizes['codes']} codes",
        )
        same = not self._flat or self.classes_.tolist() == self._codes.tolist()
        require(same, "classes_ must be the labels that predictions have, got others")

    def _checked(self, X: Any, y: Any, sample_weight: Any, name: str, **options: Any) -> tuple[Any, Labels, np.ndarray]:
        require(self.labels in [*CODES], f"labels must be one of {', '.join(map(repr, CODES))}, got {self.labels!r}")
        X, (y, is_known), weight = super()._checked(X, y, sample_weight, name, **options)
        if self.labels == "classes" and y.shape[1:] == (1,) and (options["reset"] or self._flat):
            y = column_or_1d(y, warn=True)
        if self.labels == "masked":
            is_known = is_known & (y != 0).reshape(len(y), -1)
        return X, Labels(y, is_known), weight

    def _learn_coding(self, y: np.ndarray, classes: Any) -> None:
        """Set classes_, and the codes of labels: the classes of a vector, or two, of which the negative comes first."""
        self._codes = np.array([CODES[self.labels][0], 1])
        if self.labels == "classes" and (self._flat or classes is not None):
            self._codes = np.unique(y if classes is None else classes)
            n, expected = len(self._codes), "or more" if self._flat else "that are the same in all tasks"
            require(
                n == 2 or (n > 2 and self._flat),
                f"labels='classes' expects two classes {expected}, got {n} class{'es' * (n > 1)} of positive weight, "
                f"{self._codes.tolist()}",
            )
            check_classification_targets(y)
        self.classes_ = self._codes
        if not self._flat:
            self.classes_ = np.arange(self._n_columns) if self._names is None else self._names
        self.__dict__.pop("calibration_", None)

    def _has_names(self) -> bool:
        """True for a vector of classes, which may have any names."""
        return self.labels == "classes" and self._flat

    def _places(self, F: np.ndarray) -> np.ndarray:
        """Places of predictions in `_codes`, (n_samples, 1) or (n_samples, n_tasks), from decisions or signs F."""
        return F.argmax(axis=1)[:, np.newaxis] if self._flat and F.shape[1] > 1 else (F > 0).astype(int)

    def _as_numbers(self, y: np.ndarray, counted: np.ndarray, name: str) -> np.ndarray:
        """Return the signs of labels y, (n_samples, n_tasks), in the coding that `fit` has seen."""
        classes, codes = self._codes.tolist(), CODES[self.labels]
        Y = y.reshape(len(y), -1)
        if self._has_names() or not set(classes) <= set(codes):
            # Not by NumPy, which compares numbers with text as text, and signed with unsigned integers as floats.
            place = {label: k for k, label in enumerate(classes)}
            others = [label for label in Y[counted].ravel().tolist() if label not in place]
            require(not others, f"{name} must hold the classes {classes}, got {others[:1]}")
            places = np.reshape([place.get(label, 0) for label in Y.ravel().tolist()], Y.shape)
            # A task per class, but one for two classes: it asks for the second one.
            return np.where(np.arange(len(classes))[len(classes) == 2 :] == places, 1.0, -1.0)
        wrong, codings = Y[~np.isin(Y, codes)].tolist(), ", ".join(repr(name) for name in CODES if name != self.labels)
        matrix = "a matrix y" if self.labels == "classes" else "y"
        require(
            not wrong,
            f"labels={self.labels!r} expects {', '.join(map(str, codes))} in {matrix}, got {wrong[:1]}; labels may "
            f"also be {codings}",
        )
        return np.where(Y > 0, 1.0, -1.0)

    def _weigh(self, Y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Weights (n_samples, n_tasks) of the losses: sample weight times class weight."""
        if self.class_weight is None:
            return weights
        if not isinstance(self.class_weight, Mapping):
            return weights * self._balance(Y, weights)
        classes = self._codes.tolist()
        unknown = set(self.class_weight) - set(classes)
        require(not unknown, f"class_weight must name classes of y, {classes}, got {sorted(unknown, key=str)}")
        of_class = np.array([self.class_weight.get(value, 1.0) for value in classes], dtype=float)
        require(np.all(of_class >= 0), f"class_weight must hold numbers of at least 0, got {dict(self.class_weight)}")
        return weights * of_class[self._places(Y)]  # of several classes the sample's own, in every task

    def _balance(self, Y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Factors (n_samples, n_tasks) that let positives and negatives of a task weigh the same in total."""
        require(
            self.class_weight == "balanced",
            f"class_weight must be 'balanced', a dict or None, got {self.class_weight!r}",
        )
        # Choice: each task is balanced by itself, its positives against its negatives.
        sides = np.array([(weights * (sign * Y > 0)).sum(axis=0) for sign in (-1, 1)])
        share = sides.sum(axis=0) / (np.maximum((sides > 0).sum(axis=0), 1) * np.where(sides > 0, sides, 1))
        return np.where(Y > 0, share[1], share[0])

    def decision_function(self, X: Any) -> Any:
        """Compute x·w_k + b_k, which is positive where task k is predicted to hold.

        X: (n_samples, n_features), dense or sparse. Returns (n_samples, n_tasks), or (n_samples,) for two classes and
        for a single task whose labels came as a vector.

        >>> from jointsparse import JointSparseClassifier
        >>> model = JointSparseClassifier(radius=1.0).fit([[1.0], [-1.0]], ["no", "yes"])
        >>> model.decision_function([[2.0]]).round(2)
        array([-2.])
        """
        F = self._margins(X)
        return F[:, 0] if self._flat and F.shape[1] == 1 else self._in_frame(F, X)

    def predict(self, X: Any) -> Any:
        """Predict the class of each sample, or its label in each task, in the coding that fit has seen.

        X: (n_samples, n_features), dense or sparse. Returns (n_samples,) or (n_samples, n_tasks). Of several classes
        this is the one with the largest decision. Else it is the positive label where the decision is above 0.

        >>> from jointsparse import JointSparseClassifier
        >>> model = JointSparseClassifier(radius=1.0).fit([[1.0], [-1.0]], ["no", "yes"])
        >>> model.predict([[2.0], [-3.0]]).tolist()
        ['no', 'yes']
        """
        F = self._margins(X)
        predicted = np.asarray(self._codes[self._places(F)])
        return predicted[:, 0] if self._flat else self._in_frame(predicted, X)

    @available_if(has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class, or of a positive label in each task.

        It is the logistic function of the decisions with loss="logistic", or of the decisions after `calibrate`. Class
        weights move the decisions and so the probabilities. X: (n_samples, n_features), dense or sparse. Returns
        (n_samples, n_classes) for y a vector, and (n_samples, n_tasks) for a matrix.

        >>> from jointsparse import JointSparseClassifier
        >>> model = JointSparseClassifier(radius=1.0).fit([[1.0], [-1.0]], ["no", "yes"])
        >>> model.predict_proba([[2.0]]).round(2)
        array([[0.88, 0.12]])
        """
        return np.exp(self.predict_log_proba(X))

    @available_if(has_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of `predict_proba`. X: (n_samples, n_features), dense or sparse."""
        F = self._margins(X)
        if hasattr(self, "calibration_"):
            F = F * self.calibration_[:, 0] + self.calibration_[:, 1]
        L = np.asarray(special.log_expit(F))  # finite where a probability rounds to 0
        if not self._flat:
            return self._in_frame(L, X)
        return special.log_softmax(L, axis=1) if L.shape[1] > 1 else np.hstack([special.log_expit(-F), L])

    def calibrate(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit probabilities to the decisions on held-out samples, for each task by itself, and return the classifier.

        The probability is logistic(a f + b) of the decision f. This is Platt's method, and takes a matrix of labels,
        which scikit-learn's CalibratedClassifierCV does not. Use it for the hinge and squared loss, or after class
        weights. a is `calibration_[k, 0]`, b `calibration_[k, 1]`. `predict` goes by the decisions as before, which may
        disagree with a probability of 0.5.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features)
            Features of samples that were not trained on.
        y : array, DataFrame or sparse matrix (n_samples,) or (n_samples, n_tasks)
            Their labels, coded as in fit.
        sample_weight : array (n_samples,) or (n_samples, n_tasks), at least 0, or None
            Weights of the samples.

        Raises
        ------
        ValueError
            If a task has no positive, or no negative sample.
        """
        F = self._margins(X)
        _, Y, weights = self._read(X, y, sample_weight, reset=False, training=False)
        self.calibration_ = platt_scaling(F, Y, weights, self.classes_[-F.shape[1] :].tolist())
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the fraction of correct predictions.

        With labels="classes" a sample counts as correct where all of its known labels are, as everywhere in
        scikit-learn. Else each label counts by itself, over the samples of its task. X: (n_samples, n_features). y: as
        in fit. sample_weight: (n_samples,).
        """
        F = self._margins(X)
        if self._has_names():
            y, is_known = Labels.read(y)
            return float(super().score(X, y, (weights_of(sample_weight, F) * is_known)[:, 0]))
        _, Y, weights = self._read(X, y, sample_weight, reset=False, training=False)
        require(weights.any(), "y must hold at least one label of a sample of positive weight, got none")
        correct = (F > 0) == (Y > 0)
        if self.labels == "classes":
            correct, weights = (correct | (weights == 0)).all(axis=1), weights.max(axis=1)
        return float(np.average(correct, weights=weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@parameters
class JointSparseClassifier(Labelled, OneStrength):
    """Linear classifiers, one per task, that agree on a few features.

    minimise over W, b  sum_k sum_i c_ik loss(x_i·w_k + b_k, y_ik)  subject to  ||W|| <= radius,
    or the same losses plus penalty * ||W||. With l1inf, ||W|| = sum_j max_k |W_jk|. Then a feature is either 0 in all
    tasks or free in all of them.

    Parameters
    ----------
    norm : a name in `jointsparse.norms.NORMS`, default="l1inf"
        l1 and l2 bound each task by itself, all with the same radius. The others join the tasks.
    radius : float, at least 0, "auto" or None, default="auto"
        The papers' C, which is nearly the opposite of scikit-learn's. "auto": the data's natural unit, the radius below
        which no W can be without losses. It is a first guess; JointSparseClassifierCV chooses. None with `penalty`.
    penalty : float or None, at least 0, default=None
        lambda of the penalised form, in the place of radius. With 0 no gap is certified unless no loss is left.
    loss : {"logistic", "hinge", "squared"}, default="logistic"
        Loss of labels -1 and +1, whatever y holds. logistic has probabilities and ranks rare labels best. hinge is the
        papers'. squared is the fastest, and a poor loss for rare labels.
    solver : {"working_set", "pdhg", "subgradient"}, default="working_set"
        working_set and pdhg have no step size to choose. They stop when the objective is certified to lie within `tol`
        of the optimum. working_set iterates on the features that matter only. subgradient is the papers' method: always
        `n_iter` steps eta0 / sqrt(t). It certifies a gap too, but does not stop at it.
    eta0 : float, greater than 0, default=1.0
        First step size of subgradient. Others ignore it.
    n_iter : int or None, at least 1, default=None
        Number of iterations: for subgradient exactly this many, for others the most. None stands for 200 with
        subgradient, as in the papers, and for 10,000 with others.
    tol : float, at least 0, default=1e-3
        Relative duality gap to stop at. If it is not reached in n_iter iterations, fit raises a ConvergenceWarning and
        `duality_gap_` holds the gap that was reached. subgradient ignores tol and never warns.
    normalisation : {"sum", "mean"}, default="sum"
        Add up the losses of a task, or average them.
    labels : {"classes", "01", "signed", "masked"}, default="classes"
        Coding of y, which is never guessed from the values.

        - "classes": a vector of classes or a matrix of 0 and 1 with one column per task, as everywhere in scikit-learn.
          Two classes are one task, with the last class as the positive one. More classes are one task per class, one
          against the rest.
        - "01", "signed", "masked": a vector for one task, or a matrix with one column per task. Its numbers are
          {0, 1}, {-1, +1}, or {-1, 0, +1} where 0 marks a sample that is not part of the task.
    fit_intercept : bool, default=True
        Give each task a free b_k. The papers have none, with as many negatives for each positive in all tasks. Without
        one, labels of other shares need class_weight="balanced".
    class_weight : dict, "balanced" or None, default=None
        "balanced": in each task positives and negatives weigh the same in total. Take it if `predict` shall find rare
        labels; probabilities are too large then. A dict: weights by class, and for a matrix of labels by label,
        {0: ..., 1: ...} or {-1: ..., 1: ...}. Others weigh 1.
    feature_weights : array (n_features,) or (n_groups,), above 0, or None, default=None
        Weights of the features, or of the groups in the order of their sorted names, in the norm: a feature of weight 2
        costs twice as much. Take them to avoid features that are costly to measure. l2 takes none.
    groups : array (n_features,) or None, default=None
        Name of each feature's group. A group is 0 in all tasks, or free: one-hot columns, say. l1inf and l12 take them.
    positive : bool, default=False
        Allow no weights below 0, for features that can only speak for a label.
    warm_start : bool, default=False
        Begin at the last fit, for data or parameters that change little. subgradient ignores it.
    max_time : float or None, above 0, default=None
        Seconds after which fit ends with what it has, and warns of the gap. With subgradient, look at n_iter_.
    callback : function (iteration, objective, gap) or None, default=None
        Called while fit runs; it ends by returning True. gap is NaN where none is known. An interrupt (Ctrl-C) is
        raised as KeyboardInterrupt: after the first certificate the fit is kept as it is, with its gap. Before that
        the model stays as it was.
    verbose : bool, default=False
        Print a line per certified gap.

    Attributes
    ----------
    coef_ : ndarray (n_tasks, n_features)
        W transposed, with exact zeros.
    intercept_ : ndarray (n_tasks,)
        b.
    selected_features_ : ndarray
        The features that are not 0 in some task: their names, or their indices if X has no names.
    classes_ : ndarray
        The classes. For a matrix y its columns' names, or 0, 1, ... without names.
    radius_, penalty_ : float or None
        The one that was used. The other is None.
    calibration_ : ndarray (n_tasks, 2)
        See `calibrate`.
    duality_gap_ : float
        The objective is certified to lie no further from the optimum. The gap is relative to the objective, or to what
        can be gained from W = 0 if this is less. It is relative to at least a thousandth of the objective at W = 0.
    objective_ : ndarray (n_iter_ + 1,)
        Objective at every iterate, NaN where it was not computed.
    n_iter_ : int
        Iterations done.
    n_features_in_, feature_names_in_ : int, ndarray
        As in scikit-learn.

    See Also
    --------
    JointSparseClassifierCV : Chooses the radius on held-out samples.
    OnlineJointSparseClassifier : Learns from one example at a time.
    JointSparseRegressor : Real targets.

    Notes
    -----
    float32 and float64 X are kept, other numbers become float64. CSR X stays sparse. Nothing is random. A task whose
    labels are all positive, or all negative, is solved as it stands. As a transformer, the classifier keeps the
    selected features. NaN, None and pandas.NA in y mean an unknown label, which is no part of its task. A task without
    any known label keeps weights of 0, and fit warns of it. Classes have the type of the known labels, whether or not
    some are missing. From a DataFrame y its columns name the tasks, and predictions are DataFrames. Dense X of which
    95 % is 0 is trained on as CSR.

    scikit-learn's LogisticRegression is the better tool for one task, and with an l1 penalty for tasks that need not
    share their features. So are its other estimators for what no linear function tells apart.

    References
    ----------
    Quattoni et al. (2009), eq. 1, 2 and 4.

    Examples
    --------
    >>> X, Y = [[1.0, 0.1], [-1.0, 0.1], [1.0, -0.1]], [[1, 0], [0, 1], [1, 0]]
    >>> model = JointSparseClassifier(radius=1.0).fit(X, Y)
    >>> model.predict([[2.0, 5.0]]).tolist(), model.selected_features_.tolist()
    ([[1, 0]], [0])
    """

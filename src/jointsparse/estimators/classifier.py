"""A scikit-learn classifier that the solvers train, for labels in several codings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from jointsparse.checks import as_finite, require, require_array
from jointsparse.estimators.base import OneStrength, parameters, radius_or_penalty
from jointsparse.estimators.labels import Labels
from jointsparse.estimators.linear import Linear, in_words, weights_of
from jointsparse.registry import pick

# Values that a matrix y may contain, for each value of the parameter `labels`.
CODES = {"classes": (0, 1), "01": (0, 1), "signed": (-1, 1), "masked": (-1, 0, 1)}


def has_probabilities(classifier: Any) -> bool:
    """Return True if the classifier can predict probabilities; raise AttributeError otherwise."""
    if classifier.loss == "logistic" or hasattr(classifier, "calibration_"):
        return True
    raise AttributeError(
        "probabilities need loss='logistic' or a call of calibrate(X, y) with held-out samples, got "
        f"loss={classifier.loss!r} and no calibration"
    )


def platt_scaling(F: np.ndarray, Y: np.ndarray, weights: np.ndarray, names: Sequence[Any] | None = None) -> np.ndarray:
    """Fit a and b of each task, (n_tasks, 2), such that logistic(a f + b) is the probability at decision value f.

    The slope a is not negative.

    Raises ValueError if a task has no positive or no negative sample.

    Parameters
    ----------
    F, Y, weights : array (n_samples, n_tasks)
        Decision values for held-out samples, and the signs and weights of these samples.
    names : list or None
        Names of the tasks, for messages.
    """
    calibration = []
    for k in range(F.shape[1]):
        positive, negative = (float(weights[sign * Y[:, k] > 0, k].sum()) for sign in (1, -1))
        require(
            positive > 0 and negative > 0,
            f"{in_words([k if names is None else names[k]])} must have a positive and a negative sample to be "
            f"calibrated, got no {'positive' if positive == 0 else 'negative'}",
        )
        # Paper: Platt's targets are (N+ + 1) / (N+ + 2) and 1 / (N- + 2). LogisticRegression takes no such targets, so
        # each sample occurs twice, with both labels, and the targets are the weights.
        target = np.where(Y[:, k] > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
        weights_of_labels = np.concatenate([weights[:, k] * target, weights[:, k] * (1 - target)])
        f, sides = np.tile(F[:, [k]], (2, 1)).astype(float), np.repeat([1, 0], len(F))
        fitted = LogisticRegression(C=np.inf).fit(f, sides, sample_weight=weights_of_labels)
        a, b = fitted.coef_[0, 0], fitted.intercept_[0]
        # Choice: a negative slope would rank samples in the opposite order of their decision values. They say nothing
        # about this task then, and every sample gets the mean of the targets.
        if a < 0:
            a, b = 0.0, np.log(weights_of_labels[sides == 1].sum() / weights_of_labels[sides == 0].sum())
        calibration.append([a, b])
    return np.array(calibration)


@parameters
class Labelled(ClassifierMixin, Linear):
    """Base class of the classifiers. It reads labels in every coding, applies class weights and predicts."""

    loss: str = "logistic"
    labels: str = "classes"
    class_weight: str | Mapping[Any, float] | None = None

    def _checked(self, X: Any, y: Any, sample_weight: Any, name: str, **options: Any) -> tuple[Any, Labels, np.ndarray]:
        require(self.labels in [*CODES], f"labels must be one of {', '.join(map(repr, CODES))}, got {self.labels!r}")
        X, (y, is_known), weight = super()._checked(X, y, sample_weight, name, **options)
        if self.labels == "classes" and y.shape[1:] == (1,) and (options["reset"] or self._flat):
            y = column_or_1d(y, warn=True)
        if self.labels == "masked":
            is_known = is_known & (y != 0).reshape(len(y), -1)
        return X, Labels(y, is_known), weight

    def _learn_coding(self, y: np.ndarray, classes: Any) -> None:
        """Set the attributes `classes_` and `_codes`.

        `_codes` holds the classes of a vector y, or the negative and then the positive label of every task.
        """
        self._codes = np.array([CODES[self.labels][0], 1])
        if self.labels == "classes" and (self._flat or classes is not None):
            self._codes = np.unique(y if classes is None else classes)
            n, expected = len(self._codes), "or more" if self._flat else "that are the same for all tasks"
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
        """Return True if y was a vector of classes. Their names may be any labels, such as strings."""
        return self.labels == "classes" and self._flat

    def _places(self, F: np.ndarray) -> np.ndarray:
        """Return the predictions as indices into `_codes`, (n_samples, 1 or n_tasks). F: decision values or signs."""
        return F.argmax(axis=1)[:, np.newaxis] if self._flat and F.shape[1] > 1 else (F > 0).astype(int)

    def _as_numbers(self, y: np.ndarray, counted: np.ndarray, name: str) -> np.ndarray:
        """Convert labels y, coded like the labels passed to `fit`, to signs -1 and +1, (n_samples, n_tasks)."""
        classes, codes = self._codes.tolist(), CODES[self.labels]
        Y = y.reshape(len(y), -1)
        if self._has_names() or not set(classes) <= set(codes):
            # A dictionary, because NumPy would compare numbers with text as text, and signed with unsigned integers as
            # floats.
            place = {label: k for k, label in enumerate(classes)}
            others = [label for label in Y[counted].ravel().tolist() if label not in place]
            require(not others, f"{name} must hold the classes {classes}, got {others[:1]}")
            places = np.reshape([place.get(label, 0) for label in Y.ravel().tolist()], Y.shape)
            # There is one task per class. Two classes are a single task, whose positive class is the second one.
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
        """Return the weights of the losses, (n_samples, n_tasks): the products of sample weights and class weights."""
        if self.class_weight is None:
            return weights
        if not isinstance(self.class_weight, Mapping):
            return weights * self._balance(Y, weights)
        classes = self._codes.tolist()
        unknown = set(self.class_weight) - set(classes)
        require(not unknown, f"class_weight must name classes of y, {classes}, got {sorted(unknown, key=str)}")
        weight_of_class = np.array([self.class_weight.get(value, 1.0) for value in classes], dtype=float)
        require(
            np.all(weight_of_class >= 0), f"class_weight must hold non-negative numbers, got {dict(self.class_weight)}"
        )
        # With more than two classes, a sample has the weight of its own class in every task.
        return weights * weight_of_class[self._places(Y)]

    def _balance(self, Y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return factors, (n_samples, n_tasks), that give positives and negatives of a task the same total weight."""
        require(
            self.class_weight == "balanced",
            f"class_weight must be 'balanced', a dict or None, got {self.class_weight!r}",
        )
        # Choice: each task is balanced separately.
        sides = np.array([(weights * (sign * Y > 0)).sum(axis=0) for sign in (-1, 1)])
        share = sides.sum(axis=0) / (np.maximum((sides > 0).sum(axis=0), 1) * np.where(sides > 0, sides, 1))
        return np.where(Y > 0, share[1], share[0])

    def decision_function(self, X: Any) -> Any:
        """Return the decision values x·w_k + b_k. A positive value predicts the positive label of task k.

        X: (n_samples, n_features), dense or sparse. Returns (n_samples, n_tasks), or (n_samples,) if y was a vector
        with two classes or a vector of labels of a single task.

        >>> from jointsparse import JointSparseClassifier
        >>> model = JointSparseClassifier(radius=1.0).fit([[1.0], [-1.0]], ["no", "yes"])
        >>> model.decision_function([[2.0]]).round(2)
        array([-2.])
        """
        F = self._margins(X)
        return F[:, 0] if self._flat and F.shape[1] == 1 else self._in_frame(F, X)

    def predict(self, X: Any) -> Any:
        """Predict the class of each sample, or its label in each task, in the coding of the labels passed to `fit`.

        X: (n_samples, n_features), dense or sparse. Returns (n_samples,) or (n_samples, n_tasks). With three or more
        classes, the class with the largest decision value is predicted. Otherwise the positive label of a task is
        predicted if the decision value for this task is positive.

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

        The probability is the logistic function of the decision value. This requires loss="logistic", or, with
        any other loss, a previous call of `calibrate`. For three or more classes the probabilities are
        scaled to add up to 1. Class weights shift the decision values and therefore the probabilities. X: (n_samples,
        n_features), dense or sparse. Returns (n_samples, n_classes) if y was a vector, and (n_samples, n_tasks) if it
        was a matrix.

        >>> from jointsparse import JointSparseClassifier
        >>> model = JointSparseClassifier(radius=1.0).fit([[1.0], [-1.0]], ["no", "yes"])
        >>> model.predict_proba([[2.0]]).round(2)
        array([[0.88, 0.12]])
        """
        return self._in_frame(np.exp(self._log_probabilities(X)), X)

    @available_if(has_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of `predict_proba`. X: (n_samples, n_features), dense or sparse."""
        return self._in_frame(self._log_probabilities(X), X)

    def _log_probabilities(self, X: Any) -> np.ndarray:
        """Return the logarithms of the probabilities, (n_samples, n_classes or n_tasks)."""
        F = self._margins(X)
        if hasattr(self, "calibration_"):
            F = F * self.calibration_[:, 0] + self.calibration_[:, 1]
        L = np.asarray(special.log_expit(F))  # finite where a probability rounds to 0
        if not self._flat:
            return L
        joined = special.log_softmax(L, axis=1) if L.shape[1] > 1 else np.hstack([special.log_expit(-F), L])
        return np.asarray(joined)

    def calibrate(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit probabilities to the decision values of held-out samples, separately for each task.

        This is Platt's method: the probability at decision value f of task k is logistic(a f + b), where a is
        `calibration_[k, 0]`, at least 0, and b is `calibration_[k, 1]`. Unlike scikit-learn's CalibratedClassifierCV,
        it accepts a matrix of labels, and no task has a negative slope a. Use it with the hinge and the squared loss,
        and for classifiers that were trained with class weights. `predict` still uses the sign of the decision value,
        which may disagree with the threshold 0.5 of a probability.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features)
            Features of held-out samples. If samples form groups, such as patients, hold out whole groups.
        y : array, DataFrame or sparse matrix (n_samples,) or (n_samples, n_tasks)
            Labels of these samples, coded like the labels passed to `fit`.
        sample_weight : array (n_samples,) or (n_samples, n_tasks), at least 0, or None
            Weights of the samples.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            If a task has no positive or no negative sample.
        """
        F = self._margins(X)
        _, Y, weights = self._read(X, y, sample_weight, reset=False, training=False)
        self.calibration_ = platt_scaling(F, Y, weights, self.classes_[-F.shape[1] :].tolist())
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the fraction of correct predictions.

        With labels="classes", a sample counts as correct if all of its known labels are predicted correctly, as
        everywhere in scikit-learn. With the other codings, each known label counts separately. X: (n_samples,
        n_features). y, sample_weight: as in `fit`.
        """
        F = self._margins(X)
        if self._has_names():
            y, is_known = Labels.read(y)
            return float(super().score(X, y, (weights_of(sample_weight, F) * is_known)[:, 0]))
        _, Y, weights = self._read(X, y, sample_weight, reset=False, training=False)
        require(weights.any(), "y must hold at least one known label of a sample with positive weight, got none")
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
    """Linear classifiers, one per task, that share a small set of features.

    minimise over W, b  sum_k sum_i c_ik loss(x_i·w_k + b_k, y_ik)  subject to  ||W|| <= radius,
    or the same losses plus penalty * ||W||. For l1inf, ||W|| = sum_j max_k |W_jk|: the norm depends only on the largest
    weight of a feature, so most features have weight 0 in all tasks, and the others may be used by every task.

    Parameters
    ----------
    norm : a name in `jointsparse.norms.NORMS`, default="l1inf"
        The norm that is bounded or penalised. l1 and l2 regularise each task separately, with the same radius or
        penalty for all tasks. The other norms couple the tasks.
    radius : float, at least 0, "auto" or None, default="auto"
        Bound on ||W||, which the papers call C. A larger radius means less regularisation. "auto" is the natural unit
        of the data: no W with a smaller norm makes all losses 0. This is only a first guess; JointSparseClassifierCV
        chooses the radius by validation. Pass None together with `penalty`.
    penalty : float or None, at least 0, default=None
        The factor lambda of the penalised form, which is an alternative to `radius`. With a penalty of 0, a gap can be
        certified only if the loss vanishes or l2 is positive.
    loss : {"logistic", "hinge", "squared"}, default="logistic"
        Loss function. Labels are converted to -1 and +1, whatever their coding in y. "logistic" gives probabilities and
        ranks rare labels best. "hinge" is the loss of the papers. "squared" is the fastest, but a poor choice for rare
        labels.
    solver : {"working_set", "pdhg", "subgradient"}, default="working_set"
        "working_set" and "pdhg" need no step size. They stop when the objective is certified to lie within `tol` of the
        optimum. "working_set" iterates only on the features that matter. "subgradient" is the method of the papers,
        which always takes `n_iter` steps, of sizes eta0 / sqrt(t). It reports a certified gap, too, but does not stop
        early.
    eta0 : float, greater than 0, default=1.0
        First step size of "subgradient". The other solvers ignore it.
    n_iter : int or None, at least 1, default=None
        Number of iterations of "subgradient", and the maximum for the other solvers. None means 200 for "subgradient",
        as in the papers, and 10,000 for the others.
    tol : float, at least 0, default=1e-3
        Relative duality gap at which the solver stops. If the gap is still larger after `n_iter` iterations, `fit`
        issues a ConvergenceWarning; `duality_gap_` holds the gap. "subgradient" ignores `tol` and does not warn.
    normalisation : {"sum", "mean"}, default="sum"
        Whether the losses of a task are summed or averaged.
    labels : {"classes", "01", "signed", "masked"}, default="classes"
        Coding of y, which is never guessed from the values.

        - "classes": a vector of classes, or a matrix of 0 and 1 with one column per task, as everywhere in
          scikit-learn. Two classes are one task, in which the last class is the positive one. Three or more classes are
          one task per class, which separates the class from the rest.
        - "01", "signed", "masked": a vector for a single task, or a matrix with one column per task. Its values are
          {0, 1}, {-1, +1}, or {-1, 0, +1} where 0 marks a sample that is not part of the task.
    fit_intercept : bool, default=True
        Whether each task has an intercept b_k, which is not regularised. The papers have no intercepts, and the
        ratio of positives to negatives is the same in all of their tasks. Without intercepts, tasks whose ratios differ
        need class_weight="balanced".
    class_weight : dict, "balanced" or None, default=None
        "balanced" gives the positives and the negatives of a task the same total weight. Use it if `predict` should
        find rare labels; the predicted probabilities are then too large. A dict holds the weight of each class, or of
        each label of a matrix y: {0: ..., 1: ...} or {-1: ..., 1: ...}. Classes that are not in the dict have weight 1.
    feature_weights : array (n_features,) or (n_groups,), above 0, or None, default=None
        Weights of the features in the norm. With `groups`, weights of the groups, in the order of their sorted names. A
        feature of weight 2 costs twice as much. Use them to avoid features that are expensive to measure. Not available
        for l2.
    groups : array (n_features,) or None, default=None
        Name of each feature's group. All features of a group are selected or dropped together, for example the one-hot
        columns of a variable. Available for l1inf and l12. Groups of samples are another thing: see `cv` of
        JointSparseClassifierCV.
    positive : bool, default=False
        Whether weights must be non-negative. Use it for features that can only be evidence for a label, not against it.
    l2 : float, at least 0, default=0.0
        Factor of a ridge term, l2 / 2 sum_jk W_jk^2, which is added to the losses, as in the elastic net. With the norm
        alone, the weights of a feature may be moved at no cost to another feature that is almost equal to it. The ridge
        term gives such features similar weights, so that they are selected or dropped together.
    warm_start : bool, default=False
        Whether to start from the previous fit, which saves time if data or parameters have changed little.
        "subgradient" ignores it.
    max_time : float or None, above 0, default=None
        Number of seconds after which `fit` stops. It keeps its current solution and warns if the gap exceeds `tol`.
        "subgradient" does not warn; `n_iter_` holds the number of its iterations.
    callback : function (iteration, objective, gap) or None, default=None
        Function that is called while `fit` runs. If it returns True, `fit` stops. `gap` is NaN if no gap is known.
        After Ctrl-C, `fit` raises KeyboardInterrupt: if a gap has been certified by then, the current solution is kept
        with its gap; otherwise the model is unchanged.
    verbose : bool, default=False
        Whether to print a line for each certified gap.

    Attributes
    ----------
    coef_ : ndarray (n_tasks, n_features)
        The weights W, transposed. Features that are not selected have exact zeros.
    intercept_ : ndarray (n_tasks,)
        The intercepts b.
    selected_features_ : ndarray
        Names of the features that at least one task uses, or their indices if X has no feature names.
    classes_ : ndarray
        The classes if y was a vector. For a matrix y, the names of its columns, or 0, 1, ... if it has no names.
    radius_, penalty_ : float or None
        The radius or the penalty of the fit. The one that was not used is None.
    calibration_ : ndarray (n_tasks, 2)
        See `calibrate`.
    duality_gap_ : float
        Certified relative duality gap: the objective minus a lower bound of the optimum, divided by the objective, or
        by the largest possible improvement on W = 0 if this is smaller. The divisor is at least a thousandth of the
        objective at W = 0.
    objective_ : ndarray (n_iter_ + 1,)
        Objective at every iterate, NaN where it was not computed. The last entry is the objective of `coef_` and
        `intercept_`, which belong to the iterate with the smallest objective. It is computed in double precision; the
        other entries are computed in the precision of X.
    n_iter_ : int
        Number of iterations.
    n_features_in_, feature_names_in_ : int, ndarray
        Number and names of the features, as in scikit-learn.

    See Also
    --------
    JointSparseClassifierCV : Chooses the radius on held-out samples.
    OnlineJointSparseClassifier : Learns from one example at a time.
    JointSparseRegressor : Learns real-valued targets.

    Notes
    -----
    X may be float32 or float64. float16 is converted to float32, and any other type to float64. A sparse X is handled
    as CSR. "working_set" converts a dense X to CSR if more than 95 % of its entries are 0. Fits are deterministic.

    NaN, None and pandas.NA in y stand for unknown labels. A sample with an unknown label is not part of that task. A
    task without any known label has weights of 0, and `fit` issues a warning. A task may have only positive or only
    negative labels. `classes_` has the dtype of the known labels, whether or not other labels are missing. If y is a
    DataFrame of pandas or Polars, its columns name the tasks, and predictions are DataFrames, too: of Polars if X is
    one, otherwise of pandas. As a transformer, the classifier returns the selected features.

    For a single task, and for tasks that need not share their features, scikit-learn's LogisticRegression (with an l1
    penalty for sparsity) is the better tool. For classes that no linear function separates, use other estimators of
    scikit-learn.

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

    @classmethod
    def from_coef(
        cls,
        coef: np.ndarray,
        intercept: np.ndarray,
        classes: Sequence[Any],
        *,
        calibration: np.ndarray | None = None,
        gap: float = np.nan,
        **parameters: Any,
    ) -> Self:
        """Return a fitted classifier with existing weights, as if y had been a DataFrame with a column per task.

        Parameters
        ----------
        coef : array (n_tasks, n_features)
            Weights.
        intercept : array (n_tasks,)
            Intercepts.
        classes : sequence (n_tasks,)
            Names of the tasks.
        calibration : array (n_tasks, 2) or None
            Slope and offset of each task's probabilities, see `calibrate`.
        gap : float
            Duality gap of the weights; NaN if it is not known.
        **parameters : any
            Parameters of the classifier. The radius or the penalty must be a number.

        Returns
        -------
        model : JointSparseClassifier

        Raises
        ------
        ValueError
            If a parameter is invalid, if the shapes do not fit, or if an array holds numbers that are not finite.

        Examples
        --------
        >>> model = JointSparseClassifier.from_coef(np.eye(2), np.zeros(2), ["cat", "dog"], radius=1.0)
        >>> model.selected_features_.tolist(), model.duality_gap_
        ([0, 1], nan)
        """
        self = cls(**parameters)
        pick("norms", self.norm), pick("losses", self.loss)
        strength, penalised = radius_or_penalty(self.radius, self.penalty)
        strength = as_finite(strength, "penalty" if penalised else "radius")
        n = len(classes)
        require_array(coef, "coef", (n, None))
        require_array(intercept, "intercept", (n,))
        self.coef_, self.intercept_ = coef, intercept
        self.classes_ = self._names = np.array(classes, dtype=object)
        self._flat, self._n_columns, self._codes = False, n, np.array([CODES[self.labels][0], 1])
        self.n_features_in_ = coef.shape[1]
        self.selected_features_ = np.flatnonzero(coef.any(axis=0))
        self.radius_, self.penalty_ = (None, strength) if penalised else (strength, None)
        self.duality_gap_ = gap
        if calibration is not None:
            require_array(calibration, "calibration", (n, 2))
            self.calibration_ = calibration
        return self

"""Labels of classifiers: their codings, their weights, and predictions in the same coding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, special
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from jointsparse.checks import require, require_unmasked
from jointsparse.estimators.base import Linear, in_columns, known, names_of, parameters, spread, validated, weights_of

# Numbers that a matrix y may hold under each value of `labels`.
CODES = {"classes": (0, 1), "01": (0, 1), "signed": (-1, 1), "masked": (-1, 0, 1)}


def as_signs(y: Any, labels: str) -> np.ndarray:
    """Labels as -1, +1, and 0 for samples that are not part of a task. y: any shape, coded as `labels` says."""
    y = to_dense(y)
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"labels={labels!r} expects numbers in y, got dtype {np.asarray(y).dtype}") from None
    codes = CODES[labels]
    bad = values[~np.isin(values, codes)]
    if bad.size:
        known, others = ", ".join(map(str, codes)), ", ".join(repr(name) for name in CODES if name != labels)
        matrix = "a matrix y" if labels == "classes" else "y"
        raise ValueError(f"labels={labels!r} expects {known} in {matrix}, got {bad[0]:g}; labels may also be {others}")
    return values if -1 in codes else 2 * values - 1


def to_dense(y: Any) -> Any:
    """Turn sparse labels into an array and leave others alone."""
    return y.toarray() if sparse.issparse(y) else y


def probabilities_of_classes(F: np.ndarray) -> np.ndarray:
    """Logistic functions of decisions F (n_samples, n_classes), divided by their sum, which may round to 0."""
    return np.asarray(special.softmax(special.log_expit(F), axis=1))


def _has_probabilities(classifier: Any) -> bool:
    if classifier.loss == "logistic" or hasattr(classifier, "calibration_"):
        return True
    raise AttributeError(
        f"probabilities need loss='logistic', or calibrate(X, y) on held-out samples, got loss={classifier.loss!r}"
    )


@parameters
class Labelled(ClassifierMixin, Linear):
    """A classifier for labels in every coding: class weights, decisions and predictions."""

    loss: str = "logistic"
    labels: str = "classes"
    class_weight: str | Mapping[Any, float] | None = None

    def _check_labels(self) -> None:
        require(self.labels in [*CODES], f"labels must be one of {', '.join(map(repr, CODES))}, got {self.labels!r}")

    def _validated(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """X, y and the weights of the samples, checked; a column of classes becomes a vector.

        The weights are (n_samples,) or (n_samples, n_tasks), 0 where a label is missing.
        """
        codes = CODES[self.labels] if options.get("reset", True) else self._codes
        y, missing = known(y, codes[0])
        X, y = validated(self, X, to_dense(y), multi_output=True, y_numeric=False, **options)
        weight = weights_of(sample_weight, X)
        if self.labels == "classes" and y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
            missing = None if missing is None else missing[:, 0]
        if missing is not None:
            weight = weight * ~missing if missing.ndim == 1 else spread(weight, missing.shape) * ~missing
        return X, y, weight

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, np.ndarray, np.ndarray]:
        """X and y, checked; Y (n_samples, n_tasks) of -1 and +1, and weights of that shape, 0 outside a task."""
        self._check_labels()
        names = names_of(y)
        X, y, weight = self._validated(X, y, sample_weight, order="C")
        self._flat = y.ndim == 1
        if self._has_names():
            check_classification_targets(y)
            self.classes_ = np.unique(y[weight.reshape(len(weight), -1).any(axis=1)])
            require(
                len(self.classes_) >= 2,
                f"y must hold at least two classes, got 1 class of positive weight: {self.classes_[0]}",
            )
        self._name_tasks(y, names)
        Y = self._signs(y)
        return X, y, Y, self._weigh(y, Y, weight)

    def _name_tasks(self, y: np.ndarray, names: np.ndarray | None) -> None:
        """Set classes_ and the codes that predictions have, unless y is a vector of classes."""
        self._names = None if self._flat else names
        self._codes = np.array([CODES[self.labels][0], 1])
        if not self._has_names():
            given = np.arange(np.shape(y)[-1]) if names is None else names
            self.classes_ = self._codes if self._flat else given
        if hasattr(self, "calibration_"):
            del self.calibration_

    def _has_names(self) -> bool:
        """True for a vector of classes, which may have any names."""
        return self.labels == "classes" and self._flat

    def _require_classes(self, y: np.ndarray, name: str = "y") -> None:
        """Raise ValueError for a class that fit has not seen, which would count as a negative of all tasks."""
        unknown = y[~np.isin(y, self.classes_)] if self._has_names() else y[:0]
        if len(unknown):
            raise ValueError(f"{name} must hold the classes {self.classes_.tolist()}, got {unknown.tolist()[0]!r}")

    def _signs(self, y: np.ndarray) -> np.ndarray:
        """y, in the coding and shape that fit has seen, as signs (n_samples, n_tasks)."""
        if self._has_names():
            positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
            return np.where(y[:, np.newaxis] == positive, 1.0, -1.0)
        if self.labels == "classes" and not np.array_equal(self._codes, CODES["classes"]):  # those of fit_tasks
            y = to_dense(y)
            wrong = y[~np.isin(y, self._codes)]
            require(not len(wrong), f"y must hold the classes {self._codes.tolist()}, got {wrong.tolist()[:1]}")
            y = y == self._codes[1]
        Y = as_signs(y, self.labels)
        return Y[:, np.newaxis] if Y.ndim == 1 else Y

    def _weigh(self, y: np.ndarray, Y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Weights (n_samples, n_tasks) of the losses: sample weight times class weight, 0 outside a task."""
        weights = spread(weight, Y.shape) * (Y != 0)
        if self.class_weight is None:
            return weights
        if not isinstance(self.class_weight, Mapping):
            return weights * self._balance(Y, weights)
        classes = (self.classes_ if self._has_names() else self._codes).tolist()
        unknown = set(self.class_weight) - set(classes)
        require(not unknown, f"class_weight must name classes of y, {classes}, got {sorted(unknown, key=str)}")
        of_class = np.array([self.class_weight.get(value, 1.0) for value in classes], dtype=float)
        require(np.all(of_class >= 0), f"class_weight must hold numbers of at least 0, got {dict(self.class_weight)}")
        if self._has_names():  # the sample's own class, in every task
            position = np.clip(np.searchsorted(self.classes_, y), 0, len(self.classes_) - 1)
            return weights * of_class[position][:, np.newaxis]
        return weights * np.where(Y > 0, of_class[1], of_class[0])

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
        if self._flat and F.shape[1] > 1:
            return np.asarray(self.classes_[F.argmax(axis=1)])
        told_apart = self.classes_ if self._flat else self._codes
        predicted = np.asarray(told_apart[(F > 0).astype(int)])
        return predicted[:, 0] if self._flat else self._in_frame(predicted, X)

    @available_if(_has_probabilities)
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
        F = self._calibrated(X)
        if self._flat and F.shape[1] > 1:
            return probabilities_of_classes(F)
        P = np.asarray(special.expit(F))
        return np.hstack([1 - P, P]) if self._flat else self._in_frame(P, X)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of `predict_proba`. X: (n_samples, n_features), dense or sparse."""
        F = self._calibrated(X)
        L = np.asarray(special.log_expit(F))  # finite where a probability rounds to 0
        if not self._flat:
            return self._in_frame(L, X)
        return special.log_softmax(L, axis=1) if F.shape[1] > 1 else np.hstack([special.log_expit(-F), L])

    def _calibrated(self, X: Any) -> np.ndarray:
        """Decisions whose logistic functions are probabilities, (n_samples, n_tasks)."""
        F = self._margins(X)
        return F * self.calibration_[:, 0] + self.calibration_[:, 1] if hasattr(self, "calibration_") else F

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
        self._require_names(y)
        _, y, weight = self._validated(X, y, sample_weight, reset=False)
        self._require_classes(y)
        Y = in_columns(self._signs(y), F.shape)
        weights = spread(weight, Y.shape) * (Y != 0)
        calibration = []
        for k in range(F.shape[1]):
            positive, negative = (float(weights[sign * Y[:, k] > 0, k].sum()) for sign in (1, -1))
            require(positive > 0 and negative > 0, f"task {k} must have a positive and a negative to be calibrated")
            # Paper: Platt's targets, (N+ + 1) / (N+ + 2) and 1 / (N- + 2), as weights of both labels.
            target = np.where(Y[:, k] > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
            both = np.concatenate([weights[:, k] * target, weights[:, k] * (1 - target)])
            f, sides = np.tile(F[:, [k]], (2, 1)).astype(float), np.repeat([1, 0], len(F))
            fitted = LogisticRegression(C=np.inf).fit(f, sides, sample_weight=both)
            calibration.append([fitted.coef_[0, 0], fitted.intercept_[0]])
        self.calibration_ = np.array(calibration)
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the fraction of correct predictions.

        With labels="classes" a sample counts as correct where all of its known labels are, as everywhere in
        scikit-learn. Else each label counts by itself, over the samples of its task. X: (n_samples, n_features). y: as
        in fit. sample_weight: (n_samples,).
        """
        require_unmasked(y, "y")
        check_is_fitted(self)
        self._require_names(y)
        y, missing = known(y, self._codes[0])
        if self._has_names():
            weight = weights_of(sample_weight, y) * ~missing if missing is not None else sample_weight
            return float(super().score(X, y, weight))
        F = self._margins(X)
        Y = in_columns(self._signs(np.asarray(to_dense(y))), F.shape)
        weights = spread(weights_of(sample_weight, F), F.shape) * (Y != 0)
        if missing is not None:
            weights = weights * ~in_columns(missing, F.shape)
        require(weights.any(), "y must hold at least one label of a sample of positive weight, got none")
        correct = (F > 0) == (Y > 0)
        if self.labels == "classes":
            correct, weights = (correct | (weights == 0)).all(axis=1), weights.max(axis=1)
        return float(np.average(correct, weights=weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

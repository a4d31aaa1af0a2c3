"""The solvers as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from jointsparse.estimators.base import Posed, all_or_nothing, parameters
from jointsparse.estimators.labels import Labelled, as_signs
from jointsparse.estimators.path import OneStrength


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
        costs twice as much. Take them to spare features that are cheap to measure. l2 takes none.
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
    selected features. NaN, None and pandas.NA in y mean an unknown label, which is no part of its task. From a
    DataFrame y its columns name the tasks, and predictions are DataFrames. Dense X of which 95 % is 0 is trained on as
    CSR.

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

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train on samples that the tasks share.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features)
            Features.
        y : array, DataFrame or sparse matrix (n_samples,) or (n_samples, n_tasks)
            Labels, coded as `labels` says. NaN, None and pandas.NA are unknown.
        sample_weight : array (n_samples,) or (n_samples, n_tasks), at least 0, or None
            Weights of the samples. Weight 2 is the sample twice.

        Returns
        -------
        self : JointSparseClassifier

        Raises
        ------
        ValueError
            If input or parameters make no sense. The estimator keeps its previous state.
        """
        self._train_one(self._posed(X, y, sample_weight), self.loss, self.radius, self.penalty, self.eta0)
        return self

    def _posed(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Posed:
        X, _, Y, weights = self._read(X, y, sample_weight)
        return self._pose_shared(X, Y, weights)

    @all_or_nothing
    def fit_tasks(
        self,
        tasks: Sequence[tuple[Any, ArrayLike]] | Mapping[Any, tuple[Any, ArrayLike]],
        sample_weight: Sequence[ArrayLike] | None = None,
    ) -> Self:
        """Train on tasks that have samples of their own. Predictions have a column per task.

        Parameters
        ----------
        tasks : list of pairs (X_k, y_k) of shapes (n_k, n_features) and (n_k,), or mapping from names to them
            Labels are coded as `labels` says. With "classes" all tasks have the same two classes.
        sample_weight : list of arrays (n_k,), at least 0, or None
            Weights of the samples, per task.

        Examples
        --------
        >>> tasks = [([[1.0, 0.0], [-1.0, 0.1]], [1, 0]), ([[2.0, 0.0]], [0])]
        >>> JointSparseClassifier(radius=0.5).fit_tasks(tasks).predict([[1.0, 0.0]]).tolist()
        [[1, 0]]
        """
        self._check_labels()
        features, targets, given = self._read_tasks(tasks, sample_weight, y_numeric=False)
        self._flat = False
        self._name_tasks(np.empty((0, len(targets))), self._names)
        if self.labels == "classes":
            self._codes = np.unique(np.concatenate(targets))
            if len(self._codes) != 2:
                raise ValueError(
                    f"labels='classes' expects two classes, the same in all tasks, got {self._codes.tolist()}"
                )
            signs = [np.where(y_k == self._codes[1], 1.0, -1.0) for y_k in targets]
        else:
            signs = [as_signs(y_k, self.labels) for y_k in targets]
        weights = [
            self._weigh(y_k, Y_k[:, np.newaxis], weight)[:, 0]
            for y_k, Y_k, weight in zip(targets, signs, given, strict=True)
        ]
        posed = self._pose(features, signs, weights)
        self._train_one(posed, self.loss, self.radius, self.penalty, self.eta0)
        return self

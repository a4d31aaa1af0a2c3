"""The solvers as a scikit-learn classifier."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from jointsparse.estimators.base import Trained, all_or_nothing, parameters, positional
from jointsparse.estimators.labels import Labelled, as_signs


@parameters
class JointSparseClassifier(Labelled, Trained):
    """Linear classifiers, one per task, that agree on a few features.

    minimise over W, b  sum_k sum_i c_ik loss(x_i·w_k + b_k, y_ik)  subject to  ||W|| <= radius,
    or the same losses plus penalty * ||W||. With l1inf, ||W|| = sum_j max_k |W_jk|. Then a feature is either 0 in all
    tasks or free in all of them.

    Parameters
    ----------
    norm : a name in `jointsparse.norms.NORMS`, default="l1inf"
        l1 and l2 bound each task by itself, all with the same radius. The others join the tasks.
    radius : float or None, at least 0, default=1.0
        The papers' C, which is nearly the opposite of scikit-learn's. None with `penalty`.
    penalty : float or None, at least 0, default=None
        lambda of the penalised form. Exactly one of radius and penalty is given.
    loss : {"hinge", "logistic", "squared"}, default="hinge"
        Loss of labels -1 and +1, whatever y holds.
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
    fit_intercept : bool, default=False
        Give each task a free b_k. The papers have none.
    class_weight : dict, "balanced" or None, default=None
        "balanced": in each task positives and negatives weigh the same in total. A dict: weights by class, and for a
        matrix of labels by label, {0: ..., 1: ...} or {-1: ..., 1: ...}. Others weigh 1.

    Attributes
    ----------
    coef_ : ndarray (n_tasks, n_features)
        W transposed, with exact zeros.
    intercept_ : ndarray (n_tasks,)
        b.
    selected_features_ : ndarray of int
        Indices of the features that are not 0 in some task.
    classes_ : ndarray
        The classes, or the two labels that predict tells apart.
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
    labels are all positive, or all negative, is solved as it stands. To select features in a pipeline, write
    `SelectFromModel(model, threshold=1e-12, norm_order=numpy.inf)`. Its default threshold would drop some of them.

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

    radius: float | None = positional(1.0)
    penalty: float | None = None
    eta0: float = 1.0

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train on samples that the tasks share.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features)
            Features.
        y : array or sparse matrix (n_samples,) or (n_samples, n_tasks)
            Labels, coded as `labels` says.
        sample_weight : array (n_samples,), at least 0, or None
            Weights of the samples. Weight 2 is the sample twice.

        Returns
        -------
        self : JointSparseClassifier

        Raises
        ------
        ValueError
            If input or parameters make no sense. The estimator keeps its previous state.
        """
        X, _, Y, weights = self._read(X, y, sample_weight)
        self._train_one(self._shared(X, Y, weights), self.loss, self.radius, self.penalty, self.eta0)
        return self

    @all_or_nothing
    def fit_tasks(
        self, tasks: Sequence[tuple[Any, ArrayLike]], sample_weight: Sequence[ArrayLike] | None = None
    ) -> Self:
        """Train on tasks that have samples of their own. Predictions have a column per task.

        Parameters
        ----------
        tasks : list of pairs (X_k, y_k) of shapes (n_k, n_features) and (n_k,)
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
        if self.labels == "classes":
            self.classes_ = np.unique(np.concatenate(targets))
            if len(self.classes_) != 2:
                raise ValueError(
                    f"labels='classes' expects two classes, the same in all tasks, got {self.classes_.tolist()}"
                )
            signs = [np.where(y_k == self.classes_[1], 1.0, -1.0) for y_k in targets]
        else:
            self.classes_ = self._codes_told_apart()
            signs = [as_signs(y_k, self.labels) for y_k in targets]
        weights = [
            self._weigh(y_k, Y_k[:, np.newaxis], weight)[:, 0]
            for y_k, Y_k, weight in zip(targets, signs, given, strict=True)
        ]
        problem = self._problem(features, signs, weights)
        self._train_one(problem, self.loss, self.radius, self.penalty, self.eta0)
        return self

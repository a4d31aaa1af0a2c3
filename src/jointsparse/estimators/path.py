"""Regularisation paths: fits for a sequence of radii or penalties, each of which starts from the previous fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from jointsparse.checks import require, warn_user
from jointsparse.estimators.base import (
    TaskSamples,
    Trained,
    all_or_nothing,
    centring_advice,
    parameters,
    positional,
    radius_or_penalty,
)
from jointsparse.estimators.labels import Labels
from jointsparse.estimators.watch import Watch
from jointsparse.learning.fit import Fit


class Path(NamedTuple):
    """Fits along a regularisation path.

    Attributes
    ----------
    strength : ndarray (n_points,)
        Radii or penalties in increasing order.
    penalised : bool
        True if the strengths are penalties, False if they are radii.
    coef : ndarray (n_points, n_tasks, n_features)
        W at each point, transposed.
    intercept : ndarray (n_points, n_tasks)
        b at each point.
    objective : ndarray (n_points,)
        Objective at each point.
    gap : ndarray (n_points,)
        Certified relative duality gap at each point.
    """

    strength: np.ndarray
    penalised: bool
    coef: np.ndarray
    intercept: np.ndarray
    objective: np.ndarray
    gap: np.ndarray

    @property
    def n_features(self) -> np.ndarray:
        """The number of features that at least one task uses at each point of the path, (n_points,)."""
        return np.asarray(self.coef.any(axis=1).sum(axis=1))


def fits_along(
    train: Callable[[float, Fit | None], Fit],
    strengths: np.ndarray,
    penalised: bool,
    *,
    start: Fit | None = None,
    ends: Callable[[float, Fit], bool] = lambda radius, fit: False,
    watch: Watch | None = None,
) -> list[Fit]:
    """Fit one radius or penalty after another, the most regularised one first. Each fit starts from the previous fit.

    Parameters
    ----------
    train : function
        Function that is called as `train(strength, start)`, where `start` is the fit to start from, or None. It
        returns a fit.
    strengths : array (n_points,)
        Radii or penalties in increasing order.
    penalised : bool
        True if the strengths are penalties, False if they are radii.
    start : Fit or None
        Fit from which the first fit of the path starts.
    ends : function
        Function that is called as `ends(radius, fit)` after each fit, if the strengths are radii. The path ends if it
        returns True.
    watch : Watch or None
        The watch that `train` passes to its solver. If the watch ends a fit early, this fit is dropped and the path
        ends, but the first fit is always kept.

    Returns
    -------
    fits : list of Fit
        The fits, in order of increasing strength.
    """
    fits: list[Fit] = []
    for strength in strengths[:: -1 if penalised else 1]:
        start = train(float(strength), start)
        fits.append(start)
        if watch and watch.ended_by:
            fits = fits[:-1] or fits
            break
        if not penalised and ends(float(strength), start):
            break
    return fits[:: -1 if penalised else 1]


@parameters
class OneStrength(Trained):
    """An estimator that trains with a given radius or penalty, and can also compute a regularisation path."""

    radius: float | str | None = positional("auto")
    penalty: float | None = None

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train on samples that all tasks share.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features)
            Features.
        y : array, DataFrame or sparse matrix (n_samples,) or (n_samples, n_tasks)
            Labels, in the coding that the parameter `labels` names, or the targets of a regressor. NaN, None and
            pandas.NA stand for unknown labels and targets.
        sample_weight : array (n_samples,) or (n_samples, n_tasks), at least 0, or None
            Weights of the samples. A weight of 2 has the same effect as repeating the sample.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            If the input or a parameter is invalid. The estimator then keeps its previous state.
        """
        return self._train_one(*self._pose_samples(self._read_all(X, y, sample_weight)), self.radius, self.penalty)

    @all_or_nothing
    def fit_tasks(
        self,
        tasks: Sequence[tuple[Any, ArrayLike]] | Mapping[Any, tuple[Any, ArrayLike]],
        sample_weight: Sequence[ArrayLike] | None = None,
    ) -> Self:
        """Train on tasks that each have their own samples. Predictions have a column per task.

        Parameters
        ----------
        tasks : list of pairs (X_k, y_k), or mapping from task names to such pairs
            Features (n_k, n_features) and labels or targets (n_k,) of each task. Labels are in the coding that
            the parameter `labels` names. With "classes" all tasks must have the same two classes.
        sample_weight : list of arrays (n_k,), at least 0, or None
            Sample weights of each task.

        Returns
        -------
        self : estimator

        Examples
        --------
        >>> from jointsparse import JointSparseClassifier, JointSparseRegressor
        >>> tasks = [([[1.0, 0.0], [-1.0, 0.1]], [1, 0]), ([[2.0, 0.0]], [0])]
        >>> JointSparseClassifier(radius=0.5).fit_tasks(tasks).predict([[1.0, 0.0]]).tolist()
        [[1, 0]]
        >>> tasks = {"near": ([[1.0, 0.0], [0.0, 1.0]], [3.0, 0.1]), "far": ([[1.0, 0.0]], [-5.0])}
        >>> model = JointSparseRegressor(radius=1.0, fit_intercept=False, tol=1e-6).fit_tasks(tasks)
        >>> model.predict([[2.0, 1.0]]).round(2).to_dict("list"), model.selected_features_.tolist()
        ({'near': [2.0], 'far': [-2.0]}, [0])
        """
        return self._train_one(*self._pose_samples(*self._read_tasks(tasks, sample_weight)), self.radius, self.penalty)

    def _read_tasks(self, tasks: Any, sample_weight: Any) -> list[TaskSamples]:
        """Check the tasks passed to `fit_tasks`, and return the samples of each task, a list of n_tasks."""
        names = np.array(list(tasks), dtype=object) if isinstance(tasks, Mapping) else None
        tasks = list(tasks.values()) if isinstance(tasks, Mapping) else list(tasks)
        require(
            tasks and all(isinstance(task, (tuple, list)) and len(task) == 2 for task in tasks),
            "tasks must be a list or a mapping of at least one pair (X_k, y_k)",
        )
        n, of_samples = len(tasks), [None] * len(tasks) if sample_weight is None else list(sample_weight)
        require(len(of_samples) == n, f"sample_weight must hold one array per task, {n}, got {len(of_samples)}")
        self._flat, self._n_columns, self._names = False, len(tasks), names
        read = [
            self._checked(
                X_k, y_k, weight, f"y of task {k if names is None else names[k]}", reset=k == 0, multi_output=False
            )
            for k, ((X_k, y_k), weight) in enumerate(zip(tasks, of_samples, strict=True))
        ]
        of_tasks = [labels.y for _, labels, _ in read]
        alike = all(y_k.dtype == of_tasks[0].dtype for y_k in of_tasks)
        # If dtypes differ, arrays of objects keep the labels unchanged: np.concatenate would turn numbers into text.
        y = np.concatenate(of_tasks if alike else [y_k.astype(object) for y_k in of_tasks])
        y = Labels.read(y, numeric=self._numeric).y
        self._learn_coding(y, classes=y)
        dtype = np.result_type(*(X_k.dtype for X_k, _, _ in read))
        X = [X_k.astype(dtype, copy=False) for X_k, _, _ in read]
        in_tasks = [self._in_tasks(labels, weight) for _, labels, weight in read]
        weights = [self._weigh(Y_k, c) for Y_k, c in in_tasks]
        self._warn_of_unknown(np.array([c.any() for c in weights]), "task")
        return [TaskSamples(X_k, Y_k, c) for X_k, (Y_k, _), c in zip(X, in_tasks, weights, strict=True)]

    def path(
        self,
        X: Any,
        y: ArrayLike,
        *,
        n_points: int = 20,
        strengths: Sequence[float] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Path:
        """Compute a regularisation path, without changing the estimator.

        The path consists of radii, or of penalties if the estimator has `radius=None` and a penalty. Radii range from a
        tenth of the natural unit of the data to ten times this unit. The path ends early if a larger radius could not
        change the fit. Penalties range from a thousandth of the smallest penalty for which W = 0 is optimal up to this
        penalty. `PathDisplay` plots a path. To choose a radius or penalty, use an estimator with cross-validation. The
        parameters warm_start, max_time, callback and verbose have no effect here.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features)
            Features.
        y : array or DataFrame (n_samples,) or (n_samples, n_tasks)
            Labels or targets, as in `fit`.
        n_points : int, at least 1
            Number of radii or penalties.
        strengths : sequence of float, at least 0, or None
            The radii or penalties to use instead of automatic ones. The path then does not end early.
        sample_weight : array (n_samples,) or (n_samples, n_tasks), or None
            Weights of the samples.

        Returns
        -------
        Path

        Raises
        ------
        ValueError
            If the input or a parameter is invalid, or if the solver does not stop at `tol`.

        Warns
        -----
        ConvergenceWarning
            If the gap exceeds `tol` at any points of the path. A single warning is issued for all of them.

        Examples
        --------
        >>> from jointsparse import JointSparseClassifier
        >>> X, y = [[1.0, 0.1], [-1.0, 0.1], [1.5, -0.1]], [1, 0, 1]
        >>> path = JointSparseClassifier().path(X, y, strengths=[0.1, 1.0])
        >>> path.n_features.tolist(), path.coef.shape
        ([1, 1], (2, 1, 2))
        """
        model = clone(self)
        require(model._stops(), f"path needs a solver that stops at tol, got solver={model.solver!r}")
        _, penalised = radius_or_penalty(model.radius, model.penalty)
        problem, centres = model._pose_samples(model._read_all(X, y, sample_weight))
        grid = model._grid(problem, n_points if strengths is None else np.atleast_1d(strengths), penalised, "strengths")

        def train(strength: float, start: Fit | None) -> Fit:
            return model._train(problem, strength, penalised, start=start)[1]

        ends = {"ends": model._end_of_path(problem)} if strengths is None else {}
        fits = fits_along(train, grid, penalised, **ends)
        gaps = np.concatenate([fit.gap for fit in fits])
        unproven = model._unproven(gaps, model.tol).sum()
        if unproven:
            warn_user(
                f"{unproven} of {len(fits)} points of the path are not certified to be within tol={model.tol:g} of "
                f"their optima (see the gap of the path): raise n_iter or tol{centring_advice(problem)}",
                ConvergenceWarning,
            )
        return Path(
            strength=grid[: len(fits)],
            penalised=penalised,
            coef=np.concatenate([fit.W for fit in fits]).transpose(0, 2, 1),
            intercept=np.concatenate([fit.b for fit in fits]) + centres,
            objective=np.concatenate([fit.value for fit in fits]),
            gap=gaps,
        )

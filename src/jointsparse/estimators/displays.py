"""Display classes, as in scikit-learn: regularisation paths, features that tasks share, and stability selection."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jointsparse.checks import require, require_extra
from jointsparse.estimators.base import OneStrength
from jointsparse.estimators.linear import names_of_tasks
from jointsparse.estimators.path import Path
from jointsparse.estimators.stability import StabilitySelection, stability_selection

MOST_NAMES = 40  # more tick labels on an axis would overlap


def _axes(n: int, axes: Any, size: tuple[float, float]) -> tuple[Any, list[Any]]:
    """Return a figure and n axes in it: the given axes, or a column of axes in a new figure."""
    if axes is not None:
        given = list(np.ravel(np.asarray(axes, dtype=object)))
        require(len(given) == n, f"ax must hold {n} Axes, got {len(given)}")
        return given[0].figure, given
    require_extra("jointsparse.estimators.displays", "matplotlib")
    from matplotlib import pyplot as plt

    figure, new = plt.subplots(n, 1, sharex=True, figsize=size, layout="constrained", squeeze=False)
    return figure, list(new[:, 0])


class PathDisplay:
    """A plot of the objective, the duality gap and the number of features along a path of radii or penalties.

    Parameters
    ----------
    path : Path
        The path to plot, as returned by `JointSparseClassifier.path`.

    Attributes
    ----------
    figure_ : Figure
        The figure. Set by `plot`.
    axes_ : list of three Axes
        The axes for the objective, the gap and the number of features. Set by `plot`.

    Examples
    --------
    >>> from jointsparse import JointSparseClassifier, PathDisplay
    >>> X, y = [[1.0, 0.1], [-1.0, 0.1], [1.5, -0.1]], [1, 0, 1]
    >>> display = PathDisplay.from_estimator(JointSparseClassifier(), X, y, n_points=5)  # doctest: +SKIP
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, n_points: int = 20, ax: Any = None) -> Self:
        """Compute a regularisation path and plot it.

        Parameters
        ----------
        estimator : JointSparseClassifier or JointSparseRegressor
            Estimator whose other parameters are used at all points of the path. It is not changed.
        X : array, DataFrame or sparse matrix (n_samples, n_features)
            Features.
        y : array or DataFrame (n_samples,) or (n_samples, n_tasks)
            Labels or targets.
        n_points : int, at least 1
            Number of radii or penalties.
        ax : sequence of three Axes, or None
            Axes to plot on, or None for a new figure.

        Returns
        -------
        display : PathDisplay
        """
        require(
            isinstance(estimator, OneStrength),
            f"estimator must be a JointSparseClassifier or JointSparseRegressor, got {type(estimator).__name__}",
        )
        return cls(estimator.path(X, y, n_points=n_points)).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Plot the path and return the display. ax: three Axes, or None for a new figure."""
        path = self.path
        self.figure_, self.axes_ = _axes(3, ax, (6.0, 6.5))
        shown = path.strength > 0  # a logarithmic axis has no 0
        panels = (
            (path.objective, "objective", "linear"),
            (np.maximum(path.gap, np.finfo(float).eps), "relative duality gap", "log"),
            (path.n_features, f"features used (of {path.coef.shape[2]})", "linear"),
        )
        for axes, (values, label, scale) in zip(self.axes_, panels, strict=True):
            axes.plot(path.strength[shown], values[shown], color="black", marker="o", markersize=3)
            axes.set(ylabel=label, xscale="log", yscale=scale)
            axes.grid(alpha=0.3)
        self.axes_[2].set(xlabel="penalty" if path.penalised else "radius", ylim=(0, None))
        return self


class SupportDisplay:
    """A plot of the weights of all tasks on the selected features, sorted so that shared features stand out.

    Features that many tasks use come first, and tasks that have many features in common are neighbours.

    Parameters
    ----------
    coef : array (n_tasks, n_features)
        Weights.
    tasks : sequence of str
        Names of the tasks.
    features : sequence of str
        Names of the features.

    Attributes
    ----------
    shown : array (n_tasks, n_used)
        The sorted weights.
    figure_ : Figure
        The figure. Set by `plot`.
    ax_ : Axes
        The axes. Set by `plot`.
    """

    def __init__(self, coef: np.ndarray, tasks: Any, features: Any) -> None:
        coef = np.atleast_2d(np.asarray(coef, dtype=float))
        used = coef != 0
        columns = np.lexsort((-np.abs(coef).max(axis=0), -used.sum(axis=0)))
        columns = columns[used.any(axis=0)[columns]]
        rows = _chain(used[:, columns])
        self.shown = coef[np.ix_(rows, columns)]
        self.tasks = [str(tasks[row]) for row in rows]
        self.features = [str(features[column]) for column in columns]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Plot the weights of a fitted estimator. ax: Axes, or None for a new figure."""
        check_is_fitted(estimator)
        features = getattr(estimator, "feature_names_in_", range(np.shape(estimator.coef_)[-1]))
        return cls(estimator.coef_, names_of_tasks(estimator), features).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Plot the weights and return the display. ax: Axes, or None for a new figure."""
        n_tasks, n_used = self.shown.shape
        self.figure_, (self.ax_,) = _axes(1, ax, (min(3.0 + 0.16 * n_used, 12.0), min(2.0 + 0.2 * n_tasks, 9.0)))
        if not n_used:
            self.ax_.text(0.5, 0.5, "no feature is used", ha="center", va="center", transform=self.ax_.transAxes)
            self.ax_.set_axis_off()
            return self
        largest = float(np.abs(self.shown).max())
        shown = np.where(self.shown == 0, np.nan, self.shown)
        image = self.ax_.imshow(shown, cmap="PuOr", vmin=-largest, vmax=largest, aspect="auto", interpolation="none")
        self.figure_.colorbar(image, ax=self.ax_, label="weight; grey: 0")
        self.ax_.set_facecolor("0.75")
        self.ax_.set(xlabel=f"features used ({n_used})", ylabel=f"tasks ({n_tasks})")
        for axis, names, rotation in ((self.ax_.xaxis, self.features, 90), (self.ax_.yaxis, self.tasks, 0)):
            shown_names = names if len(names) <= MOST_NAMES else []
            axis.set_ticks(range(len(shown_names)), shown_names, rotation=rotation)
        return self


class StabilityDisplay:
    """A plot of how often each feature is selected on random halves, in decreasing order, with the threshold.

    The title has the bound on false selections, `StabilitySelection.bound`, which says what counts as false.

    Parameters
    ----------
    stability : StabilitySelection
        The frequencies to plot, as returned by `stability_selection`.

    Attributes
    ----------
    figure_ : Figure
        The figure. Set by `plot`.
    ax_ : Axes
        The axes. Set by `plot`.

    Examples
    --------
    >>> from jointsparse import JointSparseRegressor, StabilityDisplay
    >>> X, Y = [[1.0, 0.1], [-1.0, 0.1], [1.5, -0.1], [2.0, 0.0]], [1.0, -1.0, 1.5, 1.0]
    >>> display = StabilityDisplay.from_estimator(JointSparseRegressor(), X, Y, n_pairs=5)  # doctest: +SKIP
    """

    def __init__(self, stability: StabilitySelection) -> None:
        self.stability = stability

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, Y: Any = None, *, ax: Any = None, **options: Any) -> Self:
        """Select features on random halves of the samples, and plot how often each one is selected.

        Parameters
        ----------
        estimator, X, Y : as in `stability_selection`
            See there.
        ax : Axes or None
            Axes to plot on, or None for a new figure.
        **options : Any
            Further arguments of `stability_selection`.

        Returns
        -------
        display : StabilityDisplay
        """
        return cls(stability_selection(estimator, X, Y, **options)).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Plot the features that are selected on any half, and return the display. ax: Axes, or None for a new figure.

        Dots show in how many halves each task uses the feature.
        """
        shown = self.stability
        order = np.argsort(-shown.frequencies, kind="stable")[: np.count_nonzero(shown.frequencies)]
        height, names = shown.frequencies[order], [str(name) for name in shown.features[order]]
        self.figure_, (self.ax_,) = _axes(1, ax, (min(3.0 + 0.16 * len(order), 12.0), 4.0))
        places = np.arange(len(order))
        colours = np.where(height >= shown.threshold, "C0", "0.7")
        self.ax_.bar(places, height, color=colours)
        if len(shown.tasks) > 1:
            by_task = shown.task_frequencies[:, order]
            self.ax_.plot(places, by_task.T, linestyle="none", marker="o", markersize=2, color="black", alpha=0.4)
        self.ax_.axhline(shown.threshold, color="C1", linewidth=1)
        self.ax_.set(
            xlabel=f"features that any half selects ({len(order)} of {len(shown.features)})",
            ylabel=f"fraction of {2 * shown.n_pairs} halves",
            title=f"selected features: {len(shown.selected)}, expected false selections ≤ {shown.bound:.2g}",
            ylim=(0, 1.02),
        )
        names = names if len(names) <= MOST_NAMES else []
        self.ax_.set_xticks(range(len(names)), names, rotation=90)
        return self


def _chain(used: np.ndarray) -> list[int]:
    """Return an order of the tasks in which neighbours share features.

    The task with the most features comes first. Each task is followed by the remaining task that shares the most
    features with it. used: bool (n_tasks, n_features).
    """
    remaining = list(np.argsort(-used.sum(axis=1), kind="stable"))
    order = [remaining.pop(0)]
    while remaining:
        order.append(remaining.pop(int(np.argmax((used[remaining] & used[order[-1]]).sum(axis=1)))))
    return [int(row) for row in order]

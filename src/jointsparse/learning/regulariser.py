"""Regularisers of the weights W: a bound on a norm of W, or a multiple of the norm that is added to the losses.

A ridge term can be added to both. Source: Quattoni et al. (2009), eq. 2, and its penalised form.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Regulariser:
    """Base class of `Ball` and `Penalty`.

    norm : module
        The norm module; see `norms`.
    strength : float or array (n_tasks,)
        The radius or the penalty, for all tasks or for each task.
    weights : array (n_features,) or (n_groups,), or None
        Positive weights of the features or groups in the norm. None means 1.
    positive : bool
        Whether W must be non-negative.
    groups : int array (n_features,) or None
        The group of each feature, from 0 to n_groups - 1. The norm treats a group as one row. None means no groups.
    l2 : float, at least 0
        Factor of the ridge term l2 / 2 sum_jk W_jk^2, which is added to the losses.
    """

    norm: ModuleType
    strength: Any
    weights: np.ndarray | None = None
    positive: bool = False
    groups: np.ndarray | None = None
    l2: float = 0.0

    @property
    def options(self) -> dict[str, Any]:
        """The weights and groups, if there are any, as keyword arguments for the functions of the norm."""
        given = {"weights": self.weights, "groups": self.groups}
        return {name: array for name, array in given.items() if array is not None}

    def weights_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the weights of the features in these rows of W, or None if the features have no weights."""
        return None if self.weights is None else self.weights[rows]

    def by_feature(self, n_features: int) -> np.ndarray:
        """Return the strength times the weight of each feature.

        The shape is (n_features,), or (n_tasks, n_features) if each task has a strength of its own.
        """
        return np.multiply.outer(self.strength, np.ones(n_features) if self.weights is None else self.weights)

    def gradient(self, V: np.ndarray) -> np.ndarray:
        """Return the part of V = X^T dual that enters the lower bound: V, or max(V, 0) if W must be non-negative."""
        return np.maximum(V, 0) if self.positive else V

    def project(self, W: np.ndarray) -> None:
        """Project W (n_features, n_tasks) in place onto the feasible set."""
        raise NotImplementedError

    def step(self, W: np.ndarray, size: float, **warm: Any) -> None:
        """Take a proximal step of the given size from W (n_features, n_tasks), in place. warm: see `warm_start`."""
        if self.l2:
            # With the ridge term, the proximal step is a shorter step without the ridge term, from a smaller W.
            shrinkage = 1 / (1 + float(size) * self.l2)
            W *= shrinkage
            size *= shrinkage
        self.step_of_norm(W, size, **warm)

    def step_of_norm(self, W: np.ndarray, size: float, **warm: Any) -> None:
        """Take a proximal step as `step` does, but without the ridge term."""
        raise NotImplementedError

    def warm_start(self) -> dict[str, Any]:
        """Return keyword arguments with which each call of `step` starts from the result of the previous call."""
        return {}

    def ridge(self, W: np.ndarray) -> float:
        """Return the ridge term l2 / 2 sum_jk W_jk^2 in double precision."""
        return 0.5 * self.l2 * float(np.square(W, dtype=np.float64).sum()) if self.l2 else 0.0

    def cost(self, W: np.ndarray) -> float:
        """Return the terms that the regulariser adds to the losses: the ridge term and, if any, penalty * ||W||."""
        return self.ridge(W)

    def conjugate(self, V: np.ndarray) -> float:
        """Return the maximum of <W, V> - `cost(W)` over all W that satisfy the constraints. l2 must not be 0.

        V: X^T dual, (n_features, n_tasks).
        """
        W = V.astype(np.float64) / self.l2
        self.step_of_norm(W, 1 / self.l2)  # attains the maximum, apart from rounding errors
        # <W, V> - `cost(W)` would be too small if W were inaccurate. This sum is never too small for a ball.
        rest = self.norm.dual_norm(self.gradient(V - self.l2 * W), **self.options)
        return self.dual_cost(rest) + self.ridge(W)

    def allows(self, W: np.ndarray, excess: float) -> bool:
        """Return True if W satisfies its constraints. The norm may exceed the radius by the fraction `excess` of it."""
        return not (self.positive and (W < 0).any())

    def dual_share(self, size: Any) -> Any:
        """Return the factor by which dual variables must be multiplied to be feasible. size: ||X^T dual||_dual."""
        raise NotImplementedError

    def dual_cost(self, size: Any) -> float:
        """Return the term that the regulariser subtracts from the dual value to give the lower bound.

        size: ||X^T dual||_dual.
        """
        raise NotImplementedError

    def beyond_edge(self, length: float) -> Any:
        """Return a size of W that reaches the boundary of its ball: `length`, or the radius if the radius is larger."""
        raise NotImplementedError


class Ball(Regulariser):
    """The constraint ||W|| <= radius, or ||w_k|| <= radius_k for each task k."""

    def project(self, W: np.ndarray) -> None:
        self.step_of_norm(W, 1.0)

    def step_of_norm(self, W: np.ndarray, size: float, **warm: Any) -> None:
        # The proximal step of a constraint is the projection, for every size.
        self.norm.project(W, self.strength, out=W, positive=self.positive, **self.options, **warm)

    def warm_start(self) -> dict[str, Any]:
        return {"warm": self.norm.Warm()} if self.norm.WARM and self.groups is None else {}

    def allows(self, W: np.ndarray, excess: float) -> bool:
        inside = np.all(self.norm.norm(W, **self.options) <= self.strength * (1 + excess))
        return bool(inside) and super().allows(W, excess)

    def dual_share(self, size: Any) -> float:
        return 1.0

    def dual_cost(self, size: Any) -> float:
        return float(np.sum(self.strength * size))

    def beyond_edge(self, length: float) -> Any:
        # The projection of a W more than 1e12 times larger than the ball would consist of rounding errors.
        return np.clip(length, self.strength, 1e12 * self.strength)


class Penalty(Regulariser):
    """The term penalty * ||W||, or sum_k penalty_k ||w_k||, that is added to the losses."""

    def project(self, W: np.ndarray) -> None:
        """Do nothing, because a penalty does not bound W."""

    def step_of_norm(self, W: np.ndarray, size: float, **warm: Any) -> None:
        W[...] = self.norm.prox(W, self.strength * size, positive=self.positive, **self.options)

    def cost(self, W: np.ndarray) -> float:
        return float(np.sum(self.strength * self.norm.norm(W, **self.options))) + self.ridge(W)

    def dual_share(self, size: Any) -> Any:
        return self.strength / np.maximum(np.maximum(size, self.strength), np.finfo(float).tiny)

    def dual_cost(self, size: Any) -> float:
        return 0.0

    def beyond_edge(self, length: float) -> Any:
        return np.full_like(self.strength, length)


def per_pair(
    norm: ModuleType,
    strengths: Any,
    penalised: bool = False,
    weights: np.ndarray | None = None,
    positive: bool = False,
    groups: np.ndarray | None = None,
    l2: float = 0.0,
) -> list[Regulariser]:
    """Return the regulariser of each pair (eta0, radius).

    Parameters
    ----------
    norm : module
        The norm module; see `norms`.
    strengths : array (n_pairs,) or (n_pairs, n_tasks)
        Radii or penalties.
    penalised : bool
        True if the strengths are penalties, False if they are radii.
    weights, positive, groups, l2 : Any
        See `Regulariser`.

    Returns
    -------
    regularisers : list of Regulariser
    """
    kind = Penalty if penalised else Ball
    return [kind(norm, strength, weights, positive, groups, l2) for strength in np.asarray(strengths, dtype=float)]

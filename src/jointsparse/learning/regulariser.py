"""What is asked of the weights W: a norm of at most a radius, or a norm that is added to the losses.

Source: Quattoni et al. (2009), eq. 2, and its penalised form.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Regulariser:
    """What `Ball` and `Penalty` share.

    norm : module
        Plug-in of norms.
    strength : float or array (n_tasks,)
        The radius or the penalty, of all tasks or of each.
    weights : array (n_features,) or (n_groups,), or None
        Weights of the features or groups in the norm, above 0; None means 1.
    positive : bool
        True for weights W of at least 0.
    groups : int array (n_features,) or None
        The group of each feature, from 0 to n_groups - 1. The norm counts a group as one row. None: no groups.
    """

    norm: ModuleType
    strength: Any
    weights: np.ndarray | None = None
    positive: bool = False
    groups: np.ndarray | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Options of the norm's functions."""
        given = {"weights": self.weights, "groups": self.groups}
        return {name: array for name, array in given.items() if array is not None}

    def weights_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Weights of some features."""
        return None if self.weights is None else self.weights[rows]

    def by_feature(self, n_features: int) -> np.ndarray:
        """Strength times weight of each feature, (n_features,), or (n_tasks, n_features) if tasks differ."""
        return np.multiply.outer(self.strength, np.ones(n_features) if self.weights is None else self.weights)

    def gradient(self, V: np.ndarray) -> np.ndarray:
        """The part of X^T dual that the bound of all W counts: what is above 0, if W is at least 0."""
        return np.maximum(V, 0) if self.positive else V

    def project(self, W: np.ndarray) -> None:
        """Project W (n_features, n_tasks) in place onto the set of all W that are allowed."""
        raise NotImplementedError

    def step(self, W: np.ndarray, size: float, **warm: Any) -> None:
        """Take the proximal step of a size from W (n_features, n_tasks) in place. warm: of `warm_start`."""
        raise NotImplementedError

    def warm_start(self) -> dict[str, Any]:
        """Options by which each `step` starts from the one before."""
        return {}

    def cost(self, W: np.ndarray) -> float:
        """Term that is added to the losses."""
        raise NotImplementedError

    def allows(self, W: np.ndarray, excess: float) -> bool:
        """Return True if W is where the constraints want it, up to an excess relative to the radius."""
        return not (self.positive and (W < 0).any())

    def dual_share(self, size: Any) -> Any:
        """Factor that the dual variables must be scaled by, if ||X^T dual||_dual has this size."""
        raise NotImplementedError

    def dual_cost(self, size: Any) -> float:
        """Number that the bound loses by dual variables of this size."""
        raise NotImplementedError

    def beyond_edge(self, length: float) -> Any:
        """Return a length of W that surely reaches the edge of what is allowed: this one, unless a ball is larger."""
        raise NotImplementedError


class Ball(Regulariser):
    """The constraint ||W|| <= radius, or ||w_k|| <= radius_k of each task k."""

    def project(self, W: np.ndarray) -> None:
        self.step(W, 1.0)

    def step(self, W: np.ndarray, size: float, **warm: Any) -> None:
        # Of any size: a projection.
        self.norm.project(W, self.strength, out=W, positive=self.positive, **self.options, **warm)

    def warm_start(self) -> dict[str, Any]:
        return {"warm": self.norm.Warm()} if self.norm.WARM and self.groups is None else {}

    def cost(self, W: np.ndarray) -> float:
        return 0.0

    def allows(self, W: np.ndarray, excess: float) -> bool:
        inside = np.all(self.norm.norm(W, **self.options) <= self.strength * (1 + excess))
        return bool(inside) and super().allows(W, excess)

    def dual_share(self, size: Any) -> float:
        return 1.0

    def dual_cost(self, size: Any) -> float:
        return float(np.sum(self.strength * size))

    def beyond_edge(self, length: float) -> Any:
        # A W that is more than 1e12 times as large as the ball would project to rounding errors.
        return np.clip(length, self.strength, 1e12 * self.strength)


class Penalty(Regulariser):
    """The added penalty * ||W||, or sum_k penalty_k ||w_k||."""

    def project(self, W: np.ndarray) -> None:
        """Do nothing: all W are allowed."""

    def step(self, W: np.ndarray, size: float, **warm: Any) -> None:
        W[...] = self.norm.prox(W, self.strength * size, positive=self.positive, **self.options)

    def cost(self, W: np.ndarray) -> float:
        return float(np.sum(self.strength * self.norm.norm(W, **self.options)))

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
) -> list[Regulariser]:
    """Make the regulariser of each pair.

    Parameters
    ----------
    norm : module
        Plug-in of norms.
    strengths : array (n_pairs,) or (n_pairs, n_tasks)
        Radii, or penalties.
    penalised : bool
        True for penalties.
    weights, positive, groups : Any
        See `Regulariser`.

    Returns
    -------
    regularisers : list of Regulariser
    """
    kind = Penalty if penalised else Ball
    return [kind(norm, strength, weights, positive, groups) for strength in np.asarray(strengths, dtype=float)]

"""What is asked of the weights W: a norm of at most a radius, or a norm that is added to the losses.

Source: Quattoni et al. (2009), eq. 2, and its penalised form.
"""

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np


class Regulariser(NamedTuple):
    """The constraint ||W|| <= radius of each pair, or the added radius * ||W|| if `penalised`.

    norm : module
        Plug-in of norms.
    radius : array (n_pairs,) or (n_pairs, n_tasks)
        Radii, or penalties if `penalised`.
    penalised : bool
        True for the added norm.
    weights : array (n_features,) or (n_groups,), or None
        Weights of the features or groups in the norm, above 0; None means 1.
    positive : bool
        True for weights W of at least 0.
    groups : int array (n_features,) or None
        The group of each feature, from 0 to n_groups - 1. The norm counts a group as one row. None: no groups.
    """

    norm: ModuleType
    radius: np.ndarray
    penalised: bool = False
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

    def penalties(self, n_features: int) -> np.ndarray:
        """Penalty of each feature of the first pair, (n_features,), or (n_tasks, n_features) if tasks differ."""
        return np.multiply.outer(self.radius[0], np.ones(n_features) if self.weights is None else self.weights)

    def gradient(self, V: np.ndarray) -> np.ndarray:
        """The part of X^T dual that the bound of all W counts: what is above 0, if W is at least 0."""
        return np.maximum(V, 0) if self.positive else V

    def of(self, pairs: Any) -> "Regulariser":
        """Regulariser of these pairs only."""
        return self._replace(radius=self.radius[pairs])

    def step(self, W: np.ndarray, pair: int, size: float, **warm: Any) -> None:
        """Project W (n_features, n_tasks) in place, or take the proximal step of a size if penalised.

        Parameters
        ----------
        W : array (n_features, n_tasks)
            Weights of the pair, changed in place.
        pair : int
            The pair's number.
        size : float, above 0
            Size of the proximal step. A projection has none.
        **warm : Any
            One of `warm_starts`.
        """
        if self.penalised:
            W[...] = self.norm.prox(W, self.radius[pair] * size, positive=self.positive, **self.options)
        else:
            self.norm.project(W, self.radius[pair], out=W, positive=self.positive, **self.options, **warm)

    def cost(self, W: np.ndarray, pair: int) -> float:
        """Term that is added to the losses."""
        return float(np.sum(self.radius[pair] * self.norm.norm(W, **self.options))) if self.penalised else 0.0

    def allows(self, W: np.ndarray, pair: int, excess: float) -> bool:
        """Return True if W is where the constraints want it, up to an excess relative to the radius."""
        fits = self.penalised or np.all(self.norm.norm(W, **self.options) <= self.radius[pair] * (1 + excess))
        return bool(fits and not (self.positive and (W < 0).any()))

    def warm_starts(self) -> list[dict[str, Any]]:
        """Options of `step` for each pair, by which each projection starts from the one before."""
        takes_one = self.norm.WARM and self.groups is None
        return [{"warm": self.norm.Warm()} if takes_one else {} for _ in self.radius]

"""What a solver keeps while it iterates, and what it returns."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jointsparse.learning.problem import Problem

Watch = Callable[[int, float, float], object]  # see `learning.solvers`


class Trace(list[tuple[int, Any, Any]]):
    """Iterate, pairs and their objectives, as they come: room for all iterations may be more than there is."""

    def until(self, t: int, n_pairs: int) -> np.ndarray:
        """Objectives (n_pairs, t + 1), NaN where none was kept."""
        objective = np.full((n_pairs, t + 1), np.nan)
        for at, pairs, value in self:
            objective[pairs, at] = value
        return objective


class Best:
    """Iterate of smallest objective of each pair, and the objectives of all iterates.

    Choice: the papers do not say which iterate is kept. The one of smallest objective is usual.
    """

    def __init__(self, problem: Problem, n_pairs: int, objective: Trace) -> None:
        self.W = np.zeros((n_pairs, problem.n_features, problem.n_tasks), dtype=problem.dtype)
        self.b = np.zeros((n_pairs, problem.n_tasks), dtype=problem.dtype)
        self.objective, self.smallest = objective, np.full(n_pairs, np.inf)

    def take(self, t: int, pairs: np.ndarray, value: np.ndarray, W: np.ndarray, b: np.ndarray) -> None:
        """Note the objectives of these pairs at iterate t, and take the iterates that are better.

        Parameters
        ----------
        t : int
            Iterate.
        pairs : int array (n,)
            Numbers of the pairs.
        value : array (n,)
            Their objectives.
        W : array (n, n_features, n_tasks)
            Their weights.
        b : array (n, n_tasks)
            Their intercepts.
        """
        self.objective.append((t, pairs, value))
        for i in np.flatnonzero(value < self.smallest[pairs]):
            self.smallest[pairs[i]], self.W[pairs[i]], self.b[pairs[i]] = value[i], W[i], b[i]


class Fit(NamedTuple):
    """Result of training for each pair.

    W : array (n_pairs, n_features, n_tasks)
        Iterate of smallest objective.
    b : array (n_pairs, n_tasks)
        Its intercepts.
    objective : array (n_pairs, n_iter + 1)
        Objective at every iterate, from margins in X's precision. NaN where it was not computed.
    value : array (n_pairs,)
        Objective of W and b in double precision.
    bound : array (n_pairs,)
        Lower bound of all objectives, in double precision.
    gap : array (n_pairs,)
        Relative duality gap of `value` and `bound`, see `certificate.relative_gap`. No optimum is further away. It is
        infinite if W lies outside its ball.
    n_iter : int
        Number of iterations done.
    dual : array (n_samples, n_pairs)
        Dual variables of `bound`, in the order of the problem's y.
    omega : array (n_pairs,) or None
        What the next fit may begin with: the balance of pdhg's step sizes, or the step size of accelerated steps.
    rounds : list of lists
        What each pair's rounds have reached, of solvers that have rounds.
    """

    W: np.ndarray
    b: np.ndarray
    objective: np.ndarray
    value: np.ndarray
    bound: np.ndarray
    gap: np.ndarray
    n_iter: int
    dual: np.ndarray
    omega: np.ndarray | None = None
    rounds: Sequence[Any] = ()

    def of(self, pair: int) -> "Fit":
        """Fit of one pair; of the only one if there is no other."""
        at = slice(None) if len(self.W) == 1 else slice(pair, pair + 1)
        of_pairs = {
            name: getattr(self, name)[at] for name in ("W", "b", "objective", "value", "bound", "gap", "rounds")
        }
        return self._replace(**of_pairs, dual=self.dual[:, at], omega=None if self.omega is None else self.omega[at])

    @staticmethod
    def stack(fits: Sequence["Fit"]) -> "Fit":
        """Put fits of one pair each into one."""
        n_iter = max(fit.n_iter for fit in fits)
        missing = [((0, 0), (0, n_iter + 1 - fit.objective.shape[1])) for fit in fits]
        objective = [np.pad(fit.objective, gap, constant_values=np.nan) for fit, gap in zip(fits, missing, strict=True)]
        names = ("W", "b", "value", "bound", "gap", *(() if fits[0].omega is None else ("omega",)))
        joined = {name: np.concatenate([getattr(fit, name) for fit in fits]) for name in names}
        dual, rounds = np.hstack([fit.dual for fit in fits]), [of_pair for fit in fits for of_pair in fit.rounds]
        return Fit(**joined, objective=np.concatenate(objective), n_iter=n_iter, dual=dual, rounds=rounds)

"""Records that a solver keeps while it iterates, and the result that it returns."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jointsparse.learning.problem import Problem

Watch = Callable[[int, float, float], object]  # see `learning.solvers`


def padded(objectives: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the objectives of fits, each (n_pairs, n_records), with NaN after the last iterate of the shorter fits.

    Parameters
    ----------
    objectives : sequence of array
        The objectives of each fit.

    Examples
    --------
    >>> padded([np.ones((1, 2)), np.ones((1, 3))])[0]
    array([[ 1.,  1., nan]])
    """
    longest = max(objective.shape[1] for objective in objectives)
    return [
        np.pad(objective, ((0, 0), (0, longest - objective.shape[1])), constant_values=np.nan)
        for objective in objectives
    ]


class Trace(list[tuple[int, Any, Any]]):
    """Objectives recorded so far, as a list of tuples (iterate, indices of pairs, their objectives).

    Many iterates have no objective, so the list needs less memory than an array with an entry for every iterate.
    """

    def until(self, t: int, n_pairs: int) -> np.ndarray:
        """Return the objectives of iterates 0 to t, (n_pairs, t + 1). Objectives that were not recorded are NaN."""
        objective = np.full((n_pairs, t + 1), np.nan)
        for at, pairs, value in self:
            objective[pairs, at] = value
        return objective


class Best:
    """A record of the best iterate of each pair (eta0, radius), and of the objectives of the iterates.

    Choice: the papers do not say which iterate is kept. As usual, it is the iterate with the smallest objective.
    """

    def __init__(self, problem: Problem, n_pairs: int, objective: Trace) -> None:
        self.W = np.zeros((n_pairs, problem.n_features, problem.n_tasks), dtype=problem.dtype)
        self.b = np.zeros((n_pairs, problem.n_tasks), dtype=problem.dtype)
        self.objective, self.smallest = objective, np.full(n_pairs, np.inf)

    def take(self, t: int, pairs: np.ndarray, value: np.ndarray, W: np.ndarray, b: np.ndarray) -> None:
        """Record the objectives of some pairs at iterate t, and keep the iterates that are better than the best so far.

        Parameters
        ----------
        t : int
            Number of the iterate.
        pairs : int array (n,)
            Indices of the pairs.
        value : array (n,)
            Objectives of these pairs.
        W : array (n, n_features, n_tasks)
            Weights of these pairs.
        b : array (n, n_tasks)
            Intercepts of these pairs.
        """
        self.objective.append((t, pairs, value))
        for i in np.flatnonzero(value < self.smallest[pairs]):
            self.smallest[pairs[i]], self.W[pairs[i]], self.b[pairs[i]] = value[i], W[i], b[i]


class Fit(NamedTuple):
    """The result of training, with an entry for each pair (eta0, radius).

    W : array (n_pairs, n_features, n_tasks)
        Weights of the iterate with the smallest objective.
    b : array (n_pairs, n_tasks)
        Intercepts of the same iterate.
    objective : array (n_pairs, n_iter + 1)
        Objective at every iterate, computed from margins in the precision of X. NaN where it was not computed.
    value : array (n_pairs,)
        Objective of W and b in double precision.
    bound : array (n_pairs,)
        Lower bound of the optimum, in double precision.
    gap : array (n_pairs,)
        Relative duality gap between `value` and `bound`; see `certificate.relative_gap`. It is infinite if W lies
        outside its ball.
    n_iter : int
        Number of iterations.
    dual : array (n_samples, n_pairs)
        Dual variables that yield `bound`, in the order of the problem's y.
    omega : array (n_pairs,) or None
        State for a warm start: the balance of the two step sizes of `pdhg`, or the step size of `accelerated`.
    rounds : list of lists
        For each pair, a list of the states after each round. The lists are empty for solvers without rounds.
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
        """Return the part of this fit that belongs to one pair. If there is only one pair, any index returns it."""
        at = slice(None) if len(self.W) == 1 else slice(pair, pair + 1)
        of_pairs = {
            name: getattr(self, name)[at] for name in ("W", "b", "objective", "value", "bound", "gap", "rounds")
        }
        return self._replace(**of_pairs, dual=self.dual[:, at], omega=None if self.omega is None else self.omega[at])

    @staticmethod
    def stack(fits: Sequence["Fit"]) -> "Fit":
        """Combine fits that each have a single pair (eta0, radius) into one fit with all these pairs."""
        n_iter = max(fit.n_iter for fit in fits)
        objective = np.concatenate(padded([fit.objective for fit in fits]))
        names = ("W", "b", "value", "bound", "gap", *(() if fits[0].omega is None else ("omega",)))
        joined = {name: np.concatenate([getattr(fit, name) for fit in fits]) for name in names}
        dual, rounds = np.hstack([fit.dual for fit in fits]), [of_pair for fit in fits for of_pair in fit.rounds]
        return Fit(**joined, objective=objective, n_iter=n_iter, dual=dual, rounds=rounds)

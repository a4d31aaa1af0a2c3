"""Solvers: plug-in modules whose function `fit` trains W for a given loss and norm, which are plug-in modules, too.

Every solver trains several pairs (eta0, radius), or several radii if it has no step size. `subgradient` trains all
pairs together, so that it reads the data once per iteration. `pdhg` and `working_set` train one pair after another.

- ``fit(problem, *, loss, norm, radius, n_iter, penalised, weights, positive, groups, l2, watch)`` returns a `Fit`.
- ``TAKES`` holds the names of further arguments of ``fit``, such as step sizes, that have one value per pair.
- ``STOPS_AT_TOL`` is True if ``fit`` takes ``tol``, a duality gap at which it stops, and ``start``, a fit for a warm
  start.

A solver calls ``watch(iterations, objective, gap)`` from time to time. With several pairs, ``objective`` is the sum
of their objectives and ``gap`` is the largest gap. ``gap`` is NaN if no gap is known for the whole problem. If
``watch`` returns a true value, the solver stops and certifies its current solution.
"""

from importlib import import_module

SOLVERS = {name: import_module(f"{__name__}.{name}") for name in ("pdhg", "subgradient", "working_set")}

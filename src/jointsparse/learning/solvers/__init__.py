"""The room of solvers: modules whose `fit` trains W over a loss and a norm, both given as modules.

Every solver takes many pairs, (eta0, radius) or just radii. `subgradient` trains them together, so that the data are
read once per iteration. `pdhg` and `working_set` train one after the other.

- ``fit(problem, *, loss, norm, radius, n_iter, penalised, weights, positive, groups, watch)`` returns a `Fit`.
- ``TAKES`` lists the step sizes that ``fit`` takes per pair.
- ``STOPS_AT_TOL`` says whether ``fit`` takes a duality gap ``tol`` to stop at, and a fit to ``start`` from.

A solver tells the function ``watch`` (iterations done, objective, gap) now and then: of several pairs the sum of the
objectives and the largest gap. The gap is NaN where none is known for the whole problem. The solver ends where the
function returns something true, and certifies what it has.
"""

from importlib import import_module

SOLVERS = {name: import_module(f"{__name__}.{name}") for name in ("pdhg", "subgradient", "working_set")}

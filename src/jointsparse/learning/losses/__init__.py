"""The room of losses: hinge, logistic and squared.

A loss is a module with six functions of margins F = XW, labels Y and the samples' weights c:

- ``value(F, Y, c)``: the weighted sum of the losses for each task, (n_tasks,);
- ``subgradient(F, Y, c)``: its derivative with respect to F, of F's shape and dtype;
- ``dual_value(A, Y, c)``: what the dual variables A of the losses add to the dual objective, (n_tasks,);
- ``dual_step(A, F, Y, c, sigma)``: the proximal step of the dual variables, of A's shape and dtype;
- ``derivatives(F, Y, c, G)`` and ``dual_steps(A, F, Y, c, sigma, B)``: the compiled loops of `subgradient` and
  `dual_step`, which check nothing and write to G and B.

``CURVATURE`` is the largest second derivative of a loss of weight 1, infinite where it has a kink. ``QUADRATIC`` is
True for the squared loss, whose gradients a Gram matrix tells. ``DESCENDS`` is True if there is
``descend(indptr, indices, data, Y, c, F, A, W, b, penalties, positive, intercept, n_sweeps)``. It is compiled, and
sweeps over the weights of each task to minimise the losses + sum_jl penalties_lj abs(W_lj). The features are a CSC
matrix. Y, c, F, A and W have a row for each task. It changes F, W, b and A, the dual variables, in place.

`learning.loss` makes the loops of formulas for one sample and task, and the first four of the loops. F and A are
(n_samples, n_tasks). Y and c have the same shape, or (n_samples, 1) where all tasks share them. A sample of weight 0 is
not part of the task.
"""

from importlib import import_module

LOSSES = {name: import_module(f"{__name__}.{name}") for name in ("hinge", "logistic", "squared")}

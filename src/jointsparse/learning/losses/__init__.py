"""Losses: plug-in modules for the hinge, the logistic and the squared loss.

A loss is a module with six functions of margins F = XW, labels Y and sample weights c:

- ``value(F, Y, c)``: the weighted sum of the losses for each task, (n_tasks,);
- ``subgradient(F, Y, c)``: the derivative of this sum with respect to F, with the shape and dtype of F;
- ``dual_value(A, Y, c)``: the contribution of the dual variables A to the dual objective for each task, (n_tasks,);
- ``dual_step(A, F, Y, c, sigma)``: the proximal step of the dual variables, with the shape and dtype of A;
- ``derivatives(F, Y, c, G)`` and ``dual_steps(A, F, Y, c, sigma, B)``: the compiled loops of `subgradient` and
  `dual_step`, which do not check their input and write their results to G and B.

``CURVATURE`` is the largest second derivative of a loss of weight 1; it is infinite for a loss with a kink.
``QUADRATIC`` is True for the squared loss, whose gradients can be computed from a Gram matrix. ``DESCENDS`` is True if
the module has the compiled function ``descend(indptr, indices, data, Y, c, F, A, W, b, inside, penalties, l2, positive,
intercept, n_sweeps)``. It decreases the sum of the losses, of sum_jl penalties_lj abs(W_lj), and of the ridge term
l2 / 2 sum_jl W_lj^2, by a proximal Newton step with `n_sweeps` sweeps for each task. The features are a CSC matrix. Y,
c, F, A and W have one row per task. Only the weights W_lj with inside_lj change. F, W, b and the dual variables A are
changed in place.

`learning.loss` compiles the loops from formulas for a single sample and task, and builds the first four functions from
the loops. F and A are (n_samples, n_tasks). Y and c have the same shape, or (n_samples, 1) if all tasks share them. A
sample of weight 0 is not part of the task.
"""

from importlib import import_module

LOSSES = {name: import_module(f"{__name__}.{name}") for name in ("hinge", "logistic", "squared")}

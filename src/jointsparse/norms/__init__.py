"""The room of norms. A norm is a module with four functions on W (n_features, n_tasks), rows are features:

- ``norm(W)`` and ``dual_norm(W)``: a float; for the norms per task (l1, l2) one number per column;
- ``project(W, radius, *, out=None)``: the nearest matrix with norm at most ``radius`` (the papers' C);
- ``prox(W, step)``: the minimiser of 1/2 ||B - W||^2 + step * norm(B), summed over tasks for l1 and l2.

``WARM`` says whether ``project`` takes a warm start too, ``warm=Warm()``.

All keep float64 and float32, convert other real numbers to float64, never write into W unless ``out`` is W, and raise
ValueError for NaN, infinity, a wrong shape and a negative radius or step.
"""

from jointsparse.norms import l1, l1inf, l2, l12

NORMS = {"l1": l1, "l12": l12, "l1inf": l1inf, "l2": l2}

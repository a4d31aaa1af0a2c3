"""The room of norms. A norm is a module with four functions on W (n_features, n_tasks), whose rows are features.

- ``norm(W)`` and ``dual_norm(W)`` return a float, or one number per task;
- ``project(W, radius, *, out=None, positive=False)`` returns the nearest matrix with norm at most ``radius`` (the
  papers' C);
- ``prox(W, step, *, positive=False)`` minimises 1/2 ||B - W||^2 + step * norm(B), summed over the tasks for a norm per
  task.

With ``positive=True`` the result is the best one with B >= 0. A norm depends on |W| only and grows with it, so this is
the result for max(W, 0). A solver of such a problem uses ``dual_norm(max(V, 0))`` in bounds.

Six constants say what a norm can do:

- ``PER_TASK``: True if each column has a norm and a ball of its own. Then ``norm`` and ``dual_norm`` return an array
  (n_tasks,), radius and step may be such an array, and a vector W is one task, with a float for a norm.
- ``SPARSE``: True if its balls have corners where weights are 0. Then ``dual_rows(W)`` returns each row's part in
  ``dual_norm``, which is the largest of them: (n_features,), or (n_features, n_tasks) for a norm per task.
- ``WEIGHTED``: True if all functions take ``weights=``, one positive number s_i per feature, for all tasks. The norm is
  then norm(s_i W_i) and its dual dual_norm(W_i / s_i), with rows W_i.
- ``GROUPED``: True if all functions take ``groups=``, the group number of each feature, from 0 to n_groups - 1. A group
  then counts as one row with all its entries. Weights and ``dual_rows`` are one number per group, (n_groups,).
- ``DESCENDS``: True if there is ``descend(A, squares, H, W, penalties, n_sweeps)``. It is compiled, and sweeps over the
  rows of W to minimise 1/2 ||Y - X W||^2 + sum_i penalties_i norm(W_i). `rows` says what A and H are; squares_i is
  ||X_i||^2. It changes H and W in place.
- ``WARM``: True if ``project`` takes a warm start, ``warm=Warm()``. Then the module also defines the class ``Warm``.

All keep float64 and float32 and convert other real numbers to float64. They never write into W unless ``out`` is W.
They raise ValueError for NaN, infinity, a wrong shape, and a negative radius or step; `jointsparse.checks` has the
checks and their messages. A matrix inside the ball comes back bit for bit, and numbers near the largest float do not
overflow. Entries from 1e-150 to 1e150 may stand in one matrix. A matrix and radius times a power of two give the same
result times that power. A projection keeps signs, enlarges no entry, and meets the radius to 1e-12 of it, in float32 to
1e-6. Its entries are right to 1e-14 of the largest one, in float32 to 4e-6. A radius below 1e-300 of the norm may give
0. Subnormal results are rounded towards 0. `trials/projections.py` compares all of this with exact arithmetic.

A new norm is a module beside these, its name in ``NORMS``, and its expression in tests/oracles_convex.py. Nothing
else has to change. It rests on no other norm; only `l12` projects by `l1` and `l2`. `rows` has what all norms share.
The l1 ball under sparse updates is in `learning.l1_sparse`.
"""

from importlib import import_module

NORMS = {name: import_module(f"{__name__}.{name}") for name in ("l1", "l12", "l1inf", "l2")}

"""Norms, and the projections onto their balls.

A norm is a module with four functions of a matrix W (n_features, n_tasks), whose rows are features:

- ``norm(W)`` and ``dual_norm(W)`` return a float, or an array with one number per task;
- ``project(W, radius, *, out=None, positive=False)`` returns the nearest matrix whose norm is at most ``radius`` (the
  papers' C);
- ``prox(W, step, *, positive=False)`` minimises 1/2 ||B - W||^2 + step * norm(B). If each task has its own norm, the
  norms of all tasks are added.

With ``positive=True`` the minimisation is restricted to B >= 0. Every norm depends only on |W| and grows with it, so
this gives the same result as replacing W by max(W, 0). A solver of such a problem uses ``dual_norm(max(V, 0))`` in its
bounds.

Six constants state what a norm can do:

- ``PER_TASK``: True if every column has a norm and a ball of its own. ``norm`` and ``dual_norm`` then return an array
  (n_tasks,), and ``radius`` and ``step`` may be arrays of this shape. W may also be a vector, which stands for a single
  task; its norm is a float.
- ``SPARSE``: True if the balls have corners where weights are 0. The module then has ``dual_rows(W)``, whose maximum
  over the rows is ``dual_norm(W)``: an array (n_features,) or, if each task has its own norm, (n_features, n_tasks).
- ``WEIGHTED``: True if all functions take ``weights=``, one positive number s_i per feature, the same for all tasks.
  The norm is then the norm of the matrix with rows s_i W_i, and its dual is the dual norm of the rows W_i / s_i.
- ``GROUPED``: True if all functions take ``groups=``, the group number of each feature, from 0 to n_groups - 1. All
  entries of a group then count as one row. Weights and the result of ``dual_rows`` have one entry per group,
  (n_groups,).
- ``DESCENDS``: True if the module has the compiled function ``descend(A, squares, H, W, penalties, n_sweeps)``, which
  sweeps over the rows of W to minimise 1/2 ||Y - X W||^2 + sum_i penalties_i norm(W_i). squares_i is ||X_i||^2, and
  `rows` defines A and H. H and W are changed in place.
- ``WARM``: True if ``project`` takes a warm start, ``warm=Warm()``. The module then also defines the class ``Warm``.

If W has three or more axes, the last two hold matrices and the others are batch axes; every matrix is projected
separately. A radius or step is then one number, or an array that broadcasts to the shape of the result of ``norm``.
``axis=`` states which of the last two axes runs over the entries that a norm combines first: over the features of a
task if each task has its own norm, and otherwise over the tasks of a feature. In both cases ``weights`` has one entry
per feature.

Arrays of JAX, PyTorch, CuPy and other libraries of the array API standard stay on their device and keep their dtype,
float32 or float64. If W, the radius or step, or the weights are such an array, the result is one, too. They need the
extra ``[arrays]``. ``groups``, ``warm``, ``method`` and ``out`` work only with NumPy arrays. JAX and PyTorch
differentiate the results with respect to W, the radius or step, and the weights. The functions can be compiled by JAX's
``jit`` and mapped by its ``vmap``; while JAX traces them, values are not checked. `formulas` states which gradient is
taken where a function is not differentiable.

All functions keep float64 and float32 and convert other real dtypes to float64. They never write into W unless ``out``
is W. They raise ValueError for NaN, infinity, a wrong shape, and a negative radius or step, with the messages of
`jointsparse.checks`.

The projections guarantee the following, which `trials/projections.py` checks against exact arithmetic:

- A matrix inside the ball is returned unchanged, bit for bit.
- Signs are kept, and no entry grows.
- The result meets the radius with a relative error of at most 1e-12, or 1e-6 in float32.
- Entries have an error of at most 1e-14 of the largest entry, or 4e-6 in float32.
- Numbers near the largest float do not overflow, and a single matrix may have entries from 1e-150 to 1e150.
- Multiplying matrix and radius by a power of two multiplies the result by the same power.
- A radius below 1e-300 of the norm may give 0, and subnormal results are rounded towards 0.

To add a norm, write a module next to the existing ones, add its name to ``NORMS``, and add its expression to
tests/oracles_convex.py. Norms do not import each other, except for `l12`, which projects by means of `l1` and `l2`.
`rows` holds the helpers that the norms share. Sparse updates in the l1 ball are in `learning.l1_sparse`.
"""

from importlib import import_module

NORMS = {name: import_module(f"{__name__}.{name}") for name in ("l1", "l12", "l1inf", "l2")}

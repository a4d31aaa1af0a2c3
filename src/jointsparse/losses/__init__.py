"""The room of losses. A loss is a module with two functions on margins F = XW and labels Y in {-1, 0, +1}:

- ``value(F, Y)``: (n_tasks,) array, each column's sum over the samples that belong to the task (Y != 0);
- ``subgradient(F, Y)``: the derivative with respect to F, of F's shape and dtype, 0 where Y = 0.

F is (n_samples, n_tasks), float64 or float32, in any memory order. Y has the same shape, or (n_samples, 1) where all
tasks share it. Only shapes and types are checked, since solvers call these in their inner loop; NaN in F gives NaN.
"""

from jointsparse.losses import hinge, logistic, squared

LOSSES = {"hinge": hinge, "logistic": logistic, "squared": squared}

"""The room of losses. A loss is a module with four functions of margins F = XW, labels Y and the samples' weights c:

- ``value(F, Y, c)``: (n_tasks,) array, each column's weighted sum over the samples;
- ``subgradient(F, Y, c)``: its derivative with respect to F, of F's shape and dtype;
- ``dual_value(A, Y, c)``: (n_tasks,) array, what the losses add to the dual objective at the dual variables A;
- ``dual_step(A, F, Y, c, sigma)``: the proximal step of the dual variables, of A's shape and dtype.

F and A are (n_samples, n_tasks), float64 or float32, in any memory order. Y and c have the same shape, or
(n_samples, 1) where all tasks share them; without c the first two weigh every sample 1. A sample of weight 0 is not
part of the task. The losses of classification take labels -1 and +1 and leave out a sample of label 0 as well; to the
squared loss 0 is a target like any other. Only shapes and types are checked, since solvers call these in their inner
loop; NaN in F gives NaN.
"""

from jointsparse.learning.losses import hinge, logistic, squared

LOSSES = {"hinge": hinge, "logistic": logistic, "squared": squared}

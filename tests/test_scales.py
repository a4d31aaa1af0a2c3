"""The natural scales of radii and penalties, on which grids and paths are based."""

import numpy as np
import pytest
from common import draw_labels

from jointsparse.learning import scales
from jointsparse.learning.losses import LOSSES
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import pdhg
from jointsparse.norms import NORMS

X, Y = draw_labels(n=30, d=6)


@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
@pytest.mark.parametrize(
    ("loss", "norm"),
    [*(("hinge", norm) for norm in sorted(NORMS)), *((loss, "l1inf") for loss in sorted(LOSSES) if loss != "hinge")],
)
def test_smaller_balls_contain_no_fit_without_losses_and_larger_penalties_give_zero(loss, norm, intercept):
    problem, plug_ins = Problem.from_matrix(X, Y, intercept=intercept), {"loss": LOSSES[loss], "norm": NORMS[norm]}
    found, options = scales.scales(problem, **plug_ins), plug_ins | {"tol": 1e-6, "n_iter": 20_000}
    assert pdhg.fit(problem, radius=np.array([0.99 * found.radius]), **options).bound[0] > 0
    none, some = pdhg.fit(problem, radius=found.penalty * np.array([1 + 1e-6, 0.9]), penalised=True, **options).W
    assert np.abs(none).max() <= 1e-6
    assert intercept or np.abs(some).max() > 1e-4


@pytest.mark.parametrize("norm", [name for name in sorted(NORMS) if NORMS[name].PER_TASK])
def test_the_unit_of_a_norm_per_task_is_the_maximum_over_the_tasks(norm):
    tasks = Y[:, :1], np.tile(Y[:, :1], 3)
    plug_ins = {"loss": LOSSES["hinge"], "norm": NORMS[norm]}
    alone, thrice = (scales.scales(Problem.from_matrix(X, labels), **plug_ins).radius for labels in tasks)
    np.testing.assert_allclose(thrice, alone, rtol=1e-12)

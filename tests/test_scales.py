"""The natural scales of radii and penalties, on which grids and paths are based."""

import numpy as np
import pytest
from common import draw_labels

from jointsparse.learning import scales
from jointsparse.learning.losses import LOSSES
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import pdhg
from jointsparse.norms import NORMS


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("norm", sorted(NORMS))
@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
def test_smaller_balls_contain_no_fit_without_losses_and_larger_penalties_give_zero(loss, norm, intercept):
    X, Y = draw_labels(n=30, d=6)
    problem, plug_ins = Problem.from_matrix(X, Y, intercept=intercept), {"loss": LOSSES[loss], "norm": NORMS[norm]}
    found = scales.scales(problem, **plug_ins)
    options = {"tol": 1e-6, "n_iter": 20_000}
    assert pdhg.fit(problem, **plug_ins, radius=np.array([0.99 * found.radius]), **options).bound[0] > 0
    none, some = pdhg.fit(
        problem,
        **plug_ins,
        radius=np.array([found.penalty * (1 + 1e-6), found.penalty * 0.9]),
        penalised=True,
        **options,
    ).W
    assert np.abs(none).max() <= 1e-6
    assert intercept or np.abs(some).max() > 1e-4


@pytest.mark.parametrize("norm", [name for name in sorted(NORMS) if NORMS[name].PER_TASK])
def test_the_unit_of_a_norm_per_task_is_the_maximum_over_the_tasks(norm):
    X, Y = draw_labels(n=30, d=6)
    alone, thrice = (
        scales.scales(Problem.from_matrix(X, labels), loss=LOSSES["hinge"], norm=NORMS[norm]).radius
        for labels in (Y[:, :1], np.tile(Y[:, :1], 3))
    )
    np.testing.assert_allclose(thrice, alone, rtol=1e-12)

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


@pytest.mark.parametrize("norm", sorted(NORMS))
def test_without_intercepts_the_scales_come_from_the_hinge_losses_at_zero_and_their_gradient(norm):
    tasks = [(X[:20], Y[:20, 0]), (X, Y[:, 1]), (X[5:], Y[5:, 2])]
    problem = Problem([x for x, _ in tasks], [y for _, y in tasks], [np.abs(y) for _, y in tasks])
    found = scales.scales(problem, loss=LOSSES["hinge"], norm=NORMS[norm])
    G, losses = np.stack([x.T @ y for x, y in tasks], axis=1), np.array([np.abs(y).sum() for _, y in tasks])
    size = NORMS[norm].dual_norm(G)
    radius = np.max(losses / size) if np.ndim(size) else losses.sum() / size  # of each task, or of all
    np.testing.assert_allclose(found, [radius, np.max(size), np.linalg.norm(G)], rtol=1e-12)


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_with_intercepts_constant_features_change_nothing(loss):
    plug_ins = {"loss": LOSSES[loss], "norm": NORMS["l1inf"]}
    matrices = X, np.column_stack([X, np.full((len(X), 2), [7.0, -7.0])])
    without, expected = (scales.scales(Problem.from_matrix(x, Y, intercept=True), **plug_ins) for x in matrices)
    np.testing.assert_allclose(without, expected, rtol=1e-9)
    constant = Problem.from_matrix(np.ascontiguousarray(matrices[1][:, -2:]), Y, intercept=True)
    assert scales.scales(constant, **plug_ins).radius == 0

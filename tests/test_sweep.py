"""The grid of a sweep and the choice of a pair."""

from itertools import product

import numpy as np
import pytest
from conftest import draw_labels

from jointsparse import checks, tables
from jointsparse.learning import sweep
from jointsparse.learning.losses import hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import subgradient
from jointsparse.norms import l1inf

# The grid


def run(X, Y, **options):
    defaults = {"loss": "hinge", "norm": "l1inf", "eta0": [0.1, 1.0], "radius": [3.0, 1.0]}
    return sweep.run(X, Y, **defaults | {"n_iter": 5, "normalisation": "sum"} | options)


def test_the_grid_goes_through_all_eta0_for_each_radius():
    swept = run(*draw_labels(), eta0=[1.0, 0.1], radius=[10, 1, 100])
    got = list(zip(swept.radius, swept.eta0, strict=True))
    assert got == list(product([10, 1, 100], [1.0, 0.1]))


def test_a_sweep_holds_the_fit_of_each_pair():
    X, Y = draw_labels()
    swept = run(X, Y)
    tasks = Problem.from_matrix(X, Y)
    grid = {"eta0": swept.eta0, "radius": swept.radius}
    expected = subgradient.fit(tasks, loss=hinge, norm=l1inf, n_iter=5, **grid)
    np.testing.assert_equal([swept.objective, swept.gap], [expected.objective, expected.gap])
    np.testing.assert_array_equal(swept.W, expected.W[sweep.choose_eta0(swept.radius, swept.objective)])


def test_a_solver_without_step_sizes_takes_each_radius_once():
    swept = run(*draw_labels(), solver="pdhg", tol=1e-6, n_iter=2000)
    assert swept.radius.tolist() == [3.0, 1.0] and np.isnan(swept.eta0).all()
    assert (swept.gap <= 1e-6).all()
    by_steps = run(*draw_labels(), n_iter=3000)
    best = sweep.choose_eta0(by_steps.radius, by_steps.objective)[::-1]
    np.testing.assert_allclose(np.nanmin(swept.objective, 1), by_steps.objective[best].min(1), rtol=1e-3)


# The choice of a pair


@pytest.mark.parametrize(
    ("smallest", "expected"),
    [
        pytest.param([5.0, 4.0, 6.0, 3.0, 2.0, 1.0], [5, 1], id="the smallest, by increasing radius"),
        pytest.param([5.0, 4.0, 4.0, 7.0, 7.0, 7.0], [3, 1], id="the first of equally good ones"),
    ],
)
def test_eta0_is_chosen_by_the_smallest_objective_of_each_radius(smallest, expected):
    objective = np.column_stack([np.full(6, 99.0), smallest, np.full(6, 98.0)])
    assert sweep.choose_eta0(np.repeat([10.0, 1.0], 3), objective).tolist() == expected


@pytest.mark.parametrize("auc", [[0.5, 0.7, 0.6], [0.5, 0.7, 0.7]])
def test_the_first_radius_with_the_largest_validation_auc_is_chosen(auc):
    assert sweep.choose_radius(np.array(auc)) == 1


# A path of radii


def test_a_path_finds_what_each_radius_alone_does():
    X, Y = draw_labels(n=80, d=12)
    options = {"loss": "hinge", "norm": "l1inf", "n_iter": 5000, "normalisation": "sum", "tol": 1e-4}
    radii, seen = [3.0, 0.5, 1.0, 2.0], []
    found = sweep.path(X, Y, radius=radii, progress=lambda done, of: seen.append((done, of)), **options)
    alone = run(X, Y, solver="pdhg", eta0=[1.0], **options | {"radius": sorted(radii)})
    assert found.radius.tolist() == sorted(radii) and seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert found.W.shape == (4, 12, 3) and (found.gap <= 1e-4).all()
    at_zero, objective = found.objective.T
    np.testing.assert_allclose(objective, np.nanmin(alone.objective, axis=1), rtol=2e-4)
    assert (np.diff(objective) <= 0).all() and l1inf.norm(found.W[-1]) <= 3.0
    assert (at_zero == alone.objective[0, 0]).all() and at_zero[0] == np.count_nonzero(Y)


def test_spaced_radii_lie_between_multiples_of_the_grid_s_ends():
    got = sweep.spaced([10, 0, 300, 30], n_radii=5, lowest=0.1, highest=3)
    assert got[0] == 1 and got[-1] == 900
    np.testing.assert_allclose(np.diff(np.log(got)), np.log(900) / 4, rtol=2e-3)


@pytest.mark.parametrize(
    ("grid", "ends", "said"),
    [
        ([0.0], (0.1, 3), "a number greater than 0, got"),
        ([1.0, 2.0], (3, 0.1), "room between them, got radii from 3 to"),
    ],
)
def test_radii_need_room(grid, ends, said):
    with pytest.raises(ValueError, match=said):
        sweep.spaced(grid, n_radii=3, lowest=ends[0], highest=ends[1])


# What makes no sense


NO_GRID = "radius and eta0 must be lists of finite numbers, at least one each"


@pytest.mark.parametrize(
    ("factor", "grid", "said"),
    [
        (1, {"radius": []}, NO_GRID),
        (1, {"eta0": []}, NO_GRID),
        (1, {"radius": [np.inf]}, NO_GRID),
        (7, {}, "Y must hold -1, 0 and"),
    ],
)
def test_a_grid_without_numbers_and_other_labels_are_refused(factor, grid, said):
    X, Y = draw_labels()
    with pytest.raises(ValueError, match=said):
        run(X, factor * Y, **grid)


def test_a_path_needs_a_solver_that_stops():
    options = {"loss": "hinge", "norm": "l1inf", "n_iter": 10, "normalisation": "sum"}
    with pytest.raises(ValueError, match="solver must be one that stops at tol, such as pdhg, got 'subgradient'"):
        sweep.path(*draw_labels(), radius=[0.1], solver="subgradient", **options)


# A sweep on disk


def test_a_sweep_goes_through_a_file(tmp_path):
    X, Y = draw_labels()
    swept = run(X, Y)
    tables.write_record(tmp_path / "sweep.npz", swept)
    np.testing.assert_equal(tables.read_record(sweep.Sweep, tmp_path / "sweep.npz"), swept)
    assert swept.learnt_from.tolist() == [checks.fingerprint(X), checks.fingerprint(Y), "hinge-l1inf"]

"""The choice of radii and step sizes, and where paths of radii end."""

import numpy as np
import pytest

from jointsparse.learning import radii


@pytest.mark.parametrize(
    ("smallest", "expected"),
    [
        pytest.param([5.0, 4.0, 6.0, 3.0, 2.0, 1.0], [5, 1], id="the smallest, by increasing radius"),
        pytest.param([5.0, 4.0, 4.0, 7.0, 7.0, 7.0], [3, 1], id="the first of equally good pairs"),
        pytest.param([5.0, 4.0 + 1e-6, 4.0, 7.0, 7.0 - 1e-7, 7.0], [3, 1], id="equal but for rounding"),
    ],
)
def test_eta0_is_chosen_by_the_smallest_objective_of_each_radius(smallest, expected):
    objective = np.column_stack([np.full(6, 99.0), smallest, np.full(6, 98.0)])
    assert radii.choose_eta0(np.repeat([10.0, 1.0], 3), objective).tolist() == expected


@pytest.mark.parametrize("auc", [[0.5, 0.7, 0.6], [0.5, 0.7, 0.7], [0.5, 0.7, 0.70005], [0.5, 0.7, 0.69995]])
def test_the_first_radius_with_the_largest_validation_auc_is_chosen(auc):
    assert radii.choose_radius(np.array(auc)) == 1


@pytest.mark.parametrize(
    ("scores", "options", "expected"),
    [
        pytest.param([0.5, 0.6, 0.7, 0.7], {}, 4, id="a tie"),
        pytest.param([0.5, 0.6, 0.7, 0.7, 0.7], {}, None, id="two ties end the path"),
        pytest.param([0.5, 0.6, 0.7, 0.704, 0.708], {"slack": 0.01}, None, id="two steps gain less than the slack"),
        pytest.param([0.5, 0.6, 0.7, 0.706, 0.712], {"slack": 0.01}, 5, id="two steps together gain more"),
        pytest.param([0.5, 0.4, 0.4], {"least": 4}, 3, id="at least up to a given step"),
        pytest.param([0.5, 0.4, 0.4, 0.4, 0.7], {"least": 4}, 5, id="a ball ten times larger"),
        pytest.param([0.5, 0.6], {"ended": True}, None, id="larger radii change nothing"),
        pytest.param([*np.linspace(0, 1, radii.MOST_RADII + 1)], {}, None, id="ten decades"),
        pytest.param({0: 0.5, -1: 0.4}, {"downwards": True}, -2, id="downwards first"),
        pytest.param({0: 0.5, -1: 0.6, -2: 0.5}, {"downwards": True}, -3, id="a better radius downwards"),
        pytest.param({0: 0.5, -1: 0.6, -2: 0.5, -3: 0.6}, {"downwards": True}, 1, id="upwards after two ties"),
        pytest.param({0: 0.5, -1: 0.9, -2: 0.5, -3: 0.5, 1: 0.6}, {"downwards": True}, 2, id="upwards from step 0"),
    ],
)
def test_radii_are_tried_while_they_are_better(scores, options, expected):
    scored = scores if isinstance(scores, dict) else dict(enumerate(scores))
    assert radii.next_step(scored, **{"downwards": False} | options) == expected


def test_a_level_path_has_gained_little_over_a_decade():
    objectives = [1.0, 0.995, 0.994, 0.993, 0.9905]
    assert radii.is_level(objectives, tol=0.01) and not radii.is_level(objectives, tol=0.009)
    assert not radii.is_level(objectives[:4], tol=0.01)

"""The choice among radii and step sizes. test_properties.py follows paths of radii along any scores."""

import numpy as np
import pytest

from jointsparse.learning import radii


@pytest.mark.parametrize(
    ("smallest", "expected"),
    [
        pytest.param([5.0, 4.0, 6.0, 3.0, 2.0, 1.0], [5, 1], id="the smallest, by increasing radius"),
        pytest.param([5.0, 4.0, 4.0, 7.0, 7.0, 7.0], [3, 1], id="the first of equally good ones"),
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
    ("upwards", "gain", "expected"),
    [
        pytest.param([0.5, 0.6, 0.7, 0.7, 0.7], 0.0, 5, id="ties go on"),
        pytest.param([0.5, 0.6, 0.7, 0.7, 0.7], 0.01, None, id="ties are no gain"),
        pytest.param([0.5, 0.6, 0.7, 0.704, 0.708], 0.01, None, id="less than the gain in both"),
        pytest.param([0.5, 0.6, 0.7, 0.706, 0.712], 0.01, 5, id="the gain in both together"),
        pytest.param([0.5, 0.5, 0.5], 0.01, 3, id="a decade at least"),
        pytest.param([0.5, 0.4, 0.4, 0.4, 0.7], 0.01, 5, id="a ball ten times larger"),
    ],
)
def test_larger_radii_must_bring_a_gain(upwards, gain, expected):
    scored = dict(enumerate(upwards))
    assert radii.next_step(scored, patience=2, downwards=False, gain=gain) == expected

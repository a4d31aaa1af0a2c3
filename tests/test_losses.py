"""One test per fact, over every registered loss; then the facts of single losses."""

import numpy as np
import oracles
import pytest

from jointsparse.losses import LOSSES, hinge, logistic, squared


@pytest.fixture(params=sorted(LOSSES))
def name(request):
    return request.param


@pytest.fixture
def loss(name):
    return LOSSES[name]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def problem(rng, n=50, m=6):
    F = 3 * rng.normal(size=(n, m))
    return F, rng.integers(-1, 2, size=(n, m)).astype(float)


def test_value_agrees_with_its_slow_twin(name, loss, rng):
    F, Y = problem(rng)
    got, expected = loss.value(F, Y), oracles.loss_value(name, F, Y)
    np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_subgradient_is_the_slope_of_the_value(loss, rng):
    F, Y = problem(rng, n=1)
    got, step = loss.subgradient(F, Y)[0], 1e-6
    expected = (loss.value(F + step, Y) - loss.value(F - step, Y)) / (2 * step)
    np.testing.assert_allclose(got, expected, atol=1e-8)


def test_subgradient_supports_the_value_from_below(loss, rng):
    """value(Z) >= value(F) + <subgradient(F), Z - F>: convexity, kinks included."""
    F, Y = problem(rng)
    F[:5] = Y[:5]  # the hinge bends where y f = 1
    for _ in range(20):
        Z = 3 * rng.normal(size=F.shape)
        bound = loss.value(F, Y) + (loss.subgradient(F, Y) * (Z - F)).sum(axis=0)
        assert np.all(loss.value(Z, Y) >= bound - 1e-10)


def test_samples_outside_the_task_do_not_count(loss, rng):
    F, Y = problem(rng)
    other = np.where(Y == 0, 1e9, F)
    np.testing.assert_array_equal(loss.value(other, Y), loss.value(F, Y))
    np.testing.assert_array_equal(loss.subgradient(other, Y), loss.subgradient(F, Y))
    assert not loss.subgradient(F, Y)[Y == 0].any()
    assert not loss.value(F, 0 * Y).any()


def test_one_column_of_labels_serves_all_tasks(loss, rng):
    F, Y = problem(rng)
    all_the_same = np.repeat(Y[:, :1], F.shape[1], axis=1)
    np.testing.assert_array_equal(loss.value(F, Y[:, :1]), loss.value(F, all_the_same))
    np.testing.assert_array_equal(loss.subgradient(F, Y[:, :1]), loss.subgradient(F, all_the_same))


def test_layouts_and_label_types_give_the_same_bits(loss, rng):
    F, Y = problem(rng)
    value, G = loss.value(F, Y), loss.subgradient(F, Y)
    spread = np.zeros((100, 12))
    spread[::2, ::2] = F
    read_only = F.copy()
    read_only.flags.writeable = False
    for F_ in (np.asfortranarray(F), spread[::2, ::2], read_only):
        np.testing.assert_array_equal(loss.value(F_, Y), value)
        np.testing.assert_array_equal(loss.subgradient(F_, Y), G)
    for Y_ in (np.asfortranarray(Y), Y.astype(np.int8), Y.astype(int).tolist()):
        np.testing.assert_array_equal(loss.value(F, Y_), value)
        np.testing.assert_array_equal(loss.subgradient(F, Y_), G)


def test_precision_is_kept_and_sums_are_double(loss, rng):
    F, Y = problem(rng)
    F, Y = F.astype(np.float32), Y.astype(np.float32)
    assert loss.value(F, Y).dtype == np.float64
    assert loss.subgradient(F, Y).dtype == np.float32
    np.testing.assert_allclose(loss.value(F, Y), loss.value(F.astype(float), Y), rtol=1e-6)
    np.testing.assert_allclose(loss.subgradient(F, Y), loss.subgradient(F.astype(float), Y), rtol=1e-5)
    many = np.zeros((100_000, 1), np.float32)
    got, expected = loss.value(many, np.ones_like(many))[0], 100_000 * loss.value(many[:1], [[1]])[0]
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_empty_arrays_work(loss):
    for shape in ((0, 3), (3, 0), (0, 0)):
        F = np.empty(shape)
        assert loss.value(F, F).tolist() == [0.0] * shape[1]
        assert loss.subgradient(F, F).shape == shape


def test_nan_comes_through(loss):
    assert np.isnan(loss.value(np.array([[np.nan, 0.0]]), np.ones((1, 2)))).tolist() == [True, False]


def test_shapes_and_types_that_do_not_fit_are_refused(loss):
    F = np.ones((4, 3))
    for Y in (np.ones((4, 2)), np.ones((3, 3)), np.ones(4), np.ones((1, 3))):
        for call in (loss.value, loss.subgradient):
            with pytest.raises(ValueError, match=r"^Y must have the shape of F"):
                call(F, Y)
    with pytest.raises(ValueError, match=r"^F must be float64 or float32, got int64"):
        loss.value(F.astype(int), F)
    with pytest.raises(ValueError, match=r"^Y must hold -1, 0 and \+1, got dtype complex128"):
        loss.value(F, F * 1j)


def test_hinge_at_its_kink():
    F, Y = np.array([[1.0], [-1.0], [0.0], [2.0]]), np.array([[1], [-1], [1], [-1]])
    assert hinge.value(F, Y).tolist() == [4.0]
    assert hinge.subgradient(F, Y).tolist() == [[0.0], [0.0], [-1.0], [1.0]]


def test_logistic_far_from_zero():
    F, Y = np.array([[1e4, -1e4, 1e4, -1e4]]), np.array([[1, 1, -1, -1]])
    assert logistic.value(F, Y).tolist() == [0.0, 1e4, 1e4, 0.0]
    assert logistic.subgradient(F, Y).tolist() == [[0.0, -1.0, 1.0, 0.0]]
    np.testing.assert_allclose(logistic.value(np.array([[50.0]]), [[1]]), np.exp(-50.0), rtol=1e-14)


def test_squared_is_zero_at_the_label():
    Y = np.array([[1, -1, 0]])
    assert squared.value(np.array([[1.0, -1.0, 5.0]]), Y).tolist() == [0.0, 0.0, 0.0]

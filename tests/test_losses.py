"""One test per fact, over every registered loss; then the facts of single losses."""

from itertools import product

import numpy as np
import oracles
import pytest

from jointsparse.learning.losses import LOSSES, hinge, logistic, squared


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


def weighted_problem(rng, name, n=50, m=6):
    """F, Y without zeros for classification, weights c with some zeros, and dual variables of their domain."""
    F, Y = problem(rng, n, m)
    if name != "squared":
        Y[Y == 0] = 1
    c = rng.choice([0.0, 0.1, 1.0, 30.0], size=(n, m))
    A = rng.normal(size=(n, m)) if name == "squared" else Y * c * rng.random((n, m))
    return F, Y, c, A * (c > 0)


def slow_value(name, F, Y, c):
    sums = [0.0] * F.shape[1]
    for (i, l), f in np.ndenumerate(F):
        if Y[i, l] != 0 or name == "squared":
            sums[l] += c[i, l] * oracles.LOSSES[name](float(f), float(Y[i, l]))
    return np.array(sums)


def test_value_agrees_with_its_slow_twin(name, loss, rng):
    F, Y = problem(rng)
    c = rng.random(F.shape)
    np.testing.assert_allclose(loss.value(F, Y), slow_value(name, F, Y, np.ones(F.shape)), rtol=1e-13)
    np.testing.assert_allclose(loss.value(F, Y, c), slow_value(name, F, Y, c), rtol=1e-13)


def test_weights_multiply_the_subgradient(loss, rng):
    F, Y = problem(rng)
    c = rng.random(F.shape)
    np.testing.assert_allclose(loss.subgradient(F, Y, c), c * loss.subgradient(F, Y), rtol=1e-15)


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


def test_samples_of_weight_zero_do_not_count(loss, rng):
    F, Y = problem(rng)
    c = rng.integers(0, 2, size=F.shape).astype(float)
    other = np.where(c == 0, 1e9, F)
    np.testing.assert_array_equal(loss.value(other, Y, c), loss.value(F, Y, c))
    np.testing.assert_array_equal(loss.subgradient(other, Y, c), loss.subgradient(F, Y, c))
    assert not loss.subgradient(F, Y, c)[c == 0].any()
    assert not loss.value(F, Y, 0 * c).any()


def test_samples_of_label_zero_do_not_count_in_classification(name, loss, rng):
    F, Y = problem(rng)
    if name == "squared":  # 0 is a target
        assert loss.value(F, 0 * Y).all() and loss.subgradient(F, 0 * Y).all()
        return
    other = np.where(Y == 0, 1e9, F)
    np.testing.assert_array_equal(loss.value(other, Y), loss.value(F, Y))
    np.testing.assert_array_equal(loss.subgradient(other, Y), loss.subgradient(F, Y))
    assert not loss.subgradient(F, Y)[Y == 0].any()
    assert not loss.value(F, 0 * Y).any()


def test_dual_value_is_below_the_loss(name, loss, rng):
    """value(F) >= dual_value(A) - <A, F> for every A of the domain and every F."""
    F, Y, c, A = weighted_problem(rng, name)
    below = loss.dual_value(A, Y, c) - (A * F).sum(axis=0)
    assert np.all(loss.value(F, Y, c) >= below - 1e-10)


def test_dual_value_meets_the_loss_at_its_slope(name, loss, rng):
    F, Y, c, _ = weighted_problem(rng, name)
    A = -loss.subgradient(F, Y, c)
    np.testing.assert_allclose(loss.dual_value(A, Y, c) - (A * F).sum(axis=0), loss.value(F, Y, c), rtol=1e-12)


def test_dual_step_is_the_best_of_all(name, loss, rng):
    F, Y, c, A = weighted_problem(rng, name)
    sigma = 10.0 ** rng.integers(-2, 3, size=F.shape[1])

    def gain(B):
        return loss.dual_value(B, Y, c) - (B * F + (B - A) ** 2 / (2 * sigma)).sum(axis=0)

    got = loss.dual_step(A, F, Y, c, sigma)
    for scale in (1e-3, 1e-1, 1.0):
        for _ in range(20):
            other = got + scale * rng.normal(size=got.shape)
            other = other * (c > 0) if name == "squared" else Y * np.clip(Y * other, 0, c)
            assert np.all(gain(got) >= gain(other) - 1e-9)


def test_dual_steps_with_one_weight_one_label_one_step_size(name, loss, rng):
    F, Y, c, A = weighted_problem(rng, name)
    Y, c = Y[:, :1], np.full((len(F), 1), 2.0)
    A = -loss.subgradient(rng.normal(size=F.shape), Y, c)
    everywhere = np.repeat(Y, F.shape[1], axis=1), np.full(F.shape, 2.0)
    expected = loss.dual_step(A, F, *everywhere, np.full(F.shape[1], 0.5))
    np.testing.assert_array_equal(loss.dual_step(A, F, Y, c, 0.5), expected)
    np.testing.assert_array_equal(loss.dual_value(A, Y, c), loss.dual_value(A, *everywhere))


def test_a_dual_step_of_size_zero_stays(name, loss, rng):
    F, Y, c, A = weighted_problem(rng, name)
    np.testing.assert_allclose(loss.dual_step(A, F, Y, c, 0.0), A, rtol=1e-15)


def test_dual_steps_keep_precision_and_domain(name, loss, rng):
    F, Y, c, A = (array.astype(np.float32) for array in weighted_problem(rng, name))
    got = loss.dual_step(A, F, Y, c, 0.7)
    assert got.dtype == np.float32 and loss.dual_value(A, Y, c).dtype == np.float64
    expected = loss.dual_step(A.astype(float), F.astype(float), Y, c, 0.7)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    if name != "squared":
        assert np.all((got * Y >= 0) & (got * Y <= c))


def test_dual_values_outside_the_domain_are_clipped(name, loss):
    if name != "squared":
        for outside, edge in ((-1e-7, 0.0), (1 + 1e-7, 1.0)):
            Y = np.array([[1.0, -1.0]])
            assert loss.dual_value(outside * Y, Y, [[1.0]]).tolist() == loss.dual_value(edge * Y, Y, [[1.0]]).tolist()


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
        assert loss.dual_value(F, F, F).tolist() == [0.0] * shape[1]
        assert loss.dual_step(F, F, F, F, 1.0).shape == shape


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


def test_logistic_dual_step_solves_its_equation_everywhere():
    """alpha + sigma log(alpha / (c - alpha)) = alpha_0 - sigma f, with all digits of both alpha and c - alpha."""
    for c, sigma, f, alpha_0 in product(
        (1e-3, 1.0, 1e2), (1e-6, 1e-2, 1.0, 1e4), (-80.0, -1.0, 0.0, 3.0, 90.0), (0, 0.3, 1)
    ):
        start = c * alpha_0
        for sign in (1.0, -1.0):  # c - alpha solves the mirrored problem
            here = start if sign > 0 else c - start
            got = logistic.dual_step([[here]], [[sign * f]], [[1]], [[c]], sigma)[0, 0]
            odds = bisect(
                lambda z: c / (1 + np.exp(z)) - sigma * z,  # noqa: B023
                here - sigma * sign * f,
                -1e9,
                1e9,
            )
            assert abs(got - c / (1 + np.exp(odds))) <= 1e-11 * got


def bisect(decreasing, target, low, high):
    low, high = np.longdouble(low), np.longdouble(high)
    with np.errstate(over="ignore"):
        while low < (middle := (low + high) / 2) < high:
            low, high = (middle, high) if decreasing(middle) > target else (low, middle)
    return low


def test_logistic_dual_step_far_from_zero():
    A, Y, c = np.array([[0.5, 0.5, 0.0, 1.0]]), np.ones((1, 1)), np.ones((1, 1))
    got = logistic.dual_step(A, np.array([[1e300, -1e300, -1e300, 1e300]]), Y, c, 1.0)
    assert got.tolist() == [[0.0, 1.0, 1.0, 0.0]]
    for sigma in (1e-300, 1e300):
        assert np.all(np.isfinite(logistic.dual_step(A, 3 * A, Y, c, sigma)))


def test_squared_is_zero_at_the_label():
    Y = np.array([[1, -1, 0]])
    assert squared.value(np.array([[1.0, -1.0, 0.0]]), Y).tolist() == [0.0, 0.0, 0.0]

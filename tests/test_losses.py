"""Properties of every registered loss, checked against its definition, and properties of single losses."""

import numpy as np
import oracles
import pytest

from jointsparse.learning.losses import LOSSES, hinge, logistic, squared

LOSS = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


def dual_variables(rng, loss, Y, c):
    """Draw points in the domain of the dual variables, which is convex and contains all negative slopes."""
    ends = (-loss.subgradient(10 * rng.normal(size=c.shape), Y, c) for _ in range(2))
    share = rng.random(c.shape)
    return sum(end * part for end, part in zip(ends, (share, 1 - share), strict=True))


def draw(rng, loss, n=50, m=6):
    """Draw margins F, labels Y of -1 and +1, weights c with some zeros, and feasible dual variables A."""
    F, Y = 3 * rng.normal(size=(n, m)), rng.choice([-1.0, 1.0], size=(n, m))
    c = rng.choice([0.0, 0.1, 1.0, 30.0], size=F.shape)
    return F, Y, c, dual_variables(rng, loss, Y, c)


@pytest.mark.parametrize("name", oracles.LOSSES)
def test_values_add_up_the_weighted_losses_of_the_samples(name, rng):
    loss = LOSSES[name]
    F, Y, c, _ = draw(rng, loss)
    F[:, 0] *= 100
    expected = c * np.vectorize(oracles.LOSSES[name], otypes=[float])(F, Y)
    np.testing.assert_allclose(loss.value(F, Y, c), expected.sum(axis=0), rtol=1e-13)
    got = [loss.value([[f]], [[y]], [[weight]])[0] for f, y, weight in zip(F.flat, Y.flat, c.flat, strict=True)]
    np.testing.assert_allclose(got, expected.flat, rtol=1e-14, atol=1e-300)
    many = np.full((100_000, 1), 0.1, np.float32)  # sums are double, and a single column of labels is for all tasks
    got = loss.value(np.repeat(many, 2, axis=1), np.ones_like(many))
    np.testing.assert_allclose(got, [1e5 * loss.value(many[:1], [[1]])[0]] * 2, rtol=1e-10)


@LOSS
def test_subgradients_support_the_value_from_below_and_dual_values_are_conjugates(loss, rng):
    # value(F) >= dual_value(A) - <A, F> for all F and all feasible A, with equality for A = -subgradient(F)
    F, Y, c, A = draw(rng, loss)
    F[:5] = Y[:5]  # the hinge has its kink at y f = 1
    slopes, value = loss.subgradient(F, Y, c), loss.value(F, Y, c)
    assert np.all(value >= loss.dual_value(A, Y, c) - (A * F).sum(axis=0) - 1e-10)
    np.testing.assert_allclose(loss.dual_value(-slopes, Y, c) + (slopes * F).sum(axis=0), value, rtol=1e-12)
    for Z in 3 * rng.normal(size=(20, *F.shape)):
        assert np.all(loss.value(Z, Y, c) >= value + (slopes * (Z - F)).sum(axis=0) - 1e-10)


@LOSS
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dual_steps_maximise_their_objective(loss, rng, dtype):
    F, Y, c, A = draw(rng, loss)
    sigma = 10.0 ** rng.integers(-4, 5, size=F.shape[1])
    F[:, 0] *= 10

    def gain(B):
        return loss.dual_value(B, Y, c) - (B * F + (B - A) ** 2 / (2 * sigma)).sum(axis=0)

    np.testing.assert_allclose(loss.dual_step(A, F, Y, c, 0.0), A, rtol=1e-15)
    got = loss.dual_step(A.astype(dtype), np.asfortranarray(F.astype(dtype)), Y, c, sigma)
    assert got.dtype == dtype
    for scale in np.repeat((1e-3, 1e-1, 1.0), 20):
        other = got + scale * (dual_variables(rng, loss, Y, c) - got)
        assert np.all(gain(got) >= gain(other) - (1e-9 if dtype == np.float64 else 1e-3))


FIT = np.ones((4, 3))
FORM = r"must hold real numbers, in the shape \(4, 3\) of F or with a single column, got"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda loss: loss.value(FIT, FIT[:, :2]), f"^Y {FORM} float64"),
        (lambda loss: loss.subgradient(FIT, FIT[:3]), f"^Y {FORM} float64"),
        (lambda loss: loss.dual_value(FIT, np.ones(4), FIT), f"^Y {FORM} float64"),
        (lambda loss: loss.dual_step(FIT, FIT, FIT * 1j, FIT, 1.0), f"^Y {FORM} complex128"),
        (lambda loss: loss.value(FIT, FIT, FIT[:, :2]), f"^c {FORM} float64"),
        (lambda loss: loss.value(FIT.astype(int), FIT), "^F must be float64 or float32, got int64"),
        (
            lambda loss: loss.dual_step(FIT, FIT[:, :1], FIT, FIT, 1.0),
            r"^F must have the shape of A, \(4, 3\), got \(4, 1\)",
        ),
    ],
)
def test_shapes_and_types_that_do_not_fit_raise(call, said):
    with pytest.raises(ValueError, match=said):
        call(hinge)


@LOSS
def test_the_curvature_is_the_largest_second_derivative(loss):
    h = 1e-3
    f = np.linspace(-3, 3, 6001)[:, np.newaxis]
    second = (loss.subgradient(f + h, np.ones_like(f)) - loss.subgradient(f - h, np.ones_like(f))) / (2 * h)
    expected = min(loss.CURVATURE, 0.5 / h)  # at a kink, the difference of the slopes is divided by 2 h
    np.testing.assert_allclose(second.max(), expected, rtol=1e-4)


# Single losses


@pytest.mark.parametrize("loss", [hinge, logistic])
@pytest.mark.parametrize(("outside", "edge"), [(-1e-7, 0.0), (1 + 1e-7, 1.0)])
def test_dual_values_outside_the_domain_are_clipped(loss, outside, edge):
    Y = np.array([[1.0, -1.0]])
    np.testing.assert_equal(*(loss.dual_value(share * Y, Y, [[1.0]]) for share in (outside, edge)))


def test_logistic_dual_steps_are_in_their_domain_at_margins_and_step_sizes_of_any_size():
    A, one = np.array([[0.5, 0.5, 0.0, 1.0]]), np.ones((1, 1))
    for F, sigma, expected in (([1e300, -1e300, -1e300, 1e300], 1.0, [0, 1, 1, 0]), ([0, 0, 0, 0], 1e300, [0.5] * 4)):
        np.testing.assert_allclose(
            logistic.dual_step(A, np.array([F], float), one, one, sigma)[0], expected, atol=1e-15
        )


@pytest.mark.parametrize(
    ("loss", "F", "Y", "value", "slopes"),
    [
        pytest.param(squared, [1, -1, 0, 3], [1, -1, 0, 0], 4.5, [0, 0, 0, 3], id="squared, also of label 0"),
        *(
            pytest.param(loss, [np.nan], [1], np.nan, [np.nan if loss is not hinge else -1], id="NaN")
            for loss in LOSSES.values()
        ),
        pytest.param(hinge, [1, -1, 0, 2], [1, -1, 1, -1], 4, [0, 0, -1, 1], id="hinge at its kink"),
        pytest.param(logistic, [1e4, -1e4, 1e4], [1, 1, -1], 2e4, [0, -1, 1], id="logistic far from 0"),
    ],
)
def test_values_and_slopes_at_kinks_far_from_zero_and_at_nan_are_those_by_hand(loss, F, Y, value, slopes):
    F, Y = (np.array(column, dtype=float)[:, np.newaxis] for column in (F, Y))
    np.testing.assert_array_equal(loss.value(F, Y), [value])
    np.testing.assert_array_equal(loss.subgradient(F, Y)[:, 0], slopes)

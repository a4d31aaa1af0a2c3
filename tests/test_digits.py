"""Digits by similarity: the loss and its gradient, certified optima, what each step does, and the table."""

import cvxpy as cp
import numpy as np
import pytest
from conftest import make_samples
from scipy import sparse

from jointsparse.datasets import digits as images_of_digits
from jointsparse.norms import l1
from jointsparse.papers.duchi import digits
from jointsparse.papers.duchi.digits import Objective

RADIUS = 3.0
OPTIONS = {
    "n_support": 12,
    "n_train": 40,
    "width": 2.0,
    "radius": 20.0,
    "n_iter": {"batch 25%": 8, "batch 100%": 6, "stochastic 1": 30},
    "eta0": [1.0, 30.0],
    "entropic_eta0": [0.1, 3.0],
    "n_records": 4,
    "repeats": 2,
    "optimum_n_iter": 100,
}


def drawn(seed=0, m=30, n=8, n_classes=3, dtype=np.float64):
    rng = np.random.default_rng(seed)
    K = rng.random((m, n)).astype(dtype)
    return Objective(K, rng.integers(n_classes, size=m), rng.integers(n_classes, size=n), n_classes)


def slow_value(objective, W):
    total = 0.0
    for row, y in zip(objective.K, objective.y, strict=True):
        k = [
            sum(W[i, j] * objective.signs[i, j] * row[i] for i in range(len(row)))
            for j in range(objective.signs.shape[1])
        ]
        total += np.log(1 + sum(np.exp(k[r] - k[y]) for r in range(len(k)) if r != y))
    return total / len(objective.y)


def optimum(objective, radius):
    """The optimal value by cvxpy."""
    W = cp.Variable(objective.signs.shape, nonneg=True)
    F = objective.K @ cp.multiply(objective.signs, W)
    own = cp.multiply(np.eye(F.shape[1])[objective.y], F)
    f = (cp.sum(cp.log_sum_exp(F, axis=1)) - cp.sum(own)) / len(objective.y)
    problem = cp.Problem(cp.Minimize(f), [cp.sum(W, axis=0) <= radius])
    return problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)


def is_inside(W, radius):
    return bool((W >= 0).all() and (W.sum(axis=0) <= radius * (1 + 1e-12)).all())


def split_digits():
    samples = images_of_digits.read()
    y = samples.captions["caption"].to_numpy()
    of = {split: (samples.images["split"] == split).to_numpy() for split in ("train", "test")}
    return samples.X[of["train"]], y[of["train"]], samples.X[of["test"]][:100], y[of["test"]][:100]


def table_of(**options):
    return digits.train(*split_digits(), rng=np.random.default_rng(0), **(OPTIONS | options))


# ---------------------------------------------------------------------------------------------------------------------
# The objective and its bound
# ---------------------------------------------------------------------------------------------------------------------


def test_signs_are_plus_one_for_a_support_image_of_the_class():
    got = Objective(np.ones((1, 3)), [0], [1, 0, 1], 2).signs
    np.testing.assert_array_equal(got, [[-1, 1], [1, -1], [-1, 1]])


def test_value_and_gradient_are_those_of_the_twin():
    objective = drawn()
    W = np.random.default_rng(1).normal(size=objective.signs.shape)
    value, gradient = objective.value_and_gradient(W)
    np.testing.assert_allclose([value, objective.value(W)], slow_value(objective, W), rtol=1e-13)
    for place in np.ndindex(W.shape):
        move = np.zeros_like(W)
        move[place] = 1e-5
        expected = (slow_value(objective, W + move) - slow_value(objective, W - move)) / 2e-5
        assert gradient[place] == pytest.approx(expected, abs=1e-9)


def test_gradients_of_parts_average_to_that_of_all():
    objective = drawn()
    W = np.random.default_rng(1).random(objective.signs.shape)
    parts = [objective.value_and_gradient(W, np.arange(i, 30, 3)) for i in range(3)]
    value, gradient = objective.value_and_gradient(W)
    np.testing.assert_allclose(np.mean([part[0] for part in parts]), value, rtol=1e-13)
    np.testing.assert_allclose(np.mean([part[1] for part in parts], axis=0), gradient, atol=1e-15)


def test_large_scores_do_not_overflow():
    objective = drawn()
    value, gradient = objective.value_and_gradient(np.full(objective.signs.shape, 1e6))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_error_counts_samples_and_shares_ties():
    objective = Objective(np.eye(3), [0, 1, 1], [0, 1, 0], 2)
    assert objective.error(np.zeros((3, 2))) == 0.5
    assert objective.error(np.ones((3, 2))) == pytest.approx(1 / 3)


def test_no_tangent_gives_a_bound_above_the_optimum():
    objective = drawn()
    expected = optimum(objective, RADIUS)
    rng = np.random.default_rng(2)
    for scale in (0.1, 1.0, 10.0):
        W = scale * rng.normal(size=objective.signs.shape)  # mostly outside of the set
        assert digits.lower_bound(*objective.value_and_gradient(W), W, RADIUS) <= expected + 1e-9


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("radius", [0.5, RADIUS, 1e3])
def test_solution_and_its_bound_are_those_of_cvxpy(seed, radius):
    objective = drawn(seed)
    expected = optimum(objective, radius)
    W, bound = digits.solve(objective, radius, n_iter=1500)
    assert is_inside(W, radius)
    assert objective.value(W) == pytest.approx(expected, rel=1e-6)
    assert expected * (1 - 1e-3) <= bound <= expected + 1e-8


def test_single_precision_gives_nearly_the_same():
    double, single = drawn(), drawn(dtype=np.float32)
    assert digits.solve(single, RADIUS, n_iter=200)[1] == pytest.approx(optimum(double, RADIUS), rel=1e-5)


# ---------------------------------------------------------------------------------------------------------------------
# Steps
# ---------------------------------------------------------------------------------------------------------------------


def test_projected_steps_are_those_of_the_twin():
    objective = drawn()
    W = np.full((8, 3), RADIUS / 9)
    objectives = [objective.value(W)]
    for t in range(1, 6):
        gradient = objective.value_and_gradient(W)[1]
        W = np.stack([l1.project_nonnegative(w, RADIUS) for w in (W - 4 / np.sqrt(t) * gradient).T], axis=1)
        objectives.append(objective.value(W))
    trace = digits.descend(objective, RADIUS, eta0=4.0, n_iter=5, batch_size=30, rng=np.random.default_rng(0))
    np.testing.assert_allclose(trace.w, W, atol=1e-14)
    np.testing.assert_allclose(trace.objective, objectives, rtol=1e-13)


def test_entropic_steps_are_those_of_the_twin():
    objective = drawn()
    u = np.full((9, 3), RADIUS / 9)
    for t in range(1, 6):
        gradient = np.vstack([objective.value_and_gradient(u[:8])[1], np.zeros(3)])
        u *= np.exp(-2 * np.sqrt(np.log(9) / t) * gradient)
        u *= RADIUS / u.sum(axis=0)
    options = {"eta0": 2.0, "n_iter": 5, "batch_size": 30, "rng": np.random.default_rng(0)}
    trace = digits.descend(objective, RADIUS, method="entropic", schedule="1/sqrt(t)", **options)
    np.testing.assert_allclose(trace.w, u[:8], atol=1e-13)


@pytest.mark.parametrize("method", ["projection", "entropic"])
@pytest.mark.parametrize("batch_size", [5, 30])
def test_both_methods_approach_the_optimum_inside_the_set(method, batch_size):
    objective, seen = drawn(), []
    expected = optimum(objective, RADIUS)
    trace = digits.descend(
        objective,
        RADIUS,
        eta0=2.0,
        n_iter=600,
        batch_size=batch_size,
        rng=np.random.default_rng(0),
        method=method,
        every=60,
        watch=lambda W: seen.append(W.copy()),
    )
    assert trace.step.tolist() == list(range(0, 601, 60))
    assert all(is_inside(W, RADIUS) for W in seen)
    np.testing.assert_allclose(trace.objective, [slow_value(objective, W) for W in seen], rtol=1e-12)
    assert (np.diff(trace.bound) >= 0).all()
    assert (trace.bound <= expected + 1e-9).all()
    assert expected - 1e-9 <= trace.objective[-1] <= 1.02 * expected
    assert (np.diff(trace.seconds) >= 0).all()


# ---------------------------------------------------------------------------------------------------------------------
# The table
# ---------------------------------------------------------------------------------------------------------------------


def test_table_has_a_way_for_each_form_and_method():
    table = table_of()
    assert list(table) == list(digits.COLUMNS)
    ways = table.groupby(["form", "method"], sort=False)
    assert list(ways.groups) == [(form, method) for form in OPTIONS["n_iter"] for method in ("projection", "entropic")]
    for (form, _), way in ways:
        assert way["step"].iloc[0] == 0
        assert way["step"].iloc[-1] == OPTIONS["n_iter"][form]
        size = {"batch 25%": 10, "batch 100%": 40, "stochastic 1": 1}[form]
        assert (way["gradients"] == size * way["step"]).all()
    assert (table["suboptimality"] > -1e-6).all()
    assert table["test_error"].between(0, 1).all()
    assert (table.loc[table["method"] == "entropic", "non_zero"] == 1).all()
    assert (ways["objective"].last() < ways["objective"].first()).all()


def test_same_seed_same_table():
    first, again = (table_of().drop(columns="seconds") for _ in range(2))
    assert first.equals(again)


def test_a_repetition_learns_the_classes_of_all_samples_that_are_not_for_testing():
    X, y, X_test, y_test = split_digits()
    data = make_samples(sparse.vstack([X, X_test], format="csr"), [*y, *y_test], n_test=len(y_test))
    got = digits.run(data, rng=np.random.default_rng(0), **OPTIONS).drop(columns="seconds")
    assert got.equals(table_of().drop(columns="seconds"))


def test_names_of_classes_do_not_matter():
    X, y, X_test, y_test = split_digits()
    names = np.array(list("abcdefghij"))
    named = [X, names[y.astype(int)], X_test, names[y_test.astype(int)]]
    got = digits.train(*named, rng=np.random.default_rng(0), **OPTIONS).drop(columns="seconds")
    assert got.equals(table_of().drop(columns="seconds"))


def test_bad_input_is_refused():
    for options, message in [
        ({"n_support": 0}, "n_support must be a whole number of at least 1, got 0"),
        ({"n_train": 2.5}, "n_train must be a whole number of at least 1, got 2.5"),
        ({"radius": 0.0}, "radius must be above 0 and finite, got 0.0"),
        ({"width": -1.0}, "width must be above 0 and finite, got -1.0"),
        ({"n_iter": {"stochastic 100": 5}}, "stochastic 100 needs at least 100 training samples, got 40"),
    ]:
        with pytest.raises(ValueError, match=message):
            table_of(**options)
    X, y, X_test, y_test = split_digits()
    with pytest.raises(ValueError, match="y_test must hold classes of y_train only, got 'x'"):
        digits.train(X, y, X_test, ["x", *y_test[1:]], rng=np.random.default_rng(0), **OPTIONS)
    with pytest.raises(ValueError, match="K must have a row for each y"):
        Objective(np.ones((2, 2)), [0, 1, 0], [0, 1], 2)
    with pytest.raises(ValueError, match=r"classes must be whole numbers in 0\.\.1"):
        Objective(np.ones((2, 2)), [0, 2], [0, 1], 2)


def test_labels_that_do_not_fit_the_images_and_a_single_class_are_refused():
    X, y, X_test, y_test = split_digits()
    for labels, said in (
        (y[:10], "y_train must have a label for each row of X_train"),
        (y[:1].repeat(len(y)), "two classes"),
    ):
        with pytest.raises(ValueError, match=said):
            digits.train(X, labels, X_test, y_test, rng=np.random.default_rng(0), **OPTIONS)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"method": "x"}, "method must be projection or entropic, got 'x'"),
        ({"schedule": "1/t"}, "schedule must be 1/sqrt(t) for projections, got '1/t'"),
        ({"batch_size": 0}, "batch_size must be a whole number from 1 to 2, got 0"),
        ({"every": 0}, "every must be a whole number of at least 1, got 0"),
    ],
)
def test_unfit_options_of_descend_are_refused(option, said):
    objective = digits.Objective(np.eye(2), [0, 1], [0, 1], 2)
    options = {"eta0": 1.0, "n_iter": 2, "batch_size": 2, "rng": np.random.default_rng(0)} | option
    with pytest.raises(ValueError) as caught:
        digits.descend(objective, 1.0, **options)
    assert said in str(caught.value)

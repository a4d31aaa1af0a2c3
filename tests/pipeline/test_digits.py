"""Digits by similarity: the loss and its gradient, certified optima, what each step does, and the table."""

import cvxpy as cp
import numpy as np
import pytest
from samples import make_samples

from jointsparse.norms import l1
from jointsparse.pipeline.datasets import digits as digit_samples
from jointsparse.pipeline.papers.duchi import descent, digits

RADIUS = 3.0
OPTIONS = {
    "n_support": 12,
    "n_train": 40,
    "width": 2.0,
    "radius": [20.0],
    "n_iter": {"batch 25%": 8, "batch 100%": 6, "stochastic 1": 30},
    "eta0": [1.0, 30.0],
    "entropic_eta0": [0.1, 3.0],
    "n_records": 4,
    "repeats": 2,
    "optimum_n_iter": 100,
}


def drawn(dtype=np.float64):
    """30 samples of 3 classes by their similarity to 8 support samples."""
    rng = np.random.default_rng(0)
    return digits.Objective(rng.random((30, 8)).astype(dtype), rng.integers(3, size=30), rng.integers(3, size=8), 3)


def slow_value(objective, W):
    of_samples = zip([[sum(w * s) for w in (objective.signs * W).T] for s in objective.K], objective.y, strict=True)
    return np.mean([np.log(1 + sum(np.exp(k[r] - k[y]) for r in range(len(k)) if r != y)) for k, y in of_samples])


def optimum(objective, radius):
    """The optimal value by cvxpy."""
    W = cp.Variable(objective.signs.shape, nonneg=True)
    F = objective.K @ cp.multiply(objective.signs, W)
    f = (cp.sum(cp.log_sum_exp(F, axis=1)) - cp.sum(cp.multiply(np.eye(F.shape[1])[objective.y], F))) / len(objective.y)
    problem = cp.Problem(cp.Minimize(f), [cp.sum(W, axis=0) <= radius])
    return problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)


def is_inside(W, radius):
    return bool((W >= 0).all() and (W.sum(axis=0) <= radius * (1 + 1e-12)).all())


def descend(objective, **options):
    """The W of each step, by projections of all samples unless options say otherwise."""
    states = digits.descend(objective, RADIUS, **{"eta0": 2.0, "n_iter": 5} | options)
    return [state.weights().copy() for state in states]


@pytest.fixture(scope="module")
def samples():
    """Digits to learn from, and 100 to test with: features and labels of all."""
    data = digit_samples.read()
    is_train = (data.images["split"] == "train").to_numpy()
    chosen = np.append(np.flatnonzero(is_train), np.flatnonzero(data.images["split"] == "test")[:100])
    return data.X[chosen], data.captions["caption"].to_numpy()[chosen]


def table_of(X, labels, **options):
    return digits.run(make_samples(X, labels, n_test=100), rng=np.random.default_rng(0), **(OPTIONS | options)).drop(
        columns="seconds"
    )


@pytest.fixture(scope="module")
def table(samples):
    return table_of(*samples)


# ---------------------------------------------------------------------------------------------------------------------
# The objective and its bound
# ---------------------------------------------------------------------------------------------------------------------


def test_signs_are_plus_one_for_a_support_sample_of_the_class():
    np.testing.assert_array_equal(
        digits.Objective(np.ones((1, 3)), np.array([0]), np.array([1, 0, 1]), 2).signs, [[-1, 1], [1, -1], [-1, 1]]
    )


def test_value_and_gradient_are_those_of_the_twin():
    objective = drawn()
    W = np.random.default_rng(1).normal(size=objective.signs.shape)
    _, value, gradient = objective.view(W)
    np.testing.assert_allclose([value, objective.value(W)], slow_value(objective, W), rtol=1e-13)
    moves = 1e-5 * np.eye(W.size).reshape(-1, *W.shape)
    expected = [(slow_value(objective, W + move) - slow_value(objective, W - move)) / 2e-5 for move in moves]
    np.testing.assert_allclose(gradient.ravel(), expected, atol=1e-9)


def test_gradients_of_parts_average_to_that_of_all():
    objective = drawn()
    W = np.random.default_rng(1).random(objective.signs.shape)
    parts, whole = [objective.view(W, np.arange(i, 30, 3)) for i in range(3)], objective.view(W)
    np.testing.assert_allclose(np.mean([part.value for part in parts]), whole.value, rtol=1e-13)
    np.testing.assert_allclose(np.mean([part.gradient for part in parts], axis=0), whole.gradient, atol=1e-15)


def test_large_scores_do_not_overflow():
    _, value, gradient = drawn().view(np.full((8, 3), 1e6))
    assert np.isfinite([value, *gradient.ravel()]).all()


def test_error_counts_samples_and_shares_ties():
    objective = digits.Objective(np.eye(3), np.array([0, 1, 1]), np.array([0, 1, 0]), 2)
    assert [objective.error(np.full((3, 2), w)) for w in (0.0, 1.0)] == pytest.approx([1 / 2, 1 / 3])


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_no_tangent_gives_a_bound_above_the_optimum(scale):
    objective = drawn()
    W = scale * np.random.default_rng(2).normal(size=objective.signs.shape)  # mostly outside of the set
    assert digits.certify(objective.view(W), RADIUS)[1] <= optimum(objective, RADIUS) + 1e-9


@pytest.mark.parametrize("radius", [0.5, RADIUS, 1e3])
def test_solution_and_its_bound_are_those_of_cvxpy(radius):
    objective = drawn()
    expected = optimum(objective, radius)
    W, bound = digits.near_optimum(objective, radius, n_iter=1500)
    assert is_inside(W, radius)
    assert objective.value(W) == pytest.approx(expected, rel=1e-6)
    assert expected * (1 - 1e-3) <= bound <= expected + 1e-8


def test_single_precision_gives_nearly_the_same():
    _, bound = digits.near_optimum(drawn(dtype=np.float32), RADIUS, n_iter=200)
    assert bound == pytest.approx(optimum(drawn(), RADIUS), rel=1e-5)


# ---------------------------------------------------------------------------------------------------------------------
# Steps
# ---------------------------------------------------------------------------------------------------------------------


def test_projected_steps_are_those_of_the_twin():
    objective, W = drawn(), np.full((8, 3), RADIUS / 9)
    for t in range(1, 6):
        gradient = objective.view(W).gradient
        W = np.stack([l1.project_nonnegative(w, RADIUS) for w in (W - 4 / np.sqrt(t) * gradient).T], axis=1)
    np.testing.assert_allclose(descend(objective, eta0=4.0)[-1], W, atol=1e-14)


def test_entropic_steps_are_those_of_the_twin():
    objective, u = drawn(), np.full((9, 3), RADIUS / 9)
    for t in range(1, 6):
        gradient = np.vstack([objective.view(u[:8]).gradient, np.zeros(3)])
        u *= np.exp(-2 * np.sqrt(np.log(9) / t) * gradient)
        u *= RADIUS / u.sum(axis=0)
    np.testing.assert_allclose(descend(objective, method="entropic")[-1], u[:8], atol=1e-13)


@pytest.mark.parametrize("method", ["projection", "entropic"])
@pytest.mark.parametrize("batch_size", [5, None])
def test_both_methods_approach_the_optimum_inside_the_set(method, batch_size):
    objective, samples = drawn(), batch_size and descent.drawn(600, 30, batch_size, np.random.default_rng(0))
    seen = descend(objective, method=method, n_iter=600, samples=samples)[::60]
    assert len(seen) == 11 and all(is_inside(W, RADIUS) for W in seen)
    expected = optimum(objective, RADIUS)
    values, bounds = np.transpose([digits.certify(objective.view(W), RADIUS) for W in seen])
    np.testing.assert_allclose(values, [slow_value(objective, W) for W in seen], rtol=1e-12)
    assert (bounds <= expected + 1e-9).all()
    assert expected - 1e-9 <= values[-1] <= 1.02 * expected


# ---------------------------------------------------------------------------------------------------------------------
# The table
# ---------------------------------------------------------------------------------------------------------------------


def test_table_has_a_run_for_each_form_and_method(table):
    runs = table.groupby(["form", "method"], sort=False)
    assert list(runs.groups) == [(form, method) for form in OPTIONS["n_iter"] for method in ("projection", "entropic")]
    sizes = {"batch 25%": 10, "batch 100%": 40, "stochastic 1": 1}
    assert (table["gradients"] == table["form"].map(sizes) * table["step"]).all()
    assert (table["suboptimality"] > -1e-6).all() and table["flops"].isna().all()
    assert table["test_error"].between(0, 1).all()
    assert (table.loc[table["method"] == "entropic", "non_zero"] == 1).all()
    assert (runs["objective"].last() < runs["objective"].first()).all()


def test_neither_other_radii_nor_names_of_classes_change_a_run(samples, table):
    X, labels = samples
    both = table_of(X, np.array(list("abcdefghij"))[labels.astype(int)], radius=[5.0, 20.0])
    assert both["radius"].unique().tolist() == [5.0, 20.0]
    assert both[both["radius"] == 20].reset_index(drop=True).equals(table)
    last = both[both["form"] == "batch 100%"].groupby(["method", "radius"])["objective"].last()
    assert last["projection", 5.0] > last["projection", 20.0]


@pytest.mark.parametrize(
    ("rename", "message"),
    [
        (lambda labels: np.full(len(labels), "x"), "training samples must have two classes or more, got only 'x'"),
        (
            lambda labels: np.append(labels[:-1], "x"),
            "test samples must have classes of training samples only, got 'x'",
        ),
    ],
)
def test_a_single_class_and_a_class_without_training_samples_are_refused(samples, rename, message):
    X, labels = samples
    with pytest.raises(ValueError, match=message):
        table_of(X, rename(labels))

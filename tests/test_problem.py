"""Tasks, their products, and bounds that hold for any dual variables."""

import numpy as np
import pytest
from conftest import draw_tasks, run_python
from scipy import sparse

from jointsparse.checks import fingerprint
from jointsparse.learning.certificate import bound_from, lower_bound, objective_of, relative_gap, solve_at_zero
from jointsparse.learning.losses import LOSSES, squared
from jointsparse.learning.problem import Problem, add_transposed_product, magnitude_limit, product
from jointsparse.learning.regulariser import Regulariser
from jointsparse.learning.solvers import SOLVERS
from jointsparse.norms import NORMS, l1inf
from jointsparse.pipeline import sweep


def test_mean_divides_by_the_sum_of_the_weights():
    made = Problem([np.ones((3, 1))], [np.ones(3)], [np.array([1.0, 2.0, 5.0])], normalisation="mean")
    np.testing.assert_allclose(made.parts[0].c[:, 0], [1 / 8, 2 / 8, 5 / 8])


def test_large_dense_tasks_come_in_parts_and_others_in_one(monkeypatch, rng):
    monkeypatch.setattr("jointsparse.learning.problem.PART_BYTES", 8 * 3 * 40)
    X = rng.normal(size=(101, 3))
    made = Problem([X, X[:0]], [np.ones(101), np.ones(0)])
    assert [(part.tasks.start, len(part.y)) for part in made.parts] == [(0, 33), (0, 34), (0, 34), (1, 0)]
    np.testing.assert_array_equal(np.vstack([part.X for part in made.parts]), X)
    assert len(Problem([sparse.csr_matrix(X)], [np.ones(101)]).parts) == 1  # sparse tasks stay whole


@pytest.mark.parametrize("n_pairs", [1, 3])
@pytest.mark.parametrize("small", [1, 10**6])
def test_products(monkeypatch, rng, n_pairs, small):
    monkeypatch.setattr("jointsparse.learning.problem.SMALL_PRODUCT_MULTIPLICATIONS", small)
    X, W, A = rng.normal(size=(20, 90)), rng.normal(size=(90, n_pairs)), rng.normal(size=(20, n_pairs))
    W[3:] = 0
    for features in (X, sparse.csr_matrix(X)):
        for used in (None, np.arange(3)):
            np.testing.assert_allclose(product(features, W, used), X @ W, atol=1e-13)
        V = np.ones((90, n_pairs))
        add_transposed_product(features, A, V, first=False)
        np.testing.assert_allclose(V, 1 + X.T @ A, atol=1e-13)
        add_transposed_product(features, A, V, first=True)
        np.testing.assert_allclose(V, X.T @ A, atol=1e-13)


@pytest.mark.parametrize("norm", sorted(NORMS))
@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("penalised", [False, True])
def test_no_feasible_objective_is_below_any_bound(rng, norm, loss, intercept, penalised):
    tasks, regulariser = draw_tasks(intercept=intercept), Regulariser(NORMS[norm], np.array([0.3, 2e3]), penalised)
    for _ in range(20):
        # Of a domain that all losses have: 0 <= A y <= c.
        bound = lower_bound(
            tasks, LOSSES[loss], regulariser, tasks.y * tasks.c * rng.random((len(tasks.y), 2)) ** rng.uniform(0.1, 9)
        )
        assert (bound >= 0).all()
        W, b = rng.normal(size=(2, 6, 3)) * rng.uniform(0, 2), rng.normal(size=(2, 3)) * intercept
        for pair in () if penalised else range(2):
            regulariser.step(W[pair], pair, 1.0)
        assert (bound <= objective_of(tasks, LOSSES[loss], regulariser, W, b) + 1e-9).all()


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dual_variables_outside_their_domain_bound_as_the_nearest_ones_inside(rng, loss, dtype):
    tasks, regulariser = draw_tasks(dtype), Regulariser(l1inf, np.array([0.01, 1.0]))
    share = rng.uniform(-1, 3, (len(tasks.y), 2))
    inside = share if LOSSES[loss].QUADRATIC else np.clip(share, 0, 1)  # 0 <= A y <= c
    dual, A = ((tasks.y * tasks.c * one).astype(dtype) for one in (share, inside))
    got, A = lower_bound(tasks, LOSSES[loss], regulariser, dual), A.astype(float)  # in double precision
    np.testing.assert_allclose(got, bound_from(tasks, LOSSES[loss], regulariser, A, tasks.transposed(A)), rtol=1e-12)


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_no_bound_is_above_the_objective_of_the_best_intercepts(loss):
    y = np.array([1.0, 1, -1, -1, -1, -1, -1])
    tasks = Problem([np.ones((7, 1))], [y], intercept=True)
    b, at_zero = solve_at_zero(tasks, LOSSES[loss])
    for share in (0.1, 0.5, 1.0):
        dual = tasks.y * tasks.c * share  # whose sum is not 0
        assert 0 <= lower_bound(tasks, LOSSES[loss], Regulariser(l1inf, np.array([0.0])), dual) <= at_zero
    best = -LOSSES[loss].subgradient(np.full((7, 1), b[0]), tasks.y, tasks.c)
    bound = lower_bound(tasks, LOSSES[loss], Regulariser(l1inf, np.array([0.0])), best)
    np.testing.assert_allclose(bound, at_zero, rtol=1e-4)


def test_the_gap_is_relative_to_what_is_left_or_was_gained_but_not_to_almost_nothing():
    objective, bound = np.array([10.0, 10.0, 1e-9, 5.0, 0.0, 10.0]), np.array([9.0, 0.0, 0.0, 6.0, 0.0, 10.0])
    np.testing.assert_allclose(relative_gap(objective, bound, 10.0), [1.0, 1.0, 1e-7, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(relative_gap(np.array([6.0, 2.0]), np.array([5.0, 1.9]), 10.0), [0.2, 0.05])


@pytest.mark.parametrize(("loss", "best"), [("hinge", -1.0), ("logistic", -np.log(2)), ("squared", -1 / 3)])
def test_the_objective_at_zero_has_the_best_intercepts(loss, best):
    X, y = [np.zeros((6, 1))] * 2, [np.array([1.0, 1, -1, -1, -1, -1])] * 2
    problem = Problem(X, y, intercept=True)
    b, at_zero = solve_at_zero(problem, LOSSES[loss])
    np.testing.assert_allclose(b, best, rtol=2e-6)
    np.testing.assert_allclose(at_zero, LOSSES[loss].value(np.full((12, 1), best), problem.y, problem.c)[0], rtol=1e-5)
    np.testing.assert_array_equal(solve_at_zero(Problem(X, y), LOSSES[loss])[0], 0)


def test_tasks_of_the_same_samples_are_one_part_and_dual_variables_follow(rng):
    X, Y = rng.normal(size=(50, 4)), rng.choice([-1.0, 1.0], (50, 3))
    apart, dual = Problem.from_matrix(X, Y), rng.normal(size=(150, 1))
    whole, regulariser = apart.together(), Regulariser(l1inf, np.array([0.1]))
    as_one = whole.arranged(dual)
    np.testing.assert_equal([whole.parts[0].y, as_one, apart.arranged(as_one)], [Y, dual.reshape(3, 50).T, dual])
    np.testing.assert_allclose(whole.transposed(as_one), apart.transposed(dual))
    bounds = (lower_bound(*of, regulariser, A) for *of, A in ((apart, squared, dual), (whole, squared, as_one)))
    np.testing.assert_allclose(*bounds)
    other = Problem([X, X.copy()], list(Y.T[:2]))
    assert other.together() is other


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_some_features_of_all_tasks_or_of_each(container):
    X = np.arange(12.0).reshape(3, 4)
    problem = Problem([container(X), container(X + 1)], [np.ones(3)] * 2)
    for columns in (np.array([2, 0]), np.array([[2, 1], [0, -1]])):
        small = problem.restricted(columns)
        assert small.n_features == 2
        for k, part in enumerate(small.parts):
            of_task = columns if columns.ndim == 1 else columns[:, k]
            np.testing.assert_array_equal(
                part.X.toarray() if sparse.issparse(part.X) else part.X, np.where(of_task >= 0, (X + k)[:, of_task], 0)
            )


def work():
    """Fingerprints of what solvers find for products large enough to be shared out among threads."""
    X = np.random.default_rng(0).normal(size=(400, 700)).astype(np.float32)
    Y = np.where(X[:, :5] > 0, 1, -1)
    options = {"loss": "hinge", "norm": "l1inf", "eta0": [0.01, 0.1, 1.0], "n_iter": 12, "normalisation": "sum"}
    sweeps = [sweep.run(X, Y, radius=[1.0, 10.0], solver=solver, **options) for solver in SOLVERS]
    return [fingerprint(array) for swept in sweeps for array in swept]


def test_training_does_not_depend_on_the_number_of_threads_or_processes():
    with_two = run_python(
        "-c",
        "from test_problem import work; print(work())",
        variables={"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"},
    )
    assert with_two.strip() == str(work())


@pytest.mark.parametrize(
    ("make", "y", "options", "expected"),
    [
        (Problem, [np.ones(2)], {}, "^task 0 must have a label and a weight for each of its 3 samples, got 2, 2"),
        (Problem, [np.ones(3)], {"normalisation": "no"}, "^normalisation must be 'sum' or 'mean', got 'no'"),
        (Problem.from_matrix, np.ones((2, 1)), {}, r"^Y must be a matrix with a row for each of 3 .* \(2, 1\)"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(make, y, options, expected):
    X = np.ones((3, 1))
    with pytest.raises(ValueError, match=expected):
        make([X] if make is Problem else X, y, **options)


# Tasks that share X


def nearly_whole(rng, dtype=float):
    """Features, and labels (100, 3) of tasks that lack 0, 1 and 9 samples."""
    X = rng.normal(size=(100, 6)).astype(dtype)
    Y = np.where(X[:, :1] + rng.normal(size=(100, 3)) > 0, 1.0, -1.0)
    Y[40, 1] = Y[50:59, 2] = 0
    return X, Y


@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_tasks_that_lack_few_samples_share_their_features(rng, container, monkeypatch):
    X, Y = nearly_whole(rng)
    Y = np.column_stack([Y, np.where(np.arange(100) < 10, 0, Y[:, 0])])  # a tenth is no longer few
    made = Problem.from_matrix(container(X), Y)
    assert [len(part.y) for part in made.parts] == [100, 100, 100, 90]
    first = [part.X.data if sparse.issparse(part.X) else part.X for part in made.parts]
    assert [np.shares_memory(first[0], x) for x in first] == [True, True, True, False]
    np.testing.assert_array_equal(made.parts[2].c[:, 0], Y[:, 2] != 0)
    np.testing.assert_array_equal(np.vstack([part.y for part in made.parts]), made.y)
    np.testing.assert_array_equal(np.vstack([made.c[part.rows] for part in made.parts]), made.c)
    monkeypatch.setattr("jointsparse.learning.problem.MOST_COPIED_BYTES", 0)  # as if copies filled the memory
    Y[:70, 3], Y[:80, 2] = 0, 0
    assert [len(part.y) for part in Problem.from_matrix(container(X), Y).parts] == (
        [100, 100, 20, 30] if container is sparse.csr_matrix else [100, 100, 20, 100]
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [1e10, np.inf, np.nan])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_numbers_too_large_to_square_are_refused(dtype, factor, container):
    large = magnitude_limit(dtype)
    X, too_large = np.ones((3, 2), dtype), np.array([1, 1, factor * large])
    Problem([container(X)], [np.ones(3)], [np.full(3, 0.9 * large)])
    for labels_and_weights in (([np.ones(3)], [too_large]), ([too_large],)):
        with pytest.raises(ValueError, match=r"^weights times labels of task 0 must be finite and at most .* scale"):
            Problem([container(X)], *labels_and_weights)
    X[1, 1] = factor * large
    with pytest.raises(ValueError, match=r"^features of task 1 must be finite and at most .* scale them"):
        Problem([container(X[:1]), container(X)], [np.ones(1), np.ones(3)])


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_every_row_that_a_task_has_is_looked_at_and_no_other(rng, bad):
    X, Y = nearly_whole(rng)
    X[40, 0], Y[40] = bad, 0
    assert [len(part.y) for part in Problem.from_matrix(X, Y).parts] == [99, 99, 90]
    for column in range(3):
        Y[40] = np.arange(3) == column
        with pytest.raises(
            ValueError, match=rf"^features of task {column} must be finite .* got {bad:.3g}".replace("+", r"\+")
        ):
            Problem.from_matrix(X, Y)

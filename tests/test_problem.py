"""Problems: their parts, their products, and input that is not accepted."""

from functools import partial

import numpy as np
import pytest
from common import problem, run_python
from scipy import sparse

from jointsparse.arrays import fingerprint
from jointsparse.learning.losses import hinge
from jointsparse.learning.problem import Problem, add_transposed_product, magnitude_limit, product
from jointsparse.learning.solvers import SOLVERS
from jointsparse.norms import l1inf

CONTAINERS = pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sparse.csr_matrix])


def test_mean_divides_by_the_sum_of_the_weights():
    made = Problem([np.ones((3, 1))], [np.ones(3)], [np.array([1.0, 2.0, 5.0])], normalisation="mean")
    np.testing.assert_allclose(made.parts[0].c[:, 0], [1 / 8, 2 / 8, 5 / 8])


@pytest.mark.parametrize("n_pairs", [1, 3])
@pytest.mark.parametrize("small", [1, 10**6])
@CONTAINERS
def test_products(monkeypatch, rng, n_pairs, small, container):
    monkeypatch.setattr("jointsparse.learning.problem.SMALL_PRODUCT_MULTIPLICATIONS", small)
    X, W, A = rng.normal(size=(20, 90)), rng.normal(size=(90, n_pairs)), rng.normal(size=(20, n_pairs))
    W[3:] = 0
    for used in (None, np.arange(3)):
        np.testing.assert_allclose(product(container(X), W, used), X @ W, atol=1e-13)
    for first, expected in ((False, 1 + X.T @ A), (True, X.T @ A)):
        V = np.ones((90, n_pairs))
        add_transposed_product(container(X), A, V, first=first)
        np.testing.assert_allclose(V, expected, atol=1e-13)


def work():
    """Return fingerprints of the solvers' results, for products large enough for several threads."""
    X = np.random.default_rng(0).normal(size=(400, 700)).astype(np.float32)
    problem, steps = Problem.from_matrix(X, np.where(X[:, :5] > 0, 1, -1)), {"eta0": np.tile([0.01, 0.1, 1.0], 2)}
    fit = {"problem": problem, "loss": hinge, "norm": l1inf, "n_iter": 12, "radius": np.repeat([1.0, 10.0], 3)}
    fits = [solver.fit(**fit, **(steps if solver.TAKES else {})) for solver in SOLVERS.values()]
    return [fingerprint(each) for fit in fits for each in (fit.W, fit.b, fit.objective, fit.value, fit.bound, fit.dual)]


def test_training_does_not_depend_on_the_number_of_threads_or_processes():
    code = "from test_problem import work; print(work())"
    assert run_python("-c", code, variables={"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}) == f"{work()}\n"


@CONTAINERS
def test_tasks_that_lack_few_samples_share_their_features(container, monkeypatch):
    X, Y = problem(n=100)
    Y[40, 1] = Y[50:59, 2] = 0
    # The last task lacks a tenth of the samples, so it copies its rows.
    Y = np.column_stack([Y, np.where(np.arange(100) < 10, 0, Y[:, 0])])
    made = Problem.from_matrix(container(X), Y)
    assert [len(part.y) for part in made.parts] == [100, 100, 100, 90]
    first = [part.X.data if sparse.issparse(part.X) else part.X for part in made.parts]
    assert [np.shares_memory(first[0], x) for x in first] == [True, True, True, False]
    np.testing.assert_array_equal(made.parts[2].c[:, 0], Y[:, 2] != 0)
    np.testing.assert_array_equal(
        [*made.y, *made.c], [*np.vstack([p.y for p in made.parts]), *np.vstack([p.c for p in made.parts])]
    )
    monkeypatch.setattr("jointsparse.learning.problem.MOST_COPIED_BYTES", 0)  # as if copies exceeded the limit
    Y[:70, 3], Y[:80, 2] = 0, 0
    n_samples = [len(part.y) for part in Problem.from_matrix(container(X), Y).parts]
    assert n_samples == [100, 100, 20, 30 if container is sparse.csr_matrix else 100]


X, ONE, LARGE = np.ones((3, 1)), np.ones(3), magnitude_limit(np.float64)


@pytest.mark.parametrize(
    ("make", "arguments", "expected"),
    [
        (Problem, ([X], [ONE[:2]]), "^task 0 must have a label and a weight for each of its 3 samples, got 2, 2"),
        (partial(Problem, normalisation="no"), ([X], [ONE]), "^normalisation must be 'sum' or 'mean', got 'no'"),
        (Problem.from_matrix, (X, ONE[:2, np.newaxis]), r"^Y must be a matrix with a row for each of 3 .* \(2, 1\)"),
        *(
            (Problem, arguments, f"^{numbers} must be finite and at most .* scale them$")
            for factor in (1.01, np.inf, np.nan)
            for arguments, numbers in (
                (([X], [ONE], [factor * LARGE * ONE]), "weights times labels of task 0"),
                (([X], [factor * LARGE * ONE]), "weights times labels of task 0"),
                (([X, -factor * LARGE * X], [ONE] * 2), "features of task 1"),
                (([sparse.csr_matrix(factor * LARGE * X)], [ONE]), "features of task 0"),
            )
        ),
        (Problem, ([X], [1e200 * ONE], [1e200 * ONE]), "^weights times labels of task 0 must be finite .* got inf"),
        (Problem, ([X.astype("f")], [ONE * magnitude_limit(np.float32) * 1.01]), "^weights times .* in float32, got"),
    ],
)
def test_arguments_that_do_not_fit_and_numbers_too_large_to_square_raise(make, arguments, expected):
    with pytest.raises(ValueError, match=expected):
        make(*arguments)


def test_exactly_the_rows_of_a_task_are_checked():
    X, Y = problem(n=100)
    X[40, 0], Y[40], Y[50:59, 2] = np.nan, 0, 0
    assert [len(part.y) for part in Problem.from_matrix(X, Y).parts] == [99, 99, 90]
    for column in range(3):
        Y[40] = np.arange(3) == column
        with pytest.raises(ValueError, match=rf"^features of task {column} must be finite .* got nan"):
            Problem.from_matrix(X, Y)

"""Arrays that do not belong together are told apart."""

from importlib import import_module

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from jointsparse import checks


def test_blas_has_its_threads_again_after_calls_that_overlapped():
    """Of two that restored what each had found, the last one would restore one thread."""
    import_module("scipy.linalg")
    with threadpool_limits(3, user_api="blas"):
        before = [one["num_threads"] for one in threadpool_info()]
        first, second = checks.one_thread(), checks.one_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"} == {1}
        second.__exit__(None, None, None)
        assert [one["num_threads"] for one in threadpool_info()] == before and 3 in before


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_rows_are_chosen_where_there_is_one_for_each_sample(form):
    X, chosen = np.arange(6.0).reshape(3, 2), np.array([True, False, True])
    got = checks.select(form(X), chosen)
    np.testing.assert_array_equal(got.toarray() if sparse.issparse(got) else got, X[[0, 2]])
    for n in (2, 4):
        with pytest.raises(checks.Misfit, match=rf"X must have a row for each of 3 samples, got shape \({n}, 2\)"):
            checks.select(form(np.ones((n, 2))), chosen, "X")


def test_a_fingerprint_is_of_shape_type_and_bits():
    X = np.random.default_rng(0).normal(size=(6, 4))
    spoilt = X.copy()
    spoilt[3, 1] = np.nextafter(spoilt[3, 1], 9)
    dense = [X, spoilt, X.T, X.reshape(4, 6), X.astype(np.float32), X[:5], X[::-1]]
    different = [*dense, *map(sparse.csr_matrix, (X, spoilt, X.T))]
    assert len(set(map(checks.fingerprint, different))) == len(different)
    assert checks.fingerprint(np.asfortranarray(X)) == checks.fingerprint(X.copy()) == checks.fingerprint(X)
    assert checks.fingerprint(sparse.csr_matrix(X)) == checks.fingerprint(sparse.csr_matrix(X.copy()))

"""Input checks, fingerprints and the limit on BLAS threads."""

import ntpath
import os
from importlib import import_module

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from jointsparse import arrays, checks, messages, threads


def test_a_relative_path_has_slashes_and_is_absolute_on_another_drive_of_windows(monkeypatch):
    monkeypatch.setattr(os, "path", ntpath)
    monkeypatch.setattr(os, "sep", ntpath.sep)
    for path, expected in ((r"C:\data\tea.jpg", "../data/tea.jpg"), (r"D:\data\tea.jpg", "D:/data/tea.jpg")):
        assert messages.relative_path(path, r"C:\run") == expected


def test_overlapping_calls_restore_the_number_of_blas_threads():
    """If every call restored the number that it had seen at its start, the last call would restore one thread."""
    import_module("scipy.linalg")
    with threadpool_limits(3, user_api="blas"):
        before = [library["num_threads"] for library in threadpool_info()]
        first, second = threads.one_thread(), threads.one_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"} == {1}
        second.__exit__(None, None, None)
        assert [library["num_threads"] for library in threadpool_info()] == before and 3 in before


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_select_returns_the_chosen_rows_and_rejects_another_number_of_rows(form):
    X, chosen = np.arange(6.0).reshape(3, 2), np.array([True, False, True])
    got = arrays.select(form(X), chosen)
    np.testing.assert_array_equal(got.toarray() if sparse.issparse(got) else got, X[[0, 2]])
    for n in (2, 4):
        with pytest.raises(checks.Misfit, match=rf"X must have a row for each of 3 samples, got shape \({n}, 2\)"):
            arrays.select(form(np.ones((n, 2))), chosen, "X")


def test_rows_in_float16_are_selected_in_float32():
    half = np.array([[1.5, 2.0], [3.0, 4.0]], np.float16)
    got = arrays.select(half, np.array([False, True]))
    np.testing.assert_array_equal(got, np.array([[3, 4]], np.float32), strict=True)


def test_a_fingerprint_depends_on_shape_dtype_and_bits():
    X = np.random.default_rng(0).normal(size=(6, 4))
    spoilt = X.copy()
    spoilt[3, 1] = np.nextafter(spoilt[3, 1], 9)
    dense = [X, spoilt, X.T, X.reshape(4, 6), X.astype(np.float32), X[:5], X[::-1]]
    different = [*dense, *map(sparse.csr_matrix, (X, spoilt, X.T))]
    assert len(set(map(arrays.fingerprint, different))) == len(different)
    assert arrays.fingerprint(np.asfortranarray(X)) == arrays.fingerprint(X.copy()) == arrays.fingerprint(X)
    assert arrays.fingerprint(sparse.csr_matrix(X)) == arrays.fingerprint(sparse.csr_matrix(X.copy()))

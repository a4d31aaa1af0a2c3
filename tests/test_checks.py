"""Input checks, fingerprints and the limit on BLAS threads."""

import ntpath
import os
from contextlib import ExitStack
from importlib import import_module

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from jointsparse import arrays, checks, messages, threads


def test_a_relative_path_has_slashes_and_is_absolute_on_another_drive_of_windows(monkeypatch):
    monkeypatch.setattr(os, "path", ntpath)
    monkeypatch.setattr(os, "sep", ntpath.sep)
    got = [messages.relative_path(path, r"C:\run") for path in (r"C:\data\tea.jpg", r"D:\data\tea.jpg")]
    assert got == ["../data/tea.jpg", "D:/data/tea.jpg"]


def test_overlapping_calls_restore_the_number_of_blas_threads():
    """If every call restored the number that it had seen at its start, the last call would restore one thread."""
    import_module("scipy.linalg")

    def limits():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    with threadpool_limits(3, user_api="blas"), ExitStack() as second:
        with threads.one_thread():
            second.enter_context(threads.one_thread())
        assert set(limits()) == {1}
        second.close()
        assert set(limits()) == {3}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_select_returns_the_chosen_rows_and_rejects_another_number_of_rows(form):
    got = arrays.select(form(np.arange(6.0).reshape(3, 2)), np.array([True, False, True]))
    np.testing.assert_array_equal(sparse.csr_matrix(got).toarray(), [[0, 1], [4, 5]])
    with pytest.raises(checks.Misfit, match=r"X must have a row for each of 3 samples, got shape \(4, 2\)"):
        arrays.select(form(np.ones((4, 2))), np.ones(3, bool), "X")
    half = arrays.select(np.ones((2, 2), np.float16), np.array([False, True]))
    np.testing.assert_array_equal(half, np.ones((1, 2), np.float32), strict=True)


def test_a_fingerprint_depends_on_shape_dtype_and_bits():
    X = np.random.default_rng(0).normal(size=(6, 4))
    spoilt = X.copy()
    spoilt[3, 1] = np.nextafter(spoilt[3, 1], 9)
    dense = [X, spoilt, X.T, X.reshape(4, 6), X.astype(np.float32), X[:5], X[::-1]]
    different = [*dense, *map(sparse.csr_matrix, (X, spoilt, X.T))]
    assert len(set(map(arrays.fingerprint, different))) == len(different)
    assert arrays.fingerprint(np.asfortranarray(X)) == arrays.fingerprint(X)

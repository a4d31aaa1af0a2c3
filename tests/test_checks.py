"""Input checks, fingerprints, the limit on BLAS threads, and files that are complete or absent."""

import errno
import os
import subprocess
import sys
from contextlib import ExitStack

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from jointsparse import arrays, checks, threads
from jointsparse.written import written


def test_overlapping_calls_restore_the_number_of_blas_threads():
    def limits():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    with threadpool_limits(3, user_api="blas"), ExitStack() as second:
        with threads.one_thread():
            second.enter_context(threads.one_thread())
        assert set(limits()) == {1}
        second.close()  # would restore one thread, if calls restored the number that they have seen at their start
        assert set(limits()) == {3}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_select_returns_the_chosen_rows_and_rejects_another_number_of_rows(form):
    got = arrays.select(form(np.arange(6.0).reshape(3, 2)), np.array([True, False, True]))
    np.testing.assert_array_equal(sparse.csr_matrix(got).toarray(), [[0, 1], [4, 5]])
    with pytest.raises(checks.Misfit, match=r"X must have a row for each of 3 samples, got shape \(4, 2\)"):
        arrays.select(form(np.ones((4, 2))), np.ones(3, bool), "X")
    assert arrays.select(np.ones((2, 2), np.float16), np.array([False, True])).dtype == np.float32


def test_a_fingerprint_depends_on_shape_dtype_and_bits():
    X = np.random.default_rng(0).normal(size=(6, 4))
    spoilt = X.copy()
    spoilt[3, 1] = np.nextafter(spoilt[3, 1], 9)
    different = [X, spoilt, X.T, X.reshape(4, 6), X.astype(np.float32), X[:5], X[::-1]]
    moved = sparse.csr_matrix(np.diag([1.0, 1.0, 0.0])), sparse.csr_matrix(np.diag([1.0, 1.0, 0.0])[:, [0, 2, 1]])
    different += [*map(sparse.csr_matrix, (X, spoilt, X.T)), *moved]
    assert len(set(map(arrays.fingerprint, different))) == len(different)
    assert arrays.fingerprint(np.asfortranarray(X)) == arrays.fingerprint(X)


# `written` leaves either a complete file or none


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_the_file_appears_when_the_block_ends_and_not_when_it_fails(tmp_path):
    for before in ({}, {"table.csv": "new"}):
        with pytest.raises(KeyError), written(tmp_path / "table.csv") as temporary:
            temporary.write_text("half")
            raise KeyError
        assert contents(tmp_path) == before
        with written(tmp_path / "table.csv") as temporary:
            temporary.write_text("new")
            assert temporary.suffix == ".csv" and contents(tmp_path) == before | {temporary.name: "new"}
        assert contents(tmp_path) == {"table.csv": "new"}


def test_leftovers_of_a_killed_process_are_deleted_and_other_files_stay(tmp_path):
    pytest.importorskip("psutil")
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    others = dict.fromkeys(
        (f".table.{os.getppid()}.part.csv", ".table.old.part.csv", f".other.{ended.pid}.part.csv"), ""
    )
    for name in (f".table.{ended.pid}.part.csv", *others):
        (tmp_path / name).touch()
    with written(tmp_path / "table.csv") as temporary:
        temporary.touch()
    assert contents(tmp_path) == others | {"table.csv": ""}


def test_a_replaced_file_keeps_its_mode_and_the_error_of_a_full_disk_names_the_file(tmp_path):
    (tmp_path / "table.csv").touch(mode=0o600)
    with written(tmp_path / "table.csv") as temporary:
        temporary.touch(mode=0o644)
    assert (tmp_path / "table.csv").stat().st_mode & 0o777 == 0o600
    with pytest.raises(OSError, match=r"table\.csv") as raised, written(tmp_path / "table.csv"):
        raise OSError(errno.EDQUOT, "")  # as a failed write, which knows no name
    assert raised.value.errno == errno.EDQUOT and contents(tmp_path) == {"table.csv": ""}

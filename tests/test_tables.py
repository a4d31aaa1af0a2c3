"""Tables and arrays on disk: what is read is what was written, and a file is whole or absent."""

import os
import resource
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jointsparse import tables

SUFFIXES = [".csv", ".parquet"]


def example():
    rng = np.random.default_rng(0)
    numbers = np.concatenate([rng.normal(size=50) * 10.0 ** rng.integers(-300, 300, 50), [0.1, 1 / 3, np.pi, -0.0]])
    return pd.DataFrame(
        {
            "word": [f"word{i}" for i in range(len(numbers))],
            "caption": 'A "dog", on\ngrass – zwölf Käfer',
            "n": np.arange(len(numbers)) + 2**53,
            "capped": np.arange(len(numbers)) % 2 == 0,
            "auc": numbers,
        }
    )


# Tables


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_comes_back_with_every_digit(tmp_path, suffix):
    tables.write_table(example(), tmp_path / f"table{suffix}")
    got = tables.read_table(tmp_path / f"table{suffix}")
    pd.testing.assert_frame_equal(got, example(), check_exact=True)
    assert got["auc"].to_numpy().tobytes() == example()["auc"].to_numpy().tobytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_missing_and_infinite_numbers_come_back(tmp_path, suffix):
    expected = pd.DataFrame({"p": [0.5, np.nan, np.inf, -np.inf]})
    tables.write_table(expected, tmp_path / f"table{suffix}")
    pd.testing.assert_frame_equal(tables.read_table(tmp_path / f"table{suffix}"), expected)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_words_that_look_like_missing_values_come_back(tmp_path, suffix):
    expected = pd.DataFrame({"word": ["nan", "null", "None", "NA", "dog"]})
    tables.write_table(expected, tmp_path / f"table{suffix}")
    pd.testing.assert_frame_equal(tables.read_table(tmp_path / f"table{suffix}"), expected)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_without_rows_keeps_its_columns(tmp_path, suffix):
    tables.write_table(example()[:0], tmp_path / f"table{suffix}")
    got = tables.read_table(tmp_path / f"table{suffix}")
    assert got.columns.tolist() == example().columns.tolist() and len(got) == 0


def test_the_folder_is_made(tmp_path):
    tables.write_table(example(), tmp_path / "a" / "b" / "table.csv")
    assert (tmp_path / "a" / "b" / "table.csv").exists()


# Arrays


def arrays():
    rng = np.random.default_rng(0)
    return {
        "W": rng.normal(size=(3, 4)).astype(np.float32),
        "labels": rng.random((5, 2)) < 0.5,
        "words": np.array(["dog", "Käfer"]),
        "fortran": np.asfortranarray(rng.normal(size=(3, 4))),
        "number": np.array(7),
        "nothing": np.empty((0, 3)),
        "odd": np.array([np.nan, np.inf, -0.0]),
    }


def test_arrays_come_back_bit_for_bit(tmp_path):
    tables.write_arrays(tmp_path / "arrays.npz", **arrays())
    got = tables.read_arrays(tmp_path / "arrays.npz")
    assert list(got) == list(arrays())
    for name, expected in arrays().items():
        assert (got[name].dtype, got[name].shape) == (expected.dtype, expected.shape)
        assert got[name].tobytes() == expected.tobytes()


def test_one_array_comes_back_bit_for_bit(tmp_path):
    tables.write_array(tmp_path / "W.npy", arrays()["W"])
    np.testing.assert_array_equal(np.load(tmp_path / "W.npy", mmap_mode="r"), arrays()["W"])


@pytest.mark.parametrize("density", [0.0, 0.1])
def test_a_sparse_matrix_comes_back(tmp_path, density):
    expected = sparse.random(30, 50, density, format="csr", rng=np.random.default_rng(0), dtype=np.float32)
    tables.write_matrix(tmp_path / "matrix.npz", expected)
    got = tables.read_matrix(tmp_path / "matrix.npz")
    assert (got.shape, got.dtype, got.format) == (expected.shape, expected.dtype, "csr")
    assert (got != expected).nnz == 0


def test_the_same_arrays_are_the_same_bytes(tmp_path):
    for name in ("first.npz", "second.npz"):
        tables.write_arrays(tmp_path / name, **arrays())
    assert (tmp_path / "first.npz").read_bytes() == (tmp_path / "second.npz").read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_table_is_the_same_bytes(tmp_path, suffix):
    for name in ("first", "second"):
        tables.write_table(example(), tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"first{suffix}").read_bytes() == (tmp_path / f"second{suffix}").read_bytes()


# No pickle


def test_python_objects_are_not_written(tmp_path):
    with pytest.raises(ValueError, match=r"^words must hold numbers or text, got Python objects$"):
        tables.write_arrays(tmp_path / "arrays.npz", words=np.array(["dog", None], dtype=object))
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        tables.write_array(tmp_path / "array.npy", np.array([{}], dtype=object))
    assert list(tmp_path.iterdir()) == []


def test_python_objects_are_not_read(tmp_path):
    np.savez(tmp_path / "arrays.npz", words=np.array([print], dtype=object))
    with pytest.raises(ValueError, match="Object arrays cannot be loaded"):
        tables.read_arrays(tmp_path / "arrays.npz")


# Whole or absent


def test_a_writer_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(KeyError), tables.written(tmp_path / "table.csv") as temporary:
        temporary.write_text("half")
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_a_writer_that_fails_keeps_the_old_file(tmp_path):
    (tmp_path / "table.csv").write_text("old")
    with pytest.raises(KeyError), tables.written(tmp_path / "table.csv") as temporary:
        temporary.write_text("half")
        raise KeyError
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("table.csv", "old")]


def test_the_file_appears_when_the_writer_is_done(tmp_path):
    (tmp_path / "table.csv").write_text("old")
    with tables.written(tmp_path / "table.csv") as temporary:
        temporary.write_text("new")
        assert (tmp_path / "table.csv").read_text() == "old"
        assert temporary.suffix == ".csv"
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("table.csv", "new")]


def spoil(good):
    """What may happen to a file, as (how, bytes)."""
    yield "empty", b""
    yield "text", b"not an archive"
    for cut in (10, len(good) // 2, len(good) - 1):
        yield f"cut at {cut}", good[:cut]
    yield "zeros inside", good[:100] + bytes(40) + good[140:]
    yield "unknown version of ZIP", good.replace(b"PK\x01\x02\x2d\x03\x2d", b"PK\x01\x02\x2d\x03\xff")


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "arrays.npz"
    tables.write_arrays(path, a=np.arange(5.0), b=np.arange(3))
    for how, damaged in spoil(path.read_bytes()):
        path.write_bytes(damaged)
        try:
            tables.read_arrays(path)
        except ValueError as error:
            assert str(error).startswith(f"{path} is damaged ("), how
            assert str(error).endswith("): delete it and run again"), how
        else:
            pytest.fail(f"{how}: no error")


def test_a_missing_file_is_missing_and_not_damaged(tmp_path):
    with pytest.raises(FileNotFoundError):
        tables.read_arrays(tmp_path / "arrays.npz")


def leave(tmp_path, process):
    path = tmp_path / f".table.{process}.part.csv"
    path.write_text("half a tab")
    return path


def test_what_a_killed_process_left_is_deleted_when_the_file_is_made(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    left = leave(tmp_path, ended.pid)
    tables.write_table(example(), tmp_path / "table.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"], left


@pytest.mark.parametrize("name", [f".table.{os.getppid()}.part.csv", ".table.old.part.csv", ".other.1.part.csv"])
def test_what_is_not_left_by_a_killed_process_stays(tmp_path, name):
    (tmp_path / name).touch()
    tables.write_table(example(), tmp_path / "table.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "table.csv"])


WRITER = """
import sys
import time
import numpy as np
from jointsparse import tables
for n in range(10_000):
    tables.write_arrays(sys.argv[1], A=np.full(1_000_000, n))
    print(n, flush=True)
"""


@pytest.mark.parametrize("moment", [0.001, 0.004, 0.013])  # seconds after a file is written
def test_a_process_killed_while_it_writes_leaves_the_file_as_it_was_or_whole(tmp_path, moment):
    path = tmp_path / "file.npz"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as writer:
        writer.stdout.readline()
        time.sleep(moment)
        writer.kill()
    got = tables.read_arrays(path)["A"]
    assert got.shape == (1_000_000,)
    assert len(np.unique(got)) == 1
    tables.write_arrays(path, A=np.zeros(3))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "write",
    [
        lambda folder: tables.write_array(folder / "a.npy", np.zeros(10_000)),
        lambda folder: tables.write_arrays(folder / "a.npz", A=np.zeros(10_000)),
        lambda folder: tables.write_table(pd.DataFrame({"n": np.arange(10_000)}), folder / "a.csv"),
        lambda folder: tables.write_table(pd.DataFrame({"n": np.arange(10_000)}), folder / "a.parquet"),
    ],
)
def test_a_full_disk_is_called_so_and_leaves_nothing(tmp_path, write):
    """Files may have no more than a thousand bytes, which the system takes for much the same."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match=r"No space left on device|File too large"):
            write(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())

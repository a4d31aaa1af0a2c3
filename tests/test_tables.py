"""Tables and arrays on disk: readers return what was written, and a file is whole or absent."""

import csv
import os
import resource
import subprocess
import sys
import zipfile
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jointsparse.provenance import tables

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

TABLES = {
    "every digit": example(),
    "missing and infinite numbers": pd.DataFrame({"p": [0.5, np.nan, np.inf, -np.inf]}),
    "words that look like missing values": pd.DataFrame({"word": ["nan", "null", "None", "NA", "dog"]}),
    "words that look like numbers": pd.DataFrame({"word": ["002", "1e5", "true"]}),
}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("expected", TABLES.values(), ids=TABLES)
def test_a_table_comes_back(tmp_path, expected, suffix):
    path = tmp_path / "a" / f"table{suffix}"  # in a folder that is made
    tables.write_table(expected, path)
    got = tables.read_table(path)
    pd.testing.assert_frame_equal(got, expected, check_exact=True)
    for name in expected.select_dtypes("float"):
        assert got[name].to_numpy().tobytes() == expected[name].to_numpy().tobytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_without_rows_keeps_its_columns(tmp_path, suffix):
    tables.write_table(example()[:0], tmp_path / f"table{suffix}")
    got = tables.read_table(tmp_path / f"table{suffix}")
    assert got.columns.tolist() == example().columns.tolist() and len(got) == 0


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


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", ["W", "nothing"])
def test_one_array_comes_back_bit_for_bit(tmp_path, name, mapped):
    tables.write_array(tmp_path / "array.npy", arrays()[name])
    got = tables.read_array(tmp_path / "array.npy", mapped=mapped)
    assert described(got) == described(arrays()[name]) == described(np.load(tmp_path / "array.npy", mmap_mode="r"))
    assert isinstance(got, np.memmap) == mapped and got.flags.writeable != mapped  # left on disk


def test_the_same_content_is_the_same_bytes(tmp_path):
    for folder in ("first", "second"):
        write_all(tmp_path / folder)
    for name in FILES:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes(), name


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


@pytest.mark.parametrize("before", [{}, {"table.csv": "old"}])
def test_a_writer_that_fails_leaves_all_as_it_was(tmp_path, before):
    for name, content in before.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(KeyError), tables.written(tmp_path / "table.csv") as temporary:
        temporary.write_text("half")
        raise KeyError
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


def test_the_file_appears_when_the_writer_is_done(tmp_path):
    (tmp_path / "table.csv").write_text("old")
    with tables.written(tmp_path / "table.csv") as temporary:
        temporary.write_text("new")
        assert ((tmp_path / "table.csv").read_text(), temporary.suffix) == ("old", ".csv")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("table.csv", "new")]


FILES = {  # what each kind of file holds, and what reads it
    "table.csv": (example()[:20], tables.read_table),
    "table.parquet": (example()[:20], tables.read_table),
    "arrays.npz": (arrays(), lambda path: tables.read_arrays(path, *arrays())),
    "dense.npz": (np.arange(6.0).reshape(2, 3), tables.read_matrix),
    "sparse.npz": (
        sparse.random(30, 50, 0.1, format="csr", rng=np.random.default_rng(0), dtype=np.float32),
        tables.read_matrix,
    ),
    "zeros.npz": (sparse.csr_matrix((30, 50), dtype=np.float32), tables.read_matrix),
    "array.npy": (np.arange(7), tables.read_array),
}


def write_all(folder):
    """Write one file of each kind."""
    for name in ("table.csv", "table.parquet"):
        tables.write_table(FILES[name][0], folder / name)
    for name in ("dense.npz", "sparse.npz", "zeros.npz"):
        tables.write_matrix(folder / name, FILES[name][0])
    tables.write_arrays(folder / "arrays.npz", **FILES["arrays.npz"][0])
    tables.write_array(folder / "array.npy", FILES["array.npy"][0])


@pytest.fixture(params=FILES)
def kept(request, tmp_path):
    """A file of each kind in turn, and what reads it."""
    write_all(tmp_path)
    return tmp_path / request.param, FILES[request.param][1]


def test_every_kind_of_file_comes_back_bit_for_bit(kept):
    path, read = kept
    assert described(read(path)) == described(FILES[path.name][0])


def refused(read, path, how):
    """The message, which names the file and what to do."""
    try:
        read(path)
    except tables.Damaged as error:
        assert str(error).startswith(f"{path} is damaged ("), how
        assert str(error).endswith("): delete it and run again"), how
        assert error.path == str(path)
        return str(error)
    pytest.fail(f"{how}: no error")


def test_a_file_cut_off_anywhere_is_named(kept):
    path, read = kept
    whole = path.read_bytes()
    for length in {*range(0, len(whole), max(len(whole) // 60, 1)), *range(len(whole) - 12, len(whole))}:
        path.write_bytes(whole[:length])
        refused(read, path, length)


def test_a_table_cut_off_at_the_end_of_a_line_is_named(tmp_path):
    path = tmp_path / "table.csv"
    tables.write_table(pd.DataFrame({"n": [1, 2, 3], "auc": [0.5, 0.6, 0.7]}), path)
    lines = path.read_text().splitlines(keepends=True)
    for kept in range(len(lines)):
        path.write_text("".join(lines[:kept]))
        assert "its end is missing, which is an empty line" in refused(tables.read_table, path, kept)


def test_a_reader_of_csv_does_not_see_the_empty_line(tmp_path):
    expected = pd.DataFrame({"n": [1, 2, 3]})
    tables.write_table(expected, tmp_path / "table.csv")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "table.csv"), expected)
    with (tmp_path / "table.csv").open(newline="") as file:
        assert [row for row in csv.reader(file) if row] == [["n"], ["1"], ["2"], ["3"]]


@pytest.mark.parametrize("kept", [name for name in FILES if name != "table.csv"], indirect=True)
def test_a_changed_byte_is_seen_or_changes_nothing(kept):
    path, read = kept
    whole, expected = path.read_bytes(), described(read(path))
    rng = np.random.default_rng(0)
    for place in rng.choice(len(whole), min(len(whole), 250), replace=False):
        spoilt = bytearray(whole)
        spoilt[place] ^= int(rng.integers(1, 256))
        path.write_bytes(spoilt)
        with suppress(tables.Damaged):
            assert described(read(path)) == expected, place


def described(value):
    """A form of any content that can be compared."""
    if isinstance(value, dict):
        return {name: described(array) for name, array in value.items()}
    if isinstance(value, pd.DataFrame):
        return value.to_csv(), list(map(str, value.dtypes))
    array = value.toarray() if sparse.issparse(value) else value
    return getattr(value, "format", "dense"), array.dtype, array.shape, array.tobytes()


@pytest.mark.parametrize(
    "content", [b"", b"not what it should be", b"\0" * 500, b"\n\n", b"PK\x03\x04", b"\x93NUMPY\x01\0"]
)
def test_a_file_of_other_content_is_named(kept, content):
    path, read = kept
    path.write_bytes(content)
    refused(read, path, content)


def test_nul_bytes_in_a_table_are_damage(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"n,auc\n1,\0\0\0\n\n")
    assert "it holds NUL bytes" in refused(tables.read_table, path, "NUL")


def test_an_unknown_version_of_zip_is_damage(tmp_path):
    path = tmp_path / "arrays.npz"
    tables.write_arrays(path, a=np.arange(5.0))
    path.write_bytes(path.read_bytes().replace(b"PK\x01\x02\x2d\x03\x2d", b"PK\x01\x02\x2d\x03\xff"))
    refused(tables.read_arrays, path, "version")


@pytest.mark.parametrize("hidden", ["a.npy", "b.npy", "c.npy"])
def test_an_array_that_the_directory_of_a_file_hides_is_damage(tmp_path, hidden):
    path = tmp_path / "arrays.npz"
    tables.write_arrays(path, a=np.arange(5.0), b=np.zeros(2), c=np.ones((2, 2)))
    with zipfile.ZipFile(path, "a") as archive:
        archive.filelist.remove(archive.NameToInfo.pop(hidden))
        archive.comment = b"written again"
    assert hidden not in zipfile.ZipFile(path).namelist()
    assert "its directory is not what was written" in refused(tables.read_arrays, path, hidden)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_missing_columns_are_named(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    tables.write_table(pd.DataFrame({"image": ["a"], "part": ["train"]}), path)
    with pytest.raises(tables.Damaged, match=r"expected the columns split in it, got image, part\)"):
        tables.read_table(path, "image", "split")


def test_missing_arrays_are_named(tmp_path):
    tables.write_arrays(tmp_path / "arrays.npz", Y=np.zeros(3))
    with pytest.raises(tables.Damaged, match=r"expected the arrays sizes in it, got Y\)"):
        tables.read_arrays(tmp_path / "arrays.npz", "Y", "sizes")


SPARSE = {"data": [1.0, 2.0], "indices": [0, 2], "indptr": [0, 1, 2], "shape": [2, 3]}


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        ({"Y": np.zeros(3)}, "expected the arrays data, indices, indptr, shape in it"),
        ({"dense": np.zeros(3)}, "expected a matrix of numbers"),
        ({"dense": np.zeros((2, 2, 2))}, "expected a matrix of numbers"),
        ({"dense": np.array([["a"]])}, "expected a matrix of numbers"),
        (SPARSE | {"indices": [0, 9]}, ""),
        (SPARSE | {"indptr": [0, 2, 1]}, ""),
        (SPARSE | {"shape": [2]}, ""),
        (SPARSE | {"data": [1.0]}, ""),
    ],
)
def test_arrays_that_are_no_matrix_are_refused(tmp_path, stored, said):
    tables.write_arrays(tmp_path / "matrix.npz", **stored)
    with pytest.raises(tables.Damaged, match=rf"matrix\.npz is damaged \({said}"):
        tables.read_matrix(tmp_path / "matrix.npz")


def test_tables_one_below_the_other_must_have_the_same_columns(tmp_path):
    for i, columns in enumerate((["run", "auc"], ["run", "auc"], ["run", "eer"])):
        tables.write_table(pd.DataFrame([[i, 0.5]], columns=columns), tmp_path / f"run{i}.csv")
    paths = [tmp_path / f"run{i}.csv" for i in range(3)]
    assert tables.read_tables(paths[:2])["run"].tolist() == [0, 1]
    with pytest.raises(tables.Damaged, match=r"run2\.csv is damaged \(expected the columns run, auc, got run, eer"):
        tables.read_tables(paths)


def test_a_missing_file_is_missing_and_not_damaged(kept):
    path, read = kept
    path.unlink()
    with pytest.raises(FileNotFoundError):
        read(path)


def test_leftovers_of_a_killed_process_are_deleted_when_the_file_is_made(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    (tmp_path / f".table.{ended.pid}.part.csv").write_text("half a tab")
    tables.write_table(example(), tmp_path / "table.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.parametrize("name", [f".table.{os.getppid()}.part.csv", ".table.old.part.csv", ".other.1.part.csv"])
def test_other_files_stay(tmp_path, name):
    (tmp_path / name).touch()
    tables.write_table(example(), tmp_path / "table.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "table.csv"])


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
    """Limit files to a thousand bytes, which the system treats alike."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match=r"No space left on device|File too large"):
            write(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())

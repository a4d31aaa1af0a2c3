"""Tables and arrays on disk: readers return what was written, and a file is complete or absent."""

import resource
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jointsparse.checks import Misfit
from jointsparse.pipeline.provenance import tables

RNG = np.random.default_rng(0)
NUMBERS = np.concatenate([RNG.normal(size=50) * 10.0 ** RNG.integers(-300, 300, 50), [0.1, 1 / 3, np.pi, -0.0]])


class Pair(NamedTuple):
    W: np.ndarray
    words: np.ndarray


ARRAYS = {
    "W": RNG.normal(size=(3, 4)).astype(np.float32),
    "labels": RNG.random((5, 2)) < 0.5,
    "words": np.array(["dog", "Käfer"]),
    "fortran": np.asfortranarray(RNG.normal(size=(3, 4))),
    "number": np.array(7),
    "nothing": np.empty((0, 3)),
    "odd": np.array([np.nan, np.inf, -0.0]),
}
PAIR = Pair(ARRAYS["W"], ARRAYS["words"])
TABLES = {
    "every digit": pd.DataFrame(
        {
            "auc": NUMBERS,
            "n": np.arange(len(NUMBERS)) + 2**53,
            "capped": NUMBERS > 0,
            "caption": 'A "dog", on\ngrass – zwölf Käfer',
        }
    ),
    "missing and infinite numbers": pd.DataFrame({"p": [0.5, np.nan, np.inf, -np.inf]}),
    "words that look like missing values": pd.DataFrame({"word": ["nan", "null", "None", "NA", "dog"]}),
    "words that look like numbers": pd.DataFrame({"word": ["002", "1e5", "true"]}),
    "datasets called by a year": pd.DataFrame({"dataset": ["2024"], "study": ["1e5"]}),
    "no rows": pd.DataFrame({"word": ["dog"]})[:0],
}
FILES = {  # by file name: the content, the function that writes it, and the function that reads it
    **{
        f"{name}{suffix}": (table, lambda path, table: tables.write_table(table, path), tables.read_table)
        for name, table in TABLES.items()
        for suffix in (".csv", ".parquet")
    },
    "arrays.npz": (ARRAYS, lambda path, arrays: tables.write_arrays(path, **arrays), tables.read_arrays),
    "pair.npz": (
        PAIR,
        lambda path, pair: tables.write_arrays(path, **pair._asdict()),
        lambda path: tables.read_record(Pair, path),
    ),
    "pairs.npz": (
        PAIR,
        lambda path, pair: tables.write_records(path, {5: Pair(pair.words, pair.W), "a b": pair}),
        lambda path: tables.read_record(Pair, path, "a b"),
    ),
    "dense.npz": (np.arange(6.0).reshape(2, 3), tables.write_matrix, tables.read_matrix),
    "sparse.npz": (sparse.random(30, 50, 0.1, format="csr", rng=RNG), tables.write_matrix, tables.read_matrix),
    "wide.npz": (sparse.csr_matrix(([1.0], ([0], [2**16])), (2, 2**17)), tables.write_matrix, tables.read_matrix),
    "zeros.npz": (sparse.csr_matrix((30, 50), dtype=np.float32), tables.write_matrix, tables.read_matrix),
    "texts.csv": (
        pd.DataFrame({key: ["2009", "1.50"] for key in ("word", "radius_rule", "dataset", "study", "sample", "tag")}),
        lambda path, table: tables.write_table(table, path),
        tables.read_table,
    ),
    "array.npy": (np.arange(7), tables.write_array, tables.read_array),
    "mapped.npy": (ARRAYS["W"], tables.write_array, lambda path: tables.read_array(path, mapped=True)),
    "empty.npy": (ARRAYS["nothing"], tables.write_array, lambda path: tables.read_array(path, mapped=True)),
}


def described(value):
    """Return any content in a form that can be compared bit for bit."""
    if isinstance(value, dict | Pair):
        arrays = value if isinstance(value, dict) else value._asdict()
        return {name: described(array) for name, array in arrays.items()}
    if isinstance(value, pd.DataFrame):
        bits = {name: value[name].to_numpy().tobytes() for name in value.select_dtypes("float")}
        return value.to_csv(), list(map(str, value.dtypes)) if len(value) else None, bits
    array = value.toarray() if sparse.issparse(value) else value
    return getattr(value, "format", "dense"), array.dtype, array.shape, array.tobytes()


@pytest.fixture(params=FILES)
def kept(request, tmp_path):
    """A file of each kind in turn, its content, and the functions that write and read it."""
    content, write, read = FILES[request.param]
    write(tmp_path / "a" / request.param, content)  # creates the folder
    return tmp_path / "a" / request.param, content, write, read


def test_every_kind_of_file_is_read_back_bit_for_bit_and_rewritten_with_the_same_bytes(kept):
    path, content, write, read = kept
    assert described(read(path)) == described(content)
    before = path.read_bytes()
    write(path, content)
    assert path.read_bytes() == before


def test_a_truncated_table_is_refused_because_the_empty_line_at_its_end_is_missing(tmp_path):
    path = tmp_path / "table.csv"
    tables.write_table(pd.DataFrame({"n": [1, 2, 3], "auc": [0.5, 0.6, 0.7]}), path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(tables.Damaged, match=r"/table\.csv is damaged \(the empty line .+: delete it and run"):
            tables.read_table(path)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_missing_columns_are_named(tmp_path, suffix):
    path = tmp_path / f"file{suffix}"
    tables.write_table(pd.DataFrame({"image": ["a"], "part": ["train"]}), path)
    with pytest.raises(tables.Damaged, match=r" is damaged \(it must have the columns split, got image, part\): "):
        tables.read_table(path, "image", "split")


def test_pickles_are_neither_written_nor_read(tmp_path):
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        tables.write_array(tmp_path / "array.npy", np.array([{}], dtype=object))
    np.savez(tmp_path / "arrays.npz", words=np.array([print], dtype=object))
    with pytest.raises(ValueError, match="Object arrays cannot be loaded"):
        tables.read_arrays(tmp_path / "arrays.npz")


@pytest.mark.parametrize("kept", ["arrays.npz", "every digit.csv"], indirect=True)
def test_a_full_disk_is_an_error_that_leaves_the_old_file_unchanged(kept):
    """A limit on file sizes stands in for a full disk."""
    path, content, write, _ = kept
    whole, before = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(OSError, match=r"No space left on device|File too large"):
            write(path, content)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [file.read_bytes() for file in path.parent.iterdir()] == [whole]


def test_a_new_array_has_its_room_on_the_disk(tmp_path):
    array = tables.new_array(tmp_path / "new.npy", (1000, 10))
    assert (array.dtype, array.shape) == (np.float32, (1000, 10))
    assert (tmp_path / "new.npy").stat().st_blocks * 512 >= array.nbytes


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_features_of_shards_come_in_the_order_of_the_images(tmp_path, form):
    images, X = ["a", "b", "c", "d"], np.arange(8.0).reshape(4, 2)
    for file, rows in (("1.npz", [3, 0]), ("2.npz", [2, 1])):
        part = form(X[rows])
        shard = tables.parts_of(part, "tree/") if sparse.issparse(part) else {"tree/dense": part}
        tables.write_arrays(tmp_path / file, names=np.array(images)[rows], **shard)
    files = [str(tmp_path / file) for file in ("1.npz", "2.npz")]
    whole = [tables.read_features(files, "tree"), np.empty_like(X)]
    for rows, block in tables.read_blocks(files, "tree", images):
        whole[1][rows] = sparse.csr_matrix(block).toarray()
    for got in whole:
        np.testing.assert_array_equal(sparse.csr_matrix(got).toarray(), X)
    for given, shards, said in ((images[:3], files, "only images of the dataset"), (images, files[:1], "all 4 images")):
        with pytest.raises(Misfit, match=said):
            list(tables.read_blocks(shards, "tree", given))


def test_features_in_half_precision_are_read_in_blocks_of_single_precision(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 2)
    X = np.arange(10.0).reshape(5, 2).astype(np.float16)
    tables.write_matrix(tmp_path / "X.npz", X)
    blocks = [X for _, X in tables.read_blocks(str(tmp_path / "X.npz"), None, [*"abcde"])]
    assert [block.dtype for block in blocks] == [np.float32] * 3
    np.testing.assert_array_equal(np.concatenate(blocks), X)

"""Features and labels in files of the user: formats that are read, errors, and unknown labels."""

import io
import json
import pickle
import tracemalloc
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from common import rounding
from PIL import Image
from pyarrow import parquet
from scipy import sparse

from jointsparse import metrics
from jointsparse.estimators.classifier import platt_scaling
from jointsparse.estimators.search import JointSparseClassifierCV
from jointsparse.pipeline import tasks
from jointsparse.pipeline.app.columns import roles_of
from jointsparse.pipeline.datasets import arrays, packed, records, tabular
from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.pipeline.models import annotator, final
from jointsparse.pipeline.models.probabilities import probabilities
from jointsparse.pipeline.provenance import tables
from jointsparse.pipeline.provenance.tables import read_matrix
from jointsparse.pipeline.scores.learnt import words_learnt
from jointsparse.pipeline.words import choose_words, names_of, one_label

X = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32) * [[1, 1, 0]] + np.eye(8, 3, dtype=np.float32)
X = X.astype(np.float32)
Y = np.array([[1, 0, 1, 0, 1, 0, 1, np.nan], [0, 1, 1, 0, 0, np.nan, 1, 1]]).T
TABLE = pd.DataFrame(Y, columns=["cat", "dog"])
TAGS = [[name for name, has in zip(TABLE, row, strict=True) if has == 1] for row in Y]
NAMED = pd.DataFrame(X, columns=["a", "b.c", "é"])


WRITTEN = {name: f"{name}.parquet" for name in ("images", "captions", "left_out")} | {"features": "features.npz"}


def of(write, *values, **options):
    """The bytes that a function writes into a file."""
    file = io.BytesIO()
    write(file, *values, **options)
    return file.getvalue()


FEATURES = {
    "x.npy": of(np.save, X),
    "fortran.npy": of(np.save, np.asfortranarray(X.astype(">f8"))),
    "one.npz": of(np.savez, X),
    "sparse.npz": of(sparse.save_npz, sparse.coo_matrix(X)),
    "x.parquet": NAMED.to_parquet(),
    "x.csv": b"\xef\xbb\xbf" + NAMED.to_csv(index=False, sep=";").encode(),
}
LABELS = {
    "y.npy": of(np.save, Y),
    "y.parquet": TABLE.astype("boolean").to_parquet(),
    "y.csv": TABLE.to_csv(index=False).encode(),
    "text.csv": TABLE.replace({1: "TRUE", 0: "False"}).to_csv(index=False, sep="\t").encode(),
    "tags.csv": ("tags\n" + "\n".join(map("; ".join, TAGS)) + "\n").encode(),
    "lists.parquet": pd.DataFrame({"tags": TAGS}).to_parquet(),
}


def read(folder, features="x.npy", labels="y.csv", files=(), **options):
    """Write and read the files with these names, with all samples for training."""
    for name, content in (FEATURES | LABELS | dict(files)).items():
        (folder / name).write_bytes(content)
    if labels in ("tags.csv", "lists.parquet", "tags.parquet"):
        options = {"tags": "tags"} | options
    return arrays.read(folder, features=features, labels=labels, **{"fractions": {"train": 1.0}} | options)


def kept_features(samples, folder):
    """The features as the next stage reads them."""
    samples.write(**{name: folder / file for name, file in WRITTEN.items()})
    return read_matrix(folder / "features.npz")


@pytest.mark.parametrize(
    ("features", "labels"), [(name, "y.csv") for name in FEATURES] + [("x.npy", name) for name in LABELS]
)
def test_every_format_gives_the_same_samples(tmp_path, features, labels):
    samples = read(tmp_path, features, labels)
    kept_X = kept_features(samples, tmp_path)
    np.testing.assert_array_equal(kept_X.toarray() if sparse.issparse(kept_X) else kept_X, X, strict=True)
    assert arrays.feature_names(tmp_path, features=features, labels=labels) == (
        list(NAMED) if features in ("x.parquet", "x.csv") else []
    )
    names = {"label 1": "cat", "label 2": "dog"}
    captions = samples.captions.assign(caption=samples.captions["caption"].replace(names))
    known = captions[captions.get("known", pd.Series(True, captions.index))]
    assert [known["caption"][known["image"] == f"row {i}"].tolist() for i in range(1, 9)] == TAGS
    if "known" in captions:
        assert captions[~captions["known"]].iloc[:, :2].to_numpy().tolist() == [["row 6", "dog"], ["row 8", "cat"]]


def test_large_numbers_stay_distinct_as_tags(tmp_path):
    large = pd.array([0, 2**53, 2**53 + 1, None] * 2, dtype="Int64")
    lists = [[0], [2**53, None], [2**53 + 1], None] * 2
    for tags in (large, lists):
        files = {"tags.parquet": pd.DataFrame({"tags": tags}).to_parquet()}
        captions = read(tmp_path, labels="tags.parquet", files=files, tags="tags").captions
        assert captions["caption"].tolist() == ["0", "9007199254740992", "9007199254740993"] * 2
        assert captions["image"].tolist() == [f"row {i}" for i in (1, 2, 3, 5, 6, 7)]


BOTH = {"bär", 'it\'s "a"'}
LISTS = {  # by form: a cell, and the labels that it lists
    "JSON": (json.dumps(["bär", 'it\'s "a"', None]), BOTH),
    "Python": (str(["bär", 'it\'s "a"', None]), BOTH),
    "NumPy": (str(np.array(["bär", 'it\'s "a"', None], dtype=object)), BOTH),
    "array": (repr(np.array(["bär", 'it\'s "a"'])), BOTH),
    "objects": ("array(['bär', 'it\\'s \"a\"'], dtype=object)", BOTH),
    "frozenset": (repr(frozenset(BOTH)), BOTH),
    "empty": ("set()", set()),
    "in brackets": ("('bär')", {"bär"}),
    "missing values inside words": (str(["null model", "nan bread", float("nan")]), {"null model", "nan bread"}),
    "backslash": (str(["a\\b"]), {"a\\b"}),
    "numbers": (str([1.0, np.int64(2)]), {"1", "2"}),
    "not a list": ("a (b); set(c)", {"a (b)", "set(c)"}),
    "invisible": ("big\u00a0c\u200bat;big cat", {"big cat"}),
}


@pytest.mark.parametrize("form", LISTS)
def test_a_list_written_as_text_is_read_as_its_items(tmp_path, form):
    cell, expected = LISTS[form]
    table = pd.DataFrame({"tags": [cell, *["dog"] * 7]}).to_csv(index=False).encode()
    captions = read(tmp_path, labels="tags.csv", files={"tags.csv": table}, tags="tags").captions
    assert set(captions["caption"][captions["image"] == "row 1"]) == expected


@pytest.mark.parametrize("cell", [str({"a": 1}), str([["a"]]), "[a, b]", r"['a\d']", "['a', b]"])
def test_a_malformed_list_of_tags_is_refused(tmp_path, cell):
    table = pd.DataFrame({"tags": [cell, *["dog"] * 7]}).to_csv(index=False).encode()
    with pytest.raises(ValueError, match=r"must hold tags or a list of tags in each cell, got .*: write"):
        read(tmp_path, labels="tags.csv", files={"tags.csv": table}, tags="tags")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tags.csv", b"tags\n1\n2.0\n3.\nNA\nnull\nNone\n3\n2\n"),
        ("tags.parquet", pd.DataFrame({"tags": [1, 2, 3, np.nan, None, None, 3, 2]}).to_parquet()),
        (
            "tags.parquet",
            pd.DataFrame({"tags": [*map(Decimal, ("1.0", "2.0", "3")), *[None] * 3, *map(Decimal, "32")]}).to_parquet(),
        ),
        ("tags.parquet", pd.DataFrame({"tags": [b"1", b"2", b"3", b"nan", b"NA", b"", b"3", b"2"]}).to_parquet()),
        ("tags.npy", of(np.save, np.array(["1", "2", "3", np.nan, "None", "N/A", "3", "2"]))),
        ("tags.npy", of(np.save, np.array([b"1", b"2", b"3", b"nan", b"None", b"", b"3", b"2"]))),
    ],
)
def test_all_spellings_of_a_number_name_the_same_class_and_a_missing_value_is_no_class(tmp_path, name, content):
    tags = "label 1" if name.endswith(".npy") else "tags"
    captions = read(tmp_path, labels=name, files={name: content}, tags=tags).captions
    assert captions["caption"].tolist() == ["1", "2", "3", "3", "2"]


def test_missing_values_among_truth_values_are_unknown_labels(tmp_path):
    table = b"cat,dog\nTRUE,1\nfalse,0\nNone,NA\nn/a,1.0\n1,0\n1,0\n1,0\n0,0\n"
    captions = read(tmp_path, labels="t.csv", files={"t.csv": table}).captions
    assert captions[~captions["known"]].iloc[:, :2].to_numpy().tolist() == [
        ["row 3", "cat"],
        ["row 3", "dog"],
        ["row 4", "cat"],
    ]


IDS = pd.DataFrame({"id": [f"{i:02}" for i in range(8)], "note": list("abcdefgh")})


@pytest.mark.parametrize("options", [{"index": "id", "ignore": ["note"]}, {"ignore": ["id"], "text": "note"}])
def test_a_column_that_features_and_labels_share_must_be_the_same_in_each_row(tmp_path, options):
    features = NAMED.join(IDS).to_csv(index=False).encode()
    for rows in (IDS, IDS[::-1].reset_index(drop=True), IDS.replace({"00": "0"})):
        files = {"x.csv": features, "y.csv": TABLE.join(rows).to_csv(index=False).encode()}
        if rows["note"][0] == "a":
            np.testing.assert_array_equal(read(tmp_path, "x.csv", files=files, **options).X, X)
        else:
            name = "id" if "index" in options else "note"
            with pytest.raises(ValueError, match=rf"same '{name}' in each row, got .* in row 1: put the rows"):
                read(tmp_path, "x.csv", files=files, **options)


EMBEDDED = {
    "NumPy": [str(row) for row in X],
    "NumPy 2": [str(list(row)) for row in X],
    "tuple": [str(tuple(row)) for row in X.tolist()],
    "JSON": [json.dumps(row) for row in X.tolist()],
}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("form", EMBEDDED)
def test_an_embedding_may_be_written_as_text(tmp_path, form, kind):
    table = pd.DataFrame({"e": EMBEDDED[form]})

    def content():
        return table.to_csv(index=False).encode() if kind == "csv" else table.to_parquet()

    np.testing.assert_allclose(read(tmp_path, f"e.{kind}", files={f"e.{kind}": content()}).X, X, rtol=1e-6)
    table.loc[0, "e"] = None
    with pytest.raises(ValueError, match=r"list of 3 numbers in each row of the column 'e', got .* in row 1"):
        read(tmp_path, f"e.{kind}", files={f"e.{kind}": content()})


def test_files_by_split_belong_together_whatever_the_order_of_the_splits(tmp_path):
    parts = {"train": slice(4), "test": slice(4, 8)}
    for split, rows in parts.items():
        np.save(tmp_path / f"{split}.npy", X[rows])
        TABLE[rows].to_csv(tmp_path / f"{split}.csv", index=False)
    features, labels = {split: f"{split}.npy" for split in parts}, {split: f"{split}.csv" for split in [*parts][::-1]}
    samples = arrays.read(tmp_path, features=features, labels=labels)
    np.testing.assert_array_equal(samples.X, X)
    pd.testing.assert_frame_equal(samples.captions, read(tmp_path).captions)


def test_columns_may_name_samples_splits_pictures_and_text(tmp_path):
    Image.new("RGB", (9, 9)).save(tmp_path / "a.png")
    more = {
        "id": list("01234567"),
        "part": ["fit", "eval"] * 4,
        "file": ["a.png", "", "../b.png", "c.png"] * 2,
        "say": "x" * 400,
    }
    files = {"more.csv": TABLE.assign(**more, rare=0).to_csv(index=False).encode(), "names.txt": b"one\ntwo\nthree\n"}
    options = {"index": "id", "split": "part", "pictures": "file", "text": "say", "names": "names.txt"}
    samples = read(tmp_path, labels="more.csv", files=files, split_names={"train": "fit", "test": "eval"}, **options)
    assert isinstance(samples.X, np.memmap)
    assert samples.images["image"].tolist() == more["id"]
    assert set(samples.images["split"][1::2]) == {"test"}
    assert samples.images["picture"].tolist() == ["a.png", "", "", ""] * 2
    assert set(samples.images["text"].map(len)) == {1}
    assert dict(samples.left_out.to_numpy()).keys() == {"rare (label)", "../b.png (picture)", "c.png (picture)"}
    assert arrays.feature_names(tmp_path, features="x.npy", labels="y.csv", names="names.txt") == [
        "one",
        "two",
        "three",
    ]
    assert arrays.thumbnail("a.png", tmp_path, 5).shape == (5, 5, 3)


CSV = "a,b.c,é\n1,2,3\n4,{},6\n"
HEAD = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 3), }"
WRONG = {  # by message: name and content of a file of features or labels
    "got 1 missing, infinite or too large for float32 in column 'b.c' (1 such": (
        "x.csv",
        CSV.format("").encode(),
    ),
    "got 1 missing, infinite or too large for float32 in column 'b.c'": ("x.csv", CSV.format("-inf").encode()),
    "got 1 missing, infinite or too large for float32 in column 3": (
        "x.npy",
        of(np.save, X + np.diag([0, 0, 1e300])[[0, 1, 2, 0, 1, 0, 1, 0]]),
    ),
    "got 1 missing, infinite or too large for float16 in column 2": (
        "x.npy",
        of(np.save, (X + np.diag([0, np.inf, 0])[[0, 1, 2, 0, 2, 0, 2, 0]]).astype(np.float16)),
    ),
    "got string in column 'b.c'": ("x.csv", CSV.format("much").encode()),
    "got large_string in column 'é'": ("x.parquet", NAMED.assign(é="x").to_parquet()),
    "Object arrays cannot": ("x.npz", of(np.savez, X.astype(object))),
    "Python objects in dtype": ("x.npy", of(np.save, X.astype(object))),
    "x.npy must be a valid .npy file": ("x.npy", pickle.dumps(X)),
    "x.npz must be a valid .npz file": ("x.npz", FEATURES["sparse.npz"][:-9]),
    "x.parquet must be a valid .parquet file": ("x.parquet", FEATURES["x.parquet"][:-9]),
    "but reading it failed: ValueError": ("x.npy", b"\x93NUMPY\x01\x00v\x00" + HEAD.ljust(117).encode() + b"\n"),
    "must be UTF-8 text, got byte 0xe9 in line 1": ("x.csv", "a,é\n1,2\n".encode("latin-1")),
    "numbers are accepted as names only if consecutive": ("x.csv", b"5,3,7\n1,2,3\n"),
    "but the column 'sea' also holds 'sea'": ("y.csv", b"sea\ncat\nsea\n"),
    "y.csv must have a header with a different name for each column, got ['1'] (pandas": ("y.csv", b"1,0\n0,1\n"),
    "must begin with a header, got the comment '# made by hand'": ("y.csv", b"# made by hand\ncat,dog\n1,0\n"),
    "must have a header with a different name for each column, got ['a']": ("x.csv", b"a,a\n1,2\n"),
    "got [''] (pandas writes": ("x.csv", NAMED.to_csv().encode()),
    "Expected 2 columns, got 3": ("x.csv", b"a,b\n1,2,3\n"),
    "must hold a matrix of numbers, got an array of shape (8,) and type float32": ("x.npy", of(np.save, X[:, 0])),
    "must end in .npy, .npz, .parquet or .csv, got '.txt'": ("x.txt", b"1 2"),
    "y.csv must have 7 rows, one for each row of": ("x.npy", of(np.save, X[:7])),
    "got '2' in row 3 of 'cat': say what the value means with": (
        "y.csv",
        TABLE.assign(cat=range(8)).to_csv(index=False).encode(),
    ),
    "hold 1, true, 0, false or an empty cell in each label column, got 'maybe' in row 1 of 'dog'": (
        "y.csv",
        b"cat,dog\n1,maybe\n",
    ),
    "must hold at least one row, got only the columns ": ("y.npy", of(np.save, Y[:, :0])),
    "text or whole numbers as tags, got 9007199254740992.0": (
        "tags.parquet",
        pd.DataFrame({"tags": 8 * [[2.0**53]]}).to_parquet(),
    ),
}


@pytest.mark.parametrize("said", WRONG)
def test_the_error_about_a_wrong_file_says_what_is_wrong(tmp_path, said):
    name, content = WRONG[said]
    with pytest.raises(ValueError) as error:
        read(tmp_path, files={name: content}, **{"features" if name.startswith("x") else "labels": name})
    assert said in str(error.value)


def _parquet(**columns):
    buffer = io.BytesIO()
    parquet.write_table(pa.table(columns), buffer, compression="zstd")
    return buffer.getvalue()


N = 60_000
BOMBS = {  # files that unpack to much more than their size
    "array.npz": of(np.savez_compressed, np.zeros((800, 800))),
    "rows.npz": of(sparse.save_npz, sparse.coo_matrix(([1.0], ([0], [0])), (10**8, 3))),
    "columns.npz": of(sparse.save_npz, sparse.csr_matrix(([1.0], ([0], [0])), (3, 10**8))),
    "numbers.parquet": _parquet(a=np.zeros(20 * N), b=np.zeros(20 * N)),
    "flags.parquet": _parquet(a=np.zeros(20 * N, bool)),
    "lists.parquet": _parquet(a=[[0.5] * N] * 20),
    "nothing.parquet": _parquet(a=pa.nulls(20 * N, pa.float32())),
    "text.parquet": _parquet(tags=["x" * N] * 200),
    "bytes.parquet": _parquet(tags=[b"x" * N] * 200),
    "fixed.parquet": _parquet(tags=pa.array([b"x" * N] * 200, pa.binary(N))),
    "texts.parquet": _parquet(tags=[["x" * N, "y"]] * 200),
    "records.parquet": _parquet(tags=[{"a": "x" * N, "b": 1}] * 200),
    "embedding.parquet": _parquet(a=[f"[{'0.25, ' * 5000}]"] * 1000),
}
READERS = {
    "features": arrays.read_features,
    "labels": lambda path: arrays.read(path.parent, features="x.npy", labels=path.name),
    "init": lambda path: roles_of(path.parent, path.name, "y.csv", {}),
    "init, labels": lambda path: roles_of(path.parent, "x.npy", path.name, {}),
}


@pytest.mark.parametrize(
    ("name", "reader"), [(name, reader) for name in BOMBS for reader in READERS if reader == "features" or ".p" in name]
)
def test_a_file_that_unpacks_to_too_much_is_refused_before_it_is_read(tmp_path, monkeypatch, name, reader):
    monkeypatch.setattr(packed, "SMALL_BYTES", 2**16)
    monkeypatch.setattr(parquet.ParquetFile, "read", None)
    (tmp_path / name).write_bytes(BOMBS[name])
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "y.csv").write_text("cat\n1\n0\n", encoding="utf-8")
    with pytest.raises(ValueError) as error:
        READERS[reader](tmp_path / name)
    said = f"{name} must unpack to at most 200 times its {len(BOMBS[name]):,} bytes, got "
    assert said in str(error.value)


def test_a_file_of_few_repeated_values_is_read(tmp_path):
    table = {"x.parquet": _parquet(a=np.zeros(10**5)), "y.parquet": _parquet(tags=["cat", "dog"] * (10**5 // 2))}
    for name, content in table.items():
        (tmp_path / name).write_bytes(content)
    assert arrays.read(tmp_path, features="x.parquet", labels="y.parquet", tags="tags").X.shape == (10**5, 1)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_a_large_array_is_never_in_memory_as_a_whole(tmp_path, monkeypatch, dtype):
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 10)
    large = np.random.default_rng(0).normal(size=(400, 5000)).astype(dtype)
    np.save(tmp_path / "x.npy", large)
    np.save(tmp_path / "y.npy", np.eye(400, 2, dtype=int))
    tracemalloc.start()
    kept_X = kept_features(arrays.read(tmp_path, features="x.npy", labels="y.npy"), tmp_path)
    blocks = [X.dtype for _, X in tables.read_blocks(str(tmp_path / "features.npz"), None, range(400))]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < large.nbytes / 3
    assert set(blocks) == {np.dtype(np.float32)}
    np.testing.assert_array_equal(kept_X, large.astype(np.float16 if dtype == np.float16 else np.float32), strict=True)


def test_parts_in_float16_are_joined_in_float16_unless_one_has_another_dtype(tmp_path):
    half = X.astype(np.float16)
    files = {"a.npy": of(np.save, half[:3]), "b.npy": of(np.save, half[3:]), "c.npy": of(np.save, X[3:].astype(float))}
    for second, expected in (("b.npy", half), ("c.npy", np.concatenate([half[:3], X[3:]]))):
        joined = read(tmp_path, ["a.npy", second], files=files)
        np.testing.assert_array_equal(kept_features(joined, tmp_path), expected, strict=True)
        again = Samples.read(**{name: tmp_path / file for name, file in WRITTEN.items() if name != "left_out"})
        np.testing.assert_array_equal(again.X.toarray(), expected.astype(np.float32), strict=True)


def test_a_sample_with_an_unknown_label_does_not_count_for_that_task():
    rng = np.random.default_rng(1)
    scores, labels = rng.normal(size=(60, 2)), rng.integers(-1, 2, (60, 2)).astype(np.int8)
    known = np.flatnonzero(labels[:, 0] >= 0)
    alone = scores[known, :1], labels[known, :1] == 1
    for statistic in metrics.STATISTICS.values():
        counts = rng.integers(3, size=(4, 60))
        got, expected = statistic.resampled(scores, labels, counts), statistic.resampled(*alone, counts[:, known])
        np.testing.assert_array_equal(got[:, 0], expected[:, 0])
    rows = pd.DataFrame({"run": 1, "n": 5, "method": "svm-l2", "word": list("ab"), "positives": 9, "auc": 0.7})
    got, expected = (
        words_learnt(rows.assign(validation_word=False, n_features=3), n) for n in ({"a": 40, "b": 60}, 40)
    )
    assert got[["low", "p"]].iloc[0].tolist() == expected[["low", "p"]].iloc[0].tolist()


def test_unknown_labels_are_in_no_training_set():
    images = pd.DataFrame({"image": list("abcdefgh"), "split": ["train"] * 5 + ["validation"] + ["test"] * 2})
    has = [("a", "cat"), ("b", "cat"), ("c", "cat"), ("g", "cat"), ("d", "dog"), ("h", "dog"), ("f", "dog")]
    captions = pd.DataFrame(has, columns=["image", "caption"]).assign(known=np.arange(7) != 2)
    table, labels = choose_words(images, captions, n_words=2, smallest_size=1, split_captions=False)
    assert table.drop(columns=["forms", "validation", "warning"]).to_numpy().tolist() == [
        ["cat", 3, 2, 1, 1],
        ["dog", 3, 1, 1, 0],
    ]
    assert labels.T.tolist() == [[1, 1, -1, 0, 0, 0, 1, 0], [0, 0, 0, 1, 0, 1, 0, 1]]
    assert names_of(table, labels) == ["cat", "dog"]
    draw = partial(tasks.draw, words=["cat", "dog"], sizes=[2], n_validation_words=1, rng=np.random.default_rng(0))
    drawn, sets = draw(labels, images["split"].replace("test", "validation").to_numpy())
    assert drawn.Y[0].T.tolist() == [[1, 1, 0, -1, -1, 0, 0, 0], [-1, -1, -1, 1, -1, 0, 0, 0]]
    assert sets[["positives", "negatives"]].to_numpy().tolist() == [[2, 2], [1, 4]]
    with pytest.raises(ValueError, match="label must be known for every sample, got 'cat'"):
        one_label(images, captions, "cat")


@pytest.fixture(scope="module")
def kept():
    """A saved model of four features, the features that it was fitted on, and their labels, some of them unknown."""
    rng = np.random.default_rng(2)
    features = rng.normal(size=(120, 4)).astype(np.float32)
    has = features[:, :2] + 0.5 * rng.normal(size=(120, 2)) > 0
    labels = np.where(rng.random((120, 2)) < 0.2, -1, has).astype(np.int8)
    fitted = final.calibrated(final.fit(features, labels, ["cat", "dog"], norm="l1inf", scales={}), features)
    numbers = final.table(fitted, final.tested(fitted.scores, labels, n_resamples=2, seed=0), labels == 1, "l1inf")
    origin = {"names": [str(i) for i in range(120)], "columns": list("abcd"), "dataset": "drawn"}
    return annotator.annotator(fitted, numbers, features, **origin), features, labels, numbers


def test_a_final_fit_learns_only_from_known_labels(kept):
    model, features, labels, numbers = kept
    answers = JointSparseClassifierCV("l1inf", cv=final.N_FOLDS).fit(features, np.where(labels < 0, np.nan, labels))
    np.testing.assert_allclose(model[-1].coef_, answers.coef_)
    assert numbers["images"].tolist()[:2] == (labels == 1).sum(axis=0).tolist()
    known = labels[:, 0] >= 0
    f, y = model.known_scores_[known, :1].astype(float), labels[known, :1]
    assert numbers["auc"][0] == metrics.auc(f, y)[0]
    calibration = platt_scaling(f, np.where(y == 1, 1, -1), np.ones_like(f))[0]
    np.testing.assert_allclose(model[-1].calibration_[0], calibration, rtol=1e-4)  # known scores are float32


def test_a_saved_model_annotates_the_rows_of_a_table(kept, tmp_path):
    model, features, _, _ = kept
    table = pd.DataFrame(features, columns=list("abcd"))[list("dacb")].assign(more="text")
    np.save(tmp_path / "new.npy", features)
    table.to_parquet(tmp_path / "new.parquet")
    np.save(tmp_path / "half.npy", features.astype(np.float16))
    np.save(tmp_path / "wide.npy", features.astype(np.float16).astype(float))
    np.save(tmp_path / "many.npy", np.eye(5))
    table[["a", "c"]].to_parquet(tmp_path / "few.parquet")
    got = annotator.annotate_rows(model, [tmp_path / "new.parquet"], n_words=2)
    pd.testing.assert_frame_equal(got, annotator.annotate_rows(model, [tmp_path / "new.npy"], n_words=2))
    half, wide = (annotator.annotate_rows(model, [tmp_path / name]) for name in ("half.npy", "wide.npy"))
    pd.testing.assert_frame_equal(half, wide)
    assert got["row"].tolist()[::2] == [f"row {i}" for i in range(1, 121)]
    both = annotator.annotate_rows(model, [tmp_path / "new.npy", tmp_path / "new.parquet"], n_words=2)
    files = np.repeat([tmp_path / "new.npy", tmp_path / "new.parquet"], 240)
    assert both["row"].tolist() == [f"{file} {row}" for file, row in zip(files, [*got["row"]] * 2, strict=True)]
    first = probabilities(model, model.decision_function(features[:1]))[0]
    # Scores of one row, and of all rows together. The slope of the logistic function is 1/4 at most.
    terms, weights = np.append(features[:1], [[1]], axis=1), np.vstack([model[-1].coef_.T, model[-1].intercept_])
    atol = (rounding(terms, weights) * abs(model[-1].calibration_[:, 0]) / 4).max()
    np.testing.assert_allclose(got["probability"][:2], sorted(first, reverse=True), rtol=0, atol=atol)
    for name, said in (("few.parquet", r"lacks the columns \['b', 'd'\]"), ("many.npy", "must have 4 .*, got 5")):
        with pytest.raises(ValueError, match=said):
            annotator.annotate_rows(model, [tmp_path / name])


def test_tables_that_are_read_in_several_blocks_give_the_same_samples(tmp_path, monkeypatch, rng):
    monkeypatch.setattr(tabular, "ENTRIES_AT_ONCE", 8)
    monkeypatch.setattr(tabular, "COLUMNS_AT_ONCE", 2)
    n = 60_000  # the table of text is larger than a block of Arrow, 1 MiB
    expected = rng.normal(size=(n, 5)).round(3).astype(np.float32)
    expected[:50_000, 4] = 1  # integers in the first block
    named = pd.DataFrame(expected, columns=list("abcde"))
    named.to_csv(tmp_path / "x.csv", index=False, float_format="%g")
    named[:100].to_parquet(tmp_path / "x.parquet", row_group_size=30)
    pd.DataFrame({"e": expected.tolist(), "f": expected[:, 0]})[:100].to_parquet(tmp_path / "lists.parquet")
    for name in ("x.csv", "x.parquet"):
        got, _ = tabular.read_features(tmp_path / name)
        np.testing.assert_array_equal(got, expected[: len(got)])
    got, _ = tabular.read_features(tmp_path / "lists.parquet")
    np.testing.assert_array_equal(got, np.column_stack([expected, expected[:, 0]])[:100])


def test_a_list_of_another_length_in_a_later_block_is_named_with_its_row(tmp_path, monkeypatch):
    monkeypatch.setattr(tabular, "ENTRIES_AT_ONCE", 8)
    lists = [[0.0, 1.0]] * 98 + [[0.0], [0.0, 1.0]]
    pd.DataFrame({"e": lists}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"a list of 2 numbers in each row of the column 'e', got \[0\.0\] in row 99"):
        tabular.read_features(tmp_path / "x.parquet")


def test_of_a_table_with_features_and_labels_only_the_labels_become_texts(tmp_path, monkeypatch):
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(cat=1, dog=[0, 1] * (len(X) // 2)).to_parquet(
        tmp_path / "t.parquet"
    )
    kept = records.read
    seen = []
    monkeypatch.setattr(records, "read", lambda *given: seen.append(kept(*given)) or seen[-1])
    samples = arrays.read(tmp_path, features="t.parquet", labels="t.parquet", columns=["cat", "dog"])
    assert samples.X.shape == X.shape and [set(columns) for columns in seen] == [{"cat", "dog"}]

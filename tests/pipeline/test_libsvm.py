"""Files in the text format of LIBSVM: the same numbers as scikit-learn, and a clear error for every wrong line."""

import bz2
import gzip
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from jointsparse.pipeline.datasets import libsvm

GOOD = b"3,17 1:0.5 4:-2e-1\n 2:1\n17 1:.25 3:3.\t5:1e3\n3\n-1,0 5:+7 # a comment\n"
PACK = {"": bytes, ".gz": lambda content: gzip.compress(content, mtime=0), ".bz2": bz2.compress}


def read(folder, content, name="data", **options):
    """Read a file as training data only, so that the rows keep their order."""
    (folder / name).write_bytes(content)
    return libsvm.read(folder, train=name, **({"fractions": {"train": 1.0}} | options))


def labels_of(samples):
    given = samples.captions.groupby("image")["caption"].agg(set).to_dict()
    return [given.get(image, set()) for image in samples.images["image"]]


@pytest.mark.parametrize("packing", PACK)
def test_a_good_file_gives_known_numbers(tmp_path, packing):
    samples = read(tmp_path, PACK[packing](GOOD), f"data{packing}")
    expected = [[0.5, 0, 0, -0.2, 0], [0, 1, 0, 0, 0], [0.25, 0, 3, 0, 1000], [0, 0, 0, 0, 0], [0, 0, 0, 0, 7]]
    np.testing.assert_array_equal(samples.X.toarray(), np.array(expected, dtype=np.float32), strict=True)
    assert labels_of(samples) == [{"3", "17"}, set(), {"17"}, {"3"}, {"-1", "0"}]
    assert samples.left_out.empty
    assert (samples.X.format, samples.X.indices.dtype) == ("csr", np.int32)


@pytest.mark.parametrize("index_base", [0, 1])
def test_files_that_scikit_learn_writes_are_read(tmp_path, index_base):
    rng = np.random.default_rng(index_base)
    X = sparse.random(60, 40, density=0.2, rng=rng, format="lil")
    X[0, 39] = X[1, 0] = 1e-30  # the first and the last feature occur
    Y = (rng.random((60, 7)) < 0.2).astype(int)
    path = tmp_path / "plain"
    dump_svmlight_file(X.tocsr(), Y, str(path), zero_based=not index_base, multilabel=True, comment="made by a test")
    samples = read(tmp_path, path.read_bytes(), index_base=index_base)
    np.testing.assert_allclose(samples.X.toarray(), X.toarray(), rtol=1e-6)
    assert labels_of(samples) == [{str(k) for k in np.flatnonzero(y)} for y in Y]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"0.5 1:0.5", "whole numbers as labels, from -9007199254740991 to 9007199254740991, got [0.5]"),
        (b"9007199254740992 1:0.5", "got [9007199254740992.0]"),
        (b"1e999,1 1:0.5", "got [1.0, inf]"),
        (b"3,,4 1:0.5", "expected labels such as 3,17 or a space, then features such as 12:0.5 with increasing"),
        (b"nan 1:0.5", "got b'nan 1:0.5': b'nan' cannot be part of a number"),
        (b"\xef\xbb\xbf3 1:0.5", r"b'\xef\xbb\xbf' cannot be part of a number"),
        (b"3 qid:4 1:0.5", "b'qid' cannot be part of a number"),
        (b"3 1:0.5 2", "got b'3 1:0.5 2'"),
        (b"3 1:0.5 :2", "got b'3 1:0.5 :2'"),
        (b"3 1:0.5 2:1_0", "b'_' cannot be part of a number"),
        (b"3 1:1\r2:1", r"b'\r' cannot be part of a number"),
        (b"3 1:1e39", "indices from 1 to 2147483647 and values that are finite in float32, got 1:inf"),
        (b"3 0:0.5 2:1", "increasing indices from 1, got b'3 0:0.5 2:1'"),
        (b"3 1:1 2147483648:1", "increasing indices from 1"),
        (b"3 1:1 4:1 4:1", "increasing indices from 1"),
        (b"3 1:" + b"1" * 10**5 + b"x", "b'x' cannot be part of a number"),
    ],
)
def test_the_error_about_a_wrong_line_names_the_line(tmp_path, line, expected):
    begin, rest = re.escape(f"{tmp_path / 'data'} line 6: expected "), re.escape(expected)
    with pytest.raises(ValueError, match=f"^(?={begin}).*{rest}") as error:
        read(tmp_path, GOOD + line + b"\n" + GOOD)
    assert len(str(error.value)) < len(str(tmp_path)) + 400


def test_samples_are_named_by_line_and_empty_lines_are_listed(tmp_path):
    samples = read(tmp_path, b"# a header\n+3 1:1 9:-0.0\n\n \t \n 2:1\r\n1.0,5,01 1:1\n   # only a comment\n")
    by_name = dict(zip(samples.images["image"], labels_of(samples), strict=True))
    assert by_name == {"train:2": {"3"}, "train:5": set(), "train:6": {"1", "5"}}
    assert samples.left_out["item"].tolist() == ["train:3", "train:4", "train:6 (repeated labels)"]
    assert (samples.X.shape, samples.X.nnz) == ((3, 9), 3)


def test_the_file_of_topics_names_the_labels(tmp_path):
    (tmp_path / "topics.txt").write_text("3 corn 10 5\n\n17\tblé extra\n-1 nothing\n0 zero\n", encoding="utf-8")
    samples = read(tmp_path, GOOD, topics="topics.txt")
    assert labels_of(samples) == [{"corn", "blé"}, set(), {"blé"}, {"corn"}, {"nothing", "zero"}]


@pytest.mark.parametrize("text", ["tea\ncorn\n", "tea\ncorn", "tea\r\ncorn\r\n"])
def test_the_lines_of_the_vocabulary_are_the_names_of_the_features(tmp_path, text):
    (tmp_path / "vocabulary.txt").write_bytes(text.encode())
    assert libsvm.feature_names(tmp_path, vocabulary="vocabulary.txt") == ["tea", "corn"]


@pytest.fixture
def three(tmp_path):
    """Files with 100, 10 and 20 samples, of which only the last file has feature 9."""
    for name, n, last in (("train", 100, 5), ("validation", 10, 5), ("test", 20, 9)):
        (tmp_path / name).write_text("".join(f"{i % 3} 1:{i + 1} {last}:1\n" for i in range(n)))
    return tmp_path


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ({"validation": "validation", "test": "test"}, {"train": 100, "validation": 10, "test": 20}),
        ({"test": "test"}, {"train": 80, "validation": 20, "test": 20}),
        ({"test": "test", "validation_fraction": 0.5}, {"train": 50, "validation": 50, "test": 20}),
        ({}, {"train": 60, "validation": 20, "test": 20}),
    ],
)
def test_files_become_splits(three, options, counts):
    samples = libsvm.read(three, train="train", **options)
    assert samples.images["split"].value_counts().to_dict() == counts
    if "test" in options:
        assert set(samples.images["split"][-20:]) == {"test"} and samples.images["image"].iloc[-1] == "test:20"
        np.testing.assert_array_equal(samples.X[-20:, 0].toarray().ravel(), np.arange(1, 21))


FILES = {
    "good": GOOD,
    "empty": b"3\n",
    "bomb.bz2": bz2.compress(b"\n" * 2_000_000),
    "few": b"3 corn\n",
    "no-name": b"3 corn\n17\n",
    "no-number": b"x corn\n",
    "number-twice": b"3 corn\n3 wheat\n",
    "name-twice": b"3 corn\n17 corn\n",
}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"train": "good", "topics": "few"}, "good line 1: few must name all labels, got [3, 17]"),
        (
            {"topics": "no-name"},
            "no-name line 2: expected the number and the name of a label that no other line has, got '17",
        ),
        ({"topics": "no-number"}, "no-number line 1: expected the number and the name of a label"),
        ({"topics": "number-twice"}, "number-twice line 2: expected the number and the name of a label"),
        ({"topics": "name-twice"}, "name-twice line 2: expected the number and the name of a label"),
        ({"train": "empty"}, "empty must hold at least one sample with features, got none"),
        ({"train": "bomb.bz2"}, "bomb.bz2 must unpack to at most 200 times its "),
    ],
)
def test_wrong_options_and_topics_are_refused(three, options, expected):
    for name, content in FILES.items():
        (three / name).write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(expected)):
        libsvm.read(three, **({"train": "train"} | options))

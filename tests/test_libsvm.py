"""Files of labels and features: numbers as scikit-learn reads them, and one clear error for every damaged line."""

import bz2
import gzip
import re

import numpy as np
import pytest
from mutations import mutated
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from jointsparse.datasets import libsvm
from jointsparse.learning import tasks

GOOD = b"3,17 1:0.5 4:-2e-1\n 2:1\n17 1:.25 3:3.\t5:1e3\n3\n-1,0 5:+7 # a comment\n"
PACK = {"": bytes, ".gz": lambda content: gzip.compress(content, mtime=0), ".bz2": bz2.compress}


def read(folder, content, name="data", **options):
    """Everything is training data, so that rows stay what they are."""
    (folder / name).write_bytes(content)
    return libsvm.read(folder, train=name, **({"fractions": {"train": 1.0}} | options))


def labels_of(samples):
    given = samples.captions.groupby("image")["caption"].agg(set).to_dict()
    return [given.get(image, set()) for image in samples.images["image"]]


# A slow, obvious twin


def whole_number(text):
    digits = text[1:] if text[:1] in ("+", "-") else text
    before, _, after = digits.partition(".")
    if not 1 <= len(before) <= 18 or set(before) - set("0123456789") or set(after) - {"0"}:
        raise ValueError
    return int(text.partition(".")[0])


def slow_line(line):
    """The labels and {column: value} of a line, or None if it holds no sample. Raises ValueError if it is wrong."""
    text = line.decode("latin-1").split("#")[0].rstrip("\r\n")
    if not text.strip(" \t"):
        return None
    labels, *features = text.replace("\t", " ").split(" ")
    wanted = {whole_number(label) for label in labels.split(",")} if labels else set()
    values = {}
    for feature in filter(None, features):
        index, value = feature.split(":")
        if set(index) - set("0123456789") or set(value) - set("0123456789+-.eE"):
            raise ValueError
        if not max([0, *values]) < int(index) < 2**31 or abs(float(value)) >= 3.4028235677973366e38:
            raise ValueError
        values[int(index)] = float(value)
    return {str(label) for label in wanted}, values


def slow_read(content):
    """Labels, X and line numbers of the samples, or the number of the first wrong line."""
    rows = {}
    for number, line in enumerate(content.split(b"\n"), start=1):
        try:
            rows[number] = slow_line(line)
        except ValueError:
            return number
    rows = {number: row for number, row in rows.items() if row is not None}
    X = sparse.dok_matrix((len(rows), max([0, *(index for _, values in rows.values() for index in values)])))
    for i, (_, values) in enumerate(rows.values()):
        for index, value in values.items():
            X[i, index - 1] = np.float32(value)
    return [labels for labels, _ in rows.values()], X.tocsr(), list(rows)


def check_against_twin(folder, content, packed, name):
    """Reading `packed` gives exactly what the twin makes of `content`, or an error that names file and line."""
    expected = slow_read(content)
    if isinstance(expected, int) or expected[1].shape[1] == 0:
        said = f"line {expected}: expected" if isinstance(expected, int) else "must hold at least one sample"
        with pytest.raises(ValueError, match=re.escape(f"{folder / name} {said}")):
            read(folder, packed, name)
    else:
        samples = read(folder, packed, name)
        names = samples.images["image"].tolist()
        np.testing.assert_array_equal(samples.X.toarray(), expected[1].toarray())
        assert (labels_of(samples), names) == (expected[0], [f"train:{number}" for number in expected[2]])


def test_good_file_gives_known_numbers(tmp_path):
    samples = read(tmp_path, GOOD)
    expected = [[0.5, 0, 0, -0.2, 0], [0, 1, 0, 0, 0], [0.25, 0, 3, 0, 1000], [0, 0, 0, 0, 0], [0, 0, 0, 0, 7]]
    np.testing.assert_array_equal(samples.X.toarray(), np.array(expected, dtype=np.float32), strict=True)
    assert labels_of(samples) == [{"3", "17"}, set(), {"17"}, {"3"}, {"-1", "0"}]
    assert samples.left_out.empty


# Against scikit-learn


def drawn(seed, n_samples=60, n_features=40):
    rng = np.random.default_rng(seed)
    X = sparse.random(n_samples, n_features, density=0.2, rng=rng, format="csr")
    X.data = rng.normal(size=X.nnz) * 10.0 ** rng.integers(-8, 8, X.nnz)
    X = X.tolil()
    X[0, n_features - 1] = X[1, 0] = 1.0  # both ends are there
    return X.tocsr(), rng


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("seed", range(5))
def test_multilabel_file_is_read_as_scikit_learn_does(tmp_path, packing, seed):
    X, rng = drawn(seed)
    Y = (rng.random((X.shape[0], 7)) < 0.2).astype(int)
    plain = tmp_path / "plain"
    dump_svmlight_file(X, Y, str(plain), zero_based=False, multilabel=True, comment="made by a test")
    samples = read(tmp_path, PACK[packing](plain.read_bytes()), f"data{packing}")
    check_against_scikit_learn(samples, plain, multilabel=True, zero_based=False)


@pytest.mark.parametrize("index_base", [0, 1])
def test_single_labels_and_either_base_are_read_as_scikit_learn_does(tmp_path, index_base):
    X, rng = drawn(9)
    plain = tmp_path / "plain"
    dump_svmlight_file(X, rng.choice([-1.0, 1.0], X.shape[0]), str(plain), zero_based=not index_base)
    samples = read(tmp_path, plain.read_bytes(), index_base=index_base)
    check_against_scikit_learn(samples, plain, zero_based=not index_base)


def check_against_scikit_learn(samples, plain, **options):
    X, y = load_svmlight_file(str(plain), dtype=np.float32, **options)
    assert abs(samples.X - X).nnz == 0
    assert labels_of(samples) == [{str(int(label)) for label in np.atleast_1d(labels)} for labels in y]


# Wrong files


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"3,x 1:0.5", "whole numbers such as 3,17 as labels (a line without label begins with a space), got '3,x'"),
        (b"0.5 1:0.5", "labels (a line without label begins with a space), got '0.5'"),
        (b"3,,4 1:0.5", "got '3,,4'"),
        (b"3, 1:0.5", "got '3,'"),
        (b"1:0.5 2:1", "got '1:0.5'"),
        (b"nan 1:0.5", "got 'nan'"),
        (b"\xef\xbb\xbf3 1:0.5", r"got '\xef\xbb\xbf3'"),
        (b" 1 2:0.5", "index:value such as 12:0.5 with a finite value, got '1'"),
        (b"3 qid:4 1:0.5", "got 'qid:4' (ranking is not supported)"),
        (b"3 1:0.5 2", "got '2'"),
        (b"3 1:0.5 2:", "got '2:'"),
        (b"3 1:0.5 :2", "got ':2'"),
        (b"3 1 :0.5", "got '1'"),
        (b"3 1:0.5,2:1", "got '1:0.5,2:1'"),
        (b"3 1:0.5 2:1_0", "got '2:1_0'"),
        (b"3 1:0.5 2:0x1", "got '2:0x1'"),
        (b"3 1:0.5 2:\0", r"got '2:\x00'"),
        (b"3 1:nan", "got '1:nan'"),
        (b"3 1:-inf", "got '1:-inf'"),
        (b"3 1:1e39", "values that float32 can hold, got '1:1e39'"),
        (b"3 1:1e999", "values that float32 can hold, got '1:1e999'"),
        (b"3 1.5:1", "got '1.5:1'"),
        (b"3 -1:1", "got '-1:1'"),
        (b"3 0:0.5 2:1", "indices from 1 to 2147483647, got '0:0.5' (a file that counts from 0 needs index_base: 0)"),
        (b"3 1:1 2147483648:1", "indices from 1 to 2147483647, got '2147483648:1'"),
        (b"3 1:1 " + b"9" * 400 + b":1", "indices from 1 to 2147483647, got '999"),
        (b"3 1:1 4:1 2:1", "indices that increase, got '4:1 2:1'"),
        (b"3 1:1 4:1 4:1", "indices that increase, got '4:1 4:1'"),
        (b"3 1:1\r2:1", r"got '1:1\r2:1'"),
        (b"3 1:1\x0b2:1", r"got '1:1\x0b2:1'"),
        pytest.param(b"3 1:" + b"1" * 10**6 + b"x", "index:value such as 12:0.5 with a finite", id="found at once"),
    ],
)
def test_wrong_line_is_named(tmp_path, line, expected):
    begin, rest = re.escape(f"{tmp_path / 'data'} line 6: expected "), re.escape(expected)
    with pytest.raises(ValueError, match=f"^(?={begin}).*{rest}") as error:
        read(tmp_path, GOOD + line + b"\n" + GOOD)
    assert len(str(error.value)) < len(str(tmp_path)) + 250


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        pytest.param(
            *("data.gz", gzip.compress(b"1 1:1\n" + b" " * 10**6)),
            "data.gz line 2: expected at most 1000 bytes, got more",
            id="line without end",
        ),
        pytest.param(
            *("data.gz", gzip.compress(GOOD) + b"garbage"),
            "data.gz must be a whole file, got one that is damaged after line 5: ",
            id="damaged after the last line",
        ),
        pytest.param("data", bz2.compress(GOOD), "data line 1: expected", id="packed file under a plain name"),
    ],
)
def test_wrong_file_is_refused(tmp_path, monkeypatch, name, content, expected):
    monkeypatch.setattr(libsvm, "LONGEST_LINE_BYTES", 1000)
    with pytest.raises(ValueError, match=re.escape(f"{tmp_path / expected}")):
        read(tmp_path, content, name)


ODD = [
    *b"nan inf 1e39 1e-60 1_0 0 -0 007 2147483648 qid +3 1.0 : , # ; \r \v \t \n \0 \xff \xe9 - . e E _".split(b" "),
    *(b" ", *re.split(rb"[ \t\n,:]", GOOD), *GOOD.splitlines(keepends=True)),
]


@pytest.mark.parametrize("packing", PACK)
def test_mutated_text_is_read_as_the_twin_does_or_refused_with_its_line(tmp_path, packing):
    rng = np.random.default_rng(len(packing))
    for _ in range(400):
        text = mutated(GOOD * 2, rng, ODD) or GOOD
        check_against_twin(tmp_path, text, PACK[packing](text), f"data{packing}")


# Samples, names, splits


def test_samples_are_named_by_line_and_lines_without_sample_are_listed(tmp_path):
    samples = read(tmp_path, b"# a header\n3 1:1\n\n \t \n 2:1\r\n4,5,4 1:1\n   # only a comment\n")
    by_name = dict(zip(samples.images["image"], labels_of(samples), strict=True))
    assert by_name == {"train:2": {"3"}, "train:5": set(), "train:6": {"4", "5"}}
    assert samples.left_out["item"].tolist() == ["train:3", "train:4", "train:6 (repeated labels)"]


def test_label_spelt_differently_is_one_label(tmp_path):
    assert set(read(tmp_path, b"+1 1:1\n1.0 1:1\n01 1:1\n1 1:1\n").captions["caption"]) == {"1"}


def test_zeros_are_not_stored_but_count_as_columns(tmp_path):
    X = read(tmp_path, b"1 1:1 3:0 9:-0.0\n").X
    assert (X.shape, X.nnz) == ((1, 9), 1)


def test_topics_name_the_labels(tmp_path):
    (tmp_path / "topics.txt").write_text("3 corn 10 5\n\n17\tblé extra\n-1 nothing\n0 zero\n", encoding="utf-8")
    samples = read(tmp_path, GOOD, topics="topics.txt")
    assert labels_of(samples) == [{"corn", "blé"}, set(), {"blé"}, {"corn"}, {"nothing", "zero"}]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"3 corn\n", "data line 1: expected labels that topics.txt names, got 17"),
        (b"3 corn\n17\n", "topics.txt line 2: expected a label's number and its name, got '17'"),
        (b"x corn\n", "topics.txt line 1: expected a label's number"),
        (b"3 corn\n3 wheat\n", "topics.txt line 2: expected each label and each name once"),
        (b"3 corn\n17 corn\n", "topics.txt line 2: expected each label and each name once"),
        (b"3 corn\n4 \xff\n", "topics.txt must be UTF-8 text, got byte 0xff in line 2"),
    ],
)
def test_wrong_topics_are_refused(tmp_path, content, expected):
    (tmp_path / "topics.txt").write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(expected)):
        read(tmp_path, GOOD, topics="topics.txt")


@pytest.fixture
def three(tmp_path):
    """Files of 100, 10 and 20 samples; the last reaches to feature 9."""
    for name, n, last in (("train", 100, 5), ("validation", 10, 5), ("test", 20, 9)):
        (tmp_path / name).write_text("".join(f"{i % 3} 1:{i + 1} {last}:1\n" for i in range(n)))
    return tmp_path


def counts(samples):
    return samples.images["split"].value_counts().to_dict()


def test_files_become_splits(three):
    samples = libsvm.read(three, train="train", validation="validation", test="test")
    assert counts(samples) == {"train": 100, "validation": 10, "test": 20}
    assert samples.images["image"].iloc[[0, 99, 100, 110]].tolist() == [
        "train:1",
        "train:100",
        "validation:1",
        "test:1",
    ]
    assert samples.X.shape == (130, 9)
    np.testing.assert_array_equal(samples.X[110:, 0].toarray().ravel(), np.arange(1, 21))


def test_validation_is_drawn_from_training_by_the_seed(three):
    first, again, other = (libsvm.read(three, train="train", test="test", seed=seed).images for seed in (1, 1, 2))
    assert first["split"].value_counts().to_dict() == {"train": 80, "validation": 20, "test": 20}
    assert first.equals(again) and not first.equals(other)
    assert set(first["split"][100:]) == {"test"}
    assert counts(libsvm.read(three, train="train", test="test", validation_fraction=0.5))["validation"] == 50


def test_all_splits_are_drawn_where_there_is_no_test_file(three):
    assert counts(libsvm.read(three, train="train")) == {"train": 60, "validation": 20, "test": 20}
    fractions = {"train": 0.5, "validation": 0.2, "test": 0.2, "unlabelled": 0.1}
    assert counts(libsvm.read(three, train="train", fractions=fractions))["unlabelled"] == 10


def test_number_of_features_may_be_given(three):
    assert libsvm.read(three, train="train", test="test", n_features=12).X.shape[1] == 12
    with pytest.raises(ValueError, match="test line 1: expected indices from 1 to 8, got '9:1'"):
        libsvm.read(three, train="train", test="test", n_features=8)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"train": "nowhere"}, "root must hold the file 'nowhere' (option train), got none at"),
        ({"test": "nowhere"}, "root must hold the file 'nowhere' (option test)"),
        ({"topics": "nowhere"}, "root must hold the file 'nowhere' (option topics)"),
        ({"validation": "validation"}, "test must name a file where validation does"),
        ({"index_base": 2}, "index_base must be 0 or 1, got 2"),
        ({"n_features": 0}, "n_features must be a whole number from 1"),
        ({"test": "test", "validation_fraction": 1.0}, "validation_fraction must be at least 0 and below 1, got 1.0"),
        ({"fractions": {"train": 0.5}}, "fractions must be at least 0 and add up to 1"),
        ({"fractions": {"test": 1.0}}, "must hold at least one training sample"),
    ],
)
def test_options_that_make_no_sense_are_refused(three, options, expected):
    with pytest.raises(ValueError, match=re.escape(expected)):
        libsvm.read(three, **({"train": "train"} | options))


def test_a_small_file_of_many_samples_is_read_only_if_asked_for(tmp_path):
    bomb = bz2.compress(b"1 1:1\n" * 12_000)
    with pytest.raises(ValueError, match=r"data.bz2 must unpack to at most 200 times its \d+ bytes, got more"):
        read(tmp_path, bomb, "data.bz2")
    assert read(tmp_path, bomb, "data.bz2", compression_ratio=1e4).X.shape == (12_000, 1)


def test_tasks_are_chosen_from_labels_and_samples_without_label_are_negatives(tmp_path):
    samples = read(tmp_path, GOOD)
    words, labels = tasks.choose_words(samples.images, samples.captions, n_words=2, split_captions=False)
    assert words["word"].tolist() == ["17", "3"]
    np.testing.assert_array_equal(labels, [[1, 1], [0, 0], [1, 0], [0, 1], [0, 0]])

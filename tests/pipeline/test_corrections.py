"""Corrections: what a table of decisions may contain, and which labels a dataset has after them."""

import re

import pandas as pd
import pytest

from jointsparse.pipeline.datasets import corrections
from jointsparse.pipeline.datasets.corrections import applied, read
from jointsparse.pipeline.datasets.samples import Samples, present
from jointsparse.pipeline.words import as_words, choose_words

COLUMNS = ["sample", "tag", "has"]
IMAGES = pd.DataFrame({"image": list("abcd"), "split": "train"})


def samples_of(*rows, **more):
    captions = pd.DataFrame(rows, columns=["image", "caption"]).assign(**more)
    return Samples(IMAGES, captions, pd.DataFrame([("x.txt", "no picture")], columns=["item", "reason"]))


def decisions_of(*rows):
    return pd.DataFrame(rows, columns=COLUMNS).astype({"has": bool})


def labels_of(captions, **options):
    """Return the state of each label of each image."""
    words, labels = choose_words(IMAGES, captions, n_words="auto", **options)
    return {word: "".join(map(str, column)) for word, column in zip(words["word"], labels.astype(int).T, strict=True)}


def written(tmp_path, content):
    file = tmp_path / "mine.csv"
    file.write_bytes(content.encode(errors="surrogateescape"))
    return file


def test_later_decisions_override_earlier_ones_and_other_columns_are_ignored(tmp_path):
    file = written(tmp_path, "tag;sample;note;has\r\nowl;a;1;yes\r\n\r\n dog ;b;2;no\r\nowl;a;3;no\r\nowl;b;;yes\r\n")
    assert read(file).to_numpy().tolist() == [["a", "owl", False], ["b", "dog", False], ["b", "owl", True]]


def test_any_name_survives_writing_and_reading(tmp_path):
    names = [
        "a,b.jpg",
        ' "c".jpg',
        "../d.jpg",
        "/e.jpg",
        "new\nline.jpg",
        "=1+1.jpg",
        "'=1.jpg",
        "ça\r.jpg",
        "nan",
        "007",
    ]
    decided = decisions_of(*((name, "@owl, =x", i % 2) for i, name in enumerate(names)))
    corrections.write(decided, tmp_path / "mine.csv")
    pd.testing.assert_frame_equal(read(tmp_path / "mine.csv"), decided)
    assert not re.search("(^|,)[=@]", (tmp_path / "mine.csv").read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "line 1: expected the columns sample,tag,has, got ''"),
        ("sample,tag\na,owl\n", "line 1: expected the columns sample,tag,has, got 'sample,tag'"),
        ("sample,tag,has,tag\na,owl,yes,x\n", "line 1: expected the columns sample,tag,has, got"),
        ('sample,tag,has\n"a\nb",owl,yes\n\nc,owl,maybe\n', "line 5: has must be yes or no, got 'maybe'"),
        ("sample,tag,has\na,owl\n", "line 2: expected 3 fields, got 2"),
        ("sample,tag,has\n,owl,yes\n", "line 2: sample must be a name, got ''"),
        ("sample,tag,has\na, ,yes\n", "line 2: tag must be a name, got ' '"),
        ("sample,tag,has\na\0b,owl,yes\n", "line 2: "),
        ('sample,tag,has\na,"owl"s,yes\n', "line 2: "),
        ("sample,tag,has\n\udcff,owl,yes\n", "must be UTF-8 text, got byte 0xff in line 2"),
        (f"sample,tag,has\n{'x' * corrections.MOST_BYTES}", "must have at most 16,777,216 bytes, got "),
    ],
    ids=range(11),
)
def test_a_file_that_is_no_table_of_decisions_is_refused_with_its_line(tmp_path, content, said):
    with pytest.raises(ValueError, match=f"mine.csv.*{re.escape(said)}"):
        read(written(tmp_path, content))


def test_decisions_change_whole_labels_and_a_second_time_nothing(tmp_path):
    samples = samples_of(["a", "owl"], ["a", "dog"], ["b", "owl"], ["c", "dog"])
    decided = decisions_of(("a", "owl", False), ("a", "dog", True), ("d", "owl", True), ("c", "cat", False))
    corrected = applied(samples, decided)
    assert labels_of(corrected.captions, split_captions=False) == {"dog": "1010", "owl": "0101"}
    # What experiments read, which know no column `absent`.
    labels = present(corrected.captions)
    assert sorted(labels.itertuples(index=False, name=None)) == sorted(
        [("b", "owl"), ("c", "dog"), ("a", "dog"), ("d", "owl")]
    )
    again = applied(corrected, decided)
    pd.testing.assert_frame_equal(again.captions, corrected.captions)
    pd.testing.assert_frame_equal(applied(samples, decided[:0]).captions, samples.captions)


def test_a_decision_about_an_unknown_label_makes_it_known_and_a_new_label_is_unknown_where_labels_are_unknown():
    samples = samples_of(["a", "owl"], ["b", "owl"], ["c", "owl"], known=[True, False, False])
    decided = decisions_of(("b", "owl", True), ("c", "owl", False), ("a", "dog", True))
    labels = labels_of(applied(samples, decided).captions, split_captions=False)
    assert labels == {"owl": "1100", "dog": "1-1-10"}


@pytest.mark.parametrize(("join", "expected"), [(True, {"dog": "0110", "cat": "1100"}), (False, {"cat": "1100"})])
def test_a_word_is_taken_from_sentences_that_contain_it(join, expected):
    samples = samples_of(("a", "Two dogs and a cat."), ("b", "A dog."), ("b", "One cat."), ("c", "Grass"))
    decided = decisions_of(("a", "dog", False), ("c", "Dog", True), ("c", "grass", False))
    labels = labels_of(applied(samples, decided).captions, join_inflections=join)
    assert labels == expected | ({} if join else {"dog": "0110", "dogs": "1000"})


def test_a_decision_names_a_word_of_the_model_in_any_form():
    decided = decisions_of(("a", "Dog", False), ("b", "red cats", True), ("c", "New York", True))
    got = as_words(decided, ["dogs", "cat"], join_inflections=True).to_numpy().tolist()
    expected = [["a", "dogs", False], ["b", "", True], ["b", "cat", True], ["c", "", True], ["c", "", True]]
    assert got == expected
    assert as_words(decided, ["dog", "New York"], split_captions=False)["tag"].tolist() == ["", "", "New York"]


def test_decisions_about_samples_that_are_not_there_are_listed_unless_the_dataset_was_reduced():
    samples, decided = samples_of(["a", "owl"]), decisions_of(("z", "owl", True), ("z", "dog", True))
    listed = [["x.txt", "no picture"], ["z", "mine.csv decides about it, but it is not there"]]
    assert applied(samples, decided, "mine.csv").left_out.to_numpy().tolist() == listed
    assert applied(samples, decided).left_out.to_numpy().tolist() == listed[:1]

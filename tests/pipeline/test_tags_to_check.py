"""The list of labels that may be wrong or missing, among all samples with known labels."""

import numpy as np
import pandas as pd
import pytest
from model_files import fitted, model_of

from jointsparse.pipeline.models.probabilities import are_exclusive, probabilities
from jointsparse.pipeline.models.tags_to_check import tags_to_check

NAMES = [f"new{i}.png" for i in range(4)]
SCORES = np.array([[-9.0, 9.0], [0.5, -0.5], [3.0, -3.0], [1.0, 2.0]])
LABELS = np.array([[1, 0], [0, 1], [-1, 0], [1, -1]])


def listed_of(labels=LABELS, model=None, **more):
    return tags_to_check(model or fitted("rows"), SCORES, labels, names=NAMES, **more)


def test_known_labels_are_listed_by_the_probability_that_they_are_wrong():
    model = fitted("rows")
    samples, labels = [*model.known_names_, *NAMES], np.concatenate([model.known_labels_, LABELS])
    p = probabilities(model, np.concatenate([model.known_scores_, SCORES]))  # the known ones have held-out scores
    rows = [
        (
            samples[i],
            model.card_.words[k],
            "wrong" if labels[i, k] else "missing",
            p[i, k],
            1 - p[i, k] if labels[i, k] else p[i, k],
        )
        for i, k in np.argwhere(labels >= 0)
    ]
    ordered = enumerate(sorted(rows, key=lambda row: -row[-1]), start=1)
    assert list(listed_of().itertuples(index=False, name=None)) == [(*row[:-1], rank) for rank, row in ordered]


def test_only_the_first_rows_of_each_kind_are_listed(monkeypatch):
    everything = listed_of().groupby("kind").head(3)
    monkeypatch.setattr("jointsparse.pipeline.models.tags_to_check.MOST", 3)
    pd.testing.assert_frame_equal(listed_of(), everything.assign(rank=np.arange(1, 7)).reset_index(drop=True))


IN_ONE_CLASS = {
    (NAMES[1], "cat"),
    (NAMES[2], "cat"),
    (NAMES[2], "dog"),
}  # new1 is a dog, new2 a cow, which is not learnt


@pytest.mark.parametrize(("exclusive", "also"), [(False, set()), (True, IN_ONE_CLASS)])
def test_decided_labels_are_not_listed(exclusive, also):
    model, labels = model_of("rows"), LABELS
    if exclusive:
        model.known_labels_, labels = model.known_labels_ * 0, np.maximum(LABELS, 0)
    rows = [
        *((NAMES[0], "cat", False), (NAMES[1], "dog", True), ("gone.png", "cat", True)),
        *((NAMES[0], "cow", False), (NAMES[2], "cow", True)),
    ]
    decided = pd.DataFrame(rows, columns=["sample", "tag", "has"])
    everything, left = (
        {*zip(table["sample"], table["tag"], strict=True)}
        for table in (listed_of(labels, model), listed_of(labels, model, decided=decided))
    )
    assert everything - left == {(NAMES[0], "cat"), (NAMES[1], "dog")} | also


@pytest.mark.parametrize("some_have_none", [False, True])
def test_classes_that_exclude_each_other_have_conditional_probabilities(some_have_none, monkeypatch):
    monkeypatch.setattr("jointsparse.pipeline.models.probabilities.DOUBLE", 0.05)
    monkeypatch.setattr("jointsparse.pipeline.models.probabilities.OF_INDEPENDENT", 0.5)
    model, labels = model_of("rows"), np.array([[1, 0], [0, 1], [1, 0], [0 if some_have_none else 1, 0]])
    model.known_labels_ = np.eye(2, dtype=np.int8)[np.arange(len(model.known_names_)) % 2]
    model.known_labels_[0] = 1
    p = probabilities(model, SCORES)
    alone, none = p * (1 - p[:, ::-1]), some_have_none * (1 - p).prod(axis=1)
    expected = alone / (alone.sum(axis=1) + none)[:, np.newaxis]
    listed = listed_of(labels, model).set_index(["sample", "tag"])["probability"]
    np.testing.assert_allclose(
        [[listed[name, word] for word in model.card_.words] for name in NAMES], expected, rtol=1e-9
    )


def test_classes_exclude_each_other_but_rare_independent_tags_and_partly_known_labels_do_not(rng):
    tags, classes = (rng.random((4000, 5)) < 0.02).astype(np.int8), np.eye(5, dtype=np.int8)[rng.integers(5, size=4000)]
    classes[:10] = 1  # equal files in two folders
    assert (tags.sum(axis=1) > 1).mean() < 0.01 and not are_exclusive(tags)
    assert are_exclusive(classes) and are_exclusive(classes[:, :2])
    assert not are_exclusive(np.where(classes, 1, -1))  # the other labels are not known

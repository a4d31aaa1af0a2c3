"""The page of a saved model: what it shows of words, images and features, and that no text of the data is code."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pages import FITS, GOLDEN, PAGES, WORDS, all_content, kept_model, made, of_classes, unpacked

from jointsparse.pipeline.flag import Kind
from jointsparse.pipeline.page import check, images, sentences, thumbnails, warnings, weights, words


@pytest.fixture(scope="module")
def content():
    return json.loads(json.dumps(all_content()))


@pytest.mark.parametrize("name", [*PAGES, "list of datasets", "claims"])
def test_pages_show_what_is_in_the_file_that_pages_py_writes(content, name):
    assert content[name] == json.loads(GOLDEN.read_text("utf-8"))[name]


@pytest.mark.parametrize("values", PAGES.values(), ids=PAGES)
def test_no_text_of_the_data_is_code_in_the_page_nor_changes_its_direction(rng, values):
    text = made(rng, **values(rng)).html
    assert len(re.findall("<script", text)) == 2  # the page's own two, of data and code
    assert "<img src=x" not in text and "\u202e" not in text
    assert text.count("""Content-Security-Policy" content="default-src 'none'; img-src 'self' file:;""") == 1
    assert not re.findall(r"""(?:src|href)=["'](?:https?:)?//""", text)


# What is told, counted and packed: a table of facts

KEPT = kept_model(np.random.default_rng(0))


def ranked(*columns):
    """Return a model whose test images have falling scores. columns: the labels of a word as +, - and ? (unknown)."""
    labels = np.array([["-+".find(mark) for mark in column] for column in columns], np.int8).T
    p = np.linspace(1, 0, len(labels))[:, np.newaxis].repeat(len(columns), axis=1)
    table = pd.DataFrame({"word": list("abcdefgh")[: len(columns)]})
    return KEPT._replace(labels=labels, scores=p, test_images=np.arange(len(labels)), words=table)


def beside(*others):
    """Words that stand out beside the word of the 30 most probable of 200 images.

    others: for each other word, how many of the 20 most probable images have it, for how many of them it is not known
    whether they do, and how many of the other images have it.
    """
    columns = [(("+" * a + "?" * b).ljust(20, "-") + "+" * c).ljust(200, "-") for a, b, c in others]
    return words.most_probable(ranked("+" * 30 + "-" * 170, *columns), 0)["beside"]


def walled():
    """The words on the wall by their tiles. Words are given by the fraction that is right, and the AUC."""
    own = {"verdict": "recognised", "by_chance": 1, "first": [(3, True), (5, False)], "telling": list("stuvwxyz")}
    values = {"a": (0.2, 0.7), "b": (0.7, 0.7), "c": (0.2, 0.8)}
    rows = [own | {"word": word, "precision_at_10": right, "auc": auc} for word, (right, auc) in values.items()]
    tiles = words.wall_of([*rows, rows[1] | {"verdict": "few"}])
    return [(tile["word"], tile["images"], tile["telling"]) for tile in tiles]


def checked(p=None):
    """List the labels to check of 600 images, 300 of which have the tag.

    p: the probability of every label. Without p, the probabilities grow from 0 for wrong labels, and fall from 1 to 1/2
    for missing ones.

    Return the row and the word of the 200th wrong and of the second missing label, the number of each kind that is
    shown, and how many of the first 30 of each are doubtful.
    """
    names, growing = [str(i) for i in range(600)], np.linspace(0, 1, 300) if p is None else p
    tags = {"sample": names[:300] + names[:299:-1], "kind": ["wrong"] * 300 + ["missing"] * 300, "tag": "cat"}
    tags["probability"] = np.append(growing * np.ones(300), 1 - growing * np.ones(300) / (1 if p else 2))
    checks = check.to_check(pd.DataFrame(tags), names, ["dog", "cat"])
    return [checks.wrong[199][:2], checks.missing[1][:2], len(checks.wrong), len(checks.missing), checks.first]


def of_labels(change, exclusive=True):
    """Whether labels of two classes exclude each other after a change of captions."""
    given = of_classes(np.random.default_rng(0))
    kept = given["kept"]._replace(exclusive=exclusive)
    return check.exclude_each_other(kept, list(given["images"]["image"]), change(given["captions"]))


def map_of_blocks():
    W = np.kron(np.eye(2), np.ones((2, 2)))[[0, 2, 1, 3]][:, [0, 2, 1, 3]]
    features = [KEPT.features[0]._replace(place=i) for i in range(4)]
    made = weights.map_of_weights(KEPT._replace(W=W, features=features))
    return unpacked(made["weights"], np.int8), [feature["place"] for feature in made["features"]]


def compared(*others):
    """What is said of a method with a mean AUC of 0.8 beside others with these."""
    methods = {"method": ["hinge-l1inf", "svm-l2", "hinge-l1"][: 1 + len(others)], "auc_weighted": [0.8, *others]}
    return sentences.comparison(pd.DataFrame(methods | {"n": 1200, "features": 0.12})).partition(" of the features")[2]


def warned(*rows, things=("samples", "topics"), **values):
    """What is said of warnings: pairs of a flag and of its first row."""
    table = pd.DataFrame(rows, columns=["warning", "first"]).assign(**{"table": "chosen", "rows": 1, "of": 9} | values)
    return warnings.warnings_of(table, *things)


BY_AUC = pd.DataFrame({"word": list("abcdefg"), "auc": np.arange(7) / 10, "precision_at_10": [0] * 5 + [0.5, 1]})
HALVES = pd.DataFrame({"used": [True, False, True, False], "halves": [10, 9, 1, 0], "of": 10, "threshold": 0.9})
OFTEN = "1 of the 2 features of the kept model were chosen in at least 9 of 10 random halves of the training and "
OFTEN += "validation images. "
EDGE = "radius at the upper edge of its grid"
FLAGS = [(EDGE, "run=2, n=5, method=hinge-l1inf, radius=30.0"), ("a new kind", ""), ("certified gap: 7%", np.nan)]
FLAGS += [("left out, too few test images with it: 0", "")]
CHANGES = [
    lambda captions: captions,
    lambda captions: captions.replace(WORDS[1], "zebra"),  # words of sentences
    lambda captions: captions[1:],  # one sample has none
    lambda captions: pd.concat([captions, captions[:1]]),  # one of 35 samples has two
]
HEAT = np.zeros((8, 12))
HEAT[:4, :4], HEAT[4:, 8:] = 2.0, -0.5
FACTS = {
    # Ranked images and words
    "an image whose label is unknown is not among the most probable": (
        lambda: words.most_probable(ranked("?+-+"), 0),
        {"first": [(1, True), (2, False), (3, True)], "top": 3, "by_chance": 2.0, "beside": []},
    ),
    "a word stands out that three of the first 20 images have, twice as many as are expected": (
        lambda: [len(beside(word)) for word in ((3, 0, 12), (3, 0, 13), (2, 0, 0), (5, 0, 21), (3, 17, 12))],
        [1, 0, 0, 0, 1],
    ),
    "of words that stand out, three with most images beyond what is expected are shown": (
        lambda: beside((6, 0, 4), (8, 0, 32), (5, 0, 0), (3, 0, 0)),
        [["b", 6], ["d", 5], ["c", 8]],
    ),
    "recognised words are on the wall by the fraction of right images, then by AUC, with five telling features": (
        walled,
        [(word, [(3, True), (5, False)], list("stuvw")) for word in "bca"],
    ),
    "the first 200 labels of each kind are shown, and the doubtful ones of the first 30 counted": (
        checked,
        [(199, 1), (598, 1), 200, 200, 60],
    ),
    "a label as probable as not is not doubtful": (lambda: checked(0.5)[-1], 0),
    "a word is recognised at 5 %, and not above": (
        lambda: [words.verdict({"p_holm": p, "positives": 20, "of": 50}, 2) for p in (0.05, 0.051)],
        ["recognised", "not"],
    ),
    # Classes
    "labels are no classes if they are words, if a sample has none, or if more than 1 % have two": (
        lambda: [of_labels(change) for change in CHANGES],
        [True, False, False, False],
    ),
    "labels that are not exclusive in the list of tags to check are no classes": (
        lambda: of_labels(CHANGES[0], exclusive=False),
        False,
    ),
    # Numbers
    "eight features that speak for a word are telling, largest first": (
        lambda: [
            "".join(words.telling(np.array(w), list("abcdefghijk")))
            for w in ([3, -9, 1, 2, 4, 0, 5, 6, 7, 8, 0.5], [3, -9, 1, 2])
        ],
        ["jihgeadc", "adc"],
    ),
    "weights become bytes, and none is lost": (
        lambda: unpacked(words.packed_weights(np.array([[2.0, 1e-6], [-1e-6, 0.0], [-1.0, 1.0]])), np.int8),
        [127, 1, -1, 0, -64, 64],
    ),
    "a model that uses no features gives no reasons": (
        lambda: words.reasons_of(np.eye(2), [1], np.zeros((2, 3)), ["a", "b"]),
        {"brief": False, "features": [], "weights": "", "values": {1: []}},
    ),
    "similar rows and columns of the map of weights stand together": (
        map_of_blocks,
        ([*([127, 127, 0, 0] * 2), *([0, 0, 127, 127] * 2)], [4 + row for row in (0, 2, 1, 3)]),
    ),
    "rows below 65,536 take two bytes, and more rows four": (
        lambda: [
            unpacked(words.packed_rows([np.array([0]), np.array([n - 1])], n), dtype)
            for n, dtype in ((2**16 - 1, np.uint16), (2**16, np.uint32))
        ],
        [[0, 2**16 - 2], [0, 2**16 - 1]],
    ),
    "numbers have six digits, and those that JSON does not know are none": (
        lambda: [*map(words.number, (0.12345678, np.nan, np.inf, -np.inf))],
        [0.123457, None, None, None],
    ),
    # Sentences
    "the best words are named": (
        lambda: sentences.best(BY_AUC, ["recognised"] * 7, 10, "images"),
        ["For 2 of them, at least 5 of the 10 most probable test images are right.", "Recognised best: g, f, e."],
    ),
    "three of many words that are not recognised are named": (
        lambda: sentences.best(BY_AUC, ["not"] * 7, 10, "images"),
        ["Not recognised better than chance: a, b, c and 4 more."],
    ),
    "of fewer than ten test samples half are enough": (
        lambda: sentences.best(BY_AUC[:1].assign(precision_at_10=2 / 3), ["recognised"], 3, "samples")[0],
        "For 1 of them, at least 2 of the 3 most probable test samples are right.",
    ),
    "a better norm has a plus": (
        lambda: sentences.what_sparsity_costs(FITS.norms.assign(auc=[0.75, 0.754])),
        "The kept model has the norm l1,∞, uses 5 of 6 features and has a mean AUC of .750. "
        "The other norms: l2: 6 features, AUC +.004.",
    ),
    "a model may use all features": (
        lambda: sentences.what_sparsity_costs(FITS.norms[1:].assign(kept=True)),
        "The kept model has the norm l2, uses all 6 features and has a mean AUC of .700.",
    ),
    "the bound on false choices is given if it says something": (
        lambda: sentences.how_stable(HALVES.assign(bound=1.25)),
        f"{OFTEN}Of the 2 features that were chosen so often, at most 1.3 are expected to be false, if no irrelevant "
        "feature is chosen more often than the average feature.",
    ),
    "the bound on false choices is left out otherwise": (
        lambda: sentences.how_stable(HALVES.assign(bound=2.0)),
        f"{OFTEN}On average a half chooses 2 of 4 features, too many for a useful bound on the false choices.",
    ),
    "a method with .8 is compared with the best other method": (
        lambda: [compared(*others) for others in ((0.82,), (0.78, 0.6), (0.809,), ())],
        [
            "; it is 0.020 behind the best other method, linear SVM.",
            "; it is 0.020 ahead of the best other method, linear SVM.",
            "; it is level (within 0.01) with the best other method, linear SVM.",
            ".",
        ],
    ),
    # Warnings
    "warnings are in plain words, those that make a number wrong first": (
        lambda: [(one["severity"], one["text"]) for one in warned(*FLAGS)],
        [
            ("wrong", "The objective of some fits may be more than 5 % above its minimum: they need more iterations."),
            ("wrong", "Other warnings."),
            ("note", "Some topics occur on too few samples to be learnt and tested, and are left out."),
            ("note", "Validation chose the largest radius or C of the grid: a larger value may do better."),
        ],
    ),
    "the details of a warning name its first row": (
        lambda: warned(*FLAGS)[3]["details"],
        [f"{EDGE}, in 1 of 9 rows of the table chosen; first: run 2, n 5, l1,∞, radius 30"],
    ),
    "tables of several runs are joined, and left_out has a list of its own": (
        lambda: [
            one["details"] for one in warned(("a", ""), ("a", ""), ("b", ""), table=["t_run1", "t_run2", "left_out"])
        ],
        [["a, in 2 of 18 rows of the table t of 2 runs"]],
    ),
    "every kind of flag has one meaning": (
        lambda: sorted(kind for meaning in warnings.MEANINGS for kind in meaning.kinds),
        sorted(Kind),
    ),
    # Pictures
    "a map is red for a word, blue against it and clear elsewhere": (
        lambda: thumbnails.overlay(HEAT, full=1.0)[[0, 1, 1], [0, 2, 0]].tolist(),
        [
            [*thumbnails.FOR, thumbnails.OPAQUE],
            [*thumbnails.AGAINST, round(thumbnails.OPAQUE / 2)],
            [*thumbnails.AGAINST, 0],
        ],
    ),
    "pixels become a picture": (
        lambda: thumbnails.of_features(np.array([0, 0.5, 1, 2]))[::119, ::119, 0].tolist(),
        [[255, 128], [0, 0]],
    ),
    "an address of a file has no sign that an address gives another meaning": (
        lambda: images.url_of("photos/50%/a #1?.jpg", Path()),
        "photos/50%25/a%20%231%3F.jpg",
    ),
    "features that are no pixels become no picture": (lambda: thumbnails.of_features(np.zeros(5)), None),
}


@pytest.mark.parametrize("fact", FACTS)
def test_it_is_so_that(fact):
    got, expected = FACTS[fact]
    assert got() == expected

"""The page of a saved model: what it shows of words, images and features, and that no text of the data is code."""

import base64
import html
import json
import ntpath
import os
import re
from types import SimpleNamespace
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
from pages import HOSTILE, WORDS, fits, kept_model, listed, made, of_classes
from scipy import sparse

from jointsparse.metrics import STATISTICS, by_chance
from jointsparse.pipeline.figures import style
from jointsparse.pipeline.flag import Kind
from jointsparse.pipeline.models.stability import COLUMNS
from jointsparse.pipeline.page import images, sentences, thumbnails, warnings
from jointsparse.pipeline.page.check import exclude_each_other, to_check
from jointsparse.pipeline.page.index import index
from jointsparse.pipeline.page.kept import judged
from jointsparse.pipeline.page.model import _reasons
from jointsparse.pipeline.page.weights import map_of_weights
from jointsparse.pipeline.page.words import (
    most_probable,
    not_learnt,
    number,
    packed_rows,
    packed_weights,
    reasons_of,
    telling,
    wall_of,
    words_of,
)

NAMES = [f"name {i}" for i in range(6)]  # of features


@pytest.fixture
def kept(rng):
    return kept_model(rng)


def data_of(text):
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(data)


# The page


def test_no_text_of_the_data_is_code_in_the_page(rng):
    text = made(rng).html
    # The page's own two, of data and code, and none of a caption, a file name, a note or a claim.
    assert len(re.findall("<script", text)) == 2
    assert "onerror=" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL).replace("onerror=&#34;", "")
    assert data_of(text)["names"] == WORDS
    assert "<img src=x" not in text


def test_the_policy_lets_the_pages_own_script_run_and_nothing_load(rng):
    text = made(rng).html
    (policy,) = re.findall(r'Content-Security-Policy" content="(.*?)"', text)
    assert policy.startswith("default-src 'none'; img-src 'self' file:;")
    assert not re.findall(r"""(?:src|href)=["'](?:https?:)?//""", text)


def bytes_of(text, dtype=np.uint8):
    return np.frombuffer(base64.b64decode(text), dtype)


def test_the_data_hold_each_label_and_its_probability_once(rng, kept):
    data = data_of(made(rng, kept).html)
    assert set(data) == {
        *("at_once", "base", "check", "colour", "exclusive", "files", "first", "having", "images", "key", "method"),
        *("moved", "names", "not_learnt", "probabilities", "reasons", "samples", "statistics", "tag", "tags", "thing"),
        *("things", "unclear", "weights", "with_maps", "words"),
    }
    assert (data["key"], data["exclusive"], data["base"], data["files"]) == (
        "jointsparse mine",
        False,
        "../data/",
        None,
    )
    labels, p, shown = kept.labels, np.rint(100 * kept.probabilities), [int(row) for row in data["images"]]
    assert data["having"]["counts"] == (labels == 1).sum(axis=0).tolist()
    rows = np.split(bytes_of(data["having"]["rows"], np.uint16), np.cumsum(data["having"]["counts"]))
    for k in range(2):
        assert rows[k].tolist() == sorted(
            np.flatnonzero(labels[:, k] == 1), key=lambda row: -kept.probabilities[row, k]
        )
    on_these = np.concatenate([p[rows[k], k] for k in range(2)])
    np.testing.assert_array_equal(bytes_of(data["having"]["probabilities"]), on_these)
    np.testing.assert_array_equal(bytes_of(data["probabilities"]).reshape(-1, 2), p[shown])
    doubts = [
        max(np.argwhere(labels == has).tolist(), key=lambda place: abs(has - kept.probabilities[*place]))
        for has in (1, 0)
    ]
    assert [data["check"][kind][0][:2] for kind in ("wrong", "missing")] == doubts
    assert data["check"]["wrong"][0][2] == p[*doubts[0]]


def test_thumbnails_and_maps_of_all_images_that_are_shown_are_asked_for(rng, kept):
    mine = made(rng, kept)
    data = data_of(mine.html)
    assert sorted(map(int, data["images"])) == sorted(mine.images)
    asked = {(row, k) for row, words in mine.maps.items() for k in words}
    assert asked >= {(row, k) for kind in data["check"].values() for row, k, _ in kind}
    assert asked >= {(row, k) for k, word in enumerate(data["words"]) for row, _ in word["first"]}
    assert asked >= {(row, feature["place"]) for feature in data["weights"]["features"] for row in feature["images"]}
    assert {file for _, file in mine.findings["pictures"]} <= {thumbnails.file_of(row) for row in mine.images}
    assert made(rng, kept._replace(with_maps=False)).maps == {}


def test_the_map_of_weights_has_those_of_the_model(rng, kept):
    weights = data_of(made(rng, kept).html)["weights"]
    got = bytes_of(weights["weights"], np.int8).reshape(2, 2)
    features = [kept.features[feature["place"] - 2].place for feature in weights["features"]]
    np.testing.assert_array_equal(got, np.rint(127 * kept.W[np.ix_(features, weights["words"])] / 2))


@pytest.mark.parametrize(
    ("given", "things", "command"),
    [
        ({}, "photographs", "FOLDER --html annotated"),
        ({"original": None}, "images", "FOLDER --html annotated"),
        ({"original": None, "thumbnail": None, "with_maps": False}, "samples", "TABLE"),
    ],
)
def test_samples_are_called_what_they_are(rng, kept, given, things, command):
    with_maps = given.pop("with_maps", True)
    shown = made(rng, kept._replace(with_maps=with_maps), **given)
    text = re.sub(r"(?s)<style>.*?</style>|<script>.*?</script>|<script type.*?</script>", "", shown.html)
    assert f"Annotate new {things}" in text and f"model.jointsparse</span> {command}</code>" in text
    assert things in shown.findings["numbers"]
    assert [noun for noun in ("images", "samples") if noun in re.sub("<.*?>", "", text)] == [things] * (
        things != "photographs"
    )


def test_the_page_says_what_was_learnt_and_how_well(rng, kept):
    shown = made(rng, kept)
    text = " ".join(html.unescape(shown.html).split())
    for said in (
        'The model recognises 1 of 2 tags; <a href="#check">check these 33 labels first</a>.',
        "For 1 of them, at least 5 of the 10 most probable test photographs are right.",
        "The model learns the 2 most frequent of 3 tags; to learn all, set n_words to 4.",
        "The kept model has the norm l1,∞, uses 5 of 6 features and has a mean AUC of .750. The other norms: l2:",
        "It has learnt from 5 labelled training and validation photographs.",
        '<th>l1,∞, kept</th><td>0.750 <span class="faint">0.650 to 0.850</span></td>',
        "<td>12 of 30</td><td>1.5</td><td>2</td>",
        '40 photographs were used; <a href="#data-used">left out</a>: 2. ',
        '<a href="#data-used">1 warning</a>: The objective of some fits may be more than 5 %',
        "jointsparse correct ~/Downloads/corrections.csv --dataset mine</code>",
    ):
        assert said in text, said
    assert shown.findings["sentence"] == "The model recognises 1 of 2 tags; 33 labels to check first"
    assert shown.findings["numbers"] == {"photographs": "40", "tags recognised": "1 of 2", "to check first": "33"}
    assert shown.findings["warnings"] == 1 and "stability.csv" not in shown.html


def test_every_statistic_is_in_the_list_of_words_in_the_order_and_in_the_table_of_norms(rng):
    text = made(rng).html
    for key, statistic in STATISTICS.items():
        assert text.count(f"<th>{statistic.label}</th>") == 2
        assert f'<option value="{key}">{statistic.label}</option>' in text


def test_the_statistics_of_a_word_are_those_of_the_card_and_its_p_value_counts_known_labels(kept):
    labels = kept.labels[10:].copy()
    labels[:10, 1] = -1
    words = judged(kept.model.card_, labels)
    has = (labels == 1).sum(axis=0)
    assert words["word"].tolist() == WORDS and words["positives"].tolist() == has.tolist()
    assert (words["auc"].tolist(), words["of"].tolist()) == ([0.55, 0.8], [30, 20])
    p = by_chance(np.array([0.55, 0.8]), has, np.array([30, 20]))
    np.testing.assert_allclose(words["p_holm"], [max(2 * p[1], p[0]), 2 * p[1]])


def test_the_wall_shows_the_most_probable_images_of_words_that_are_told_from_chance(rng, kept):
    order = 10 + np.argsort(-kept.probabilities[10:, 1])
    wall = re.search('<ul class="wall">(.*)<section id="words">', made(rng, kept).html, re.DOTALL)[1]
    assert re.findall('src="(.*?)"', wall) == [thumbnails.file_of(row) for row in order[:3]]
    assert wall.count('class="without"') == 3 - kept.labels[order[:3], 1].sum()
    assert f'Not recognised better than chance: <a href="#word={WORDS[0]}">' in wall  # its interval begins at 0.45


def test_a_tile_has_a_full_dot_for_each_image_that_is_right_and_a_line_where_guessing_is(rng):
    kept = kept_model(rng)  # whose card says that half of the first ten are right, and a third have the word
    (dots,) = re.findall('<svg class="dots".*?</svg>', made(rng, kept).html, re.DOTALL)
    assert 'aria-label="5.0 of 10 right, 3.3 by guessing"' in dots and 'd="M40.0 0v14"' in dots
    assert re.findall('fill-opacity="(.*?)"', dots) == ["1.00"] * 5 + ["0.00"] * 5


def test_the_page_begins_with_the_map_of_the_most_probable_photograph_that_has_the_best_word(rng, kept):
    best, second = (10 + np.argsort(-kept.probabilities[10:, 1])[:2]).tolist()
    labels = kept.labels.copy()
    labels[second, 1] = 1
    for right in (1, 0):
        labels[best, 1] = right
        text = made(rng, kept._replace(labels=labels)).html
        row, said = (best, "over 99") if right else (second, f"{100 * kept.probabilities[second, 1]:.0f}")
        assert thumbnails.file_of(row, 1) in text[: text.index('class="finding"')]
        assert f"a probability of {said} % here" in text
    with_network = made(rng, kept, network="private/my network.onnx").html
    assert (
        "FOLDER --html annotated --network &#39;my network.onnx&#39;</code>" in with_network
        and "private" not in with_network
    )
    assert 'class="wipe"' not in made(rng, kept._replace(with_maps=False)).html


def test_a_sample_may_have_a_text_no_picture_and_labels_that_are_unknown(rng, kept):
    table = pd.DataFrame({"image": [f"row {i}" for i in range(40)], "split": "test", "text": "said"})
    kept.labels[::2, 1] = -1
    captions = pd.DataFrame({"image": ["row 11", "row 12"], "caption": "cat", "known": [False, True]})
    files = [None if row == 11 else f"../{row}.jpg" for row in range(40)]
    options = {"images": table, "captions": captions, "original": files.__getitem__}
    shown = made(rng, kept, thumbnail=lambda row: None if row == 11 else "a.webp", **options)
    data = data_of(shown.html)
    assert [data["images"]["11"][key] for key in ("captions", "file", "text")] == [[], None, "said"]
    assert data["images"]["12"]["captions"] == ["cat"]
    assert all(unclear == ([] if int(i) % 2 else [1]) for i, unclear in data["unclear"].items())
    assert 11 not in shown.images and 12 in shown.images and data["files"] == files


def test_characters_that_change_the_direction_of_a_name_are_shown_and_kept(rng):
    values = of_classes(rng)
    numbers = values["kept"].fits
    numbers = numbers._replace(counted=numbers.counted.replace("zebra", "z\u202e"))
    text = made(rng, **values | {"kept": values["kept"]._replace(fits=numbers)}).html
    data = data_of(text)
    assert unquote(data["moved"]["z\\u202e"]) == "z\u202e"
    assert "\u202e" not in text and data["samples"][7] == "=7,\"\n\\u202e'="
    assert unquote(data["moved"][data["samples"][7]]) == values["images"]["image"][7]


# What is told, counted and packed: a table of facts

KEPT = kept_model(np.random.default_rng(0))


def ranked(*columns):
    """Return a model whose test images have falling scores. columns: the labels of a word as +, - and ? (unknown)."""
    labels = np.array([["-+".find(mark) for mark in column] for column in columns], np.int8).T
    p = np.linspace(1, 0, len(labels))[:, np.newaxis].repeat(len(columns), axis=1)
    words = pd.DataFrame({"word": list("abcdefgh")[: len(columns)]})
    return KEPT._replace(labels=labels, scores=p, test_images=np.arange(len(labels)), words=words)


def beside(*others):
    """Words that stand out beside the word of the 30 most probable of 200 images.

    others: for each other word, how many of the 20 most probable images have it, for how many of them it is not known
    whether they do, and how many of the other images have it.
    """
    columns = [(("+" * a + "?" * b).ljust(20, "-") + "+" * c).ljust(200, "-") for a, b, c in others]
    return most_probable(ranked("+" * 30 + "-" * 170, *columns), 0)["beside"]


def verdicts_at(p_holm):
    return [word["verdict"] for word in words_of(KEPT._replace(words=KEPT.words.assign(p_holm=p_holm)))]


def walled():
    """The words on the wall by their tiles. Words are given by the fraction that is right, and the AUC."""
    own = {"verdict": "recognised", "by_chance": 1, "first": [(3, True), (5, False)], "telling": list("stuvwxyz")}
    values = {"a": (0.2, 0.7), "b": (0.7, 0.7), "c": (0.2, 0.8), "d": (0.9, 0.9)}
    words = [own | {"word": word, "precision_at_10": right, "auc": auc} for word, (right, auc) in values.items()]
    words[3]["verdict"] = "few"
    return [(tile["word"], tile["images"], tile["telling"]) for tile in wall_of(words)]


def why_not_learnt():
    flags = ["", Kind.FEW_TRAINING_WITH, Kind.FEW_TEST_WITH, "", Kind.ONE_GROUP]
    counted = pd.DataFrame({"word": list("abcde"), "images": [9, 2, 3, 8, 4], "left_out": flags})
    got = not_learnt(counted, ["a"], 5, "images")
    return [(word, n, got["reasons"][reason]) for word, n, reason in got["words"]]


def checked(p=None):
    """The labels to check of 300 images with and 300 without a tag: some of their rows, how many, how many first."""
    images, growing = [str(i) for i in range(600)], np.linspace(0, 1, 300)
    tags = pd.concat(
        pd.DataFrame({"sample": names, "tag": "cat", "kind": kind, "probability": of_tag if p is None else p})
        for kind, names, of_tag in (("wrong", images[:300], growing), ("missing", images[:299:-1], 1 - growing / 2))
    )
    checks = to_check(tags, images, ["dog", "cat"])
    rows = [[row for row, *_ in one] for one in (checks.wrong, checks.missing)]
    return rows[0][:200], rows[1][:2], [*map(len, rows)], {k for _, k, _ in checks.wrong}, checks.first


def of_labels(change, exclusive=True):
    """Whether labels of two classes exclude each other after a change of captions."""
    given = of_classes(np.random.default_rng(0))
    kept = given["kept"]._replace(exclusive=exclusive)
    return exclude_each_other(kept, list(given["images"]["image"]), change(given["captions"]))


WELL = "at least 5 of the 10 most probable test images are right."


def best(*verdicts):
    """What is said of words a to g by growing AUC, of which two are right on most images."""
    rows = {"word": list("abcdefg"), "auc": np.arange(7) / 10 + 0.3, "precision_at_10": [0, 0, 0, 0, 0, 0.5, 1]}
    return sentences.best(pd.DataFrame(rows), verdicts, 10, "images")


def stable(bound):
    table = pd.DataFrame({"used": [True, False, True, False], "halves": [10, 9, 1, 0], "of": 10, "threshold": 0.9})
    return sentences.how_stable(table.assign(bound=bound))


def costs(rows=slice(None), **values):
    return sentences.what_sparsity_costs(fits().norms[rows].assign(**values))


def compared(*others):
    """What is said of a method with a mean AUC of 0.8 at the largest size, beside those of other methods."""
    rows = zip(("hinge-l1inf", "svm-l2", "hinge-l1"), [0.8, *others], strict=False)
    largest = pd.DataFrame(rows, columns=["method", "auc_weighted"])
    largest = largest.assign(n=1200, features=[0.12, 1, 1][: len(largest)])
    said = sentences.comparison(pd.concat([largest.assign(n=10, auc_weighted=0.5), largest]))
    first = "With 1,200 positives for each label, l1,∞ has a mean AUC of 0.800 and uses 12 % of the features"
    return said.replace(first, "…")


def warned(*rows, things=("samples", "topics"), **values):
    """What is said of warnings: pairs of a flag and of its first row."""
    table = pd.DataFrame(rows, columns=["warning", "first"]).assign(**{"table": "chosen", "rows": 1, "of": 9} | values)
    return warnings.warnings_of(table, *things)


EDGE = "radius at the upper edge of its grid"
FLAGS = [(EDGE, "run=2, n=5, method=hinge-l1inf, radius=30.0"), ("a new kind", ""), ("certified gap: 7%", np.nan)]
FLAGS += [("left out, too few test images with it: 0", "")]
HEAT = np.zeros((8, 12))
HEAT[:4, :4], HEAT[4:, 8:] = 2.0, -0.5
STABLE = "1 of the 2 features of the kept model were chosen in at least 9 of 10 random halves of the "
OTHERS = "The kept model has the norm l1,∞, uses 5 of 6 features and has a mean AUC of .750. The other norms: l2: 6 "
FACTS = {
    # Ranked images and words
    "an image whose label is unknown is not among the most probable": (
        lambda: most_probable(ranked("?+-+"), 0),
        {"first": [(1, True), (2, False), (3, True)], "top": 3, "by_chance": 2.0, "beside": []},
    ),
    **{
        f"a word on {top} of the 20 first images, {rest} of the others and perhaps {n} stands out: {out}": (
            lambda given=(top, n, rest): beside(given),
            [["b", top]] if out else [],
        )
        for top, n, rest, out in (
            *((3, 0, 12, True), (3, 0, 13, False), (2, 0, 0, False), (5, 0, 20, True), (5, 0, 21, False)),
            (3, 17, 12, True),
        )
    },
    "of words that stand out, three with most images beyond what is expected are shown": (
        lambda: beside((6, 0, 4), (8, 0, 32), (5, 0, 0), (3, 0, 0)),
        [["b", 6], ["d", 5], ["c", 8]],
    ),
    "words are on the wall in the order of their first images, with five telling features": (
        walled,
        [(word, [(3, True), (5, False)], list("stuvw")) for word in "bca"],
    ),
    "words that were not learnt come with the reason, the most frequent first": (
        why_not_learnt,
        [
            ("d", 8, "only the 1 most frequent are learnt; to learn more, raise the setting n_words"),
            ("e", 4, "training images of two groups must have it, and lack it"),
            ("c", 3, "none of them is among the test images"),
            ("b", 2, "at least 5 training images are needed"),
        ],
    ),
    "the first 200 labels of each kind are shown, and the doubtful ones of the first 30 counted": (
        checked,
        ([*range(200)], [599, 598], [200, 200], {1}, 60),
    ),
    "a label as probable as not is not doubtful": (lambda: checked(0.5)[-1], 0),
    "a word is recognised at 5 %": (lambda: verdicts_at(0.05), ["recognised"] * 2),
    "a word is not recognised above 5 %": (lambda: verdicts_at(0.051), ["not"] * 2),
    # Classes
    "labels of which each sample has one are classes": (lambda: of_labels(lambda captions: captions), True),
    "words of sentences are no classes": (
        lambda: of_labels(lambda captions: captions.replace(WORDS[1], "zebra")),
        False,
    ),
    "labels that a sample lacks are no classes": (lambda: of_labels(lambda captions: captions[1:]), False),
    "labels of which 2 of 35 samples have two are no classes": (
        lambda: of_labels(lambda captions: pd.concat([captions, captions[:1]])),
        False,
    ),
    "labels that are not exclusive in the list of tags to check are no classes": (
        lambda: of_labels(lambda captions: captions, exclusive=False),
        False,
    ),
    # Numbers
    "eight features are telling, largest first": (
        lambda: "".join(telling(np.array([3, -9, 1, 2, 4, 0, 5, 6, 7, 8, 0.5]), list("abcdefghijk"))),
        "jihgeadc",
    ),
    "a feature with a weight against a word is not telling": (
        lambda: "".join(telling(np.array([3, -9, 1, 2]), list("abcd"))),
        "adc",
    ),
    "weights become bytes, and none is lost": (
        lambda: bytes_of(packed_weights(np.array([[2.0, 1e-6], [-1e-6, 0.0], [-1.0, 1.0]])), np.int8).tolist(),
        [127, 1, -1, 0, -64, 64],
    ),
    "rows below 65,536 take two bytes": (
        lambda: bytes_of(packed_rows([np.array([0]), np.array([2**16 - 2])], 2**16 - 1), np.uint16).tolist(),
        [0, 2**16 - 2],
    ),
    "more rows take four bytes": (
        lambda: bytes_of(packed_rows([np.array([0]), np.array([2**16 - 1])], 2**16), np.uint32).tolist(),
        [0, 2**16 - 1],
    ),
    "numbers have six digits, and those that JSON does not know are none": (
        lambda: [*map(number, (0.12345678, np.nan, np.inf, -np.inf))],
        [0.123457, None, None, None],
    ),
    # Sentences
    "the best words are named": (
        lambda: best(*["recognised"] * 7),
        [f"For 2 of them, {WELL}", "Recognised best: g, f, e."],
    ),
    "words that are not recognised are named": (
        lambda: best("not", "few", *["recognised"] * 5),
        [
            *(f"For 2 of them, {WELL}", "Recognised best: g, f, e."),
            *("Not recognised better than chance: a.", "Too few test images to tell: b."),
        ],
    ),
    "three of many words are named": (
        lambda: best(*["not"] * 7),
        ["Not recognised better than chance: a, b, c and 4 more."],
    ),
    "of fewer than ten test samples half are enough": (
        lambda: sentences.best(
            pd.DataFrame({"word": ["a"], "auc": 0.3, "precision_at_10": 2 / 3}), ["recognised"], 3, "samples"
        )[0],
        "For 1 of them, at least 2 of the 3 most probable test samples are right.",
    ),
    "the kept model is compared with other norms": (costs, f"{OTHERS}features, AUC −.050."),
    "a better norm has a plus": (lambda: costs(auc=[0.75, 0.754]), f"{OTHERS}features, AUC +.004."),
    "a model may use all features": (
        lambda: costs(slice(1, None), kept=True),
        "The kept model has the norm l2, uses all 6 features and has a mean AUC of .700.",
    ),
    "the bound on false choices is given if it says something": (
        lambda: [
            STABLE in stable(1.25),
            "Of the 2 features that were chosen so often, at most 1.3 are expected to be false, if " in stable(1.25),
        ],
        [True, True],
    ),
    "the bound on false choices is left out otherwise": (
        lambda: [
            stable(2.0).startswith(STABLE),
            stable(2.0).endswith(
                "On average a half chooses 2 of 4 features, too many for a useful bound on the false choices."
            ),
        ],
        [True, True],
    ),
    "nothing is said of halves on which no feature was selected": (
        lambda: sentences.how_stable(pd.DataFrame(columns=COLUMNS)),
        "",
    ),
    **{
        f"a method with .8 beside others with {others} is {said}": (
            lambda given=others: compared(*given),
            f"…; it is {said} the best other method, linear SVM.",
        )
        for others, said in (
            *(((0.82,), "0.020 behind"), ((0.78,), "0.020 ahead of"), ((0.809,), "level (within 0.01) with")),
            ((0.78, 0.6), "0.020 ahead of"),
        )
    },
    "a method alone is not compared": (compared, "…."),
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
            one["details"]
            for one in warned(
                *(("a", ""), ("a", ""), ("b", "")), things=(), table=["tasks_run1", "tasks_run2", "left_out"]
            )
        ],
        [["a, in 2 of 18 rows of the table tasks of 2 runs"]],
    ),
    "every kind of flag has one meaning": (
        lambda: sorted(kind for meaning in warnings.MEANINGS for kind in meaning.kinds),
        sorted(Kind),
    ),
    "every kind of flag has words of its own": (
        lambda: len({one["text"] for one in warned(*((kind, "") for kind in Kind), things=())}),
        len(warnings.MEANINGS),
    ),
    "what is left out is counted by reason, the most frequent first": (
        lambda: _reasons(pd.DataFrame({"item": list("abc"), "reason": ["one", "two", "two"]})),
        [{"reason": "two", "count": 2, "first": "b"}, {"reason": "one", "count": 1, "first": "a"}],
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
    "features that are no pixels become no picture": (lambda: thumbnails.of_features(np.zeros(5)), None),
    "thumbnails are WEBP": (lambda: thumbnails.encoded(np.zeros((9, 9, 3), np.uint8))[8:12], b"WEBP"),
}


@pytest.mark.parametrize("fact", FACTS)
def test_it_is_so_that(fact):
    got, expected = FACTS[fact]
    assert got() == expected


# Words


def test_telling_features_of_a_word_are_those_of_its_own_weights(kept):
    for word, w in zip(words_of(kept._replace(names=NAMES)), kept.W.T, strict=True):
        assert word["telling"] == [NAMES[i] for i in np.argsort(-w) if w[i] > 0]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_documents_are_told_by_the_features_that_matter_most(kept, form):
    X, W = kept.X, np.outer(np.arange(1, 7), [1, -2, 0.5])
    found = reasons_of(form(X), [3], W, NAMES)
    assert [found["features"][j] for j, _ in found["values"][3]] == [NAMES[i] for i in np.argsort(-abs(X[3] * W[:, 0]))]
    np.testing.assert_array_equal(bytes_of(found["weights"], np.int8).reshape(6, 3), np.rint(127 * W / 12))
    assert found["brief"] == (form is not np.asarray)
    few = reasons_of(form(X * [1, 0, 1, 1, 1, 1]), [3], W * np.array([[1], [1], [0], [1], [1], [1]]), NAMES)
    assert {few["features"][j] for j, _ in few["values"][3]} == {NAMES[i] for i in (0, 3, 4, 5)}


# What words share


def test_rows_and_columns_of_the_map_of_weights_are_ordered_so_that_similar_ones_stand_together(kept):
    W = np.kron([[1.0, 0], [0, 1]], np.ones((2, 2)))[[0, 2, 1, 3]][:, [0, 2, 1, 3]]
    features = [kept.features[0]._replace(place=i) for i in range(4)]
    weights = map_of_weights(kept._replace(W=W, features=features))
    shown = bytes_of(weights["weights"], np.int8).reshape(4, 4)
    assert (np.abs(np.diff(shown, axis=0)).max(axis=1) > 0).tolist() == [False, True, False]
    assert (np.abs(np.diff(shown, axis=1)).max(axis=0) > 0).tolist() == [False, True, False]


def test_a_feature_shows_the_images_with_its_largest_values(kept):
    for feature in map_of_weights(kept)["features"]:
        order = 10 + np.argsort(-kept.X[10:, int(feature["name"].removeprefix("feature "))])
        assert feature["images"] == order[:4].tolist()


# The list of datasets


def test_the_list_shows_models_and_the_findings_figures_tables_and_claims_of_studies(rng):
    text = index([listed(model=made(rng).findings), listed(dataset="other")], "claims/mine/index.html")
    assert 'href="mine/index.html"' in text and 'href="other/index.html"' not in text
    assert html.unescape(text).count("it is level (within 0.01) with the best other method, linear SVM.") == 2
    assert "<img src=x" not in text and text.count("&lt;img src=x") > 10
    for file in ("mine/annotation/figures/auc.png", "mine/annotation/tables/chosen.csv", "claims/mine/index.html"):
        assert text.count(f'href="{file}"') == 2
    assert text.count("Other warnings.") == 2


def test_the_finding_of_a_study_without_words_is_that_of_its_claims():
    (study,) = listed()["studies"]
    assert study._replace(means=None).finding == study.claims == HOSTILE


def test_pages_and_figures_share_the_colours_of_the_norms():
    text = index([], "")
    for name, colours in style.PALETTE.items():
        assert re.findall(f"--{name}: (#[0-9a-f]+);", text) == list(colours)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (r"C:\data\green tea.jpg", "../data/green%20tea.jpg"),
        (r"D:\data\green tea.jpg", "file:///D:/data/green%20tea.jpg"),
        (r"\\host\data\tea.jpg", "file://host/data/tea.jpg"),
    ],
)
def test_a_picture_on_another_drive_of_windows_has_an_absolute_address(file, expected, monkeypatch):
    monkeypatch.setattr(os, "path", ntpath)
    monkeypatch.setattr(os, "sep", ntpath.sep)
    assert images.url_of(file, r"C:\run") == expected


def test_a_sample_without_a_picture_has_no_original_file():
    loader = SimpleNamespace(SHOWS="names", feature_names=list, file=lambda image, **options: f"data/{image}")
    some = images.Images(loader, {}, pd.DataFrame({"image": ["row 1", "row 2"], "picture": ["a.jpg", ""]}), None)
    assert [some.original(row, "out/page") for row in range(2)] == ["../../data/a.jpg", None]

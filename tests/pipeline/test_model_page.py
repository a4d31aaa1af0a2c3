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
        "jointsparse mine 0a",
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
    assert shown.findings["warnings"] == 1


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


def test_words_stand_on_the_wall_in_the_order_of_their_first_images():
    own = {"verdict": "recognised", "by_chance": 1, "first": [(3, True), (5, False)], "telling": list("stuvwxyz")}
    values = {"a": (0.2, 0.7), "b": (0.7, 0.7), "c": (0.2, 0.8), "d": (0.9, 0.9)}
    words = [own | {"word": word, "precision_at_10": right, "auc": auc} for word, (right, auc) in values.items()]
    words[3]["verdict"] = "few"
    wall = wall_of(words)
    assert [(tile["word"], tile["images"]) for tile in wall] == [(word, own["first"]) for word in "bca"]
    assert wall[0]["telling"] == list("stuvw")


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
    text = made(rng, **values).html
    data = data_of(text)
    assert "\u202e" not in text and data["samples"][7] == "=7,\"\n\\u202e'="
    assert unquote(data["moved"][data["samples"][7]]) == values["images"]["image"][7]


def test_a_map_is_red_for_a_word_and_blue_against_it():
    heat = np.zeros((8, 12))
    heat[:4, :4], heat[4:, 8:] = 2.0, -0.5
    red, blue = thumbnails.overlay(heat, full=1.0)[[0, 1], [0, 2]]
    assert tuple(red) == (*thumbnails.FOR, thumbnails.OPAQUE) and tuple(blue[:3]) == thumbnails.AGAINST
    assert blue[3] == round(thumbnails.OPAQUE / 2) and thumbnails.overlay(heat, full=1.0)[1, 0, 3] == 0


# Words


def ranked(kept, *columns):
    """Test images that are less probable one after another, and labels: a text per word with +, - and ? if unknown."""
    labels = np.array([["-+".find(mark) for mark in column] for column in columns], np.int8).T
    p = np.linspace(1, 0, len(labels))[:, np.newaxis].repeat(len(columns), axis=1)
    words = pd.DataFrame({"word": list("abcdefgh")[: len(columns)]})
    return kept._replace(labels=labels, probabilities=p, test_images=np.arange(len(labels)), words=words)


def test_an_image_whose_label_is_unknown_is_not_among_the_most_probable(kept):
    shown = most_probable(ranked(kept, "?+-+"), 0)
    assert shown == {"first": [(1, True), (2, False), (3, True)], "top": 3, "by_chance": 2.0, "beside": []}


@pytest.mark.parametrize(
    ("in_top", "known_without", "in_rest", "shown"),
    [(3, 0, 12, True), (3, 0, 13, False), (2, 0, 0, False), (5, 0, 20, True), (5, 0, 21, False), (3, 17, 12, True)],
)
def test_a_word_stands_out_if_three_images_and_twice_as_many_as_expected_have_it(
    kept, in_top, known_without, in_rest, shown
):
    """Among the 20 most probable images of 200. Labels that are not known are no word."""
    other = ("+" * in_top + "?" * known_without).ljust(20, "-") + ("+" * in_rest).ljust(180, "-")
    got = most_probable(ranked(kept, "+" * 30 + "-" * 170, other), 0)["beside"]
    assert got == ([["b", in_top]] if shown else [])


def test_three_words_that_stand_out_are_shown_those_first_with_most_images_beyond_what_is_expected(kept):
    others = [
        ("+" * top).ljust(20, "-") + ("+" * rest).ljust(180, "-") for top, rest in ((6, 4), (8, 32), (5, 0), (3, 0))
    ]
    assert most_probable(ranked(kept, "+" * 30 + "-" * 170, *others), 0)["beside"] == [["b", 6], ["d", 5], ["c", 8]]


def test_words_that_were_not_learnt_come_with_the_reason():
    counted = pd.DataFrame(
        {"word": list("abcde"), "images": [9, 2, 3, 8, 4]}
        | {"left_out": ["", Kind.FEW_TRAINING_WITH, Kind.FEW_TEST_WITH, "", Kind.ONE_GROUP]}
    )
    got = not_learnt(counted, ["a"], 5, "images")
    assert [(word, n, got["reasons"][reason]) for word, n, reason in got["words"]] == [
        ("d", 8, "only the 1 most frequent are learnt; to learn more, raise the setting n_words"),
        ("e", 4, "training images of two groups must have it, and lack it"),
        ("c", 3, "none of them is among the test images"),
        ("b", 2, "at least 5 training images are needed"),
    ]


@pytest.mark.parametrize(("n", "dtype"), [(2**16 - 1, np.uint16), (2**16, np.uint32)])
def test_rows_have_as_many_bytes_as_the_last_one_needs(n, dtype):
    assert bytes_of(packed_rows([np.array([0]), np.array([n - 1])], n), dtype).tolist() == [0, n - 1]


# Tags to check


def test_the_first_two_hundred_labels_of_each_kind_are_shown_and_the_doubtful_ones_of_thirty_counted():
    images = [str(i) for i in range(600)]
    p = np.linspace(0, 1, 300)
    tags = pd.concat(
        pd.DataFrame({"sample": names, "tag": "cat", "kind": kind, "probability": of_tag})
        for kind, names, of_tag in (("wrong", images[:300], p), ("missing", images[:299:-1], 1 - p / 2))
    )
    checks = to_check(tags, images, ["dog", "cat"])
    assert [row for row, *_ in checks.wrong] == [*range(200)] and [row for row, *_ in checks.missing][:2] == [599, 598]
    assert len(checks.missing) == 200 and {k for _, k, _ in checks.wrong} == {1} and checks.first == 60
    few = to_check(tags.assign(probability=0.5), images, ["dog", "cat"])
    assert few.first == 0


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda labels, captions: captions, True),
        (lambda labels, captions: captions.replace(WORDS[1], "zebra"), False),  # a word of a sentence
        (lambda labels, captions: captions[1:], False),
        (lambda labels, captions: pd.concat([captions, captions[:1]]), False),  # 2 of 35 images
        (lambda labels, captions: [labels.__setitem__((0, 0), -1), captions][1], False),
    ],
    ids=["classes", "words", "none", "several", "unknown"],
)
def test_labels_are_classes_if_every_sample_has_one(rng, change, expected):
    given = of_classes(rng)
    captions = change(given["kept"].labels, given["captions"])
    assert exclude_each_other(given["kept"], list(given["images"]["image"]), captions) == expected


# Words


def test_eight_features_are_telling():
    w = np.array([3, -9, 1, 2, 4, 0, 5, 6, 7, 8, 0.5])
    assert telling(w, list("abcdefghijk")) == list("jihgeadc")
    assert telling(w[:4], list("abcd")) == list("adc")


def test_weights_become_bytes_of_which_none_is_lost():
    packed = packed_weights(np.array([[2.0, 1e-6], [-1e-6, 0.0], [-1.0, 1.0]]))
    assert np.frombuffer(base64.b64decode(packed), np.int8).tolist() == [127, 1, -1, 0, -64, 64]


@pytest.mark.parametrize(
    ("value", "expected"), [(0.12345678, 0.123457), (np.nan, None), (np.inf, None), (-np.inf, None)]
)
def test_numbers_have_six_digits_and_what_json_does_not_know_is_none(value, expected):
    assert number(value) == expected


@pytest.mark.parametrize(("p_holm", "expected"), [(0.05, "recognised"), (0.051, "not")])
def test_a_word_is_recognised_if_it_is_told_from_chance_at_five_percent(kept, p_holm, expected):
    words = words_of(kept._replace(words=kept.words.assign(p_holm=p_holm)))
    assert [word["verdict"] for word in words] == [expected] * 2


def test_telling_features_of_a_word_are_those_of_its_own_weights(kept):
    for word, w in zip(words_of(kept._replace(names=NAMES)), kept.W.T, strict=True):
        assert word["telling"] == [NAMES[i] for i in np.argsort(-w) if w[i] > 0]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_documents_are_told_by_the_features_that_matter_most(kept, form):
    X, W = kept.X, np.outer(np.arange(1, 7), [1, -2, 0.5])
    found = reasons_of(form(X), [3], W, NAMES)
    assert [found["features"][j] for j, _ in found["values"][3]] == [NAMES[i] for i in np.argsort(-abs(X[3] * W[:, 0]))]
    weights = np.frombuffer(base64.b64decode(found["weights"]), np.int8).reshape(6, 3)
    np.testing.assert_array_equal(weights, np.rint(127 * W / 12))
    assert found["brief"] == (form is not np.asarray)
    few = reasons_of(form(X * [1, 0, 1, 1, 1, 1]), [3], W * np.array([[1], [1], [0], [1], [1], [1]]), NAMES)
    assert {few["features"][j] for j, _ in few["values"][3]} == {NAMES[i] for i in (0, 3, 4, 5)}


# What words share


def test_rows_and_columns_of_the_map_of_weights_are_ordered_so_that_similar_ones_stand_together(kept):
    W = np.kron([[1.0, 0], [0, 1]], np.ones((2, 2)))[[0, 2, 1, 3]][:, [0, 2, 1, 3]]
    features = [kept.features[0]._replace(place=i) for i in range(4)]
    weights = map_of_weights(kept._replace(W=W, features=features))
    shown = np.frombuffer(base64.b64decode(weights["weights"]), np.int8).reshape(4, 4)
    assert (np.abs(np.diff(shown, axis=0)).max(axis=1) > 0).tolist() == [False, True, False]
    assert (np.abs(np.diff(shown, axis=1)).max(axis=0) > 0).tolist() == [False, True, False]


def test_a_feature_shows_the_images_with_its_largest_values(kept):
    for feature in map_of_weights(kept)["features"]:
        order = 10 + np.argsort(-kept.X[10:, int(feature["name"].removeprefix("feature "))])
        assert feature["images"] == order[:4].tolist()


# Sentences

WELL = "at least 5 of the 10 most probable test images are right."


def learnt():
    """Words a to g by growing AUC."""
    rows = {"word": list("abcdefg"), "auc": np.arange(7) / 10 + 0.3, "precision_at_10": [0, 0, 0, 0, 0, 0.5, 1]}
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["recognised"] * 7, [f"For 2 of them, {WELL}", "Recognised best: g, f, e."]),
        (
            ["not", "few", *["recognised"] * 5],
            [
                *(f"For 2 of them, {WELL}", "Recognised best: g, f, e."),
                *("Not recognised better than chance: a.", "Too few test images to tell: b."),
            ],
        ),
        (["not"] * 7, ["Not recognised better than chance: a, b, c and 4 more."]),
    ],
)
def test_the_first_lines_name_what_was_learnt(verdicts, expected):
    assert sentences.best(learnt(), verdicts, 10, "images") == expected


def test_of_fewer_than_ten_test_images_half_are_enough():
    said, _ = sentences.best(learnt()[:1].assign(precision_at_10=2 / 3), ["recognised"], 3, "samples")
    assert said == "For 1 of them, at least 2 of the 3 most probable test samples are right."


def test_what_sparsity_costs_is_said_beside_the_kept_model():
    norms = fits().norms
    assert sentences.what_sparsity_costs(norms) == (
        "The kept model has the norm l1,∞, uses 5 of 6 features and has a mean AUC of .750. The other norms: l2: 6 "
        "features, AUC −.050."
    )
    assert sentences.what_sparsity_costs(norms.assign(auc=[0.75, 0.754])).endswith("l2: 6 features, AUC +.004.")
    assert sentences.what_sparsity_costs(norms[1:].assign(kept=True)) == (
        "The kept model has the norm l2, uses all 6 features and has a mean AUC of .700."
    )


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (1.25, "Of the 2 features that were chosen so often, at most 1.3 are expected to be false, if "),
        (2.0, "On average a half chooses 2 of 4 features, too many for a useful bound on the false choices."),
    ],
)
def test_the_bound_on_false_choices_is_given_if_it_says_something(bound, expected):
    table = pd.DataFrame({"used": [True, False, True, False], "halves": [10, 9, 1, 0], "of": 10, "threshold": 0.9})
    said = sentences.how_stable(table.assign(bound=bound))
    assert said.startswith(
        "1 of the 2 features of the kept model were chosen in at least 9 of 10 random halves of the "
    )
    assert expected in said


def test_nothing_is_said_of_halves_if_no_features_were_selected_on_them(rng):
    assert sentences.how_stable(pd.DataFrame(columns=COLUMNS)) == ""
    assert "stability.csv" not in made(rng).html


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([0.82], "; it is 0.020 behind the best other method, linear SVM."),
        ([0.78], "; it is 0.020 ahead of the best other method, linear SVM."),
        ([0.809], "; it is level (within 0.01) with the best other method, linear SVM."),
        ([0.78, 0.6], "; it is 0.020 ahead of the best other method, linear SVM."),
        ([], "."),
    ],
)
def test_the_first_method_of_a_study_is_compared_with_the_best_other_method_at_the_largest_size(others, expected):
    rows = zip(("hinge-l1inf", "svm-l2", "hinge-l1"), [0.8, *others], strict=False)
    largest = pd.DataFrame(rows, columns=["method", "auc_weighted"]).assign(
        n=1200, features=[0.12, 1, 1][: 1 + len(others)]
    )
    said = sentences.comparison(pd.concat([largest.assign(n=10, auc_weighted=0.5), largest]))
    first = "With 1,200 positives for each label, l1,∞ has a mean AUC of 0.800 and uses 12 % of the features"
    assert said == first + expected


# Warnings


def test_warnings_stand_in_plain_words_those_that_make_a_number_wrong_first():
    warned = [
        ("radius at the upper edge of its grid", "run=2, n=5, method=hinge-l1inf, radius=30.0"),
        ("a new kind", ""),
        ("certified gap: 7%", np.nan),
        ("left out, too few test images with it: 0", ""),
    ]
    table = pd.DataFrame(warned, columns=["warning", "first"]).assign(table="chosen", rows=1, of=9)
    shown = warnings.warnings_of(table, "samples", "topics")
    assert [(one["severity"], one["text"]) for one in shown] == [
        (
            "wrong",
            "The objective of some fits may be more than 5 % above its minimum: they need more iterations.",
        ),
        ("wrong", "Other warnings."),
        ("note", "Some topics occur on too few samples to be learnt and tested, and are left out."),
        ("note", "Validation chose the largest radius or C of the grid: a larger value may do better."),
    ]
    assert shown[3]["details"] == [
        "radius at the upper edge of its grid, in 1 of 9 rows of the table chosen; first: run 2, n 5, l1,∞, radius 30"
    ]
    of_runs = table[:3].assign(table=["tasks_run1", "tasks_run2", "left_out"], warning=["a", "a", "b"], first="")
    (shown,) = warnings.warnings_of(of_runs)
    assert shown["details"] == ["a, in 2 of 18 rows of the table tasks of 2 runs"]  # left_out has a list


def test_every_kind_of_flag_has_one_meaning_in_plain_words():
    """97 repeated documents once stood among "other warnings"."""
    assert sorted(kind for meaning in warnings.MEANINGS for kind in meaning.kinds) == sorted(Kind)
    table = pd.DataFrame({"warning": list(Kind), "first": "", "table": "chosen", "rows": 1, "of": 9})
    texts = [warning["text"] for warning in warnings.warnings_of(table)]
    assert len(texts) == len(set(texts)) == len(warnings.MEANINGS)


# Thumbnails


def test_pixels_become_a_picture():
    picture = thumbnails.of_features(np.array([0, 0.5, 1, 2]))
    assert picture.shape == (120, 120, 3)
    assert [picture[0, 0, 0], picture[0, -1, 0], picture[-1, 0, 0], picture[-1, -1, 0]] == [255, 128, 0, 0]
    assert thumbnails.of_features(np.zeros(5)) is None
    assert thumbnails.encoded(picture)[8:12] == b"WEBP"


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

"""The page of a saved model: what it shows of words, images and features, and that no text of the data is code."""

import base64
import html
import json
import ntpath
import os
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pages import HOSTILE, WORDS, fits, kept_model, listed, made
from scipy import sparse, stats

from jointsparse.metrics import STATISTICS, by_chance
from jointsparse.pipeline.figures import style
from jointsparse.pipeline.flag import Kind
from jointsparse.pipeline.models.stability import COLUMNS
from jointsparse.pipeline.page import images, sentences, thumbnails, warnings
from jointsparse.pipeline.page.index import index
from jointsparse.pipeline.page.kept import judged
from jointsparse.pipeline.page.weights import map_of_weights
from jointsparse.pipeline.page.words import (
    number,
    packed_scores,
    packed_weights,
    ranking,
    reasons_of,
    suspects_of,
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


def test_thumbnails_of_all_images_that_are_shown_are_asked_for(rng):
    mine = made(rng)
    data = data_of(mine.html)
    assert sorted(map(int, data["images"])) == mine.images
    shown = {i for word in data["words"] for i, _ in word["highest"]}
    assert {data["rows"][str(i)] for i in shown} <= set(mine.images)
    assert {file for _, file in mine.findings["pictures"]} <= {thumbnails.file_of(row) for row in mine.images}


def test_each_image_that_the_model_ranks_has_a_map_and_the_map_of_weights_those_of_the_model(rng, kept):
    shown = made(rng, kept)
    asked = {(row, k) for row, words in shown.maps.items() for k in words}
    assert len(asked) == (14 + 6) + (10 + 6) + 2 * 4  # of 15 and of 10 images with the word, and of two features
    best = 5 + max(np.flatnonzero(kept.labels[:, 0]), key=lambda i: kept.scores[i, 0])
    assert {(best, 0), (5 + int(np.argmax(kept.X[:, 1])), 3)} <= asked
    weights = data_of(shown.html)["weights"]
    got = np.frombuffer(base64.b64decode(weights["weights"]), np.int8).reshape(2, 2)
    features = [kept.features[feature["place"] - 2].place for feature in weights["features"]]
    np.testing.assert_array_equal(got, np.rint(127 * kept.W[np.ix_(features, weights["words"])] / 2))
    assert made(rng, kept._replace(with_maps=False)).maps == {}


def test_the_page_says_what_was_learnt_and_how_well(rng, kept):
    shown = made(rng, kept)
    text = " ".join(html.unescape(shown.html).split())
    for said in (
        "The kept model recognises 1 of 2 words better than chance; for 1 of them, at least 5 of the 10",
        "On average 5.0 of the 10 highest-ranked images are right (mean AUC 0.750 on 30 test images).",
        "The model learns the 2 most frequent of 374 words; to learn all, set n_words to 374.",
        "The kept model, l1,∞, uses 5 of 6 features and is ahead of l2, which uses all of them",
        "with the norm l1,∞ and the radius 2, uses 5 of 6 features, of which the map shows 2.",
        '<th>l1,∞, kept</th><td>0.750 <span class="faint">0.650 to 0.850</span></td>',
        "<td>12 of 30</td><td>1.5</td><td>2</td>",
        '40 images were used; 2 files, captions or labels were <a href="#data-used">left out</a>. ',
        '<a href="#data-used">1 warning</a>: The objective of some fits may be more than 5 %',
    ):
        assert said in text, said
    assert shown.findings["sentence"] in text and shown.findings["warnings"] == 1
    assert shown.findings["numbers"] == {
        "images": "40",
        "of the 10 highest-ranked right": "5.0",
        "of the features": "83 %",
    }


def test_every_statistic_is_in_the_list_of_words_in_the_order_and_in_the_table_of_norms(rng):
    text = made(rng).html
    for key, statistic in STATISTICS.items():
        assert text.count(f"<th>{statistic.label}</th>") == 2
        assert f'<option value="{key}">{statistic.label}</option>' in text


def test_the_statistics_of_a_word_are_those_of_the_card_and_its_p_value_counts_known_labels(kept):
    labels = kept.labels.astype(np.int8)
    labels[:10, 1] = -1
    words, averages = judged(kept.model.card_, labels)
    has = (labels == 1).sum(axis=0)
    assert words["word"].tolist() == WORDS and words["positives"].tolist() == has.tolist()
    assert (words["auc"].tolist(), averages["auc"]) == ([0.55, 0.8], 0.75)
    p = by_chance(np.array([0.55, 0.8]), has, np.array([30, 20]))
    np.testing.assert_allclose(words["p_holm"], [max(2 * p[1], p[0]), 2 * p[1]])


def test_the_wall_shows_the_images_ranked_highest_of_words_that_are_told_from_chance(rng, kept):
    order = np.argsort(-kept.scores[:, 1])
    wall = re.search('<ul class="wall">(.*)<section id="words">', made(rng, kept).html, re.DOTALL)[1]
    assert re.findall('src="(.*?)"', wall) == [thumbnails.file_of(5 + row) for row in order[:3]]
    assert wall.count('class="without"') == 3 - kept.labels[order[:3], 1].sum()
    assert f'Not recognised better than chance: <a href="#word={WORDS[0]}">' in wall  # its interval begins at 0.45


def test_a_tile_has_a_full_dot_for_each_image_that_is_right_and_a_line_where_guessing_is(rng):
    kept = kept_model(rng)  # whose card says that half of the first ten are right, and a third have the word
    (dots,) = re.findall('<svg class="dots".*?</svg>', made(rng, kept).html, re.DOTALL)
    assert 'aria-label="5.0 of 10 right, 3.3 by guessing"' in dots and 'd="M40.0 0v14"' in dots
    assert re.findall('fill-opacity="(.*?)"', dots) == ["1.00"] * 5 + ["0.00"] * 5


def test_the_page_begins_with_the_map_of_the_highest_ranked_photograph_that_has_the_best_word(rng, kept):
    scores, labels = kept.scores[:, 1], kept.labels[:, 1].copy()
    best, second = np.argsort(-scores)[:2].tolist()
    labels[second] = True
    for right in (True, False):
        labels[best] = right
        text = made(rng, kept._replace(labels=np.column_stack([kept.labels[:, 0], labels]))).html
        assert thumbnails.file_of(5 + (best if right else second), 1) in text
        assert f"The model gives this photograph rank {1 if right else 2} of 30." in text
    command = re.search('<code id="command">(.*?)</code>', made(rng, kept).html)[1]
    assert re.sub("<.*?>", "", command) == "jointsparse annotate results/mine/model.jointsparse FOLDER"
    with_network = made(rng, kept, network="private/my network.onnx").html
    assert "FOLDER --network &#39;my network.onnx&#39;</code>" in with_network and "private" not in with_network
    assert 'class="wipe"' not in made(rng, kept._replace(with_maps=False)).html


def test_words_stand_on_the_wall_in_the_order_of_their_first_images():
    own = {
        "recognised": True,
        "auc": 0.7,
        "by_chance": 1,
        "highest": [[3, 1], [4, 4]],
        "errors": [[5, 2], [6, 3]],
        "telling": list("stuvwxyz"),
    }
    values = {"a": (0.2, 0.7), "b": (0.7, 0.7), "c": (0.2, 0.8), "d": (0.9, 0.9)}
    words = [own | {"word": word, "precision_at_10": right, "auc": auc} for word, (right, auc) in values.items()]
    words[3]["recognised"] = False
    wall, unknown = wall_of(words)
    assert ([(tile["word"], tile["images"]) for tile in wall], unknown) == (
        [(word, [(3, True), (5, False), (6, False)]) for word in "bca"],
        ["d"],
    )
    assert wall[0]["telling"] == list("stuvw")


def test_labels_that_may_be_wrong_are_listed(rng, kept):
    suspects = made(rng, kept).suspects.to_dict("records")
    assert suspects
    for row in suspects:
        image = int(row["image"].split()[0]) - 5
        expected = (WORDS[1], kept.scores[image, 1], kept.labels[image, 1])
        assert (row["word"], row["score"], row["label"]) == expected


def test_an_image_comes_with_its_scores_and_ranks_for_every_word(rng):
    scores = rng.normal(size=(30, 3)) * [1, 5, 0]
    said = {name: base64.b64decode(packed) for name, packed in packed_scores(scores, [4, 9]).items()}
    levels, ranks = np.frombuffer(said["scores"], np.int8), np.frombuffer(said["ranks"], np.uint16)
    expected = (scores - scores.mean(axis=0))[:, :2] / scores[:, :2].std(axis=0)
    np.testing.assert_allclose(levels.reshape(2, 3)[:, :2] / 20, expected[[4, 9]], atol=0.026)
    np.testing.assert_array_equal(ranks.reshape(2, 3)[:, :2], stats.rankdata(-scores, axis=0)[[4, 9], :2])


def test_a_sample_may_have_a_text_no_picture_and_labels_that_are_unknown(rng, kept):
    table = pd.DataFrame({"image": [f"row {i}" for i in range(40)], "split": "test", "text": "said"})
    kept = kept._replace(labels=kept.labels.astype(np.int8))
    kept.labels[::2, 1] = -1
    captions = pd.DataFrame({"image": ["row 5", "row 6"], "caption": "cat", "known": [False, True]})
    options = {"images": table, "captions": captions, "original": None}
    shown = made(rng, kept, thumbnail=lambda row, *place: None if row == 5 else "a.webp", **options)
    data = data_of(shown.html)
    assert [data["images"]["5"][key] for key in ("captions", "file", "text")] == [[], None, "said"]
    assert data["images"]["6"]["captions"] == ["cat"]
    assert all(has == ([] if int(i) % 2 else [1]) for i, has in data["unclear"].items())
    assert 5 not in shown.images


def test_a_map_is_red_for_a_word_and_blue_against_it():
    heat = np.zeros((8, 12))
    heat[:4, :4], heat[4:, 8:] = 2.0, -0.5
    red, blue = thumbnails.overlay(heat, full=1.0)[[0, 1], [0, 2]]
    assert tuple(red) == (*thumbnails.FOR, thumbnails.OPAQUE) and tuple(blue[:3]) == thumbnails.AGAINST
    assert blue[3] == round(thumbnails.OPAQUE / 2) and thumbnails.overlay(heat, full=1.0)[1, 0, 3] == 0


# Words


def test_images_are_ranked_by_their_scores(kept):
    for k, word in enumerate(words_of(kept)):
        has, order = kept.labels[:, k], np.argsort(-kept.scores[:, k], kind="stable")
        right, wrong = ([[i, rank] for rank, i in enumerate(order, 1) if has[i] == held] for held in (True, False))
        m = has.sum()
        assert word["highest"] == right[:8]
        assert word["misses"] == [pair for pair in right[::-1] if pair[1] > m][:6]
        assert word["errors"] == [pair for pair in wrong if pair[1] <= max(m, 10)][:6]
        alarms, hits = word["roc"]
        assert (alarms[0], hits[0], alarms[-1], hits[-1]) == (0, 0, 1, 1)
        auc = STATISTICS["auc"](kept.scores[:, [k]], kept.labels[:, [k]])[0]
        assert np.trapezoid(hits, alarms) == pytest.approx(auc, abs=0.05)
        assert "telling" not in word


def ranked(*columns):
    """Scores that fall from image to image, and labels: a text per word with +, - and ? for what is not known."""
    labels = np.array([["-+".find(mark) for mark in column] for column in columns], np.int8).T
    return np.linspace(1, 0, len(labels))[:, np.newaxis].repeat(len(columns), axis=1), labels


@pytest.mark.parametrize(
    ("has", "errors", "misses"),
    [
        # Errors are among the first ten, or among the first as many as have the word, misses behind the latter.
        ("+---+--------------+", [2, 3, 4, 6, 7, 8], [20, 5]),
        ("+++++++++--", [10], []),
        ("++-+--------", [3, 5, 6, 7, 8, 9], [4]),
        ("++++++++++-+-+--", [11], [14]),
        ("+++++++++++-----+++++++", [12, 13, 14, 15, 16], [23, 22, 21, 20, 19]),
    ],
)
def test_errors_are_images_without_the_word_ranked_among_the_first_and_misses_those_with_it_behind(has, errors, misses):
    shown = ranking(*ranked(has), 0, ["cat"])
    got = {kind: [[image, rank] for image, rank in shown[kind]] for kind in ("errors", "misses")}
    assert got == {
        kind: [[rank - 1, rank] for rank in ranks] for kind, ranks in (("errors", errors), ("misses", misses))
    }


def test_images_whose_label_is_not_known_have_no_rank():
    shown = ranking(*ranked("+?-+"), 0, ["cat"])
    assert (shown["highest"], shown["errors"], shown["misses"]) == ([[0, 1], [3, 3]], [[2, 2]], [[3, 3]])
    assert (shown["of"], shown["top"], shown["by_chance"]) == (3, 3, 2.0)
    assert shown["roc"] == [[0, 0, 1, 1], [0, 0.5, 0.5, 1]]


def test_the_roc_curve_has_the_point_at_which_as_many_images_are_named_as_have_the_word():
    alarms, hits = ranking(*ranked("+" * 7 + "-" * 193), 0, ["cat"])["roc"]
    assert (0, 1) in zip(alarms, hits, strict=True)


@pytest.mark.parametrize(
    ("in_top", "known_without", "in_rest", "shown"),
    [(3, 0, 12, True), (3, 0, 13, False), (2, 0, 0, False), (5, 0, 20, True), (5, 0, 21, False), (3, 17, 12, True)],
)
def test_a_word_stands_out_if_three_images_and_twice_as_many_as_expected_have_it(in_top, known_without, in_rest, shown):
    """Among the 20 images ranked highest of 200. Labels that are not known are no word."""
    other = ("+" * in_top + "?" * known_without).ljust(20, "-") + ("+" * in_rest).ljust(180, "-")
    got = ranking(*ranked("+" * 30 + "-" * 170, other), 0, ["cat", "dog"])["beside"]
    assert got == ([["dog", in_top]] if shown else [])


def test_three_words_that_stand_out_are_shown_those_first_with_most_images_beyond_what_is_expected():
    others = [
        ("+" * top).ljust(20, "-") + ("+" * rest).ljust(180, "-") for top, rest in ((6, 4), (8, 32), (5, 0), (3, 0))
    ]
    shown = ranking(*ranked("+" * 30 + "-" * 170, *others), 0, list("abcde"))
    assert shown["beside"] == [["b", 6], ["d", 5], ["c", 8]]


def test_labels_that_may_be_wrong_are_the_worst_twenty_of_both_kinds():
    got = suspects_of(*ranked("?" + "-" * 25 + "+" * 30 + "-" * 5), {0: "cat"})
    assert got["label"].tolist() == [0] * 20 + [1] * 20
    assert got["rank"].tolist() == [*range(1, 21), *range(55, 35, -1)]
    assert (got["image"] == got["rank"]).all()  # as the first image has no rank
    few = suspects_of(*ranked("----------++"), {0: "cat"})
    assert few["rank"].tolist() == [1, 2, 12, 11]


def test_eight_features_are_telling():
    w = np.array([3, -9, 1, 2, 4, 0, 5, 6, 7, 8, 0.5])
    assert telling(w, list("abcdefghijk")) == list("jihgeadc")
    assert telling(w[:4], list("abcd")) == list("adc")


def test_weights_become_bytes_of_which_none_is_lost():
    packed = packed_weights(np.array([[2.0, 1e-6], [-1e-6, 0.0], [-1.0, 1.0]]))
    assert np.frombuffer(base64.b64decode(packed), np.int8).tolist() == [127, 1, -1, 0, -64, 64]


def test_scores_far_from_the_mean_and_those_that_are_not_numbers_have_a_byte():
    scores = np.zeros((101, 2))
    scores[0, 0], scores[:, 1] = 1e6, np.nan
    said = np.frombuffer(base64.b64decode(packed_scores(scores, [0, 1])["scores"]), np.int8)
    assert said.reshape(2, 2).tolist() == [[127, 0], [-2, 0]]


@pytest.mark.parametrize(("n", "dtype"), [(2**16 - 1, np.uint16), (2**16, np.uint32)])
def test_ranks_have_as_many_bytes_as_the_last_one_needs(n, dtype):
    ranks = packed_scores(np.arange(n, 0, -1.0)[:, np.newaxis], [0, n - 1])["ranks"]
    assert np.frombuffer(base64.b64decode(ranks), dtype).tolist() == [1, n]


@pytest.mark.parametrize(
    ("value", "expected"), [(0.12345678, 0.123457), (np.nan, None), (np.inf, None), (-np.inf, None)]
)
def test_numbers_have_six_digits_and_what_json_does_not_know_is_none(value, expected):
    assert number(value) == expected


@pytest.mark.parametrize(("p_holm", "expected"), [(0.05, True), (0.051, False)])
def test_a_word_is_recognised_if_it_is_told_from_chance_at_five_percent(kept, p_holm, expected):
    words = words_of(kept._replace(words=kept.words.assign(p_holm=p_holm)))
    assert [word["recognised"] for word in words] == [expected] * 2


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
        order = np.argsort(-kept.X[:, int(feature["name"].removeprefix("feature "))])
        assert feature["images"] == order[:4].tolist()


# Sentences

CHANCE, WELL = "better than chance", "at least 5 of the 10 highest-ranked are right."


def learnt(p_holm):
    """Words a to g by growing AUC."""
    rows = {"word": list("abcdefg"), "auc": np.arange(7) / 10 + 0.3, "positives": 20}
    rows["precision_at_10"] = [0, 0, 0, 0, 0, 0.5, 1]
    return pd.DataFrame(rows).assign(p_holm=p_holm)


@pytest.mark.parametrize(
    ("p_holm", "labels", "expected"),
    [
        (0.01, "words", f"7 of 7 words {CHANCE}; for 2 of them, {WELL} Best: g, f, e."),
        (
            [0.9] + [0.01] * 6,
            "topics",
            f"6 of 7 topics {CHANCE}; for 2 of them, {WELL} Best: g, f, e. Not recognised: a.",
        ),
        (
            [0.9] * 6 + [0.01],
            "words",
            f"1 of 7 words {CHANCE}; for 1 of them, {WELL} Best: g. Not recognised: a, b, c and 3 more.",
        ),
        (0.9, "classes", f"0 of 7 classes {CHANCE}. Not recognised: a, b, c and 4 more."),
    ],
)
def test_the_sentence_names_what_was_learnt(p_holm, labels, expected):
    assert sentences.recognised(learnt(p_holm), labels, 10) == f"The kept model recognises {expected}"


def test_of_fewer_than_ten_test_images_half_are_enough():
    said = sentences.recognised(learnt(0.01)[:1].assign(precision_at_10=2 / 3), "words", 3)
    assert said.endswith("for 1 of them, at least 2 of the 3 highest-ranked are right. Best: a.")


def test_all_features_are_compared_with_those_of_the_kept_model():
    norms = fits().norms
    assert sentences.against_all_features(norms) == (
        "The kept model, l1,∞, uses 5 of 6 features and is ahead of l2, which uses all of them: its mean AUC is 0.750, "
        "that of l2 is 0.700 (95 % interval 0.600 to 0.800)."
    )
    for auc, where in ((0.745, "level with l2"), (0.755, "level with l2"), (0.8, "behind l2")):
        other = norms.assign(auc=[0.75, auc])
        assert f" and is {where}, which uses all of them: " in sentences.against_all_features(other)
    assert sentences.against_all_features(norms[:1]) == "The kept model, l1,∞, uses 5 of 6 features."
    of_l2 = norms.assign(kept=~norms["kept"])
    assert sentences.against_all_features(of_l2) == "The kept model, l2, uses all 6 features."
    without_interval = norms.assign(auc_low=np.nan, features=5)
    assert sentences.against_all_features(without_interval).endswith(
        "which uses 5: its mean AUC is 0.750, that of l2 is 0.700."
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


@pytest.mark.parametrize(
    ("rare", "why"),
    [(14, "rarer than"), (16, "about as frequent as"), (26, "about as frequent as"), (27, "more frequent than")],
)
def test_words_that_are_not_recognised_are_rarer_or_more_frequent_or_neither(rare, why):
    table = learnt([0.9, 0.9] + [0.01] * 5).assign(positives=[rare, rare] + [20] * 5)
    assert sentences.why_not(table, "samples", "topics") == (
        f"The topics that are not recognised are {why} the others: the median is {rare} test samples against 20."
    )
    assert [sentences.why_not(learnt(p)) for p in (0.01, 0.9)] == ["", ""]


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
    some = SimpleNamespace(loader=SimpleNamespace(file=lambda **picture: file), _picture=lambda row, side: {})
    assert images.Images.original(some, 0, r"C:\run") == expected

"""The page of a dataset: what it shows of words, images and features, and that no text of the data is code in it."""

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
from pages import METHODS, RADII, WORDS, fits, kept_model, made, study
from scipy import sparse, stats

from jointsparse.checks import Misfit
from jointsparse.pipeline.explorer import findings, inputs, thumbnails
from jointsparse.pipeline.explorer.frame import index
from jointsparse.pipeline.explorer.page import _mean_precision, page
from jointsparse.pipeline.explorer.sharing import sharing_of
from jointsparse.pipeline.explorer.study import _precision_by_word, study_answers
from jointsparse.pipeline.explorer.words import (
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
from jointsparse.pipeline.figures import style
from jointsparse.pipeline.flag import Kind
from jointsparse.pipeline.models.stability import COLUMNS
from jointsparse.pipeline.scores.learnt import by_size
from jointsparse.pipeline.scores.scored_fits import ScoredFits

NAMES = [f"name {i}" for i in range(6)]  # of features


@pytest.fixture
def mine(rng):
    return study(rng)


def data_of(text):
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(data)


# The page


def test_no_text_of_the_data_is_code_in_the_page(rng):
    text = made(rng).html
    # The page's own two, of data and code, and none of a caption, a file name, a note or a claim.
    assert len(re.findall("<script", text)) == 2
    assert "onerror=" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL).replace("onerror=&#34;", "")
    assert data_of(text)["studies"][0]["names"] == WORDS
    assert "<img src=x" not in text


def test_the_policy_lets_the_pages_own_script_run_and_nothing_load(rng):
    text = made(rng).html
    (policy,) = re.findall(r'Content-Security-Policy" content="(.*?)"', text)
    assert policy.startswith("default-src 'none'; img-src 'self' file:;")
    assert not re.findall(r"""(?:src|href)=["'](?:https?:)?//""", text)


def test_thumbnails_of_all_images_that_are_shown_are_asked_for(rng):
    mine = made(rng)
    assert sorted(map(int, data_of(mine.html)["images"])) == mine.images
    (of_study,) = data_of(mine.html)["studies"]
    shown = {i for word in of_study["words"] for own in word["methods"].values() for i, _ in own["highest"]}
    assert {of_study["rows"][str(i)] for i in shown} <= set(mine.images)
    assert mine.findings["sentence"] in html.unescape(mine.html)
    assert {file for _, file in mine.findings["pictures"]} <= {thumbnails.file_of(row) for row in mine.images}


def test_the_kept_model_is_the_first_study_with_a_map_of_each_image_that_it_ranks(rng):
    kept = kept_model(rng)
    shown = made(rng, kept=kept)
    first, second = data_of(shown.html)["studies"]
    assert (first["name"], first["known_images"], second["name"]) == ("the kept model", 1234, "annotation")
    asked = {(row, k) for row, words in shown.maps.items() for k in words}
    assert len(asked) == (14 + 6) + (10 + 6) + 2 * 4  # of 15 and of 10 images with the word, and of two features
    best = 5 + max(np.flatnonzero(kept.answers.labels[:, 0]), key=lambda i: kept.answers.scores[METHODS[0]][i, 0])
    assert {(best, 0), (5 + int(np.argmax(kept.answers.X[:, 1])), 3)} <= asked
    (shared,) = first["sharing"].values()
    weights = np.frombuffer(base64.b64decode(shared["path"][0]["weights"]), np.int8).reshape(2, 2)
    places = [feature["place"] - 2 for feature in shared["features"]]
    W = kept.answers.paths[METHODS[0]].chosen_W
    expected = W[np.ix_(np.array(kept.features)[places], shared["words"])] / 2
    np.testing.assert_array_equal(weights, np.rint(127 * expected))
    without_maps = kept.answers._replace(about=kept.answers.about | {"with_maps": False})
    assert made(rng, kept=kept._replace(answers=without_maps)).maps == {}


def test_a_kept_model_has_a_page_of_its_own_without_any_study(rng):
    kept = kept_model(rng)
    warned = pd.DataFrame({"table": "odd_features", "warning": [Kind.REPEATED], "rows": 1, "of": 3, "first": ""})
    kept = kept._replace(fits=kept.fits._replace(warnings=warned))
    shown = made(rng, kept=kept, studies=[], claims="", verdicts={})
    text = html.unescape(shown.html)
    (model,) = data_of(shown.html)["studies"]
    assert model["name"] == "the kept model" and shown.images and shown.findings["warnings"] == 1
    for said in (
        "The model learns the 2 most frequent of 374 words; to learn all, set n_words to 374.",
        "The kept model, l1,∞, uses 5 of 6 features and is ahead of l2, which uses all of them",
        "<th>l1,∞, kept</th><td>0.750",
        "<td>12 of 30</td><td>1.5</td><td>2</td>",
        "so the test results are too good",
        'id="sharing"',
        "<label hidden>Study",
    ):
        assert said in text, said
    assert "In the comparison of methods" not in text and "do not learn words" not in text


def test_the_wall_shows_the_images_ranked_highest_of_words_that_are_told_from_chance(rng):
    kept = kept_model(rng)
    order = np.argsort(-kept.answers.scores[METHODS[0]][:, 1])
    wall = re.search('<ul class="wall">(.*)<section id="words">', made(rng, kept=kept).html, re.DOTALL)[1]
    assert re.findall('src="(.*?)"', wall) == [thumbnails.file_of(5 + row) for row in order[:3]]
    assert wall.count('class="without"') == 3 - kept.answers.labels[order[:3], 1].sum()
    assert f'Not recognised better than chance: <a href="#word={WORDS[0]}">' in wall  # its interval begins at 0.45


def test_a_tile_has_a_full_dot_for_each_image_that_is_right_and_a_line_where_guessing_is(rng):
    kept = kept_model(rng)  # whose card says that half of the first ten are right, and a third have the word
    (dots,) = re.findall('<svg class="dots".*?</svg>', made(rng, kept=kept).html, re.DOTALL)
    assert 'aria-label="5.0 of 10 right, 3.3 by guessing"' in dots and 'd="M40.0 0v14"' in dots
    assert re.findall('fill-opacity="(.*?)"', dots) == ["1.00"] * 5 + ["0.00"] * 5


def test_the_page_begins_with_the_map_of_the_highest_ranked_photograph_that_has_the_best_word(rng):
    kept = kept_model(rng)
    scores, labels = kept.answers.scores[METHODS[0]][:, 1], kept.answers.labels[:, 1].copy()
    best, second = np.argsort(-scores)[:2].tolist()
    labels[second] = True
    for right in (True, False):
        labels[best] = right
        named = kept._replace(
            answers=kept.answers._replace(labels=np.column_stack([kept.answers.labels[:, 0], labels]))
        )
        text = made(rng, kept=named).html
        assert thumbnails.file_of(5 + (best if right else second), 1) in text
        assert f"The model gives this photograph rank {1 if right else 2} of 30." in text
    command = re.search('<code id="command">(.*?)</code>', made(rng, kept=kept).html)[1]
    assert re.sub("<.*?>", "", command) == "jointsparse annotate results/mine/model.jointsparse FOLDER"
    with_network = made(rng, kept=kept, network="private/my network.onnx").html
    assert "FOLDER --network &#39;my network.onnx&#39;</code>" in with_network and "private" not in with_network
    assert 'class="wipe"' not in made(rng).html and 'id="command"' not in made(rng).html


def test_all_numbers_of_a_study_are_means_over_its_runs(rng):
    """The wall once counted the images of one run, where the table had a mean over runs."""
    mine = study(rng)
    learnt = mine.answers.learnt.assign(first=0.85, p_holm=0.0, validation_word=False, weight=1)
    means = mine.tables["means"].assign(auc_weighted=0.814)
    about = {**mine.answers.about, "means": {"auc": 0.814}}
    mine = mine._replace(answers=mine.answers._replace(learnt=learnt, about=about))
    text = html.unescape(made(rng, studies=[mine._replace(tables={**mine.tables, "means": means})]).html)
    assert "On average 8.5 of the 10 highest-ranked images are right (mean AUC 0.814 on 30 test images)" in text
    assert text.count('aria-label="8.5 of 10 right') == 3
    assert "<td>8.5</td>" in text and "<strong>0.814</strong>" in text
    (curve,) = [one["curve"] for one in data_of(made(rng, studies=[mine]).html)["studies"]]
    last = mine.tables["means"].query("n == 20")[["features", "auc_weighted"]].to_numpy()
    np.testing.assert_allclose([one["chosen"] for one in curve], last, rtol=1e-5)
    mean = mine.tables["sparsity"].query("n == 20").groupby(["method", "radius"])[["features", "auc_weighted"]].mean()
    np.testing.assert_allclose(curve[0]["path"], mean.loc[METHODS[0]].to_numpy(), rtol=1e-5)


def test_words_stand_on_the_wall_in_the_order_of_their_first_images():
    own = {
        "recognised": True,
        "auc": 0.7,
        "by_chance": 1,
        "highest": [[3, 1], [4, 4]],
        "errors": [[5, 2], [6, 3]],
        "telling": list("stuvwxyz"),
    }
    numbers = {"a": {"first": 0.2}, "b": {"first": 0.7}, "c": {"first": 0.2, "auc": 0.8}, "d": {"recognised": False}}
    wall, unknown = wall_of([{"word": word, "methods": {"l1": own | more}} for word, more in numbers.items()], "l1")
    assert ([(tile["word"], tile["images"]) for tile in wall], unknown) == (
        [(word, [(3, True), (5, False), (6, False)]) for word in "bca"],
        ["d"],
    )
    assert wall[0]["telling"] == list("stuvw")


def test_labels_that_may_be_wrong_are_listed(rng):
    kept = kept_model(rng)
    for row in made(rng, kept=kept).suspects.to_dict("records"):
        image = int(row["image"].split()[0]) - 5
        score, label = kept.answers.scores[METHODS[0]][image, 1], kept.answers.labels[image, 1]
        assert (row["word"], row["score"], row["label"]) == (WORDS[1], score, label)


def test_an_image_comes_with_its_scores_and_ranks_for_every_word(rng):
    scores = rng.normal(size=(30, 3)) * [1, 5, 0]
    said = {name: base64.b64decode(packed) for name, packed in packed_scores(scores, [4, 9]).items()}
    levels, ranks = np.frombuffer(said["scores"], np.int8), np.frombuffer(said["ranks"], np.uint16)
    expected = (scores - scores.mean(axis=0))[:, :2] / scores[:, :2].std(axis=0)
    np.testing.assert_allclose(levels.reshape(2, 3)[:, :2] / 20, expected[[4, 9]], atol=0.026)
    np.testing.assert_array_equal(ranks.reshape(2, 3)[:, :2], stats.rankdata(-scores, axis=0)[[4, 9], :2])


def test_a_sample_may_have_a_text_no_picture_and_labels_that_are_unknown(rng):
    kept, images = kept_model(rng), pd.DataFrame({"image": [f"row {i}" for i in range(40)], "split": "test"})
    kept = kept._replace(answers=kept.answers._replace(labels=kept.answers.labels.astype(np.int8)))
    kept.answers.labels[::2, 1] = -1
    captions = pd.DataFrame({"image": ["row 5", "row 6"], "caption": "cat", "known": [False, True]})
    options = {"images": images.assign(text="said"), "captions": captions, "original": None}
    shown = made(rng, kept=kept, thumbnail=lambda row, *place: None if row == 5 else "a.webp", **options)
    data = data_of(shown.html)
    assert [data["images"]["5"][key] for key in ("captions", "file", "text")] == [[], None, "said"]
    assert data["images"]["6"]["captions"] == ["cat"]
    assert all(has == ([] if int(i) % 2 else [1]) for i, has in data["studies"][0]["unclear"].items())
    assert 5 not in shown.images


def test_a_map_is_red_for_a_word_and_blue_against_it():
    heat = np.zeros((8, 12))
    heat[:4, :4], heat[4:, 8:] = 2.0, -0.5
    red, blue = thumbnails.overlay(heat, full=1.0)[[0, 1], [0, 2]]
    assert tuple(red) == (*thumbnails.FOR, thumbnails.OPAQUE) and tuple(blue[:3]) == thumbnails.AGAINST
    assert blue[3] == round(thumbnails.OPAQUE / 2) and thumbnails.overlay(heat, full=1.0)[1, 0, 3] == 0


def test_a_dataset_without_words_shows_samples_and_its_verdicts(rng):
    images = pd.DataFrame({"image": [f"digit {i}" for i in range(100)], "split": "train"})
    captions = pd.DataFrame({"image": images["image"], "caption": "7"})
    without = study(rng)._replace(answers=None)
    shown = page("digits", [without], images=images, captions=captions, left_out=None, claims="", verdicts={"holds": 2})
    assert shown.images == []  # features are no pictures
    assert (
        "Of 2 numbers that the papers&#39; claims are about, 2 are as claimed." in shown.html
        and not shown.findings["demonstration"]
    )
    assert (shown.findings["verdicts"], shown.findings["numbers"]) == ({"holds": 2}, {"samples": "100"})
    assert data_of(shown.html)["studies"] == []


def test_the_first_screen_says_what_was_used_and_the_worst_warning(rng):
    header = html.unescape(re.search("<header>(.*?)</header>", made(rng).html, re.DOTALL)[1])
    shown = " ".join(header.split())
    assert '40 images were used; 2 files, captions or labels were <a href="#data-used">left out</a>. ' in shown
    assert '<a href="#data-used">1 warning</a>: The objective of some fits may be more than 5 %' in shown


def test_a_vocabulary_names_every_feature(rng):
    with pytest.raises(ValueError, match=r"^vocabulary must name each of 6 features, got 2 names"):
        study(rng, names=["a", "b"])


# Words


def methods_of(answers):
    """Methods of each word, with what the page shows of them."""
    return {word["word"]: word["methods"] for word in words_of(answers)}


def test_images_are_ranked_by_their_scores(mine):
    for word, methods in methods_of(mine.answers).items():
        has = mine.answers.labels[:, WORDS.index(word)]
        for method, own in methods.items():
            order = np.argsort(-mine.answers.scores[method][:, WORDS.index(word)], kind="stable")
            right, wrong = ([[i, rank] for rank, i in enumerate(order, 1) if has[i] == held] for held in (True, False))
            assert (own["highest"], own["misses"], own["errors"]) == (right[:8], right[::-1][:6], wrong[:6])
            alarms, hits = own["roc"]
            assert (alarms[0], hits[0], alarms[-1], hits[-1]) == (0, 0, 1, 1)
            assert np.trapezoid(hits, alarms) == pytest.approx(own["auc"], abs=0.05)
            assert "telling" not in own


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
    assert (shown["of"], shown["top"], shown["right"], shown["by_chance"]) == (3, 3, 2, 2.0)
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


def test_a_word_is_known_if_some_method_tells_it_from_chance_at_five_percent(mine):
    words = mine.answers.learnt.sort_values(["word", "method"], key=lambda column: column.map(str))
    first, second = METHODS
    p_holm = {(WORDS[0], first): 0.05, (WORDS[0], second): 0.051, (WORDS[2], first): 0.051, (WORDS[2], second): 0.051}
    p_holm = [p_holm.get(key, 0.0) for key in zip(words["word"], words["method"], strict=True)]
    learnt = words.assign(p_holm=p_holm, best=words["method"] == second, validation_word=words["word"] == WORDS[2])
    shown = {word["word"]: word for word in words_of(mine.answers._replace(learnt=learnt))}
    known = {word: {method: own["recognised"] for method, own in one["methods"].items()} for word, one in shown.items()}
    assert known[WORDS[0]] == {first: True, second: False} and known[WORDS[2]] == {first: False, second: False}
    assert [shown[word]["best"] for word in WORDS] == [second, second, None]
    assert [shown[word]["always"] for word in WORDS] == [False, False, True]
    assert [shown[word]["chose"] for word in WORDS] == mine.answers.validation_words.tolist() == [True, False, False]


def test_intervals_of_a_word_count_the_test_images_whose_label_is_known(rng):
    mine = study(rng, n_unknown=10)
    shown = words_of(mine.answers)
    expected = by_size(mine.tables["by_word"], dict(zip(WORDS, [20, 30, 30], strict=True)))
    for word in shown:
        for method, own in word["methods"].items():
            rows = expected[(expected["word"] == word["word"]) & (expected["method"] == method)]
            assert own["sizes"] == [
                [row.n, *(number(value) for value in (row.auc, row.low, row.high))] for row in rows.itertuples()
            ]


def test_telling_features_of_a_word_are_those_of_its_own_weights(mine):
    for word, methods in methods_of(mine.answers._replace(names=NAMES)).items():
        w = mine.answers.paths[METHODS[0]].chosen_W[:, WORDS.index(word)]
        assert methods[METHODS[0]]["telling"] == [NAMES[i] for i in np.argsort(-w) if w[i] > 0]


@pytest.mark.parametrize(("chose", "expected"), [([1, 0], 0.5), ([0, 0], 0.75), ([1, 1], 0.75)])
def test_precisions_of_a_word_are_means_over_the_runs_in_which_it_did_not_choose_the_radius(chose, expected):
    """It is ranked rightly in the first run, and wrongly in the second."""
    score = np.array([[[1.0], [0.0]], [[0.0], [1.0]]])
    chose, labels = np.array(chose, bool)[:, np.newaxis], np.array([[True], [False]])
    scores = ScoredFits(np.array([1, 2]), np.full(2, 5), np.full(2, 15), np.full(2, "l1"), chose, score, labels)
    (row,) = _precision_by_word(scores, 5, "l1", ["cat"]).to_dict("records")
    assert (row["word"], row["first"], row["precision"]) == ("cat", 0.5, expected)


@pytest.mark.parametrize(("chose", "expected"), [([True, False, False], 0.4), ([True] * 3, 0.52)])
def test_precisions_of_a_method_count_each_positive_of_the_words_that_did_not_choose_the_radius(chose, expected):
    precision = [1.0, 0.5, 0.1]
    learnt = pd.DataFrame({"method": "l1", "validation_word": chose, "positives": [10, 30, 10], "precision": precision})
    np.testing.assert_allclose(_mean_precision(learnt.assign(first=precision))["l1"], expected)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_documents_are_told_by_the_features_that_matter_most(mine, form):
    X, W = mine.answers.X, np.outer(np.arange(1, 7), [1, -2, 0.5])
    found = reasons_of(form(X), [3], W, NAMES)
    assert [found["features"][j] for j, _ in found["values"][3]] == [NAMES[i] for i in np.argsort(-abs(X[3] * W[:, 0]))]
    weights = np.frombuffer(base64.b64decode(found["weights"]), np.int8).reshape(6, 3)
    np.testing.assert_array_equal(weights, np.rint(127 * W / 12))
    assert found["brief"] == (form is not np.asarray)
    few = reasons_of(form(X * [1, 0, 1, 1, 1, 1]), [3], W * np.array([[1], [1], [0], [1], [1], [1]]), NAMES)
    assert {few["features"][j] for j, _ in few["values"][3]} == {NAMES[i] for i in (0, 3, 4, 5)}


# What words share


def test_the_map_holds_every_weight_of_the_features_that_it_shows(mine):
    path = mine.answers.paths[METHODS[0]]
    shared = sharing_of(path, "l1inf")
    features = [int(feature["name"].removeprefix("feature ")) for feature in shared["features"]]
    assert sorted(features) == [0, 1]  # those in use at the chosen radius
    for W, fit in zip(path.W, shared["path"], strict=True):
        own = W[np.ix_(features, shared["words"])]
        got = np.frombuffer(base64.b64decode(fit["weights"]), np.int8).reshape(own.shape)
        np.testing.assert_array_equal(got != 0, own != 0)
        np.testing.assert_allclose(got / 127, own / np.abs(own).max(), atol=0.5 / 127)
        assert fit["used"] == W.any(axis=1).sum()
    assert [fit["radius"] for fit in shared["path"]] == RADII.tolist()
    shown = mine.tables["sparsity"].query("run == 1 and n == 20 and method == @METHODS[0]")
    assert [fit["auc"] for fit in shared["path"]] == shown["auc_weighted"].round(4).tolist()
    assert shared["chosen"] == 1


def test_a_feature_shows_the_images_with_its_largest_and_smallest_values(mine):
    for feature in sharing_of(mine.answers.paths[METHODS[0]], "l1inf")["features"]:
        order = np.argsort(mine.answers.X[:, int(feature["name"].removeprefix("feature "))])
        assert feature["images"] == [order[::-1][:6].tolist(), order[:6].tolist()]


def test_fits_of_other_images_are_refused():
    of_thirty = ScoredFits(*[()] * 6, labels=np.ones((30, 3), bool))
    with pytest.raises(Misfit, match="features must have a row for each of 30 test images, got 29"):
        study_answers("annotation", WORDS, np.ones((29, 6)), range(29), of_thirty, {}, {})


# Findings

CHANCE, WELL = "better than chance", "at least 5 of the 10 highest-ranked are right."


def learnt(p_holm):
    """Words a to h by growing AUC, of which h chose the radius."""
    rows = {"method": "hinge-l1inf", "word": list("abcdefgh"), "auc": np.arange(8) / 10 + 0.3, "positives": 20}
    rows["right"] = [0, 0, 0, 0, 0, 5, 10, 10]
    return pd.DataFrame(rows).assign(p_holm=p_holm, validation_word=[False] * 7 + [True])


@pytest.mark.parametrize(
    ("p_holm", "labels", "expected"),
    [
        (0.01, "words", f"7 of 7 words {CHANCE}; for 2 of them, {WELL} Best: g, f, e."),
        (
            [0.9] + [0.01] * 7,
            "topics",
            f"6 of 7 topics {CHANCE}; for 2 of them, {WELL} Best: g, f, e. Not recognised: a.",
        ),
        (
            [0.9] * 6 + [0.01] * 2,
            "words",
            f"1 of 7 words {CHANCE}; for 1 of them, {WELL} Best: g. Not recognised: a, b, c and 3 more.",
        ),
        (0.9, "classes", f"0 of 7 classes {CHANCE}. Not recognised: a, b, c and 4 more."),
    ],
)
def test_the_sentence_names_what_was_learnt(p_holm, labels, expected):
    assert findings.sentence(learnt(p_holm), labels) == f"The kept model recognises {expected}"


def test_of_fewer_than_ten_test_images_half_are_enough():
    said = findings.sentence(learnt(0.01)[:1].assign(right=2), by="l1", n_test=3)
    assert (
        said
        == f"L1 recognises 1 of 1 word {CHANCE}; for 1 of them, at least 2 of the 3 highest-ranked are right. Best: a."
    )


def test_all_features_are_compared_with_those_of_the_kept_model():
    norms = fits().norms
    assert findings.against_all_features(norms) == (
        "The kept model, l1,∞, uses 5 of 6 features and is ahead of l2, which uses all of them: its mean AUC is 0.750, "
        "that of l2 is 0.700 (95 % interval 0.600 to 0.800)."
    )
    for auc, where in ((0.745, "level with l2"), (0.755, "level with l2"), (0.8, "behind l2")):
        other = norms.assign(auc=[0.75, auc])
        assert f" and is {where}, which uses all of them: " in findings.against_all_features(other)
    assert findings.against_all_features(norms[:1]) == "The kept model, l1,∞, uses 5 of 6 features."
    of_l2 = norms.assign(kept=~norms["kept"])
    assert findings.against_all_features(of_l2) == "The kept model, l2, uses all 6 features."
    without_interval = norms.assign(auc_low=np.nan, features=5)
    assert findings.against_all_features(without_interval).endswith(
        "which uses 5: its mean AUC is 0.750, that of l2 is 0.700."
    )
    assert findings.share_of_features(norms) == "83 %"


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (1.25, "Of the 2 features that were chosen so often, at most 1.3 are expected to be false, if "),
        (2.0, "On average a half chooses 2 of 4 features, too many for a useful bound on the false choices."),
    ],
)
def test_the_bound_on_false_choices_is_given_if_it_says_something(bound, expected):
    table = pd.DataFrame({"used": [True, False, True, False], "halves": [10, 9, 1, 0], "of": 10, "threshold": 0.9})
    said = findings.how_stable(table.assign(bound=bound))
    assert said.startswith(
        "1 of the 2 features of the kept model were chosen in at least 9 of 10 random halves of the "
    )
    assert expected in said


def test_nothing_is_said_of_halves_if_no_features_were_selected_on_them(rng):
    assert findings.how_stable(pd.DataFrame(columns=COLUMNS)) == ""
    assert "stability.csv" not in made(rng, kept=kept_model(rng)).html


def test_how_sure_it_is_compares_with_the_best_other_method(rng):
    table, means = learnt(0.01), study(rng).tables["means"]
    table["weight"] = [1, 1, 1, 1, 1, 1, 4, 1]  # the most for g, whose first ten are right
    numbers = {"auc": 0.69, "n_test": 1200}
    first = "On average 4.5 of the 10 highest-ranked images are right (mean AUC 0.690 on 1,200 test images)."
    for other, where in ((0.02, "0.020 behind"), (-0.02, "0.020 ahead of"), (-0.009, "level (within 0.01) with")):
        means["auc_weighted"] = np.where(means["method"] == "svm-l2", 0.8 + other, 0.8)
        assert findings.how_sure(table, "hinge-l1inf", means, **numbers) == (
            f"{first} In the comparison of methods, l1,∞ is {where} the best other method, linear SVM."
        )
    assert findings.how_sure(table, "hinge-l1inf", None, **numbers) == first
    worse = means[means["method"] == "svm-l2"].assign(method="hinge-l1", auc_weighted=0.6)
    three = findings.how_sure(table, "hinge-l1inf", pd.concat([worse, means]), **numbers)
    assert three.endswith("the best other method, linear SVM.")
    alone = means[means["method"] == "svm-l2"]
    said = findings.how_sure(
        table[7:], "hinge-l1inf", alone, auc=1.0, n_test=12, things="samples"
    )  # h chose the radius
    assert said == "On average 10.0 of the 10 highest-ranked samples are right (mean AUC 1.000 on 12 test samples)."


@pytest.mark.parametrize(
    ("rare", "why"),
    [(14, "rarer than"), (16, "about as frequent as"), (26, "about as frequent as"), (27, "more frequent than")],
)
def test_words_that_are_not_recognised_are_rarer_or_more_frequent_or_neither(rare, why):
    table = learnt([0.9, 0.9] + [0.01] * 6).assign(positives=[rare, rare] + [20] * 6)
    assert findings.why_not(table, "samples", "topics") == (
        f"The topics that are not recognised are {why} the others: the median is {rare} test samples against 20."
    )
    assert [findings.why_not(learnt(p)) for p in (0.01, 0.9)] == ["", ""]


def test_warnings_stand_in_plain_words_those_that_make_a_number_wrong_first():
    warned = [
        ("radius at the upper edge of its grid", "run=2, n=5, method=hinge-l1inf, radius=30.0"),
        ("a new kind", ""),
        ("certified gap: 7%", np.nan),
        ("left out, too few test images with it: 0", ""),
    ]
    table = pd.DataFrame(warned, columns=["warning", "first"]).assign(table="chosen", rows=1, of=9)
    shown = findings.warnings_of({"annotation": table}, "samples", "topics")
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
        "annotation: radius at the upper edge of its grid, in 1 of 9 rows of the table chosen; "
        "first: run 2, n 5, l1,∞, radius 30"
    ]
    of_runs = table[:3].assign(table=["tasks_run1", "tasks_run2", "left_out"], warning=["a", "a", "b"], first="")
    (shown,) = findings.warnings_of({"annotation": of_runs, "stories": of_runs[2:]})
    assert shown["details"] == ["annotation: a, in 2 of 18 rows of the table tasks of 2 runs"]  # left_out has a list


def test_every_kind_of_flag_has_one_meaning_in_plain_words():
    """97 repeated documents once stood among "other warnings"."""
    assert sorted(kind for meaning in findings.MEANINGS for kind in meaning.kinds) == sorted(Kind)
    table = pd.DataFrame({"warning": list(Kind), "first": "", "table": "chosen", "rows": 1, "of": 9})
    texts = [warning["text"] for warning in findings.warnings_of({"annotation": table})]
    assert len(texts) == len(set(texts)) == len(findings.MEANINGS)


def test_methods_have_an_interval_from_five_runs_on(rng):
    for runs, half in ((2, np.nan), (5, 2.776 * np.std([1, 2, 3, 4, 5], ddof=1) / 100 / 5**0.5)):
        tables = study(rng, runs).tables
        first, second = findings.methods_table(tables["means"], tables["differences"])
        assert (first["lead"], second["lead"]) == ("", "−0.012 (−0.020 to +0.001)")
        expected = tables["chosen"].query("method == 'hinge-l1inf' and n == 10")[["auc_weighted", "features"]].mean()
        assert (first["label"], first["cells"][0]["features"], expected["features"]) == ("l1,∞", "33 %", 1 / 3)
        assert first["cells"][0]["auc"] == pytest.approx(expected["auc_weighted"])
        np.testing.assert_allclose([cell["half"] for cell in first["cells"]], half, rtol=1e-3)


# Thumbnails


def test_pixels_become_a_picture():
    picture = thumbnails.of_features(np.array([0, 0.5, 1, 2]))
    assert picture.shape == (120, 120, 3)
    assert [picture[0, 0, 0], picture[0, -1, 0], picture[-1, 0, 0], picture[-1, -1, 0]] == [255, 128, 0, 0]
    assert thumbnails.of_features(np.zeros(5)) is None
    assert thumbnails.encoded(picture)[8:12] == b"WEBP"


# The list of pages


def card(name, **values):
    return {"dataset": name, "sentence": "", "point": "", "note": "", "warnings": 0, "numbers": {}, "verdicts": {}} | {
        "pictures": [],
        "demonstration": "",
        **values,
    }


def test_demonstrations_stand_folded_below_all_other_pages():
    cards = [card("collage", demonstration="It shows this."), card("mine", point="few features")]
    text = index(cards)
    assert text.index("mine/index.html") < text.index("<details") < text.index("collage/index.html")
    assert (
        "<strong>few features</strong>" in text
        and "It shows this." in text
        and '<details class="demonstrations">' in text
    )
    assert '<details class="demonstrations" open>' in index([*cards[:1], card("papers")])  # no point to make
    assert "<details" not in index(cards[1:])


def test_a_demonstration_says_what_it_demonstrates(rng):
    shown = made(rng, verdicts={"demonstration": 1})
    assert shown.findings["demonstration"] == "It demonstrates how words are learnt from images."
    without = study(rng)._replace(answers=None, figures={"a.png": "Mean loss (a paper)."})
    shown = made(rng, studies=[without], verdicts={"demonstration": 1, "holds": 1})
    assert shown.findings["demonstration"] == "It demonstrates a figure of the papers: mean loss (a paper)."
    assert made(rng).findings["demonstration"] == ""


def test_pages_and_figures_share_the_colours_of_the_norms():
    text = index([])
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
    images = SimpleNamespace(loader=SimpleNamespace(file=lambda **picture: file), _picture=lambda row, side: {})
    assert inputs.Images.original(images, 0, r"C:\run") == expected

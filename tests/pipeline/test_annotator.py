"""The pipeline from a picture to its words, the command that annotates pictures with it, and the page that it writes.

A page may show known pictures, whose names come from a model that may be anyone's.
"""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from model_files import made, model_of, of_rows
from pages import FITS, data_of
from PIL import Image
from scipy.special import expit
from sklearn.pipeline import Pipeline

from jointsparse import JointSparseClassifier
from jointsparse.features.explain import Explainer
from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.datasets.metadata import PREDICTED, SUBJECT, parsed, tags_of, values
from jointsparse.pipeline.models import annotator
from jointsparse.pipeline.models.model_file import save
from jointsparse.pipeline.page import annotated, thumbnails
from jointsparse.pipeline.page.kept import kept_model
from jointsparse.pipeline.provenance.tables import read_table

WORDS = ["cat", "dog"]


@pytest.fixture(scope="module")
def drawn():
    return made("pictures")


@pytest.fixture
def place(tmp_path, monkeypatch, drawn):
    """A working folder with a model, new pictures, known ones, one elsewhere, and files that are no pictures."""
    monkeypatch.chdir(tmp_path)
    for i, folder in {35: "in", 29: "in/more", 31: "in", 0: "known", 1: "known", 2: "elsewhere"}.items():
        Path(folder).mkdir(parents=True, exist_ok=True)
        Image.fromarray(drawn.pictures[i]).save(f"{folder}/{i}.png")
    Path("broken/6.png").mkdir(parents=True)
    for name in ("broken/\x1b5.png", "broken/notes.txt", "table.csv"):
        Path(name).write_bytes(b"no picture")
    save(drawn.model, "model.jointsparse")
    return tmp_path


# The pipeline


def test_the_pipeline_gives_the_scores_of_the_fit_with_only_the_columns_in_use(drawn):
    model, expected = drawn.model, drawn.fit.model.decision_function(drawn.features)
    np.testing.assert_allclose(model.decision_function(drawn.pictures), expected, atol=1e-5)
    assert model["basis"].columns_.tolist() == [1, 2] and model["classifier"].n_features_in_ == 2
    assert model["basis"].basis_.components.shape[1] == 2 and model.card_.n_features == (2, 3)
    assert model.check_["X"].shape[0] == len(model.check_["scores"]) == annotator.CHECKED
    assert model.predict_proba(drawn.pictures[:2]).columns.tolist() == WORDS


def model_with_known(scores, labels):
    """Return a model of one word that has only the scores and labels of its known pictures."""
    model = Pipeline([("classifier", JointSparseClassifier())])
    model["classifier"].calibration_ = np.array([[1.0, 0.0]])
    model.known_scores_, model.known_labels_ = np.float32(scores)[:, np.newaxis], np.array(labels)[:, np.newaxis]
    model.card_ = SimpleNamespace(words=["cat"], thresholds=annotator.limits(model.known_scores_, model.known_labels_))
    return model


def test_assigned_words_are_counted_with_the_fraction_that_is_correct():
    model = model_with_known([10, 9, 8, 7, 6, 5, 4, 3, 2, 1], [1, 1, 1, 1, 0, 1, 0, 0, 0, 0])
    scores, labels = np.array([[11], [5], [4], [8], [3]]), np.array([[1], [0], [1], [-1], [1]])
    table = annotator.at_precisions(model, scores, labels)
    # precision, words with a threshold, pictures above one, of all, words assigned, and the correct fraction of these
    expected = [
        (0.5, 1, 5, 5, 5, 0.75),  # threshold 1: five of the ten known pictures have the word
        (0.7, 1, 4, 5, 4, 2 / 3),  # threshold 4: five of seven
        (0.9, 0, 0, 5, 0, np.nan),
    ]
    np.testing.assert_equal(table.to_numpy(), np.array(expected))


@pytest.mark.parametrize(
    ("score", "rank", "above"),
    [(3, 1, True), (3 - 1e-6, 1, True), (2.5, 2, False), (2, 2, False)],
)
def test_known_pictures_with_the_same_score_do_not_change_the_rank_of_a_picture(score, rank, above):
    for shift in (0, -9):
        model = model_with_known(np.array([1, 3, 2, 2]) + shift, [0, 1, 0, 0])  # the threshold is 3 + shift
        table = annotator._listed(model, [("new.png", np.array([score + shift]))], 1, None)
        assert table[["rank", "of", "above"]].to_numpy().tolist() == [[rank, 4, above]]


@pytest.mark.parametrize(
    ("labels", "precision", "expected"),
    [
        ([1, 1, 1, 1, 1, 0, 0, 0], 1.0, 4),  # the scores are 8, 7, ..., 1
        ([1, 1, 1, 1, 0, 0, 0, 0], 0.8, 4),
        ([1, 1, 1, 1, 0, 0, 0, 0], 0.81, np.inf),
        ([1, 0, 1, 1, 1, 1, 0, 0], 0.8, 3),  # the smallest score that reaches it
        ([1, 1, -1, 1, 1, 0, 0, 0], 1.0, np.inf),  # a picture with an unknown label does not count
        ([1, -1, 1, 0, 1, 0, 0, 0], None, 4),  # the largest F1
        ([1] * 5 + [0] * 10 + [1] * 72, 1.0, 83),  # recall times 77 is a little less than 5 by rounding
    ],
)
def test_a_threshold_is_the_smallest_with_the_precision_and_five_pictures_or_the_largest_f1(
    labels, precision, expected
):
    (got,) = annotator.thresholds(model_with_known(np.arange(len(labels), 0, -1), labels), precision)
    assert got == expected


def test_the_page_of_the_model_shows_features_of_the_basis_whose_maps_sum_to_their_values(drawn):
    model, fit, on_test = drawn.model, drawn.fit, np.arange(28, 40)
    halves = pd.DataFrame({"feature": range(3), "halves": range(3), "of": 20})
    given = {"known_images": np.arange(28), "with_maps": True, "names": (), "fits": FITS._replace(stability=halves)}
    kept = kept_model(model, drawn.histograms, drawn.labels.astype(int), on_test, **given)
    columns = [1, 2] if np.diff(np.linalg.norm(fit.model.coef_, axis=0))[1] < 0 else [2, 1]  # larger weights first
    values = drawn.features[on_test][:, columns]
    images = on_test[np.argsort(-values, axis=0, kind="stable")[:4]].T.tolist()
    expected = [(f"feature {i}", f"chosen in {i} of 20 halves", rows) for i, rows in zip(columns, images, strict=True)]
    assert [(feature.name, feature.note, feature.images) for feature in kept.features] == expected
    scores = np.concatenate([fit.scores, fit.model.decision_function(drawn.features[on_test])])
    a, b = fit.model.calibration_.T
    np.testing.assert_allclose(kept.probabilities, expit(scores * a + b), atol=1e-5)
    heats = Explainer(model, [feature.place for feature in kept.features]).heats(drawn.pictures[28], [2, 3])
    np.testing.assert_allclose([heat.sum() for heat in heats], values[0], atol=1e-4)
    classes = kept_model(model, drawn.histograms, np.eye(2, dtype=int)[np.arange(40) % 2], on_test, **given)
    np.testing.assert_allclose(classes.probabilities.sum(axis=1), 1, atol=1e-5)
    assert classes.exclusive and not kept.exclusive


def test_annotations_list_the_scores_and_the_known_pictures_with_the_nearest_scores(place, drawn):
    annotations = annotator.annotate(drawn.model, [Path("in/35.png"), Path("in/31.png")])
    scores, known = drawn.model.decision_function(drawn.pictures[[35, 31]]).to_numpy(), drawn.model.known_scores_
    np.testing.assert_allclose(annotations.scores, scores, atol=1e-5)
    distances = np.linalg.norm((known - scores[:, np.newaxis]) / known.std(axis=0), axis=2)
    nearest = [[f"{i}.png" for i in order[:3]] for order in np.argsort(distances)]
    assert annotations.alike == dict(zip(["in/35.png", "in/31.png"], nearest, strict=True))


# The command


@pytest.mark.parametrize("precision", [None, 0.9])
def test_the_pictures_in_a_folder_are_annotated_and_a_broken_picture_is_reported(place, drawn, capsys, precision):
    options = ["--words", "1"] if precision is None else ["--precision", "0.9"]
    assert main(["annotate", "model.jointsparse", "in", "broken", "--csv", "table.csv", *options]) == 1
    said = capsys.readouterr()
    assert said.out == "" and "\\x1b5.png: does not open as a picture" in said.err and "notes.txt" not in said.err
    assert "left out: broken/6.png: a folder, not a picture file" in said.err
    rows, names = read_table("table.csv"), {"in/31.png": 31, "in/35.png": 35, "in/more/29.png": 29}
    scores = drawn.model.decision_function(drawn.pictures).to_numpy()
    a, b = drawn.fit.model.calibration_.T
    p, above = expit(scores * a + b), scores >= annotator.thresholds(drawn.model, precision)
    ranks = 1 + (drawn.fit.scores.astype(np.float32) > scores[:, np.newaxis] + 1e-6).sum(axis=1)
    expected = [
        (name, WORDS[k], pytest.approx(p[i, k], abs=1e-5), ranks[i, k], 28, above[i, k])
        for name, i in names.items()
        for k in np.argsort(-p[i])[: 1 if precision is None else 2]
        if precision is None or above[i, k]
    ]
    assert list(rows.itertuples(index=False, name=None)) == expected and len(expected) > 2


@pytest.mark.parametrize(("most", "options"), [(2, []), (1, ["--words", "1"])])
def test_words_above_their_thresholds_are_written_into_sidecars(place, capsys, most, options):
    command = ["annotate", "model.jointsparse", "in"]
    main([*command, "--csv", "table.csv", "--precision", ".5"])
    expected = read_table("table.csv").groupby("image")["word"].agg(lambda words: {*words[:most]}).to_dict()
    before = sorted(place.rglob("*"))
    capsys.readouterr()
    assert main([*command, "--xmp", "--dry-run", *options]) == 0
    adds = re.findall(r"(?m)^(.*)\.xmp: adds \d \((.*)\)$", capsys.readouterr().out)
    assert {picture: {*words.split(", ")} for picture, words in adds} == expected
    assert sorted(place.rglob("*")) == before
    main([*command, "--xmp", *options])
    for picture, words in expected.items():
        root = parsed(Path(f"{picture}.xmp").read_text("utf-8"))
        assert {*values(root, SUBJECT)} == {*values(root, PREDICTED)} == words and tags_of(Path(picture)) == []


@pytest.mark.parametrize("damaged", ["in/35.png", "in/35.png.xmp"])
def test_a_picture_or_sidecar_that_cannot_be_read_leaves_the_sidecar_as_it_is(place, damaged):
    command, sidecar = ["annotate", "model.jointsparse", "in", "--xmp"], Path("in/35.png.xmp")
    assert main(command) == 0 and sidecar.exists()
    Path(damaged).write_bytes(b"neither")
    before = sidecar.read_bytes()
    assert main(command) == 1 and sidecar.read_bytes() == before


def test_scores_that_are_not_finite_are_refused():
    model = model_of("rows")
    model[-1].coef_ = np.full_like(model[-1].coef_, 3e38)
    with pytest.raises(ValueError, match="the scores of the model must be finite, got"):
        annotator._decided(model, model.check_["X"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("in --words 0", "words must be at least 1, got 0"),
        ("in --precision 1.5", "precision must be above 0 and at most 1, got 1.5"),
        ("in --csv table.xlsx", "--csv must name a file that ends in .csv and is not one of the inputs, got"),
        ("in --dry-run", "--dry-run works only with --xmp"),
        ("in --network table.csv", "network must be None, as model.jointsparse holds no network's features"),
        ("in --html in/page", "--html must name a folder outside the pictures, got 'in/page'"),
        ("in/35.png --html model.jointsparse", "error: [Errno"),
        ("nowhere", "pictures must be existing files or folders, got"),
        ("table.csv", "left out: table.csv: "),
    ],
)
def test_bad_arguments_of_annotate_are_refused(place, capsys, arguments, said):
    assert main(["annotate", "model.jointsparse", *arguments.split()]) in {1, 2}
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("columns", "said"),
    [("abcde", "must have all features of the model, but lacks the columns ['e']"), ("", "must have 5 features like")],
)
def test_tables_without_the_features_of_the_model_are_refused(tmp_path, columns, said):
    (tmp_path / "rows.csv").write_text("a,c,b,d\n1,2,3,4\n")
    with pytest.raises(ValueError, match=rf"rows\.csv {re.escape(said)}"):
        annotator.annotate_rows(of_rows(columns=columns).model, [tmp_path / "rows.csv"])


# The page of annotated pictures


def photos_of(model, *options):
    save(model, "model.jointsparse")
    assert main(["annotate", "model.jointsparse", "in", "--html", "page", *options]) == 0
    return data_of(Path("page/index.html").read_text("utf-8"))["photos"]


def test_the_page_shows_each_picture_with_maps_of_its_tags_and_similar_known_pictures(place, capsys):
    model = model_of("pictures")
    Path("known/link.png").symlink_to("0.png")
    model.known_names_ = ["0.png", "./1.png", "link.png", "gone.png"] * 7
    photos = photos_of(model, "--known", "known")
    assert {photo["name"]: photo["original"] for photo in photos} == {
        name: f"../{name}" for name in ("in/35.png", "in/31.png", "in/more/29.png")
    }
    shown, known = {photo["file"] for photo in photos}, {file for photo in photos for _, file in photo["alike"]}
    maps = {
        photo["file"].replace(".webp", f"-{place:03d}.webp")
        for photo in photos
        for place, *_ in photo["tags"][: photo["n_maps"]]
    }
    assert {f"thumbnails/{file.name}" for file in Path("page/thumbnails").iterdir()} == (shown | maps | known) - {""}
    clear = [{b"ALPH" in Path("page", file).read_bytes() for file in files} for files in (shown, known - {""}, maps)]
    assert clear == [{False}, {False}, {True}] and "not shown" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "is_inside"),
    [
        *(("0.png", True), ("./0.png", True), ("same.png", True)),
        *(("{place}/known/0.png", False), ("../elsewhere/2.png", False), ("a/../../elsewhere/2.png", False)),
        *(("link.png", False), ("folder/2.png", False), ("\0", False)),
    ],
)
def test_a_known_picture_lies_inside_of_its_folder(place, name, is_inside):
    for link, target in {"same.png": "0.png", "link.png": place / "elsewhere/2.png", "folder": "../elsewhere"}.items():
        Path("known", link).symlink_to(target)
    assert annotated._inside(Path("known"), name.format(place=place)) == (place / "known/0.png" if is_inside else None)


def test_known_pictures_that_lie_outside_or_do_not_open_are_named_but_not_shown(place, capsys):
    model = model_of("pictures")
    model.known_names_[:3] = "link.png", "bad.png", "loop"
    model.known_scores_[3:] += 1e6  # so that these three are alike
    Path("known/link.png").symlink_to(place / "elsewhere/2.png")
    Path("known/loop").symlink_to("loop")
    Path("known/bad.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    assert sorted(photos_of(model, "--known", "known")[0]["alike"]) == [["bad.png", ""], ["link.png", ""], ["loop", ""]]
    assert sorted(capsys.readouterr().err.splitlines()) == [
        "not shown: bad.png: it does not open as a picture",
        "not shown: link.png: it lies outside of the folder of known pictures",
        "not shown: loop: it does not open as a picture",
    ]


@pytest.mark.parametrize(("second", "shown"), [(-1.0, [0.5, 0.269]), (-9.0, [0.5])])  # probabilities of .27 and .0001
def test_probable_tags_are_on_the_page_even_if_they_are_not_listed_in_the_table(place, capsys, second, shown):
    model = model_of("pictures")
    model[-1].calibration_ = np.array([[0.0, 0.0], [0.0, second]])
    model.card_ = model.card_.model_copy(update={"thresholds": [9.0, 9.0]})
    photos = photos_of(model, "--words", "1")
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(photos)
    assert [[p for _, p, *_ in photo["tags"]] for photo in photos] == [shown] * 3


def test_maps_are_in_units_of_the_standard_deviation_of_known_scores(place, monkeypatch):
    model, seen, overlays = model_of("pictures"), [], thumbnails.overlays
    model[-1].calibration_ = np.array([[0.0, 1.0], [0.0, 0.0]])  # the first tag is more probable
    model.known_scores_ = model.known_scores_ / 100
    monkeypatch.setattr(thumbnails, "overlays", lambda heats, full: seen.append(full) or overlays(heats, full))
    photos_of(model)
    np.testing.assert_allclose(seen, [model.known_scores_.std(axis=0)] * 3, rtol=1e-6)

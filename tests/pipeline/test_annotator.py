"""The pipeline from a picture to its words, built from a final fit, and the command that annotates pictures with it."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pages import fits
from PIL import Image
from scipy.special import expit
from sklearn.pipeline import Pipeline

from jointsparse import JointSparseClassifier
from jointsparse.features import basis as svd
from jointsparse.features.explain import Explainer, explain
from jointsparse.features.transformers import DenseSift, VocabularyTree
from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.datasets.metadata import PREDICTED, SUBJECT, parsed, tags_of, values
from jointsparse.pipeline.models import annotator, final
from jointsparse.pipeline.models.model_file import save
from jointsparse.pipeline.page.kept import kept_model
from jointsparse.pipeline.provenance.tables import read_table

SIFT = {"patch_sizes": (8, 12), "step": 4, "rootsift": True}
WORDS = ["ramp", "stripes", "=late"]


# The final fit


@pytest.fixture(scope="module")
def pictures():
    """Grey pictures with a ramp, with stripes, with both or neither, and their labels (n, 3); the last is random."""
    rng = np.random.default_rng(0)
    labels = rng.random((120, 3)) < 0.4
    greys = []
    for ramp, stripes, _ in labels:
        grey = rng.uniform(0.4, 0.6, (32, 48))
        if ramp:
            grey[:, :24] = np.linspace(0, 1, 24)
        if stripes:
            grey[:, 24:] = np.arange(32)[:, np.newaxis] // 2 % 2
        greys.append((255 * grey).astype(np.uint8))
    return greys, labels


@pytest.fixture(scope="module")
def chain(pictures):
    """A final fit that chose from two powers of a basis, its table, the pipeline built from it, and the features."""
    greys, labels = pictures
    describe = DenseSift(**SIFT)
    tree = VocabularyTree(branching=4, depth=2, weighting="tf-idf", random_state=0).fit(describe.transform(greys))
    X = tree.transform(describe.transform(greys))
    basis = svd.fit(X, rank=8, rng=np.random.default_rng(0))
    features, scales = svd.project(X, basis), svd.factors(basis.singular_values, [0, 1])
    chosen, table = final.fit_and_test(
        features,
        labels,
        np.repeat(["train", "validation", "test"], [60, 20, 40]),
        WORDS,
        norm="l1inf",
        scales=scales,
        n_resamples=20,
        seed=0,
    )
    fit = final.calibrated(chosen, features[:80], scales[chosen.power])
    steps = annotator.of_pictures(
        extractor="dense_sift",
        options=SIFT,
        longest_side=48,
        tree=tree.tree_,
        weighting={"weighting": "tf-idf", "normalise": True},
        idf=tree.idf_,
    )
    names = [f"{i}.png" for i in range(80)]
    model = annotator.annotator(fit, table, X, names=names, steps=steps, basis=basis, dataset="drawn")
    return fit, table, model, features * scales[fit.power]


def test_the_table_of_the_final_fit_shows_which_words_are_learnt(chain):
    table = chain[1].set_index("word")
    assert (table.loc[["ramp", "stripes"], "auc_low"] > 0.95).all() and table.loc["=late", "auc"] < 0.8
    assert table.index[-1] == final.ALL_WORDS and table["gap"].max() <= 1e-3


def test_known_scores_come_from_models_that_were_not_trained_on_the_image(chain):
    fit, _, _, features = chain
    known = np.arange(80)
    for i in (0, 41, 79):  # it is unlikely that other images have the same score
        refit = [
            JointSparseClassifier("l1inf", fit.model.radius_, tol=final.FOLD_TOL).fit(
                features[:80][rest], fit.labels[rest]
            )
            for rest, held_out in final.StratifiedKFold(5, shuffle=True, random_state=0).split(
                known, final.strata(np.where(fit.labels, 1, -1), 5)
            )
            if i in held_out
        ]
        np.testing.assert_allclose(refit[0].decision_function(features[[i]])[0], fit.scores[i], rtol=1e-4)


def model_with_known(scores, labels):
    """Return a model of one word that has only the scores and labels of its known pictures."""
    model = Pipeline([("classifier", JointSparseClassifier())])
    model["classifier"].calibration_ = np.array([[1.0, 0.0]])
    model.known_scores_, model.known_labels_ = np.float32(scores)[:, np.newaxis], np.array(labels)[:, np.newaxis]
    model.card_ = SimpleNamespace(words=["cat"], thresholds=annotator.limits(model.known_scores_, model.known_labels_))
    return model


def test_assigned_words_are_counted_with_the_fraction_that_is_correct():
    known = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    model = model_with_known(known, [1, 1, 1, 1, 0, 1, 0, 0, 0, 0])
    scores, labels = np.array([[11], [5], [4], [8], [3]]), np.array([[1], [0], [1], [-1], [1]])
    table = annotator.at_precisions(model, scores, labels).set_index("precision")
    assert table.loc[0.5].tolist() == [1, 5, 5, 5, 0.75]  # threshold 1: five of the ten known pictures have the word
    assert table.loc[0.7].tolist() == [1, 4, 5, 4, 2 / 3]  # threshold 4: five of seven
    assert table.loc[0.9, ["words", "pictures", "said"]].tolist() == [0, 0, 0] and np.isnan(table.loc[0.9, "right"])


@pytest.mark.parametrize(("score", "rank"), [(4, 1), (3, 1), (2.5, 2), (2, 2), (1, 4), (0, 5), (3 - 1e-6, 1)])
def test_the_rank_of_a_picture_is_one_more_than_the_number_of_known_pictures_with_a_larger_score(score, rank):
    table = annotator._listed(model_with_known([1, 3, 2, 2], [0, 1, 1, 0]), [("new.png", np.array([score]))], 1, None)
    assert table[["rank", "of"]].to_numpy().tolist() == [[rank, 4]]


@pytest.mark.parametrize(
    ("labels", "precision", "expected"),
    [
        ([1, 1, 1, 1, 1, 0, 0, 0], 1.0, 4),  # the scores are 8, 7, ..., 1
        ([1, 1, 1, 1, 0, 0, 0, 0], 1.0, np.inf),  # four known pictures are too few
        ([1, 1, 1, 1, 0, 0, 0, 0], 0.8, 4),
        ([1, 1, 1, 1, 0, 0, 0, 0], 0.81, np.inf),
        ([1, 0, 1, 1, 1, 1, 0, 0], 0.8, 3),  # the smallest score that reaches it
        ([1, 1, -1, 1, 1, 0, 0, 0], 1.0, np.inf),  # a picture with an unknown label does not count
        ([1, 1, -1, 1, 1, 1, 0, 0], 1.0, 3),
        ([1, -1, 1, 0, 1, 0, 0, 0], None, 4),  # the largest F1
        ([1, 0, -1, -1, -1, -1, -1, 0], None, 8),
        ([1] * 5 + [0] * 10 + [1] * 72, 1.0, 83),  # recall times 77 is a little less than 5 by rounding
    ],
)
def test_a_threshold_has_at_least_five_known_pictures_above_it(labels, precision, expected):
    (got,) = annotator.thresholds(model_with_known(np.arange(len(labels), 0, -1), labels), precision)
    assert got == expected


@pytest.mark.parametrize(("score", "above"), [(4, True), (3.9, False), (4 - 1e-6, True)])
def test_a_picture_whose_score_equals_the_threshold_counts_as_above_it(score, above):
    model = model_with_known(np.arange(8, 0, -1), [1] * 5 + [0] * 3)
    table = annotator._listed(model, [("new.png", np.array([score]))], 1, 1.0)
    assert table["above"].tolist() == [True] * above  # pictures below the threshold are not listed


# The pipeline


def test_the_pipeline_gives_the_scores_of_the_fit_with_only_the_columns_in_use(chain, pictures):
    fit, _, model, features = chain
    expected = fit.model.decision_function(features)
    np.testing.assert_allclose(model.decision_function(pictures[0]), expected, atol=1e-5)
    n_used = fit.model.coef_.any(axis=0).sum()
    assert model["basis"].basis_.components.shape[1] == n_used
    assert model["classifier"].selected_features_.tolist() == list(range(n_used))
    assert model.check_["X"].shape[0] == len(model.check_["scores"]) == annotator.CHECKED
    assert model.predict_proba(pictures[0][:2]).columns.tolist() == WORDS


@pytest.mark.parametrize("n_more", [0, 3])
def test_names_of_features_that_no_sample_has_are_left_out(chain, n_more):
    fit, table, _, features = chain
    names = [f"word {i}" for i in range(features.shape[1])]
    given = {"names": [f"{i}" for i in range(80)], "dataset": "drawn"}
    more = [f"more {i}" for i in range(n_more)]
    assert annotator.annotator(fit, table, features, columns=[*names, *more], **given).columns_ == names


def test_a_map_sums_to_the_score_and_shows_where_the_object_is(chain, pictures):
    _, _, model, _ = chain
    both = [i for i, (ramp, stripes, _) in enumerate(pictures[1]) if ramp and stripes][:4]
    for i in both:
        score = np.asarray(model.decision_function([pictures[0][i]]))[0]
        for k, half in enumerate((slice(0, 20), slice(28, 48))):
            heat = explain(model, pictures[0][i], WORDS[k])
            assert heat.shape == (32, 48) and heat.sum() + model[-1].intercept_[k] == pytest.approx(score[k], abs=1e-4)
            assert heat[:, half].mean() > heat.mean()


# The command


@pytest.fixture(scope="module")
def files(chain, pictures, tmp_path_factory):
    """A folder with a model file, and with eight good pictures and a broken one in a subfolder."""
    folder = tmp_path_factory.mktemp("annotate")
    (folder / "in" / "more").mkdir(parents=True)
    for i in range(8):
        Image.fromarray(pictures[0][i]).save(folder / "in" / ("more" if i % 2 else "") / f"{i}.png")
    (folder / "in" / "\x1b5.png").write_bytes(b"no picture")
    for name in ("in/notes.txt", "table.csv"):
        (folder / name).touch()
    save(chain[2], folder / "model.jointsparse")
    return folder


def test_the_pictures_in_a_folder_are_annotated_and_a_broken_picture_is_reported(chain, pictures, files, capsys):
    table = files / "table.csv"
    assert (
        main(["annotate", str(files / "model.jointsparse"), str(files / "in"), "--csv", str(table), "--words", "2"])
        == 1
    )
    said = capsys.readouterr()
    assert said.out == "" and "left out" in said.err and "\\x1b5.png: does not open as a picture" in said.err
    assert "notes.txt" not in said.err  # not a picture file
    rows = read_table(table)
    assert len(rows) == 16 and set(rows.groupby("image").size()) == {2}
    model, fit = chain[2], chain[0]
    i = int(rows["image"][0].rpartition("/")[2].removesuffix(".png"))
    score = np.asarray(model.decision_function([pictures[0][i]]))[0]
    P = expit(score * fit.model.calibration_[:, 0] + fit.model.calibration_[:, 1])
    best = np.argsort(-P)[:2]
    assert rows["word"][:2].tolist() == [WORDS[k] for k in best]
    # Single precision; one picture is scored alone, the others in batches.
    np.testing.assert_allclose(rows["probability"][:2], P[best], atol=1e-5)
    larger = [(fit.scores[:, k].astype(np.float32) > score[k] + 1e-6).sum() for k in best]
    assert rows["rank"][:2].tolist() == [n + 1 for n in larger] and set(rows["of"]) == {80}
    assert rows["above"][:2].tolist() == [bool(score[k] >= annotator.thresholds(model)[k]) for k in best]


def test_show_describes_a_model_and_a_precision_lists_the_words_that_reach_it(chain, files, capsys):
    picture = str(files / "in" / "0.png")
    assert main(["show", str(files / "model.jointsparse")]) == 0
    said = capsys.readouterr().out
    assert f"words: {json.dumps(chain[2].card_.words)}" in said and "auc_low" in said and len(said.splitlines()) < 25
    assert main(["annotate", str(files / "model.jointsparse"), picture, "--precision", "0.9"]) == 0
    score = np.asarray(chain[2].decision_function([picture]))[0]
    expected = {WORDS[k] for k in np.flatnonzero(score >= annotator.thresholds(chain[2], 0.9))}
    said = capsys.readouterr().out
    assert {word for word in WORDS if f" {word} " in said} == expected == {"stripes"}


def test_annotations_list_the_known_pictures_with_the_nearest_scores(chain, files):
    paths, model = [files / "in" / "0.png", files / "in" / "2.png"], chain[2]
    annotations = annotator.annotate(model, paths)
    scores, spread = np.asarray(model.decision_function([str(path) for path in paths])), model.known_scores_.std(axis=0)
    for path, score in zip(paths, scores, strict=True):
        distance = np.linalg.norm((model.known_scores_ - score) / spread, axis=1)
        assert annotations.alike[str(path)] == [f"{i}.png" for i in np.argsort(distance)[:3]]


def test_a_feature_on_the_page_is_a_column_of_the_basis_and_its_map_sums_to_its_value(chain, pictures):
    fit, _, model, features = chain
    on_test, calibration = np.arange(80, 86), fit.model.calibration_
    halves = pd.DataFrame({"feature": range(features.shape[1]), "halves": range(features.shape[1]), "of": 20})
    given = {"known_images": np.arange(80), "with_maps": True, "names": (), "fits": fits()._replace(stability=halves)}
    histograms = model[:2].transform(pictures[0][:86])
    kept = kept_model(model, histograms, pictures[1][:86].astype(int), on_test, **given)
    shown = kept.features
    columns = [int(feature.name.removeprefix("feature ")) for feature in shown]
    size = np.linalg.norm(fit.model.coef_, axis=0)
    assert columns == [i for i in np.argsort(-size, kind="stable") if size[i]]
    assert [feature.note for feature in shown] == [f"chosen in {i} of 20 halves" for i in columns]
    values = features[on_test][:, columns]
    assert [feature.images for feature in shown] == on_test[np.argsort(-values, axis=0, kind="stable")[:4]].T.tolist()
    scores = np.concatenate([fit.scores, fit.model.decision_function(features[on_test])])
    np.testing.assert_allclose(kept.probabilities, expit(scores * calibration[:, 0] + calibration[:, 1]), atol=1e-5)
    places = len(WORDS) + np.arange(len(columns))
    for picture, expected in zip(pictures[0][80:86], values, strict=True):
        sums = [heat.sum() for heat in Explainer(model, [feature.place for feature in shown]).heats(picture, places)]
        np.testing.assert_allclose(sums, expected, atol=1e-4)


def test_a_page_shows_each_picture_with_maps_of_its_tags(files):
    model, page = str(files / "model.jointsparse"), files / "page"
    main(["annotate", model, str(files / "in"), "--html", str(page), "--known", str(files / "in")])
    html = (page / "index.html").read_text()
    photos = json.loads(re.findall(r'id="data">(.*?)</script>', html)[0])["photos"]
    shown = {photo["file"] for photo in photos}
    known = {file for photo in photos for _, file in photo["alike"] if file}
    maps = {
        photo["file"].replace(".webp", f"-{place:03d}.webp")
        for photo in photos
        for place, *_ in photo["tags"][: photo["n_maps"]]
    }
    assert {f"thumbnails/{file.name}" for file in (page / "thumbnails").iterdir()} == shown | maps | known
    assert len(shown) == 8 and known and maps
    assert "does not open as a picture" in html
    for name, mode in ((min(maps), "RGBA"), (min(shown), "RGB")):
        with Image.open(page / name) as picture:
            assert picture.mode == mode


def test_words_above_their_thresholds_are_written_into_sidecars(files, tmp_path, capsys):
    shutil.copytree(files / "in", tmp_path / "in")
    table, folder, model = tmp_path / "table.csv", tmp_path / "in", str(files / "model.jointsparse")
    main(["annotate", model, str(folder), "--csv", str(table), "--precision", ".5"])
    expected = read_table(table).groupby("image")["word"].agg(set).to_dict()
    before = sorted(tmp_path.rglob("*"))
    capsys.readouterr()
    assert main(["annotate", model, str(folder), "--xmp", "--dry-run"]) == 1  # a picture is broken
    said = capsys.readouterr()
    for picture, words in expected.items():
        line = next(line for line in said.out.splitlines() if line.startswith(f"{picture}.xmp: adds "))
        assert {*re.split(r" adds \d \(|, |\)", line)[1:-1]} == words
    assert f"{len(expected)} sidecars of 8 pictures would change." in said.out and "5.png: does not open" in said.err
    assert sorted(tmp_path.rglob("*")) == before
    (folder / "0.png.xmp").write_text("damaged")
    assert main(["annotate", model, str(folder), "--xmp"]) == 1
    said = capsys.readouterr()
    assert "0.png.xmp cannot be changed: it is not well-formed XML" in said.err and "probability" not in said.out
    (folder / "0.png.xmp").unlink()
    main(["annotate", model, str(folder), "--xmp"])
    for picture, words in expected.items():
        root = parsed(Path(f"{picture}.xmp").read_text("utf-8"))
        assert {*values(root, SUBJECT)} == {*values(root, PREDICTED)} == words and tags_of(Path(picture)) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["model.jointsparse", "in", "--words", "0"], "words must be at least 1, got 0"),
        (["model.jointsparse", "in", "--precision", "1.5"], "precision must be above 0 and at most 1, got 1.5"),
        (["model.jointsparse", "in", "--precision", "0"], "precision must be above 0 and at most 1, got 0.0"),
        (
            ["model.jointsparse", "in", "--csv", "table.xlsx"],
            "--csv must name a file that ends in .csv and is not one of the inputs, got 'table.xlsx'",
        ),
        (["model.jointsparse", "in", "--dry-run"], "--dry-run works only with --xmp"),
        (
            ["model.jointsparse", "in", "--html", "in/page"],
            "--html must name a folder outside the pictures, got 'in/page'",
        ),
        (
            ["model.jointsparse", "in", "--known", "in"],
            "--known must name an existing folder and be used together with --html, got 'in'",
        ),
        (["model.jointsparse", "in/0.png", "--html", "model.jointsparse"], "error: [Errno"),
        (["model.jointsparse", "nowhere"], "pictures must be existing files or folders, got"),
        (["model.jointsparse", "in/notes.txt"], "left out: in/notes.txt: a picture file must hold 1 to"),
        (["model.jointsparse", "table.csv"], "left out: table.csv: "),
    ],
)
def test_bad_arguments_of_annotate_are_refused(files, capsys, monkeypatch, arguments, said):
    monkeypatch.chdir(files)
    assert main(["annotate", *arguments]) in {1, 2}
    assert said in capsys.readouterr().err

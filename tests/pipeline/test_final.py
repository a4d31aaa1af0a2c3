"""The final fit of a dataset, its scores on test images, and how often features are selected on random halves."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from common import draw_scores
from model_files import made
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline

from jointsparse import JointSparseClassifier, stability_selection
from jointsparse.estimators.classifier import platt_scaling
from jointsparse.features.basis import factors
from jointsparse.pipeline.models import final
from jointsparse.pipeline.models.stability import stability

WORDS = ["ramp", "stripes", "=late"]


def test_a_word_that_no_test_image_has_is_nan_and_does_not_count_in_the_mean():
    scores, labels = draw_scores(n=40, m=3)
    labels[:, 1] = False
    for values in final.tested(scores, labels, n_resamples=20, seed=0).values():
        assert np.isnan(values[:, 1]).all()
        assert values[0, 3] == pytest.approx(values[0, [0, 2]].mean())


@pytest.mark.parametrize("second", [[1] + [0] * 9, [1] * 5 + [0] + [-1] * 4], ids=["with it", "without it, as known"])
def test_words_that_too_few_images_have_or_lack_are_refused(second):
    labels = np.stack([np.arange(10) % 2, second], axis=1)
    with pytest.raises(ValueError, match=r"of the 10 known images at least two must have each word .*\['tea'\]"):
        final.fit(np.eye(10), labels, ["cat", "tea"], norm="l1inf", scales={})


@pytest.mark.parametrize("share", [None, 0.05, 0.3, 0.6])
def test_many_images_choose_the_radius_on_validation_images_or_on_a_fifth(share, monkeypatch):
    labels = np.arange(40)[:, np.newaxis] % 4 == np.arange(2)
    last = None if share is None else np.arange(40) >= 40 * (1 - share)
    assert final.splits(labels, last) == final.N_FOLDS  # few images
    monkeypatch.setattr(final, "ENOUGH", 40)
    ((taught, held_out),) = final.splits(labels, last)
    assert sorted([*taught, *held_out]) == list(range(40))
    is_fifth = len(held_out) == 8 and labels[held_out].sum(axis=0).tolist() == [2, 2]
    assert held_out.tolist() == np.flatnonzero(last).tolist() if share == 0.3 else is_fifth


@pytest.fixture(scope="module")
def partly_known():
    """A final fit of samples with some unknown labels (-1), its table, and the features and labels.

    Of three scales of the features, only the second keeps the informative features. The last feature is 0 wherever the
    first label is known.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(130, 5))
    labels = np.where(rng.random((130, 3)) < 0.4, -1, X[:, :3] + rng.normal(0, 0.5, (130, 3)) > 0)
    X[labels[:, 0] >= 0, 4] = 0
    scales = {0.0: [0, 0, 0, 1, 1], 0.5: [1, 10, 0.1, 1, 1], 1.0: [0, 0, 0, 2, 2]}
    split, options = np.repeat(["train", "validation", "test"], [60, 30, 40]), {"n_resamples": 5, "seed": 0}
    scales = {power: np.array(factors) for power, factors in scales.items()}
    chosen, table = final.fit_and_test(X, labels, split, WORDS, norm="l1", scales=scales, **options)
    return X * scales[0.5], labels, final.calibrated(chosen, X[:90], scales[chosen.power]), table


def test_the_power_with_the_best_mean_auc_is_chosen_and_scales_the_test_images_too(partly_known):
    X, labels, fit, table = partly_known
    assert fit.power == 0.5
    scores, on_test = np.asarray(fit.model.decision_function(X[90:])), labels[90:]
    expected = [roc_auc_score(y[y >= 0], f[y >= 0]) for y, f in zip(on_test.T, scores.T, strict=True)]
    np.testing.assert_allclose(table["auc"], [*expected, np.mean(expected)])


def test_unknown_labels_do_not_count_in_the_calibration(partly_known):
    _, labels, fit, _ = partly_known
    for k, y in enumerate(labels[:90].T):
        f, y = fit.scores[y >= 0, k, np.newaxis], np.where(y == 1, 1, -1)[y >= 0, np.newaxis]
        np.testing.assert_allclose(fit.model.calibration_[k], platt_scaling(f, y, np.ones(f.shape))[0], rtol=1e-3)


def test_the_table_of_a_final_fit_counts_only_images_that_are_known_to_have_a_word(partly_known):
    _, labels, fit, table = partly_known
    for column, has in (("images", labels[:90] == 1), ("test_images", labels[90:] == 1)):
        assert table[column].tolist() == [*has.sum(axis=0), has.any(axis=1).sum()]
    used = fit.model.coef_ != 0
    assert table["features"].tolist() == [*used.sum(axis=1), used.any(axis=0).sum()]
    assert used.any(axis=0).sum() > used.all(axis=0).sum() and table["word"].tolist() == [*WORDS, final.ALL_WORDS]


def test_known_scores_come_from_models_that_were_not_trained_on_the_image():
    fit, X = made("texts").fit, made("texts").features[:28]
    folds = final.StratifiedKFold(5, shuffle=True, random_state=0)
    by, Y = final.strata(np.where(fit.labels == 1, 1, -1), 5), np.where(fit.labels < 0, np.nan, fit.labels)
    for rest, held_out in folds.split(by, by):
        alone = JointSparseClassifier("l1inf", fit.model.radius_, tol=final.FOLD_TOL).fit(X[rest], Y[rest])
        np.testing.assert_allclose(alone.decision_function(X[held_out]), fit.scores[held_out], rtol=1e-3, atol=1e-4)


def test_a_stored_fit_gives_the_same_model_and_results(partly_known):
    model = partly_known[2].model
    fit, results = final.Fit.of(model), model.results_by_norm_["l1"] | {"score": model.best_score_}
    attributes = ("coef_", "intercept_", "radius_", "duality_gap_", "loss", "norm")
    np.testing.assert_equal(*([getattr(one, name) for name in attributes] for one in (fit.model(), model)))
    stored = ("score", "scores", "errors", "features")
    np.testing.assert_equal(*([one[name] for name in stored] for one in (fit._asdict(), results)))


# The comparison of norms


def fitted(*, score=0.0, **results):
    return final.Fit(**dict.fromkeys(final.Fit._fields) | {"score": score, "coef": np.zeros((3, 30))} | results)


@pytest.mark.parametrize(("spread", "expected"), [(0.1, "l12"), (0.001, "l2")])
def test_cross_validation_chooses_the_norm_with_the_fewest_features_within_one_standard_error(spread, expected):
    folds = spread * np.array([[-1.0, 0, 1]])
    fits = {
        norm: fitted(scores=score + folds, errors=np.array([spread / 3**0.5]), features=np.full((1, 3), n))
        for norm, score, n in (("l1", 0.7, 2), ("l12", 0.89, 5), ("l2", 0.9, 30))
    }
    assert final.chosen_norm(fits) == expected


def test_the_comparison_of_final_fits_holds_their_means_on_test_images():
    numbers = {"auc": [0.1, 0.6], "auc_low": [0, 0.5], "precision_at_10": [0.2, 0.3], "images": 9, "gap": 0.01}
    # A word may have the name of the row of means, which is always the last row.
    words = pd.DataFrame({"word": final.ALL_WORDS, "features": [2, 4], **numbers})
    fits = {"l1": fitted(score=0.7), "l2": fitted(score=0.8)}
    shared = {"of": 30, "auc": 0.6, "auc_low": 0.5, "precision_at_10": 0.3}
    assert final.norms(fits, [words, words.assign(features=30)], "l2").to_dict("records") == [
        {"norm": "l1", "kept": False, "validation": 0.7, "features": 4} | shared,
        {"norm": "l2", "kept": True, "validation": 0.8, "features": 30} | shared,
    ]


# How often features are selected on random halves


def saved(norm="l1", columns=(), **steps):
    """Return a stand-in for a saved model of two words that uses the first and the last of its three features."""
    given = {"norm": norm, "radius_": 2.0, "loss": "logistic", "classes_": np.array(["cat", "tea"])}
    model = Pipeline([*steps.items(), ("", SimpleNamespace(coef_=np.array([[1, 0, 0], [0, 0, 1]]), **given))])
    model.columns_ = list(columns)
    return model


BASIS, VALUES = SimpleNamespace(columns_=np.array([0, 3, 4]), power=0), np.array([9.0, 5.0, 3.0, 2.0, 1.0])


@pytest.mark.parametrize(
    ("model", "values", "groups", "names", "used"),
    [
        (saved(columns="abc"), None, np.arange(60) // 20, list("abc"), [0, 2]),
        (saved(columns="xy", basis=BASIS), VALUES, None, [f"feature {i}" for i in range(5)], [0, 4]),
    ],
    ids=["features", "basis"],
)
def test_selections_are_counted_with_the_settings_of_the_saved_model(rng, model, values, groups, names, used):
    X = rng.normal(size=(60, len(names)))
    labels = np.where(rng.random((60, 2)) < 0.1, -1, X[:, [0, -1]] + rng.normal(size=(60, 2)) > 0)
    table = stability(model, X, labels, singular_values=values, n_pairs=3, seed=7, groups=groups)
    scaled, Y = X if values is None else X * factors(values, [0])[0], np.where(labels < 0, np.nan, labels)
    options = {"n_pairs": 3, "sample_groups": groups, "random_state": 7}
    expected = stability_selection(JointSparseClassifier("l1", 2.0), scaled, Y, **options)
    by_feature = table.sort_values("feature")
    np.testing.assert_allclose(by_feature["halves"] / 6, expected.frequencies)
    assert (by_feature["name"].tolist(), np.flatnonzero(by_feature["used"]).tolist()) == (names, used)
    assert table["halves"].is_monotonic_decreasing and table["halves"].min() < table["halves"].max()
    assert (table[["of", "threshold", "bound"]] == [6, expected.threshold, expected.bound]).all(axis=None)


def test_nothing_is_counted_for_a_model_that_uses_all_features():
    assert stability(saved("l2"), np.eye(3), np.eye(3)[:, :2], singular_values=None, n_pairs=3, seed=0).empty

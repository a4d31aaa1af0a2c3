"""The final fit of a dataset, and its scores on test images."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from common import draw_scores
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.pipeline import Pipeline

from jointsparse import JointSparseClassifier, JointSparseClassifierCV, stability_selection
from jointsparse.estimators.classifier import platt_scaling
from jointsparse.features.basis import factors
from jointsparse.metrics import resample
from jointsparse.pipeline.models import annotator, final
from jointsparse.pipeline.models.stability import stability

WORDS = ["ramp", "stripes", "=late"]


# Scores on test images


def test_scores_agree_with_scikit_learn_also_in_resamples_with_repeated_images():
    scores, labels = draw_scores(n=200, m=3)
    numbers = final.tested(scores, labels, n_resamples=40, seed=3)
    drawn = [np.repeat(np.arange(200), times) for times in resample(200, 40, np.random.default_rng(3))[1:]]
    for metric, of_scores in (("auc", roc_auc_score), ("average_precision", average_precision_score)):
        by_word = [[of_scores(labels[i, k], scores[i, k]) for k in range(3)] for i in [np.arange(200), *drawn]]
        expected = np.hstack([by_word, np.mean(by_word, axis=1, keepdims=True)])
        if metric == "auc":
            np.testing.assert_allclose(numbers[metric][1:], np.quantile(expected[1:], [0.025, 0.975], axis=0))
        np.testing.assert_allclose(numbers[metric][0], expected[0])
    first = [labels[np.argsort(-scores[:, k])[:10], k].mean() for k in range(3)]
    np.testing.assert_allclose(numbers["precision_of_first"][0, :3], first)
    assert all((low <= value).all() and (value <= high).all() for value, low, high in numbers.values())


def test_a_word_that_no_test_image_has_is_nan_and_does_not_count_in_the_mean():
    scores, labels = draw_scores(n=40, m=3)
    labels[:, 1] = False
    for values in final.tested(scores, labels, n_resamples=20, seed=0).values():
        assert np.isnan(values[:, 1]).all()
        assert values[0, 3] == pytest.approx(values[0, [0, 2]].mean())


# The final fit


@pytest.mark.parametrize("second", [[1] + [0] * 9, [1] * 5 + [0] + [-1] * 4], ids=["with it", "without it, as known"])
def test_words_that_too_few_images_have_or_lack_are_refused(second):
    labels = np.stack([np.arange(10) % 2, second], axis=1)
    with pytest.raises(ValueError, match=r"of the 10 known images at least two must have each word .*\['tea'\]"):
        final.fit(np.eye(10), labels, ["cat", "tea"], norm="l1inf", scales={})


@pytest.mark.parametrize("share", [None, 0.05, 0.3, 0.6])
def test_many_images_choose_the_radius_on_validation_images_or_on_a_fifth(share, monkeypatch):
    labels, last = np.arange(40)[:, np.newaxis] % 4 == np.arange(2), None
    if share is not None:
        last = np.arange(40) >= 40 * (1 - share)
    assert final.splits(labels, last) == final.N_FOLDS  # few images
    monkeypatch.setattr(final, "ENOUGH", 40)
    ((taught, held_out),) = final.splits(labels, last)
    assert sorted([*taught, *held_out]) == list(range(40))
    if share == 0.3:
        assert held_out.tolist() == np.flatnonzero(last).tolist()
    else:
        assert labels[held_out].sum(axis=0).tolist() == [2, 2] and len(held_out) == 8


def test_of_equally_good_powers_the_first_is_chosen(monkeypatch):
    class Better(JointSparseClassifierCV):
        """A search that finds a score that is slightly better if the features are multiplied by two."""

        def fit(self, X, Y):
            super().fit(X, Y)
            self.best_score_ += 5e-5 * (X.max() == 2)
            return self

    monkeypatch.setattr(final, "JointSparseClassifierCV", Better)
    labels = np.stack([np.arange(20) % 2, np.arange(20) < 10], axis=1)
    scales = {0.0: np.ones(2), 1.0: np.full(2, 2.0)}  # this factor changes no bits of the scores
    assert final.fit(labels.astype(float), labels, ["cat", "tea"], norm="l1", scales=scales).power == 0.0


def fitted(norm, *, best_score=0.0, **results):
    """Return a stand-in for a final fit, with the attributes that comparisons use."""
    return SimpleNamespace(best_score_=best_score, coef_=np.zeros((3, 30)), results_by_norm_={norm: results})


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
    scores = np.asarray(fit.model.decision_function(X[90:]))
    on_test = [(y >= 0, y) for y in labels[90:].T]
    expected = [roc_auc_score(y[known], scores[known, k]) for k, (known, y) in enumerate(on_test)]
    np.testing.assert_allclose(table["auc"], [*expected, np.mean(expected)])


def test_unknown_labels_do_not_count_in_the_calibration(partly_known):
    _, labels, fit, _ = partly_known
    known, has = labels[:90] >= 0, labels[:90] == 1
    for k in range(3):
        f, y = fit.scores[known[:, k], k], np.where(has[known[:, k], k], 1, -1)
        alone = platt_scaling(f[:, np.newaxis], y[:, np.newaxis], np.ones((len(f), 1)))[0]
        np.testing.assert_allclose(fit.model.calibration_[k], alone, rtol=1e-3)


@pytest.mark.parametrize(("spread", "expected"), [(0.1, "l12"), (0.001, "l2")])
def test_cross_validation_chooses_the_norm_with_the_fewest_features_within_one_standard_error(spread, expected):
    folds = spread * np.array([[-1.0, 0, 1]])
    models = {
        norm: fitted(norm, scores=score + folds, errors=np.array([spread / 3**0.5]), features=np.full((1, 3), n))
        for norm, score, n in (("l1", 0.7, 2), ("l12", 0.89, 5), ("l2", 0.9, 30))
    }
    assert final.chosen_norm(models) == expected


def test_the_comparison_of_final_fits_holds_their_means_on_test_images():
    models = {"l1": fitted("l1", best_score=0.7), "l2": fitted("l2", best_score=0.8)}
    numbers = {"auc": [0.1, 0.6], "auc_low": [0, 0.5], "precision_of_first": [0.2, 0.3], "images": 9, "gap": 0.01}
    # A word may have the name of the row of means, which is always the last row.
    words = pd.DataFrame({"word": final.ALL_WORDS, "features": [2, 4], **numbers})
    table = final.norms(models, [words, words.assign(features=30)], "l2")
    shared = {"of": 30, "auc": 0.6, "auc_low": 0.5, "precision_of_first": 0.3}
    assert table.to_dict("records") == [
        {"norm": "l1", "kept": False, "validation": 0.7, "features": 4} | shared,
        {"norm": "l2", "kept": True, "validation": 0.8, "features": 30} | shared,
    ]


def test_the_table_of_a_final_fit_counts_only_images_that_are_known_to_have_a_word(partly_known):
    _, labels, fit, table = partly_known
    for column, has in (("images", labels[:90] == 1), ("test_images", labels[90:] == 1)):
        assert table[column].tolist() == [*has.sum(axis=0), has.any(axis=1).sum()]
    used = fit.model.coef_ != 0
    assert table["features"].tolist() == [*used.sum(axis=1), used.any(axis=0).sum()]
    assert used.any(axis=0).sum() > used.all(axis=0).sum()
    card = annotator.card_of(fit, table)
    assert (card["known_images"], card["features"]) == (90, [used.any(axis=0).sum(), 5])


# How often features are selected on random halves


def saved(norm="l1", columns=(), **steps):
    """Return a stand-in for a saved model of two words that uses the first and the last of its three features."""
    classifier = {"norm_": norm, "radius_": 2.0, "loss": "logistic", "classes_": np.array(["cat", "tea"])}
    model = SimpleNamespace(**classifier, coef_=np.array([[1, 0, 0], [0, 0, 1]]))
    pipeline = Pipeline([*steps.items(), ("classifier", model)])
    pipeline.columns_ = list(columns)
    return pipeline


@pytest.mark.parametrize("with_basis", [False, True])
def test_selections_are_counted_with_the_settings_of_the_saved_model(rng, with_basis):
    X = rng.normal(size=(60, 5 if with_basis else 3))
    labels = np.where(rng.random((60, 2)) < 0.1, -1, X[:, [0, -1]] + rng.normal(size=(60, 2)) > 0)
    basis, values = SimpleNamespace(columns_=np.array([0, 3, 4]), power=0), np.array([9.0, 5.0, 3.0, 2.0, 1.0])
    model = saved(basis=basis, columns="xy") if with_basis else saved(columns="abc")
    values = values if with_basis else None
    groups = None if with_basis else np.arange(60) // 2
    table = stability(model, X, labels, singular_values=values, n_pairs=3, seed=7, groups=groups)
    scaled = X * factors(values, [0])[0] if with_basis else X
    estimator = JointSparseClassifier("l1", 2.0)
    options = {"n_pairs": 3, "sample_groups": groups, "random_state": 7}
    expected = stability_selection(estimator, scaled, np.where(labels < 0, np.nan, labels), **options)
    assert 0 < expected.frequencies.min() < expected.frequencies.max()
    assert table["halves"].tolist() == sorted(np.rint(6 * expected.frequencies), reverse=True)
    by_feature = table.sort_values("feature")
    np.testing.assert_allclose(by_feature["halves"] / 6, expected.frequencies)
    assert table.loc[table["used"], "feature"].sort_values().tolist() == ([0, 4] if with_basis else [0, 2])
    assert by_feature["name"].tolist() == ([f"feature {i}" for i in range(5)] if with_basis else list("abc"))
    assert (table[["of", "threshold", "bound"]] == [6, expected.threshold, expected.bound]).all(axis=None)


def test_nothing_is_counted_for_a_model_that_uses_all_features():
    assert stability(saved("l2"), np.eye(3), np.eye(3)[:, :2], singular_values=None, n_pairs=3, seed=0).empty

"""Model files with invalid content: loading them raises an error of one line."""

import re

import numpy as np
import pytest
from model_files import MODELS, model_of, put, write_model
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler

from jointsparse import JointSparseClassifier, OnlineJointSparseClassifier, load, save
from jointsparse.schema.models import declared

pytest.importorskip("skops")
NAN = np.nan


def with_entry(value, at=0):
    """Return a function that copies an array and sets one entry to a value."""

    def changed(array):
        array = array.copy()
        array.reshape(-1)[at] = value
        return array

    return changed


def longer(array):
    return np.concatenate([array, array])


def without_counts(rows):
    rows = rows.copy()
    rows["count"] = 0
    return rows


def drawn_beyond():
    """Return a generator whose position is outside its state."""
    rng = np.random.RandomState(0)
    state = rng.get_state(legacy=False)
    state["state"]["pos"] = 10**6
    rng.set_state(state)
    return rng


def circle(tree):
    """Return a tree with two nodes that are each other's children."""
    first_child, n_children = tree.first_child.copy(), tree.n_children.copy()
    first_child[:3], n_children[:3] = (1, 2, 1), (1, 1, 1)
    return tree._replace(first_child=first_child, n_children=n_children)


TREE, BASIS = "vocabularytree.tree_", "svdbasis.basis_"
NUMBERS, SHAPE = "must hold finite numbers.*, got others", "must be an array of .* shape .*, got "
FAULTS = [
    # Arrays: numbers, types, shapes
    ("classifier", "coef_", with_entry(NAN), rf"coef_ {NUMBERS}"),
    ("classifier", "coef_", with_entry(np.inf), rf"coef_ {NUMBERS}"),
    ("classifier", "coef_", lambda W: W[:, :2], rf"coef_ {SHAPE}float64 of shape \(2, 2\)"),
    ("classifier", "coef_", lambda W: W.astype(np.float16), rf"coef_ {SHAPE}float16"),
    ("classifier", "coef_", lambda W: W.astype(object), rf"coef_ {SHAPE}object"),
    ("classifier", "coef_", lambda W: W[0], "coef_ must have a row per task"),
    ("classifier", "coef_", lambda W: W.tolist(), rf"coef_ {SHAPE}a list of 2"),
    ("classifier", "intercept_", with_entry(NAN), rf"intercept_ {NUMBERS}"),
    ("classifier", "intercept_", longer, rf"intercept_ {SHAPE}float64 of shape \(4,\)"),
    ("classifier", "calibration_", np.full((2, 2), NAN), rf"calibration_ {NUMBERS}"),
    ("classifier", "calibration_", np.ones((3, 2)), rf"calibration_ {SHAPE}"),
    ("regressor-search", "coef_", lambda w: np.stack([w, w]), "coef_ must have a row per task"),
    ("search", "scores_", lambda scores: scores[:1], rf"scores_ {SHAPE}"),
    ("search", "grid_", with_entry(-1.0), rf"grid_ {NUMBERS}"),
    ("search", "norm_", "auto", "norm must be one of l1, l12, l1inf, l2, got 'auto'"),
    ("search", "results_by_norm_", {"l1": {}}, r"results_by_norm_\.l1\.grid must be there, got none"),
    # Names, numbers and text
    ("classifier", "n_features_in_", 5, "coef_ must be an array"),
    ("classifier", "n_features_in_", 2**62, "n_features_in_ must be a whole number from 1 to"),
    ("classifier", "n_features_in_", 3.0, "n_features_in_ must be a whole number"),
    ("classifier", "classes_", np.arange(3), "classes_ must name 2 classes of 2 tasks, got 3"),
    ("classifier", "classes_", np.array(["A" * 10**6, "b"]), "classes_ must be a vector of .* names"),
    ("classifier", "classes_", lambda names: names.astype(complex), "classes_ must be a vector of classes names"),
    ("classifier", "_codes", np.arange(5), "classes_ must name 2 classes of 2 tasks"),
    ("search", "feature_names_in_", lambda names: names[:2], "feature_names_in_ must be a vector of 3 names"),
    ("search", "_names", lambda names: names[:1], "_names must be a vector of 2 names"),
    ("classifier", "norm", "l3", "norm must be one of l1, l12, l1inf, l2, got 'l3'"),
    ("classifier", "loss", "\x1b[2J", r"loss must be one of hinge, logistic, squared, got '\\x1b\[2J'"),
    ("classifier", "solver", None, "solver must be one of"),
    ("classifier", "labels", "01 ", "labels must be one of classes, 01, signed, masked"),
    ("classifier", "_flat", "yes", "_flat must be True or False, got 'yes'"),
    ("classifier", "n_iter_", -1, "n_iter_ must be a whole number from 0"),
    ("classifier", "duality_gap_", -1.0, "duality_gap_ must be a number of at least 0 or NaN, got -1.0"),
    (
        "classifier",
        "class_weight",
        "A" * 10**6,
        "class_weight must be a number, text or a list of them, got a str of 1,000",
    ),
    ("classifier", "class_weight", [[[[[[[[1]]]]]]]], "class_weight must hold lists nested at most 6 deep"),
    ("classifier", "callback", lambda _: np.log, "callback must be a number, text or a list of them, got a ufunc"),
    (
        "classifier",
        "groups",
        np.random.Generator(np.random.MT19937(0)),
        "groups must be a number, text or a list of them",
    ),
    ("online-l1", "random_state", lambda _: drawn_beyond(), "random_state must be a number, text or a list of them"),
    ("classifier", "groups", np.array(["\ud800"], dtype=object), "groups must be a number, text"),
    ("classifier", "predict", "a.jpg", "must hold no attribute that hides one of its class, got 'predict'"),
    # Parts of a fit, and steps of online learning
    ("classifier", "\x1b[2J", 1, r"must hold no attribute that hides one of its class, got '\\x1b\[2J'"),
    ("classifier", "known_scores_", np.eye(2), "must be a Pipeline to have known_scores_, got another class"),
    ("classifier", "card_", {"a": np.eye(2)}, "card_ must be text, numbers and lists of them"),
    ("classifier", "note_", "A" * 10**6, "note_ must be a number, text or a list of them, got a str of 1,000,000"),
    ("classifier", "_last_fit.W", lambda W: W[:, :2], rf"_last_fit.W {SHAPE}"),
    ("classifier", "_last_fit.rounds", [[(1, 2, 3)]], "must be a Round, got a tuple of 3"),
    ("online-l1inf", "_iterate.W", with_entry(NAN), rf"_iterate.W {NUMBERS}"),
    ("online-l1inf", "_iterate.W", longer, rf"_iterate.W {SHAPE}"),
    ("online-l1inf", "_iterate.radius", -1.0, "_iterate.radius must be a number of at least 0, got -1.0"),
    ("online-l1inf", "_iterate", 3, "_iterate must be a Eager, got 3"),
    ("online-sparse", "_iterate.values", with_entry(NAN), rf"_iterate.values {NUMBERS}"),
    ("online-sparse", "_iterate.rows", without_counts, "the weights of the online classifier are inconsistent"),
    ("online-sparse", "_iterate.norm", "l1inf", "the weights must be stored for"),
    # The steps of pictures
    ("dense-sift", f"{TREE}.level", with_entry(2**31 - 1, -1), "the nodes of the tree must be numbered level by level"),
    ("dense-sift", f"{TREE}.first_child", with_entry(7), "the nodes of the tree must be numbered level by level"),
    ("dense-sift", f"{TREE}.n_children", with_entry(10**9), "the nodes of the tree must be numbered level by level"),
    ("dense-sift", f"{TREE}.n_children", with_entry(-1), rf"n_children {NUMBERS}"),
    ("dense-sift", TREE, circle, "the nodes of the tree must be numbered level by level"),
    ("dense-sift", f"{TREE}.centres", with_entry(NAN), rf"tree_.centres {NUMBERS}"),
    ("dense-sift", f"{TREE}.centres", with_entry(300.0), rf"tree_.centres {NUMBERS}"),
    ("dense-sift", f"{TREE}.centres", lambda centres: centres[:, :50], "vocabularytree must take the 128 features"),
    ("dense-sift", "vocabularytree.idf_", np.ones(12, np.float32), "idf_ must be None unless the weighting is tf-idf"),
    ("dense-sift", "vocabularytree.weighting", "count²", "weighting must be one of count, sqrt, tf-idf"),
    ("dense-sift", f"{BASIS}.mean", with_entry(NAN), rf"basis_.mean {NUMBERS}"),
    ("dense-sift", f"{BASIS}.scale", np.inf, "basis_.scale must be a finite number of at least 0, got inf"),
    ("dense-sift", f"{BASIS}.components", lambda U: U[:8], rf"basis_.components {SHAPE}"),
    ("dense-sift", "svdbasis.factors_", longer, rf"factors_ {SHAPE}"),
    ("dense-sift", "densesift.step", 0, "step must be a whole number from 1"),
    ("dense-sift", "densesift.patch_sizes", (2,), "each of patch_sizes must be a whole number of at least 4, got 2"),
    ("dense-sift", "densesift.longest_side", 10**6, "describing a picture takes at most 400,000,000 bytes, got 134,"),
    ("dense-sift", "steps", [], "steps must be a list of pairs, at least one"),
    ("dense-sift", "memory", "/etc", "memory must be None, got '/etc'"),
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


def message_for(path):
    """Load an invalid file and return the message of the error."""
    with pytest.raises(ValueError, match="is damaged, or no model of jointsparse: ") as raised:
        load(path)
    message = str(raised.value)
    assert "\n" not in message and str(path) in message and len(message) < 1000
    return message


@pytest.mark.parametrize(("name", "where", "value", "expected"), FAULTS)
def test_a_fault_in_a_model_gives_an_error_of_one_line(path, name, where, value, expected):
    model = model_of(name)
    put(model, where, value)
    write_model(path, model)
    assert re.search(expected, message_for(path))


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        *(
            ("classifier", attribute)
            for attribute in ("coef_", "intercept_", "n_features_in_", "tol", "_codes", "norm", "_flat")
        ),
        ("online-sparse", "_iterate"),
        *(("search", attribute) for attribute in ("scores_", "norm_", "results_by_norm_")),
        ("dense-sift", "transform_input"),
    ],
)
def test_a_missing_attribute_is_reported(path, name, attribute):
    model = model_of(name)
    del vars(model)[attribute]
    write_model(path, model)
    assert f".{attribute} must be there, got none" in message_for(path)


X = np.random.default_rng(0).normal(size=(12, 3))


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("mean_", with_entry(NAN), "mean_ must hold finite numbers"),
        ("mean_", longer, "mean_ must have a number for each of 3 features"),
        ("n_features_in_", 4, "mean_ must have a number for each of 4 features"),
        ("n_features_in_", -1, "n_features_in_ must be a whole number"),
        ("copy", np.eye(2), "'copy' parameter of StandardScaler must be an instance of 'bool'"),
        ("transform", "x", "must hold no attribute that hides one of its class, got 'transform'"),
    ],
)
def test_steps_of_scikit_learn_must_hold_finite_numbers_for_all_features(path, attribute, value, message):
    model = make_pipeline(StandardScaler(), JointSparseClassifier(radius=1.0)).fit(X, X[:, 0] > 0)
    put(model, f"standardscaler.{attribute}", value)
    write_model(path, model)
    assert message in message_for(path)


def test_a_step_must_take_the_number_of_features_that_the_previous_step_returns(path):
    model = make_pipeline(MinMaxScaler(), StandardScaler(), JointSparseClassifier(radius=1.0)).fit(X, X[:, 0] > 0)
    model.steps[2] = ("last", JointSparseClassifier(radius=1.0).fit(X[:, :2], X[:, 0] > 0))
    write_model(path, model)
    assert "last must take the 3 features of the step before, got 2" in message_for(path)


def test_estimators_with_pointers_for_compiled_code_are_rejected(path):
    model = make_pipeline(StandardScaler(), RandomForestClassifier(2)).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match=r"transformers and Pipelines of scikit-learn to be saved, got sklearn\.ens"):
        save(model, path)
    write_model(path, model)
    with pytest.raises(ValueError, match=r"must hold only estimators of jointsparse, and .*, got sklearn\.ensemble"):
        load(path)


TEXTS = ["a cat", "a dog", "cat and dog", "none"] * 3
CELLS = np.array([["a", 1], ["b", NAN], ["a", 2], ["c", 3]] * 3, dtype=object)


@pytest.mark.parametrize(
    ("steps", "samples"),
    [
        ([StandardScaler(), PCA(2)], X),
        ([TfidfVectorizer()], TEXTS),
        ([OneHotEncoder()], CELLS),
        ([FunctionTransformer(np.tanh), FeatureUnion([("a", PCA(2)), ("b", RBFSampler())])], X),
        (["passthrough", MinMaxScaler()], X),
    ],
)
def test_transformers_of_scikit_learn_can_be_saved_and_loaded(path, steps, samples):
    model = make_pipeline(*steps, JointSparseClassifier(radius=1.0)).fit(samples, [0, 1] * 6)
    save(model, path)
    np.testing.assert_array_equal(load(path).decision_function(samples), model.decision_function(samples))


@pytest.mark.parametrize(
    "model",
    [
        JointSparseClassifier(radius=1.0, groups=["a", "b", "a"], feature_weights=[1.0, 2.0], class_weight="balanced"),
        JointSparseClassifier(
            norm="l2", penalty=0.1, radius=None, solver="subgradient", eta0=(0.1, 1.0), warm_start=True
        ),
        OnlineJointSparseClassifier("l12", random_state=np.random.RandomState(0)),
    ],
)
@pytest.mark.parametrize(
    "y", [["x", "y"] * 6, ["x", "y", "z"] * 4, np.array(["2020-01-01", "2021-01-01"] * 6, "M8[D]")]
)
def test_every_fitted_model_can_be_loaded(path, model, y):
    save(model.fit(X, y), path)
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))


@pytest.mark.parametrize("name", MODELS)
def test_every_attribute_of_the_classes_of_jointsparse_is_declared(name):
    model = model_of(name)
    for part in (part for _, part in getattr(model, "steps", [("", model)])):
        assert vars(part).keys() <= declared(part).keys()


def test_attributes_that_a_user_adds_are_kept(path):
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), JointSparseClassifier(radius=1.0))
    model.fit(X, X[:, 0] > 0)
    model.card_, model.note_, model[-1].note_ = {"numbers": {"accuracy": 0.9}}, ["mine"], np.arange(3)
    model[-1].set_output(transform="pandas")
    save(model, path)
    loaded = load(path)
    assert (loaded.card_, loaded.note_, loaded[-1].note_.tolist()) == (model.card_, ["mine"], [0, 1, 2])


def test_a_model_that_load_would_reject_is_not_saved(path):
    model = JointSparseClassifier(radius=1.0).fit(X, [0, 1] * 6)
    model.intercept_ = np.array([NAN])
    with pytest.raises(ValueError, match=r"because load would reject the file: .*intercept_ must hold finite numbers"):
        save(model, path)
    assert not path.exists()

"""What scikit-learn expects of every estimator: checks, tags, routing, arrays of other libraries, and saved files."""

import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn
from common import problem, run_python
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks, get_tags

import jointsparse
from jointsparse import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    JointSparseRegressorCV,
    OnlineJointSparseClassifier,
    features,
)
from jointsparse.norms import NORMS

X, SIGNS = problem()
Y = (SIGNS + 1) // 2
WEIGHTS, GROUPS = np.random.default_rng(3).random(40), np.arange(40) // 4

# Checks

WEIGHTS_TO_TOL, WEIGHTS_OF_STEPS = (
    {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    for reason in (
        "objectives agree to tol=1e-3, the check wants solutions to 1e-7; exact fits pass, see below",
        "a repeated sample is two steps, a sample of weight 2 is one longer step, and fit draws another order",
    )
)
CHECKED = {
    JointSparseClassifier(): WEIGHTS_TO_TOL,
    JointSparseClassifierCV(radii=(1.0,), cv=2): WEIGHTS_TO_TOL,
    JointSparseRegressor(): WEIGHTS_TO_TOL,
    JointSparseRegressorCV(radii=(1.0,), cv=2): WEIGHTS_TO_TOL,
    OnlineJointSparseClassifier(): {
        "check_class_weight_classifiers": "class 0 should win everywhere, which takes an intercept",
        **WEIGHTS_OF_STEPS,
    },
    features.SVDBasis(rank=1): {},
    features.SVDBasis(rank="full", power=0): {},
}
# Other checks need a matrix as input.
OF_PICTURES = features.DenseSift(), features.VocabularyTree(), features.Embedding("network.onnx")
CHECKS_WITHOUT_DATA = (
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_get_params_invariance",
    "check_no_attributes_set_in_init",
    "check_set_params",
    "check_valid_tag_types",
)


def test_every_public_estimator_is_checked():
    public = [getattr(package, name) for package in (jointsparse, features) for name in package.__all__]
    assert {type(estimator) for estimator in (*CHECKED, *OF_PICTURES)} == {
        kind for kind in public if isinstance(kind, type) and issubclass(kind, BaseEstimator)
    }


# Features of the checks are around 100, or their labels are noise.
@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore:No features were selected|the chosen radius has a score:UserWarning",
)
@pytest.mark.parametrize(("estimator", "failing"), CHECKED.items(), ids=[*map(repr, CHECKED)])
def test_scikit_learn_checks(estimator, failing):
    estimator_checks.check_estimator(estimator, expected_failed_checks=failing, on_skip=None)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(
    "estimator", [JointSparseClassifier(solver="subgradient", eta0=0.1), JointSparseRegressor(tol=1e-13)], ids=repr
)
def test_a_weight_of_two_is_a_repeated_sample_if_fits_are_exact_or_take_a_fixed_number_of_steps(estimator, kind):
    getattr(estimator_checks, f"check_sample_weight_equivalence_on_{kind}_data")(type(estimator).__name__, estimator)


@pytest.mark.parametrize("transformer", OF_PICTURES, ids=repr)
def test_scikit_learn_checks_of_transformers_of_pictures(transformer):
    for check in CHECKS_WITHOUT_DATA:
        getattr(estimator_checks, check)(type(transformer).__name__, clone(transformer))


def test_tags_say_what_an_estimator_takes():
    got = {}  # scikit-learn runs other checks, or none, if tags are wrong
    for estimator in (*CHECKED, *OF_PICTURES):
        tags = get_tags(estimator)
        got[type(estimator).__name__] = (
            tags.input_tags.sparse,
            tags.input_tags.two_d_array,
            tags.target_tags.required,
            tags.target_tags.multi_output,
            bool(tags.classifier_tags and tags.classifier_tags.multi_label),
            tags.requires_fit,
            tags.transformer_tags and len(tags.transformer_tags.preserves_dtype),
        )
    assert got == {
        "JointSparseClassifier": (True, True, True, False, True, True, 2),
        "JointSparseClassifierCV": (True, True, True, False, True, True, 2),
        "JointSparseRegressor": (True, True, True, True, False, True, 2),
        "JointSparseRegressorCV": (True, True, True, True, False, True, 2),
        "OnlineJointSparseClassifier": (True, True, True, False, True, True, None),
        "SVDBasis": (True, True, False, False, False, True, 2),
        "DenseSift": (False, False, False, False, False, False, 0),
        "VocabularyTree": (False, False, False, False, False, True, 0),
        "Embedding": (False, False, False, False, False, False, 0),
    }


# Metadata routing


@pytest.mark.parametrize("search", [JointSparseClassifierCV, JointSparseRegressorCV])
@sklearn.config_context(enable_metadata_routing=True)
def test_weights_and_groups_reach_the_fit_and_the_folds_of_a_search_in_a_pipeline(search):
    model = search(radii=[1.0, 3.0], cv=GroupKFold(2)).set_fit_request(sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    chain = make_pipeline(scaler, model).fit(X, Y, sample_weight=WEIGHTS, groups=GROUPS)
    by_folds = clone(model).set_params(cv=GroupKFold(2).split(X, groups=GROUPS))  # which must be left for the fit
    expected = make_pipeline(scaler, by_folds).fit(X, Y, sample_weight=WEIGHTS, groups=GROUPS)
    direct = clone(model).fit(StandardScaler().fit_transform(X), Y, WEIGHTS, groups=GROUPS)
    for other in (expected[-1], direct):
        np.testing.assert_equal([other.scores_, other.coef_], [chain[-1].scores_, chain[-1].coef_])


# Arrays and frames of other libraries


def test_polars_frames_give_polars_frames_without_pandas(monkeypatch):
    pl = pytest.importorskip("polars")
    given = np.where(np.random.default_rng(0).random(Y.shape) < 0.3, np.nan, Y)
    frame, names = pl.DataFrame(X, schema=[*"abcdef"]), ["cat", "dog", "sea"]
    labels = pl.DataFrame(given, schema=names, nan_to_null=True).cast(pl.Int8)
    expected = JointSparseClassifier(radius=0.5).fit(X, given)
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    model = JointSparseClassifier(radius=0.5).fit(frame, labels).set_output(transform="polars")
    for method in ("predict", "decision_function", "predict_proba"):
        assert getattr(model, method)(frame[:3]).equals(pl.DataFrame(getattr(expected, method)(X[:3]), schema=names))
    assert model.score(frame, labels) == expected.score(X, given) and "pandas" not in sys.modules
    assert model.transform(frame).columns == model.selected_features_.tolist() != [*"abcdef"]


DISPATCH = """
import numpy as np, sklearn
from jointsparse.estimators import JointSparseClassifier, JointSparseRegressor
from jointsparse.features import SVDBasis
import array_api_strict as xp
X, w = np.random.default_rng(0).normal(size=(20, 4)), np.ones(20)
with sklearn.config_context(array_api_dispatch=True):
    cases = (JointSparseClassifier(radius=1.0), (X[:, :2] > 0) * 1), (JointSparseRegressor(radius=1.0), X[:, :2])
    for model, Y in cases:
        got = model.fit(xp.asarray(X), xp.asarray(Y), sample_weight=xp.asarray(w))
        scores = [type(got.predict(xp.asarray(X))), got.score(xp.asarray(X), xp.asarray(Y)) == got.score(X, Y)]
        print(scores == [np.ndarray, True])
    print(type(SVDBasis(rank=2).fit(xp.asarray(X)).transform(xp.asarray(X))))
"""


def test_arrays_of_other_libraries_are_converted_under_array_api_dispatch():
    pytest.importorskip("array_api_strict")
    assert run_python("-c", DISPATCH, variables={"SCIPY_ARRAY_API": "1"}) == "True\nTrue\n<class 'numpy.ndarray'>\n"


# Files of joblib and skops

DESCRIPTORS = list(np.random.default_rng(0).integers(0, 256, (40, 20, 4), dtype=np.uint8))
MODELS = {
    "classifier": lambda: JointSparseClassifier(radius=1.0, warm_start=True).fit(X, np.array(["a", "b"])[Y[:, 0]]),
    "classifier_cv": lambda: JointSparseClassifierCV("auto", radii=2, cv=2, loss="squared", warm_start=True).fit(X, Y),
    "regressor": lambda: JointSparseRegressor("l12", radius=1.0).fit(X, X[:, :2]),
    "regressor_cv": lambda: JointSparseRegressorCV(radii=[0.5, 1.0], cv=2).fit(X, X[:, 0]),
    "tree": lambda: make_pipeline(
        features.VocabularyTree(3, 2, weighting="tf-idf", random_state=0),
        features.SVDBasis(4),
        JointSparseClassifier(radius=5.0),
    ).fit(DESCRIPTORS, Y),
    **{f"online_{norm}": lambda norm=norm: OnlineJointSparseClassifier(norm).fit(X, Y) for norm in NORMS},
    "online_sparse": lambda: OnlineJointSparseClassifier("l1").fit(sparse.csr_array(X), Y),
    "descriptors": lambda: features.DenseSift(patch_sizes=(8, 12), step=4),
    "embedding": lambda: features.Embedding.from_digest(
        "network.onnx", digest="0" * 64, shape=(32, 48), grid=(2, 3), n_features=5, tokens=4
    ),
}
DOCUMENTED = re.findall(r'"(jointsparse\.[\w.]+)"', (Path(__file__).parents[1] / "docs" / "library.md").read_text())


def by_pickle(model):
    return pickle.loads(pickle.dumps(model))


def by_skops(model):
    skops = pytest.importorskip("skops.io")
    return skops.loads(skops.dumps(model), trusted=DOCUMENTED)


@pytest.mark.parametrize("saved", [by_pickle, by_skops])
@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_estimator_has_the_same_parameters_and_gives_the_same_predictions(name, saved):
    model = MODELS[name]()
    loaded = saved(model)
    assert repr(loaded) == repr(model)
    if hasattr(model, "predict"):
        samples = DESCRIPTORS if name == "tree" else X
        np.testing.assert_array_equal(loaded.predict(samples), model.predict(samples))
    else:
        assert vars(loaded) == vars(model)


@pytest.mark.parametrize("saved", [by_pickle, by_skops])
def test_a_loaded_estimator_learns_on(saved):
    search = saved(MODELS["classifier_cv"]())
    assert search.norm == clone(search).norm == "auto" and search.fit(X, Y).n_iter_ == 0  # because of the warm start
    for name in ("online_l1inf", "online_sparse"):
        model = MODELS[name]()
        got, expected = (each.partial_fit(X[:5], Y[:5]).coef_ for each in (saved(model), model))
        np.testing.assert_array_equal(got, expected)


def test_the_documented_types_are_those_that_skops_asks_for():
    skops = pytest.importorskip("skops.io")
    assert set(DOCUMENTED) == {
        name for make in MODELS.values() for name in skops.get_untrusted_types(data=skops.dumps(make()))
    }


def test_a_pickle_of_another_version_warns_once_per_estimator(monkeypatch):
    pickled = pickle.dumps(MODELS["tree"]())
    monkeypatch.setattr(jointsparse, "__version__", "99.1")
    with pytest.warns(UserWarning, match="was written by jointsparse 1.* and is read by 99.1") as caught:
        pickle.loads(pickled)
    assert len(caught) == 3

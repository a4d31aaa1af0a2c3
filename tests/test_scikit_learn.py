"""What scikit-learn expects of every estimator: checks, tags, names of features, metadata routing and data frames."""

import pkgutil
import re
import sys
import warnings
from importlib import import_module

import numpy as np
import pytest
import sklearn
from common import problem, regression, run_python
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import jointsparse
from jointsparse import (
    JointSparseClassifier,
    JointSparseClassifierCV,
    JointSparseRegressor,
    JointSparseRegressorCV,
    OnlineJointSparseClassifier,
)
from jointsparse.features import DenseSift, Embedding, SVDBasis, VocabularyTree

# Checks

WEIGHTS_TO_TOL, WEIGHTS_OF_STEPS = (
    {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    for reason in (
        "objectives agree to tol=1e-3, the check wants solutions to 1e-7; fixed steps or a tiny tol below pass",
        "a repeated sample is two steps, a sample of weight 2 is one longer step, and fit draws another order",
    )
)
CHECKED = {
    JointSparseClassifier(): WEIGHTS_TO_TOL,
    JointSparseClassifierCV(radii=(1.0,), cv=2): WEIGHTS_TO_TOL,
    JointSparseRegressor(): WEIGHTS_TO_TOL,
    JointSparseRegressorCV(radii=(1.0,), cv=2): WEIGHTS_TO_TOL,
    OnlineJointSparseClassifier(): {
        "check_class_weight_classifiers": "class 0 should win everywhere, which takes an intercept; others pass",
        **WEIGHTS_OF_STEPS,
    },
}
CHECKED |= {
    transformer: {}
    for transformer in (
        SVDBasis(rank=1),
        SVDBasis(rank="full"),
        SVDBasis(rank="full", power=0),
        SVDBasis(rank=1, centred=False),
    )
}
OF_PICTURES = DenseSift(), VocabularyTree(), Embedding("network.onnx")  # other checks need a matrix as input
CHECKS_WITHOUT_DATA = (
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_get_params_invariance",
    "check_no_attributes_set_in_init",
    "check_set_params",
    "check_valid_tag_types",
)
FAILING = {repr(estimator): failing for estimator, failing in CHECKED.items()}
# Checks whose results depend on the solver. All other checks test code that the solvers share.
OF_SOLVERS = "sample_weight_equivalence|class_weight_classifiers|classifiers_train|regressors_train|idempotent"
SOLVED = {
    JointSparseClassifier(loss="hinge", radius=1.0, fit_intercept=False): "sample_weight_equivalence|class_weight",
    JointSparseClassifier(solver="subgradient", eta0=0.1): "nothing",
    JointSparseClassifierCV(radii=(0.1, 1.0), solver="subgradient", n_iter=30): "train|idempotent",
    JointSparseRegressor(tol=1e-13): "train|idempotent",
    OnlineJointSparseClassifier(norm="l1"): "sample_weight_equivalence|class_weight",
}


def discovered():
    """Return all public estimators of the library: the subclasses of BaseEstimator that have no subclass themselves."""
    names = [
        module.name
        for room in ("estimators", "features")
        for module in pkgutil.iter_modules(import_module(f"jointsparse.{room}").__path__, f"jointsparse.{room}.")
    ]
    classes = {kind for name in names for kind in vars(import_module(name)).values() if isinstance(kind, type)}
    ours = {kind for kind in classes if issubclass(kind, BaseEstimator) and kind.__module__ in names}
    bases = {base for kind in ours for base in kind.__mro__[1:]}
    return {kind for kind in ours - bases if not kind.__name__.startswith("_")}


def test_every_estimator_is_public_and_checked():
    assert discovered() == {type(estimator) for estimator in (*CHECKED, *OF_PICTURES)}
    public = {*jointsparse.__all__, *jointsparse.features.__all__}
    assert {kind.__name__ for kind in discovered()} <= public


@pytest.fixture
def unwarned():
    """Ignore warnings that the data of the checks cause: their features are around 100, or their labels are noise."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        warnings.filterwarnings("ignore", "No features were selected|the chosen radius has a score")
        yield


@pytest.mark.usefixtures("unwarned")
@parametrize_with_checks([*CHECKED], expected_failed_checks=lambda estimator: FAILING[repr(estimator)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", CHECKS_WITHOUT_DATA)
@pytest.mark.parametrize("transformer", OF_PICTURES, ids=repr)
def test_scikit_learn_checks_of_transformers_of_pictures(transformer, check):
    getattr(estimator_checks, check)(type(transformer).__name__, clone(transformer))


@pytest.mark.usefixtures("unwarned")
@pytest.mark.parametrize(("estimator", "failing"), SOLVED.items(), ids=repr)
def test_scikit_learn_checks_of_solvers(estimator, failing):
    checks = {check.func.__name__: check for _, check in estimator_checks_generator(estimator)}
    own = [name for name in checks if re.search(OF_SOLVERS, name) and not re.search(failing, name)]
    assert len(own) >= 2
    for name in own:
        checks[name](clone(estimator))


# Tags and representations


LINEAR = [estimator for estimator in CHECKED if hasattr(estimator, "norm")]


@pytest.mark.parametrize("estimator", [*CHECKED, *OF_PICTURES], ids=repr)
def test_tags_say_what_an_estimator_takes(estimator):
    tags, kind, is_linear = get_tags(estimator), type(estimator), estimator in LINEAR
    is_classifier = is_linear and "Classifier" in kind.__name__
    assert tags.input_tags.two_d_array == tags.input_tags.sparse == (is_linear or kind is SVDBasis)
    assert not tags.input_tags.allow_nan and not tags.non_deterministic and not tags.no_validation
    assert tags.target_tags.required == is_linear and tags.requires_fit == (kind not in (DenseSift, Embedding))
    assert tags.target_tags.multi_output == (is_linear and not is_classifier)
    if is_classifier:
        assert tags.classifier_tags.multi_class and tags.classifier_tags.multi_label
        assert not tags.classifier_tags.poor_score
    if is_linear and not is_classifier:
        assert not tags.regressor_tags.poor_score
    if tags.transformer_tags:
        assert tags.transformer_tags.preserves_dtype == (["float64", "float32"] if tags.input_tags.sparse else [])


def labelled():
    """Return features (40, 6), and labels 0 and 1 of three tasks."""
    X, Y = problem()
    return X, (Y > 0).astype(int)


# Names of features


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_selected_features_keep_their_names_in_a_pipeline(container):
    frames = pytest.importorskip(container)
    X, Y = labelled()
    frame = frames.DataFrame({name: X[:, i] for i, name in enumerate("abcdef")})
    chain = make_pipeline(StandardScaler(), JointSparseClassifier(radius=0.5), LogisticRegression())
    chain.set_output(transform=container).fit(frame, Y[:, 0])
    selected = chain[:-1].get_feature_names_out().tolist()
    assert 0 < len(selected) < 6 and selected == chain[-1].feature_names_in_.tolist()
    assert list(chain[:-1].transform(frame).columns) == selected == chain[1].selected_features_.tolist()
    assert list(SVDBasis(2).set_output(transform=container).fit_transform(frame).columns) == ["svdbasis0", "svdbasis1"]


# Metadata routing


ONE_FIT = [JointSparseClassifier(), JointSparseRegressor(), OnlineJointSparseClassifier(random_state=0)]
WEIGHTS = np.random.default_rng(3).random(40)
GROUPS = np.arange(40) // 4


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("estimator", ONE_FIT, ids=repr)
def test_weights_reach_the_fits_and_the_scores_of_a_grid_search(estimator):
    X, Y = labelled()
    model = clone(estimator).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    search = GridSearchCV(model, {"radius": [1.0]}, cv=2).fit(X, Y[:, 0], sample_weight=WEIGHTS)
    expected = clone(estimator).set_params(radius=1.0).fit(X, Y[:, 0], WEIGHTS)
    np.testing.assert_array_equal(search.best_estimator_.coef_, expected.coef_)
    assert search.score(X, Y[:, 0], sample_weight=WEIGHTS) == expected.score(X, Y[:, 0], WEIGHTS)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("estimator", [*ONE_FIT, JointSparseClassifierCV(radii=[1.0], cv=2)], ids=repr)
def test_weights_reach_the_model_behind_a_scaler(estimator):
    X, Y = labelled()
    scaler, model = StandardScaler().set_fit_request(sample_weight=False), clone(estimator)
    chain = make_pipeline(scaler, model.set_fit_request(sample_weight=True)).fit(X, Y, sample_weight=WEIGHTS)
    expected = clone(estimator).fit(StandardScaler().fit_transform(X), Y, WEIGHTS)
    np.testing.assert_array_equal(chain[-1].coef_, expected.coef_)


SEARCHES = {JointSparseClassifierCV: labelled, JointSparseRegressorCV: regression}


@pytest.mark.parametrize("search", SEARCHES)
def test_a_search_gives_the_groups_of_samples_to_its_splitter(search):
    X, Y = (array[:40] for array in SEARCHES[search]())
    got = search("l1inf", [1.0, 3.0], cv=GroupKFold(2)).fit(X, Y, groups=GROUPS)
    expected = search("l1inf", [1.0, 3.0], cv=GroupKFold(2).split(X, groups=GROUPS)).fit(X, Y)
    np.testing.assert_array_equal(got.scores_, expected.scores_)


@pytest.mark.usefixtures("routing")
def test_groups_reach_the_folds_within_folds():
    X, Y = labelled()
    search, outer = JointSparseClassifierCV(radii=[1.0, 3.0], cv=GroupKFold(2)), GroupKFold(2)
    nested = cross_validate(search, X, Y[:, 0], cv=outer, params={"groups": GROUPS}, return_estimator=True)
    train, _ = next(outer.split(X, groups=GROUPS))
    expected = clone(search).fit(X[train], Y[train, 0], groups=GROUPS[train])
    np.testing.assert_array_equal(nested["estimator"][0].scores_, expected.scores_)


@pytest.mark.usefixtures("routing")
def test_an_iterator_of_folds_is_left_for_the_fit():
    X, Y = labelled()
    search = JointSparseClassifierCV(radii=[1.0], cv=GroupKFold(2).split(X, groups=GROUPS))
    assert make_pipeline(search).fit(X, Y)[-1].scores_.shape == (1, 2)


@pytest.mark.usefixtures("routing")
def test_a_pipeline_transforms_held_out_samples():
    X, Y = labelled()
    model = JointSparseClassifierCV(radii=[1.0]).set_fit_request(X_val=True, y_val=True)
    chain = Pipeline([("scale", StandardScaler()), ("model", model)], transform_input=["X_val"])
    chain.fit(X[:20], Y[:20], X_val=X[20:], y_val=Y[20:])
    scaler = StandardScaler().fit(X[:20])
    expected = JointSparseClassifierCV(radii=[1.0]).fit(
        scaler.transform(X[:20]), Y[:20], X_val=scaler.transform(X[20:]), y_val=Y[20:]
    )
    np.testing.assert_array_equal(chain[-1].scores_, expected.scores_)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"groups": GROUPS}, TypeError, "unexpected argument.*groups"),
        ({"X_val": labelled()[0], "y_val": labelled()[1], "groups": GROUPS}, ValueError, "takes no groups with it$"),
    ],
)
def test_metadata_that_nothing_takes_are_refused(options, error, said):
    with pytest.raises(error, match=said):
        JointSparseClassifierCV(radii=[1.0], cv=2).fit(*labelled(), **options)


# Polars


@pytest.mark.parametrize("estimator", ONE_FIT, ids=repr)
def test_predictions_for_a_polars_frame_are_polars_frames(estimator, monkeypatch):
    pl = pytest.importorskip("polars")
    X, Y = labelled()
    frame, labels = pl.DataFrame(X, schema=list("abcdef")), pl.DataFrame(Y, schema=["cat", "dog", "sea"])
    expected, model = clone(estimator).fit(X, Y), clone(estimator).fit(frame, labels)
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            got = getattr(model, method)(frame[:3])
            assert isinstance(got, pl.DataFrame) and got.columns == ["cat", "dog", "sea"]
            np.testing.assert_array_equal(got.to_numpy(), getattr(expected, method)(X[:3]))
    assert "pandas" not in sys.modules
    assert model.score(frame, labels) == expected.score(X, Y)
    assert model.feature_names_in_.tolist() == list("abcdef")


def test_missing_labels_of_a_polars_frame_are_unknown():
    pl = pytest.importorskip("polars")
    X, Y = labelled()
    hidden = np.random.default_rng(0).random(Y.shape) < 0.3
    labels = pl.DataFrame(np.where(hidden, np.nan, Y), schema=["cat", "dog", "sea"], nan_to_null=True).cast(pl.Int8)
    expected = JointSparseClassifier().fit(X, np.where(hidden, np.nan, Y))
    np.testing.assert_array_equal(JointSparseClassifier().fit(X, labels).coef_, expected.coef_)


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


@pytest.mark.parametrize("argument", ["X", "y", "sample_weight"])
def test_an_array_that_numpy_cannot_read_gets_one_sentence(argument):
    class OnDevice:
        __array_namespace__ = shape = ndim = dtype = None

        def __array__(self, *arguments, **options):
            raise TypeError("implicit conversion")

    X, Y = problem()
    given = {"X": X, "y": Y, argument: OnDevice()}
    with pytest.raises(
        ValueError, match=rf"^{argument} must be an array that NumPy can read, got one of .*: copy it to"
    ):
        JointSparseClassifier().fit(**given)

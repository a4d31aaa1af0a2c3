"""Old module paths still work, with a warning, and model files of older versions still open."""

import json
import pickle
import warnings
import zipfile
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from model_files import write_entries
from scipy import sparse

from jointsparse import _moved
from jointsparse.files import ORIGIN, TRUSTED, load
from jointsparse.learning.fit import Fit
from jointsparse.registry import pick

# Model files written by version 1.0.0rc1, and the decisions or predictions of every model with six digits.
MODELS = Path(__file__).with_name("models")
DECISIONS = json.loads((MODELS / "decisions.json").read_text())


def samples_for(model: str) -> object:
    """Return the samples from which the stored decisions of a model were computed."""
    if model == "dense-sift":
        return np.random.default_rng(1).integers(0, 256, (8, 24, 24), dtype=np.uint8)
    if model == "annotator":
        return list(np.random.default_rng(2).integers(0, 256, (40, 16, 16), dtype=np.uint8))
    X = np.random.default_rng(0).normal(size=(16, 3)).round(2)
    if model == "search":
        return pytest.importorskip("pandas").DataFrame(X, columns=list("abc"))
    return sparse.csr_matrix(X) if model == "online-sparse" else X


@pytest.mark.parametrize("model", DECISIONS)
def test_a_model_of_an_older_version_opens_with_one_warning_and_gives_the_same_decisions(model):
    pytest.importorskip("skops")
    samples = samples_for(model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = load(MODELS / f"{model}.skops")
    assert [str(warning.message) for warning in caught if warning.category is DeprecationWarning] == []
    assert ["jointsparse 1.0.0rc1" in str(warning.message) for warning in caught] == [True]
    got = np.asarray(getattr(loaded, "decision_function", loaded.predict)(samples))
    np.testing.assert_allclose(got, DECISIONS[model], rtol=0, atol=1e-5 * np.abs(DECISIONS[model]).max())


@pytest.mark.parametrize("model", ["dense-sift", "annotator"])
def test_a_model_with_daisy_is_refused_with_the_last_version_that_has_it(tmp_path, model):
    pytest.importorskip("skops")
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(MODELS / f"{model}.skops") as file:
        entries = {name: file.read(name).replace(b'"DenseSift"', b'"Daisy"') for name in file.namelist()}
    del entries[ORIGIN]
    write_entries(path, entries)
    with pytest.raises(ValueError, match="the extractor daisy was removed") as caught:
        load(path)
    version = "jointsparse 1.0.0rc1 is the last version that has it"
    assert str(caught.value) == f"{path} cannot be loaded, because the extractor daisy was removed: {version}"


def test_a_removed_plug_in_is_refused_with_the_last_version_that_has_it():
    with pytest.raises(ValueError, match=r"^the extractor daisy was removed: jointsparse 1\.0\.0rc1 is the last"):
        pick("features", "daisy")


def test_the_models_hold_every_type_in_trusted():
    held = b"".join(path.read_bytes() for path in MODELS.glob("*.skops")).decode(errors="replace")
    later = "jointsparse.learning.fit.Fit", "jointsparse.features.embedding.Embedding"  # than the version of the models
    paths = {path: path.rpartition(".") for path in TRUSTED if path not in later}
    missing = [path for path, (module, _, name) in paths.items() if f'"{name}"' not in held or module not in held]
    assert missing == []


def test_a_fit_of_an_older_version_can_be_used_for_a_warm_start():
    pytest.importorskip("skops")
    with pytest.warns(UserWarning, match=r"jointsparse 1\.0\.0rc1"):
        model = load(MODELS / "classifier.skops")
    assert isinstance(model._last_fit, Fit)
    X = samples_for("classifier")
    assert model.fit(X, (X[:, :2] > 0).astype(int)).n_iter_ == 0


@pytest.mark.parametrize("name", ["search", "regressor-search"])
def test_a_search_of_an_older_version_knows_its_norm(name):
    pytest.importorskip("skops")
    with pytest.warns(UserWarning, match=r"jointsparse 1\.0\.0rc1"):
        model = load(MODELS / f"{name}.skops")
    assert model.norm_ == model.norm


@pytest.mark.parametrize("old", [*_moved.MOVED, "kept.annotator", "app.blas", "scores.comparison", "papers.duchi.race"])
def test_every_name_of_an_old_path_is_found_and_the_warning_names_the_new_path(old):
    for place in _moved.places_of(old):
        if place == "pictures" or place.startswith("pipeline."):
            pytest.importorskip("PIL" if place == "pictures" else "pandas")
        module = import_module(f"jointsparse.{place}")
        names = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        assert names
        for name in names:
            with pytest.warns(DeprecationWarning, match=rf"{old}\.{name} has moved: import it from {module.__name__}$"):
                imported = getattr(import_module(f"jointsparse.{old}"), name)
            assert imported is getattr(module, name)


@pytest.mark.parametrize("path", ["jointsparse.scores.nothing", "jointsparse.nothing", "jointsparse.norms.nothing"])
def test_a_path_that_never_existed_is_not_found(path):
    with pytest.raises(ModuleNotFoundError, match=f"No module named '{path}'"):
        import_module(path)


def test_an_old_path_has_no_other_names_and_the_warning_points_to_the_importing_line():
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        from jointsparse.scores.sign_test import nothing  # noqa: F401
    with pytest.warns(DeprecationWarning) as caught:
        from jointsparse.scores.sign_test import sign_test  # noqa: F401
    assert caught[0].filename == __file__


def test_a_pickle_with_an_old_path_opens():
    written = pickle.dumps(Fit).replace(b"jointsparse.learning.fit", b"jointsparse.learning.problem")
    written = written.replace(bytes([len("jointsparse.learning.fit")]), bytes([len("jointsparse.learning.problem")]), 1)
    with pytest.warns(DeprecationWarning, match="has moved"):
        assert pickle.loads(written) is Fit

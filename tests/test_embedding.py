"""Features of pictures by a network: how files are read, which are refused, and maps that sum to the decision."""

import importlib.util

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from jointsparse import JointSparseClassifier, explain
from jointsparse.features import SVDBasis
from jointsparse.features import onnx as network
from jointsparse.features.embedding import Embedding

for package in ("onnxruntime", "onnx", "PIL"):
    pytest.importorskip(package)
import networks  # noqa: E402
from networks import SIDE, STRIDE, WEIGHTS  # noqa: E402

MEAN, STD = (0.1, 0.2, 0.3), (0.5, 0.4, 0.3)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The sound networks by name."""
    folder = tmp_path_factory.mktemp("networks")
    made = (networks.maps_of_uint8, networks.vector_of_float, networks.tokens_of_float)
    return {make.__name__: make(folder / f"{make.__name__}.onnx") for make in made}


@pytest.fixture
def untried(monkeypatch):
    """Open networks without the process that tries them. Other tests of the same files start that process."""
    monkeypatch.setattr(network, "open_network", networks.opened_here)


@pytest.fixture
def picture(rng):
    return rng.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)


def expected_of(picture):
    """The features of each patch, (n_places, n_features), and their mean."""
    places = [
        np.einsum("fchw,hwc->f", WEIGHTS.astype(float), picture[top : top + STRIDE, left : left + STRIDE])
        for top in range(0, SIDE, STRIDE)
        for left in range(0, SIDE, STRIDE)
    ]
    return np.array(places)


def normalised(picture, mean=MEAN, std=STD):
    return (picture / 255 - mean) / std


def test_maps_of_uint8_colours_are_averaged_over_places(files, picture):
    embedding = Embedding(files["maps_of_uint8"])
    places, grid = embedding.places(picture)
    np.testing.assert_allclose(places, expected_of(picture), rtol=1e-4)
    assert grid == (SIDE // STRIDE, SIDE // STRIDE)
    np.testing.assert_allclose(embedding.transform([picture]), [expected_of(picture).mean(axis=0)], rtol=1e-4)


@pytest.mark.usefixtures("untried")
@pytest.mark.parametrize(
    ("options", "used"),
    [
        ({"mean": MEAN, "std": STD}, (MEAN, STD)),
        ({}, ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))),
    ],
)
def test_float_colours_are_normalised(files, picture, options, used):
    embedding = Embedding(files["vector_of_float"], size=SIDE, **options)
    expected = expected_of(normalised(picture, *used)).mean(axis=0)
    np.testing.assert_allclose(embedding.transform([picture])[0], expected, rtol=1e-4, atol=1e-5)


def test_tokens_are_averaged_without_that_of_the_class_or_the_first_is_taken(files, picture, monkeypatch):
    of_places = expected_of(normalised(picture))
    options = {"mean": MEAN, "std": STD}
    embedding = Embedding(files["tokens_of_float"], **options)
    np.testing.assert_allclose(embedding.transform([picture])[0], of_places.mean(axis=0), rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(network, "open_network", networks.opened_here)
    first = Embedding(files["tokens_of_float"], tokens="first", **options)
    np.testing.assert_allclose(first.transform([picture])[0], 1)


@pytest.mark.usefixtures("untried")
def test_a_file_and_an_array_of_the_same_pixels_have_the_same_features(files, picture, tmp_path):
    from PIL import Image

    Image.fromarray(picture).save(tmp_path / "picture.png")
    grey = picture[..., 0]
    both = Embedding(files["maps_of_uint8"]).transform([tmp_path / "picture.png", picture, picture / 255, grey])
    np.testing.assert_array_equal(both[0], both[1])
    np.testing.assert_array_equal(both[0], both[2])
    assert both.dtype == np.float32


@pytest.mark.parametrize("name", networks.REFUSED)
def test_broken_and_hostile_files_get_one_sentence(tmp_path, monkeypatch, name):
    make, message = networks.REFUSED[name]
    monkeypatch.setattr(network, "MOST_SECONDS", 0.5 if name == "endless" else 60)
    (tmp_path / "folder").mkdir()
    path = make(tmp_path / "folder" / "model.onnx")
    # Files of which ONNX Runtime says all that there is to say are tried here, others in a process of their own.
    in_process = name in ("endless", "huge")
    with pytest.raises(ValueError, match=message) as caught:
        Embedding(path).network() if in_process else tried(path)
    assert "\n" not in str(caught.value)


def tried(path):
    opened = network.Network(path)
    return opened.places(np.zeros((opened.reading.height, opened.reading.width, 3), np.uint8))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("maps_of_uint8", {"size": 20}, "size must be 16 x 16 pixels as .* has it, got 20"),
        ("maps_of_uint8", {"mean": MEAN}, "mean and std must be None"),
        ("maps_of_uint8", {"layout": "NCHW"}, "must take pictures of three colours, got 16 with layout NCHW"),
        ("maps_of_uint8", {"layout": "CHWN"}, "layout must be one of NHWC, NCHW"),
        ("maps_of_uint8", {"output": "z"}, "output must be one of y"),
        ("maps_of_uint8", {"tokens": "last"}, "tokens must be one of mean, first"),
        ("vector_of_float", {"size": (16, 0)}, "size must be a number of pixels"),
        ("vector_of_float", {"size": 10**5}, "size must be at most 4096 pixels"),
        ("vector_of_float", {"std": (1, 0, 1)}, "std must be above 0"),
        ("vector_of_float", {"mean": (1, 2)}, "mean must be three numbers"),
    ],
)
def test_options_that_do_not_fit_the_file_are_refused(files, name, options, message):
    with pytest.raises(ValueError, match=message):
        network.Network(files[name], **options)


@pytest.mark.usefixtures("untried")
def test_another_file_in_the_place_of_the_fitted_one_is_refused(tmp_path, picture):
    embedding = Embedding(networks.maps_of_uint8(tmp_path / "model.onnx")).fit(None)
    networks.tokens_of_float(tmp_path / "model.onnx")
    with pytest.raises(ValueError, match=r"must be the file with SHA-256 .*: it has changed"):
        embedding.transform([picture])


def test_without_the_extra_one_sentence_names_it(files, picture, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr("jointsparse.checks.find_spec", lambda name: None if name == "onnxruntime" else find_spec(name))
    with pytest.raises(ImportError, match=r"needs onnxruntime: pip install 'jointsparse\[embeddings\]'"):
        network.Network(files["maps_of_uint8"])


@pytest.fixture(scope="module")
def drawn():
    """Pictures in which one of two quarters is bright, and which: (n, 2)."""
    rng = np.random.default_rng(0)
    labels = rng.random((60, 2)) < 0.5
    pictures = rng.integers(0, 60, (60, 24, 32, 3), dtype=np.uint8)
    pictures[labels[:, 0], :12, :16, 0] += 150
    pictures[labels[:, 1], 12:, 16:, 2] += 150
    return list(pictures), labels.astype(int)


@pytest.mark.usefixtures("untried")
@pytest.mark.parametrize("steps", [(), (StandardScaler(),), (StandardScaler(), SVDBasis(3, random_state=0))])
@pytest.mark.parametrize("name", ["maps_of_uint8", "tokens_of_float"])
def test_a_map_and_the_intercept_sum_to_the_decision_and_show_the_place(files, drawn, name, steps):
    pictures, labels = drawn
    model = make_pipeline(Embedding(files[name]), *steps, JointSparseClassifier(radius=5.0)).fit(pictures, labels)
    scores = model.known_scores_ = model.decision_function(pictures)
    model.card_, tol = {"words": ["red", "blue"]}, 1e-5 * float(abs(scores).max())
    for i in np.flatnonzero(labels.all(axis=1))[:3]:
        for k, (word, bright) in enumerate((("red", np.s_[:12, :16]), ("blue", np.s_[12:, 16:]))):
            heat = explain(model, pictures[i], word)
            assert heat.shape == (24, 32)
            assert heat.sum(dtype=float) + model[-1].intercept_[k] == pytest.approx(scores[i, k], abs=tol)
            assert heat[bright].mean() > heat.mean()


@pytest.mark.usefixtures("untried")
def test_a_vector_alone_has_no_map(files, drawn):
    pictures, labels = drawn
    embedding = Embedding(files["vector_of_float"], size=SIDE)
    model = make_pipeline(embedding, JointSparseClassifier(radius=5.0)).fit(pictures, labels)
    model.known_scores_, model.card_ = model.decision_function(pictures), {"words": ["red", "blue"]}
    with pytest.raises(ValueError, match="must have features by place or by token to have maps"):
        explain(model, pictures[0], "red")

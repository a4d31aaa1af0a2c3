"""Features of pictures by a network: how files are read, which are refused, and maps that sum to the decision."""

import json
import os
import pickle
from operator import attrgetter

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from jointsparse import JointSparseClassifier, explain
from jointsparse.features import SVDBasis, efficientnet, network_files
from jointsparse.features import onnx as network
from jointsparse.features.embedding import Embedding, fitted

for package in ("onnxruntime", "onnx", "PIL", efficientnet.PACKAGE):
    pytest.importorskip(package)
import networks  # noqa: E402
import onnx  # noqa: E402
from networks import N_FEATURES, SIDE, STRIDE, WEIGHTS, write  # noqa: E402
from PIL import Image  # noqa: E402

MEAN, STD = (0.1, 0.2, 0.3), (0.5, 0.4, 0.3)
OWN, AS_IT_IS = {"mean": MEAN, "std": STD}, {"mean": (0,) * 3, "std": (1,) * 3}
USUAL = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet
PICTURE = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
open_network = network.open_network


@pytest.fixture(autouse=True)
def untried(monkeypatch):
    """Open networks without the process that tries them, except where a test calls `open_network` itself."""
    monkeypatch.setattr(network, "open_network", networks.opened_here)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.onnx"


def opened(path, content, options=None, **constants):
    return network.Network(write(path, content, **constants), network.Options(**options or {}))


def places_of(colours):
    """The features of each patch of a picture, (n_places, N_FEATURES)."""
    blocks = colours.reshape(SIDE // STRIDE, STRIDE, SIDE // STRIDE, STRIDE, 3)
    return np.einsum("fcyx,iyjxc->ijf", WEIGHTS.astype(float), blocks).reshape(-1, N_FEATURES)


def mean_of(colours):
    return places_of(colours).mean(axis=0, keepdims=True)


def normal(colours, mean=MEAN, std=STD):
    return (colours / 255 - mean) / std


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("maps", {}, places_of),
        ("vector", {"size": SIDE, **OWN}, lambda x: mean_of(normal(x))),
        ("vector", {"size": SIDE}, lambda x: mean_of(normal(x, *USUAL))),
        ("vector", {"size": SIDE, "scale": 1}, lambda x: mean_of(normal(x, *USUAL))),
        ("clip", OWN, lambda x: mean_of(normal(x))),
        ("tokens", OWN, lambda x: places_of(normal(x))),
        ("tokens", {"tokens": "first"}, lambda x: np.ones((1, N_FEATURES))),
        ("cubic", OWN | {"output_layout": "NCHW"}, lambda x: places_of(normal(x))[:, :4]),
        ("cubic", OWN | {"output_layout": "NHWC"}, lambda x: places_of(normal(x))[:, :4].T.reshape(16, 4)),
        *((kind, OWN | {"size": SIDE}, normal) for kind in ("float16", "float", "double")),
        ("float", OWN | {"size": SIDE, "channels": "BGR"}, lambda x: normal(x)[..., ::-1]),
        ("float", {"size": SIDE, "scale": 255}, lambda x: x),
        ("float", {"size": SIDE, "scale": 255, "mean": (100, 110, 120)}, lambda x: x - np.array([100.0, 110, 120])),
        ("float", {"size": SIDE, "scale": 2, "std": (1, 2, 4)}, lambda x: x / 127.5 / np.array([1, 2, 4])),
    ],
)
def test_colours_are_normalised_as_options_say_and_features_of_places_averaged(path, name, options, expected):
    embedding = Embedding(write(path, name), **options)
    places, grid = embedding.places(PICTURE)
    expected = expected(PICTURE).reshape(places.shape)
    np.testing.assert_allclose(places, expected, rtol=1e-4, atol=2e-3 if name == "float16" else 1e-4)
    assert grid == (round(len(places) ** 0.5),) * 2
    Image.fromarray(PICTURE).save(path.with_name("picture.png"))
    got = embedding.transform([PICTURE, np.maximum(PICTURE / 255 - 0.001, 0), path.with_name("picture.png")])
    np.testing.assert_array_equal(got, 3 * [got[0]])
    np.testing.assert_allclose(got[0], expected.mean(axis=0), rtol=1e-4, atol=1e-4)
    assert got.dtype == places.dtype == np.float32


@pytest.mark.parametrize(
    ("n", "size", "tokens", "grid", "n_left_out"),
    [
        (16, 16, "mean", (4, 4), 0),
        (17, 16, "mean", (4, 4), 1),
        (201, 16, "mean", (14, 14), 5),
        (261, 16, 5, (16, 16), 5),
        (201, 16, 0, (1, 1), 0),
        (53, (24, 32), "mean", (6, 8), 5),
        (13, (24, 32), "mean", (3, 4), 1),
        (20, (24, 32), "mean", (4, 5), 0),
    ],
)
def test_tokens_before_the_largest_grid_are_left_out_unless_an_option_says_otherwise(
    path, n, size, tokens, grid, n_left_out
):
    numbers = np.arange(n, dtype=np.float32)[np.newaxis, :, np.newaxis]
    tried = opened(path, "tokens in a row", AS_IT_IS | {"tokens": tokens, "size": size}, numbers=numbers)
    places = tried.places(np.full((tried.reading.height, tried.reading.width, 3), 255, np.uint8))
    assert (places.grid, places.n_tokens, places.n_left_out) == (grid, n, n_left_out)
    expected = np.arange(n_left_out, n)[:, np.newaxis]
    np.testing.assert_allclose(places.features, expected if np.prod(grid) > 1 else [expected.mean(axis=0)], rtol=1e-6)


CLIP = {"image_mean": MEAN, "image_std": STD, "size": {"shortest_edge": 20}, "crop_size": {"height": 12, "width": 16}}
ZERO, ONE = (0, 0, 0), (1, 1, 1)


@pytest.mark.parametrize(
    ("name", "content", "options", "expected"),
    [
        ("float", CLIP | {"rescale_factor": 1 / 255}, {}, (12, 16, "RGB", 1, MEAN, STD)),
        ("float", CLIP | {"do_center_crop": False}, {"mean": ZERO}, (20, 20, "RGB", 1, ZERO, USUAL[1])),
        ("float", {"size": 24, "do_normalize": False}, {"size": 16}, (16, 16, "RGB", 1, ZERO, ONE)),
        ("float", {"do_rescale": False, "do_flip_channel_order": True}, {}, (224, 224, "BGR", 255, ZERO, ONE)),
        ("float", {"rescale_factor": 1 / 127.5}, {"channels": "RGB"}, (224, 224, "RGB", 2, ZERO, ONE)),
        ("float", {"feature_size": 1}, {}, (224, 224, "RGB", 1, *USUAL)),
        ("tokens", {"size": 224}, {}, (SIDE, SIDE, "RGB", 1, *USUAL)),  # a fixed size stays
    ],
)
def test_the_preprocessor_beside_the_file_replaces_defaults_but_no_options(path, name, content, options, expected):
    path.with_name("preprocessor_config.json").write_text(json.dumps(content))
    reading = opened(path, name, options).reading
    assert attrgetter("height", "width", "channels", "scale", "mean", "std")(reading) == expected


@pytest.mark.parametrize("content", ["[1]", '{"image_mean": [1, 2]}', '{"rescale_offset": true}'])
def test_a_preprocessor_that_says_nothing_sensible_is_refused(path, content):
    path.with_name("preprocessor_config.json").write_text(content)
    with pytest.raises(ValueError, match=r"preprocessor_config.json (must be a JSON object|does not say)"):
        opened(path, "float")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        *(pytest.param(content, {}, message, id=name) for name, (content, message) in networks.REFUSED.items()),
        ("maps", {"size": 20}, "size must be 16 x 16 pixels as .* has it, got 20"),
        ("maps", {"scale": 255}, "mean, std and scale must be None"),
        ("maps", {"channels": "GBR"}, "channels must be one of RGB, BGR"),
        ("maps", {"layout": "NCHW"}, "must take pictures of three colours, got 16 with layout NCHW"),
        ("maps", {"output": "z"}, "output must be one of y"),
        ("clip", {"output": "similarities"}, "output must be one of image_embeds"),
        ("maps", {"tokens": "last"}, "tokens must be one of mean, first, or the number"),
        ("maps", {"tokens": -1}, "tokens must be one of mean, first, or the number"),
        ("tokens", {"tokens": 17}, "tokens must be below 17, the number of tokens"),
        ("vector", {"scale": 0}, "scale must be a number above 0"),
        ("vector", {"size": (16, 0)}, "size must be a number of pixels"),
        ("vector", {"size": 4097}, "size must be at most 4096 pixels"),
        ("vector", {"std": (1, 0, 1)}, "std must be above 0"),
        ("vector", {"mean": (1, 2)}, "mean must be three numbers"),
        ("float16", {"size": SIDE, "std": (1e-6, 1e-6, 1e-6)}, "must give finite features, got NaN or infinity"),
    ],
)
def test_broken_and_hostile_files_and_options_that_do_not_fit_get_one_sentence(path, content, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        opened(path, content, options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", networks.REFUSED_APART)
def test_a_process_tries_a_network_first(path, monkeypatch, name):
    content, message = networks.REFUSED_APART[name]
    monkeypatch.setattr(network, "Network", None)  # it is not opened here
    monkeypatch.setattr(network, "MOST_SECONDS", 0.5 if name == "endless" else 60)
    with pytest.raises(ValueError, match=message):
        open_network(write(path, content), "", network.Options())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("slow", "must describe a picture within 0.5 s"),
        ("large", "must describe a picture with at most 4 GiB of memory"),
        ("wide", "must give the same number of features for all pictures, got"),
    ],
)
def test_a_network_that_is_harmless_on_a_black_picture_is_stopped_on_others(path, monkeypatch, name, message):
    monkeypatch.setattr(network, "MOST_SECONDS", 0.5)
    sound = opened(path, name, AS_IT_IS)
    with pytest.raises(ValueError, match=message):
        sound.places(PICTURE)
    sound.places(np.zeros_like(PICTURE))  # the network is still usable


# Files


def test_the_digest_covers_all_files_and_changed_files_are_read_again(path):
    for name in ("first.data", "other.data"):
        path.with_name(name).write_bytes(WEIGHTS.tobytes())
    write(path, "maps", "first.data")
    digests = [network_files.digest(path)]
    for change in (
        lambda: path.with_name("first.data").write_bytes((2 * WEIGHTS).tobytes()),
        lambda: write(path, "maps", "other.data"),  # the size is the same
        lambda: path.write_bytes(path.read_bytes().replace(b"net", b"Net")),
        lambda: path.with_name("preprocessor_config.json").write_text("{}"),
    ):
        change()
        for file in path.parent.iterdir():  # seems to be written a second later
            os.utime(file, ns=(0, file.stat().st_mtime_ns + 10**9))
        digests.append(network_files.digest(path))
    assert len({*digests}) == 5
    assert [*network_files.files_of(path)] == [path, *map(path.with_name, ("other.data", "preprocessor_config.json"))]


MESSAGES = {
    "ModelProto": "model",
    "TrainingInfoProto": "training",
    "GraphProto": "graph",
    "NodeProto": "node",
    "FunctionProto": "function",
    "AttributeProto": "attribute",
    "TensorProto": "tensor",
    "SparseTensorProto": "sparse tensor",
}


def test_every_field_below_which_there_may_be_a_tensor_is_searched():
    for name, kind in MESSAGES.items():
        inner = {field.number: field.message_type for field in getattr(onnx, name).DESCRIPTOR.fields}
        expected = {number: MESSAGES[of.name] for number, of in inner.items() if of and of.name in MESSAGES}
        assert network_files.FIELDS.get(kind) == (expected or {13: "pair"})  # names of files with data


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("../weights", "got the location '../weights'"),
        ("inner/../../weights", "got the location"),
        ("/etc/hostname", "got the location '/etc/hostname'"),
        ("C:\\weights", "got the location"),
        ("..\\weights", "got the location"),
        ("link", "got the location 'link'"),
        ("inner", "needs its weights in the file .*inner', which is not there"),
    ],
)
def test_weights_that_are_not_beside_the_network_are_refused(tmp_path, location, message):
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "weights").write_bytes(WEIGHTS.tobytes())
    (folder / "link").symlink_to("../weights")
    with pytest.raises(ValueError, match=message):
        opened(folder / "model.onnx", "maps", location=location)


def test_linked_files_of_a_cache_are_found(tmp_path):
    snapshot = tmp_path / "snapshot"
    snapshot.mkdir()
    (tmp_path / "b").write_bytes(WEIGHTS.tobytes())
    (snapshot / "b").symlink_to("../b")
    (snapshot / "a").symlink_to(write(tmp_path / "a", "maps", location="b"))
    tried = open_network(snapshot / "a", "", network.Options())
    np.testing.assert_allclose(tried.places(PICTURE).features, places_of(PICTURE), rtol=1e-4, atol=1e-4)


def test_sizes_are_checked_before_files_are_read(path, monkeypatch):
    path.with_name("weights").write_bytes(WEIGHTS.tobytes())
    monkeypatch.setattr(network_files, "MOST_BYTES", write(path, "maps", "weights").stat().st_size)
    monkeypatch.setattr(network_files, "_sha256", None)
    with pytest.raises(ValueError, match=r"must hold 1 to .* bytes, got"):
        network_files.digest(path)


def test_another_file_in_the_place_of_the_fitted_one_is_refused_until_the_next_fit(path):
    embedding = Embedding(write(path, "maps")).fit(None)
    assert fitted({"model": path}, embedding.digest_).n_features_ == N_FEATURES
    write(path, "tokens")
    with pytest.raises(ValueError, match=r"must be the network with SHA-256 .*, and it is another one"):
        embedding.transform([PICTURE])
    with pytest.raises(ValueError, match="must not change during a run"):
        fitted({"model": path}, embedding.digest_)
    assert embedding.fit(None).digest_ == network_files.digest(path)


# Maps


@pytest.mark.parametrize(("name", "steps"), [("tokens", ()), ("maps", (StandardScaler(), SVDBasis(3, random_state=0)))])
def test_a_map_and_the_intercept_sum_to_the_decision_and_show_the_place(path, rng, name, steps):
    labels = rng.integers(0, 2, (60, 2))
    pictures = rng.integers(0, 60, (60, 24, 32, 3), dtype=np.uint8)
    pictures[labels[:, 0] == 1, :12, 16:, 0] += 150
    pictures[labels[:, 1] == 1, 12:, :16, 2] += 150
    model = make_pipeline(Embedding(write(path, name)), *steps, JointSparseClassifier(radius=5.0))
    scores = model.fit(pictures, labels).decision_function(pictures)
    i = np.flatnonzero(labels.all(axis=1))[0]
    for task, bright in enumerate((np.s_[:12, 16:], np.s_[12:, :16])):
        heat = explain(model, pictures[i], task)
        assert heat.shape == (24, 32)
        got, atol = heat.sum(dtype=float) + model[-1].intercept_[task], 1e-5 * np.abs(scores).max()
        np.testing.assert_allclose(got, scores[i, task], atol=atol)
        assert heat[bright].mean() > heat.mean()


def test_a_vector_alone_has_no_map(path):
    model = make_pipeline(Embedding(write(path, "vector"), size=SIDE), JointSparseClassifier(radius=5.0))
    model.fit([PICTURE, PICTURE // 2], [0, 1])
    with pytest.raises(ValueError, match="must have features by place or by token to have maps"):
        explain(model, PICTURE, 1)


# The built-in network


# Computed once by a slow version of the network in NumPy, in double precision, as M. Tan and Q. V. Le describe it.
EXPECTED = [
    0.0913194,
    0.4491205,
    5.185111,
    6.0,
    4.573066,
    5.518466,
    3.661242,
    5.579991,
    5.90968,
    0.03541793,
    0.124099,
    0.1303767,
    0.1030447,
    0.05248677,
    0.1751423,
    0.06785348,
    0.0,
    0.0,
    0.5210215,
    0.005289953,
    0.0,
    0.0,
    0.0,
    0.0,
    0.0,
    0.5241527,
    0.0,
    0.0,
]


def test_the_features_under_a_digest_do_not_change_whatever_file_is_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text('{"do_flip_channel_order": true}')
    monkeypatch.setattr(network, "open_network", open_network)
    monkeypatch.setattr(network, "_try_apart", None)  # a network that comes with the pipeline is not tried
    rows, columns = np.mgrid[:224, :224]
    picture = np.stack([rows, columns, 223 - rows], axis=-1).astype(np.uint8)
    picture[60:120, 90:150] = 255
    embedding = Embedding().fit(None)
    places, grid = embedding.places(picture)
    assert grid == (7, 7) and embedding.n_features_ == 1280
    got = [places.mean(), places.std(), *places.max(axis=1)[::8], *places.mean(axis=1)[::8], *places.mean(axis=0)[:12]]
    np.testing.assert_allclose(got, EXPECTED, rtol=1e-4)
    # Saved models name the network by the digest of its weights.
    assert embedding.digest_ == network_files.digest("efficientnet-lite0") == efficientnet.DIGEST
    assert network_files.with_digest(efficientnet.DIGEST) == "efficientnet-lite0"


def test_other_weights_are_refused_before_they_are_unpickled(tmp_path, monkeypatch):
    content = bytearray(efficientnet.weights().read_bytes())
    content[-1] ^= 1
    (tmp_path / "weights.pth").write_bytes(content)
    monkeypatch.setattr(efficientnet, "weights", lambda: tmp_path / "weights.pth")
    monkeypatch.setattr(efficientnet, "tensors_of", None)
    with pytest.raises(ValueError, match="must have the SHA-256"):
        Embedding().fit(None)


def file_of(first, shape, strides, *, name=b"torch._utils\n_rebuild_tensor_v2", size=3):
    """A file as PyTorch wrote it, with a tensor w in a storage of the numbers 1, 2, 3. name: what constructs it."""
    shape, strides = (b"(" + b"".join(b"I%d\n" % number for number in numbers) + b"t" for numbers in (shape, strides))
    storage = b"(S'storage'\nctorch\nFloatStorage\nS'0'\nS'cpu'\nI3\nNtQ"
    places = b"(dS'w'\nc%s\n(%sI%d\n%s%stRs." % (name, storage, first, shape, strides)
    numbers = size.to_bytes(8, "little") + np.float32([1, 2, 3]).tobytes()
    return 3 * pickle.dumps(0) + places + pickle.dumps(["0"]) + numbers


NO_TENSOR = "strides is incompatible|offset must be|buffer is too small"


@pytest.mark.parametrize(
    ("first", "shape", "strides", "options", "expected"),
    [
        (1, [2], [1], {}, [2, 3]),
        (0, [2, 2], [1, 1], {}, [[1, 2], [2, 3]]),
        (0, [3], [1], {"size": 2**60}, [1, 2, 3]),  # allocates nothing that the file does not hold
        (0, [4], [1], {}, NO_TENSOR),
        (0, [2], [-1], {}, NO_TENSOR),
        (-1, [1], [1], {}, NO_TENSOR),
        (4, [1], [1], {}, NO_TENSOR),
        (0, [3], [1], {"name": b"os\nsystem"}, "must hold tensors alone, got os"),
    ],
)
def test_a_tensor_is_read_by_its_strides_and_must_lie_in_its_storage(first, shape, strides, options, expected):
    content = file_of(first, shape, strides, **options)
    if isinstance(expected, list):
        assert efficientnet.tensors_of(content)["w"].tolist() == expected
    else:
        with pytest.raises((ValueError, TypeError), match=expected):
            efficientnet.tensors_of(content)

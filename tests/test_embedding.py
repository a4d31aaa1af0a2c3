"""Features of pictures by a network: how files are read, which are refused, and maps that sum to the decision."""

import importlib.util
import json
import os

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from jointsparse import JointSparseClassifier, explain
from jointsparse.features import SVDBasis, network_files
from jointsparse.features import onnx as network
from jointsparse.features.embedding import Embedding, fitted

for package in ("onnxruntime", "onnx", "PIL"):
    pytest.importorskip(package)
import networks  # noqa: E402
from networks import SIDE, STRIDE, WEIGHTS  # noqa: E402

MEAN, STD = (0.1, 0.2, 0.3), (0.5, 0.4, 0.3)
USUAL = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet


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


def tried_with(path, **options):
    return network.Network(path, network.Options(**options))


def normalised(picture, mean=MEAN, std=STD):
    return (picture / 255 - mean) / std


MAPS, VECTOR, TOKENS = "maps_of_uint8", "vector_of_float", "tokens_of_float"
OWN = {"mean": MEAN, "std": STD}


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        (MAPS, {}, expected_of),
        (VECTOR, {"size": SIDE, **OWN}, lambda x: expected_of(normalised(x)).mean(axis=0, keepdims=True)),
        (VECTOR, {"size": SIDE}, lambda x: expected_of(normalised(x, *USUAL)).mean(axis=0, keepdims=True)),
        (TOKENS, OWN, lambda x: expected_of(normalised(x))),
        (TOKENS, {"tokens": "first", **OWN}, lambda x: np.ones((1, networks.N_FEATURES))),
    ],
)
def test_features_of_places_tokens_or_the_picture_are_averaged(files, picture, name, options, expected, monkeypatch):
    if name == VECTOR or "tokens" in options:  # in the other cases, a separate process tries the network first
        monkeypatch.setattr(network, "open_network", networks.opened_here)
    embedding = Embedding(files[name], **options)
    places, grid = embedding.places(picture)
    np.testing.assert_allclose(places, expected(picture), rtol=1e-4, atol=1e-5)
    assert grid == ((1, 1) if len(places) == 1 else (SIDE // STRIDE, SIDE // STRIDE))
    got = embedding.transform([picture])
    np.testing.assert_allclose(got, [expected(picture).mean(axis=0)], rtol=1e-4, atol=1e-5)
    assert got.dtype == np.float32


@pytest.mark.usefixtures("untried")
def test_a_file_and_an_array_of_the_same_pixels_have_the_same_features(files, picture, tmp_path):
    from PIL import Image

    Image.fromarray(picture).save(tmp_path / "picture.png")
    grey = picture[..., 0]
    forms = Embedding(files[MAPS]).transform([tmp_path / "picture.png", picture, picture / 255, grey, grey / 255])
    for got, expected in ((0, 1), (2, 1), (4, 3)):
        np.testing.assert_array_equal(forms[got], forms[expected])


@pytest.mark.parametrize("name", networks.REFUSED)
def test_broken_and_hostile_files_get_one_sentence(tmp_path, monkeypatch, name):
    make, message = networks.REFUSED[name]
    monkeypatch.setattr(network, "MOST_SECONDS", 0.5 if name == "endless" else 60)
    (tmp_path / "folder").mkdir()
    path = make(tmp_path / "folder" / "model.onnx")
    # Files of which ONNX Runtime says all that there is to say are tried here, others in a process of their own.
    in_process = name in ("endless", "huge", "chance")
    with pytest.raises(ValueError, match=message) as caught:
        Embedding(path).network() if in_process else tried_with(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (MAPS, {"size": 20}, "size must be 16 x 16 pixels as .* has it, got 20"),
        (MAPS, {"mean": MEAN}, "mean, std and scale must be None"),
        (MAPS, {"scale": 255}, "mean, std and scale must be None"),
        (MAPS, {"channels": "GBR"}, "channels must be one of RGB, BGR"),
        (MAPS, {"output_layout": "CHW"}, "output_layout must be one of NHWC, NCHW"),
        (MAPS, {"layout": "NCHW"}, "must take pictures of three colours, got 16 with layout NCHW"),
        (MAPS, {"layout": "CHWN"}, "layout must be one of NHWC, NCHW"),
        (MAPS, {"output": "z"}, "output must be one of y"),
        (MAPS, {"tokens": "last"}, "tokens must be one of mean, first, or the number"),
        (MAPS, {"tokens": -1}, "tokens must be one of mean, first, or the number"),
        (TOKENS, {"tokens": 17}, "tokens must be below 17, the number of tokens"),
        (VECTOR, {"scale": 0}, "scale must be a number above 0"),
        (VECTOR, {"size": (16, 0)}, "size must be a number of pixels"),
        (VECTOR, {"size": 10**5}, "size must be at most 4096 pixels"),
        (VECTOR, {"std": (1, 0, 1)}, "std must be above 0"),
        (VECTOR, {"mean": (1, 2)}, "mean must be three numbers"),
    ],
)
def test_options_that_do_not_fit_the_file_are_refused(files, name, options, message):
    with pytest.raises(ValueError, match=message):
        tried_with(files[name], **options)


@pytest.mark.usefixtures("untried")
def test_another_file_in_the_place_of_the_fitted_one_is_refused_until_the_next_fit(tmp_path, picture):
    path = networks.maps_of_uint8(tmp_path / "model.onnx")
    embedding, first = Embedding(path).fit(None), network_files.digest(path)
    assert embedding.digest_ == first and fitted({"model": path}, first).n_features_ == networks.N_FEATURES
    networks.tokens_of_float(path)
    with pytest.raises(ValueError, match=r"must be the network with SHA-256 .*, and it is another one"):
        embedding.transform([picture])
    with pytest.raises(ValueError, match="must not change during a run"):
        fitted({"model": path}, first)
    assert embedding.fit(None).digest_ != first


# Files


def later(path):
    """Let a file seem to be written a second later, which is enough for a change that keeps its size."""
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 10**9))


def test_the_digest_covers_all_files_and_changed_files_are_read_again(tmp_path):
    path, digests = networks.with_weights_in(networks.maps_of_uint8(tmp_path / "model.onnx"), "first.data"), []
    for change in (
        lambda: (tmp_path / "first.data").write_bytes((2 * WEIGHTS).tobytes()),
        lambda: networks.with_weights_in(networks.maps_of_uint8(path), "other.data"),  # the size is the same
        lambda: path.write_bytes(path.read_bytes().replace(b"graph", b"Graph")),
        lambda: (tmp_path / "preprocessor_config.json").write_text("{}"),
    ):
        digests.append(network_files.digest(path))
        change()
        for file in tmp_path.iterdir():
            later(file)
    assert len({*digests, network_files.digest(path)}) == 5
    names = [file.name for file in network_files.files_of(path)]
    assert names == ["model.onnx", "other.data", "preprocessor_config.json"]


def test_every_field_below_which_there_may_be_a_tensor_is_searched():
    messages = {"ModelProto": "model", "TrainingInfoProto": "training", "GraphProto": "graph", "NodeProto": "node"}
    messages |= {"FunctionProto": "function", "AttributeProto": "attribute", "TensorProto": "tensor"}
    messages |= {"SparseTensorProto": "sparse tensor", "StringStringEntryProto": "pair"}
    for name, kind in messages.items():
        fields = getattr(networks.onnx, name).DESCRIPTOR.fields
        inner = {field.number: messages.get(field.message_type.name) for field in fields if field.message_type}
        pairs = {"external_data": 13} if kind == "tensor" else {}
        expected = {n: of for n, of in inner.items() if of and (of != "pair" or n in pairs.values())}
        assert network_files.FIELDS.get(kind, {}) == expected


def test_weights_of_every_kind_are_found(tmp_path):
    path = networks.maps_of_uint8(tmp_path / "model.onnx")
    model = networks.onnx.load(path)

    def tensor(location):
        (tmp_path / location).write_bytes(b"0")
        made = networks.numpy_helper.from_array(np.zeros(1, np.float32))
        networks.make_external(made, location)
        return made

    constant = networks.helper.make_node("Constant", [], ["k"], value=tensor("constant"))
    inner = networks.helper.make_graph([constant], "inner", [], [], initializer=[tensor("inner")])
    branch = networks.helper.make_node("If", ["c"], ["d"], then_branch=inner)
    opsets = [networks.helper.make_opsetid("", 17)]
    model.graph.node.extend([branch, networks.helper.make_node("Constant", [], ["e"], value=tensor("outer"))])
    within = networks.helper.make_node("Constant", [], ["l"], value=tensor("function"))
    model.functions.append(networks.helper.make_function("here", "f", [], ["l"], [within], opsets))
    model.graph.sparse_initializer.add(values=tensor("values"), indices=tensor("indices"))
    path.write_bytes(model.SerializeToString())
    expected = ["constant", "function", "indices", "inner", "outer", "values"]
    assert [file.name for file in network_files.files_of(path)] == ["model.onnx", *expected]


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("../weights", "got the location '../weights'"),
        ("inner/../../weights", "got the location"),
        ("/etc/hostname", "got the location '/etc/hostname'"),
        ("C:\\weights", "got the location"),
        ("..\\weights", "got the location"),
        ("link", "got the location 'link'"),
        ("device", "got the location 'device'"),
        ("absent", "needs its weights in the file .*absent', which is not there"),
        ("inner", "needs its weights in the file .*inner', which is not there"),
        ("", "needs its weights in the file .*, which is not there"),
    ],
)
def test_weights_that_are_not_beside_the_network_are_refused(tmp_path, location, message):
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "weights").write_bytes(WEIGHTS.tobytes())
    (folder / "link").symlink_to("../weights")
    (folder / "device").symlink_to("/dev/zero")
    path = networks.maps_of_uint8(folder / "model.onnx")
    model = networks.onnx.load(path)
    networks.make_external(model.graph.initializer[0], location)
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ValueError, match=message) as caught:
        network_files.digest(path)
    assert "\n" not in str(caught.value)


def test_linked_files_of_a_cache_are_found(tmp_path):
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    path = networks.with_weights_in(networks.maps_of_uint8(tmp_path / "blobs" / "a"), "b")
    names = {"a": "model.onnx", "b": "b"}
    for target, name in names.items():
        (tmp_path / "snapshot" / name).symlink_to(tmp_path / "blobs" / target)
    assert network_files.digest(tmp_path / "snapshot" / "model.onnx") == network_files.digest(path)
    tried_with(tmp_path / "snapshot" / "model.onnx")


@pytest.mark.parametrize(
    "content", [b"\x00" * 20, b"\x0a\xff\xff\xff\xff\x7f", b"\xff" * 20, b"\x3a\x02\x0b\x0c", b"\x0a"]
)
def test_a_damaged_file_is_refused_before_it_is_opened(tmp_path, content):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="does not open as an ONNX model"):
        tried_with(path)


def test_sizes_are_checked_before_files_are_read(tmp_path, monkeypatch):
    path = networks.with_weights_in(networks.maps_of_uint8(tmp_path / "model.onnx"), "weights")
    monkeypatch.setattr(network_files, "MOST_BYTES", path.stat().st_size)
    monkeypatch.setattr(network_files, "_sha256", None)
    with pytest.raises(ValueError, match=r"must hold 1 to .* bytes, got"):
        network_files.digest(path)
    monkeypatch.setattr(network_files, "MOST_BYTES", path.stat().st_size - 1)
    monkeypatch.setattr(network_files, "_names", None)
    with pytest.raises(ValueError, match=r"must hold 1 to .* bytes, got"):
        network_files.digest(path)


# How a picture is read


@pytest.mark.parametrize(
    ("n", "tokens", "grid", "used"),
    [
        (16, "mean", (4, 4), range(16)),
        (17, "mean", (4, 4), range(1, 17)),
        (201, "mean", (14, 14), range(5, 201)),
        (198, "mean", (14, 14), range(2, 198)),
        (261, "mean", (16, 16), range(5, 261)),
        (261, 5, (16, 16), range(5, 261)),
        (196, 0, (14, 14), range(196)),
        (201, 0, (1, 1), range(201)),
        (17, "first", (1, 1), range(1)),
    ],
)
def test_tokens_before_the_largest_square_are_left_out_unless_an_option_says_otherwise(tmp_path, n, tokens, grid, used):
    path = networks.tokens_in_a_row(tmp_path / "model.onnx", n)
    opened = tried_with(path, tokens=tokens, mean=(0,) * 3, std=(1,) * 3)
    places = opened.places(np.full((SIDE, SIDE, 3), 255, np.uint8))
    assert places.grid == grid
    np.testing.assert_allclose(places.features.mean(dtype=float), np.mean(used), rtol=1e-6)


@pytest.mark.parametrize(("n", "grid"), [(12, (3, 4)), (13, (3, 4)), (48, (6, 8)), (53, (6, 8))])
def test_the_grid_of_tokens_has_the_aspect_ratio_of_the_input(tmp_path, n, grid):
    path = networks.tokens_in_a_row(tmp_path / "model.onnx", n, 24, 32)
    blank = tried_with(path).blank
    assert (blank.grid, blank.n_left_out) == (grid, n - np.prod(grid))


def test_an_option_tells_the_axes_of_a_cubic_output(tmp_path, picture):
    path = networks.cubic(tmp_path / "model.onnx")
    first, last = (tried_with(path, output_layout=name) for name in ("NCHW", "NHWC"))
    by_place = first.places(picture).features
    np.testing.assert_allclose(last.places(picture).features, by_place.T.reshape(16, 4), rtol=1e-6)


@pytest.mark.parametrize("kind", ["FLOAT16", "FLOAT", "DOUBLE"])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (OWN, normalised),
        ({"channels": "BGR", **OWN}, lambda x: normalised(x)[..., ::-1]),
        ({"scale": 255}, lambda x: x),
        ({"scale": 255, "mean": (100, 110, 120)}, lambda x: x - np.array([100.0, 110, 120])),
        ({"scale": 2, "std": (1, 2, 4)}, lambda x: x / 127.5 / np.array([1, 2, 4])),
    ],
)
def test_channels_the_value_of_white_and_every_width_of_floats_are_read(tmp_path, picture, kind, options, expected):
    path = networks.of_type(tmp_path / "model.onnx", getattr(networks.TensorProto, kind))
    features = tried_with(path, **options).places(picture).features
    assert features.dtype == np.float32
    np.testing.assert_allclose(features, expected(picture).reshape(-1, 3), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("external", ["", "weights"])
def test_the_picture_branch_of_a_network_with_texts_is_run_alone(tmp_path, picture, external):
    path = networks.with_text(tmp_path / "model.onnx", external)
    opened, expected = tried_with(path, **OWN), expected_of(normalised(picture)).mean(axis=0)
    np.testing.assert_allclose(opened.places(picture).features[0], expected, rtol=1e-4, atol=1e-5)
    assert opened.reading.output == "image_embeds"
    with pytest.raises(ValueError, match="output must be one of image_embeds"):
        tried_with(path, output="similarities")


CLIP = {
    "image_mean": list(MEAN),
    "image_std": list(STD),
    "size": {"shortest_edge": 20},
    "crop_size": {"height": 12, "width": 16},
}


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        (CLIP | {"rescale_factor": 1 / 255}, {}, (12, 16, "RGB", 1, MEAN, STD)),
        (CLIP | {"do_center_crop": False}, {"mean": (0, 0, 0)}, (20, 20, "RGB", 1, (0, 0, 0), network.USUAL_STD)),
        ({"size": 24, "do_normalize": False}, {"size": 16}, (16, 16, "RGB", 1, (0, 0, 0), (1, 1, 1))),
        ({"do_rescale": False, "do_flip_channel_order": True}, {}, (224, 224, "BGR", 255, (0, 0, 0), (1, 1, 1))),
        ({"rescale_factor": 1 / 127.5}, {"channels": "RGB"}, (224, 224, "RGB", 2, (0, 0, 0), (1, 1, 1))),
        ({"feature_size": 1}, {}, (224, 224, "RGB", 1, network.USUAL_MEAN, network.USUAL_STD)),
    ],
)
def test_the_preprocessor_beside_the_file_replaces_defaults(tmp_path, content, options, expected):
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(content))
    reading = tried_with(networks.of_type(tmp_path / "model.onnx", axes=("n", 3, "h", "w")), **options).reading
    assert (*reading[3:6], *reading[7:10]) == expected


def test_the_preprocessor_does_not_change_a_fixed_size(tmp_path):
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({"size": 224}))
    assert tried_with(networks.of_type(tmp_path / "model.onnx")).reading.height == SIDE


@pytest.mark.parametrize(
    "content", ["", "[1]", '{"image_mean": [1, 2]}', '{"size": "large"}', '{"rescale_offset": true}']
)
def test_a_preprocessor_that_says_nothing_sensible_is_refused(tmp_path, content):
    (tmp_path / "preprocessor_config.json").write_text(content)
    with pytest.raises(ValueError, match=r"preprocessor_config.json (must be a JSON object|does not say)"):
        tried_with(networks.of_type(tmp_path / "model.onnx"))


# Limits


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("slow", "must describe a picture within 0.5 s"),
        ("large", "must describe a picture with at most 4 GiB of memory"),
        ("wide", "must give the same number of features for all pictures, got"),
    ],
)
def test_a_network_that_is_harmless_on_a_black_picture_is_stopped_on_others(
    tmp_path, picture, monkeypatch, name, message
):
    monkeypatch.setattr(network, "MOST_SECONDS", 0.5)
    opened = tried_with(networks.by_brightness(tmp_path / "model.onnx", name), scale=1.0, mean=(0,) * 3, std=(1,) * 3)
    with pytest.raises(ValueError, match=message) as caught:
        opened.places(picture)
    assert "\n" not in str(caught.value)
    opened.places(np.zeros_like(picture))  # the network is still usable


def test_without_the_extra_one_sentence_names_it(files, picture, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr("jointsparse.checks.find_spec", lambda name: None if name == "onnxruntime" else find_spec(name))
    with pytest.raises(ImportError, match=r"needs onnxruntime: pip install 'jointsparse\[pipeline\]'"):
        tried_with(files[MAPS])


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
@pytest.mark.parametrize("name", [MAPS, TOKENS])
def test_a_map_and_the_intercept_sum_to_the_decision_and_show_the_place(files, drawn, name, steps):
    pictures, labels = drawn
    model = make_pipeline(Embedding(files[name]), *steps, JointSparseClassifier(radius=5.0)).fit(pictures, labels)
    scores = model.decision_function(pictures)
    tol = 1e-5 * float(abs(scores).max())
    for i in np.flatnonzero(labels.all(axis=1))[:3]:
        for k, bright in enumerate((np.s_[:12, :16], np.s_[12:, 16:])):
            heat = explain(model, pictures[i], k)
            assert heat.shape == (24, 32)
            assert heat.sum(dtype=float) + model[-1].intercept_[k] == pytest.approx(scores[i, k], abs=tol)
            assert heat[bright].mean() > heat.mean()


@pytest.mark.usefixtures("untried")
def test_a_vector_alone_has_no_map(files, drawn):
    pictures, labels = drawn
    embedding = Embedding(files[VECTOR], size=SIDE)
    model = make_pipeline(embedding, JointSparseClassifier(radius=5.0)).fit(pictures, labels)
    with pytest.raises(ValueError, match="must have features by place or by token to have maps"):
        explain(model, pictures[0], 0)

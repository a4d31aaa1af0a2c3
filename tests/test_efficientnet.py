"""The built-in network: its features against a slow twin, and which files of weights are refused."""

import pickle

import numpy as np
import pytest

from jointsparse.features import Embedding, efficientnet, network_files, onnx

for package in ("onnxruntime", "onnx", "PIL", efficientnet.PACKAGE):
    pytest.importorskip(package)


@pytest.fixture
def picture():
    """A picture with smooth colours and a bright square, (224, 224, 3)."""
    rows, columns = np.mgrid[:224, :224]
    picture = np.stack([rows, columns, 223 - rows], axis=-1).astype(np.uint8)
    picture[60:120, 90:150] = 255
    return picture


def convolved(x, kernel, stride):
    """Convolve (channels, side, side) with (n, 1 or channels, k, k), padded so that the side is ceil(side / stride)."""
    side, k = x.shape[1], kernel.shape[2]
    n = -(-side // stride)
    missing = max((n - 1) * stride + k - side, 0)
    before = missing // 2
    x = np.pad(x, ((0, 0), (before, missing - before), (before, missing - before)))
    parts = [
        (kernel[:, :, i, j], x[:, i : i + (n - 1) * stride + 1 : stride, j : j + (n - 1) * stride + 1 : stride])
        for i in range(k)
        for j in range(k)
    ]
    if kernel.shape[1] == 1:
        return sum(weights[:, :, None] * part for weights, part in parts)
    return sum(np.tensordot(weights, part, 1) for weights, part in parts)


def expected_maps(picture):
    """The network as M. Tan and Q. V. Le describe it, (1280, 7, 7), in double precision."""
    tensors = efficientnet.tensors_of(efficientnet.weights().read_bytes())

    def layer(x, convolution, norm, stride=1, most=6.0):
        x = convolved(x, tensors[f"{convolution}.weight"].astype(float), stride)
        gain, offset, mean, variance = (
            tensors[f"{norm}.{part}"].astype(float)[:, None, None]
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        x = (x - mean) / np.sqrt(variance + 0.001) * gain + offset
        return np.clip(x, 0, most) if most else x

    x = layer(picture.transpose(2, 0, 1) / 127.5 - 1, "_conv_stem", "_bn0", 2)
    for i, stride in enumerate([1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1]):
        y = layer(x, f"_blocks.{i}._expand_conv", f"_blocks.{i}._bn0") if i else x
        y = layer(y, f"_blocks.{i}._depthwise_conv", f"_blocks.{i}._bn1", stride)
        y = layer(y, f"_blocks.{i}._project_conv", f"_blocks.{i}._bn2", most=None)
        x = x + y if x.shape == y.shape else y
    return layer(x, "_conv_head", "_bn1")


def test_the_maps_are_those_of_the_network(picture, monkeypatch):
    monkeypatch.setattr(onnx, "_try_apart", None)  # a network that comes with the pipeline is not tried
    embedding = Embedding().fit(None)
    places, grid = embedding.places(picture)
    expected = expected_maps(picture).reshape(1280, -1).T
    assert grid == (7, 7) and embedding.n_features_ == 1280
    np.testing.assert_allclose(places, expected, atol=1e-5 * expected.max())


def test_the_features_under_a_digest_do_not_change(picture):
    """Saved models name the network by its digest, so other features need another digest, and other numbers here."""
    features = Embedding().transform([picture])
    assert efficientnet.DIGEST.startswith("57934424")
    np.testing.assert_allclose([features.mean(), features.std()], [0.0913194, 0.3453002], rtol=1e-4)


def test_the_network_is_known_by_the_digest_of_its_weights():
    assert Embedding().fit(None).digest_ == network_files.digest("efficientnet-lite0") == efficientnet.DIGEST
    assert network_files.with_digest(efficientnet.DIGEST) == "efficientnet-lite0"


def test_files_of_the_current_folder_do_not_change_how_the_network_reads_pictures(tmp_path, monkeypatch):
    (tmp_path / "preprocessor_config.json").write_text('{"do_flip_channel_order": true}')
    monkeypatch.chdir(tmp_path)
    assert onnx.Network(efficientnet.NAME, onnx.Options()).reading.channels == "RGB"


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
    header, keys = 3 * pickle.dumps(0), pickle.dumps(["0"])
    return header + places + keys + size.to_bytes(8, "little") + np.float32([1, 2, 3]).tobytes()


def test_a_tensor_is_read_by_its_strides():
    assert efficientnet.tensors_of(file_of(1, [2], [1]))["w"].tolist() == [2, 3]
    assert efficientnet.tensors_of(file_of(0, [2, 2], [1, 1]))["w"].tolist() == [[1, 2], [2, 3]]


@pytest.mark.parametrize(
    ("first", "shape", "strides"),
    [(0, [4], [1]), (2, [2], [1]), (0, [2], [3]), (0, [2], [-1]), (-1, [1], [1]), (0, [2, 2], [1, 2]), (4, [1], [1])],
)
def test_a_tensor_outside_of_its_storage_is_refused(first, shape, strides):
    with pytest.raises((ValueError, TypeError), match=r"strides is incompatible|offset must be|buffer is too small"):
        efficientnet.tensors_of(file_of(first, shape, strides))


def test_a_file_of_weights_cannot_run_code_and_allocates_nothing_that_it_does_not_hold():
    with pytest.raises(ValueError, match="must hold tensors alone, got os"):
        efficientnet.tensors_of(file_of(0, [3], [1], name=b"os\nsystem"))
    assert efficientnet.tensors_of(file_of(0, [3], [1], size=2**60))["w"].tolist() == [1, 2, 3]

"""The built-in network: its features against a slow twin, and which files of weights are refused."""

import pickle

import numpy as np
import pytest

from jointsparse.features import Embedding, efficientnet, network_files, onnx

for package in ("onnxruntime", "onnx", "PIL", efficientnet.PACKAGE):
    pytest.importorskip(package)


def convolved(x, kernel, stride):
    """Convolve (channels, side, side) with (n, 1 or channels, k, k), padded so that the side is ceil(side / stride)."""
    side, k = x.shape[1], kernel.shape[2]
    missing = max((-(-side // stride) - 1) * stride + k - side, 0)
    x = np.pad(x, ((0, 0), *2 * [(missing // 2, missing - missing // 2)]))
    windows = np.lib.stride_tricks.sliding_window_view(x, (k, k), (1, 2))[:, ::stride, ::stride]
    if kernel.shape[1] == 1:
        return np.einsum("nyxij,nij->nyx", windows, kernel[:, 0])
    return np.tensordot(kernel, windows, ([1, 2, 3], [0, 3, 4]))


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


def test_the_maps_are_those_of_the_network_whatever_file_is_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text('{"do_flip_channel_order": true}')
    monkeypatch.setattr(onnx, "_try_apart", None)  # a network that comes with the pipeline is not tried
    rows, columns = np.mgrid[:224, :224]
    picture = np.stack([rows, columns, 223 - rows], axis=-1).astype(np.uint8)
    picture[60:120, 90:150] = 255
    embedding = Embedding().fit(None)
    places, grid = embedding.places(picture)
    expected = expected_maps(picture).reshape(1280, -1).T
    assert grid == (7, 7) and embedding.n_features_ == 1280
    np.testing.assert_allclose(places, expected, atol=1e-5 * expected.max())
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


def read(first, shape, strides, *, name=b"torch._utils\n_rebuild_tensor_v2", size=3):
    """Read a tensor of a storage of the numbers 1, 2, 3, from bytes as PyTorch wrote them. name: what constructs it."""
    shape, strides = (b"(" + b"".join(b"I%d\n" % number for number in numbers) + b"t" for numbers in (shape, strides))
    storage = b"(S'storage'\nctorch\nFloatStorage\nS'0'\nS'cpu'\nI3\nNtQ"
    places = b"(dS'w'\nc%s\n(%sI%d\n%s%stRs." % (name, storage, first, shape, strides)
    header, keys = 3 * pickle.dumps(0), pickle.dumps(["0"])
    content = header + places + keys + size.to_bytes(8, "little") + np.float32([1, 2, 3]).tobytes()
    return efficientnet.tensors_of(content)["w"].tolist()


def test_a_tensor_is_read_by_its_strides_and_allocates_nothing_that_the_file_does_not_hold():
    assert read(1, [2], [1]) == [2, 3]
    assert read(0, [2, 2], [1, 1]) == [[1, 2], [2, 3]]
    assert read(0, [3], [1], size=2**60) == [1, 2, 3]


@pytest.mark.parametrize(
    ("first", "shape", "strides", "options"),
    [
        (0, [4], [1], {}),
        (2, [2], [1], {}),
        (0, [2], [-1], {}),
        (-1, [1], [1], {}),
        (4, [1], [1], {}),
        (0, [3], [1], {"name": b"os\nsystem"}),
    ],
)
def test_a_tensor_outside_of_its_storage_and_code_are_refused(first, shape, strides, options):
    said = r"strides is incompatible|offset must be|buffer is too small|must hold tensors alone, got os"
    with pytest.raises((ValueError, TypeError), match=said):
        read(first, shape, strides, **options)

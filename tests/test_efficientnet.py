"""The built-in network: its features, and which files of weights are refused."""

import pickle

import numpy as np
import pytest

from jointsparse.features import Embedding, efficientnet, network_files, onnx

for package in ("onnxruntime", "onnx", "PIL", efficientnet.PACKAGE):
    pytest.importorskip(package)


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
    monkeypatch.setattr(onnx, "_try_apart", None)  # a network that comes with the pipeline is not tried
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
    header, keys = 3 * pickle.dumps(0), pickle.dumps(["0"])
    return header + places + keys + size.to_bytes(8, "little") + np.float32([1, 2, 3]).tobytes()


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

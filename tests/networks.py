"""Small networks as ONNX files, sound ones and others, made by the package onnx."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from jointsparse.features.onnx import Network

N_FEATURES, SIDE, STRIDE = 5, 16, 4
WEIGHTS = np.random.default_rng(0).normal(size=(N_FEATURES, 3, STRIDE, STRIDE)).astype(np.float32)


def saved(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, tuple[int, Sequence[Any]]],
    outputs: Mapping[str, tuple[int, Sequence[Any]]],
    constants: Mapping[str, np.ndarray] | None = None,
    domains: Sequence[str] = ("",),
) -> Path:
    """Write a graph. inputs and outputs: type and shape by name."""
    infos = [[helper.make_tensor_value_info(name, *of) for name, of in ends.items()] for ends in (inputs, outputs)]
    tensors = [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    opsets = [helper.make_opsetid(domain, 17 if domain == "" else 1) for domain in domains]
    graph = helper.make_graph(list(nodes), "graph", *infos, initializer=tensors)
    path.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString())
    return path


@cache
def opened_here(path: Path, digest: str, **options: Any) -> Network:
    """Open a network like `open_network`, but without the process that tries the file, which takes half a second."""
    return Network(path, **options)


def patches(x: str, y: str) -> onnx.NodeProto:
    """A convolution of patches side by side: x (n, 3, SIDE, SIDE) to y (n, N_FEATURES, SIDE / STRIDE, …)."""
    return helper.make_node("Conv", [x, "W"], [y], strides=[STRIDE, STRIDE])


def maps_of_uint8(path: Path) -> Path:
    """A network of uint8 colours, (n, SIDE, SIDE, 3), with features by place."""
    nodes = [
        helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Transpose", ["f"], ["t"], perm=[0, 3, 1, 2]),
        patches("t", "y"),
    ]
    ends = {"x": (TensorProto.UINT8, ["n", SIDE, SIDE, 3])}, {"y": (TensorProto.FLOAT, None)}
    return saved(path, nodes, *ends, {"W": WEIGHTS})


def vector_of_float(path: Path) -> Path:
    """A network of normalised colours of any size, (n, 3, height, width), with one vector for a picture."""
    nodes = [
        patches("x", "p"),
        helper.make_node("GlobalAveragePool", ["p"], ["q"]),
        helper.make_node("Flatten", ["q"], ["y"]),
    ]
    ends = {"x": (TensorProto.FLOAT, ["n", 3, "h", "w"])}, {"y": (TensorProto.FLOAT, ["n", N_FEATURES])}
    return saved(path, nodes, *ends, {"W": WEIGHTS})


def tokens_of_float(path: Path) -> Path:
    """A network with tokens: that of the class, which is 1 throughout, and one for each place."""
    nodes = [
        patches("x", "p"),
        helper.make_node("Reshape", ["p", "shape"], ["r"]),
        helper.make_node("Transpose", ["r"], ["t"], perm=[0, 2, 1]),
        helper.make_node("Concat", ["one", "t"], ["y"], axis=1),
    ]
    ends = {"x": (TensorProto.FLOAT, [1, 3, SIDE, SIDE])}, {"y": (TensorProto.FLOAT, None)}
    constants = {
        "W": WEIGHTS,
        "shape": np.array([1, N_FEATURES, -1]),
        "one": np.ones((1, 1, N_FEATURES), np.float32),
    }
    return saved(path, nodes, *ends, constants)


FLOAT_PICTURE = {"x": (TensorProto.FLOAT, [1, 3, SIDE, SIDE])}
FEATURES = {"y": (TensorProto.FLOAT, None)}


def truncated(path: Path) -> Path:
    path.write_bytes(maps_of_uint8(path).read_bytes()[:-100])
    return path


def no_onnx(path: Path) -> Path:
    path.write_bytes(b"\x89PNG and so on")
    return path


def empty(path: Path) -> Path:
    path.write_bytes(b"")
    return path


def of_two_inputs(path: Path) -> Path:
    inputs = FLOAT_PICTURE | {"z": (TensorProto.FLOAT, [1])}
    return saved(path, [helper.make_node("Add", ["x", "z"], ["y"])], inputs, FEATURES)


def of_text(path: Path) -> Path:
    ends = {"x": (TensorProto.STRING, [1])}, {"y": (TensorProto.STRING, None)}
    return saved(path, [helper.make_node("Identity", ["x"], ["y"])], *ends)


def huge(path: Path) -> Path:
    """10^10 numbers for each picture."""
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["m"], keepdims=1),
        helper.make_node("Expand", ["m", "shape"], ["y"]),
    ]
    return saved(path, nodes, FLOAT_PICTURE, FEATURES, {"shape": np.array([1, 10**4, 1000, 1000])})


def outside(path: Path) -> Path:
    """Weights in a file outside of the model's folder."""
    (path.parent.parent / "secret.bin").write_bytes(WEIGHTS.tobytes())
    maps_of_uint8(path)
    model = onnx.load(path)
    (weights,) = model.graph.initializer
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value="../secret.bin")
    path.write_bytes(model.SerializeToString())
    return path


def unknown_operator(path: Path) -> Path:
    node = helper.make_node("Summon", ["x"], ["y"], domain="elsewhere")
    return saved(path, [node], FLOAT_PICTURE, FEATURES, domains=("", "elsewhere"))


def endless(path: Path) -> Path:
    """A loop of 2^62 rounds."""
    kinds = ("i", TensorProto.INT64, []), ("go", TensorProto.BOOL, []), ("v", TensorProto.FLOAT, None)
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"]), helper.make_node("Sin", ["v"], ["w"])],
        "body",
        [helper.make_tensor_value_info(*kind) for kind in kinds],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("w", TensorProto.FLOAT, None),
        ],
    )
    nodes = [helper.make_node("Loop", ["rounds", "true", "x"], ["y"], body=body)]
    return saved(path, nodes, FLOAT_PICTURE, FEATURES, {"rounds": np.array(2**62), "true": np.array(True)})


def of_nan(path: Path) -> Path:
    return saved(path, [helper.make_node("Log", ["x"], ["y"])], FLOAT_PICTURE, FEATURES)


def nothing(path: Path) -> Path:
    """No feature at all."""
    nodes = [helper.make_node("Slice", ["x", "start", "end"], ["y"])]
    limits = {"start": np.zeros(4, int), "end": np.array([1, 0, 1, 1])}
    return saved(path, nodes, FLOAT_PICTURE, FEATURES, limits)


def of_bytes(path: Path) -> Path:
    """Features that are whole numbers."""
    nodes = [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.UINT8)]
    return saved(path, nodes, FLOAT_PICTURE, {"y": (TensorProto.UINT8, None)})


REFUSED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "no ONNX file": (no_onnx, "does not open as an ONNX model"),
    "truncated": (truncated, "does not open as an ONNX model"),
    "empty": (empty, r"must hold 1 to .* bytes, got 0"),
    "two inputs": (of_two_inputs, r"must have one input, a picture, got \['x', 'z'\]"),
    "text": (of_text, r"must be pictures, uint8 or float with four axes, got tensor\(string\)"),
    "huge": (huge, r"fails on a picture|at most 4 GiB of memory"),
    "outside": (outside, "does not open as an ONNX model"),
    "unknown operator": (unknown_operator, "does not open as an ONNX model"),
    "endless": (endless, "within 0.5 s"),
    "NaN": (of_nan, "must give finite features"),
    "nothing": (nothing, r"must be float32 of shape .* got float32 \(1, 0, 1, 1\)"),
    "whole numbers": (of_bytes, "must be float32 of shape"),
}

"""Small networks as ONNX files, sound ones and others, made by the package onnx."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from jointsparse.features.onnx import Network, Options

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
def opened_here(path: Path, digest: str, options: Options) -> Network:
    """Open a network like `open_network`, but without the process that tries the file, which takes half a second."""
    return Network(path, options)


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


def tokens_in_a_row(path: Path, n: int, height: int = SIDE, width: int = SIDE) -> Path:
    """A network whose n tokens of one feature are 0, 1, 2, … times the brightness."""
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["m"], axes=[1, 2, 3], keepdims=1),
        helper.make_node("Squeeze", ["m", "axis"], ["s"]),
        helper.make_node("Mul", ["s", "numbers"], ["y"]),
    ]
    ends = {"x": (TensorProto.FLOAT, ["n", 3, height, width])}, {"y": (TensorProto.FLOAT, ["n", n, 1])}
    numbers = np.arange(n, dtype=np.float32)[np.newaxis, :, np.newaxis]
    return saved(path, nodes, *ends, {"axis": np.array([3]), "numbers": numbers})


def of_type(path: Path, kind: int = TensorProto.FLOAT, axes: Sequence[Any] = ("n", 3, SIDE, SIDE)) -> Path:
    """A network whose features are its input."""
    return saved(path, [helper.make_node("Identity", ["x"], ["y"])], {"x": (kind, axes)}, {"y": (kind, None)})


def with_text(path: Path, external: str = "") -> Path:
    """A network of pictures and texts, like CLIP, with similarities and the features of both.

    The branch of the pictures has a condition whose graphs use a value from outside.
    """
    nothing = [helper.make_node("Identity", ["c"], [name]) for name in ("then", "else")]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("then", "else")]
    graphs = [helper.make_graph([node], "part", [], [end]) for node, end in zip(nothing, info, strict=True)]
    nodes = [
        helper.make_node("Conv", ["pixels", "W"], ["c"], strides=[STRIDE, STRIDE]),
        helper.make_node("If", ["true"], ["p"], then_branch=graphs[0], else_branch=graphs[1]),
        helper.make_node("GlobalAveragePool", ["p"], ["q"]),
        helper.make_node("Flatten", ["q"], ["image_embeds"]),
        helper.make_node("Gather", ["table", "ids"], ["g"], axis=0),
        helper.make_node("ReduceMean", ["g"], ["text_embeds"], axes=[1], keepdims=0),
        helper.make_node("Gemm", ["image_embeds", "text_embeds"], ["similarities"], transB=1),
    ]
    inputs = {"ids": (TensorProto.INT64, ["n", "m"]), "pixels": (TensorProto.FLOAT, ["n", 3, SIDE, SIDE])}
    outputs = {name: (TensorProto.FLOAT, ["n", "d"]) for name in ("similarities", "text_embeds", "image_embeds")}
    constants = {"W": WEIGHTS, "table": np.ones((9, N_FEATURES), np.float32), "true": np.array(True)}
    saved(path, nodes, inputs, outputs, constants)
    return with_weights_in(path, external) if external else path


def with_weights_in(path: Path, location: str) -> Path:
    """Move the weights of the network in a file to another file."""
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if tensor.name == "W":
            (path.parent / location).write_bytes(tensor.raw_data)
            make_external(tensor, location)
    path.write_bytes(model.SerializeToString())
    return path


def make_external(tensor: onnx.TensorProto, location: str) -> None:
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)


FLOAT_PICTURE = {"x": (TensorProto.FLOAT, [1, 3, SIDE, SIDE])}
FEATURES = {"y": (TensorProto.FLOAT, None)}


def graph(*nodes: tuple[str, str, dict[str, Any]], ends: Any = (FLOAT_PICTURE, FEATURES), **constants: Any) -> Any:
    """Return a function that writes a chain of nodes, each with the inputs "a b", from x to y."""
    names = [*(f"n{i}" for i in range(1, len(nodes))), "y"]
    made = [
        helper.make_node(kind, inputs.split(), [name], **options)
        for (kind, inputs, options), name in zip(nodes, names, strict=True)
    ]
    domains = sorted({"", *(node.domain for node in made)})
    return lambda path: saved(path, made, *ends, {name: np.array(value) for name, value in constants.items()}, domains)


def holding(content: bytes) -> Callable[[Path], Path]:
    """Return a function that writes a file with this content."""

    def write(path: Path) -> Path:
        path.write_bytes(content)
        return path

    return write


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


def by_brightness(path: Path, name: str) -> Path:
    """A network that is harmless on a black picture; `name` says what it does on others."""
    middle = {
        "slow": ("rounds", [1.0], 1e18),
        "large": ("shape", [1.0], 1.2e9),
        "wide": ("shape", [2.0], 3.0),
    }
    least, factor = middle[name][1:]
    start = [
        helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0),
        helper.make_node("Mul", ["m", "factor"], ["f"]),
        helper.make_node("Add", ["f", "least"], ["a"]),
        helper.make_node("Cast", ["a"], ["n"], to=TensorProto.INT64),
    ]
    constants = {"factor": np.float32(factor), "least": np.array(least, np.float32), "one": np.array([1])}
    if name == "slow":
        model = onnx.load(endless(path))
        start += [helper.make_node("Squeeze", ["n"], ["rounds"]), *model.graph.node]
        return saved(path, start, FLOAT_PICTURE, FEATURES, constants | {"true": np.array(True)})
    start += [
        helper.make_node("Concat", ["one", "n"], ["shape"], axis=0),
        helper.make_node("Expand", ["m", "shape"], ["y"]),
    ]
    return saved(path, start, FLOAT_PICTURE, FEATURES, constants)


def truncated(path: Path) -> Path:
    path.write_bytes(maps_of_uint8(path).read_bytes()[:-100])
    return path


# Four features for each of 4 x 4 places: the axes have equal lengths.
cubic = graph(("Conv", "x W", {"strides": [STRIDE, STRIDE]}), W=WEIGHTS[:4])
TEXT = {"x": (TensorProto.STRING, [1])}, {"y": (TensorProto.STRING, None)}
TWO = FLOAT_PICTURE | {"z": (TensorProto.FLOAT, [1])}, FEATURES
BYTES = FLOAT_PICTURE, {"y": (TensorProto.UINT8, None)}
MEAN, EXPAND = ("ReduceMean", "x", {"keepdims": 1}), ("Expand", "n1 shape", {})
LIMITS = {"start": [0] * 4, "end": [1, 0, 1, 1]}
REFUSED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "no ONNX file": (holding(b"\x89PNG and so on"), "does not open as an ONNX model"),
    "truncated": (truncated, "does not open as an ONNX model"),
    "empty": (holding(b""), r"must hold 1 to .* bytes, got 0"),
    "two inputs": (
        graph(("Add", "x z", {}), ends=TWO),
        "must have an output that depends on the input x alone, got .* depend on z as well",
    ),
    "text": (
        graph(("Identity", "x", {}), ends=TEXT),
        r"one input of pictures, uint8 or floating-point with four axes, got x: tensor\(string\)",
    ),
    "huge": (graph(MEAN, EXPAND, shape=[1, 10**4, 1000, 1000]), r"fails on a picture|at most 4 GiB of memory"),
    "outside": (
        lambda path: with_weights_in(maps_of_uint8(path), "../secret.bin"),
        "must have its weights in files beside it, got the location '../secret.bin'",
    ),
    "unknown operator": (graph(("Summon", "x", {"domain": "elsewhere"})), "does not open as an ONNX model"),
    "endless": (endless, "within 0.5 s"),
    "NaN": (graph(("Log", "x", {})), "must give finite features"),
    "nothing": (
        graph(("Slice", "x start end", {}), **LIMITS),
        r"must be floating-point of shape .* got float32 \(1, 0, 1, 1\)",
    ),
    "whole numbers": (graph(("Cast", "x", {"to": TensorProto.UINT8}), ends=BYTES), "must be floating-point of shape"),
    "wide": (
        graph(("ReduceMean", "x", {"keepdims": 0}), EXPAND, shape=[1, 2**26]),
        "must give at most 1,048,576 features, got 67,108,864",
    ),
    "chance": (
        graph(("RandomUniformLike", "x", {}), ("Mul", "n1 x", {})),
        "must give the same features for the same picture, got others the second time",
    ),
    "cubic": (cubic, "output_layout must be given"),
}

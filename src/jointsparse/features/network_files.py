"""The files of a pretrained network: an ONNX file, files of weights that it names, and preprocessor_config.json.

The built-in network `efficientnet.NAME` is given by its name instead of a path. Its only file has its weights.

A model file may come from anyone. It is therefore searched for names of files without building its messages in memory,
and its size is checked before its content is read.
"""

import hashlib
import json
import mmap
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PureWindowsPath
from typing import Any

from jointsparse.checks import require, require_extra
from jointsparse.features import efficientnet

MOST_BYTES = 2**31  # largest size of a network, all its files together
MOST_FIELDS = 4 * 10**6  # largest number of fields in an ONNX file that are read to find the names of other files
PREPROCESSOR = "preprocessor_config.json"  # written by Hugging Face's libraries; says how pictures are prepared
MOST_BYTES_OF_PREPROCESSOR = 2**20
# ONNX is a format of nested messages. For each kind of message, the fields below which there may be tensors, with the
# kind of message in them. The field 13 of a tensor holds pairs, such as ("location", "weights.bin").
FIELDS = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse tensor"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse tensor", 23: "sparse tensor"},
    "sparse tensor": {1: "tensor", 2: "tensor"},
    "tensor": {13: "pair"},
}
VARINT, EIGHT_BYTES, WITH_LENGTH, FOUR_BYTES = 0, 1, 2, 5  # codings of a field


def is_built_in(path: str | os.PathLike[str]) -> bool:
    """Return True for the name of the built-in network, which is not a path."""
    return str(path) == efficientnet.NAME


def with_digest(digest: str) -> str | None:
    """Return the name of the built-in network if it has this digest, otherwise None."""
    return efficientnet.NAME if digest == efficientnet.DIGEST else None


def files_of(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files that determine the features of a network: the ONNX file first, or the weights if it is built in.

    Raises ValueError if a file is missing, is not beside the ONNX file or in a folder beside it, or if the files are
    too large.
    """
    if is_built_in(path):
        return [efficientnet.weights()]
    path = Path(path)
    require(path.is_file(), f"a network must be an ONNX file, got {str(path)[:300]!r}, which is not there")
    _require_size(path, [path])
    status = path.stat()
    files = [path, *(_beside(path, name) for name in _names(path, status.st_size, status.st_mtime_ns))]
    preprocessor = path.parent / PREPROCESSOR
    files = list(dict.fromkeys([*files, preprocessor] if preprocessor.is_file() else files))
    _require_size(path, files)
    return files


def _require_size(path: Path, files: list[Path]) -> None:
    n_bytes = sum(file.stat().st_size for file in files)
    fits = path.stat().st_size > 0 and n_bytes <= MOST_BYTES
    require(fits, f"a network must hold 1 to {MOST_BYTES:,} bytes, got {n_bytes:,} in {path}")


def _beside(path: Path, name: str) -> Path:
    """Return the path of a file that an ONNX file names. Raise ValueError unless it is in the folder of the ONNX file.

    If the ONNX file is a link, its files may also be in the folder of its target, as in the cache of Hugging Face.
    """
    file = path.parent / name
    folders = path.parent.resolve(), path.resolve().parent
    relative = not PureWindowsPath(name).anchor and ".." not in PureWindowsPath(name).parts
    inside = relative and "\0" not in name and any(file.resolve().is_relative_to(folder) for folder in folders)
    require(inside, f"{path} must have its weights in files beside it, got the location {name[:200]!r}")
    require(file.is_file(), f"{path} needs its weights in the file {str(file)[:300]!r}, which is not there")
    return file


@lru_cache(maxsize=8)
def _names(path: Path, size: int, modified_ns: int) -> list[str]:
    """Return the names of other files in an ONNX file. size, modified_ns: part of the cache's key, as in `_sha256`."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return sorted(set(_locations(content)))
    except (IndexError, ValueError) as error:
        why = "its content ends too early" if isinstance(error, IndexError) else error
        raise ValueError(f"{path} does not open as an ONNX model: {why}") from None


def _locations(content: Any) -> Iterator[str]:
    """Yield the names of other files, which are the values of the pairs ("location", name) of tensors."""
    messages, n_fields = [("model", 0, len(content))], 0
    while messages:
        kind, place, end = messages.pop()
        texts = {}
        while place < end:
            n_fields += 1
            require(n_fields <= MOST_FIELDS, f"it must have at most {MOST_FIELDS:,} fields, got more")
            tag, place = _whole_number(content, place)
            field, coding = tag >> 3, tag & 7
            require(coding in (VARINT, EIGHT_BYTES, WITH_LENGTH, FOUR_BYTES), "it has a field of an unknown coding")
            length, start = {EIGHT_BYTES: 8, FOUR_BYTES: 4}.get(coding, 0), place
            if coding in (VARINT, WITH_LENGTH):
                number, start = _whole_number(content, place)
                length = number if coding == WITH_LENGTH else 0
            place = start + length
            require(place <= end, "a field is longer than the message around it")
            if coding == WITH_LENGTH and kind == "pair":
                texts[field] = content[start : min(place, start + 5000)]
            elif coding == WITH_LENGTH and field in FIELDS[kind]:
                messages.append((FIELDS[kind][field], start, place))
        if texts.get(1) == b"location":
            yield texts.get(2, b"").decode()


def _whole_number(content: Any, place: int) -> tuple[int, int]:
    """Return a number, coded as seven bits in each byte, lowest first, and the place of the byte after it."""
    number = shift = 0
    while True:
        byte = content[place]
        number, place = number | (byte & 127) << shift, place + 1
        if byte < 128:
            return number, place
        shift += 7
        require(shift < 70, "a number has more than ten bytes")


@lru_cache(maxsize=64)
def _sha256(path: Path, size: int, modified_ns: int) -> str:
    """Return the SHA-256 of a file.

    size, modified_ns: the size and the modification time of the file. They are part of the cache's key, so that a
    changed file is read again.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(path: Path) -> str:
    """Return the digest of a network: the SHA-256 of its file or, if it has more files, of all their SHA-256."""
    files = [(file, file.stat()) for file in files_of(path)]
    return combined({str(file): _sha256(file, status.st_size, status.st_mtime_ns) for file, status in files})


def combined(checksums: Mapping[str, str | None]) -> str:
    """Return the digest of a network, as `digest`, from the SHA-256 of each of its files.

    Parameters
    ----------
    checksums : mapping
        The SHA-256 of each file that `files_of` returns, by path, in this order.
    """
    first, *rest = checksums
    own, others = (
        checksums[first],
        {Path(file).relative_to(Path(first).parent).as_posix(): checksums[file] for file in rest},
    )
    require(None not in (own, *others.values()), f"all files of {first} must be readable, got one that is not")
    if not others:
        return str(own)
    return hashlib.sha256(json.dumps([own, others], sort_keys=True).encode()).hexdigest()


def preprocessor(path: Path) -> dict[str, Any]:
    """Return the content of the file `PREPROCESSOR` beside an ONNX file; empty if there is none."""
    file = path.parent / PREPROCESSOR
    if is_built_in(path) or not file.is_file():
        return {}
    content = file.read_bytes() if file.stat().st_size <= MOST_BYTES_OF_PREPROCESSOR else b""
    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        values = None
    require(isinstance(values, dict), f"{file} must be a JSON object that says how pictures are prepared: remove it")
    return dict(values)


def branch(path: Path, name: str) -> tuple[bytes, list[str]]:
    """Return the part of a network that depends on one of its inputs alone, such as the picture branch of CLIP.

    Parameters
    ----------
    path : Path
        The ONNX file.
    name : str
        Name of the input.

    Returns
    -------
    model : bytes
        The part of the network, as an ONNX model whose tensors are in the same files.
    outputs : list of str
        The names of its outputs; empty if all outputs depend on other inputs.
    """
    require_extra("Embedding", "onnx")
    import onnx

    model = onnx.load(path, load_external_data=False)
    graph = model.graph
    inputs = {entry.name for entry in graph.input} - {tensor.name for tensor in graph.initializer}
    makers = {output: node for node in graph.node for output in node.output}
    used: set[str] = set()
    outputs = []
    for output in graph.output:
        reached, new = {output.name}, [output.name]
        while new:
            node = makers.get(new.pop())
            fresh = set(_values_used(node)) - reached if node else set()
            reached |= fresh
            new += fresh
        if reached & inputs == {name}:
            outputs.append(output.name)
            used |= reached
    for field, kept in (
        (graph.node, [node for node in graph.node if used.intersection(node.output)]),
        (graph.input, [entry for entry in graph.input if entry.name in used]),
        (graph.output, [output for output in graph.output if output.name in outputs]),
        (graph.initializer, [tensor for tensor in graph.initializer if tensor.name in used]),
    ):
        copies = [type(one).FromString(one.SerializeToString()) for one in kept]
        del field[:]
        field.extend(copies)
    return model.SerializeToString(), outputs


def _values_used(node: Any) -> Iterator[str]:
    """Yield the names of the values that a node uses, in the graphs of its attributes too, such as bodies of loops."""
    yield from node.input
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            yield from (output.name for output in graph.output)
            for inner in graph.node:
                yield from _values_used(inner)

"""The archive that a model file is, looked at before anything is made of it: sizes of entries, arrays and types.

It is a ZIP archive of what skops writes: a tree of types in `schema.json`, and an entry for each array. Those who make
files to do harm may write anything. So the directory, the tree and the head of each array are read first, and the
numbers that they state are compared with the bytes that are there.
"""

from __future__ import annotations

import json
import math
import re
import struct
import zipfile
from collections.abc import Iterator, Mapping, Set
from typing import IO, Any

import numpy as np

from jointsparse.checks import require, shortened

# Of a file, and of the arrays that it unpacks to. Python with its packages takes 350 MB, reading twice the file, and
# computing with the model at most three times: together less than 1 GB.
MOST_BYTES = 200_000_000
MOST_ENTRIES, BYTES_OF_ENTRY = 10_000, 200  # of the archive, and of each in its directory
MOST_BYTES_OF_TREE, MOST_PARTS, DEEPEST = 2**25, 150_000, 30
OLDEST_PROTOCOL = 2  # of skops, before which it read trees otherwise
TREE = "schema.json"
END = struct.Struct("<4s4H2LH")  # of the directory: signature, disks, entries, its bytes and place, bytes of a comment
# Stands before it where there are more than 65,535 entries or 4 GiB: signature, disk, place of a directory, disks.
LOCATOR, LOCATOR_MARK = struct.Struct("<4sLQL"), b"PK\6\7"
SEQUENCES = {"ListNode": "builtins.list", "SetNode": "builtins.set", "TupleNode": "builtins.tuple"}
KEYS = re.compile(r"builtins\.(str|int|float|bool)|numpy\.(bool_?|str_|u?int\d+|float\d+)")  # types of keys
# Beginnings of types and functions as values, which skops compares with those that it knows.
VALUES: Mapping[str, tuple[str, ...]] = {
    "DTypeNode": (),
    "FunctionNode": ("numpy.", "scipy.special."),
    "TypeNode": ("numpy.", "builtins.bool", "builtins.float", "builtins.int", "builtins.str"),
}
OF_NUMPY = re.compile(r"numpy\.\w+")


class Foreign(ValueError):
    """A tree holds a type that nobody here trusts, which the message names."""


class TooLarge(ValueError):
    """An archive takes more memory than `load` may."""


def opened(file: IO[bytes], *, compressed: bool = False) -> zipfile.ZipFile:
    """Open an archive, whose entries may be compressed or not. Raises ValueError if it could fill the memory."""
    length = file.seek(0, 2)
    file.seek(max(length - LOCATOR.size - END.size, 0))
    tail = file.read()
    require(len(tail) >= END.size, f"it must be an archive, got {length} bytes")
    mark, *_, directory_bytes, _, comment = END.unpack(tail[-END.size :])
    is_64 = tail.startswith(LOCATOR_MARK)
    small = directory_bytes <= MOST_ENTRIES * BYTES_OF_ENTRY and not comment and not is_64
    require(
        mark == b"PK\5\6" and small,
        f"it must end with the directory of at most {MOST_ENTRIES:,} entries, got another end",
    )
    archive = zipfile.ZipFile(file)
    entries = archive.infolist()
    n_bytes = sum(entry.file_size for entry in entries)
    kinds = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) if compressed else (zipfile.ZIP_STORED,)
    require(
        all(entry.compress_type in kinds for entry in entries)
        and n_bytes <= (MOST_BYTES if compressed else length)  # entries that overlap take more than there is
        and len({entry.filename for entry in entries}) == len(entries) <= MOST_ENTRIES,
        f"it must hold at most {MOST_ENTRIES:,} entries of different names, "
        f"{f'which unpack to at most {MOST_BYTES:,} bytes' if compressed else 'none of them compressed'}, got "
        f"{n_bytes:,} bytes in {len(entries):,}",
    )
    return archive


def require_sound(archive: zipfile.ZipFile, trusted: Set[str], rooms: tuple[str, ...]) -> None:
    """Raise ValueError unless the tree of an archive has known parts alone, and its arrays are as long as they say.

    Parameters
    ----------
    archive : ZipFile
        From `opened`.
    trusted : set of str
        Names of the classes whose objects it may hold.
    rooms : tuple of str
        Beginnings of such names.

    Raises
    ------
    ValueError
        In one sentence.
    Foreign
        If it names another class.
    """
    n_bytes, lengths = 0, dict[tuple[str, bool, bool], int]()
    for array in _arrays(_tree(archive), trusted, rooms):
        if array not in lengths:
            name, is_sparse, is_scalar = array
            require(name in archive.NameToInfo, f"it must hold an entry of each array, got none of {shortened(name)}")
            lengths[array] = _bytes_of_sparse(archive, name) if is_sparse else _bytes_of_entry(archive, name, is_scalar)
        n_bytes += lengths[array]
        _require_small("it", "bytes of arrays", n_bytes, MOST_BYTES)


def _tree(archive: zipfile.ZipFile) -> Any:
    """Read the tree of types, after counting its bytes and the parts that will take memory."""
    n_bytes = archive.getinfo(TREE).file_size
    _require_small("its tree", "bytes", n_bytes, MOST_BYTES_OF_TREE)
    text = archive.read(TREE)
    # A part is a dictionary, with one or two lists or dictionaries in it, of at most six entries.
    n_parts = max((text.count(b"{") + text.count(b"[")) // 3, text.count(b",") // 6)
    _require_small("its tree", "parts", n_parts, MOST_PARTS)
    require(text.isascii(), "its tree must be ASCII, got other signs")
    tree = json.loads(text)
    require(tree["protocol"] >= OLDEST_PROTOCOL, f"its tree must be of protocol {OLDEST_PROTOCOL} of skops or later")
    return tree


def _arrays(tree: Any, trusted: Set[str], rooms: tuple[str, ...]) -> Iterator[tuple[str, bool, bool]]:
    """Yield the name of each array's entry, whether it is a sparse matrix, and whether it must be a scalar.

    Raises ValueError for what `save` does not write.
    """
    waiting, n_parts = [(tree, 0)], 0
    while waiting:
        node, depth = waiting.pop()
        n_parts += 1
        _require_small("its tree", "parts", n_parts, MOST_PARTS)
        try:
            loader, kind = node["__loader__"], f"{node['__module__']}.{node['__class__']}"
            known = depth <= DEEPEST and "__id__" not in node and _is_known(node, loader, kind, trusted, rooms)
            waiting += [(inner, depth + 1) for inner in _inside(node, loader)] if known else []
        except (AttributeError, KeyError, TypeError):
            known = False
        require(known, f"its tree must have parts that save writes, got {_kind_of(node)}")
        if "file" in node:
            yield node["file"], loader == "SparseMatrixNode", kind != "numpy.ndarray"


def _require_small(name: str, what: str, n: int, most: int) -> None:
    require(n <= most, f"{name} must have at most {most:,} {what}, got {n:,} or more", TooLarge)


def _kind_of(node: Any) -> str:
    known = isinstance(node, dict)
    return shortened(
        [node.get(key) for key in ("__loader__", "__module__", "__class__")] if known else type(node).__name__
    )


def _is_known(node: Mapping[str, Any], loader: str, kind: str, trusted: Set[str], rooms: tuple[str, ...]) -> bool:
    """Return True if skops makes an object of type `kind` of this part by this loader, and may safely do so.

    Raises Foreign for a class that is not trusted.
    """
    content = node.get("content")
    match loader:
        case "ObjectNode":
            if kind not in trusted and not kind.startswith(rooms):
                raise Foreign(shortened(kind).strip("'"))
            # A sparse matrix is a SparseMatrixNode. As an object it would miss the checks of its constructor.
            return not kind.startswith("scipy.") and (content is None or content["__loader__"] == "DictNode")
        case "JsonNode":
            # Numbers and text alone: lists and dictionaries within a text would escape the limits on parts and depth.
            return isinstance(content, str) and content.lstrip()[:1] not in ("[", "{")
        case "DictNode":
            # skops calls the type of each key.
            keys = node["key_types"]["content"]
            types = [f"{key['__module__']}.{key['__class__']}" for key in keys if key["__loader__"] == "TypeNode"]
            plain = kind in ("builtins.dict", "collections.OrderedDict") and isinstance(content, dict)
            return plain and len(types) == len(keys) == len(node["content"]) and all(map(KEYS.fullmatch, types))
        case "ListNode" | "SetNode" | "TupleNode":
            # Named tuples have a class of their own.
            named = loader == "TupleNode" and kind in trusted
            return isinstance(content, list) and (named or kind == SEQUENCES[loader])
        case "NdArrayNode":
            # An array is an entry of the archive; an array of objects is a list in the tree.
            whole = node["type"] == "numpy" and isinstance(node["file"], str) and content is None
            objects = node["type"] == "json" and isinstance(content, list) and "file" not in node
            return bool(OF_NUMPY.fullmatch(kind)) and (whole or objects)
        case "SparseMatrixNode":
            if kind not in trusted:
                raise Foreign(shortened(kind).strip("'"))
            return isinstance(node["file"], str)
        case "SliceNode":
            return all(end is None or isinstance(end, int) for end in content.values())  # type: ignore[union-attr]
        case "DTypeNode" | "FunctionNode" | "TypeNode":
            if not kind.startswith(VALUES[loader]):
                raise Foreign(shortened(kind).strip("'"))
            return "file" not in node
        case "RandomGeneratorNode" | "RandomStateNode":
            return "file" not in node
    return False


def _inside(node: Mapping[str, Any], loader: str) -> list[Any]:
    """Return the parts that a part holds, as skops reads them."""
    content = node.get("content")
    match loader:
        case "ListNode" | "SetNode" | "TupleNode":
            return list(node["content"])
        case "DictNode":
            return [node["key_types"], *node["content"].values()]
        case "NdArrayNode":
            return [] if content is None else [*content, node["shape"]]
        case "RandomGeneratorNode":
            return [node["content"]["bit_generator"], node["content"]["seed_seq"]]
        case "RandomStateNode":
            return [content]
        case "ObjectNode":
            return [] if content is None else [content]
    return []


def _bytes_of_entry(archive: zipfile.ZipFile, name: str, is_scalar: bool) -> int:
    """Return the memory that the array in an entry takes."""
    with archive.open(name) as entry:
        return _bytes_of(entry, archive.getinfo(name).file_size, name, is_scalar)


def _bytes_of_sparse(archive: zipfile.ZipFile, name: str) -> int:
    """Return the memory that reading a sparse matrix takes.

    The entry is an archive itself, whose arrays are compressed. It is in memory as a whole, and so are these arrays.
    """
    with archive.open(name) as entry, opened(entry, compressed=True) as arrays:
        n_bytes = archive.getinfo(name).file_size
        for array in arrays.infolist():
            with arrays.open(array) as file:
                n_bytes += _bytes_of(file, array.file_size, array.filename)
    return n_bytes


def _bytes_of(file: IO[bytes], length: int, name: str, is_scalar: bool = False) -> int:
    """Return the bytes of an array in NumPy's format from its head, without reading its entries.

    Raises ValueError unless the file, of `length` bytes, ends where the array does.
    """
    version = np.lib.format.read_magic(file)
    require(version in ((1, 0), (2, 0)), f"arrays must be of version 1 or 2, got {version}")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    n_bytes = math.prod(shape) * dtype.itemsize
    fits = dtype.itemsize and not dtype.hasobject and file.tell() + n_bytes == length and not (is_scalar and shape)
    require(fits, f"the array {shortened(name)} must be as long as it says, got {dtype} of {shape} in {length:,} bytes")
    return n_bytes

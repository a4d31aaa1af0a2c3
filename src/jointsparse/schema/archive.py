"""Checks of a model file's archive before any object is created from it: sizes of entries, arrays, and types.

A model file is a ZIP archive of the entries that skops writes: `schema.json`, a tree of types, and one entry per array.
Since an attacker may write anything, the directory, the tree and the header of every array are read first, and the
sizes that they state are compared with the bytes that are present.
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

# Limit for the size of a file, and for the arrays that it unpacks to. Python and its packages take 350 MB, reading
# takes twice the size of the file, and computing with the model at most three times: together less than 1 GB.
MOST_BYTES = 200_000_000
MOST_ENTRIES, BYTES_OF_ENTRY = 10_000, 200  # limits: number of entries, and bytes per entry in the directory
MOST_BYTES_OF_TREE, MOST_PARTS, DEEPEST = 2**25, 150_000, 30
OLDEST_PROTOCOL = 2  # older protocols of skops read trees differently
TREE = "schema.json"
# End of the directory: signature, disks, numbers of entries, length and offset of the directory, length of a comment.
END = struct.Struct("<4s4H2LH")
# Record before the end if there are more than 65,535 entries or 4 GiB: signature, disk, offset of a record, disks.
LOCATOR, LOCATOR_MARK = struct.Struct("<4sLQL"), b"PK\6\7"
SEQUENCES = {"ListNode": "builtins.list", "SetNode": "builtins.set", "TupleNode": "builtins.tuple"}
KEYS = re.compile(r"builtins\.(str|int|float|bool)|numpy\.(bool_?|str_|u?int\d+|float\d+)")  # allowed types of keys
# Allowed prefixes of types and functions that occur as values. skops also checks them against a list of its own.
VALUES: Mapping[str, tuple[str, ...]] = {
    "DTypeNode": (),
    "FunctionNode": ("numpy.", "scipy.special."),
    "TypeNode": ("numpy.", "builtins.bool", "builtins.float", "builtins.int", "builtins.str"),
}
OF_NUMPY = re.compile(r"numpy\.\w+")


class Foreign(ValueError):
    """Error for a tree that holds an untrusted type. Its message consists of the name of the type."""


class TooLarge(ValueError):
    """Error for an archive that would take more memory than `load` allows."""


def opened(file: IO[bytes], *, compressed: bool = False) -> zipfile.ZipFile:
    """Open an archive. Raise ValueError if it could fill the memory. compressed: whether entries may be compressed."""
    length = file.seek(0, 2)
    file.seek(max(length - LOCATOR.size - END.size, 0))
    tail = file.read()
    require(len(tail) >= END.size, f"it must be an archive, got {length} bytes")
    mark, *_, directory_bytes, _, comment = END.unpack(tail[-END.size :])
    is_64 = tail.startswith(LOCATOR_MARK)
    small = directory_bytes <= MOST_ENTRIES * BYTES_OF_ENTRY and not comment and not is_64
    require(
        mark == b"PK\5\6" and small,
        f"it must end with a directory of at most {MOST_ENTRIES:,} entries, got another end",
    )
    archive = zipfile.ZipFile(file)
    entries = archive.infolist()
    n_bytes = sum(entry.file_size for entry in entries)
    kinds = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) if compressed else (zipfile.ZIP_STORED,)
    require(
        all(entry.compress_type in kinds for entry in entries)
        and n_bytes <= (MOST_BYTES if compressed else length)  # overlapping entries exceed the length of the file
        and len({entry.filename for entry in entries}) == len(entries) <= MOST_ENTRIES,
        f"it must hold at most {MOST_ENTRIES:,} entries of different names, "
        f"{f'which unpack to at most {MOST_BYTES:,} bytes' if compressed else 'none of them compressed'}, got "
        f"{n_bytes:,} bytes in {len(entries):,}",
    )
    return archive


def require_sound(archive: zipfile.ZipFile, trusted: Set[str], rooms: tuple[str, ...]) -> None:
    """Raise ValueError unless an archive's tree has only known parts and its arrays are as long as their headers state.

    Parameters
    ----------
    archive : ZipFile
        Archive that `opened` has returned.
    trusted : set of str
        Names of the classes whose objects the archive may hold.
    rooms : tuple of str
        Prefixes of names of further trusted classes.

    Raises
    ------
    ValueError
        If a part, an array or a size is invalid.
    Foreign
        If the tree names a class that is not trusted.
    """
    n_bytes, lengths = 0, dict[tuple[str, bool, bool], int]()
    for array in _arrays(_tree(archive), trusted, rooms):
        if array not in lengths:
            name, is_sparse, is_scalar = array
            require(name in archive.NameToInfo, f"it must hold an entry for each array, got none for {shortened(name)}")
            lengths[array] = _bytes_of_sparse(archive, name) if is_sparse else _bytes_of_entry(archive, name, is_scalar)
        n_bytes += lengths[array]
        _require_small("it", "bytes of arrays", n_bytes, MOST_BYTES)


def _tree(archive: zipfile.ZipFile) -> Any:
    """Read the tree of types. Its numbers of bytes and parts are checked before it is parsed."""
    n_bytes = archive.getinfo(TREE).file_size
    _require_small("its tree", "bytes", n_bytes, MOST_BYTES_OF_TREE)
    text = archive.read(TREE)
    # A part is a dictionary of at most six entries, which contains one or two lists or dictionaries.
    n_parts = max((text.count(b"{") + text.count(b"[")) // 3, text.count(b",") // 6)
    _require_small("its tree", "parts", n_parts, MOST_PARTS)
    require(text.isascii(), "its tree must be ASCII text, got other characters")
    tree = json.loads(text)
    require(tree["protocol"] >= OLDEST_PROTOCOL, f"its tree must be of protocol {OLDEST_PROTOCOL} of skops or later")
    return tree


def _arrays(tree: Any, trusted: Set[str], rooms: tuple[str, ...]) -> Iterator[tuple[str, bool, bool]]:
    """Yield, for each array, the name of its entry, whether it is a sparse matrix, and whether it must be a scalar.

    Raises ValueError if the tree has a part that `save` does not write.
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
        require(known, f"its tree must have only parts that save writes, got {_kind_of(node)}")
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
    """Return True if skops, with this loader, creates an object of type `kind` from this part, and if this is safe.

    Raises Foreign for a class that is not trusted.
    """
    content = node.get("content")
    match loader:
        case "ObjectNode":
            if kind not in trusted and not kind.startswith(rooms):
                raise Foreign(shortened(kind).strip("'"))
            # A sparse matrix must be a SparseMatrixNode, because an ObjectNode skips the checks of its constructor.
            return not kind.startswith("scipy.") and (content is None or content["__loader__"] == "DictNode")
        case "JsonNode":
            # No JSON lists or dictionaries, because they would evade the limits on the number of parts and the depth.
            return isinstance(content, str) and content.lstrip()[:1] not in ("[", "{")
        case "DictNode":
            # The types of the keys must be harmless, because skops calls them.
            keys = node["key_types"]["content"]
            types = [f"{key['__module__']}.{key['__class__']}" for key in keys if key["__loader__"] == "TypeNode"]
            plain = kind in ("builtins.dict", "collections.OrderedDict") and isinstance(content, dict)
            return plain and len(types) == len(keys) == len(node["content"]) and all(map(KEYS.fullmatch, types))
        case "ListNode" | "SetNode" | "TupleNode":
            # A named tuple has its own class instead of `tuple`.
            named = loader == "TupleNode" and kind in trusted
            return isinstance(content, list) and (named or kind == SEQUENCES[loader])
        case "NdArrayNode":
            # An array of numbers is an entry of the archive, and an array of objects is a list in the tree.
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
    """Return the parts that this part contains and that skops would read."""
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
    """Return the number of bytes of memory that the array in an entry takes."""
    with archive.open(name) as entry:
        return _bytes_of(entry, archive.getinfo(name).file_size, name, is_scalar)


def _bytes_of_sparse(archive: zipfile.ZipFile, name: str) -> int:
    """Return the number of bytes of memory that reading a sparse matrix takes.

    The entry is itself an archive of compressed arrays. The archive and the unpacked arrays are in memory together.
    """
    with archive.open(name) as entry, opened(entry, compressed=True) as arrays:
        n_bytes = archive.getinfo(name).file_size
        for array in arrays.infolist():
            with arrays.open(array) as file:
                n_bytes += _bytes_of(file, array.file_size, array.filename)
    return n_bytes


def _bytes_of(file: IO[bytes], length: int, name: str, is_scalar: bool = False) -> int:
    """Return the number of bytes of an array in a file of NumPy's format. Only the header is read.

    Raises ValueError unless the file, which has `length` bytes, ends where the array ends.
    """
    version = np.lib.format.read_magic(file)
    require(version in ((1, 0), (2, 0)), f"arrays must be of version 1 or 2, got {version}")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    n_bytes = math.prod(shape) * dtype.itemsize
    fits = dtype.itemsize and not dtype.hasobject and file.tell() + n_bytes == length and not (is_scalar and shape)
    require(fits, f"the array {shortened(name)} must be as long as stated, got {dtype} of {shape} in {length:,} bytes")
    return n_bytes

"""The archive of a model file: what it states is compared with what is there before anything is made of it."""

import io
import json
import struct
import zipfile

import numpy as np
import pytest
from model_files import model_of, write_entries

from jointsparse import files, load
from jointsparse.schema import archive

skops_io = pytest.importorskip("skops.io")


@pytest.fixture
def entries():
    return files._dumped(model_of("classifier"))


@pytest.fixture
def path(tmp_path, monkeypatch, entries):
    monkeypatch.setattr(skops_io, "load", lambda *read, **options: pytest.fail("a model was made"))
    monkeypatch.setattr(skops_io, "loads", lambda *read, **options: pytest.fail("a model was made"))
    return tmp_path / "model.skops"


def refused(path, said):
    with pytest.raises(ValueError, match=said) as refusal:
        load(path)
    assert "\n" not in str(refusal.value) and str(refusal.value).isprintable()


def head(shape, descr="<f8", version=1):
    file = io.BytesIO()
    np.lib.format.write_array_header_2_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    _, _, text = file.getvalue().partition(b"\x02\x00")
    return b"\x93NUMPY" + bytes([version, 0]) + (text[:2] + text[4:] if version == 1 else text)


def sparse_of(content, kind=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as packed:
        packed.writestr("data.npy", content)
    return file.getvalue()


# Arrays


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (head((10**12,)), "must be as long as it says, got float64 of "),
        (head((2**62,), "<U0"), "must be as long as it says, got <U0 of "),
        (head((1,), "|O") + bytes(8), "must be as long as it says, got object"),
        (head((3,)) + bytes(16), "must be as long as it says"),
        (head((2,)) + bytes(24), "must be as long as it says"),
        (head((1,), version=3) + bytes(8), "arrays must be of version 1 or 2, got "),
    ],
)
def test_the_head_of_an_array_states_what_is_there(path, entries, content, said):
    name = next(name for name, entry in entries.items() if entry.startswith(b"\x93NUMPY"))
    write_entries(path, entries | {name: content})
    refused(path, said)


def with_sparse(entries, content):
    tree = json.loads(entries[files.TREE])
    node = next(node for node in nodes(tree) if node.get("type") == "numpy")
    node |= {"__loader__": "SparseMatrixNode", "__module__": "scipy.sparse._csr", "__class__": "csr_matrix"}
    node |= {"type": "scipy", "file": "sparse"}
    return entries | {files.TREE: json.dumps(tree).encode(), "sparse": content}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (sparse_of(head((5 * 10**7,)) + bytes(4 * 10**8)), "which unpack to at most 200,000,000 bytes, got 400,000,"),
        (sparse_of(head((10**12,))), "must be as long as it says"),
        (sparse_of(b"", zipfile.ZIP_LZMA), "which unpack to at most"),
        ((b"PK\1\2" + bytes(42)) * 10**5 + archive.END.pack(b"PK\5\6", 0, 0, 1, 1, 46 * 10**5, 0, 0), "another end"),
    ],
)
def test_a_sparse_matrix_is_looked_at_before_it_is_unpacked(path, entries, content, said):
    write_entries(path, with_sparse(entries, content))
    refused(path, said)


# The tree of types


def nodes(part):
    inside = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    own = [part] if isinstance(part, dict) and "__loader__" in part else []
    return own + [found for one in inside for found in nodes(one)]


def node(loader, kind, **more):
    module, _, name = kind.rpartition(".")
    return {"__loader__": loader, "__module__": module, "__class__": name, **more}


ONE = node("JsonNode", "builtins.int", content="1")
MANY = node("JsonNode", "builtins.int", content="1000000000")
PAIR = node("TupleNode", "builtins.tuple", content=[MANY, MANY])
CALL = node("ConstructorFromReduceNode", "jointsparse.learning.lazy.Eager", content=PAIR)


def deep(n):
    part = ONE
    for _ in range(n):
        part = node("ListNode", "builtins.list", content=[part])
    return part


def laughs():
    """Each list holds the one before twice, which readers follow 2^40 times."""
    part = ONE
    for i in range(40):
        again = node("ListNode", "builtins.list", content=[], __id__=i)
        part = node("ListNode", "builtins.list", content=[part, again], __id__=i + 1)
    return part


def as_value(entries, part):
    """Put a part in the place of the value of `class_weight`."""
    tree = json.loads(entries[files.TREE])
    tree["content"]["content"]["class_weight"] = part
    return entries | {files.TREE: json.dumps(tree).encode()}


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (laughs(), "must have parts that save writes"),
        (deep(100), "must have parts that save writes"),
        (CALL, r"must have parts that save writes, got \['ConstructorFromReduceNode'"),
        (node("CachedNode", "builtins.int", __id__=3), "must have parts that save writes"),
        (node("MethodNode", "builtins.str", content={"obj": ONE, "func": "x"}), "must have parts that save writes"),
        (node("BytesNode", "builtins.bytes", file="x"), "must have parts that save writes"),
        (node("JsonNode", "builtins.int", content="[[1]]"), "must have parts that save writes"),
        (node("ListNode", "builtins.map", content=[ONE]), "must have parts that save writes"),
        (node("NdArrayNode", "jointsparse.learning.lazy.Eager", type="json", content=[ONE]), "parts that save writes"),
        (node("DictNode", "builtins.dict", content={"a": ONE}, key_types=deep(1)), "must have parts that save writes"),
        (  # which hides a part from those who read another key
            node(
                "RandomGeneratorNode", "numpy.random.Generator", content=ONE | {"bit_generator": CALL, "seed_seq": CALL}
            ),
            "must have parts that save writes, got .'ConstructorFromReduceNode'",
        ),
        (node("ObjectNode", "scipy.sparse._csr.csr_matrix", content=None), "must have parts that save writes"),
        (node("ObjectNode", "x.\x1b[2J\u202e"), r"alone, got x.\\x1b\[2J\\u202e"),
        (node("ListNode", "builtins.list", content=[ONE] * 150_000), "must have at most 150,000 parts, got 150,001"),
        ([[]] * 500_000, "must have at most 150,000 parts, got"),
        (node("JsonNode", "builtins.str", content="x" * 2**25), "its tree must have at most 33,554,432 bytes, got"),
    ],
)
def test_the_tree_has_known_parts_alone_and_not_too_many(path, entries, part, said):
    write_entries(path, as_value(entries, part))
    refused(path, said)


def test_an_array_counts_as_often_as_it_is_made(path, entries):
    part = node("NdArrayNode", "numpy.ndarray", type="numpy", file="zeros")
    entries = as_value(entries, node("ListNode", "builtins.list", content=[part] * 100))
    write_entries(path, entries | {"zeros": head((300_000,)) + bytes(2_400_000)})
    refused(path, "must have at most 200,000,000 bytes of arrays, got 20")


# The archive


def large_directory(whole):
    return (b"PK\1\2" + bytes(42)) * 10**5 + archive.END.pack(b"PK\5\6", 0, 0, 1, 1, 46 * 10**5, 0, 0)


def with_64_bits(whole):
    return whole[:-22] + b"PK\6\7" + struct.pack("<LQL", 0, 0, 1) + whole[-22:]


@pytest.mark.parametrize("change", [large_directory, with_64_bits, lambda whole: whole[:-2] + b"\1\0x"])
def test_the_directory_is_small(path, entries, change):
    write_entries(path, entries)
    path.write_bytes(change(path.read_bytes()))
    refused(path, "must end with the directory of at most 10,000 entries, got another end")


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        ({"versions": files._versions() | {"jointsparse": "\x1b[2J"}}, "its versions must be numbers"),
        ({"versions": files._versions() | {"jointsparse": "1" * 10**6}}, "its versions must be numbers"),
        ({"format": "2"}, "its format must be a whole number"),
    ],
)
def test_who_wrote_a_file_is_a_short_text(path, entries, origin, said):
    write_entries(path, entries, **origin)
    refused(path, said)

"""The archive of a model file: all sizes that it states are checked before any object is made."""

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


def assert_rejected(path, message):
    with pytest.raises(ValueError, match=message) as raised:
        load(path)
    assert "\n" not in str(raised.value) and str(raised.value).isprintable()


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
    ("content", "message"),
    [
        (head((10**12,)), "must be as long as stated, got float64 of "),
        (head((2**62,), "<U0"), "must be as long as stated, got <U0 of "),
        (head((1,), "|O") + bytes(8), "must be as long as stated, got object"),
        (head((3,)) + bytes(16), "must be as long as stated"),
        (head((2,)) + bytes(24), "must be as long as stated"),
        (head((1,), version=3) + bytes(8), "arrays must be of version 1 or 2, got "),
    ],
)
def test_the_header_of_an_array_must_agree_with_its_length(path, entries, content, message):
    name = next(name for name, entry in entries.items() if entry.startswith(b"\x93NUMPY"))
    write_entries(path, entries | {name: content})
    assert_rejected(path, message)


def with_sparse(entries, content):
    tree = json.loads(entries[files.TREE])
    node = next(node for node in nodes(tree) if node.get("type") == "numpy")
    node |= {"__loader__": "SparseMatrixNode", "__module__": "scipy.sparse._csr", "__class__": "csr_matrix"}
    node |= {"type": "scipy", "file": "sparse"}
    return entries | {files.TREE: json.dumps(tree).encode(), "sparse": content}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (sparse_of(head((5 * 10**7,)) + bytes(4 * 10**8)), "which unpack to at most 200,000,000 bytes, got 400,000,"),
        (sparse_of(head((10**12,))), "must be as long as stated"),
        (sparse_of(b"", zipfile.ZIP_LZMA), "which unpack to at most"),
        ((b"PK\1\2" + bytes(42)) * 10**5 + archive.END.pack(b"PK\5\6", 0, 0, 1, 1, 46 * 10**5, 0, 0), "another end"),
    ],
)
def test_a_sparse_matrix_is_checked_before_it_is_unpacked(path, entries, content, message):
    write_entries(path, with_sparse(entries, content))
    assert_rejected(path, message)


# The tree of types


def nodes(part):
    inside = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    own = [part] if isinstance(part, dict) and "__loader__" in part else []
    return own + [node for child in inside for node in nodes(child)]


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
    """Return nested lists that contain the previous list twice, so that a reader would visit 2^40 parts."""
    part = ONE
    for i in range(40):
        again = node("ListNode", "builtins.list", content=[], __id__=i)
        part = node("ListNode", "builtins.list", content=[part, again], __id__=i + 1)
    return part


def as_value(entries, part):
    """Replace the value of `class_weight` by a part."""
    tree = json.loads(entries[files.TREE])
    tree["content"]["content"]["class_weight"] = part
    return entries | {files.TREE: json.dumps(tree).encode()}


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (laughs(), "only parts that save writes"),
        (deep(100), "only parts that save writes"),
        (CALL, r"must have only parts that save writes, got \['ConstructorFromReduceNode'"),
        (node("CachedNode", "builtins.int", __id__=3), "only parts that save writes"),
        (node("MethodNode", "builtins.str", content={"obj": ONE, "func": "x"}), "only parts that save writes"),
        (node("BytesNode", "builtins.bytes", file="x"), "only parts that save writes"),
        (node("JsonNode", "builtins.int", content="[[1]]"), "only parts that save writes"),
        (node("ListNode", "builtins.map", content=[ONE]), "only parts that save writes"),
        (node("NdArrayNode", "jointsparse.learning.lazy.Eager", type="json", content=[ONE]), "parts that save writes"),
        (node("DictNode", "builtins.dict", content={"a": ONE}, key_types=deep(1)), "only parts that save writes"),
        (  # a part is hidden under another key
            node(
                "RandomGeneratorNode", "numpy.random.Generator", content=ONE | {"bit_generator": CALL, "seed_seq": CALL}
            ),
            "must have only parts that save writes, got .'ConstructorFromReduceNode'",
        ),
        (node("ObjectNode", "scipy.sparse._csr.csr_matrix", content=None), "only parts that save writes"),
        (node("ObjectNode", "x.\x1b[2J\u202e"), r"must hold only .*, got x.\\x1b\[2J\\u202e"),
        (node("ListNode", "builtins.list", content=[ONE] * 150_000), "must have at most 150,000 parts, got 150,001"),
        ([[]] * 500_000, "must have at most 150,000 parts, got"),
        (node("JsonNode", "builtins.str", content="x" * 2**25), "its tree must have at most 33,554,432 bytes, got"),
    ],
)
def test_the_tree_must_have_only_known_parts_and_not_too_many(path, entries, part, message):
    write_entries(path, as_value(entries, part))
    assert_rejected(path, message)


def test_an_array_that_is_referenced_several_times_counts_several_times(path, entries):
    part = node("NdArrayNode", "numpy.ndarray", type="numpy", file="zeros")
    entries = as_value(entries, node("ListNode", "builtins.list", content=[part] * 100))
    write_entries(path, entries | {"zeros": head((300_000,)) + bytes(2_400_000)})
    assert_rejected(path, "must have at most 200,000,000 bytes of arrays, got 20")


# The archive


def large_directory(whole):
    return (b"PK\1\2" + bytes(42)) * 10**5 + archive.END.pack(b"PK\5\6", 0, 0, 1, 1, 46 * 10**5, 0, 0)


def with_64_bits(whole):
    return whole[:-22] + b"PK\6\7" + struct.pack("<LQL", 0, 0, 1) + whole[-22:]


@pytest.mark.parametrize("change", [large_directory, with_64_bits, lambda whole: whole[:-2] + b"\1\0x"])
def test_the_directory_must_be_small(path, entries, change):
    write_entries(path, entries)
    path.write_bytes(change(path.read_bytes()))
    assert_rejected(path, "must end with a directory of at most 10,000 entries, got another end")


@pytest.mark.parametrize(
    ("origin", "message"),
    [
        ({"versions": files._versions() | {"jointsparse": "\x1b[2J"}}, "its versions must be version numbers"),
        ({"versions": files._versions() | {"jointsparse": "1" * 10**6}}, "its versions must be version numbers"),
        ({"format": "2"}, "its format must be a whole number"),
    ],
)
def test_the_versions_that_wrote_a_file_must_be_short_text(path, entries, origin, message):
    write_entries(path, entries, **origin)
    assert_rejected(path, message)

"""Write damaged and hostile model files, and load, show and use each file as the commands do.

    python trials/models.py --cases 300 --seed 1

The models in `tests/model_files.py`, and a model of a table that is trained here, are changed and saved with correct
digests, as by somebody who knows how `save` works. Every case ends in one of these ways:

- refused: with an error message of one sentence.
- right: the answers are the same as without the change.
- another: the change turns it into a different model, such as a model of other words, so that the right answers are not
  known.
- wrong answer, traceback, not one sentence, control characters (on the terminal), read outside (of the folders that the
  user has named), too much memory (more than 1 GB), slow (more than two minutes).

If a case ends in one of the last ways, it is printed, and the exit status is 1. Seed and number determine a case:
--only N repeats it.
"""

import argparse
import contextlib
import copy
import io
import json
import math
import multiprocessing
import os
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import unicodedata
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from PIL import Image
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from jointsparse import JointSparseClassifier, files, load
from jointsparse.pipeline.app.command_line import main as command
from jointsparse.pipeline.models import annotator, final
from jointsparse.schema import archive

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from model_files import model_of

BASE = Path(__file__).parents[1]
FINE = REFUSED, RIGHT, ANOTHER = ("refused", "right", "another")
BAD = WRONG, TRACEBACK, WORDY, CONTROL, OUTSIDE, MEMORY, SLOW = (
    *("wrong answer", "traceback", "not one sentence", "control characters", "read outside", "memory", "slow"),
)
SECONDS, MEGABYTES = 120, 1000
HOSTILE = "\x1b[2J\x07\x9b31m\u202egnp.\x85\u2028\x7f\n\r\t\u2066x"
# Attributes whose change makes a valid model a different one.
DECIDE = {
    *("card_", "known_scores_", "known_labels_", "known_names_", "columns_", "check_", "calibration_", "classes_"),
    *("_names", "_codes", "norm", "loss", "longest_side", "patch_sizes", "step", "rootsift", "intercept_", "idf_"),
    *("feature_names_in_", "selected_features_", "tree_", "weighting", "normalise", "n_features_in_"),
}
FORK = multiprocessing.get_context("fork")  # forks this process, because imports take seconds


class Case(NamedTuple):
    """A changed model: the original's name, whether its answers must stay the same, and a description of the change."""

    name: str
    same: bool
    what: str


# Files


def packed(entries: dict[str, bytes], **origin: Any) -> bytes:
    """Return the bytes of a model file with these entries and correct digests."""
    known = {"format": files.FORMAT, "versions": files._versions(), "digests": files._digests(entries)}
    return files._packed(entries | {files.ORIGIN: json.dumps(known | origin).encode()})


def of_table() -> Any:
    """Return a model that was trained on a table, in the form in which a run saves it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)).astype(np.float32)
    labels = X[:, :2] + 0.3 * rng.normal(size=(60, 2)) > 0
    fitted = final.calibrated(final.fit(X[:50], labels[:50], ["cat", "=dog"], norm="l1inf", scales={}), X[:50])
    numbers = final.tested(np.asarray(fitted.model.decision_function(X[50:])), labels[50:], n_resamples=20, seed=0)
    table = final.table(fitted, numbers, labels[50:], "l1inf")
    card = annotator.card_of(fitted, table, dataset="drawn", settings={"a": [1]})
    model = annotator.annotator(fitted, names=[f"row {i}" for i in range(50)], columns=list("abcde"), card=card)
    return annotator.with_check(model, X[50:])


class Leaf(NamedTuple):
    """An attribute, item or field in a model: its path from the root, its value, and a function that sets the value."""

    path: tuple[Any, ...]
    value: Any
    put: Callable[[Any], None]


def leaves(part: Any, path: tuple[Any, ...] = (), put: Callable[[Any], None] | None = None) -> Iterator[Leaf]:
    """Yield a leaf for every value that a model contains, including containers."""
    if put:
        yield Leaf(path, part, put)
    if isinstance(part, tuple):

        def put_field(i: int, value: Any) -> None:
            values = [*part[:i], value, *part[i + 1 :]]
            assert put is not None
            put(type(part)(*values) if hasattr(part, "_fields") else tuple(values))

        for i, (name, value) in enumerate(zip(getattr(part, "_fields", range(len(part))), part, strict=True)):
            yield from leaves(value, (*path, name), lambda value, i=i: put_field(i, value))
    elif isinstance(part, list):
        for i, value in list(enumerate(part))[:4]:
            yield from leaves(value, (*path, i), lambda value, i=i: part.__setitem__(i, value))
    elif isinstance(part, dict):
        for key, value in list(part.items()):
            yield from leaves(value, (*path, key), lambda value, key=key: part.__setitem__(key, value))
    elif hasattr(part, "__dict__") and not isinstance(part, type | np.ndarray):
        for key, value in list(vars(part).items()):
            yield from leaves(value, (*path, key), lambda value, key=key: vars(part).__setitem__(key, value))


def one_of(things: Any, rng: np.random.Generator) -> Any:
    return things[int(rng.integers(len(things)))]


def of_array(array: np.ndarray, rng: np.random.Generator) -> Any:
    """Return a copy of an array with a fault: with entries, a type or a shape that the valid array cannot have."""
    flat, at = array.copy().reshape(-1), int(rng.integers(max(array.size, 1)))
    if flat.dtype == object or not flat.size or flat.dtype.kind not in "fiub" or rng.random() < 0.4:
        shapes = (
            array[:-1],
            array[..., :0],
            np.concatenate([array, array]),
            array[np.newaxis],
            array.T[:1],
            array.ravel(),
        )
        kinds = array.astype(object), array if array.dtype.names else array.astype(str), array.tolist()
        others = np.zeros((0, 3)), np.array(3.0), np.array(["\x1b[2J"] * 3), np.array([None, 1], dtype=object)
        return one_of([*shapes, *kinds, *others], rng)
    if flat.dtype.kind == "f":
        flat[at] = one_of([np.nan, np.inf, -np.inf, 1e300, -1e38, -1.0, 2.0**31], rng)
    elif flat.dtype.kind != "b":
        flat[at] = one_of([np.iinfo(flat.dtype).max, np.iinfo(flat.dtype).min, -1, len(flat), 0, 2], rng)
    if rng.random() < 0.3 and flat.dtype.kind == "f":  # within the valid range
        flat[:] = one_of([flat[::-1].copy(), 2 * flat, -flat, 0 * flat], rng)
    kept = flat.reshape(array.shape)
    return one_of([kept] * 3 + [kept.astype(kind) for kind in (np.float16, np.complex64, np.int64, ">f8", bool)], rng)


SCALARS = (
    *(None, True, -1, 0, 2**31 - 1, 2**63 - 1, 10**40, 1e308, math.nan, math.inf, -math.inf, 10**9, 0.5),
    *("", "l3", HOSTILE, "A" * 5_000_000, "../../etc/passwd", "/etc/passwd", "\ud800", "=1+1"),
    *([], {}, (), [[[[[[[[1]]]]]]]], {"a": HOSTILE}, [1, 2], set(), slice(None), np.float64(np.nan), np.int64(-1)),
    *(np.eye(2), np.array([HOSTILE], dtype=object), sparse.csr_matrix(np.eye(2)), np.random.default_rng(0)),
)


def of_any(value: Any, rng: np.random.Generator) -> Any:
    if sparse.issparse(value):
        spoilt = value.copy()
        part = one_of(["indices", "indptr", "data", "_shape"], rng)
        if part == "_shape":
            spoilt._shape = one_of([(5, 2**31 - 1), (10**6, 9), (0, 9), (5, 8)], rng)
        elif getattr(spoilt, part).size:
            array = getattr(spoilt, part)
            array[int(rng.integers(array.size))] = np.nan if part == "data" else one_of([-1, 10**6, 2**31 - 1, 0], rng)
        return spoilt
    if isinstance(value, np.ndarray) and rng.random() < 0.8:
        return of_array(value, rng)
    return copy.deepcopy(one_of(SCALARS, rng))


def changed_value(model: Any, rng: np.random.Generator) -> tuple[bytes, set[str], str]:
    """Change a value somewhere in the model."""
    found = list(leaves(model))
    # Choose every attribute equally often, although some contain many values.
    top = sorted({leaf.path[:3] for leaf in found}, key=str)
    chosen = one_of(top, rng)
    leaf = one_of([leaf for leaf in found if leaf.path[:3] == chosen], rng)
    value = of_any(leaf.value, rng)
    leaf.put(value)
    return (
        packed(files._dumped(model)),
        {*map(str, leaf.path)},
        f"{'.'.join(map(str, leaf.path))} = {str(value)[:80]!r}",
    )


def changed_names(model: Any, rng: np.random.Generator) -> tuple[bytes, set[str], str]:
    """Remove an attribute, add an attribute that hides a method, or swap two attributes."""
    parts = [model, *(part for _, part in getattr(model, "steps", []))]
    part = one_of(parts, rng)
    names = list(vars(part))
    one, other = one_of(names, rng), one_of(names, rng)
    what = one_of(["gone", "new", "swapped"], rng)
    if what == "gone":
        del vars(part)[one]
    elif what == "new":
        one = one_of(
            ["predict", "transform", "decision_function", "__class__", "\x1b[2J", "steps_", "known_names_"], rng
        )
        vars(part)[one] = one_of([1, HOSTILE, "x", ["a.png"]], rng)
    else:
        vars(part)[one], vars(part)[other] = vars(part)[other], vars(part)[one]
    return packed(files._dumped(model)), {one, other}, f"{type(part).__name__}: {what}, {one!r} {other!r}"


def hostile_words(model: Any, rng: np.random.Generator) -> tuple[bytes, set[str], str]:
    """Return a valid model whose words, names or origin move the cursor or are paths of files outside the folder."""
    what = one_of(["words", "names", "card", "columns"], rng)
    if what == "words":
        words = [f"{HOSTILE}{k}<script>" for k in range(2)]
        model[-1].classes_ = model[-1]._names = np.array(words, dtype=object)
        model.card_["words"] = words
        for row, word in zip(model.card_["numbers"], words, strict=False):
            row["word"] = word
    elif what == "names":
        names = (OUTSIDE_FILE, f"../{Path(OUTSIDE_FILE).parent.name}/secret.png", "link.png", HOSTILE, "known.png")
        model.known_names_ = [names[i % len(names)] for i in range(len(model.known_names_))]
    elif what == "card":
        model.card_ |= {HOSTILE: HOSTILE, "dataset": [HOSTILE, {"\u202e": 1}]}
    else:
        model.columns_ = [f"{HOSTILE}{i}" for i in range(len(model.columns_))]
    return packed(files._dumped(model)), DECIDE, f"hostile {what}"


TYPES = (
    *(("builtins", "eval"), ("os", "system"), ("numpy", "load"), ("numpy", "dtype"), ("\x1b[2J", "\u202e")),
    *(("sklearn.ensemble._forest", "RandomForestClassifier"), ("jointsparse.learning.lazy", "Eager")),
    ("scipy.sparse._csr", "csr_matrix"),
)
LOADERS = (
    *("CachedNode", "ConstructorFromReduceNode", "PartialNode", "MethodNode", "BytesNode", "ObjectNode", "Nothing"),
    *("OperatorFuncNode", "MaskedArrayNode", "TreeNode", "DefaultDictNode", "BytearrayNode", "JsonNode"),
)
PARTS = None, 1, "x", [], {}, [1], "NaN", "[" * 5000, HOSTILE


def changed_tree(model: Any, rng: np.random.Generator) -> tuple[bytes, set[str], str]:
    """Change a part of the tree in the file that describes the types of all objects."""
    entries = files._dumped(model)
    tree = json.loads(entries[files.TREE])
    nodes, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            nodes += [node] if "__loader__" in node else []
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    node = one_of(nodes, rng)
    match int(rng.integers(6)):
        case 0:
            node["__module__"], node["__class__"] = one_of(TYPES, rng)
        case 1:
            node["__loader__"] = one_of(LOADERS, rng)
        case 2:
            node.pop(one_of(list(node), rng))
        case 3:
            node[one_of(list(node), rng)] = copy.deepcopy(one_of(PARTS, rng))
        case 4:
            node["__id__"] = 1
        case 5:
            node.clear()
            module, name = one_of(TYPES, rng)
            large = {"__class__": "int", "__module__": "builtins", "__loader__": "JsonNode", "content": "1000000000"}
            inner = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": [large] * 2}
            node |= {"__class__": name, "__module__": module, "__loader__": "ConstructorFromReduceNode"}
            node["content"] = inner
    entries[files.TREE] = json.dumps(tree).encode()
    return packed(entries), set(), f"tree: {str({key: node.get(key) for key in ('__loader__', '__class__')})[:100]!r}"


def bomb_tree(model: Any, rng: np.random.Generator) -> tuple[bytes, set[str], str]:
    """Make the tree of types so large, deep or tangled that loading it would exhaust the memory or take too long."""
    entries = files._dumped(model)
    leaf = {"__class__": "int", "__module__": "builtins", "__loader__": "JsonNode", "content": "1"}
    as_list = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    what = one_of(["deep", "laughs", "wide", "text", "many texts", "again"], rng)
    node: Any = leaf
    if what == "deep":
        for _ in range(int(rng.integers(200, 3000))):
            node = as_list | {"content": [node]}
    elif what == "laughs":
        for i in range(40):
            node = as_list | {"__id__": i + 1, "content": [node, node and as_list | {"__id__": i, "content": []}]}
    elif what == "wide":
        node = as_list | {"content": [leaf] * 10**6}
    elif what == "text":
        node = leaf | {"content": json.dumps("\u202e" * 5 * 10**6)}
    elif what == "many texts":
        node = as_list | {"content": [leaf | {"content": json.dumps("x" * 9999)}] * 3000}
    else:
        name = max((name for name in entries if name != files.TREE), key=lambda name: len(entries[name]))
        entries[name] = npy((10**6, 10), "<f8") + bytes(8 * 10**7)
        array = {
            "__class__": "ndarray",
            "__module__": "numpy",
            "__loader__": "NdArrayNode",
            "type": "numpy",
            "file": name,
        }
        node = as_list | {"content": [array] * 100}
    try:
        tree = json.loads(entries[files.TREE])
        name = {"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"}
        if "memory" not in tree["content"]["content"]:
            tree["content"]["key_types"]["content"].append(name)
        tree["content"]["content"]["memory"] = node
        entries[files.TREE] = json.dumps(tree).encode()
    except RecursionError:
        entries[files.TREE] = b'{"protocol": 2, "content": ' + b"[" * 10**6 + b"]" * 10**6 + b"}"
    return packed(entries), set(), f"bomb: {what}"


def large(model: Any, rng: np.random.Generator) -> tuple[bytes, set[str], str]:
    """Return a valid model close to the largest allowed size, with a huge basis, tree, known pictures or weights."""
    sizes = {"basis": (11_000, 4_200, 9, 50), "tree": (290_000, 10, 9, 50), "known": (90, 10, 400, 90_000)}
    what, (n_words, rank, n_tasks, n_known) = one_of([*(sizes | {"weights": (90, 1_000, 40_000, 9)}).items()], rng)
    words, basis, classifier = (part for _, part in model.steps[1:])
    ones = np.ones(n_words + 1, np.int32)
    centres = rng.integers(0, 256, (n_words + 1, 128)).astype(np.float32)
    first = np.arange(n_words + 1) == 0
    words.tree_ = type(words.tree_)(centres, ones * first, n_words * ones * first, ones * ~first)
    words.weighting, words.idf_ = "sqrt", None
    components = rng.random((n_words, rank), np.float32)
    basis.basis_ = type(basis.basis_)(np.zeros(n_words, np.float32), components, 1.0, np.ones(rank, np.float32))
    basis.factors_, basis.columns_, basis.n_features_in_ = np.ones(rank), np.arange(rank), n_words
    classifier.coef_ = rng.normal(size=(n_tasks, rank)).astype(np.float32)
    classifier.intercept_, classifier.calibration_ = np.zeros(n_tasks, np.float32), np.ones((n_tasks, 2))
    classifier.n_features_in_, classifier.selected_features_ = rank, np.arange(rank)
    names = [f"w{k}" for k in range(n_tasks)]
    classifier._n_columns, classifier.classes_ = n_tasks, np.array(names, dtype=object)
    classifier._names = classifier.classes_
    model.card_ |= {"words": names, "known_images": n_known}
    model.known_names_ = [f"{i}.png" for i in range(n_known)]
    model.known_scores_ = rng.normal(size=(n_known, n_tasks)).astype(np.float32)
    model.known_labels_ = model.known_scores_ > np.median(model.known_scores_, axis=0)
    X = sparse.csr_matrix(sparse.random_array((5, n_words), density=0.01, dtype=np.float64, rng=rng))
    model.check_ = {"first_step": 2, "X": X, "scores": np.asarray(model[2:].decision_function(X))}
    return packed(files._dumped(model)), DECIDE, f"large: {what}"


def npy(shape: tuple[int, ...], descr: str) -> bytes:
    """Return the header of a file in NumPy's npy format."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


def changed_array(model: Any, rng: np.random.Generator) -> tuple[bytes, set[str], str]:
    """Change the shape or type in the header of an array's file, or the bytes of the array."""
    entries = files._dumped(model)
    name = one_of([name for name in entries if name != files.TREE], rng)
    entry = entries[name]
    shape = one_of([(10**12,), (2**40, 0), (2**62,), (-1, -5), (10**5, 10**5), (1,) * 40, (3,)], rng)
    heads = [npy(shape, one_of(["<f8", "|O", "<U0", "|V1000000000", "<M8[s]", ">f4", "<c16"], rng)) for _ in range(3)]
    content = one_of(
        [
            *(head + entry[128:] for head in heads),
            *(entry[: len(entry) // 2], b"", entry + bytes(8), bytes(len(entry)), b"\x93NUMPY\x03\x00" + b"\xff" * 200),
            *(b"\x93NUMPY\x02\x00" + b"\xff\xff\xff\x7f" + b" " * 10**6, b"PK\x05\x06" + bytes(18), bomb_npz()),
            entry[:-8] + struct.pack("<d", one_of([math.nan, 1e300, math.inf], rng)),
        ],
        rng,
    )
    entries[name] = content
    return packed(entries), {"check_"}, f"array of {len(entry)} bytes: {content[:60]!r}"


def bomb_npz() -> bytes:
    """Return a sparse matrix of zeros whose file is compressed by a factor of a thousand."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as found:
        for name in ("data", "indices", "indptr", "shape", "format"):
            found.writestr(f"{name}.npy", npy((3 * 10**7,), "<f8") + bytes(24 * 10**7))
    return file.getvalue()


def changed_archive(model: Any, rng: np.random.Generator) -> tuple[bytes, set[str], str]:
    """Damage the archive itself, or write it in another way than `save` does."""
    entries = files._dumped(model)
    whole = packed(entries)
    match int(rng.integers(9)):
        case 0:
            return whole[: int(rng.integers(len(whole)))], set(), "cut off"
        case 1:
            at = int(rng.integers(len(whole)))
            return whole[:at] + bytes([whole[at] ^ int(rng.integers(1, 256))]) + whole[at + 1 :], set(), f"byte {at}"
        case 2:
            version = one_of([HOSTILE, "9" * 10**6, None, {"a": 1}], rng)
            versions = files._versions() | {"jointsparse": version}
            return packed(entries, versions=versions), set(), f"version {str(version)[:20]!r}"
        case 3:
            return packed(entries, format=one_of([2, 0, -1, "x", None, math.nan, 1e400, [1]], rng)), set(), "format"
        case 4:
            file = io.BytesIO()
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as found:
                for name, entry in (entries | {files.ORIGIN: b"{}", "zeros": bytes(10**8)}).items():
                    found.writestr(name, entry)
            return file.getvalue(), set(), "compressed"
        case 5:
            directory = b"PK\x01\x02" + bytes(42)
            n = one_of([10**4, 10**6], rng)
            end = archive.END.pack(b"PK\5\6", 0, 0, 5, 5, len(directory) * n, 0, 0)
            return directory * n + end, set(), f"a directory of {n:,}"
        case 6:
            return whole + b"x" * int(rng.integers(1, 99)), set(), "more behind it"
        case 7:
            return packed(entries | {f"{i}": b"" for i in range(int(rng.integers(11_000)))}), set(), "more entries"
    return bytes(rng.integers(0, 256, 10_000, dtype=np.uint8)), set(), "noise"


KINDS = {
    "a value": changed_value,
    "a value again": changed_value,
    "names": changed_names,
    "hostile words": hostile_words,
    "tree": changed_tree,
    "a large tree": bomb_tree,
    "an array": changed_array,
    "the archive": changed_archive,
    "large": large,
}
LARGE_EVERY = 40  # every 40th case, because large models take long


def kind_of(number: int) -> str:
    return "large" if number % LARGE_EVERY == LARGE_EVERY - 1 else list(KINDS)[number % (len(KINDS) - 1)]


def written(number: int, seed: int, path: Path) -> Case:
    """Draw a case, and write its model file."""
    rng = np.random.default_rng([seed, number])
    kind = kind_of(number)
    kept = list(MODELS)[: {"hostile words": 2, "large": 1}.get(kind, len(MODELS))]
    name = kept[(number // len(KINDS)) % len(kept)]
    while True:  # some changes cannot be saved
        with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
            content, touched, what = KINDS[kind](copy.deepcopy(MODELS[name]), rng)
            path.write_bytes(content)
            return Case(name, not touched & DECIDE, what)


# Judging


def is_control(sign: str) -> bool:
    """Return True if a terminal would do something other than draw the character."""
    kind = unicodedata.category(sign)
    return kind in ("Cc", "Cs", "Zl", "Zp") or (kind == "Cf" and sign not in "\u200c\u200d")


def run(arguments: list[str], place: Path) -> tuple[Any, str, str]:
    """Run a `jointsparse` command. Return its exit status or traceback, and its output on stdout and on stderr."""
    said = [place / "stdout", place / "stderr"]
    kept = [os.dup(stream) for stream in (1, 2)]
    opened = [os.open(file, os.O_CREAT | os.O_TRUNC | os.O_WRONLY) for file in said]
    sys.stdout.flush(), sys.stderr.flush()
    for to, stream in zip(opened, (1, 2), strict=True):
        os.dup2(to, stream)
    try:
        status: Any = command(arguments)
    except BaseException:
        status = traceback.format_exc()
    finally:
        sys.stdout.flush(), sys.stderr.flush()
        for to, stream in zip(kept, (1, 2), strict=True):
            os.dup2(to, stream)
    return status, *(file.read_bytes().decode("utf-8", "replace") for file in said)


def judged(case: Case, place: Path, expected: pd.DataFrame | None) -> tuple[str, str, float]:
    """Return how a case ends, why, and the megabytes that it used."""
    return *_judged(case, place, expected), memory()


def _judged(case: Case, place: Path, expected: pd.DataFrame | None) -> tuple[str, str]:
    model, allowed = place / "model.jointsparse", (str(place), str(PICTURES), str(KNOWN), str(ROWS), *READ)
    of_pictures = case.name == "pictures"
    read = set[str]()

    def note(event: str, values: tuple[Any, ...]) -> None:
        if event in ("open", "os.listdir", "os.scandir"):
            read.add(str(values[0]))

    sys.addaudithook(note)
    page = ["--html", str(place / "page"), "--known", str(KNOWN)] if of_pictures else []
    source = str(PICTURES if of_pictures else ROWS)
    if case.name in SAMPLES:
        return used(model, case)
    commands = [["show", str(model)], ["annotate", str(model), source, *page]]
    commands.append(["annotate", str(model), source, "--csv", str(place / "table.csv")])
    ends = []
    for arguments in commands:
        status, out, err = run(arguments, place)
        lines = [line for line in err.split("\n")[:-1] if not line.startswith("warning: ")]
        if not isinstance(status, int):
            return TRACEBACK, status
        if any(map(is_control, (out + err).replace("\n", ""))):
            return CONTROL, repr((out + err)[:500])
        pages = [page.read_text() for page in place.rglob("*.html")]
        if any("\u202a" <= sign <= "\u202e" or "\u2066" <= sign <= "\u2069" for page in pages for sign in page):
            return CONTROL, "in the page"
        one = len(lines) == 1 and lines[0].startswith("error: ") and len(err) < 2000
        if status == 2 and not (one and not out):
            return WORDY, f"{out[:200]} {err[:1000]}"
        if status != 2 and any(not line.startswith(("left out: ", "not shown: ")) for line in lines):
            return WORDY, err[:1000]
        ends.append(status)
    named = {name for name in read if os.path.isabs(name)} - {tempfile.gettempdir()}  # unnamed temporary files
    outside = [name for name in named if not os.path.realpath(name).startswith(allowed)]
    if outside:
        return OUTSIDE, str(outside)
    if memory() > MEGABYTES:
        return MEMORY, f"{memory():.0f} MB"
    if ends[1:] == [2, 2]:
        return REFUSED, err.strip()
    if not case.same:
        return ANOTHER, ""
    assert expected is not None
    table = pd.read_csv(place / "table.csv")
    same = table.drop(columns="probability").equals(expected.drop(columns="probability"))
    same &= bool(np.allclose(table["probability"], expected["probability"], atol=1e-5))
    return (RIGHT, "") if same else (WRONG, "another table")


def alone(work: Callable[..., Any], *arguments: Any) -> tuple[Any, int | None]:
    """Run a function in a new process. Return its result and exit status, both of which are None after a kill."""
    ours, theirs = FORK.Pipe(duplex=False)
    child = FORK.Process(target=lambda: theirs.send(work(*arguments)))
    child.start()
    theirs.close()
    found: Any = None
    with contextlib.suppress(EOFError):
        found = ours.recv() if ours.poll(SECONDS) else child.kill()
    child.join()
    return found, None if child.exitcode == -signal.SIGKILL else child.exitcode


def run_case(number: int, seed: int, expected: dict[str, pd.DataFrame]) -> tuple[str, str, str, float]:
    """Make and judge a case. Return how the case ends, why, what was changed, and how many megabytes it used."""
    with tempfile.TemporaryDirectory(prefix="models-") as folder:
        place = Path(folder).resolve()
        # In a separate process, because the model may damage the memory of the process that makes it.
        case, status = alone(written, number, seed, place / "model.jointsparse")
        if case is None:
            return TRACEBACK, f"it was not made, {status}", "", 0.0
        found, status = alone(judged, case, place, expected.get(case.name))
        end = (
            (TRACEBACK, f"the process ended with {status}") if status is not None else (SLOW, f"more than {SECONDS} s")
        )
        end, why, used = found or (*end, 0.0)
    return end, why, f"{case.name}: {case.what}", used


def used(path: Path, case: Case) -> tuple[str, str]:
    """Load and use a model that does not come from a run. Return how the case ends, and why."""
    try:
        with warnings.catch_warnings(action="ignore"):
            model = load(path)
    except ValueError as error:
        said = str(error)
        return (WORDY, said) if "\n" in said or any(map(is_control, said)) else (REFUSED, said)
    with warnings.catch_warnings(action="ignore"):
        try:
            got = decided(model, case.name)
        except Exception as error:  # scikit-learn raises its own errors
            fine = case.name == "scaled" and isinstance(error, ValueError)
            return (REFUSED, str(error)) if fine else (TRACEBACK, traceback.format_exc())
    expected = decided(MODELS[case.name], case.name)
    if got.shape == expected.shape and np.allclose(got, expected, atol=1e-6):
        return RIGHT, ""
    return (WRONG, "other decisions") if case.same else (ANOTHER, "")


def decided(model: Any, name: str) -> np.ndarray:
    return np.asarray(getattr(model, "decision_function", model.predict)(SAMPLES[name]))


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="run only the case with this number")
    given = parser.parse_args()
    expected = {}
    with tempfile.TemporaryDirectory(prefix="models-") as folder:
        for name, model in list(MODELS.items())[:2]:
            place = Path(folder).resolve()
            (place / "model.jointsparse").write_bytes(packed(files._dumped(model)))
            source = PICTURES if name == "pictures" else ROWS
            table = place / "table.csv"
            arguments = ["annotate", str(place / "model.jointsparse"), str(source), "--csv", str(table)]
            if name == "pictures":  # compiles everything that the cases need
                command([*arguments[:3], "--html", str(place / "page"), "--known", str(KNOWN)])
            command(arguments)
            expected[name] = pd.read_csv(table)
    numbers = range(given.first, given.first + given.cases) if given.only is None else [given.only]
    counts, most, begun = pd.DataFrame(0, index=list(KINDS), columns=[*FINE, *BAD]), 0.0, time.monotonic()
    for number in numbers:
        end, why, what, used = run_case(number, given.seed, expected)
        counts.loc[kind_of(number), end] += 1
        most = max(most, used)
        if end in BAD or given.only is not None:
            print(f"seed {given.seed}, case {number}, {end}: {what}: {why}", flush=True)
    print(counts.loc[:, counts.any()].to_string())
    print(f"{counts.to_numpy().sum()} files, at most {most:.0f} MB, {time.monotonic() - begun:.0f} s")
    return int(counts[list(BAD)].to_numpy().any())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="models-") as above:
        root = Path(above).resolve()
        PICTURES, KNOWN, ROWS = root / "pictures", root / "known", root / "rows.csv"
        OUTSIDE_FILE = str(root / "elsewhere" / "secret.png")
        rng = np.random.default_rng(2)
        for folder, names in ((PICTURES, "012"), (KNOWN, ["known"]), (root / "elsewhere", ["secret"])):
            folder.mkdir()
            for name in names:
                Image.fromarray(rng.integers(0, 256, (16, 16), dtype=np.uint8)).save(folder / f"{name}.png")
        (KNOWN / "link.png").symlink_to(OUTSIDE_FILE)
        pd.DataFrame(rng.normal(size=(3, 5)), columns=list("abcde")).to_csv(ROWS, index=False)
        system = map(os.path.realpath, ("/proc", "/sys", "/dev", "/usr", "/lib", "/etc"))
        READ = (sys.prefix, sys.base_prefix, str(BASE), *system)
        with warnings.catch_warnings(action="ignore"):
            MODELS = {"pictures": model_of("annotator"), "table": of_table()}
            others = ("classifier", "online-sparse", "online-l1inf", "regressor-search", "dense-sift")
            MODELS |= {name: model_of(name) for name in others}
            X = rng.normal(size=(16, 3)).round(2)
            scaled = make_pipeline(StandardScaler(), PCA(2), JointSparseClassifier(radius=1.0))
            MODELS["scaled"] = scaled.fit(X, X[:, 0] > 0)
            SAMPLES = dict.fromkeys((*others[:-1], "scaled"), X)
            SAMPLES["dense-sift"] = rng.integers(0, 256, (8, 24, 24), dtype=np.uint8)
        sys.exit(main())

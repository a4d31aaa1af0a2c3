"""Mutated tables, settings and pictures through the reading stage, judged by readers of our own.

    python tests/fuzz.py --cases 2000 --seed 1

Every case runs in a process of its own with a limit on seconds and memory, and ends as one of:
right: accepted, and the second reader reads the same; refused: with one clear line, and the second reader objects too;
unjudged: accepted, of the right size, but the second reader does not know the pixels; strict: refused, although the
second reader does not object; traceback; hang; wrong: accepted, but the second reader objects or reads something else.
The last three must be 0, or the status is 1. Seed and number make a case: --only N repeats one and says more.
"""

import argparse
import json
import os
import re
import resource
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
import yaml
from PIL import Image

BASE = Path(__file__).parents[1]
sys.path[:0] = [str(BASE / "workflow")]

from configuration.check import check  # noqa: E402
from configuration.file import ConfigError, check_file  # noqa: E402
from configuration.studies import merged  # noqa: E402

from jointsparse.datasets import folder, photos, scenes  # noqa: E402
from jointsparse.papers.catalogue import FIGURES  # noqa: E402
from jointsparse.papers.claims import CLAIMS  # noqa: E402

SECONDS, BYTES = 20, 3 * 2**30  # of a case, the latter besides what the process has
SMALLEST, LONGEST = 16, 320
SCHEMA = BASE / "workflow" / "config.schema.yaml"


class Bad(Exception):
    """The second reader objects."""


class Unknown(Exception):
    """The second reader does not know."""


def judged(read: Callable[[], Any], expect: Callable[[], Any], compare: Callable[[Any, Any], None]) -> tuple[str, str]:
    """How a case ends, and why. read: the code under test. expect: the second reader. compare: raises Bad, Unknown."""
    objection, refusal, got, expected = "", "", None, None
    try:
        got = read()
    except (ValueError, ConfigError) as error:
        refusal = str(error)
        if type(error) not in (ValueError, ConfigError) or not 0 < len(refusal.split("\n", 1)[0]) < 1000:
            return "traceback", traceback.format_exc()
        if "\n" in refusal:
            return "traceback", f"more than a line: {refusal!r}"
    print("read", flush=True)  # what takes long from here on is not the code under test
    try:
        expected = expect()
    except Bad as error:
        objection = str(error) or "objects"
    if refusal:
        unsure = isinstance(expected, Unknown)
        return ("refused", f"{refusal} | {objection or expected}") if objection or unsure else ("strict", refusal)
    if objection:
        return "wrong", objection
    try:
        compare(got, expected)
    except Bad as error:
        return "wrong", str(error)
    except Unknown as error:
        return "unjudged", str(error)
    return "right", ""


def mutated(data: bytes, rng: np.random.Generator, pieces: list[bytes], header: int = 64, most: int = 4) -> bytes:
    """One to `most` small changes; half of them near the beginning, where a file says what it is."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, most + 1)):
        end = len(changed) if rng.random() < 0.5 else min(header, len(changed))
        at, some = int(rng.integers(end + 1)), int(rng.integers(1, 9))
        match rng.integers(8):
            case 0:
                changed[at : at + 1] = rng.bytes(1)
            case 1:
                changed[at:at] = pieces[rng.integers(len(pieces))]
            case 2:
                del changed[at : at + some]
            case 3:
                changed[at : at + 1] = bytes(byte ^ (1 << rng.integers(8)) for byte in changed[at : at + 1])
            case 4:
                changed[at:at] = changed[at : at + 10 * some]
            case 5:
                number = int(rng.choice([0, 1, 255, 20_000, 65_535, 2**31 - 1, 2**32 - 1]))
                changed[at : at + 4] = struct.pack("<I" if rng.random() < 0.5 else ">I", number)
            case 6:
                changed[at : at + 4] = pieces[rng.integers(len(pieces))]
            case 7 if rng.random() < 0.4:
                del changed[int(rng.integers(len(changed) + 1)) :]
    return bytes(changed)


# Tables

GOOD = [f"{i:03}.png" for i in range(5)]  # the pictures of the album that all tables speak of
SPLIT = dict(zip(GOOD, ("train", "train", "validation", "test", "unlabelled"), strict=True))
CAPTIONS = "image,caption\n" + "".join(
    f'{name},A dog number {i}.\n{name},"A cat, or ""kitten"", é\nin two lines."\n' for i, name in enumerate(GOOD)
)
SPLITS = "image,split\n" + "".join(f"{name},{split}\n" for name, split in SPLIT.items())
TEXTS = b"""\
" "" , ; ' \\ = \0 \xef\xbb\xbf \xff \xe9 \xed\xa0\x80 e\xcc\x81 \xe2\x80\xa8 \x1c \xc2\x85 \xc2\xa0 =cmd|'/C'!A1 \
../000.png /etc/passwd ./000.png 000.png train $x^2$ <script>""".split(b" ")
TEXTS += [b"\n", b"\r", b"\r\n", b"\t", b" ", b"003.png,test\n", b"a" * 140_000]


def mutated_table(text: str, rng: np.random.Generator) -> bytes:
    lines = text.splitlines(keepends=True)
    for _ in range(rng.integers(2)):
        a, b = rng.integers(len(lines), size=2)
        match rng.integers(4):
            case 0:
                lines[a], lines[b] = lines[b], lines[a]
            case 1:
                lines.insert(a, lines[b])
            case 2:
                lines[a] = ",".join(reversed(lines[a].split(",")))
            case 3:
                lines[a] = lines[a].replace(",", ', "').replace("\n", '"\n')
    encoding = rng.choice(["utf-8"] * 7 + ["utf-8-sig", "utf-16", "latin-1"])
    data = "".join(lines).encode(encoding, "replace")
    return data if rng.random() < 0.15 else mutated(data, rng, TEXTS, most=2)


def second_csv(data: bytes) -> list[list[str]]:
    """Rows of a UTF-8 table, read letter by letter."""
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise Bad("not UTF-8") from None
    rows: list[list[str]] = []
    row: list[str] = []
    field, state = "", "start"
    for letter in text + "\n":
        if state == "quoted":
            field, state = (field, "quote") if letter == '"' else (field + letter, "quoted")
        elif letter == '"' and state in ("start", "quote"):
            field, state = (field + '"', "quoted") if state == "quote" else (field, "quoted")
        elif letter in ",\r\n":
            if letter == "," or row or state != "start":
                row.append(field)
            if letter != ",":
                rows.append(row)
                row = []
            field, state = "", "start"
        elif state == "quote":
            raise Bad("text after a closing quote")
        else:
            field, state = field + letter, "field"
    if state == "quoted":
        raise Bad("a quote is not closed")
    return rows


def second_table(data: bytes, wanted: list[str]) -> list[tuple[str, ...]]:
    header, *rows = second_csv(data)
    rows = [row for row in rows if row]
    if not set(wanted) <= set(header) or len(set(header)) < len(header):
        raise Bad("header")
    if any(len(row) != len(header) for row in rows):
        raise Bad("number of fields")
    if any("\0" in field for row in rows for field in row):
        raise Bad("NUL")
    if any(len(field) > 131_072 for row in [header, *rows] for field in row):
        raise Bad("a field too long")
    return [tuple(row[header.index(name)] for name in wanted) for row in rows]


def second_album(captions: bytes, splits: bytes) -> tuple[dict[str, str], list[tuple[str, ...]], set[str]]:
    """The split of each image that is used ("drawn": training or validation), its captions, and what is left out."""
    rows = second_table(captions, ["image", "caption"])
    rows = [row for row in rows if row[1].strip()]
    pairs = dict.fromkeys(second_table(splits, ["image", "split"]))
    of = {name: split for name, split in pairs}
    if len(of) < len(pairs) or not set(of.values()) <= set(SPLIT.values()):
        raise Bad("two splits for one image, or an unknown one")
    there = {name: split for name, split in of.items() if name in GOOD}
    if "validation" not in there.values():
        there = {name: "drawn" if split == "train" else split for name, split in there.items()}
    captioned = {name for name, _ in rows}
    used = {name: there[name] for name in GOOD if name in there and (name in captioned or there[name] == "unlabelled")}
    if not {"train", "drawn"} & set(used.values()):
        raise Bad("no training image")
    return used, [row for row in rows if row[0] in used], (set(GOOD) | captioned | set(of)) - set(used)


def compare_albums(got: folder.Photographs, expected: Any) -> None:
    used, rows, left_out = expected
    if got.images["image"].tolist() != list(used):
        raise Bad(f"images {got.images['image'].tolist()}, expected {list(used)}")
    for name, split in zip(got.images["image"], got.images["split"], strict=True):
        if split != used[name] and not (used[name] == "drawn" and split in ("train", "validation")):
            raise Bad(f"{name} is {split}, expected {used[name]}")
    if got.captions.to_records(index=False).tolist() != sorted(rows, key=lambda row: row[0]):
        raise Bad("other captions")
    if set(got.left_out["item"]) != left_out or not got.left_out["reason"].all():
        raise Bad(f"left out {sorted(got.left_out['item'])[:9]}, expected {sorted(left_out)[:9]}")


def run_table(which: str) -> Callable[[Path, np.random.Generator], tuple[str, str]]:
    def run(folder: Path, rng: np.random.Generator) -> tuple[str, str]:
        captions = mutated_table(CAPTIONS, rng) if which == "captions.csv" else CAPTIONS.encode()
        splits = mutated_table(SPLITS, rng) if which == "splits.csv" else SPLITS.encode()
        (folder / "captions.csv").write_bytes(captions)
        (folder / "splits.csv").write_bytes(splits)
        return judged(
            lambda: photos.read(folder, smallest_side=SMALLEST, longest_side=LONGEST),
            lambda: second_album(captions, splits),
            compare_albums,
        )

    return run


# Settings


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise Bad(what)


def text(value: Any) -> None:
    _require(isinstance(value, str), "text")


def name(value: Any) -> None:
    _require(isinstance(value, str) and value != "", "a name")


def truth(value: Any) -> None:
    _require(value is True or value is False, "true or false")


def whole(low: int) -> Callable[[Any], None]:
    return lambda value: _require(type(value) is int and low <= value < 2**63, f"whole, at least {low}")


def real(low: float, high: float = np.inf, *, ends: str = "") -> Callable[[Any], None]:
    """ends: which of "[" and "]" belong to the range."""

    def check(value: Any) -> None:
        _require(type(value) in (int, float) and abs(value) < 2**63, "a number")
        _require(low < value < high or (value == low and "[" in ends) or (value == high and "]" in ends), "range")

    return check


def of(*known: Any) -> Callable[[Any], None]:
    return lambda value: _require(any(value == one and type(value) is type(one) for one in known), f"one of {known}")


def maybe(shape: Callable[[Any], None]) -> Callable[[Any], None]:
    return lambda value: None if value is None else shape(value)


def rows_of(shape: Callable[[Any], None], least: int = 1, *, unique: bool = True) -> Callable[[Any], None]:
    def check(value: Any) -> None:
        _require(isinstance(value, list) and len(value) >= least, "a list")
        for one in value:
            shape(one)
        _require(not unique or len(set(value)) == len(value), "repetitions")

    return check


def keyed(required: dict[str, Any], optional: dict[str, Any] | None = None) -> Callable[[Any], None]:
    every = required | (optional or {})

    def check(value: Any) -> None:
        _require(isinstance(value, dict), "a block")
        _require(set(required) <= set(value) <= set(every), f"keys {sorted(map(str, value))}")
        for key, inside in value.items():
            every[key](inside)

    return check


def named(shape: Callable[[Any], None]) -> Callable[[Any], None]:
    def check(value: Any) -> None:
        _require(isinstance(value, dict) and len(value) > 0, "a block with an entry")
        for key, inside in value.items():
            _require(isinstance(key, str) and re.fullmatch("[A-Za-z0-9_-]+", key) is not None, "a name")
            shape(inside)

    return check


PARTS = ("train", "validation", "test", "unlabelled")
GRID, RADII, NUMBERS = rows_of(real(0)), rows_of(real(0, ends="[")), rows_of(whole(1), 2)
FITTED = rows_of(of("train", "validation", "unlabelled"))
LISTS = {"figures": rows_of(of(*FIGURES), 0), "claims": rows_of(of(*CLAIMS), 0)}
OPTIONS = keyed(
    {"root": name},
    {
        "captions": name,
        "split_names": keyed({}, dict.fromkeys(PARTS, text)),
        "fractions": keyed({}, dict.fromkeys(PARTS, real(0, 1, ends="[]"))),
        "validation_fraction": real(0, 1),
        "seed": whole(0),
    },
)
VOCABULARY = keyed(
    {
        "branching": whole(2),
        "depth": whole(1),
        "sample_size": whole(1),
        "fitted_on": FITTED,
        "weighting": of("count", "sqrt", "tf-idf"),
        "normalise": truth,
    }
)


def rank(value: Any) -> None:
    if value != "full":
        whole(1)(value)


def methods(value: Any) -> None:
    _require(isinstance(value, dict) and len(value) > 0, "a block with an entry")
    for method, block in value.items():
        if method == "svm-l2":
            keyed({"C": GRID}, {"max_iter": whole(1)})(block)
        else:
            loss, _, norm = method.partition("-")
            _require(loss in ("hinge", "logistic", "squared") and norm in ("l1", "l12", "l1inf", "l2"), "a method")
            keyed({"eta0": GRID, "radius": RADII})(block)


STUDIES = {
    "words": keyed(
        {
            "kind": of("words"),
            "runs": whole(1),
            "set_aside": keyed({}, dict.fromkeys(PARTS[:3], whole(0))),
            "words": keyed(
                {"n_words": whole(2), "n_validation_words": whole(1)},
                {
                    "min_length": whole(1),
                    "stop_words": rows_of(text, 0, unique=False),
                    "split_captions": truth,
                    "join_inflections": truth,
                },
            ),
            "sizes": rows_of(whole(1)),
            "negatives_per_positive": whole(1),
            "training": keyed({"solver": of("subgradient"), "n_iter": whole(1), "normalisation": of("sum", "mean")}),
            "methods": methods,
            "metric": of("auc", "eer"),
            "tests": keyed({"n_pairings": whole(1), "n_resamples": whole(20)}),
            "vocabulary": of("tree"),
        }
        | LISTS,
        {
            "basis": maybe(keyed({"rank": rank, "centred": truth, "whitened": truth, "fitted_on": FITTED})),
            "at_size": whole(1),
        },
    ),
    "recovery": keyed(
        {
            "kind": of("recovery"),
            "runs": whole(1),
            "tasks": keyed(
                {},
                dict.fromkeys(("n_features", "n_tasks", "n_validation", "n_test"), whole(1))
                | {"relevant": real(0, 1, ends="]")},
            ),
            "sizes": rows_of(whole(1)),
            "eta0": GRID,
            "radius": RADII,
            "n_iter": whole(1),
            "tol": real(0),
        }
        | LISTS
    ),
    "cost": keyed(
        {
            "kind": of("cost"),
            "projection_sizes": NUMBERS,
            "projection_rows": NUMBERS,
            "training_sizes": NUMBERS,
            "repeats": whole(1),
        }
        | LISTS
    ),
}
SETTINGS = """\
dataset: mine
seed: 1
datasets:
  mine:
    loader: photos
    note: Some photographs.
    shards: 2
    options:
      root: data/mine
      captions: captions.csv
      split_names: {train: train, test: eval}
      fractions: {train: 0.5, test: 0.5}
      validation_fraction: 0.25
      seed: 0
    studies:
      annotation: {}
  drawn:
    loader: synthetic
    studies:
      recovery: {}
      cost: {repeats: 2}
features:
  longest_side: 320
  extractor: dense_sift
  options: {patch_sizes: [16, 24], step: 8, rootsift: true}
  vocabularies:
    tree: {branching: 10, depth: 4, sample_size: 2000, fitted_on: [train], weighting: sqrt, normalise: true}
studies:
  annotation:
    kind: words
    runs: 2
    set_aside: {train: 3}
    vocabulary: tree
    words: {n_words: 6, n_validation_words: 2, min_length: 3, stop_words: [one], split_captions: true}
    sizes: [3, 6]
    negatives_per_positive: 2
    basis: {rank: 10, centred: true, whitened: false, fitted_on: [train]}
    training: {solver: subgradient, n_iter: 20, normalisation: sum}
    methods:
      hinge-l1inf: {eta0: [0.1, 1], radius: [1, 10]}
      svm-l2: {C: [0.1, 1], max_iter: 100}
    metric: auc
    at_size: 6
    tests: {n_pairings: 7, n_resamples: 30}
    figures: [auc]
    claims: []
  recovery:
    kind: recovery
    runs: 2
    tasks: {n_features: 20, n_tasks: 6, relevant: 0.1, n_validation: 30, n_test: 50}
    sizes: [10, 20]
    eta0: [0.1, 1]
    radius: [2, 8]
    n_iter: 20
    tol: 0.1
    figures: []
    claims: []
  cost:
    kind: cost
    projection_sizes: [30, 100]
    projection_rows: [10, 30]
    training_sizes: [4, 8]
    repeats: 2
    figures: []
    claims: []
"""


def second_settings(config: Any) -> None:
    """Raises Bad unless a config is one that SETTINGS could have been on purpose."""
    study = named(lambda block: STUDIES.get(block.get("kind") if isinstance(block, dict) else None, of())(block))
    entry = keyed(
        {"loader": of("photos", "scenes", "synthetic"), "studies": blocks},
        {"note": text, "shards": whole(1), "options": lambda block: block == {} or OPTIONS(block)},
    )
    features = keyed(
        {
            "longest_side": whole(1),
            "extractor": of("dense_sift"),
            "options": keyed({}, {"patch_sizes": rows_of(whole(4)), "step": whole(1), "rootsift": truth}),
            "vocabularies": named(VOCABULARY),
        }
    )
    chosen = config.get("dataset") if isinstance(config, dict) else None
    shape = {"dataset": name if isinstance(chosen, str) else rows_of(name), "seed": whole(0), "datasets": named(entry)}
    keyed(shape | {"features": features, "studies": study})(config)
    for one in [chosen] if isinstance(chosen, str) else chosen:
        _require(one in config["datasets"], "an unknown dataset")
    every = [block for block in config["studies"].values()]
    for block in config["datasets"].values():
        _require(block["loader"] == "synthetic" or "root" in block.get("options", {}), "no root")
        _require(block["loader"] != "synthetic" or not block.get("options"), "options of drawn tasks")
        _require(block["loader"] != "scenes" or "captions" not in block["options"], "captions of scenes")
        for study_name, changed in block["studies"].items():
            _require(study_name in config["studies"], "an unknown study")
            both = merged(config["studies"][study_name], changed)
            study({study_name: both})
            _require((both["kind"] == "words") != (block["loader"] == "synthetic"), "a study of another kind")
            every.append(both)
    for block in every:
        if block["kind"] == "words":
            _require(block["words"]["n_validation_words"] < block["words"]["n_words"], "too many validation words")
            _require(block.get("at_size", block["sizes"][0]) in block["sizes"], "at_size")
            _require("tree" in config["features"]["vocabularies"], "an unknown vocabulary")


def blocks(value: Any) -> None:
    _require(isinstance(value, dict) and all(isinstance(one, dict) for one in value.values()), "blocks")


ODD = r"""0 | -1 | 2 | 5 | 0.25 | 0.5 | 1.0 | 3.0 | 1e3 | 1e400 | 1.0e+3 | .nan | -.inf | 010 | 0x10 | 1:30
1_000 | '3' | [] | [1] | [5, 6] | [2, 1] | [1, 1] | [1, 1.0] | [[1]] | {} | {1: 2} | {a: 1, a: 2} | {? [a] : 1}
{<<: {a: 1}} | ~ | null | true | yes | 2009-01-01 | *a | &a [*a] | !!python/name:os.system '' | !!set {a} | </script>
' | ? | train | full | words | drawn | [mine, drawn] | svm-l2 | hinge-l1 | =1 | << | - 1 | '' | %YAML 9"""
ODD = ODD.replace("\n", " | ").split(" | ")
ODD += ["\t", '"\\ud800"', "9" * 19, "9" * 400, "9" * 6000, "[" * 2000, "[" * 60 + "]" * 60]


def mutated_settings(rng: np.random.Generator) -> bytes:
    lines = SETTINGS.splitlines()
    for _ in range(rng.integers(1, 3)):
        at = int(rng.integers(len(lines)))
        key, colon, value = lines[at].partition(":")
        odd = ODD[rng.integers(len(ODD))]
        match rng.integers(10):
            case 0:
                lines[at] = f"{key}{colon} {odd}"
            case 2:
                numbers = list(re.finditer(r"[\w.]+", value)) or [re.match("", value)]
                which = numbers[rng.integers(len(numbers))]
                lines[at] = key + colon + value[: which.start()] + odd + value[which.end() :]
            case 3:
                lines.insert(at, lines[rng.integers(len(lines))])
            case 4:
                del lines[at]
            case 5:
                lines[at] = key + rng.choice(["x", " ", "'", "_", "\t"]) + colon + value
            case 6:
                lines[at] = " " * int(rng.integers(9)) + lines[at].strip()
            case _:
                numbers = list(re.finditer(r"[\d.]+", value)) or [re.search("$", value)]
                which = numbers[rng.integers(len(numbers))]
                number = rng.choice(["0", "1", "2", "3", "6", "7", "30", "0.5", "1.5", "-2"])
                lines[at] = key + colon + value[: which.start()] + number + value[which.end() :]
    data = "\n".join(lines).encode() + b"\n"
    pieces = [b"\t", b"\xef\xbb\xbf", b"\0", b"\xff", b"---\n", b"#", b"&a ", b"*a", b"!!", b"  ", b"}", b"[", b"\n"]
    return mutated(data, rng, pieces, len(data)) if rng.random() < 0.3 else data


def _require_plain(node: yaml.Node) -> None:
    """Raises Bad on a key given twice and on a whole number that is not written as one."""
    if isinstance(node, yaml.MappingNode):
        keys = [key.value for key, _ in node.value]
        _require(len({str(key) for key in keys}) == len(keys), "a key twice")
        for pair in node.value:
            for inside in pair:
                _require_plain(inside)
    elif isinstance(node, yaml.SequenceNode):
        for inside in node.value:
            _require_plain(inside)
    elif node.tag.endswith(":int"):
        _require(re.fullmatch(r"[-+]?(0|[1-9][\d_]*)", node.value) is not None, "an odd number")


def run_settings(folder: Path, rng: np.random.Generator) -> tuple[str, str]:
    file = folder / "config.yaml"
    file.write_bytes(mutated_settings(rng))

    def loaded() -> Any:
        try:
            return json.loads(file.read_text(encoding="utf-8"))  # as Snakemake does
        except ValueError:
            return yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.FullLoader)

    def read() -> Any:
        check_file(file)
        config = loaded()
        if not isinstance(config, dict):  # Snakemake says so
            raise ConfigError("no block of keys")
        check(config, SCHEMA)
        return config

    def expect() -> None:
        try:
            _require_plain(yaml.compose(file.read_bytes(), Loader=yaml.SafeLoader))
            second_settings(loaded())
        except (Bad, yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
            raise Bad(f"{type(error).__name__}: {error}"[:200]) from None

    return judged(read, expect, lambda got, expected: None)


# Pictures


def grey(levels: np.ndarray) -> np.ndarray:
    """Grey levels in [0, 1] of (height, width[, channels]) whole numbers; transparency on white."""
    if levels.dtype == np.uint16 and levels.ndim == 2:
        return levels / 65535
    levels = levels.astype(float) / np.iinfo(levels.dtype).max
    if levels.ndim == 3 and levels.shape[2] in (2, 4):
        alpha = levels[:, :, -1:]
        levels = levels[:, :, :-1] * alpha + 1 - alpha
    if levels.ndim == 3:
        levels = levels @ [0.299, 0.587, 0.114] if levels.shape[2] == 3 else levels[:, :, 0]
    return levels


def sized(width: int, height: int, pixels: Callable[[], np.ndarray]) -> tuple[tuple[int, int], Any]:
    """The shape of a picture after shrinking, and its grey levels where nothing is shrunk."""
    _require(width > 0 and height > 0 and width * height <= 89_478_485, f"{width} x {height} pixels")
    factor = min(1.0, LONGEST / max(width, height))
    shape = max(1, round(height * factor)), max(1, round(width * factor))
    _require(min(shape) >= SMALLEST, f"small: {width} x {height}")
    return shape, pixels if factor == 1 else None


def second_png(data: bytes) -> Any:
    at, chunks = 8, []
    while True:
        _require(at + 8 <= len(data), "cut off")
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind == b"IEND":
            chunks.append((kind, b""))
            break
        body = data[at + 8 : at + 8 + length]
        _require(len(body) == length and at + 12 + length <= len(data), "cut off")
        (check,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        _require(zlib.crc32(kind + body) == check, f"checksum of {kind!r}")
        chunks.append((kind, body))
        at += 12 + length
    kinds = [kind for kind, _ in chunks]
    _require(kinds[0] == b"IHDR" and b"IDAT" in kinds, "no IHDR or IDAT")
    width, height, bits, colour, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[0][1][:13])

    def pixels() -> np.ndarray:
        channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}.get(colour)
        if interlaced or bits not in (8, 16) or channels is None or (bits == 16 and colour) or b"tRNS" in kinds:
            raise Unknown("a kind of PNG")
        if kinds.count(b"IHDR") > 1 or kinds.count(b"PLTE") > 1:
            raise Unknown("a PNG with two headers")
        try:
            stream = zlib.decompressobj()
            raw = stream.decompress(b"".join(body for kind, body in chunks if kind == b"IDAT"))
        except zlib.error as error:
            raise Bad(f"zlib: {error}") from None
        step = channels * bits // 8
        stride = step * width
        _require(len(raw) >= height * (stride + 1), "too few pixels")
        lines = np.zeros((height + 1, stride + step), dtype=np.uint8)
        for y in range(height):
            line = raw[y * (stride + 1) : (y + 1) * (stride + 1)]
            _require(line[0] <= 4, "filter")
            for x in range(stride):
                left, up, corner = (int(lines[y + 1, x]), int(lines[y, x + step]), int(lines[y, x]))
                near = left + up - corner
                paeth = min((abs(near - left), 0, left), (abs(near - up), 1, up), (abs(near - corner), 2, corner))[2]
                add = (0, left, up, (left + up) // 2, paeth)[line[0]]
                lines[y + 1, x + step] = (line[x + 1] + add) % 256
        levels = lines[1:, step:].reshape(height, width, step)
        if bits == 16:
            return levels.view(">u2")[:, :, 0].astype(np.uint16)
        if colour == 3:
            palette = np.frombuffer(dict(chunks).get(b"PLTE", b"") + bytes(768), dtype=np.uint8)[:768].reshape(-1, 3)
            return palette[levels[:, :, 0]]
        return levels[:, :, 0] if step == 1 else levels

    return sized(width, height, pixels)


def second_bmp(data: bytes) -> Any:
    _require(len(data) >= 54, "cut off")
    offset, header, width, height, _, bits, packed = struct.unpack("<IIiiHHI", data[10:34])
    if header != 40 or packed or bits != 24:
        raise Unknown("a kind of BMP")

    def pixels() -> np.ndarray:
        stride = (3 * width + 3) // 4 * 4
        raw = data[offset : offset + stride * abs(height)]
        _require(len(raw) >= stride * (abs(height) - 1) + 3 * width, "too few pixels")
        raw = raw.ljust(stride * abs(height), b"\0")
        lines = np.frombuffer(raw, dtype=np.uint8).reshape(abs(height), stride)[:, : 3 * width]
        levels = lines.reshape(abs(height), width, 3)[:, :, ::-1]
        return levels[::-1] if height > 0 else levels

    return sized(width, abs(height), pixels)


def second_ppm(data: bytes) -> Any:
    found = re.match(rb"P([56])\s(?:#[^\n]*\n|\s)*(\d+)\s+(\d+)\s+(\d+)\s", data)
    if not found:
        raise Unknown("a kind of PPM")
    kind, width, height, most = (int(number) for number in found.groups())

    def pixels() -> np.ndarray:
        if most not in (255, 65535) or (most == 65535 and kind == 6):
            raise Unknown("a kind of PPM")
        channels = 3 if kind == 6 else 1
        raw = data[found.end() :]
        _require(len(raw) * 8 >= width * height * channels * (8 if most == 255 else 16), "too few pixels")
        levels = np.frombuffer(raw, dtype=np.uint8 if most == 255 else ">u2", count=width * height * channels)
        levels = levels.astype(np.uint8 if most == 255 else np.uint16)
        return levels.reshape((height, width, 3) if kind == 6 else (height, width))

    return sized(width, height, pixels)


def second_gif(data: bytes) -> Any:
    """The first frame."""
    _require(len(data) >= 13, "cut off")
    width, height, flags = struct.unpack("<HHB", data[6:11])
    at = 13
    shared = data[at : at + 3 * 2 ** (flags % 8 + 1)] if flags & 128 else b""
    at += len(shared)
    while data[at : at + 1] == b"!":
        at += 2
        while at < len(data) and data[at]:
            at += data[at] + 1
        at += 1
    if data[at : at + 1] != b"," or len(data) < at + 11:
        raise Unknown("no frame where one is expected")
    left, top, w, h, own = struct.unpack("<HHHHB", data[at + 1 : at + 10])
    if (left, top, w, h) != (0, 0, width, height) or own & 64 or not (shared or own & 128) or b"\x21\xf9" in data[:at]:
        raise Unknown("a kind of GIF")
    at += 10
    palette = data[at : at + 3 * 2 ** (own % 8 + 1)] if own & 128 else shared
    at += len(palette) if own & 128 else 0

    def pixels() -> np.ndarray:
        smallest, place, raw = data[at] if at < len(data) else 99, at + 1, b""
        if not 2 <= smallest <= 8:
            raise Unknown("an odd code size")
        while place < len(data) and data[place]:
            raw += data[place + 1 : place + 1 + data[place]]
            place += data[place] + 1
        bits, clear, size, out, table, last = 0, 1 << smallest, smallest + 1, bytearray(), [], None
        while len(out) < width * height:
            _require(bits + size <= 8 * len(raw), "too few pixels")
            code = int.from_bytes(raw[bits // 8 : bits // 8 + 4], "little") >> bits % 8 & ((1 << size) - 1)
            bits += size
            if code == clear:
                table = [bytes([i]) for i in range(clear)] + [b"", b""]
                size, last = smallest + 1, None
                continue
            if not table or code == clear + 1 or code > len(table) or (code == len(table) and last is None):
                raise Unknown("LZW codes that mean nothing")
            entry = table[code] if code < len(table) else last + last[:1]
            if last is not None and len(table) < 4096:
                table.append(last + entry[:1])
                size += len(table) == 1 << size and size < 12
            out += entry
            last = entry
        colours = np.frombuffer(palette.ljust(768, b"\0"), dtype=np.uint8).reshape(-1, 3)
        indices = np.frombuffer(bytes(out[: width * height]), dtype=np.uint8).reshape(height, width)
        if indices.max() >= len(palette) // 3:
            raise Unknown("colours that are not in the palette")
        return colours[indices]

    return sized(width, height, pixels)


def second_tiff(data: bytes) -> Any:
    try:
        with tifffile.TiffFile(BytesIO(data)) as file:
            page = file.pages[0]
            width, height, tags = page.imagewidth, page.imagelength, page.tags
            turned = tags[274].value if 274 in tags else 1
            kind = page.photometric.value, page.samplesperpixel, page.bitspersample, page.sampleformat
            _require(kind[3] != 2 and kind not in ((0, 1, 16, 1), (1, 1, 32, 1)), "a scale that is not known")
            if not 1 <= turned <= 8 or kind not in ((1, 1, 8, 1), (2, 3, 8, 1), (1, 1, 16, 1), (0, 1, 8, 1)):
                raise Unknown("a kind of TIFF")
            levels = page.asarray()
    except (Bad, Unknown):
        raise
    except Exception as error:  # whatever tifffile raises on damaged files
        raise Unknown(f"tifffile: {error}") from None
    if levels.shape[:2] != (height, width):
        raise Unknown("a kind of TIFF")
    upright = (
        *(levels, levels[:, ::-1], levels[::-1, ::-1], levels[::-1], levels.swapaxes(0, 1)),
        *(np.rot90(levels, -1), levels[::-1, ::-1].swapaxes(0, 1), np.rot90(levels)),
    )[turned - 1]
    return sized(upright.shape[1], upright.shape[0], lambda: 255 - upright if kind[0] == 0 else upright)


def second_jpeg(data: bytes) -> Any:
    """Only the size: JPEG has no checksums, and a second decoder of it is more than a test should hold."""
    at, size = 2, None
    while size is None:
        _require(at + 9 <= len(data), "no size")
        if data[at] != 0xFF or data[at + 1] == 0xFF:
            raise Unknown("stray bytes between segments")
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            size = struct.unpack(">HH", data[at + 5 : at + 9])
        at += 2 + length
    _require(data.rfind(b"\xff\xda") >= 0, "no scan")
    return (*sized(size[1], size[0], _unknown)[:1], _unknown)


def second_webp(data: bytes) -> Any:
    _require(len(data) >= 30 and int.from_bytes(data[4:8], "little") + 8 <= len(data), "cut off")
    if data[12:16] == b"VP8 ":
        width, height = (number & 0x3FFF for number in struct.unpack("<HH", data[26:30]))
    elif data[12:16] == b"VP8L":
        number = int.from_bytes(data[21:25], "little")
        width, height = (number & 0x3FFF) + 1, (number >> 14 & 0x3FFF) + 1
    else:
        raise Unknown("a kind of WebP")
    return (*sized(width, height, _unknown)[:1], _unknown)


def _unknown() -> np.ndarray:
    raise Unknown("the pixels")


SECOND = {
    b"\x89PNG\r\n\x1a\n": second_png,
    b"BM": second_bmp,
    b"P5": second_ppm,
    b"P6": second_ppm,
    b"GIF8": second_gif,
    b"II*\0": second_tiff,
    b"MM\0*": second_tiff,
    b"\xff\xd8\xff": second_jpeg,
    b"RIFF": second_webp,
}
OTHERS = (b"P1", b"P2", b"P3", b"P4", b"Pf", b"PF", b"Py", b"P0", b"II+\0", b"MM\0+", b"II\0*", b"MM*\0")  # to Pillow


def second_picture(data: bytes) -> Any:
    for magic, second in SECOND.items():
        if data.startswith(magic):
            return second(data)
    _require(data.startswith(OTHERS), "no picture")
    raise Unknown("a kind of picture")


def originals() -> list[tuple[str, bytes]]:
    """Small pictures of every kind: (suffix, bytes)."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:30, :40]
    levels = (90 + 60 * np.sin(x / 5) + 60 * np.cos(y / 4) + rng.integers(0, 20, (30, 40))).astype(np.uint8)
    one = Image.fromarray(levels)
    colour = Image.merge("RGB", (one, one.rotate(180), one.transpose(Image.Transpose.FLIP_TOP_BOTTOM)))
    deep = Image.fromarray(levels.astype(np.uint16) * 257)
    clear = colour.copy()
    clear.putalpha(one)
    exif = Image.Exif()
    exif[0x0112] = 6
    made = []

    def save(picture: Image.Image, suffix: str, **options: Any) -> None:
        file = BytesIO()
        picture.save(file, {"jpg": "JPEG", "tif": "TIFF"}.get(suffix, suffix), **options)
        made.append((suffix, file.getvalue()))

    for picture in (one, colour, clear, deep, colour.quantize(16), one.convert("1")):
        save(picture, "png")
    for picture in (one, colour, colour.convert("CMYK")):
        save(picture, "jpg")
    save(colour, "jpg", progressive=True, exif=exif)
    for picture in (one, colour.quantize(32)):
        save(picture, "gif")
    save(colour.quantize(16), "gif", save_all=True, append_images=[one.convert("P"), one.rotate(90).convert("P")])
    for picture in (one, colour):
        save(picture, "bmp")
        save(picture, "ppm")
        save(picture, "webp")
        save(picture, "webp", lossless=True)
    for compression in (None, "tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg"):
        save(colour, "tif", compression=compression)
        save(one, "tif", compression=compression, exif=exif)
    signed = levels.astype(np.int16) - 128
    inverted = {"photometric": "miniswhite"}
    for array, options in (
        (levels, inverted),
        (np.asarray(deep), inverted),
        (signed, {}),
        (levels / np.float32(9), {}),
    ):
        file = BytesIO()
        tifffile.imwrite(file, array, **options)
        made.append(("tif", file.getvalue()))
    save(deep, "tif")
    save(deep, "ppm")
    save(one, "tif", save_all=True, append_images=[one])
    return made


ORIGINALS = originals()
PIECES = [b"\0", b"\xff", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\x4e\x20", b"\x20\x4e\0\0", b";"]
PIECES += [b"IDAT", b"IEND", b"acTL", b"GIF89a", b"<svg>", b"%!PS-Adobe-3.0 EPSF-3.0\n"]
PIECES += [b"\xff\xd9", b"\xff\xda", b"\xff\xc2", b"\xff\xe1"]


def run_picture(folder: Path, rng: np.random.Generator) -> tuple[str, str]:
    suffix, data = ORIGINALS[rng.integers(len(ORIGINALS))]
    _, other = ORIGINALS[rng.integers(len(ORIGINALS))]
    draw = rng.random()
    if draw < 0.9:
        data = mutated(data, rng, PIECES, 40, most=1 if draw < 0.6 else 3)
    elif draw < 0.95:
        cut = int(rng.integers(1, len(data)))
        data = data[:cut] + other[min(cut, len(other) // 2) :]
    if rng.random() < 0.1:
        suffix = str(rng.choice(["jpg", "png", "gif", "TIFF", "bmp"]))
    item = f"images/{rng.choice(['dogs', 'a b', 'é$'])}/case.{suffix}"
    path = folder / item
    path.parent.mkdir()
    path.write_bytes(data)
    (folder / "images" / "cats").mkdir()
    shutil.copy(folder / "images" / GOOD[0], folder / "images" / "cats")
    for one in GOOD:
        (folder / "images" / one).unlink()
    name = item.removeprefix("images/")

    def read() -> Any:
        got = scenes.read(folder, smallest_side=SMALLEST, longest_side=LONGEST, fractions={"train": 1.0})
        if name not in set(got.images["image"]):
            raise ValueError(got.left_out.set_index("item")["reason"][name])
        return scenes.picture(name, root=folder, longest_side=LONGEST)

    def expect() -> Any:
        try:
            shape, pixels = second_picture(data)
            return shape, pixels and grey(pixels())
        except Unknown as error:
            return error

    return judged(read, expect, compare_pictures)


def compare_pictures(got: np.ndarray, expected: Any) -> None:
    _require(got.dtype == np.float32 and got.ndim == 2 and np.isfinite(got).all(), "no grey levels")
    _require(got.min() >= 0 and got.max() <= 1 and max(got.shape) <= LONGEST, "grey levels outside [0, 1]")
    if isinstance(expected, Unknown):
        raise expected
    shape, levels = expected
    _require(got.shape == shape, f"shape {got.shape}, expected {shape}")
    if levels is None:
        raise Unknown("it was shrunk")
    far = np.abs(got - levels).max()
    _require(far < 1.6 / 255, f"grey levels differ by {far:.3f}")


# Running

KINDS: dict[str, Callable[[Path, np.random.Generator], tuple[str, str]]] = {
    "captions.csv": run_table("captions.csv"),
    "splits.csv": run_table("splits.csv"),
    "config.yaml": run_settings,
    "picture": run_picture,
}
ENDS = ("right", "refused", "unjudged", "strict", "traceback", "hang", "wrong")
FAILURES = ENDS[-3:]


def run_case(number: int, seed: int, album: Path) -> tuple[str, str, str]:
    """The kind of a case, how it ends, and why."""
    kind = list(KINDS)[number % len(KINDS)]
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.dup2(writing, 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, used + BYTES))
            shutil.copytree(album, folder, dirs_exist_ok=True)
            end, why = KINDS[kind](folder, np.random.default_rng([seed, number]))
        except BaseException:
            end, why = "traceback", traceback.format_exc()
        print(json.dumps([end, why]), flush=True)
        os._exit(0)
    os.close(writing)
    said, deadline = b"", time.monotonic() + SECONDS
    while select.select([reading], [], [], max(0, deadline - time.monotonic()))[0]:
        piece = os.read(reading, 65536)
        if not piece:
            break
        said += piece
    else:
        os.kill(child, signal.SIGKILL)
    os.close(reading)
    status = os.waitpid(child, 0)[1]
    shutil.rmtree(folder)
    if said.endswith(b"]\n"):
        end, why = json.loads(said.splitlines()[-1])
    elif said.startswith(b"read"):
        end, why = "unjudged", "the second reader takes too long"
    elif os.WTERMSIG(status) == signal.SIGKILL:
        end, why = "hang", f"more than {SECONDS} s"
    else:
        end, why = "traceback", f"the process ended with signal {os.WTERMSIG(status)}"
    return kind, end, why


def make_album(folder: Path) -> None:
    (folder / "images").mkdir()
    for i, one in enumerate(GOOD):
        levels = np.random.default_rng(i).integers(0, 256, (20, 24), dtype=np.uint8)
        Image.fromarray(levels).save(folder / "images" / one)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one case")
    parser.add_argument("--show", nargs="*", default=FAILURES, choices=ENDS, help="endings to say more of")
    arguments = parser.parse_args()
    counts = {kind: Counter[str]() for kind in KINDS}
    with tempfile.TemporaryDirectory() as album:
        make_album(Path(album))
        for number in range(arguments.cases) if arguments.only is None else [arguments.only]:
            kind, end, why = run_case(number, arguments.seed, Path(album))
            counts[kind][end] += 1
            if end in arguments.show or arguments.only is not None:
                print(f"case {number}, {kind}, {end}: {why}")
    print(f"{'':14}" + "".join(f"{end:>10}" for end in ENDS))
    for kind, count in counts.items():
        print(f"{kind:14}" + "".join(f"{count[end]:>10}" for end in ENDS))
    return int(any(count[end] for count in counts.values() for end in FAILURES))


if __name__ == "__main__":
    sys.exit(main())

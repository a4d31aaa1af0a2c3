"""Read mutated tables, settings and pictures as the pipeline does, and compare with second readers.

    python tests/fuzz.py --cases 2000 --seed 1

Every case runs in a process of its own with a limit on seconds and memory, and ends as one of:

- right: accepted, and the second reader reads the same.
- refused: with one clear line, and the second reader objects or does not know.
- unjudged: accepted, but the second reader does not know the pixels.
- strict: refused, although the second reader does not object.
- traceback, hang.
- wrong: accepted, but the second reader objects or reads something else.

The last three must be 0, or the status is 1. Seed and number make a case: --only N repeats one and says more.
"""

import argparse
import json
import multiprocessing
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import oracles_pictures
import pandas as pd
import tifffile
import yaml
from mutations import mutated
from oracles_pictures import LONGEST_SIDE, SMALLEST_SIDE, Bad, Unknown, essence, grey, require
from PIL import Image

BASE = Path(__file__).parents[1]
sys.path[:0] = [str(BASE / "workflow")]

from configuration.check import check  # noqa: E402
from configuration.file import ConfigError, check_file  # noqa: E402
from configuration.studies import merged  # noqa: E402

from jointsparse.datasets import photos, scenes  # noqa: E402
from jointsparse.learning.losses import LOSSES  # noqa: E402
from jointsparse.norms import NORMS  # noqa: E402
from jointsparse.papers.catalogue import FIGURES  # noqa: E402
from jointsparse.papers.claims import CLAIMS  # noqa: E402

SECONDS, BYTES = 20, 3 * 2**30  # of a case, the latter besides what the process has
SCHEMA = BASE / "workflow" / "config.schema.yaml"


class Case(NamedTuple):
    """One mutated input: the code under test, the second reader, and a comparison that raises Bad or Unknown."""

    read: Callable[[], Any]
    expect: Callable[[], Any]
    compare: Callable[[Any, Any], None]


def judged(case: Case, tell: Callable[[str], None]) -> tuple[str, str]:
    """The ending of a case, and why. `tell` says when the code under test is done."""
    got, refusal = None, ""
    try:
        got = case.read()
    except Bad as error:
        return "wrong", str(error)
    except (ValueError, ConfigError) as error:
        refusal = str(error)
        if type(error) not in (ValueError, ConfigError) or "\n" in refusal or not 0 < len(refusal) < 1000:
            return "traceback", traceback.format_exc()
    tell("read")
    try:
        expected = case.expect()
        if refusal:
            return "strict", refusal
        case.compare(got, expected)
    except (Bad, Unknown) as error:
        if refusal:
            return "refused", f"{refusal} | {error}"
        return "wrong" if isinstance(error, Bad) else "unjudged", str(error)
    return "right", ""


def one_of(things: Any, rng: np.random.Generator) -> Any:
    return things[rng.integers(len(things))]


# Tables

GOOD = [f"{i:03}.png" for i in range(5)]  # the pictures of the album that all tables speak of
SPLIT = dict(zip(GOOD, ("train", "train", "validation", "test", "unlabelled"), strict=True))
TABLES = {
    "captions.csv": "image,caption\n"
    + "".join(
        f'{name},A dog number {i}.\n{name},"A cat, or ""kitten"", é\nin two lines."\n' for i, name in enumerate(GOOD)
    ),
    "splits.csv": "image,split\n" + "".join(f"{name},{split}\n" for name, split in SPLIT.items()),
}
TEXTS = [
    *b"""\
" "" , ; ' \\ = \0 \xef\xbb\xbf \xff \xe9 \xed\xa0\x80 e\xcc\x81 \xe2\x80\xa8 \x1c \xc2\x85 \xc2\xa0 =cmd|'/C'!A1 \
../000.png /etc/passwd ./000.png 000.png train $x^2$ <script>""".split(b" "),
    *(b"\n", b"\r", b"\r\n", b"\t", b" ", b"003.png,test\n", b"a" * 140_000),
]
ROW_CHANGES = {  # the new lines b and a
    "two rows change places": lambda b, a: (a, b),
    "a row twice": lambda b, a: (b, b + a),
    "columns reversed": lambda b, a: (b, ",".join(reversed(a.split(",")))),
    "a space before a quote": lambda b, a: (b, a.replace(",", ', "').replace("\n", '"\n')),
}
# A quoted field or a plain one, and what ends it.
FIELD = re.compile(r'(?:"((?:[^"]|"")*+)"|(?!")([^,\r\n]*))(,|[\r\n]|\Z)')


def mutated_table(text: str, rng: np.random.Generator) -> bytes:
    lines = text.splitlines(keepends=True)
    for _ in range(rng.integers(2)):
        a, b = rng.integers(len(lines), size=2)
        lines[b], lines[a] = one_of(list(ROW_CHANGES.values()), rng)(lines[b], lines[a])
    encoding = rng.choice(["utf-8"] * 7 + ["utf-8-sig", "utf-16", "latin-1"])
    data = "".join(lines).encode(encoding, "replace")
    return data if rng.random() < 0.15 else mutated(data, rng, TEXTS, most=2)


def second_csv(data: bytes) -> list[list[str]]:
    """Rows of a UTF-8 table, field by field; an empty line is an empty row."""
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise Bad("not UTF-8") from None
    rows: list[list[str]] = [[]]
    at = 0
    while at < len(text) or rows[-1]:
        field = FIELD.match(text, at)
        require(field is not None, "a quote is not closed, or text follows one that is")
        quoted, plain, end = field.groups()
        if rows[-1] or quoted is not None or plain or end == ",":
            rows[-1].append(plain if quoted is None else quoted.replace('""', '"'))
        if end != ",":
            rows.append([])
        at = field.end()
    return rows


def second_table(data: bytes, wanted: list[str]) -> list[tuple[str, ...]]:
    header, *rows = second_csv(data)
    rows = [row for row in rows if row]
    require(set(wanted) <= set(header) and len(set(header)) == len(header), "header")
    require(all(len(row) == len(header) for row in rows), "number of fields")
    require(not any("\0" in field for row in rows for field in row), "NUL")
    require(all(len(field) <= 131_072 for row in [header, *rows] for field in row), "a field too long")
    return [tuple(row[header.index(name)] for name in wanted) for row in rows]


def second_album(captions: bytes, splits: bytes) -> tuple[dict[str, str], list[tuple[str, ...]], set[str]]:
    """The split of each image that is used ("drawn": training or validation), its captions, and what is left out."""
    rows = [row for row in second_table(captions, ["image", "caption"]) if row[1].strip()]
    pairs = set(second_table(splits, ["image", "split"]))
    split_of = dict(pairs)
    known = set(split_of.values()) <= set(SPLIT.values())
    require(known and len(split_of) == len(pairs), "two splits for one image, or an unknown one")
    there = {name: split for name, split in split_of.items() if name in GOOD}
    if "validation" not in there.values():
        there = {name: "drawn" if split == "train" else split for name, split in there.items()}
    captioned = {name for name, _ in rows}
    used = {name: there[name] for name in GOOD if name in there and (name in captioned or there[name] == "unlabelled")}
    require(bool({"train", "drawn"} & set(used.values())), "no training image")
    return used, [row for row in rows if row[0] in used], (set(GOOD) | captioned | set(split_of)) - set(used)


def compare_albums(got: Any, expected: Any) -> None:
    used, rows, left_out = expected
    splits = list(zip(got.images["image"], got.images["split"], strict=True))
    drawn = {(name, split) for name in used for split in ("train", "validation") if used[name] == "drawn"}
    known = [(name, "drawn") if (name, split) in drawn else (name, split) for name, split in splits]
    require(known == list(used.items()), f"images {splits}, expected {used}")
    captions = got.captions.to_records(index=False).tolist()
    require(captions == sorted(rows, key=lambda row: row[0]), "other captions")
    reasons = dict(zip(got.left_out["item"], got.left_out["reason"], strict=True))
    require(set(reasons) == left_out and all(reasons.values()), f"left out {reasons}, expected {sorted(left_out)[:9]}")


def table_case(mutable: str, place: Path, rng: np.random.Generator) -> Case:
    files = {name: text.encode() for name, text in TABLES.items()}
    files[mutable] = mutated_table(TABLES[mutable], rng)
    for name, data in files.items():
        (place / name).write_bytes(data)
    return Case(
        lambda: photos.read(place, smallest_side=SMALLEST_SIDE, longest_side=LONGEST_SIDE),
        lambda: second_album(files["captions.csv"], files["splits.csv"]),
        compare_albums,
    )


# Settings: the shape of a block is a dictionary of its keys; a key that ends with "?" may be missing. The shape of a
# value is a function that is true for the values allowed.


def fits(value: Any, shape: Any, place: str = "config.yaml") -> bool:
    """True for a value of a shape. Raises Bad with the place of a value that is not."""
    if not isinstance(shape, dict):
        require(shape(value), place)
        return True
    shapes = {key.removesuffix("?"): inside for key, inside in shape.items()}
    needed = {key for key in shape if not key.endswith("?")}
    require(isinstance(value, dict) and needed <= set(value) <= set(shapes), f"{place}: keys")
    return all(fits(inside, shapes[key], f"{place}: {key}") for key, inside in value.items())


def any_text(value: Any) -> bool:
    return isinstance(value, str)


def nonempty(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def whole(low: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and low <= value < 2**63


def real(low: float, high: float = 2.0**63, also: tuple[int, ...] = ()) -> Callable[[Any], bool]:
    """Numbers between low and high, both not included, and some more."""
    return lambda value: type(value) in (int, float) and (low < value < high or value in also)


def of(*known: Any) -> Callable[[Any], bool]:
    return lambda value: any(value == one and type(value) is type(one) for one in known)


def rows_of(shape: Callable[[Any], bool], least: int = 1, *, unique: bool = True) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, list)
        and len(value) >= least
        and all(map(shape, value))
        and not (unique and len(set(value)) < len(value))
    )


def named(shape: Any) -> Callable[[Any], bool]:
    """Blocks with entries of one shape under any names."""
    return lambda value: (
        isinstance(value, dict)
        and len(value) > 0
        and all(any_text(key) and re.fullmatch("[A-Za-z0-9_-]+", key) for key in value)
        and all(fits(inside, shape, key) for key, inside in value.items())
    )


PARTS = ("train", "validation", "test", "unlabelled")
GRID, RADII, NUMBERS = rows_of(real(0)), rows_of(real(0, also=(0,))), rows_of(whole(1), 2)
FITTED = rows_of(of("train", "validation", "unlabelled"))
LISTS = {"figures": rows_of(of(*FIGURES), 0), "claims": rows_of(of(*CLAIMS), 0)}
OPTIONS = {
    "root": nonempty,
    "captions?": nonempty,
    "split_names?": {f"{part}?": any_text for part in PARTS},
    "fractions?": {f"{part}?": real(0, 1, also=(0, 1)) for part in PARTS},
    "validation_fraction?": real(0, 1),
    "seed?": whole(0),
}
VOCABULARY = {
    "branching": whole(2),
    "depth": whole(1),
    "sample_size": whole(1),
    "fitted_on": FITTED,
    "weighting": of("count", "sqrt", "tf-idf"),
    "normalise": of(True, False),
}
BASIS = {
    "rank": lambda rank: rank == "full" or whole(1)(rank),
    "centred": of(True, False),
    "whitened": of(True, False),
    "fitted_on": FITTED,
}
METHODS = {
    "svm-l2?": {"C": GRID, "max_iter?": whole(1)},
    **{f"{loss}-{norm}?": {"eta0": GRID, "radius": RADII} for loss in LOSSES for norm in NORMS},
}
STUDIES = {
    "words": {
        "kind": of("words"),
        "runs": whole(1),
        "set_aside": {f"{part}?": whole(0) for part in PARTS[:3]},
        "words": {
            "n_words": whole(2),
            "n_validation_words": whole(1),
            "min_length?": whole(1),
            "stop_words?": rows_of(any_text, 0, unique=False),
            "split_captions?": of(True, False),
            "join_inflections?": of(True, False),
        },
        "sizes": rows_of(whole(1)),
        "negatives_per_positive": whole(1),
        "training": {"solver": of("subgradient"), "n_iter": whole(1), "normalisation": of("sum", "mean")},
        "methods": lambda methods: fits(methods, METHODS, "methods") and len(methods) > 0,
        "metric": of("auc", "eer"),
        "tests": {"n_pairings": whole(1), "n_resamples": whole(20)},
        "vocabulary": of("tree"),
        "basis?": lambda basis: basis is None or fits(basis, BASIS, "basis"),
        "at_size?": whole(1),
    },
    "recovery": {
        "kind": of("recovery"),
        "runs": whole(1),
        "tasks": {f"{number}?": whole(1) for number in ("n_features", "n_tasks", "n_validation", "n_test")}
        | {"relevant?": real(0, 1, also=(1,))},
        "sizes": rows_of(whole(1)),
        "eta0": GRID,
        "radius": RADII,
        "n_iter": whole(1),
        "tol": real(0),
    },
    "cost": {
        "kind": of("cost"),
        "projection_sizes": NUMBERS,
        "projection_rows": NUMBERS,
        "training_sizes": NUMBERS,
        "repeats": whole(1),
    },
}
LOADERS = {  # the options of each
    "photos": OPTIONS,
    "scenes": {key: shape for key, shape in OPTIONS.items() if key != "captions?"},
    "synthetic": {},
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


def _study(block: Any) -> bool:
    kind = block.get("kind") if isinstance(block, dict) else None
    return kind in STUDIES and fits(block, STUDIES[kind] | LISTS, kind)


def _entry(block: Any) -> bool:
    """True for an entry of `datasets`."""
    loader = block.get("loader") if isinstance(block, dict) else None
    shape = {
        "loader": any_text,
        "note?": any_text,
        "shards?": whole(1),
        "studies": lambda studies: isinstance(studies, dict) and all(isinstance(one, dict) for one in studies.values()),
        "options" if loader != "synthetic" else "options?": LOADERS.get(loader),
    }
    return loader in LOADERS and fits(block, shape, "datasets")


def second_settings(config: Any) -> None:
    """Raises Bad unless a config is one that SETTINGS could have been on purpose."""
    features = {
        "longest_side": whole(1),
        "extractor": of("dense_sift"),
        "options": {"patch_sizes?": rows_of(whole(4)), "step?": whole(1), "rootsift?": of(True, False)},
        "vocabularies": named(VOCABULARY),
    }
    shape = {
        "dataset": lambda chosen: nonempty(chosen) or rows_of(nonempty)(chosen),
        "seed": whole(0),
        "datasets": named(_entry),
        "features": features,
        "studies": named(_study),
    }
    fits(config, shape)
    chosen = {config["dataset"]} if any_text(config["dataset"]) else set(config["dataset"])
    require(chosen <= set(config["datasets"]), "an unknown dataset")
    every = list(config["studies"].values())
    for block in config["datasets"].values():
        require(set(block["studies"]) <= set(config["studies"]), "an unknown study")
        for study, changed in block["studies"].items():
            both = merged(config["studies"][study], changed)
            drawn = block["loader"] == "synthetic"
            require(_study(both) and (both["kind"] == "words") != drawn, "a study of another kind")
            every.append(both)
    for block in every:
        if block["kind"] == "words":
            words, sizes = block["words"], block["sizes"]
            require(words["n_validation_words"] < words["n_words"], "too many validation words")
            require(block.get("at_size", sizes[0]) in sizes, "at_size")
            require("tree" in config["features"]["vocabularies"], "an unknown vocabulary")


ODD = [
    *re.split(
        r" \| |\n",
        r"""0 | -1 | 2 | 5 | 0.25 | 0.5 | 1.0 | 3.0 | 1e3 | 1e400 | 1.0e+3 | .nan | -.inf | 010 | 0x10 | 1:30
1_000 | '3' | [] | [1] | [5, 6] | [2, 1] | [1, 1] | [1, 1.0] | [[1]] | {} | {1: 2} | {a: 1, a: 2} | {? [a] : 1}
{<<: {a: 1}} | ~ | null | true | yes | 2009-01-01 | *a | &a [*a] | !!python/name:os.system '' | !!set {a} | </script>
' | ? | train | full | words | drawn | [mine, drawn] | svm-l2 | hinge-l1 | =1 | << | - 1 | '' | %YAML 9""",
    ),
    *("\t", '"\\ud800"', "9" * 19, "9" * 400, "9" * 6000, "[" * 2000, "[" * 60 + "]" * 60),
]
FEW = ["0", "1", "2", "3", "6", "7", "30", "0.5", "1.5", "-2"]
SETTING_CHANGES = {  # of a line, its key with the colon and its value, into new lines
    "an odd value": lambda key, value, lines, odd, rng: [f"{key} {odd}"],
    "another number": lambda key, value, lines, odd, rng: [key + _another_part(value, r"[\d.]+", "$", FEW, rng)],
    "an odd part": lambda key, value, lines, odd, rng: [key + _another_part(value, r"[\w.]+", "^", [odd], rng)],
    "a line more": lambda key, value, lines, odd, rng: [one_of(lines, rng), key + value],
    "a line less": lambda key, value, lines, odd, rng: [],
    "another key": lambda key, value, lines, odd, rng: [
        re.sub("(?=:?$)", one_of(ENDS_OF_KEYS, rng), key, count=1) + value
    ],
    "another indent": lambda key, value, lines, odd, rng: [" " * int(rng.integers(9)) + (key + value).strip()],
}
OFTEN = ["another number"] * 3  # as most of these are accepted
ENDS_OF_KEYS = ["x", " ", "'", "_", "\t"]
PIECES_OF_YAML = [
    b"\t",
    b"\xef\xbb\xbf",
    b"\0",
    b"\xff",
    b"---\n",
    b"#",
    b"&a ",
    b"*a",
    b"!!",
    b"  ",
    b"}",
    b"[",
    b"\n",
]


def _another_part(value: str, pattern: str, otherwise: str, new: list[str], rng: np.random.Generator) -> str:
    """The value with another text for one of the parts that match the pattern, or for one that matches `otherwise`."""
    start, end = one_of(list(re.finditer(pattern, value)) or list(re.finditer(otherwise, value)), rng).span()
    return value[:start] + one_of(new, rng) + value[end:]


def mutated_settings(rng: np.random.Generator) -> bytes:
    lines = SETTINGS.splitlines()
    for _ in range(rng.integers(1, 3)):
        at = int(rng.integers(len(lines)))
        odd = one_of(ODD, rng)
        change = SETTING_CHANGES[one_of([*SETTING_CHANGES, *OFTEN], rng)]
        key, value = re.fullmatch("([^:]*:?)(.*)", lines[at]).groups()
        lines[at : at + 1] = change(key, value, lines, odd, rng)
    data = "\n".join(lines).encode() + b"\n"
    return mutated(data, rng, PIECES_OF_YAML, len(data)) if rng.random() < 0.3 else data


def _require_plain(node: yaml.Node) -> None:
    """Raises Bad on a key given twice and on a whole number that is not written as one."""
    inside = node.value if isinstance(node, yaml.SequenceNode) else []
    if isinstance(node, yaml.MappingNode):
        keys = {str(key.value) for key, _ in node.value}
        require(len(keys) == len(node.value), "a key twice")
        inside = [end for pair in node.value for end in pair]
    elif node.tag.endswith(":int"):
        require(re.fullmatch(r"[-+]?(0|[1-9][\d_]*)", node.value) is not None, "an odd number")
    for one in inside:
        _require_plain(one)


def settings_case(place: Path, rng: np.random.Generator) -> Case:
    file = place / "config.yaml"
    file.write_bytes(mutated_settings(rng))

    def loaded() -> Any:
        try:
            return json.loads(file.read_text(encoding="utf-8"))  # as Snakemake does
        except ValueError:
            return yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.FullLoader)

    def read() -> None:
        check_file(file)
        config = loaded()
        if not isinstance(config, dict):  # Snakemake says so
            raise ConfigError("no block of keys")
        check(config, SCHEMA)

    def expect() -> None:
        try:
            _require_plain(yaml.compose(file.read_bytes(), Loader=yaml.SafeLoader))
            second_settings(loaded())
        except (Bad, yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
            raise Bad(f"{type(error).__name__}: {error}"[:200]) from None

    return Case(read, expect, lambda got, expected: None)


# Pictures


def originals() -> list[tuple[Any, str, dict[str, Any]]]:
    """Small pictures of every kind: (picture or array, kind of file, options of its writer)."""
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
    frames = {"save_all": True, "append_images": [one.convert("P"), one.rotate(90).convert("P")]}
    packings = (None, "tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg")
    return [
        *((picture, "PNG", {}) for picture in (one, colour, clear, deep, colour.quantize(16), one.convert("1"))),
        *((picture, "JPEG", {}) for picture in (one, colour, colour.convert("CMYK"))),
        (colour, "JPEG", {"progressive": True, "exif": exif}),
        *((picture, "GIF", {}) for picture in (one, colour.quantize(32))),
        (colour.quantize(16), "GIF", frames),
        *(
            (picture, *kind)
            for picture in (one, colour)
            for kind in (("BMP", {}), ("PPM", {}), ("WEBP", {}), ("WEBP", {"lossless": True}))
        ),
        *(
            (picture, "TIFF", {"compression": packing} | more)
            for packing in packings
            for picture, more in ((colour, {}), (one, {"exif": exif}))
        ),
        *((array, "array", {"photometric": "miniswhite"}) for array in (levels, np.asarray(deep))),
        *((array, "array", {}) for array in (levels.astype(np.int16) - 128, levels / np.float32(9))),
        (deep, "TIFF", {}),
        (deep, "PPM", {}),
        (one, "TIFF", {"save_all": True, "append_images": [one]}),
    ]


def saved(picture: Any, kind: str, options: dict[str, Any]) -> tuple[str, bytes]:
    """The suffix and the bytes of a picture, or of an array as a TIFF that Pillow does not write."""
    file = BytesIO()
    if kind == "array":
        tifffile.imwrite(file, picture, **options)
    else:
        picture.save(file, kind, **options)
    return {"JPEG": "jpg", "TIFF": "tif", "array": "tif"}.get(kind, kind.lower()), file.getvalue()


def known() -> dict[Any, np.ndarray]:
    """The grey levels of pictures of kinds that the second reader does not decode, by their essence."""
    found = {}
    for picture, kind, options in originals():
        if kind in ("PNG", "GIF") or "lossless" in options:
            pixels = np.asarray(picture if picture.mode == "I;16" else picture.convert("RGBA"))
            found[essence(saved(picture, kind, options)[1])] = grey(pixels)
    return found


ORIGINALS, KNOWN = [saved(*one) for one in originals()], known()
PIECES = [
    *(b"\0", b"\xff", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\x4e\x20", b"\x20\x4e\0\0", b";"),
    *(b"IDAT", b"IEND", b"acTL", b"GIF89a", b"<svg>", b"%!PS-Adobe-3.0 EPSF-3.0\n"),
    *(b"\xff\xd9", b"\xff\xda", b"\xff\xc2", b"\xff\xe1"),
]


def mutated_picture(rng: np.random.Generator) -> tuple[str, bytes]:
    """A suffix and the bytes below it: changed, the beginning of one picture and the end of another, or untouched."""
    suffix, data = one_of(ORIGINALS, rng)
    _, other = one_of(ORIGINALS, rng)
    draw = rng.random()
    if draw < 0.9:
        data = mutated(data, rng, PIECES, 40, most=1 if draw < 0.6 else 3)
    elif draw < 0.95:
        cut = int(rng.integers(1, len(data)))
        data = data[:cut] + other[min(cut, len(other) // 2) :]
    if rng.random() < 0.1:
        suffix = str(rng.choice(["jpg", "png", "gif", "TIFF", "bmp"]))
    return suffix, data


def picture_case(place: Path, rng: np.random.Generator) -> Case:
    suffix, data = mutated_picture(rng)
    name = f"{rng.choice(['dogs', 'a b', 'é$'])}/case.{suffix}"
    images = place / "images"
    (images / name).parent.mkdir()
    (images / name).write_bytes(data)
    (images / "cats").mkdir()
    (images / GOOD[0]).rename(images / "cats" / GOOD[0])
    for one in GOOD[1:]:
        (images / one).unlink()

    def read() -> np.ndarray:
        sides = {"smallest_side": SMALLEST_SIDE, "longest_side": LONGEST_SIDE}
        got = scenes.read(place, **sides, fractions={"train": 1.0})
        if name not in set(got.images["image"]):
            raise ValueError(got.left_out.set_index("item")["reason"][name])
        levels = scenes.picture(name, root=place, longest_side=LONGEST_SIDE)
        require(levels.dtype == np.float32 and levels.ndim == 2 and np.isfinite(levels).all(), "no grey levels")
        require(levels.min() >= 0 and levels.max() <= 1, "grey levels outside [0, 1]")
        require(max(levels.shape) <= LONGEST_SIDE, "not shrunk")
        return levels

    return Case(read, lambda: oracles_pictures.read(data, KNOWN), compare_pictures)


def compare_pictures(got: np.ndarray, expected: Any) -> None:
    shape, levels = expected
    require(got.shape == shape, f"shape {got.shape}, expected {shape}")
    if levels is None:
        raise Unknown("it was shrunk")
    far = np.abs(got - levels).max()
    require(far < 1.6 / 255, f"grey levels differ by {far:.3f}")


# Running

KINDS: dict[str, Callable[[Path, np.random.Generator], Case]] = {
    "captions.csv": lambda place, rng: table_case("captions.csv", place, rng),
    "splits.csv": lambda place, rng: table_case("splits.csv", place, rng),
    "config.yaml": settings_case,
    "picture": picture_case,
}
ENDS = ("right", "refused", "unjudged", "strict", "traceback", "hang", "wrong")
FAILURES = ENDS[-3:]
FORK = multiprocessing.get_context("fork")


def make_and_judge(kind: str, place: Path, rng: np.random.Generator, parent: Connection) -> None:
    """Send the parent process "read" once the code under test is done, and then the ending and why."""
    try:
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, used + BYTES))
        parent.send(judged(KINDS[kind](place, rng), parent.send))
    except BaseException:
        parent.send(("traceback", traceback.format_exc()))


def run_case(number: int, seed: int, album: Path) -> tuple[str, str, str]:
    """The kind of a case, how it ends, and why."""
    kind = list(KINDS)[number % len(KINDS)]
    end, why, said = "hang", f"more than {SECONDS} s", None
    with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
        shutil.copytree(album, place, dirs_exist_ok=True)
        ours, theirs = FORK.Pipe(duplex=False)
        child = FORK.Process(
            target=make_and_judge, args=(kind, Path(place), np.random.default_rng([seed, number]), theirs)
        )
        child.start()
        theirs.close()
        deadline = time.monotonic() + SECONDS
        with suppress(EOFError):
            while ours.poll(max(0, deadline - time.monotonic())):
                said = ours.recv()
            child.kill()  # unless EOFError has said that the child is at its end
        child.join()
    if isinstance(said, tuple):
        end, why = said
    elif said == "read":
        end, why = "unjudged", "the second reader takes too long"
    elif child.exitcode != -signal.SIGKILL:
        end, why = "traceback", f"the process ended with signal {-child.exitcode}"
    return kind, end, why


def make_album(place: Path) -> None:
    (place / "images").mkdir()
    for i, one in enumerate(GOOD):
        levels = np.random.default_rng(i).integers(0, 256, (20, 24), dtype=np.uint8)
        Image.fromarray(levels).save(place / "images" / one)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one case")
    parser.add_argument("--show", nargs="*", default=FAILURES, choices=ENDS, help="endings to say more of")
    arguments = parser.parse_args()
    counts = pd.DataFrame(0, index=list(KINDS), columns=list(ENDS))
    with tempfile.TemporaryDirectory() as album:
        make_album(Path(album))
        for number in range(arguments.cases) if arguments.only is None else [arguments.only]:
            kind, end, why = run_case(number, arguments.seed, Path(album))
            counts.loc[kind, end] += 1
            if end in arguments.show or arguments.only is not None:
                print(f"case {number}, {kind}, {end}: {why}")
    print(counts.to_string())
    return int(counts[list(FAILURES)].to_numpy().any())


if __name__ == "__main__":
    sys.exit(main())

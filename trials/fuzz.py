"""Read mutated tables, settings and samples as the pipeline does, and compare the results with slow, simple readers.

    python trials/fuzz.py --cases 1000 --seed 1

Every case ends in one of these ways:

- right: the input is valid, and is read correctly.
- refused: the input is invalid, and is refused with one clear line.
- traceback, slow (more than 20 s).
- wrong: the input is accepted but read incorrectly, or refused although it is valid.

If a case ends in one of the last three ways, it is printed with its bytes, and the exit status is 1. Seed and number
determine a case: --only N repeats it.
"""

import argparse
import bz2
import gzip
import json
import math
import multiprocessing
import os
import re
import resource
import sys
import tempfile
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
import pandas as pd
import twins
import yaml
from mutations import mutated
from PIL import Image

from jointsparse.learning.losses import LOSSES
from jointsparse.norms import NORMS
from jointsparse.pipeline.app.plain_yaml import check_file
from jointsparse.pipeline.datasets import folder, idx, libsvm, photos
from jointsparse.pipeline.papers.catalogue import FIGURES
from jointsparse.pipeline.papers.verdicts import CLAIMS
from jointsparse.pipeline.settings import SettingError
from jointsparse.pipeline.settings import read as read_settings
from jointsparse.pipeline.settings.inheritance import merged

CASES, CASES_AT_ONCE = 8_000, 500  # number of cases in a run, and in a process
SECONDS, BYTES = 20, 3 * 2**30  # limits of a case; BYTES is in addition to the memory of the process before it
CHECK_PICTURES = folder.check_pictures
SMALLEST_SIDE, LONGEST_SIDE = 4, 40  # in pixels


class Bad(Exception):
    """Raised if a simple reader refuses its input."""


def require(holds: bool, objection: str) -> None:
    if not holds:
        raise Bad(objection)


def one_of(things: Any, rng: np.random.Generator) -> Any:
    return things[rng.integers(len(things))]


def often(rng: np.random.Generator, share: float = 0.5) -> bool:
    return bool(rng.random() < share)


class Case(NamedTuple):
    """A test case: an input file, how to read it with the pipeline, and what the result must be.

    expect: returns the expected result, and raises Bad if the input must be refused.
    """

    data: bytes
    read: Callable[[], Any]
    expect: Callable[[], Any]
    compare: Callable[[Any, Any], None]


def judged(case: Case) -> tuple[str, str]:
    """Return how a case ends, and why."""
    got, refusal = None, ""
    try:
        got = case.read()
    except (ValueError, SettingError) as error:
        refusal = str(error)
        if type(error) not in (ValueError, SettingError) or not refusal:
            return "traceback", traceback.format_exc()
    if "\n" in refusal or len(refusal) > 1000:
        return "wrong", f"no clear line: {refusal}"
    try:
        expected = case.expect()
        if refusal:
            return "wrong", f"refused: {refusal}"
        case.compare(got, expected)
    except Bad as error:
        if not refusal:
            return "wrong", str(error)
    return ("refused", refusal) if refusal else ("right", "")


# Tables

GOOD = [f"{i:03}.png" for i in range(5)]  # the pictures of the album that all tables refer to
SPLIT = dict(zip(GOOD, ("train", "train", "validation", "test", "unlabelled"), strict=True))
OTHER_NAMES = {"val": "validation", "valid": "validation", "dev": "validation", "unlabeled": "unlabelled"}
OTHER_NAMES |= {"training": "train", "restval": "train", "testing": "test", "none": "unlabelled"}
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
ROW_CHANGES = {  # functions of two lines b and a that return the new lines
    "two rows change places": lambda b, a: (a, b),
    "a row twice": lambda b, a: (b, b + a),
    "columns reversed": lambda b, a: (b, ",".join(reversed(a.split(",")))),
    "a space before a quote": lambda b, a: (b, a.replace(",", ', "').replace("\n", '"\n')),
}
# Spaces, a quoted or a plain field, and the character that ends it.
FIELD = re.compile(r' *+(?:"((?:[^"]|"")*+)"|(?!")([^,\r\n]*))(,|[\r\n]|\Z)')


def mutated_table(text: str, rng: np.random.Generator) -> bytes:
    lines = text.splitlines(keepends=True)
    for _ in range(rng.integers(2)):
        a, b = rng.integers(len(lines), size=2)
        lines[b], lines[a] = one_of(list(ROW_CHANGES.values()), rng)(lines[b], lines[a])
    data = "".join(lines).encode(rng.choice(["utf-8"] * 7 + ["utf-8-sig", "utf-16", "latin-1"]), "replace")
    return data if rng.random() < 0.15 else mutated(data, rng, TEXTS, most=2)


def second_csv(data: bytes) -> list[list[str]]:
    """Return the rows of a UTF-8 table as lists of fields. An empty line gives an empty list."""
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise Bad("not UTF-8") from None
    rows: list[list[str]] = [[]]
    at = 0
    while at < len(text) or rows[-1]:
        field = FIELD.match(text, at)
        require(field is not None, "a quote is not closed, or text follows a closed quote")
        quoted, plain, end = field.groups()
        if rows[-1] or field.start(3) > at or end == ",":
            rows[-1].append(plain if quoted is None else quoted.replace('""', '"'))
        if end != ",":
            rows.append([])
        at = field.end()
    return rows


def second_table(data: bytes, wanted: list[str], *, lower: bool) -> list[tuple[str, ...]]:
    header, *rows = second_csv(data)
    header, rows = [name.strip().lower() if lower else name.strip() for name in header], [row for row in rows if row]
    require(set(wanted) <= set(header) and len(set(header)) == len(header), "header")
    require(all(len(row) == len(header) for row in rows), "number of fields")
    require(not any(row[i].strip() == name for row in rows for i, name in enumerate(header)), "a second header")
    require(not any("\0" in field for row in rows for field in row), "NUL")
    require(all(len(field) <= 131_072 for row in [header, *rows] for field in row), "a field too long")
    return [tuple(row[header.index(name)] for name in wanted) for row in rows]


def second_album(captions: bytes, splits: bytes) -> tuple[dict[str, str], list[tuple[str, ...]], set[str]]:
    """Return the split and captions of each image in use, and what is left out. "drawn": training or validation."""
    all_rows = [
        (name, normalize("NFC", text).strip())
        for name, text in second_table(captions, ["image", "caption"], lower=False)
    ]
    all_rows = [row for row in all_rows if row[1]]
    rows = list(dict.fromkeys(all_rows))
    all_pairs = [(name, split.lower()) for name, split in second_table(splits, ["image", "split"], lower=True)]
    all_pairs = [(name, OTHER_NAMES.get(split, split)) for name, split in all_pairs]
    pairs = set(all_pairs)
    again = {f"{name} (repeated caption)" for name, _ in (Counter(all_rows) - Counter(rows))}
    again |= {f"{name} (repeated split)" for name, _ in (Counter(all_pairs) - Counter(pairs))}
    split_of = dict(pairs)
    known = set(split_of.values()) <= set(SPLIT.values())
    require(known and len(split_of) == len(pairs), "two splits for one image, or an unknown one")
    there = {name: split for name, split in split_of.items() if name in GOOD}
    if "validation" not in there.values():
        there = {name: "drawn" if split == "train" else split for name, split in there.items()}
    captioned = {name for name, _ in rows}
    used = {name: there[name] for name in GOOD if name in there and (name in captioned or there[name] == "unlabelled")}
    require(bool({"train", "drawn"} & set(used.values())), "no training image")
    return used, [row for row in rows if row[0] in used], ((set(GOOD) | captioned | set(split_of)) - set(used)) | again


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
    (place / "images").symlink_to(ALBUM)
    return Case(
        files[mutable],
        lambda: photos.read(place, splits="splits.csv", smallest_side=SMALLEST_SIDE, longest_side=LONGEST_SIDE),
        lambda: second_album(files["captions.csv"], files["splits.csv"]),
        compare_albums,
    )


# Settings. The shape of a block is a dictionary of its keys, in which a "?" marks optional keys. The shape of a value
# is a function that returns True for allowed values.


def fits(value: Any, shape: Any, place: str = "config.yaml") -> bool:
    """Return True if a value has the given shape. Otherwise raise Bad with the place of the value that does not fit."""
    if not isinstance(shape, dict):
        require(shape(value), place)
        return True
    shapes = {key.removesuffix("?"): inside for key, inside in shape.items()}
    needed = {key for key in shape if not key.endswith("?")}
    require(isinstance(value, dict) and needed <= set(value) <= set(shapes), f"{place}: keys")
    return all(fits(inside, shapes[key], f"{place}: {key}") for key, inside in value.items())


def any_text(value: Any) -> bool:
    return isinstance(value, str) and "</" not in value and "<!" not in value


def nonempty(value: Any) -> bool:
    return any_text(value) and value != ""


def path(value: Any) -> bool:
    return nonempty(value) and not set("{}") & set(value)


def whole(low: int, high: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and low <= value <= high


def real(low: float, high: float, also: tuple[float, ...] = ()) -> Callable[[Any], bool]:
    """Return a check that accepts numbers strictly between `low` and `high`, and the numbers in `also`."""
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
    """Return a check that accepts blocks with any names of entries, if all entries have the given shape."""
    return lambda value: (
        isinstance(value, dict)
        and len(value) > 0
        and all(any_text(key) and re.fullmatch("[A-Za-z0-9_-]{1,100}", key) for key in value)
        and len({key.lower() for key in value}) == len(value)
        and all(fits(inside, shape, key) for key, inside in value.items())
    )


PARTS = ("train", "validation", "test", "unlabelled")
# The largest values of each kind of number.
RUNS, STEPS, SAMPLES, SHARDS = 1000, 10**6, 10**8, 10**4
FEATURES, TASKS, PIXELS = 2**31 - 1, 10**5, 10**5
SEED, REAL = 2**32 - 1, 1e15
GRID, RADII = rows_of(real(0, REAL, also=(REAL,))), rows_of(real(0, REAL, also=(0, REAL)))
NUMBERS = rows_of(whole(1, SAMPLES), 2)
POWER = real(0, 10, also=(0, 10))
FITTED = rows_of(of("train", "validation", "unlabelled"))
LISTS = {"figures": rows_of(of(*FIGURES), 0), "claims": rows_of(of(*CLAIMS), 0)}
OPTIONS = {
    "root": path,
    "captions?": path,
    "split_names?": {f"{part}?": any_text for part in PARTS},
    "fractions?": lambda fractions: (
        fits(fractions, {f"{part}?": real(0, 1, also=(0, 1)) for part in PARTS}, "fractions")
        and math.isclose(sum(fractions.values()), 1)
    ),
    "validation_fraction?": real(0, 1),
    "seed?": whole(0, SEED),
}
VOCABULARY = {
    "branching": whole(2, 1000),
    "depth": whole(1, 20),
    "weighting": of("count", "sqrt", "tf-idf"),
    "normalise": of(True, False),
}
BASIS = {
    "rank": lambda rank: rank == "full" or whole(1, FEATURES)(rank),
    "centred": of(True, False),
    "power": lambda power: POWER(power) or rows_of(POWER)(power),
    "fitted_on": FITTED,
}
METHODS = {
    "svm-l2?": {"C": GRID, "max_iter?": whole(1, STEPS)},
    **{f"{loss}-{norm}?": {"eta0": GRID, "radius": RADII} for loss in LOSSES for norm in NORMS},
}
STUDIES = {
    "words": {
        "kind": of("words"),
        "runs": whole(1, RUNS),
        "set_aside": {f"{part}?": whole(0, SAMPLES) for part in PARTS[:3]},
        "words": {
            "n_words": whole(2, TASKS),
            "n_validation_words": whole(1, TASKS),
            "min_length?": whole(1, 100),
            "stop_words?": rows_of(any_text, 0, unique=False),
            "split_captions?": of(True, False),
            "join_inflections?": of(True, False),
        },
        "sizes": rows_of(whole(1, SAMPLES)),
        "negatives_per_positive": whole(1, SAMPLES),
        "training": {"solver": of("subgradient"), "n_iter": whole(1, STEPS), "normalisation?": of("sum", "mean")},
        "methods": lambda methods: fits(methods, METHODS, "methods") and len(methods) > 0,
        "metric": of("auc", "eer"),
        "tests": {"n_pairings": whole(1, STEPS), "n_resamples": whole(20, 10**5)},
        "vocabulary": of("tree"),
        "basis?": lambda basis: basis is None or fits(basis, BASIS, "basis"),
        "at_size?": whole(1, SAMPLES),
    },
    "recovery": {
        "kind": of("recovery"),
        "runs": whole(1, RUNS),
        "tasks": {f"{number}?": whole(1, SAMPLES) for number in ("n_validation", "n_test")}
        | {"n_features?": whole(1, FEATURES), "n_tasks?": whole(1, TASKS), "relevant?": real(0, 1, also=(1,))},
        "sizes": rows_of(whole(1, SAMPLES)),
        "eta0": GRID,
        "radius": RADII,
        "n_iter": whole(1, STEPS),
        "tol": real(0, 1, also=(1,)),
    },
    "cost": {
        "kind": of("cost"),
        "projection_sizes": NUMBERS,
        "projection_rows": NUMBERS,
        "training_sizes": NUMBERS,
        "program_tasks": NUMBERS,
        "repeats": whole(1, RUNS),
    },
}
LOADERS = {  # the options of each loader
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
  sample: {images: 2000, descriptors: 2000, fitted_on: [train]}
  keep: []
  vocabularies:
    tree: {branching: 10, depth: 4, weighting: sqrt, normalise: true}
studies:
  annotation:
    kind: words
    runs: 2
    set_aside: {train: 3}
    vocabulary: tree
    words: {n_words: 6, n_validation_words: 2, min_length: 3, stop_words: [one], split_captions: true}
    sizes: [3, 6]
    negatives_per_positive: 2
    basis: {rank: 10, centred: true, power: 1, fitted_on: [train]}
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
    program_tasks: [1, 2]
    repeats: 2
    figures: []
    claims: []
"""


def _given(block: Any, shape: Any) -> Any:
    """Return a block of a study without its nulls, which mean that a known key is missing."""
    if not isinstance(block, dict) or not isinstance(shape, dict):
        return block
    shapes = {key.removesuffix("?"): METHODS if key == "methods" else inside for key, inside in shape.items()}
    return {
        key: _given(value, shapes.get(key)) for key, value in block.items() if value is not None or key not in shapes
    }


def _shape(block: Any) -> Any:
    """Return the shape of a study of this kind. Raises Bad if the kind is unknown."""
    kind = block.get("kind") if isinstance(block, dict) else None
    require(any_text(kind) and kind in STUDIES, "an unknown kind")
    return STUDIES[kind] | LISTS


def _study(block: Any) -> bool:
    return fits(_given(block, _shape(block)), _shape(block), block["kind"])


def _entry(block: Any) -> bool:
    """Return True if a value is a valid entry of `datasets`, otherwise raise Bad."""
    loader = block.get("loader") if isinstance(block, dict) else None
    shape = {
        "loader": any_text,
        "note?": any_text,
        "shards?": lambda shards: shards == "auto" or whole(1, SHARDS)(shards),
        "studies": lambda studies: isinstance(studies, dict) and all(isinstance(one, dict) for one in studies.values()),
        "options" if loader != "synthetic" else "options?": LOADERS.get(loader),
    }
    return loader in LOADERS and fits(block, shape, "datasets")


def second_settings(config: Any) -> None:
    """Raise Bad unless the parsed config is a valid variant of SETTINGS."""
    features = {
        "longest_side?": whole(1, PIXELS),
        "extractor": of("dense_sift"),
        "options?": {
            "patch_sizes?": rows_of(whole(4, PIXELS)),
            "step?": whole(1, PIXELS),
            "rootsift?": of(True, False),
        },
        "sample": {"images": whole(1, SAMPLES), "descriptors": whole(1, SAMPLES), "fitted_on": FITTED},
        "keep?": lambda keep: isinstance(keep, list) and len({*keep} & {"vocabularies", "descriptors"}) == len(keep),
        "vocabularies": named(VOCABULARY),
    }
    shape = {
        "dataset": lambda chosen: nonempty(chosen) or rows_of(nonempty)(chosen),
        "seed": whole(0, SEED),
        "datasets": named(_entry),
        "features": features,
        "studies": named(_study),
    }
    fits(config, shape)
    chosen = {config["dataset"]} if any_text(config["dataset"]) else set(config["dataset"])
    require(chosen <= set(config["datasets"]), "an unknown dataset")
    studies = {name: _given(block, _shape(block)) for name, block in config["studies"].items()}
    every = list(studies.values())
    for block in config["datasets"].values():
        require(set(block["studies"]) <= set(config["studies"]), "an unknown study")
        for study, changed in block["studies"].items():
            both = merged(studies[study], changed)
            require(set(changed) <= {key.removesuffix("?") for key in _shape(both)}, "an unknown key")
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
SETTING_CHANGES = {  # functions of a line's key (with the colon) and value that return the new lines
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
OFTEN = ["another number"] * 3  # chosen more often, because most of these changes are accepted
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
    """Return the value after replacing a random match of `pattern`, or of `otherwise` if `pattern` does not match."""
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
    """Raise Bad if a key is repeated, or if an integer is written in an unusual way."""
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
    data = mutated_settings(rng)
    file.write_bytes(data)

    def loaded() -> Any:
        try:
            return json.loads(file.read_text(encoding="utf-8"))  # as in Snakemake
        except ValueError:
            return yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.FullLoader)

    def read() -> None:
        check_file(file)
        config = loaded()
        if not isinstance(config, dict):  # Snakemake reports this
            raise ValueError("no block of keys")
        read_settings(config)

    def expect() -> None:
        try:
            _require_plain(yaml.compose(file.read_bytes(), Loader=yaml.SafeLoader))
            second_settings(loaded())
        except (Bad, yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
            raise Bad(f"{type(error).__name__}: {error}"[:200]) from None

    return Case(data, read, expect, lambda got, expected: None)


# Samples with features


def unpacked(new: Callable[[], Any], data: bytes) -> bytes:
    """Return the decompressed bytes of bz2 streams. Unlike `bz2.decompress`, refuse bytes after the last stream."""
    out = b""
    while data:
        unpacker = new()
        out += unpacker.decompress(data)
        require(unpacker.eof, "cut off")
        data = unpacker.unused_data
    return out


PACK = {"": bytes, ".gz": partial(gzip.compress, mtime=0), ".bz2": bz2.compress}
UNPACK = {
    "": bytes,
    ".gz": partial(unpacked, partial(zlib.decompressobj, 31)),
    ".bz2": partial(unpacked, bz2.BZ2Decompressor),
}


def in_a_pack(data: bytes, suffix: str, rng: np.random.Generator) -> tuple[bytes, Callable[[], bytes]]:
    """Return a compressed file, which is sometimes damaged, and a function that returns its contents."""
    packed = PACK[suffix](data)
    if suffix and often(rng, 0.2):
        packed = mutated(packed, rng, [b"\0", b"\xff", packed])

    def content() -> bytes:
        try:
            return UNPACK[suffix](packed)
        except (OSError, EOFError, zlib.error, ValueError) as error:
            raise Bad(f"damaged: {error}") from None

    return packed, content


LABELS = ["3", "17", "+1", "-1", "1.0", "007", "0", "9007199254740990", "9007199254740991"]


def drawn_line(rng: np.random.Generator) -> str:
    """Draw a sample and return its line in LIBSVM format."""
    labels = ",".join(one_of(LABELS, rng) for _ in range(rng.integers(3)))
    columns = np.flatnonzero(rng.random(12) < 0.4) + one_of((1, 1, 100, 2**31 - 13), rng)
    values = rng.normal(size=len(columns)) * 10.0 ** rng.integers(-40, 38)
    gap = one_of([" ", "\t", "  "], rng)
    style = one_of([".3g", ".17g", ".9e", "+.4f", ".0f"], rng)
    features = "".join(f"{gap}{column}:{value:{style}}" for column, value in zip(columns, values, strict=True))
    return labels + (features or " " * (not labels)) + one_of(["\n", "\r\n", " # a comment\n"], rng)


ODD_IN_SAMPLES = [
    *b"nan inf 1e39 1e-60 1_0 0 -0 007 2147483648 qid +3 1.0 : , # ; \r \v \t \n \0 \xff \xe9 - . e E _".split(b" "),
    b"0.99999999999999999999",
    *(b" ", *re.split(rb"[ \t\n,:]", twins.LIBSVM), *twins.LIBSVM.splitlines(keepends=True)),
]


def labels_of(samples: Any) -> list[set[str]]:
    given = samples.captions.groupby("image")["caption"].agg(set).to_dict()
    return [given.get(image, set()) for image in samples.images["image"]]


def libsvm_case(place: Path, rng: np.random.Generator) -> Case:
    data = "".join(drawn_line(rng) for _ in range(rng.integers(1, 6))).encode()
    if often(rng, 0.7):
        data = mutated(data, rng, ODD_IN_SAMPLES, most=2)
    suffix = one_of(list(PACK), rng)
    packed, content = in_a_pack(data, suffix, rng)
    (place / f"data{suffix}").write_bytes(packed)

    def expect() -> Any:
        expected = twins.read_libsvm(content())
        require(not isinstance(expected, int) and expected[1].shape[1] > 0, f"line {expected}")
        return expected

    def compare(got: Any, expected: Any) -> None:
        labels, X, lines = expected
        require(labels_of(got) == labels, "other labels")
        require(got.images["image"].tolist() == [f"train:{line}" for line in lines], "other lines")
        require(got.X.shape == X.shape and (got.X != X).nnz == 0, "other features")

    return Case(packed, lambda: libsvm.read(place, train=f"data{suffix}", fractions={"train": 1.0}), expect, compare)


def idx_case(place: Path, rng: np.random.Generator) -> Case:
    shape = tuple(rng.integers(1, 4, rng.integers(1, 4)).tolist())
    n_train, n_test = rng.integers(1, 5, 2)
    numbers = [rng.integers(0, 100, n * k).tolist() for n in (n_train, n_test) for k in (int(np.prod(shape)), 1)]
    files = twins.idx_files(shape, *numbers)
    if often(rng, 0.7):
        part = one_of(list(files), rng)
        files[part] = mutated(
            files[part], rng, [b"\0", b"\0\0\0\1", b"\xff", b"\x7f\xc0\0\0", b"\x08", b"\x0e"], 12, most=2
        )
    suffix = one_of(list(PACK), rng)
    packs = {part: in_a_pack(data, suffix, rng) for part, data in files.items()}
    names = {part: f"{part}{suffix}" for part in packs}
    for part, (packed, _) in packs.items():
        (place / names[part]).write_bytes(packed)

    def expect() -> Any:
        expected = twins.read_idx({part: content() for part, (_, content) in packs.items()})
        require(expected is not None, "not in the format")
        return expected

    def compare(got: Any, expected: Any) -> None:
        require(got.captions["caption"].tolist() == expected[1], "other labels")
        require(np.array_equal(got.X.toarray(), expected[0]), "other features")

    return Case(
        repr([packed for packed, _ in packs.values()]).encode(), lambda: idx.read(place, **names), expect, compare
    )


# Running

KINDS: dict[str, Callable[[Path, np.random.Generator], Case]] = {
    "captions.csv": partial(table_case, "captions.csv"),
    "splits.csv": partial(table_case, "splits.csv"),
    "config.yaml": settings_case,
    "libsvm": libsvm_case,
    "idx": idx_case,
}
ORDER = [*KINDS, "libsvm", "idx"]
ENDS = ("right", "refused", "traceback", "slow", "wrong")
FAILURES = ENDS[-3:]
FORK = multiprocessing.get_context("fork")


def kind_of(number: int) -> str:
    return ORDER[number % len(ORDER)]


def made(number: int, seed: int, place: Path) -> Case:
    """Return a random case, whose files are in a folder of their own."""
    (place / str(number)).mkdir()
    return KINDS[kind_of(number)](place / str(number), np.random.default_rng([seed, number]))


def judge_batch(numbers: list[int], seed: int, place: Path, parent: Connection) -> None:
    """Send the number of each case, how it ends, and why. Before a case runs, send its number alone."""
    at = numbers[0]

    try:
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        used = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, resource.RLIM_INFINITY))
        cases = {number: made(number, seed, place) for number in numbers}
        for number, case in cases.items():
            at = number
            parent.send((at, "", ""))
            parent.send((number, *judged(case)))
    except BaseException:
        parent.send((at, "traceback", traceback.format_exc()))


def run_batch(numbers: list[int], seed: int) -> Iterator[tuple[int, str, str]]:
    """Yield the number of each case, how it ends, and why. If a case ends the process, a new process runs the rest."""
    left = list(numbers)
    while left:
        at, failure = left[0], ("slow", f"more than {SECONDS} s")
        with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
            ours, theirs = FORK.Pipe(duplex=False)
            child = FORK.Process(target=judge_batch, args=(left, seed, Path(place), theirs))
            child.start()
            theirs.close()
            try:
                while ours.poll(SECONDS):
                    at, end, why = ours.recv()
                    if end:
                        left.remove(at)
                        yield at, end, why
            except EOFError:
                failure = ("traceback", "the process ended")
            child.kill()
            child.join()
        if at in left:
            left.remove(at)
            yield at, *failure


def make_album(place: Path) -> None:
    for i, one in enumerate(GOOD):
        Image.fromarray(np.random.default_rng(i).integers(0, 256, (20, 24), dtype=np.uint8)).save(place / one)


def table_of(counts: pd.DataFrame) -> str:
    """Format the counts of outcomes as a Markdown table."""
    rows = [["", *counts.columns], ["---"] * (1 + len(counts.columns))]
    rows += [[kind, *map(str, row)] for kind, row in zip(counts.index, counts.to_numpy(), strict=True)]
    return "".join(f"| {' | '.join(row)} |\n".replace("|  |", "| |") for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="run only the case with this number")
    arguments = parser.parse_args()
    counts = pd.DataFrame(0, index=list(KINDS), columns=list(ENDS))
    numbers = list(range(arguments.cases)) if arguments.only is None else [arguments.only]
    make_album(ALBUM)
    album = CHECK_PICTURES(ALBUM, GOOD, SMALLEST_SIDE, LONGEST_SIDE)
    folder.check_pictures = lambda *_: album  # checked only once, because this may start a process
    for start in range(0, len(numbers), CASES_AT_ONCE):
        for number, end, why in run_batch(numbers[start : start + CASES_AT_ONCE], arguments.seed):
            counts.loc[kind_of(number), end] += 1
            if end in FAILURES or arguments.only is not None:
                with tempfile.TemporaryDirectory() as place:
                    data = made(number, arguments.seed, Path(place)).data
                print(f"seed {arguments.seed}, case {number}, {kind_of(number)}, {end}: {why}\n{data!r}")
    print(table_of(counts))
    return int(counts[list(FAILURES)].to_numpy().any())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="fuzz-album-") as album:
        ALBUM = Path(album)
        sys.exit(main())

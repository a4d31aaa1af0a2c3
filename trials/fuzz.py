"""Read mutated tables, settings and samples as the pipeline does, and compare the results with slow, simple readers.

    python trials/fuzz.py --cases 1000 --seed 1

A table is read by a slow reader too, which must read or refuse the same. Samples that are accepted must be those that
scikit-learn or NumPy reads. Settings that are accepted must be the same after they are written to a file and read
again. The ways in which a case can end are listed in `harness.py`.
"""

import bz2
import gzip
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any
from unicodedata import normalize

import harness
import numpy as np
import yaml
from harness import require
from mutations import mutated
from PIL import Image
from sklearn.datasets import load_svmlight_file

from jointsparse.pipeline.app.plain_yaml import check_file
from jointsparse.pipeline.datasets import folder, idx, libsvm, photos
from jointsparse.pipeline.settings import Config
from jointsparse.pipeline.settings import read as read_settings

SMALLEST_SIDE, LONGEST_SIDE = 4, 40  # in pixels
Rng = np.random.Generator


class Bad(Exception):
    """Raised if a simple reader refuses its input."""


def need(holds: object, objection: str) -> None:
    if not holds:
        raise Bad(objection)


def one_of(things: Any, rng: Rng) -> Any:
    return things[rng.integers(len(things))]


def compare(read: Callable[[], Any], expect: Callable[[], Any], check: Callable[[Any, Any], None]) -> None:
    """Compare what the pipeline reads with what a simple reader reads, which raises Bad if it refuses the input."""
    try:
        got, refusal = read(), None
    except Exception as error:
        got, refusal = None, error
    try:
        expected, objection = expect(), None
    except Bad as error:
        expected, objection = None, error
    if refusal:
        require(objection or type(refusal) is not ValueError, f"refused: {refusal}")
        harness.refuse(refusal)
    require(not objection, str(objection))
    check(got, expected)


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


def mutated_table(text: str, rng: Rng) -> bytes:
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
        need(field is not None, "a quote is not closed, or text follows a closed quote")
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
    need(set(wanted) <= set(header) and len(set(header)) == len(header), "header")
    need(all(len(row) == len(header) for row in rows), "number of fields")
    need(not any(row[i].strip() == name for row in rows for i, name in enumerate(header)), "a second header")
    need(not any("\0" in field for row in rows for field in row), "NUL")
    need(all(len(field) <= 131_072 for row in [header, *rows] for field in row), "a field too long")
    return [tuple(row[header.index(name)] for name in wanted) for row in rows]


def second_album(captions: bytes, splits: bytes) -> tuple[dict[str, str], list[tuple[str, ...]], set[str]]:
    """Return the split and captions of each image in use, and what is left out. "drawn": training or validation."""
    all_rows = [
        (name.strip(), normalize("NFC", text).strip())
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
    need(known and len(split_of) == len(pairs), "two splits for one image, or an unknown one")
    there = {name: split for name, split in split_of.items() if name in GOOD}
    if "validation" not in there.values():
        there = {name: "drawn" if split == "train" else split for name, split in there.items()}
    captioned = {name for name, _ in rows}
    used = {name: there[name] for name in GOOD if name in there and (name in captioned or there[name] == "unlabelled")}
    need(bool({"train", "drawn"} & set(used.values())), "no training image")
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


def table(name: str, rng: Rng, place: Path) -> None:
    """Mutate one of the tables of an album."""
    files = {name: text.encode() for name, text in TABLES.items()} | {name: mutated_table(TABLES[name], rng)}
    for file, data in files.items():
        (place / file).write_bytes(data)
    (place / "images").symlink_to(ALBUM)
    compare(
        lambda: photos.read(place, splits="splits.csv", smallest_side=SMALLEST_SIDE, longest_side=LONGEST_SIDE),
        lambda: second_album(files["captions.csv"], files["splits.csv"]),
        compare_albums,
    )


# Settings

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
NUMBERS = ["0", "1", "2", "3", "6", "7", "30", "0.5", "1.5", "-2"]
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
CONFIG = (Path(__file__).parents[1] / "config.yaml").read_text(encoding="utf-8")


def replaced(text: str, pattern: str, new: list[str], rng: Rng) -> str:
    """Replace a random match of `pattern`, if there is one."""
    matches = list(re.finditer(pattern, text)) or list(re.finditer("$", text))
    start, end = one_of(matches, rng).span()
    return text[:start] + one_of(new, rng) + text[end:]


def changed_line(key: str, value: str, lines: list[str], rng: Rng) -> list[str]:
    """Return the lines that replace a line with this key (including its colon) and value."""
    match rng.integers(9):
        case 0:
            return [f"{key} {one_of(ODD, rng)}"]
        case 1:
            return [key + replaced(value, r"[\w.]+", ODD, rng)]
        case 2:
            return [one_of(lines, rng), key + value]
        case 3:
            return []
        case 4:
            return [replaced(key, "(?=:?$)", ["x", " ", "'", "_", "\t"], rng) + value]
        case 5:
            return [" " * int(rng.integers(9)) + (key + value).strip()]
    return [key + replaced(value, r"[\d.]+", NUMBERS, rng)]  # most of these changes are accepted


def settings(rng: Rng, place: Path) -> None:
    """Mutate the settings. What is accepted must be the same after it is written to a file and read again."""
    lines = CONFIG.splitlines()
    for _ in range(rng.integers(1, 3)):
        at = int(rng.integers(len(lines)))
        lines[at : at + 1] = changed_line(*re.fullmatch("([^:]*:?)(.*)", lines[at]).groups(), lines, rng)
    data = "\n".join(lines).encode() + b"\n"
    (place / "config.yaml").write_bytes(mutated(data, rng, PIECES_OF_YAML, len(data)) if rng.random() < 0.3 else data)
    try:
        config = loaded(place / "config.yaml")
        read = read_settings(config)
    except Exception as error:
        harness.refuse(error)
    (place / "again.yaml").write_text(yaml.safe_dump(read.given()), encoding="utf-8")
    require(Config.model_validate(loaded(place / "again.yaml")) == read, "not the same after reading again")


def loaded(file: Path) -> Any:
    """Read a file of settings in the way of Snakemake, after the check."""
    check_file(file)
    text = file.read_text(encoding="utf-8")
    try:
        return json.loads(text)
    except ValueError:
        return yaml.load(text, Loader=yaml.FullLoader)


# Samples with features

PACK = {"": bytes, ".gz": partial(gzip.compress, mtime=0), ".bz2": bz2.compress}
UNPACK = {"": bytes, ".gz": gzip.decompress, ".bz2": bz2.decompress}
LIBSVM = b"3,17 1:0.5 4:-2e-1\n 2:1\n17 1:.25 3:3.\t5:1e3\n3\n-1,0 5:+7 # a comment\n"
LABELS = ["3", "17", "+1", "-1", "1.0", "007", "0", "9007199254740990", "9007199254740991"]
ODD_IN_SAMPLES = [
    *b"nan inf 1e39 1e-60 1_0 0 -0 007 2147483648 qid +3 1.0 : , # ; \r \v \t \n \0 \xff \xe9 - . e E _".split(b" "),
    b"0.99999999999999999999",
    *(b" ", *re.split(rb"[ \t\n,:]", LIBSVM), *LIBSVM.splitlines(keepends=True)),
]


def written(place: Path, files: dict[str, bytes], pieces: list[bytes], header: int, rng: Rng) -> tuple[str, bool]:
    """Write files, and usually damage one of them. Return their suffix, and whether all are undamaged."""
    suffix, damaged = one_of(list(PACK), rng), one_of([*files, None], rng)
    for name, data in files.items():
        if name == damaged:
            data = mutated(data, rng, pieces, header, most=2)
        packed = PACK[suffix](data)
        if name == damaged and suffix and rng.random() < 0.2:
            packed = mutated(packed, rng, [b"\0", b"\xff", packed])
        (place / f"{name}{suffix}").write_bytes(packed)
    return suffix, damaged is None


def samples_of(read: Callable[[], Any], whole: bool) -> Any:
    """Return the samples that are read. Undamaged files must not be refused."""
    try:
        return read()
    except Exception as error:
        require(not whole, f"refused: {error}")
        harness.refuse(error)


def drawn_line(rng: Rng) -> str:
    """Draw a sample and return its line in LIBSVM format."""
    labels = ",".join(one_of(LABELS, rng) for _ in range(rng.integers(3)))
    columns = np.flatnonzero(rng.random(12) < 0.4) + one_of((1, 1, 100, 2**31 - 13), rng)
    values = rng.normal(size=len(columns)) * 10.0 ** rng.integers(-40, 38)
    gap, style = one_of([" ", "\t", "  "], rng), one_of([".3g", ".17g", ".9e", "+.4f", ".0f"], rng)
    features = "".join(f"{gap}{column}:{value:{style}}" for column, value in zip(columns, values, strict=True))
    return (labels or " ") + features + one_of(["\n", "\r\n", " # a comment\n"], rng)


def libsvm_file(rng: Rng, place: Path) -> None:
    """Compare with the reader of scikit-learn, which accepts more."""
    lines = "".join(drawn_line(rng) for _ in range(rng.integers(1, 6))) + "3 1:1\n"
    suffix, whole = written(place, {"data": lines.encode()}, ODD_IN_SAMPLES, 64, rng)
    got = samples_of(lambda: libsvm.read(place, train=f"data{suffix}", fractions={"train": 1.0}), whole)
    content = UNPACK[suffix]((place / f"data{suffix}").read_bytes())
    X, labels = load_svmlight_file(BytesIO(content), dtype=np.float32, multilabel=True, zero_based=False)
    given = got.captions.groupby("image")["caption"].agg(set).to_dict()
    own = [given.get(image, set()) for image in got.images["image"]]
    require(own == [{str(int(label)) for label in some} for some in labels], "other labels")
    require(got.X.shape == X.shape and (got.X != X).nnz == 0, "other features")


def idx_file(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.astype(np.uint8).tobytes()


def idx_array(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(np.frombuffer(data, ">u4", data[3], 4))


def idx_files(rng: Rng, place: Path) -> None:
    shape = rng.integers(1, 4, rng.integers(1, 4))
    sizes = {split: rng.integers(1, 5) for split in ("train", "test")}
    files = {f"{split}_images": idx_file(rng.integers(0, 100, (n, *shape))) for split, n in sizes.items()}
    files |= {f"{split}_labels": idx_file(rng.integers(0, 100, n)) for split, n in sizes.items()}
    pieces = [b"\0", b"\0\0\0\1", b"\xff", b"\x7f\xc0\0\0", b"\x08", b"\x0e"]
    suffix, whole = written(place, files, pieces, 12, rng)
    names = {part: f"{part}{suffix}" for part in files}
    got = samples_of(lambda: idx.read(place, **names), whole)
    arrays = {part: idx_array(UNPACK[suffix]((place / name).read_bytes())) for part, name in names.items()}
    X = np.concatenate([arrays[f"{split}_images"] for split in sizes])
    labels = np.concatenate([arrays[f"{split}_labels"] for split in sizes])
    require(got.captions["caption"].tolist() == [*map(str, labels)], "other labels")
    require(
        np.array_equal(got.X.toarray(), (X / np.float32(255)).reshape(len(X), -1).astype(np.float32)), "other features"
    )


KINDS = {
    "captions.csv": partial(table, "captions.csv"),
    "splits.csv": partial(table, "splits.csv"),
    "config.yaml": settings,
    "libsvm": libsvm_file,
    "idx": idx_files,
}

if __name__ == "__main__":
    given = harness.parser(__doc__, 8_000).parse_args()
    with tempfile.TemporaryDirectory(prefix="fuzz-album-") as temporary:
        ALBUM = Path(temporary)
        for i, name in enumerate(GOOD):
            Image.fromarray(np.random.default_rng(i).integers(0, 256, (20, 24), dtype=np.uint8)).save(ALBUM / name)
        album = folder.check_pictures(ALBUM, GOOD, SMALLEST_SIDE, LONGEST_SIDE)
        folder.check_pictures = lambda *_: album  # checked only once, because this may start a process
        sys.exit(harness.run(KINDS, given, seconds=20, gigabytes=3))

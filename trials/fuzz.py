"""Read mutated captions, settings and samples as the pipeline does, and compare the results with other readers.

    python trials/fuzz.py --cases 1000 --seed 1

A slow reader must read or refuse the same captions. Samples in LIBSVM format that are accepted must be those that
scikit-learn reads. Settings that are accepted must be the same after they are written to a file and read again. The
ways in which a case can end are listed in `harness.py`.
"""

import bz2
import gzip
import re
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any
from unicodedata import normalize

import harness
import numpy as np
import yaml
from harness import mutated, one_of, require
from PIL import Image
from sklearn.datasets import load_svmlight_file

from jointsparse.pipeline.app.plain_yaml import load_file
from jointsparse.pipeline.datasets import folder, libsvm, photos
from jointsparse.pipeline.settings import Config
from jointsparse.pipeline.settings import read as read_settings

SMALLEST_SIDE, LONGEST_SIDE = 4, 40  # in pixels
Rng = np.random.Generator


class Bad(Exception):
    """Raised if a simple reader refuses its input."""


def need(holds: object, objection: str) -> None:
    if not holds:
        raise Bad(objection)


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
        require(objection or not isinstance(refusal, ValueError), f"refused: {refusal}")
        harness.refuse(refusal)
    require(not objection, str(objection))
    check(got, expected)


# Tables

GOOD = [f"{i:03}.png" for i in range(5)]  # the pictures of the album
SPLITS = dict(zip(GOOD, ("train", "train", "validation", "test", "unlabelled"), strict=True))
CAPTIONS = "image,caption\n" + "".join(
    f'{name},A dog number {i}.\n{name},"A cat, or ""kitten"", é\nin two lines."\n' for i, name in enumerate(GOOD)
)
TEXTS = [
    *b"""\
" "" , ; ' \\ = \0 \xef\xbb\xbf \xff \xe9 \xed\xa0\x80 e\xcc\x81 \xe2\x80\xa8 \x1c \xc2\x85 \xc2\xa0 =cmd|'/C'!A1 \
../000.png /etc/passwd ./000.png 000.png train $x^2$ <script>""".split(b" "),
    *(b"\n", b"\r", b"\r\n", b"\t", b" ", b"003.png,test\n", b"a" * 140_000),
]
ROW_CHANGES = [  # functions of two lines b and a that return the new lines
    lambda b, a: (a, b),
    lambda b, a: (b, b + a),
    lambda b, a: (b, ",".join(reversed(a.split(",")))),
    lambda b, a: (b, a.replace(",", ', "').replace("\n", '"\n')),  # a space before a quote
]
# Spaces, a quoted or a plain field, and the character that ends it.
FIELD = re.compile(r' *+(?:"((?:[^"]|"")*+)"|(?!")([^,\r\n]*))(,|[\r\n]|\Z)')


def mutated_captions(rng: Rng) -> bytes:
    lines = CAPTIONS.splitlines(keepends=True)
    for _ in range(rng.integers(2)):
        a, b = rng.integers(len(lines), size=2)
        lines[b], lines[a] = one_of(ROW_CHANGES, rng)(lines[b], lines[a])
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


def second_captions(data: bytes) -> list[tuple[str, str]]:
    """Return the image and the text of each caption."""
    header, *rows = second_csv(data)
    header, rows = [name.strip() for name in header], [row for row in rows if row]
    need({"image", "caption"} <= set(header) and len(set(header)) == len(header), "header")
    need(all(len(row) == len(header) for row in rows), "number of fields")
    need(not any(row[i].strip() == name for row in rows for i, name in enumerate(header)), "a second header")
    need(not any("\0" in field for row in rows for field in row), "NUL")
    need(all(len(field) <= 131_072 for row in [header, *rows] for field in row), "a field too long")
    image, caption = header.index("image"), header.index("caption")
    pairs = [(row[image].strip(), normalize("NFC", row[caption]).strip()) for row in rows]
    need(any(name in GOOD[:2] and text for name, text in pairs), "no training image")
    return [pair for pair in pairs if pair[1]]


def check_album(got: Any, rows: list[tuple[str, str]]) -> None:
    """Check the images, the captions and what is left out."""
    used = [name for name in GOOD if name == GOOD[-1] or name in dict(rows)]  # the last picture is unlabelled
    splits = list(zip(got.images["image"], got.images["split"], strict=True))
    require(splits == [(name, SPLITS[name]) for name in used], f"images {splits}, expected {used}")
    captions, once = got.captions.to_records(index=False).tolist(), dict.fromkeys(row for row in rows if row[0] in used)
    require(captions == sorted(once, key=lambda row: row[0]), "other captions")
    left_out = ({*GOOD, *dict(rows)} - {*used}) | {
        f"{row[0]} (repeated caption)" for row in rows if rows.count(row) > 1
    }
    reasons = dict(zip(got.left_out["item"], got.left_out["reason"], strict=True))
    require(set(reasons) == left_out and all(reasons.values()), f"left out {reasons}, expected {sorted(left_out)[:9]}")


def captions(rng: Rng, place: Path) -> None:
    data = mutated_captions(rng)
    (place / "captions.csv").write_bytes(data)
    (place / "splits.csv").write_text("image,split\n" + "".join(f"{name},{s}\n" for name, s in SPLITS.items()))
    (place / "images").symlink_to(ALBUM)
    compare(
        lambda: photos.read(place, splits="splits.csv", smallest_side=SMALLEST_SIDE, longest_side=LONGEST_SIDE),
        lambda: second_captions(data),
        check_album,
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


def mutated_settings(rng: Rng) -> bytes:
    lines = CONFIG.splitlines()
    for _ in range(rng.integers(1, 3)):
        at, odd, number = int(rng.integers(len(lines))), one_of(ODD, rng), one_of(NUMBERS, rng)
        line = lines[at]
        key, value = re.fullmatch("([^:]*:?)(.*)", line).groups()
        changes = [
            [f"{key} {odd}"],
            [key + re.sub(r"[\w.]+", lambda _, odd=odd: odd, value, count=1)],
            [one_of(lines, rng), line],
            [],
            [re.sub("(?=:?$)", one_of(["x", " ", "'", "_", "\t"], rng), key, count=1) + value],
            [" " * int(rng.integers(9)) + line.strip()],
            *[[key + re.sub(r"[\d.]+", number, value, count=1)]] * 3,  # most of these changes are accepted
        ]
        lines[at : at + 1] = one_of(changes, rng)
    data = "\n".join(lines).encode() + b"\n"
    return mutated(data, rng, PIECES_OF_YAML, len(data)) if rng.random() < 0.3 else data


def settings(rng: Rng, place: Path) -> None:
    """Mutate the settings. What is accepted must be the same after it is written to a file and read again."""
    (place / "config.yaml").write_bytes(mutated_settings(rng))
    try:
        read = read_settings(loaded(place / "config.yaml"))
    except Exception as error:
        harness.refuse(error)
    (place / "again.yaml").write_text(yaml.safe_dump(read.given()), encoding="utf-8")
    require(Config.model_validate(loaded(place / "again.yaml")) == read, "not the same after reading again")


def loaded(file: Path) -> Any:
    """Read a file of settings in the way of Snakemake, after the check."""
    load_file(file)
    return yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.FullLoader)


# Samples

PACK = {"": bytes, ".gz": partial(gzip.compress, mtime=0), ".bz2": bz2.compress}
UNPACK = {"": bytes, ".gz": gzip.decompress, ".bz2": bz2.decompress}
LIBSVM = b"3,17 1:0.5 4:-2e-1\n 2:1\n17 1:.25 3:3.\t5:1e3\n3\n-1,0 5:+7 # a comment\n"
LABELS = ["3", "17", "+1", "-1", "1.0", "007", "0", "9007199254740990", "9007199254740991"]
ODD_IN_SAMPLES = [
    *b"nan inf 1e39 1e-60 1_0 0 -0 007 2147483648 qid +3 1.0 : , # ; \r \v \t \n \0 \xff \xe9 - . e E _".split(b" "),
    b"0.99999999999999999999",
    *(b" ", *re.split(rb"[ \t\n,:]", LIBSVM), *LIBSVM.splitlines(keepends=True)),
]


def drawn_line(rng: Rng) -> str:
    """Draw a sample and return its line in LIBSVM format."""
    labels = ",".join(one_of(LABELS, rng) for _ in range(rng.integers(3)))
    columns = np.flatnonzero(rng.random(12) < 0.4) + one_of((1, 1, 100, 2**31 - 13), rng)
    values = rng.normal(size=len(columns)) * 10.0 ** rng.integers(-40, 38)
    gap, style = one_of([" ", "\t", "  "], rng), one_of([".3g", ".17g", ".9e", "+.4f", ".0f"], rng)
    features = "".join(f"{gap}{column}:{value:{style}}" for column, value in zip(columns, values, strict=True))
    return (labels or " ") + features + one_of(["\n", "\r\n", " # a comment\n"], rng)


def samples(rng: Rng, place: Path) -> None:
    """Compare with the reader of scikit-learn, which accepts more. Files that are whole must not be refused."""
    data = ("".join(drawn_line(rng) for _ in range(rng.integers(1, 6))) + "3 1:1\n").encode()
    suffix, damaged = one_of(list(PACK), rng), rng.random() < 0.7
    packed = PACK[suffix](mutated(data, rng, ODD_IN_SAMPLES, most=2) if damaged else data)
    if damaged and suffix and rng.random() < 0.2:
        packed = mutated(packed, rng, [b"\0", b"\xff", packed])
    (place / f"data{suffix}").write_bytes(packed)
    try:
        got = libsvm.read(place, train=f"data{suffix}", fractions={"train": 1.0})
    except Exception as error:
        require(damaged, f"refused: {error}")
        harness.refuse(error)
    X, labels = load_svmlight_file(BytesIO(UNPACK[suffix](packed)), dtype=np.float32, multilabel=True, zero_based=False)
    given = got.captions.groupby("image")["caption"].agg(set).to_dict()
    own = [given.get(image, set()) for image in got.images["image"]]
    require(own == [{str(int(label)) for label in some} for some in labels], "other labels")
    require(got.X.shape == X.shape and (got.X != X).nnz == 0, "other features")


KINDS = {"captions": captions, "settings": settings, "libsvm": samples}

if __name__ == "__main__":
    given = harness.parser(__doc__, 8_000).parse_args()
    with tempfile.TemporaryDirectory(prefix="fuzz-album-") as temporary:
        ALBUM = Path(temporary)
        for i, name in enumerate(GOOD):
            Image.fromarray(np.random.default_rng(i).integers(0, 256, (20, 24), dtype=np.uint8)).save(ALBUM / name)
        album = folder.check_pictures(ALBUM, GOOD, SMALLEST_SIDE, LONGEST_SIDE)
        folder.check_pictures = lambda *_: album  # checked only once, because this may start a process
        sys.exit(harness.run(KINDS, given, seconds=20, gigabytes=3))

"""Files in the text format of LIBSVM and SVMlight, plain, .gz or .bz2: one sample per line, labels and features.

3,17 12:0.1 845:0.25    # labels 3 and 17; feature 12 is 0.1; what follows a # is a comment
 12:0.3                 # begins with a space: no label
+1 7:1e-2               # a single label
"""

import bz2
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from scipy import sparse

from jointsparse.datasets.samples import Samples, find, gather
from jointsparse.datasets.splits import FRACTIONS, draw_splits

OFFERS = "samples"
FILES = ("train", "validation", "test", "topics")  # the options that name files
TAKES = ("root", *FILES, "index_base", "n_features", "fractions", "validation_fraction", "seed")
NEEDS = ("root", "train")

# Possessive throughout (++, *+, ?+): where a line stops to match, there is its first mistake, found in linear time.
LABEL = rb"[+-]?+\d{1,18}+(?:\.0*+)?+"
NUMBER = rb"[+-]?+(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?+\d++)?+"
LINE = re.compile(rb"((?:%b(?:,%b)*+)?+)((?:[ \t]++\d++:%b)*+)[ \t]*+" % (LABEL, LABEL, NUMBER))

MOST_FEATURES = 2**31 - 1  # what SciPy's 32-bit column numbers can count
LONGEST_LINE = 2**28  # bytes; a packed file that unpacks to a line without end does not fill the memory


class Row(NamedTuple):
    """A line of a file that holds a sample: its labels, the columns of its features (from 0) and their values."""

    labels: list[int]
    columns: np.ndarray
    values: np.ndarray


def read(
    root: str | Path,
    *,
    train: str,
    validation: str | None = None,
    test: str | None = None,
    topics: str | None = None,
    index_base: int = 1,
    n_features: int | None = None,
    fractions: Mapping[str, float] = FRACTIONS,
    validation_fraction: float = 0.2,
    seed: int = 0,
) -> Samples:
    """Read and check samples with given features and any number of labels each.

    root: the folder of the files. train, validation, test: their names; .gz and .bz2 are unpacked on the way.
    topics: a file of label names, UTF-8: number and name in the first two columns, split at white space; without it a
    label's name is its number ("+1" and "1.0" are "1"). index_base: the number of the first feature, 1 (usual) or 0.
    n_features: columns of X; None: as many as the largest index of all files asks for. fractions: the splits to draw
    from train where there is no test file. validation_fraction: the part of train that becomes validation where there
    is no validation file. seed: of these draws.

    A sample is named by file and line: "train:17" is line 17 of the file `train`, whatever split it was drawn into.
    Samples without label stay. Of labels +1 and -1 both become words: where one is enough, the other is a stop word.
    Empty lines and a label's repetitions within a line are left out and listed; lines that hold only a comment are not
    listed. Raises ValueError, with file and line, where a line is not as described above: labels that are not whole
    numbers, indices that do not increase, values that are not finite in float32, query ids (qid); and where a packed
    file is damaged or cut off.
    """
    if index_base not in (0, 1):
        raise ValueError(f"index_base must be 0 or 1, got {index_base!r}")
    if n_features is not None and not (isinstance(n_features, int) and 1 <= n_features <= MOST_FEATURES):
        raise ValueError(f"n_features must be a whole number from 1 to {MOST_FEATURES}, got {n_features!r}")
    if validation and not test:
        raise ValueError(f"test must name a file where validation does, got test={test!r}, validation={validation!r}")
    if not 0 <= validation_fraction < 1:
        raise ValueError(f"validation_fraction must be at least 0 and below 1, got {validation_fraction!r}")
    folder = Path(root)
    names = _label_names(find(folder, "topics", topics)) if topics else None
    given: dict[str, str] = {}
    labels: list[list[str]] = []
    left_out: dict[str, str] = {}
    columns, values = [np.empty(0, np.int32)], [np.empty(0, np.float32)]
    for split, file in (("train", train), ("validation", validation), ("test", test)):
        if not file:
            continue
        path = find(folder, split, file)
        for number, row in _rows(path, index_base=index_base, most_features=n_features or MOST_FEATURES):
            sample = f"{split}:{number}"
            if row is None:
                left_out[sample] = "an empty line"
                continue
            unnamed = [label for label in row.labels if names is not None and label not in names]
            if unnamed:
                raise ValueError(f"{path} line {number}: expected labels that {topics} names, got {unnamed[0]}")
            # Choice: a label that a line repeats counts once; Reuters-21578 has such lines.
            once = list(dict.fromkeys(row.labels))
            if len(once) < len(row.labels):
                left_out[sample + " (repeated labels)"] = f"expected each label once, got {row.labels}"
            given[sample] = split
            labels.append([names[label] if names is not None else str(label) for label in once])
            columns.append(row.columns)
            values.append(row.values)

    indices = np.concatenate(columns)
    n_columns = n_features or int(indices.max(initial=-1)) + 1
    if "train" not in given.values() or not n_columns:
        raise ValueError(f"{folder / train} must hold at least one sample with features, got none")
    ends = np.cumsum([len(row) for row in columns])  # the first entry is no sample
    X = sparse.csr_matrix((np.concatenate(values), indices, ends), shape=(len(given), n_columns))
    X.eliminate_zeros()

    rng = np.random.default_rng(seed)
    splits = dict(given)
    if not test:
        splits = draw_splits(list(given), fractions, rng)
    elif not validation:
        of_train = [sample for sample in given if given[sample] == "train"]
        parts = {"train": 1 - validation_fraction, "validation": validation_fraction}
        splits |= draw_splits(of_train, parts, rng)
    return gather(splits, labels, left_out, X)


def _rows(path: Path, *, index_base: int, most_features: int) -> Iterator[tuple[int, Row | None]]:
    """Line numbers (from 1) and samples of a file, None for an empty line."""
    number = 0
    try:
        with _open(path) as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
                where = f"{path} line {number}"
                if len(line) > LONGEST_LINE:
                    raise ValueError(f"{where}: expected at most {LONGEST_LINE} bytes, got more")
                text, comment, _ = line.partition(b"#")
                text = text.rstrip(b"\r\n")
                if text.strip(b" \t"):
                    yield number, _parse(text, where, index_base=index_base, most_features=most_features)
                elif not comment:
                    yield number, None
    except (OSError, EOFError, zlib.error) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(
            f"{path} must be a whole file, got one that is damaged after line {number}: {reason}"
        ) from None


def _parse(text: bytes, where: str, *, index_base: int, most_features: int) -> Row:
    """One sample from its line, which must match `LINE` as a whole."""
    match = cast(re.Match[bytes], LINE.match(text))  # nothing at all matches too
    if match.end() < len(text):
        start = max(text.rfind(separator, 0, match.end()) for separator in (b" ", b"\t")) + 1
        got = _quote(re.split(rb"[ \t]", text[max(start, match.end() - 40) :], maxsplit=1)[0])
        if start == 0:
            raise ValueError(
                f"{where}: expected whole numbers such as 3,17 as labels (a line without label begins with a space), "
                f"got {got}"
            )
        hint = " (ranking is not supported)" if text[start:].startswith(b"qid:") else ""
        raise ValueError(f"{where}: expected index:value such as 12:0.5 with a finite value, got {got}{hint}")

    labels = [int(label.partition(b".")[0]) for label in match[1].split(b",") if label]
    if not match[2]:
        return Row(labels, np.empty(0, np.int32), np.empty(0, np.float32))
    numbers = np.fromstring(match[2].replace(b":", b" "), sep=" ")
    columns = numbers[::2] - index_base
    bad = np.flatnonzero((columns < 0) | (columns >= most_features))
    if len(bad):
        last = most_features - 1 + index_base
        hint = " (a file that counts from 0 needs index_base: 0)" if columns[bad[0]] < 0 else ""
        raise ValueError(
            f"{where}: expected indices from {index_base} to {last}, got {_quote(_feature(match[2], bad[0]))}{hint}"
        )
    bad = np.flatnonzero(np.diff(columns) <= 0)
    if len(bad):
        pair = b" ".join(_feature(match[2], bad[0] + i) for i in range(2))
        raise ValueError(f"{where}: expected indices that increase, got {_quote(pair)}")
    with np.errstate(over="ignore"):
        values = numbers[1::2].astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(f"{where}: expected values that float32 can hold, got {_quote(_feature(match[2], bad[0]))}")
    return Row(labels, columns.astype(np.int32), values)


def _feature(features: bytes, i: int) -> bytes:
    """The i-th index:value of a line."""
    return features.split()[i]


def _quote(text: bytes) -> str:
    """The beginning of `text` in quotes, unprintable bytes escaped."""
    return repr(text[:80])[1:]


def _label_names(path: Path) -> dict[int, str]:
    """{label: name} from a file with both in its first two columns."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be UTF-8 text, got byte {error.object[error.start]:#04x} in it") from None
    names: dict[int, str] = {}
    for number, line in enumerate(lines, start=1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) < 2 or not re.fullmatch(LABEL, fields[0].encode()):
            raise ValueError(f"{path} line {number}: expected a label's number and its name, got {line[:80]!r}")
        label, name = int(fields[0].partition(".")[0]), fields[1]
        if label in names or name in names.values():
            raise ValueError(f"{path} line {number}: expected each label and each name once, got {line[:80]!r}")
        names[label] = name
    return names


def _open(path: Path) -> BinaryIO | io.BufferedReader | gzip.GzipFile:
    """The bytes of a file, unpacked as its name says."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.open(path)
    if suffix == ".bz2":
        return io.BufferedReader(_Bz2(path), 2**16)
    return path.open("rb")


class _Bz2(io.RawIOBase):
    """A bz2 file unpacked. Unlike `bz2.open`, which ends there without a word, it refuses what is no further stream."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("rb")
        self.unpacker = bz2.BZ2Decompressor()

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        piece = b""
        while True:
            if self.unpacker.eof:
                piece = self.unpacker.unused_data or self.file.read(2**16)
                if not piece:
                    return 0
                self.unpacker = bz2.BZ2Decompressor()
            elif self.unpacker.needs_input:
                piece = self.file.read(2**16)
                if not piece:
                    raise EOFError("the file ends within a stream")
            data = self.unpacker.decompress(piece, len(buffer))
            piece = b""
            if data:
                buffer[: len(data)] = data
                return len(data)

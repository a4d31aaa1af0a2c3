"""Files in the text format of LIBSVM and SVMlight, plain, .gz or .bz2: one sample a line, labels and features.

```
3,17 12:0.1 845:0.25    # labels 3 and 17; feature 12 is 0.1; a comment begins with #
 12:0.3                 # begins with a space: no label
+1 7:1e-2               # a single label
```
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import sparse

from jointsparse.checks import require, require_count
from jointsparse.datasets.packed import COMPRESSION_RATIO, opened
from jointsparse.datasets.samples import Samples, find, gather
from jointsparse.datasets.splits import FRACTIONS, draw_splits, set_validation_aside

OFFERS = "samples"
FILES = ("train", "validation", "test", "topics", "vocabulary")  # the options that name files
TAKES = (
    *("root", *FILES, "compression_ratio", "index_base", "n_features"),
    *("fractions", "validation_fraction", "seed"),
)
NEEDS = ("root", "train")

# Possessive throughout (++, *+, ?+): matching stops at a line's first mistake, in linear time.
LABEL = rb"[+-]?+\d{1,18}+(?:\.0*+)?+"
NUMBER = rb"[+-]?+(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?+\d++)?+"
LINE = re.compile(rb"((?:%b(?:,%b)*+)?+)((?:[ \t]++\d++:%b)*+)[ \t]*+" % (LABEL, LABEL, NUMBER))

MOST_FEATURES = 2**31 - 1  # SciPy's 32-bit column numbers count no further
LONGEST_LINE_BYTES = 2**28  # a packed file that unpacks to a line without end does not fill the memory


class Row(NamedTuple):
    """A sample as its line gives it: labels, columns of its features (from 0) and their values."""

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
    vocabulary: str | None = None,
    compression_ratio: float = COMPRESSION_RATIO,
    index_base: int = 1,
    n_features: int | None = None,
    fractions: Mapping[str, float] = FRACTIONS,
    validation_fraction: float = 0.2,
    seed: int = 0,
) -> Samples:
    """Read and check samples with given features and any number of labels each.

    A sample is named by file and line. "train:17" is line 17 of the file `train`, whatever split it was drawn into.
    Samples without label stay. Labels +1 and -1 both become words. Where one is enough, make the other a stop word.
    Empty lines and a label's repetitions within a line are left out and listed. Lines that hold only a comment are not
    listed.

    Parameters
    ----------
    root : path
        Folder of the files.
    train : str
        File of the training samples. A name that ends in .gz or .bz2 is that of a packed file, here and below.
    validation : str or None
        File of the validation samples.
    test : str or None
        File of the test samples.
    topics : str or None
        File of label names, UTF-8: number and name in the first two columns, split at white space. Without it a
        label's name is its number ("+1" and "1.0" are "1").
    vocabulary : str or None
        File of the features' names: see `feature_names`.
    compression_ratio : float above 0
        Times its size that a packed file may unpack to. 64 KiB are never too much.
    index_base : int, 1 or 0
        Number of the first feature. 1 is usual.
    n_features : int or None
        Columns of X. None: the largest index of all files decides.
    fractions : mapping
        Split to its part of train, from 0 to 1, where there is no test file.
    validation_fraction : float, from 0 to below 1
        Part of train that becomes validation where there is a test file, but no validation file.
    seed : int
        Seed of these draws.

    Returns
    -------
    samples : Samples

    Raises
    ------
    ValueError
        With file and line, if a label is not a whole number, indices do not increase, or a value is not finite in
        float32. If there is a query id (qid), or if a packed file is damaged, cut off or too long.
    """
    _require_options(validation, test, index_base, n_features)
    folder = Path(root)
    given = {"train": train, "validation": validation, "test": test}
    files = {split: find(folder, split, file) for split, file in given.items() if file}
    names = _label_names(find(folder, "topics", topics)) if topics else None
    splits: dict[str, str] = {}
    left_out: dict[str, str] = {}
    labels: list[list[str]] = []
    rows: list[Row] = []
    for split, path in files.items():
        for number, row in _rows(path, compression_ratio, index_base, n_features or MOST_FEATURES):
            sample = f"{split}:{number}"
            if row is None:
                left_out[sample] = "an empty line"
                continue
            # Choice: a label that a line repeats counts once; Reuters-21578 has such lines.
            once = list(dict.fromkeys(row.labels))
            if len(once) < len(row.labels):
                left_out[sample + " (repeated labels)"] = f"expected each label once, got {row.labels}"
            labels.append(_named(once, names, f"{path} line {number}: expected labels that {topics} names"))
            splits[sample] = split
            rows.append(row)

    X = _matrix(rows, n_features)
    require(
        "train" in splits.values() and X.shape[1],
        f"{files['train']} must hold at least one sample with features, got none",
    )
    rng = np.random.default_rng(seed)
    if not test:
        splits = draw_splits(list(splits), fractions, rng)
    elif not validation:
        splits = set_validation_aside(splits, validation_fraction, rng)
    return gather(splits, labels, left_out, X)


def feature_names(root: str | Path, *, vocabulary: str | None = None, **options: Any) -> list[str]:
    """Names of the features, such as the words of documents: a line of UTF-8 each. No file, no names."""
    if not vocabulary:
        return []
    return find(Path(root), "vocabulary", vocabulary).read_text(encoding="utf-8", errors="replace").split("\n")


def _require_options(validation: str | None, test: str | None, index_base: int, n_features: int | None) -> None:
    require(index_base in (0, 1), f"index_base must be 0 or 1, got {index_base!r}")
    if n_features is not None:
        require_count(n_features, "n_features", MOST_FEATURES)
    require(
        test or not validation,
        f"test must name a file where validation does, got test={test!r}, validation={validation!r}",
    )


def _named(labels: list[int], names: Mapping[int, str] | None, expected: str) -> list[str]:
    """The names of a sample's labels, their numbers where no file names them."""
    if names is None:
        return [str(label) for label in labels]
    unnamed = [label for label in labels if label not in names]
    if unnamed:
        raise ValueError(f"{expected}, got {unnamed[0]}")
    return [names[label] for label in labels]


def _matrix(rows: list[Row], n_features: int | None) -> sparse.csr_matrix:
    """The samples' features, csr (n_samples, n_features) float32, without stored zeros."""
    indices = np.concatenate([np.empty(0, np.int32), *(row.columns for row in rows)])
    values = np.concatenate([np.empty(0, np.float32), *(row.values for row in rows)])
    ends = np.cumsum([0, *(len(row.columns) for row in rows)])
    X = sparse.csr_matrix((values, indices, ends), shape=(len(rows), n_features or int(indices.max(initial=-1)) + 1))
    X.eliminate_zeros()
    return X


def _rows(
    path: Path, compression_ratio: float, index_base: int, most_features: int
) -> Iterator[tuple[int, Row | None]]:
    """Line numbers (from 1) and samples of a file, None for an empty line."""
    number = 0
    with opened(path, lambda: f" after line {number}", compression_ratio) as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE_BYTES + 1), b""), start=1):
            where = f"{path} line {number}"
            if len(line) > LONGEST_LINE_BYTES:
                raise ValueError(f"{where}: expected at most {LONGEST_LINE_BYTES} bytes, got more")
            text, comment, _ = line.partition(b"#")
            text = text.rstrip(b"\r\n")
            if text.strip(b" \t"):
                yield number, _parse(text, where, index_base, most_features)
            elif not comment:
                yield number, None


def _parse(text: bytes, where: str, index_base: int, most_features: int) -> Row:
    """One sample from its line, which must match `LINE` as a whole."""
    match = cast(re.Match[bytes], LINE.match(text))  # an empty text matches too
    if match.end() < len(text):
        raise ValueError(f"{where}: expected {_mistake(text, match.end())}")
    labels = [int(label.partition(b".")[0]) for label in match[1].split(b",") if label]
    numbers = np.fromstring(match[2].replace(b":", b" "), sep=" ") if match[2] else np.empty(0)
    columns = numbers[::2] - index_base
    for bad in np.flatnonzero((columns < 0) | (columns >= most_features))[:1]:
        hint = " (a file that counts from 0 needs index_base: 0)" if columns[bad] < 0 else ""
        last = most_features - 1 + index_base
        raise ValueError(
            f"{where}: expected indices from {index_base} to {last}, got {_quote(match[2].split()[bad])}{hint}"
        )
    for bad in np.flatnonzero(np.diff(columns) <= 0)[:1]:
        got = _quote(b" ".join(match[2].split()[bad : bad + 2]))
        raise ValueError(f"{where}: expected indices that increase, got {got}")
    with np.errstate(over="ignore"):
        values = numbers[1::2].astype(np.float32)
    for bad in np.flatnonzero(~np.isfinite(values))[:1]:
        raise ValueError(f"{where}: expected values that float32 can hold, got {_quote(match[2].split()[bad])}")
    return Row(labels, columns.astype(np.int32), values)


def _mistake(text: bytes, end: int) -> str:
    """The message on what was expected and what came in a line that matches only as far as `end`."""
    start = max(text.rfind(separator, 0, end) for separator in (b" ", b"\t")) + 1
    got = _quote(re.split(rb"[ \t]", text[max(start, end - 40) :], maxsplit=1)[0])
    if start == 0:
        return f"whole numbers such as 3,17 as labels (a line without label begins with a space), got {got}"
    hint = " (ranking is not supported)" if text[start:].startswith(b"qid:") else ""
    return f"index:value such as 12:0.5 with a finite value, got {got}{hint}"


def _quote(text: bytes) -> str:
    """The beginning of `text` in quotes, unprintable bytes escaped."""
    return repr(text[:80])[1:]


def _label_names(path: Path) -> dict[int, str]:
    """{label: name} from a file with both in its first two columns."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path} must be UTF-8 text, got byte {error.object[error.start]:#04x} in line {number}"
        ) from None
    names: dict[int, str] = {}
    for number, line in enumerate(lines, start=1):
        fields = line.split()
        if not fields:
            continue
        require(
            len(fields) >= 2 and re.fullmatch(LABEL, fields[0].encode()),
            f"{path} line {number}: expected a label's number and its name, got {line[:80]!r}",
        )
        label, name = int(fields[0].partition(".")[0]), fields[1]
        require(
            label not in names and name not in names.values(),
            f"{path} line {number}: expected each label and each name once, got {line[:80]!r}",
        )
        names[label] = name
    return names

"""Load samples from files in the text format of LIBSVM and SVMlight, which may be compressed (.gz or .bz2).

Each line holds the labels and the features of a sample, for example::

    3,17 12:0.1 845:0.25    # labels 3 and 17; feature 12 is 0.1; comments begin with #
     12:0.3                 # no label, because the line begins with a space
    +1 7:1e-2               # a single label
"""

import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from jointsparse.checks import require
from jointsparse.messages import shortened
from jointsparse.pipeline.datasets.packed import BYTES_OF_LINE, read_whole, require_bytes
from jointsparse.pipeline.datasets.samples import Samples, gather, listed
from jointsparse.pipeline.datasets.splits import FRACTIONS, draw_splits, set_validation_aside
from jointsparse.pipeline.datasets.text import open_text

SHOWS = "names"
LABELS = "topics"

MOST_FEATURES = 2**31 - 1  # the largest 32-bit index
LARGEST_LABEL = 2**53 - 1  # larger integers may be rounded, because scikit-learn reads labels as floats
SIGNS = b"0123456789+-.eE,: \t"  # the characters of numbers and separators; nan and qid are therefore refused


class _Lines(io.RawIOBase):
    """A file-like object that joins the lines of all files for scikit-learn's reader.

    It keeps the position of each sample, because scikit-learn's error messages do not name the line. The attributes are
    filled in while scikit-learn reads.

    Attributes
    ----------
    places
        For each sample, by its name ("train:17"), its position ("path line 17").
    empty
        Names of the empty lines, formed like the names of the samples.
    place, text
        Position and content of the line that was read last.
    """

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.files = [(split, path, read_whole(path)) for split, path in files.items()]
        for _, path, data in self.files:
            require_bytes(path, BYTES_OF_LINE * (data.count(b"\n") + data.count(b",")))
        self.places, self.empty = dict[str, str](), list[str]()
        self.place, self.text = "", b""

    def __iter__(self) -> Iterator[bytes]:
        for split, path, data in self.files:
            for number, line in enumerate(io.BytesIO(data), start=1):
                self.text, comment, _ = line.rstrip(b"\r\n").partition(b"#")
                self.place, name = f"{path} line {number}", f"{split}:{number}"
                strange = self.text.translate(None, SIGNS)
                require(not strange, f"{strange[:80]!r} cannot be part of a number")
                if self.text.strip():
                    self.places[name] = self.place
                    yield self.text
                elif not comment:
                    self.empty.append(name)


def read(
    root: str | Path,
    *,
    train: str,
    validation: str | None = None,
    test: str | None = None,
    topics: str | None = None,
    vocabulary: str | None = None,
    index_base: int = 1,
    fractions: Mapping[str, float] = FRACTIONS,
    validation_fraction: float = 0.2,
    seed: int = 0,
) -> Samples:
    """Read and check the features and labels of samples. A sample may have any number of labels.

    Samples are named by file and line: "train:17" is line 17 of the file `train`, even if the sample was moved to
    another split. Samples without a label are kept. The labels +1 and -1 become two words, each with its own task; to
    learn only one of them, make the other a stop word. Empty lines and repetitions of a label within a line are left
    out, and listed in the table `left_out`. Lines that hold only a comment are left out without being listed.

    Parameters
    ----------
    root : path
        Folder of the files.
    train : str
        File of the training samples. All files of samples may be compressed; their names then end in .gz or .bz2.
    validation : str or None
        File of the validation samples.
    test : str or None
        File of the test samples.
    topics : str or None
        UTF-8 file with the names of the labels. Each line begins with the number and the name of a label, separated by
        white space. Without this file, the name of a label is its number ("+1" and "1.0" become "1").
    vocabulary : str or None
        File with the names of the features, see `feature_names`.
    index_base : int, 1 or 0
        Index of the first feature, usually 1.
    fractions : mapping
        Fraction of the samples in `train` that each split gets if there is no test file, from 0 to 1.
    validation_fraction : float, from 0 to below 1
        Fraction of the samples in `train` that is moved to the validation split if there is a test file but no
        validation file.
    seed : int
        Seed of the random generator that draws the splits.

    Returns
    -------
    samples : Samples

    Raises
    ------
    ValueError
        If a label is not an integer of at most 53 bits, if the indices of a line do not increase, if a value is not
        finite in float32, or if a line has a query id (qid). In these cases the message names the file and the line.
        Also if a compressed file is damaged or truncated, or unpacks to too much.
    """
    folder = Path(root)
    files = {"train": train, "validation": validation, "test": test}
    lines = _Lines({split: folder / file for split, file in files.items() if file})
    names = _label_names(folder / topics) if topics else {}
    X, written = _load(lines, index_base)
    left_out, labels = dict.fromkeys(lines.empty, "an empty line"), list[list[str]]()
    for (name, place), numbers in zip(lines.places.items(), written, strict=True):
        require(
            all(number.is_integer() and abs(number) <= LARGEST_LABEL for number in numbers),
            f"{place}: expected whole numbers as labels, from -{LARGEST_LABEL} to {LARGEST_LABEL}, got "
            f"{shortened([*numbers])}",
        )
        distinct = sorted({*map(int, numbers)})
        require(not topics or {*distinct} <= {*names}, f"{place}: {topics} must name all labels, got {distinct}")
        # Choice: a label that a line repeats counts once; Reuters-21578 has such lines.
        if len(distinct) < len(numbers):
            left_out[f"{name} (repeated labels)"] = f"expected each label once, got {[*map(int, numbers)]}"
        labels.append([names.get(label, str(label)) for label in distinct])

    rng = np.random.default_rng(seed)
    splits = {name: name.partition(":")[0] for name in lines.places}
    if not test:
        splits = draw_splits(list(splits), fractions, rng)
    elif not validation:
        splits = set_validation_aside(splits, validation_fraction, rng)
    return gather(splits, listed(splits, labels), left_out, X)


def feature_names(root: str | Path, *, vocabulary: str | None = None, **options: Any) -> list[str]:
    """Return the names of the features (such as words), which are the lines of the file `vocabulary`.

    Without that file, the list is empty. The file may name further features, which no sample has.
    """
    if not vocabulary:
        return []
    text = (Path(root) / vocabulary).read_text(encoding="utf-8", errors="replace")
    return text.removesuffix("\n").split("\n")


def _load(lines: _Lines, index_base: int) -> tuple[sparse.csr_matrix, list[tuple[float, ...]]]:
    """Read the features as a CSR matrix, (n_samples, n_features) float32, without stored zeros, and the labels."""
    from sklearn.datasets import load_svmlight_files  # imported here, because the import takes half a second

    try:
        X, labels = load_svmlight_files([lines], dtype=np.float32, multilabel=True, zero_based=not index_base)
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"{lines.place}: expected labels such as 3,17 or a space, then features such as 12:0.5 with increasing "
            f"indices from {index_base}, got {lines.text[:80]!r}: {error}"
        ) from None
    for bad in np.flatnonzero((X.indices >= MOST_FEATURES) | ~np.isfinite(X.data))[:1]:
        where = [*lines.places.values()][np.searchsorted(X.indptr, bad, side="right") - 1]
        raise ValueError(
            f"{where}: expected indices from {index_base} to {MOST_FEATURES - 1 + index_base} and values that are "
            f"finite in float32, got {X.indices[bad] + index_base}:{X.data[bad]:g}"
        )
    require(X.nnz, f"{lines.files[0][1]} must hold at least one sample with features, got none")
    X = sparse.csr_matrix((X.data, X.indices, X.indptr), X.shape)  # converts to 32-bit indices if they suffice
    X.eliminate_zeros()
    return X, labels


def _label_names(path: Path) -> dict[int, str]:
    """Return a mapping from numbers to names of labels, read from the first two columns of a file."""
    names: dict[int, str] = {}
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            label, name, *_ = [*line.split(), "", ""]
            if label:
                fits = re.fullmatch(r"[+-]?\d{1,19}", label) and int(label) not in names
                require(
                    fits and name and name not in names.values(),
                    f"{path} line {number}: expected the number and the name of a label that no other line has, got "
                    f"{line[:80]!r}",
                )
                names[int(label)] = name
    return names

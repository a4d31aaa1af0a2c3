"""Files in the idx format of MNIST, plain or .gz: images and, in a second file, their labels.

A file begins with two zero bytes, a byte for the type of its numbers (`TYPES`), a byte for the number of dimensions,
and four bytes for each dimension; its numbers follow, the last dimension fastest. All is big endian.
"""

import gzip
import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
from scipy import sparse

from jointsparse.datasets.samples import Samples, find, gather
from jointsparse.datasets.splits import draw_splits

OFFERS = "samples"
FILES = ("train_images", "train_labels", "test_images", "test_labels")  # the options that name files
TAKES = ("root", *FILES, "validation_fraction", "seed")
NEEDS = ("root", *FILES)

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}

MOST_FEATURES = 2**31 - 1  # what SciPy's 32-bit column numbers can count
LONGEST_IMAGE = 2**28  # bytes; a packed file that unpacks to an image without end does not fill the memory
BLOCK = 2**20  # bytes that are read at a time, or one image


def read(
    root: str | Path,
    *,
    train_images: str,
    train_labels: str,
    test_images: str,
    test_labels: str,
    validation_fraction: float = 0.0,
    seed: int = 0,
) -> Samples:
    """Read and check images with one label each.

    root: the folder of the files. train_images, train_labels, test_images, test_labels: their names; .gz is unpacked
    on the way. validation_fraction: the part of the training images that becomes validation. seed: of this draw.

    A feature is a pixel, counted along the last dimension first. Unsigned bytes are divided by 255, other numbers stay
    as they are. A sample is named by file and place: "train:17" is the 17th image of the training files, whatever
    split it was drawn into. Labels are whole numbers, written as text. Raises ValueError, with the file, where it is
    missing, is not as the head of this file says, is longer or shorter than its dimensions say, or is packed and
    damaged; where it holds more or fewer labels than images, images of another shape than those of training, or
    numbers that are not finite in float32.
    """
    if not 0 <= validation_fraction < 1:
        raise ValueError(f"validation_fraction must be at least 0 and below 1, got {validation_fraction!r}")
    folder = Path(root)
    given: dict[str, str] = {}
    labels: list[str] = []
    shapes, blocks = [], []
    for split, images, of_images in (("train", train_images, train_labels), ("test", test_images, test_labels)):
        with (
            _Items(find(folder, f"{split}_images", images)) as pictures,
            _Items(find(folder, f"{split}_labels", of_images)) as digits,
        ):
            _require_pair(pictures, digits)
            shapes.append(pictures.shape)
            if pictures.shape != shapes[0]:
                raise ValueError(
                    f"{pictures.path} must hold images of {_by(shapes[0])} pixels, as {folder / train_images} does, "
                    f"got {_by(pictures.shape)}"
                )
            labels += [str(int(label)) for block in digits.blocks() for label in _whole(digits.path, block)]
            blocks += [_sparse(pictures.path, block) for block in pictures.blocks()]
            given |= {f"{split}:{i + 1}": split for i in range(pictures.n)}

    columns, values, counts = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    del blocks
    ends = np.concatenate([[0], np.cumsum(counts)])
    X = sparse.csr_matrix((values, columns, ends), shape=(len(given), math.prod(shapes[0])))
    of_train = [sample for sample in given if given[sample] == "train"]
    parts = {"train": 1 - validation_fraction, "validation": validation_fraction}
    splits = given | draw_splits(of_train, parts, np.random.default_rng(seed))
    return gather(splits, [[label] for label in labels], {}, X)


def _by(shape: tuple[int, ...]) -> str:
    """28 x 28"""
    return " x ".join(map(str, shape))


def _open(path: Path) -> BinaryIO | gzip.GzipFile:
    """The bytes of a file, unpacked as its name says."""
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")


class _Items:
    """An open file: what its head says, and its items a block at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = _open(path)
        try:
            self._read_head()
        except ValueError:
            self.file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def _read_head(self) -> None:
        head = self._bytes(4, "a head of 4 bytes")
        if head[:2] != b"\0\0" or head[2] not in TYPES:
            hint = " (the name of a packed file ends in .gz)" if head[:2] == b"\x1f\x8b" else ""
            kinds = ", ".join(f"{kind:02x}" for kind in TYPES)
            raise ValueError(
                f"{self.path} must begin with two zero bytes and the type of its numbers ({kinds}), as idx files do, "
                f"got {head[:3].hex(' ')}{hint}"
            )
        self.dtype = np.dtype(TYPES[head[2]])
        sizes = self._bytes(4 * head[3], f"{head[3]} dimensions")
        self.n, *rest = (int(size) for size in np.frombuffer(sizes, ">u4")) if sizes else (0,)
        self.shape = tuple(rest)
        if not self.n or 0 in self.shape:
            raise ValueError(
                f"{self.path} must have dimensions of at least 1, got {_by((self.n, *rest)) if sizes else 'none'}"
            )

    def blocks(self) -> Iterator[np.ndarray]:
        """All items, (n_items, numbers of an item) at a time. After the last one the file must end."""
        width = math.prod(self.shape)
        n_at_once = max(1, BLOCK // (width * self.dtype.itemsize))
        for start in range(0, self.n, n_at_once):
            n = min(n_at_once, self.n - start)
            data = self._bytes(n * width * self.dtype.itemsize, f"{self.n} items", done=start)
            yield np.frombuffer(data, self.dtype).reshape(n, width)
        if self._read(1):
            raise ValueError(f"{self.path} must end after the {self.n} items that its head announces, got more bytes")

    def _bytes(self, size: int, what: str, done: int = 0) -> bytes:
        data = self._read(size)
        if len(data) < size:
            after = f" after item {done}" if done else ""
            raise ValueError(f"{self.path} must hold {what}, got a file that ends{after} within the next {size} bytes")
        return data

    def _read(self, size: int) -> bytes:
        """The next `size` bytes, fewer only where the file ends."""
        try:
            return self.file.read(size)
        except (OSError, EOFError, zlib.error) as error:
            reason = " ".join(str(error).split())[:200]
            raise ValueError(f"{self.path} must be a whole file, got one that is damaged: {reason}") from None


def _require_pair(images: _Items, labels: _Items) -> None:
    """Raise ValueError unless the heads are those of images and as many labels."""
    if labels.shape:
        raise ValueError(f"{labels.path} must have one dimension, that of labels, got {_by((labels.n, *labels.shape))}")
    if not images.shape:
        raise ValueError(f"{images.path} must have at least two dimensions, those of images, got {images.n}")
    if images.n != labels.n:
        raise ValueError(
            f"{labels.path} must hold a label for each of the {images.n} images of {images.path}, got {labels.n} labels"
        )
    width = math.prod(images.shape)
    if width > MOST_FEATURES or width * images.dtype.itemsize > LONGEST_IMAGE:
        raise ValueError(f"{images.path} must hold images of at most {LONGEST_IMAGE} bytes, got {_by(images.shape)}")


def _whole(path: Path, block: np.ndarray) -> np.ndarray:
    """Labels, (n,), which must be whole numbers."""
    labels = block[:, 0]
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(~np.isfinite(labels) | (labels != np.rint(labels)))
    if len(bad):
        raise ValueError(f"{path} must hold whole numbers as labels, got {labels[bad[0]]}")
    return labels


def _sparse(path: Path, block: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns (int32) and values (float32) of the entries of a block that are not zero, and their number per row."""
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = block.astype(np.float32)
    if not np.isfinite(numbers).all():
        bad = block[~np.isfinite(numbers)][0]
        raise ValueError(f"{path} must hold numbers that are finite in float32, got {bad}")
    rows, columns = np.nonzero(numbers)
    values = numbers[rows, columns]
    # Choice: only bytes are known to mean grey levels from 0 to 255.
    if block.dtype == np.uint8:
        values /= np.float32(255)
    return columns.astype(np.int32), values, np.bincount(rows, minlength=len(block))

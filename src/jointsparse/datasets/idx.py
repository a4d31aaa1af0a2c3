"""Files in the idx format of MNIST, plain, .gz or .bz2: images and, in a second file, their labels.

A file begins with two zero bytes and a byte for the type of its numbers (`TYPES`). A byte for the number of dimensions
and four bytes for each dimension follow, then the numbers, the last dimension fastest. All is big endian.
"""

import math
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from jointsparse.checks import require
from jointsparse.datasets.packed import COMPRESSION_RATIO, opened
from jointsparse.datasets.samples import Samples, find, gather
from jointsparse.datasets.splits import set_validation_aside

OFFERS = "samples"
PIXELS = True  # features are the grey levels of square pictures, row by row
FILES = ("train_images", "train_labels", "test_images", "test_labels")  # the options that name files
TAKES = ("root", *FILES, "compression_ratio", "validation_fraction", "seed")
NEEDS = ("root", *FILES)

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}

MOST_FEATURES = 2**31 - 1  # SciPy's 32-bit column numbers count no further
LONGEST_IMAGE_BYTES = 2**28  # a packed file that unpacks to an image without end does not fill the memory
BLOCK_BYTES = 2**20  # of a file, read at a time; an image that is larger is read whole


class _Head(NamedTuple):
    """The beginning of a file: the type of its numbers, how many items it holds and the shape of one."""

    dtype: np.dtype
    n: int
    shape: tuple[int, ...]

    @property
    def width(self) -> int:
        return math.prod(self.shape)


class _Pair(NamedTuple):
    """A file of images and the file of their labels."""

    shape: tuple[int, ...]
    X: sparse.csr_matrix
    labels: list[str]


def read(
    root: str | Path,
    *,
    train_images: str,
    train_labels: str,
    test_images: str,
    test_labels: str,
    compression_ratio: float = COMPRESSION_RATIO,
    validation_fraction: float = 0.0,
    seed: int = 0,
) -> Samples:
    """Read and check images with one label each.

    A feature is a pixel, counted along the last dimension first. Unsigned bytes are divided by 255, other numbers stay
    as they are. A sample is named by file and place. "train:17" is the 17th image of the training files, whatever
    split it was drawn into. Labels are whole numbers, written as text.

    Parameters
    ----------
    root : path
        Folder of the files.
    train_images : str
        File of the training images. A name that ends in .gz or .bz2 is that of a packed file, here and below.
    train_labels : str
        File of their labels.
    test_images : str
        File of the test images.
    test_labels : str
        File of their labels.
    compression_ratio : float above 0
        Times its size that a packed file may unpack to. 64 KiB are never too much.
    validation_fraction : float, from 0 to below 1
        Part of the training images that becomes validation.
    seed : int
        Seed of this draw.

    Returns
    -------
    samples : Samples

    Raises
    ------
    ValueError
        If a file is missing, damaged, too long, or not as the head of this module says. If its dimensions and its
        length, its images and its labels, or the images of training and test do not match. If a number is not finite in
        float32.
    """
    folder = Path(root)
    train = _read_pair(
        find(folder, "train_images", train_images), find(folder, "train_labels", train_labels), compression_ratio
    )
    test = _read_pair(
        find(folder, "test_images", test_images), find(folder, "test_labels", test_labels), compression_ratio
    )
    require(
        test.shape == train.shape,
        f"{folder / test_images} must hold images of {_by(train.shape)} pixels, as {folder / train_images} does, "
        f"got {_by(test.shape)}",
    )
    splits = {
        f"{split}:{i + 1}": split for split, pair in (("train", train), ("test", test)) for i in range(len(pair.labels))
    }
    splits = set_validation_aside(splits, validation_fraction, np.random.default_rng(seed))
    X = sparse.csr_matrix(sparse.vstack([train.X, test.X], format="csr"))
    return gather(splits, [[label] for label in train.labels + test.labels], {}, X)


def _read_pair(images: Path, labels: Path, compression_ratio: float) -> _Pair:
    names = _read_labels(labels, compression_ratio)
    with opened(images, compression_ratio=compression_ratio) as file:
        head = _read_head(file, images)
        require(head.shape, f"{images} must have at least two dimensions, those of images, got {head.n}")
        require(
            head.width <= MOST_FEATURES and head.width * head.dtype.itemsize <= LONGEST_IMAGE_BYTES,
            f"{images} must hold images of at most {LONGEST_IMAGE_BYTES} bytes, got {_by(head.shape)}",
        )
        require(
            head.n == len(names),
            f"{labels} must hold a label for each of the {head.n} images of {images}, got {len(names)} labels",
        )
        parts = [_sparse(block, images) for block in _blocks(file, head, images)]
    return _Pair(head.shape, sparse.csr_matrix(sparse.vstack(parts, format="csr")), names)


def _read_labels(path: Path, compression_ratio: float) -> list[str]:
    with opened(path, compression_ratio=compression_ratio) as file:
        head = _read_head(file, path)
        require(not head.shape, f"{path} must have one dimension, that of labels, got {_by((head.n, *head.shape))}")
        return [str(int(label)) for block in _blocks(file, head, path) for label in _whole_numbers(block, path)]


def _by(shape: tuple[int, ...]) -> str:
    """28 x 28"""
    return " x ".join(map(str, shape))


def _read_head(file: BufferedIOBase, path: Path) -> _Head:
    head = _bytes(file, path, 4, "a head of 4 bytes")
    if head[:2] != b"\0\0" or head[2] not in TYPES:
        hint = " (the name of a packed file ends in .gz)" if head[:2] == b"\x1f\x8b" else ""
        kinds = ", ".join(f"{kind:02x}" for kind in TYPES)
        raise ValueError(
            f"{path} must begin with two zero bytes and the type of its numbers ({kinds}), as idx files do, "
            f"got {head[:3].hex(' ')}{hint}"
        )
    sizes = np.frombuffer(_bytes(file, path, 4 * head[3], f"{head[3]} dimensions"), ">u4").tolist()
    require(sizes and 0 not in sizes, f"{path} must have dimensions of at least 1, got {_by(tuple(sizes)) or 'none'}")
    return _Head(np.dtype(TYPES[head[2]]), sizes[0], tuple(sizes[1:]))


def _blocks(file: BufferedIOBase, head: _Head, path: Path) -> Iterator[np.ndarray]:
    """All items, (n_items, width) at a time. After the last one the file must end."""
    item_bytes = head.width * head.dtype.itemsize
    n_at_once = max(1, BLOCK_BYTES // item_bytes)
    for start in range(0, head.n, n_at_once):
        n = min(n_at_once, head.n - start)
        data = _bytes(file, path, n * item_bytes, f"{head.n} items", done=start)
        yield np.frombuffer(data, head.dtype).reshape(n, head.width)
    require(not file.read(1), f"{path} must end after the {head.n} items that its head announces, got more bytes")


def _bytes(file: BufferedIOBase, path: Path, size: int, expected: str, done: int = 0) -> bytes:
    data = file.read(size)
    if len(data) < size:
        after = f" after item {done}" if done else ""
        raise ValueError(f"{path} must hold {expected}, got a file that ends{after} within the next {size} bytes")
    return data


def _whole_numbers(block: np.ndarray, path: Path) -> np.ndarray:
    """The labels of a block, (n_items,), which must be whole numbers."""
    labels = block[:, 0]
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(~np.isfinite(labels) | (labels != np.rint(labels)))
    if len(bad):
        raise ValueError(f"{path} must hold whole numbers as labels, got {labels[bad[0]]}")
    return labels


def _sparse(block: np.ndarray, path: Path) -> sparse.csr_matrix:
    """A block of images as features, float32."""
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = block.astype(np.float32)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{path} must hold numbers that are finite in float32, got {block[~np.isfinite(numbers)][0]}")
    X = sparse.csr_matrix(numbers)
    # Choice: only bytes are known to mean grey levels from 0 to 255.
    if block.dtype == np.uint8:
        X.data /= np.float32(255)
    return X

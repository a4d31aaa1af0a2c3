"""Files in the idx format of MNIST, plain, .gz or .bz2: images and, in a second file, their labels.

A file begins with two zero bytes and a byte for the type of its numbers (`TYPES`). A byte for the number of dimensions
and four bytes for each dimension follow, then the numbers, the last dimension fastest. All is big endian.
"""

import math
from pathlib import Path

import numpy as np
from scipy import sparse

from jointsparse.checks import require
from jointsparse.datasets.packed import COMPRESSION_RATIO, read_whole
from jointsparse.datasets.samples import Samples, find, gather
from jointsparse.datasets.splits import set_validation_aside

OFFERS = "samples"
PIXELS = True  # features are the grey levels of square pictures, row by row
FILES = ("train_images", "train_labels", "test_images", "test_labels")  # the options that name files
TAKES = ("root", *FILES, "compression_ratio", "validation_fraction", "seed")
NEEDS = ("root", *FILES)

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


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
    given = {"train": (train_images, train_labels), "test": (test_images, test_labels)}
    parts = {
        split: _read_pair(find(folder, f"{split}_images", X), find(folder, f"{split}_labels", y), compression_ratio)
        for split, (X, y) in given.items()
    }
    shape, other = (shape for _, shape, _ in parts.values())
    require(
        other == shape,
        f"{folder / test_images} must hold images of shape {shape}, as {folder / train_images} does, got {other}",
    )
    splits = {f"{split}:{i + 1}": split for split, (_, _, labels) in parts.items() for i in range(len(labels))}
    splits = set_validation_aside(splits, validation_fraction, np.random.default_rng(seed))
    X = sparse.csr_matrix(sparse.vstack([X for X, _, _ in parts.values()], format="csr"))
    return gather(splits, [[label] for _, _, labels in parts.values() for label in labels], {}, X)


def _read_pair(
    images: Path, labels: Path, compression_ratio: float
) -> tuple[sparse.csr_matrix, tuple[int, ...], list[str]]:
    """The features of images, csr (n, n_pixels) float32, the shape of an image, and the labels."""
    pixels, y = (_read_array(path, compression_ratio) for path in (images, labels))
    require(pixels.ndim > 1, f"{images} must have at least two dimensions, those of images, got shape {pixels.shape}")
    require(
        y.shape == pixels.shape[:1],
        f"{labels} must hold a label for each of the {len(pixels)} images of {images}, got shape {y.shape}",
    )
    with np.errstate(over="ignore", invalid="ignore"):
        # Sparse first, as a picture is mostly white.
        X = sparse.csr_matrix(pixels.reshape(len(pixels), -1).astype(pixels.dtype.newbyteorder("="))).astype(np.float32)
        broken = y[~(np.isfinite(y) & (y == np.rint(y)))]
    infinite = X.data[~np.isfinite(X.data)]
    require(not infinite.size, f"{images} must hold numbers that are finite in float32, got {infinite[:1]}")
    require(not broken.size, f"{labels} must hold whole numbers as labels, got {broken[:1]}")
    # Choice: only bytes are known to mean grey levels from 0 to 255.
    X.data /= np.float32(255 if pixels.dtype == np.uint8 else 1)
    return X, pixels.shape[1:], [str(int(label)) for label in y]


def _read_array(path: Path, compression_ratio: float) -> np.ndarray:
    """The numbers of a file, in its shape."""
    data = read_whole(path, compression_ratio)
    kinds = ", ".join(f"{kind:02x}" for kind in TYPES)
    hint = " (the name of a packed file ends in .gz)" if data[:2] == b"\x1f\x8b" else ""
    require(
        len(data) >= 4 and data[:2] == b"\0\0" and data[2] in TYPES,
        f"{path} must begin with two zero bytes, the type of its numbers ({kinds}) and "
        f"how many dimensions it has, as idx files do, got {data[:4].hex(' ') or 'nothing'}{hint}",
    )
    begin, dtype = 4 + 4 * data[3], np.dtype(TYPES[data[2]])
    shape = tuple(np.frombuffer(data[4:begin].ljust(begin - 4, b"\0"), ">u4").tolist())  # 0 where the file ends
    expected = begin + math.prod(shape) * dtype.itemsize
    require(
        shape and 0 not in shape and len(data) == expected,
        f"{path} must hold dimensions of at least 1, and {expected:,} bytes, as they say, got {shape} in {len(data):,}",
    )
    return np.frombuffer(data, dtype, offset=begin).reshape(shape)

"""Files in the idx format of MNIST, plain, .gz or .bz2: images and, in a second file, their labels.

A file begins with two zero bytes, the byte 8, which stands for numbers of one byte, and a byte for how many dimensions
there are. Four bytes for each dimension follow, big endian, then the numbers, the last dimension fastest.
"""

import math
from pathlib import Path

import numpy as np
from scipy import sparse

from jointsparse.checks import require
from jointsparse.pipeline.datasets.packed import COMPRESSION_RATIO, read_whole
from jointsparse.pipeline.datasets.samples import Samples, find, gather
from jointsparse.pipeline.datasets.splits import set_validation_aside

OFFERS = "samples"
SHOWS = "pixels"
LABELS = "classes"
FILES = ("train_images", "train_labels", "test_images", "test_labels")  # the options that name files
TAKES = ("root", *FILES, "compression_ratio", "validation_fraction", "seed")
NEEDS = ("root", *FILES)
ONLY_WITH = {"seed": "validation_fraction"}
ONLY_WITHOUT: dict[str, str] = {}


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

    A feature is a pixel, counted along the last dimension first, divided by 255. A sample is named by file and place.
    "train:17" is the 17th image of the training files, whatever split it was drawn into. Labels are numbers, written as
    text.

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
        length, its images and its labels, or the images of training and test do not match.
    """
    folder = Path(root)
    files = {"train": (train_images, train_labels), "test": (test_images, test_labels)}
    parts = {
        split: _read_pair(find(folder, f"{split}_images", X), find(folder, f"{split}_labels", y), compression_ratio)
        for split, (X, y) in files.items()
    }
    shape, test_shape = (shape for _, shape, _ in parts.values())
    require(
        test_shape == shape,
        f"{folder / test_images} must hold images of shape {shape}, as {folder / train_images} does, got {test_shape}",
    )
    splits = {f"{split}:{i + 1}": split for split, (_, _, labels) in parts.items() for i in range(len(labels))}
    splits = set_validation_aside(splits, validation_fraction, np.random.default_rng(seed))
    X = sparse.csr_matrix(sparse.vstack([X for X, _, _ in parts.values()], format="csr"))
    return Samples(*gather(splits, [[label] for _, _, labels in parts.values() for label in labels], {}), X)


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
    X = sparse.csr_matrix(pixels.reshape(len(pixels), -1)).astype(np.float32)  # sparse first: a picture is mostly white
    X.data /= np.float32(255)
    return X, pixels.shape[1:], [str(label) for label in y]


def _read_array(path: Path, compression_ratio: float) -> np.ndarray:
    """The numbers of a file, in its shape."""
    data = read_whole(path, compression_ratio)
    hint = " (the name of a packed file ends in .gz)" if data[:2] == b"\x1f\x8b" else ""
    require(
        len(data) >= 4 and data[:3] == b"\0\0\x08",
        f"{path} must begin with two zero bytes, 08 for numbers of one byte, and how many dimensions it has, as idx "
        f"files do, got {data[:4].hex(' ') or 'nothing'}{hint}",
    )
    begin = 4 + 4 * data[3]
    shape = tuple(np.frombuffer(data[4:begin].ljust(begin - 4, b"\0"), ">u4").tolist())  # 0 where the file ends
    expected = begin + math.prod(shape)
    require(
        shape and 0 not in shape and len(data) == expected,
        f"{path} must hold dimensions of at least 1, and {expected:,} bytes, as they say, got {shape} in {len(data):,}",
    )
    return np.frombuffer(data, np.uint8, offset=begin).reshape(shape)

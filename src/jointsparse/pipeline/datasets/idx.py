"""Load images and labels from pairs of files in MNIST's idx format: plain, .gz or .bz2.

A file begins with two zero bytes, the byte 8 (the code for unsigned bytes), and a byte that gives the number of
dimensions. The length of each dimension follows as a four-byte big-endian integer, and then the data in C order.
"""

import math
from pathlib import Path

import numpy as np
from scipy import sparse

from jointsparse.checks import require
from jointsparse.pipeline.datasets.packed import BYTES_OF_LINE, read_whole, require_bytes
from jointsparse.pipeline.datasets.samples import Samples, gather, listed
from jointsparse.pipeline.datasets.splits import set_validation_aside

SHOWS = "pixels"
LABELS = "classes"


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
    """Read and check images that have one label each.

    The features are the pixels in C order, divided by 255. Samples are named by file and position: "train:17" is the
    17th image of the training files, even if it was moved to the validation split. Labels are numbers, stored as
    strings.

    Parameters
    ----------
    root : path
        Folder of the files.
    train_images : str
        File of the training images. All four files may be compressed; their names then end in .gz or .bz2.
    train_labels : str
        File of the labels of the training images.
    test_images : str
        File of the test images.
    test_labels : str
        File of the labels of the test images.
    validation_fraction : float, from 0 to below 1
        Fraction of the training images that is moved to the validation split.
    seed : int
        Seed of the random generator that draws the validation images.

    Returns
    -------
    samples : Samples

    Raises
    ------
    ValueError
        If a file is damaged or not in the idx format, if it unpacks to too much,
        if the numbers of images and labels differ, or if training and test images differ in shape.
    """
    folder = Path(root)
    files = {"train": (train_images, train_labels), "test": (test_images, test_labels)}
    parts = {split: _read_pair(folder / X, folder / y) for split, (X, y) in files.items()}
    shape, test_shape = (shape for _, shape, _ in parts.values())
    require(
        test_shape == shape,
        f"{folder / test_images} must hold images of shape {shape} like {folder / train_images}, got {test_shape}",
    )
    splits = {f"{split}:{i + 1}": split for split, (_, _, labels) in parts.items() for i in range(len(labels))}
    splits = set_validation_aside(splits, validation_fraction, np.random.default_rng(seed))
    X = sparse.csr_matrix(sparse.vstack([X for X, _, _ in parts.values()], format="csr"))
    labels = [[label] for _, _, labels in parts.values() for label in labels]
    return gather(splits, listed(splits, labels), {}, X)


def _read_pair(images: Path, labels: Path) -> tuple[sparse.csr_matrix, tuple[int, ...], list[str]]:
    """Return the features as CSR (n_images, n_pixels) float32, the shape of one image, and the labels."""
    pixels, y = (_read_array(path) for path in (images, labels))
    require(pixels.ndim > 1, f"{images} must hold images, in at least two dimensions, got shape {pixels.shape}")
    require(
        y.shape == pixels.shape[:1],
        f"{labels} must hold a label for each of the {len(pixels)} images of {images}, got shape {y.shape}",
    )
    require_bytes(labels, BYTES_OF_LINE * len(y))
    # Converting to CSR first and to float32 afterwards saves memory, because most pixels are 0.
    X = sparse.csr_matrix(pixels.reshape(len(pixels), -1)).astype(np.float32)
    X.data /= np.float32(255)
    return X, pixels.shape[1:], [str(label) for label in y]


def _read_array(path: Path) -> np.ndarray:
    """Read the array in an idx file."""
    data = read_whole(path)
    hint = " (the name of a gzip file must end in .gz)" if data[:2] == b"\x1f\x8b" else ""
    require(
        len(data) >= 4 and data[:3] == b"\0\0\x08",
        f"{path} must be an idx file of unsigned bytes, which begins with the bytes 00 00 08 and the number of "
        f"dimensions, got {data[:4].hex(' ') or 'nothing'}{hint}",
    )
    begin = 4 + 4 * data[3]
    shape = tuple(np.frombuffer(data[4:begin].ljust(begin - 4, b"\0"), ">u4").tolist())  # 0 if the file is truncated
    expected = begin + math.prod(shape)
    require(
        shape and 0 not in shape and len(data) == expected,
        f"{path} must have dimensions of at least 1 and hold {expected:,} bytes to match them, got dimensions {shape} "
        f"and {len(data):,} bytes",
    )
    return np.frombuffer(data, np.uint8, offset=begin).reshape(shape)

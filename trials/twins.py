"""Slow, simple readers of the libsvm and idx formats, and example files in these formats."""

import math
import struct
from decimal import Decimal
from typing import Any

import numpy as np
from scipy import sparse

LIBSVM = b"3,17 1:0.5 4:-2e-1\n 2:1\n17 1:.25 3:3.\t5:1e3\n3\n-1,0 5:+7 # a comment\n"
SIGNS = set("0123456789+-.eE,: \t")
LARGEST = 3.4028235677973366e38  # largest number that rounds to a finite float32


def _labels(text: str) -> set[str]:
    try:
        numbers = [Decimal(part) for part in text.split(",")]
    except ArithmeticError:
        raise ValueError from None
    if any(not -(2**63) < number < 2**63 or number != number.to_integral_value() for number in numbers):
        raise ValueError
    return {str(int(number)) for number in numbers}


def _line(line: bytes) -> tuple[set[str], dict[int, float]] | None:
    """Return the labels and {column: value} of a line, or None if it holds no sample. Raise ValueError if it is bad."""
    text = line.rstrip(b"\r\n").decode("latin-1").split("#")[0]
    if set(text) - SIGNS:
        raise ValueError
    parts = text.split()
    if not parts:
        return None
    labels = _labels(parts.pop(0)) if ":" not in parts[0] else set()
    values: dict[int, float] = {}
    for part in parts:
        index, value = part.split(":")
        if not max([0, *values]) < int(index) < 2**31 or not abs(float(value)) < LARGEST:
            raise ValueError
        values[int(index)] = float(value)
    return labels, values


def read_libsvm(content: bytes) -> Any:
    """Return the labels, X and the line numbers of the samples, or only the number of the first invalid line."""
    rows: dict[int, tuple[set[str], dict[int, float]]] = {}
    for number, line in enumerate(content.split(b"\n"), start=1):
        try:
            row = _line(line)
        except ValueError:
            return number
        if row is not None:
            rows[number] = row
    X = sparse.dok_matrix((len(rows), max([0, *(index for _, values in rows.values() for index in values)])))
    for i, (_, values) in enumerate(rows.values()):
        for index, value in values.items():
            X[i, index - 1] = np.float32(value)
    return [labels for labels, _ in rows.values()], X.tocsr(), list(rows)


def idx_file(shape: tuple[int, ...], numbers: Any) -> bytes:
    return bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + bytes(numbers)


def idx_files(shape: tuple[int, ...], train: Any, train_labels: Any, test: Any, test_labels: Any) -> Any:
    """Return the four files of a dataset of images of this shape."""
    pixels = {"train": (train, train_labels), "test": (test, test_labels)}
    files = {f"{split}_images": idx_file((len(y), *shape), X) for split, (X, y) in pixels.items()}
    return files | {f"{split}_labels": idx_file((len(y),), y) for split, (_, y) in pixels.items()}


def _idx(data: bytes) -> tuple[list[int], bytes]:
    """Return the shape and the numbers in an idx file. Raise ValueError if the file is invalid."""
    if data[:3] != b"\0\0\x08" or len(data) < 8:
        raise ValueError
    start = 4 + 4 * data[3]
    shape = [int.from_bytes(data[i : i + 4], "big") for i in range(4, start, 4)]
    if not shape or 0 in shape or len(data) != start + math.prod(shape):
        raise ValueError
    return shape, data[start:]


def _pair(images: bytes, labels: bytes) -> tuple[list[int], np.ndarray, list[str]]:
    (shape, pixels), (shape_of_labels, y) = _idx(images), _idx(labels)
    if len(shape) < 2 or shape_of_labels != shape[:1]:
        raise ValueError
    X = np.array([np.float32(p) for p in pixels]).reshape(shape[0], -1)
    return shape[1:], X / np.float32(255), [str(int(label)) for label in y]


def read_idx(content: dict[str, bytes]) -> tuple[np.ndarray, list[str]] | None:
    """Return X and the labels of idx files, or None if anything in the files is wrong."""
    try:
        shape, X, y = _pair(content["train_images"], content["train_labels"])
        test_shape, X_test, y_test = _pair(content["test_images"], content["test_labels"])
    except ValueError:
        return None
    return (np.vstack([X, X_test]), y + y_test) if shape == test_shape else None

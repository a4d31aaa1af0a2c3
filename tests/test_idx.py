"""Files in the idx format: the numbers that a slow reader finds, and a clear error for every wrong file."""

import gzip
import math
import re
import struct

import numpy as np
import pytest
from mutations import mutated

from jointsparse.datasets import idx

CODES = {0x08: "B", 0x09: "b", 0x0B: "h", 0x0C: "i", 0x0D: "f", 0x0E: "d"}
PACK = {"": bytes, ".gz": lambda content: gzip.compress(content, mtime=0)}
PARTS = idx.FILES


def packed(kind, shape, numbers):
    """An idx file, written with struct."""
    head = struct.pack(">HBB", 0, kind, len(shape)) + b"".join(struct.pack(">I", size) for size in shape)
    return head + struct.pack(f">{len(numbers)}{CODES[kind]}", *numbers)


def four(kind, shape, train, train_labels, test, test_labels):
    """The four files of images of a shape."""
    pixels = {"train": (train, train_labels), "test": (test, test_labels)}
    files = {f"{split}_images": packed(kind, (len(y), *shape), X) for split, (X, y) in pixels.items()}
    return files | {f"{split}_labels": packed(kind, (len(y),), y) for split, (_, y) in pixels.items()}


TRAIN = [0, 255, 51, 0, 0, 1, *[0] * 6, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 200]
GOOD = four(0x08, (2, 3), TRAIN, [3, 0, 9, 3], [9, 0, 8, 0, 7, 0], [1])


def read(folder, content=GOOD, packing="", **options):
    """Read the four files, as `GOOD` has them but for those in `content`."""
    names = {part: f"{part}{packing}" for part in PARTS}
    for part, data in (GOOD | content).items():
        (folder / names[part]).write_bytes(PACK[packing](data))
    return idx.read(folder, **names, **options)


# A slow, obvious twin


def slow_file(data):
    """The kind, shape and numbers of a file. Raises ValueError if it is wrong."""
    if len(data) < 4 or data[0] or data[1] or data[2] not in CODES:
        raise ValueError
    start = 4 + 4 * data[3]
    if start == 4 or len(data) < start:
        raise ValueError
    shape = [int.from_bytes(data[i : i + 4], "big") for i in range(4, start, 4)]
    code = CODES[data[2]]
    if 0 in shape or len(data) - start != math.prod(shape) * struct.calcsize(code):
        raise ValueError
    return data[2], shape, [number for (number,) in struct.iter_unpack(f">{code}", data[start:])]


def slow_pair(images, labels):
    kind, shape, pixels = slow_file(images)
    _, shape_of_labels, y = slow_file(labels)
    if len(shape) < 2 or shape_of_labels != shape[:1]:
        raise ValueError
    if any(not abs(p) < 3.4028235677973366e38 for p in pixels) or any(label % 1 != 0 for label in y):
        raise ValueError
    X = np.array([np.float32(p) for p in pixels]).reshape(shape[0], -1)
    return shape[1:], (X / np.float32(255) if kind == 0x08 else X), [str(int(label)) for label in y]


def slow_read(content):
    """X and labels, or None if something is wrong."""
    try:
        shape, X, y = slow_pair(content["train_images"], content["train_labels"])
        test_shape, X_test, y_test = slow_pair(content["test_images"], content["test_labels"])
    except ValueError:
        return None
    return (np.vstack([X, X_test]), y + y_test) if shape == test_shape else None


def check_against_twin(folder, content, packing=""):
    """Reading gives exactly the twin's numbers (True), or an error that names a file (False)."""
    expected = slow_read(GOOD | content)
    if expected is None:
        with pytest.raises(ValueError, match=re.escape(str(folder))) as error:
            read(folder, content, packing)
        assert "\n" not in str(error.value)
        return False
    samples = read(folder, content, packing)
    np.testing.assert_array_equal(samples.X.toarray(), expected[0])
    assert samples.captions["caption"].tolist() == expected[1]
    return True


# Good files


@pytest.mark.parametrize("packing", PACK)
def test_good_files_give_known_numbers(tmp_path, packing):
    samples = read(tmp_path, packing=packing)
    X = samples.X
    expected = [[0, 255, 51, 0, 0, 1], [0] * 6, [2, 3, 4, 5, 6, 7], [0, 0, 0, 0, 0, 200], [9, 0, 8, 0, 7, 0]]
    np.testing.assert_allclose(X.toarray() * 255, expected, rtol=1e-7)
    assert (X.dtype, X.indices.dtype, X.nnz, X.has_sorted_indices) == (np.float32, np.int32, 13, True)
    names = ["train:1", "train:2", "train:3", "train:4", "test:1"]
    assert [table.to_dict("list") for table in (samples.images, samples.captions, samples.left_out)] == [
        {"image": names, "split": ["train"] * 4 + ["test"]},
        {"image": names, "caption": ["3", "0", "9", "3", "1"]},
        {"item": [], "reason": []},
    ]


@pytest.mark.parametrize("kind", CODES)
def test_every_type_of_numbers_is_read(tmp_path, kind):
    rng = np.random.default_rng(kind)
    low, high = (0, 256) if kind == 0x08 else (-128, 128)
    scale = 0.37 if kind >= 0x0D else 2**20 if kind == 0x0C else 1
    train, test = ((rng.integers(low, high, n) * scale).tolist() for n in (60, 24))
    assert check_against_twin(tmp_path, four(kind, (3, 2, 2), train, [0, 1, 100, 7, 7], test, [1, 1]))


def test_validation_images_come_from_training_ones_and_are_the_same_again(tmp_path):
    content = four(0x08, (2, 3), [1] * 240, [1] * 40, [1] * 6, [1])
    first, again, other = (read(tmp_path, content, validation_fraction=0.25, seed=seed).images for seed in (3, 3, 4))
    assert first["split"].value_counts().to_dict() == {"train": 30, "validation": 10, "test": 1}
    assert first.equals(again) and not first.equals(other)
    assert first["image"].tolist() == [f"train:{i}" for i in range(1, 41)] + ["test:1"]


# Wrong files

WRONG = [
    ("train_images", b"", "as idx files do, got nothing"),
    ("train_images", b"\0\0\x08", "as idx files do, got 00 00 08"),
    ("train_images", b"\0\1\x08\3", "must begin with two zero bytes, the type of its numbers (08, 09, 0b, "),
    ("train_images", b"\0\0\x0a\3" + bytes(12), "got 00 00 0a"),
    ("train_images", b"\0\0\x08\0", "must have dimensions of at least 1, got none"),
    ("train_images", b"\0\0\x08\3" + bytes(11), "must hold 3 dimensions, got a file that ends"),
    ("train_images", packed(0x08, (4, 0, 3), []), "must have dimensions of at least 1, got 4 x 0 x 3"),
    ("train_images", packed(0x08, (4,), [1] * 4), "must have at least two dimensions, those of images, got 4"),
    ("train_images", GOOD["train_images"][:-1], "must hold 40 bytes, as its head says, got 39"),
    ("train_images", GOOD["train_images"] + b"\0", "must hold 40 bytes, as its head says, got 41"),
    ("train_images", gzip.compress(b"", mtime=0), "got 1f 8b 08 00 (the name of a packed file ends in .gz)"),
    (
        "train_images",
        packed(0x0D, (4, 2, 3), [math.nan] * 24),
        "numbers that are finite in float32, got [nan]",
    ),
    (
        "train_images",
        packed(0x0E, (4, 2, 3), [1e39] * 24),
        "numbers that are finite in float32, got [1.e+39]",
    ),
    ("train_images", b"\0\0\x08\3" + struct.pack(">3I", 4, 2**16, 2**16), "must hold 17,179,869,200 bytes, as its"),
    ("train_labels", GOOD["train_labels"] + b"\1", "must hold 12 bytes, as its head says, got 13"),
    ("train_labels", GOOD["train_labels"][:-2], "must hold 12 bytes, as its head says, got 10"),
    ("train_labels", packed(0x08, (4, 1), [1] * 4), "must have one dimension, that of labels, got 4 x 1"),
    ("train_labels", packed(0x08, (3,), [1] * 3), "must hold a label for each of the 4 images of "),
    ("train_labels", packed(0x0D, (4,), [1, 2, 0.5, 3]), "must hold whole numbers as labels, got [0.5]"),
    ("train_labels", packed(0x0D, (4,), [1, 2, math.inf, 3]), "must hold whole numbers as labels, got [inf]"),
    (
        "test_images",
        packed(0x08, (1, 3, 2), [1] * 6),
        "must hold images of 2 x 3 pixels, as ",
    ),
    ("test_labels", packed(0x08, (2,), [1] * 2), "must hold a label for each of the 1 images of "),
]


@pytest.mark.parametrize(("part", "data", "expected"), WRONG)
def test_wrong_file_is_named(tmp_path, part, data, expected):
    begin, rest = re.escape(f"{tmp_path / part} must "), re.escape(expected)
    with pytest.raises(ValueError, match=f"^(?={begin}).*{rest}") as error:
        read(tmp_path, {part: data})
    assert len(str(error.value)) < 2 * len(str(tmp_path)) + 250


@pytest.mark.parametrize("part", PARTS)
def test_missing_file_is_named_with_its_option(tmp_path, part):
    read(tmp_path)
    (tmp_path / part).unlink()
    with pytest.raises(ValueError, match=rf"root must hold the file '{part}' \(option {part}\), got none at"):
        idx.read(tmp_path, **{name: name for name in PARTS})


@pytest.mark.parametrize("part", PARTS)
def test_damaged_packed_file_is_refused(tmp_path, part):
    read(tmp_path, packing=".gz")
    path = tmp_path / f"{part}.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=re.escape(f"{path} must be a whole file, got one that is damaged: ")):
        idx.read(tmp_path, **{name: f"{name}.gz" for name in PARTS})


def test_announced_numbers_that_are_not_there_take_no_memory(tmp_path):
    many = 2**32 - 1
    content = {
        "train_images": struct.pack(">HBB3I", 0, 8, 3, many, 2, 3) + bytes(600),
        "train_labels": struct.pack(">HBBI", 0, 8, 1, many) + bytes(100),
    }
    with pytest.raises(ValueError, match=r"train_images must hold .* bytes, as its head says, got 616"):
        read(tmp_path, content)


@pytest.mark.parametrize("part", ["train_images", "train_labels"])
def test_a_small_file_of_many_numbers_is_read_only_if_asked_for(tmp_path, part):
    n = 70_000
    noise = np.random.default_rng(0).integers(0, 256, n).tolist()
    numbers = {"train_images": noise, "train_labels": noise} | {part: n * [0]}
    content = {
        "train_images": packed(0x08, (n, 1), numbers["train_images"]),
        "train_labels": packed(0x08, (n,), numbers["train_labels"]),
        "test_images": packed(0x08, (1, 1), [0]),
    }
    with pytest.raises(ValueError, match=rf"{part}.gz must unpack to at most 200 times its \d+ bytes, got more"):
        read(tmp_path, content, ".gz")
    assert read(tmp_path, content, ".gz", compression_ratio=2000).X.shape == (n + 1, 1)


# Mutations

HEADS = [bytes([number]) for number in (0, 1, 2, 3, 4, 8, 9, 11, 12, 13, 14, 255)]


def wrong(content, rng):
    """The four files, one of them mutated."""
    part = PARTS[rng.integers(4)]
    return content | {part: mutated(content[part], rng, HEADS, header=20, most=2) or b"\0"}


@pytest.mark.parametrize("packing", PACK)
def test_mutated_files_are_read_as_the_twin_does_or_refused(tmp_path, packing):
    rng = np.random.default_rng(len(packing))
    right = sum(check_against_twin(tmp_path, wrong(GOOD, rng), packing) for _ in range(500))
    assert 20 < right < 480


@pytest.mark.parametrize("kind", CODES)
def test_mutated_files_of_every_type_are_read_as_the_twin_does_or_refused(tmp_path, kind):
    rng = np.random.default_rng(kind)
    good = four(kind, (2, 2), range(12), [1, 2, 3], range(4), [5])
    for _ in range(60):
        check_against_twin(tmp_path, wrong(good, rng))

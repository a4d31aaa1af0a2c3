"""Files in the idx format are read correctly, and every wrong file is refused with a clear error."""

import gzip
import re
import struct

import numpy as np
import pytest

from jointsparse.pipeline.datasets import idx, packed

PACK = {"": bytes, ".gz": lambda content: gzip.compress(content, mtime=0)}


def file(shape, numbers):
    return struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape) + bytes(numbers)


TRAIN = [0, 255, 51, 0, 0, 1, *[0] * 6, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 200]
GOOD = {
    "train_images": file((4, 2, 3), TRAIN),
    "train_labels": file((4,), [3, 0, 9, 3]),
    "test_images": file((1, 2, 3), [9, 0, 8, 0, 7, 0]),
    "test_labels": file((1,), [1]),
}


def read(folder, content=GOOD, packing="", **options):
    """Read the four files in `GOOD`, some of them replaced by those in `content`."""
    names = {part: f"{part}{packing}" for part in GOOD}
    for part, data in (GOOD | content).items():
        (folder / names[part]).write_bytes(PACK[packing](data))
    return idx.read(folder, **names, **options)


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


BYTES = "must have dimensions of at least 1 and hold "


@pytest.mark.parametrize(
    ("part", "data", "expected"),
    [
        ("train_images", b"", "and the number of dimensions, got nothing"),
        ("train_images", b"\0\0\x08", "and the number of dimensions, got 00 00 08"),
        ("train_images", b"\0\1\x08\3", "must be an idx file of unsigned bytes, which begins with the bytes 00 00 08"),
        ("train_images", b"\0\0\x0a\3" + bytes(12), "got 00 00 0a"),
        ("train_images", b"\0\0\x08\0", f"{BYTES}5 bytes to match them, got dimensions () and 4 bytes"),
        ("train_images", b"\0\0\x08\3" + bytes(11), f"{BYTES}16 bytes to match them, got dimensions (0, 0, 0) and 15"),
        ("train_images", file((4, 0, 3), []), f"{BYTES}16 bytes to match them, got dimensions (4, 0, 3) and 16"),
        (
            "train_images",
            file((4,), [1] * 4),
            "must hold images, in at least two dimensions, got shape (4,",
        ),
        ("train_images", GOOD["train_images"] + b"\0", f"{BYTES}40 bytes to match them, got dimensions (4, 2, 3) and"),
        ("train_images", GOOD["train_images"][:-1], "got dimensions (4, 2, 3) and 39 bytes"),
        ("train_images", gzip.compress(b"", mtime=0), "got 1f 8b 08 00 (the name of a gzip file must end in .gz)"),
        # The header announces more numbers than the file holds. No memory is allocated for them.
        ("train_images", b"\0\0\x08\3" + struct.pack(">3I", 4, 2**16, 2**16), f"{BYTES}17,179,869,200 bytes to"),
        ("train_labels", file((3,), [1] * 3), "must hold a label for each of the 4 images of "),
        ("test_images", file((1, 3, 2), [1] * 6), "must hold images of shape (2, 3) like "),
    ],
)
def test_the_error_about_a_wrong_file_names_the_file(tmp_path, part, data, expected):
    begin, rest = re.escape(f"{tmp_path / part} must "), re.escape(expected)
    with pytest.raises(ValueError, match=f"^(?={begin}).*{rest}") as error:
        read(tmp_path, {part: data})
    assert len(str(error.value)) < 2 * len(str(tmp_path)) + 250


@pytest.mark.parametrize("part", ["train_images", "train_labels"])
def test_a_highly_compressed_file_is_refused(tmp_path, monkeypatch, part):
    monkeypatch.setattr(packed, "SMALL_BYTES", 2**16)
    n, pixels = 70_000, np.random.default_rng(0).bytes(70_000)
    content = {"train_images": file((n, 1), pixels), "train_labels": file((n,), bytes(n))}
    content |= {"train_images": file((n, 2, 3), bytes(6 * n))} if part == "train_images" else {}
    with pytest.raises(ValueError, match=rf"{part}.gz must unpack to at most 200 times its \d+ bytes, got"):
        read(tmp_path, content, ".gz")

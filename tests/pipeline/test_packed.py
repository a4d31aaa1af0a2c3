"""Compressed files are read completely, or refused with a clear error."""

import bz2
import gzip
import random

import pytest

from jointsparse.pipeline.datasets import packed

CONTENT = b"3 1:0.5\n 2:1\n17 1:.25 3:3\n" * 3
PACK = {"": bytes, ".gz": gzip.compress, ".GZ": gzip.compress, ".bz2": bz2.compress}


def read(folder, suffix, content):
    """Write `content` to a file without compressing it, and return what `read_whole` unpacks."""
    (folder / f"data{suffix}").write_bytes(content)
    return packed.read_whole(folder / f"data{suffix}")


@pytest.mark.parametrize("suffix", PACK)
def test_the_suffix_decides_how_a_file_of_one_or_more_streams_is_unpacked(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(packed, "SMALL_BYTES", 2**16)  # a file that unpacks to no more may be highly compressed
    long = random.Random(0).randbytes(20_000)  # read in several parts
    for streams in ([CONTENT], [long], [b""], [bytes(2**16)], [b"", CONTENT, CONTENT]):
        assert read(tmp_path, suffix, b"".join(map(PACK[suffix], streams))) == b"".join(streams)


@pytest.mark.parametrize("suffix", [".gz", ".bz2"])
def test_damaged_and_highly_compressed_files_are_refused(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(packed, "SMALL_BYTES", 2**16)
    first, second, long = (PACK[suffix](content) for content in (CONTENT[:7], CONTENT[7:], bytes(10**7)))
    whole, wrong = first + second, bytes([second[0] ^ 1]) + second[1:]
    cuts = [whole[:n] for n in (1, len(first) - 1, len(first) + 1, len(whole) - 1)]
    for damaged in (CONTENT, first + wrong, whole + b"garbage", *cuts):
        with pytest.raises(ValueError, match=f"data{suffix} must be a complete compressed file, but is damaged"):
            read(tmp_path, suffix, damaged)
    with pytest.raises(ValueError, match=f"must unpack to at most 200 times its {len(long):,} bytes, got "):
        read(tmp_path, suffix, long)

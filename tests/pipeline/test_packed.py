"""Compressed files are read completely, or refused with a clear error."""

import bz2
import gzip
import re

import pytest

from jointsparse.pipeline.datasets import packed
from jointsparse.pipeline.datasets.packed import read_whole

CONTENT = b"3 1:0.5\n 2:1\n17 1:.25 3:3\n" * 3
PACK = {"": bytes, ".gz": lambda content: gzip.compress(content, mtime=0), ".bz2": bz2.compress}
PACKED = pytest.mark.parametrize("suffix", [".gz", ".bz2"])


def read(folder, suffix, content):
    """Write `content` to a file without compressing it, and return what `read_whole` unpacks."""
    (folder / f"data{suffix}").write_bytes(content)
    return read_whole(folder / f"data{suffix}")


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("content", [CONTENT, CONTENT * 5000, b""])
def test_the_suffix_decides_how_a_file_is_unpacked(tmp_path, suffix, content):
    assert read(tmp_path, suffix, PACK[suffix](content)) == content


@PACKED
def test_a_file_of_several_streams_is_read_completely_and_refused_if_a_stream_is_damaged(tmp_path, suffix):
    pack = PACK[suffix]
    message = re.escape(f"{tmp_path / 'data'}{suffix} must be a complete compressed file, but is damaged")
    both = pack(CONTENT[:7]) + pack(CONTENT[7:])
    assert read(tmp_path, suffix, both) == CONTENT
    second = bytearray(pack(CONTENT))
    second[0] ^= 1
    for damaged in (CONTENT, pack(CONTENT) + second, both + b"garbage", *(both[:n] for n in range(1, len(both), 7))):
        if damaged != pack(CONTENT[:7]):
            with pytest.raises(ValueError, match=message):
                read(tmp_path, suffix, bytes(damaged))


@PACKED
def test_a_highly_compressed_file_is_refused_unless_it_is_small(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(packed, "SMALL_BYTES", 2**16)
    long, small = (PACK[suffix](bytes(length)) for length in (10**7, 2**16))
    message = f"data{suffix} must unpack to at most 200 times its {len(long):,} bytes, got "
    with pytest.raises(ValueError, match=re.escape(message)):
        read(tmp_path, suffix, long)
    assert read(tmp_path, suffix, small) == bytes(2**16)

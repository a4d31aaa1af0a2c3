"""Compressed files are read completely, or refused with a clear error."""

import bz2
import gzip

import pytest

from jointsparse.pipeline.datasets import packed

CONTENT = b"3 1:0.5\n 2:1\n17 1:.25 3:3\n" * 3
PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}
PACKED = pytest.mark.parametrize("suffix", [".gz", ".bz2"])


@pytest.fixture
def read(tmp_path, suffix):
    """Return a function that writes a file as it is, and returns what `read_whole` unpacks."""

    def write_and_read(content):
        (tmp_path / f"data{suffix}").write_bytes(content)
        return packed.read_whole(tmp_path / f"data{suffix}")

    return write_and_read


@pytest.mark.parametrize("suffix", PACK)
def test_the_suffix_decides_how_a_file_is_unpacked(read, suffix):
    for content in (CONTENT, CONTENT * 5000, b""):
        assert read(PACK[suffix](content)) == content


@PACKED
def test_a_file_of_several_streams_is_read_completely_and_refused_if_a_stream_is_damaged(read, suffix):
    first, second = PACK[suffix](CONTENT[:7]), PACK[suffix](CONTENT[7:])
    assert read(first + second) == CONTENT
    wrong = bytes([second[0] ^ 1]) + second[1:]
    cuts = [(first + second)[:n] for n in (1, len(first) - 1, len(first) + 1, len(first + second) - 1)]
    for damaged in (CONTENT, first + wrong, first + second + b"garbage", *cuts):
        with pytest.raises(ValueError, match=f"data{suffix} must be a complete compressed file, but is damaged"):
            read(damaged)


@PACKED
def test_a_highly_compressed_file_is_refused_unless_it_is_small(read, suffix, monkeypatch):
    monkeypatch.setattr(packed, "SMALL_BYTES", 2**16)
    long, small = (PACK[suffix](bytes(length)) for length in (10**7, 2**16))
    with pytest.raises(ValueError, match=f"must unpack to at most 200 times its {len(long):,} bytes, got "):
        read(long)
    assert read(small) == bytes(2**16)

"""Make mutated files, which contain errors or oddities."""

import struct

import numpy as np


def mutated(data: bytes, rng: np.random.Generator, pieces: list[bytes], header: int = 64, most: int = 4) -> bytes:
    """Make one to `most` small changes, half of them near the beginning, where files state their format."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, most + 1)):
        end = len(changed) if rng.random() < 0.5 else min(header, len(changed))
        at, some = int(rng.integers(end + 1)), int(rng.integers(1, 9))
        match rng.integers(8):
            case 0:
                changed[at : at + 1] = rng.bytes(1)
            case 1:
                changed[at:at] = pieces[rng.integers(len(pieces))]
            case 2:
                del changed[at : at + some]
            case 3:
                changed[at : at + 1] = bytes(byte ^ (1 << rng.integers(8)) for byte in changed[at : at + 1])
            case 4:
                changed[at:at] = changed[at : at + 10 * some]
            case 5:
                number = int(rng.choice([0, 1, 255, 20_000, 65_535, 2**31 - 1, 2**32 - 1]))
                changed[at : at + 4] = struct.pack("<I" if rng.random() < 0.5 else ">I", number)
            case 6:
                changed[at : at + 4] = pieces[rng.integers(len(pieces))]
            case 7 if rng.random() < 0.4:
                del changed[int(rng.integers(len(changed) + 1)) :]
    return bytes(changed)

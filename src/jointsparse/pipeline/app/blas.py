"""Choose the BLAS kernel of this processor.

The OpenBLAS in NumPy's wheels takes processors that it does not know for Haswell. On one with AVX-512 a product of
matrices then takes up to twice as long.
"""

import os
from contextlib import suppress
from pathlib import Path

# What OpenBLAS's kernel of this name is compiled for.
SKYLAKEX = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}


def use_best_kernel(cpuinfo: str | Path = "/proc/cpuinfo") -> None:
    """Set OPENBLAS_CORETYPE to SkylakeX if the processor can run that kernel, for NumPy imported later.

    A value that is set already stays, also an empty one. cpuinfo: the file in which Linux describes the processor;
    nothing happens without it.
    """
    with suppress(OSError):
        lines = Path(cpuinfo).read_text(encoding="utf-8").splitlines()
        if {flag for line in lines if line.startswith("flags") for flag in line.split()} >= SKYLAKEX:
            os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")

"""Choose the fastest BLAS kernel for this processor.

The OpenBLAS in NumPy's wheels treats unknown processors as Haswell. If such a processor has AVX-512, matrix products
then take up to twice as long as with the SkylakeX kernel.
"""

import os
from contextlib import suppress
from pathlib import Path

# Instruction sets that OpenBLAS's SkylakeX kernel is compiled for.
SKYLAKEX = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}


def use_best_kernel(cpuinfo: str | Path = "/proc/cpuinfo") -> None:
    """Set OPENBLAS_CORETYPE to SkylakeX if the processor can run that kernel.

    Call this function before NumPy is imported. If the variable is already set, even to an empty string, it is left
    unchanged.

    Parameters
    ----------
    cpuinfo : path
        File in which Linux describes the processor. If it does not exist, nothing is set.
    """
    with suppress(OSError):
        lines = Path(cpuinfo).read_text(encoding="utf-8").splitlines()
        if {flag for line in lines if line.startswith("flags") for flag in line.split()} >= SKYLAKEX:
            os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")

"""The BLAS kernel that jobs choose."""

import os

import pytest

from jointsparse.pipeline.app.blas import use_best_kernel

SKYLAKE = "processor : 0\nflags\t\t: fpu avx2 avx512f avx512cd avx512bw avx512dq avx512vl\n"
HASWELL = "processor : 0\nflags\t\t: fpu avx2\n"


@pytest.mark.parametrize(
    ("cpuinfo", "before", "expected"),
    [
        pytest.param(SKYLAKE, None, "SkylakeX", id="AVX-512"),
        pytest.param(HASWELL, None, None, id="no AVX-512"),
        pytest.param(SKYLAKE, "Haswell", "Haswell", id="the user's own choice stays"),
        pytest.param(None, None, None, id="no such file"),
    ],
)
def test_only_a_processor_that_can_run_the_kernel_gets_it(tmp_path, monkeypatch, cpuinfo, before, expected):
    monkeypatch.setattr(os, "environ", {} if before is None else {"OPENBLAS_CORETYPE": before})
    if cpuinfo:
        (tmp_path / "cpuinfo").write_text(cpuinfo)
    use_best_kernel(tmp_path / "cpuinfo")
    assert os.environ.get("OPENBLAS_CORETYPE") == expected

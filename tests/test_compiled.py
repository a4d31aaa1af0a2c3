"""The cache of compiled kernels: kernels are compiled once per version of the source, and unsafe files are not run."""

import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from common import run_python

from jointsparse import compiled

# Prints the cache folder, the number of compilations, and all bits of some sums, because the compiler chooses the order
# of summation.
PROGRAM = """
import numpy as np
from jointsparse import compiled
from jointsparse.norms import l2
sizes = [l2.norm(np.random.default_rng(n).standard_t(2, size=n)).hex() for n in (17, 5000)]
kernels = [each for each in vars(l2).values() if hasattr(each, "py_func")]
print(compiled.folder(), sum(sum(each.stats.cache_misses.values()) for each in kernels), *sizes)
"""


def run(cache, source=compiled.PACKAGE.parent, *, program=PROGRAM, umask=-1):
    """Run the program in a fresh process. Return the cache folder, the number of compilations, stderr and the sums."""
    variables = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(source)}
    done = subprocess.run([sys.executable, "-c", program], umask=umask, env=variables, capture_output=True, text=True)
    folder, count, *sums = done.stdout.split()
    return Path(folder), int(count), done.stderr, sums


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """The result of the run that has filled a cache with all kernels that the program needs."""
    return run(tmp_path_factory.mktemp("cache"), umask=0)


@pytest.fixture
def folder(filled, tmp_path):
    """A copy of the filled folder, which a test may damage, in a cache of its own."""
    return Path(shutil.copytree(filled[0], tmp_path / "cache" / filled[0].name))


def test_a_copy_of_the_library_compiles_nothing_and_gives_the_same_bits(filled, tmp_path):
    shutil.copytree(compiled.PACKAGE, tmp_path / "jointsparse", ignore=shutil.ignore_patterns("__pycache__"))
    folder, _, _, sums = filled
    assert run(folder.parent, tmp_path) == (folder, 0, "", sums)
    # All users may read kernels, and only one may write them, also if the umask is 0.
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o644] * len(list(folder.iterdir()))
    assert folder.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(("edited", "same"), [("files.py", True), ("norms/l1inf.py", False)])
def test_an_edit_changes_the_cache_folder_if_the_file_has_kernels(tmp_path, monkeypatch, edited, same):
    source = Path(shutil.copytree(compiled.PACKAGE, tmp_path / "jointsparse"))
    monkeypatch.setattr(compiled, "PACKAGE", source)
    before = compiled.folder.__wrapped__()
    with (source / edited).open("a") as file:
        file.write("# edited\n")
    assert (compiled.folder.__wrapped__() == before) == same


def test_changed_and_writable_files_are_compiled_again(filled, folder):
    for file in folder.iterdir():
        file.write_bytes(bytes(compiled.DIGEST_BYTES) + file.read_bytes()[compiled.DIGEST_BYTES :])
    assert filled[1] > 0 and [run(folder.parent)[1] for _ in range(2)] == [filled[1], 0]
    for file in folder.iterdir():
        file.chmod(0o664)
    assert run(folder.parent)[1] == filled[1]


def test_a_folder_that_others_can_write_is_not_used_and_one_process_says_so(folder):
    folder.chmod(0o777)
    child = (
        f"import subprocess, sys, jointsparse.norms; subprocess.run([sys.executable, '-c', {PROGRAM!r}], check=True)"
    )
    _, count, stderr, _ = run(folder.parent, program=child)
    assert count > 0 and stderr.count("set the environment variable NUMBA_CACHE_DIR") == 1


@pytest.mark.parametrize(
    ("owner", "mode", "is_used"),
    [
        ("me", 0o700, True),
        ("me", 0o770, False),
        ("me", 0o702, False),
        ("root", 0o755, True),
        ("root", 0o775, False),
        ("stranger", 0o755, False),
    ],
)
def test_a_folder_is_used_if_only_the_user_and_root_can_write_it(folder, monkeypatch, owner, mode, is_used):
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me if owner == "me" else me + 1)
    monkeypatch.setattr(compiled, "ROOT", me if owner == "root" else -1)
    monkeypatch.setattr(compiled.numba.config, "CACHE_DIR", str(folder.parent))
    folder.chmod(mode)
    with nullcontext() if is_used else pytest.warns(UserWarning, match="its owner .* set the environment variable"):
        assert (compiled.folder.__wrapped__() is not None) == is_used


WARMUP = """
import sys
import numpy as np
from jointsparse.learning import warmup
from jointsparse.learning.losses import hinge, squared
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import subgradient, working_set
from jointsparse.norms import l2, l12

def compiled():
    modules = [module for name, module in sys.modules.items() if name.startswith("jointsparse.")]
    kernels = [each for module in modules for each in vars(module).values() if hasattr(each, "py_func")]
    return sum(len(each.signatures) for each in kernels)

warmup.warmup("l2", "l12")
before = compiled()
X, Y = np.ones((300, 50), np.float32), np.where(np.arange(900).reshape(300, 3) % 5, -1.0, 1.0)
problem, common = Problem.from_matrix(X, Y, normalisation="mean"), {"loss": hinge, "norm": l2, "radius": np.ones(4)}
subgradient.fit(problem, **common, eta0=np.ones(4), n_iter=3)
working_set.fit(problem, **common, n_iter=3)
working_set.fit(problem, loss=squared, norm=l12, radius=np.ones(1), n_iter=3, penalised=True)
l2.project(np.ones((9, 4)), 1.0)
print(before > 10, compiled() - before)
"""


def test_nothing_is_compiled_after_a_warmup():
    assert run_python("-c", WARMUP) == "True 0\n"

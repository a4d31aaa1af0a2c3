"""The cache of compiled kernels: kernels are compiled once per version of the source, and unsafe files are not run."""

import os
import pickle
import py_compile
import shutil
import subprocess
import sys
from contextlib import nullcontext
from hashlib import sha256
from itertools import cycle
from pathlib import Path

import pytest

from jointsparse import compiled

PACKAGE = compiled.PACKAGE
# Prints the cache folder, the number of compilations, and all bits of some sums, because the compiler chooses the order
# of summation.
PROGRAM = """
import numpy as np
from jointsparse import compiled
from jointsparse.norms import l12
sizes = [l12.norm(np.random.default_rng(n).standard_t(2, size=(n, 7))).hex() for n in (17, 5000)]
kernels = [each for each in vars(l12).values() if hasattr(each, "py_func")]
print(compiled.folder(), sum(sum(each.stats.cache_misses.values()) for each in kernels), *sizes)
"""


def run(cache, source=PACKAGE.parent, *, program=PROGRAM, umask=-1):
    """Run the program in a fresh process. Return the cache folder, the number of compilations, stderr and the sums."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        umask=umask,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    folder, count, *sums = done.stdout.split()
    return Path(folder), int(count), done.stderr, sums


@pytest.fixture(scope="module")
def compiling(tmp_path_factory):
    """A cache with all kernels that the program needs, and the result of the run that filled it."""
    cache = tmp_path_factory.mktemp("cache")
    return cache, run(cache)


@pytest.fixture
def cache(compiling, tmp_path):
    """A copy of the filled cache, which a test may damage."""
    return Path(shutil.copytree(compiling[0], tmp_path / "cache"))


def test_a_copy_of_the_library_compiles_nothing_and_gives_the_same_bits(compiling, tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "jointsparse", ignore=shutil.ignore_patterns("__pycache__"))
    cache, (_, compiled_first, _, expected) = compiling
    folder, count, stderr, sums = run(cache, tmp_path)
    assert (folder.stat().st_mode & 0o777, count, stderr, sums) == (0o755, 0, "", expected)
    assert compiled_first > 0


@pytest.mark.parametrize(("edited", "same"), [("files.py", True), ("norms/l1inf.py", False)])
def test_an_edit_changes_the_cache_folder_if_the_file_has_kernels(tmp_path, monkeypatch, edited, same):
    source = Path(shutil.copytree(PACKAGE, tmp_path / "jointsparse", ignore=shutil.ignore_patterns("__pycache__")))
    monkeypatch.setattr(compiled, "PACKAGE", source)
    before = compiled.folder.__wrapped__()
    with (source / edited).open("a") as file:
        file.write("# edited\n")
    assert (compiled.folder.__wrapped__() == before) == same


def changed(content):
    """Flip one bit in the middle of a cached kernel."""
    return content[: len(content) // 2] + bytes([content[len(content) // 2] ^ 4]) + content[len(content) // 2 + 1 :]


def test_cut_empty_and_changed_files_are_compiled_again(compiling, cache):
    spoils = cycle([lambda content: b"", lambda content: content[:100], changed])
    files = list((cache / compiling[1][0].name).iterdir())
    assert len(files) >= 3
    for file, spoil in zip(files, spoils, strict=False):
        file.write_bytes(spoil(file.read_bytes()))
    assert run(cache)[1] > 0
    whole = [file.read_bytes() for file in files]
    assert all(sha256(kernel[compiled.DIGEST_BYTES :]).digest() == kernel[: compiled.DIGEST_BYTES] for kernel in whole)


class Planted:
    """An object whose pickle makes a folder when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def plant(folder, tmp_path):
    """Replace all kernels in a folder by pickles that make the folder `ran`."""
    packed = pickle.dumps(Planted(str(tmp_path / "ran")))
    for file in folder.iterdir():
        file.write_bytes(sha256(packed).digest() + packed)
    return tmp_path / "ran"


@pytest.mark.parametrize(("of_folder", "of_files"), [(0o777, 0o644), (0o755, 0o664)], ids=["folder", "files"])
def test_a_planted_file_that_others_can_write_is_not_run(compiling, cache, tmp_path, of_folder, of_files):
    folder = cache / compiling[1][0].name
    ran = plant(folder, tmp_path)
    for path, mode in ((folder, of_folder), *((file, of_files) for file in folder.iterdir())):
        path.chmod(mode)
    _, count, stderr, _ = run(cache)
    assert count > 0 and not ran.exists()
    assert stderr.count("set the environment variable NUMBA_CACHE_DIR") == (of_folder == 0o777)


def test_a_process_does_not_repeat_the_advice_of_its_parent(compiling, cache):
    (cache / compiling[1][0].name).chmod(0o777)
    parent = (
        f"import subprocess, sys, jointsparse.norms; subprocess.run([sys.executable, '-c', {PROGRAM!r}], check=True)"
    )
    assert run(cache, program=parent)[2].count("NUMBA_CACHE_DIR") == 1


@pytest.fixture
def owner(monkeypatch):
    """A function that changes which user owns the files of this test: "me", "root" or a "stranger"."""

    def own(name):
        me = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: me if name == "me" else me + 1)
        monkeypatch.setattr(compiled, "ROOT", me if name == "root" else -1)

    return own


@pytest.mark.parametrize(
    ("name", "mode", "is_used"),
    [
        ("me", 0o700, True),
        ("me", 0o770, False),
        ("me", 0o702, False),
        ("root", 0o755, True),
        ("root", 0o775, False),
        ("stranger", 0o755, False),
    ],
)
def test_a_folder_is_used_if_only_the_user_and_root_can_write_it(
    compiling, cache, monkeypatch, owner, name, mode, is_used
):
    (cache / compiling[1][0].name).chmod(mode)
    monkeypatch.setattr(compiled.numba.config, "CACHE_DIR", str(cache))
    owner(name)
    with nullcontext() if is_used else pytest.warns(UserWarning, match="its owner .* set the environment variable"):
        assert (compiled.folder.__wrapped__() is not None) == is_used


def test_all_users_may_read_kernels_and_only_one_may_write_them(tmp_path):
    folder = run(tmp_path / "cache", umask=0)[0]
    modes = {path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert (folder.stat().st_mode & 0o777, modes) == (0o755, {0o644})


def test_kernels_that_cannot_be_written_cause_one_warning(compiling, cache):
    folder = cache / compiling[1][0].name
    for file in folder.iterdir():
        file.unlink()
        file.mkdir()
    assert run(cache)[2].count("Is a directory") == 1


def test_versions_without_source_do_not_share_kernels(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "PACKAGE", tmp_path)
    source, digests = PACKAGE / "norms" / "l2.py", set()
    for edit in ("", "# edited\n", "X = 1\n"):
        (tmp_path / "l2.py").write_text(source.read_text() + edit)
        py_compile.compile(
            tmp_path / "l2.py",
            tmp_path / "l2.pyc",
            dfile="l2.py",
            invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH,
        )
        (tmp_path / "l2.py").unlink()
        digests.add(compiled.code_digest())
    assert len(digests) == 3 and None not in digests


def test_a_library_without_files_has_no_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "PACKAGE", tmp_path / "library.zip" / "jointsparse")
    assert compiled.folder.__wrapped__() is None


WARMUP = """
import sys
import numpy as np
from jointsparse.learning import warmup
from jointsparse.learning.losses import hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import subgradient, working_set
from jointsparse.norms import l2

def compiled():
    modules = [module for name, module in sys.modules.items() if name.startswith("jointsparse.")]
    kernels = [each for module in modules for each in vars(module).values() if hasattr(each, "py_func")]
    return sum(len(each.signatures) for each in kernels)

warmup.warmup("l2")
before = compiled()
X, Y = np.ones((300, 50), np.float32), np.where(np.arange(900).reshape(300, 3) % 5, -1.0, 1.0)
problem, common = Problem.from_matrix(X, Y, normalisation="mean"), {"loss": hinge, "norm": l2, "radius": np.ones(4)}
subgradient.fit(problem, **common, eta0=np.ones(4), n_iter=3)
working_set.fit(problem, **common, n_iter=3)
l2.project(np.ones((9, 4)), 1.0)
print(before, compiled() - before)
"""


def test_nothing_is_compiled_after_a_warmup():
    done = subprocess.run([sys.executable, "-c", WARMUP], capture_output=True, text=True, check=True)
    before, more = map(int, done.stdout.split())
    assert (before > 10, more) == (True, 0)

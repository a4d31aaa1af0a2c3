"""An installation keeps its promises: light imports, a core without extra, clear words if the extra is missing."""

import re
import subprocess
import sys
from importlib.metadata import requires, version
from pathlib import Path

import pytest

import jointsparse

CORE = {"numba", "numpy", "scipy", "scikit-learn"}
PIPELINE = ("pandas", "pyarrow", "psutil", "matplotlib", "PIL", "skimage", "snowballstemmer", "snakemake")


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments, "-c", code], capture_output=True, text=True, timeout=300)


def without_extra(code: str) -> subprocess.CompletedProcess[str]:
    """Run code where no package of the extra can be found."""
    hidden = f"""
import importlib.abc, importlib.machinery, sys
class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {PIPELINE}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {PIPELINE} else found(name, package)
sys.meta_path.insert(0, Hidden())
"""
    return run(hidden + code)


def test_the_core_needs_four_packages():
    assert {line.split(">")[0] for line in requires("jointsparse") if "extra ==" not in line} == CORE


def test_importing_the_package_imports_nothing_heavy():
    done = run("import sys, jointsparse; print(sorted({'numpy', 'numba', 'sklearn', 'scipy'} & set(sys.modules)))")
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


def test_jobs_that_make_features_do_not_wait_for_scikit_learn():
    names = ", ".join(f"jointsparse.features.{name}" for name in ("basis", "dense_sift", "shards", "vocabulary_tree"))
    done = run(f"import sys, {names}; print('sklearn' in sys.modules)")
    assert (done.stdout, done.returncode) == ("False\n", 0), done.stderr


def test_estimators_are_found_when_they_are_asked_for():
    assert jointsparse.JointSparseClassifier().get_params()["norm"] == "l1inf"
    assert set(jointsparse.__all__) <= set(dir(jointsparse))
    with pytest.raises(AttributeError, match="no attribute 'JointSparse'"):
        jointsparse.JointSparse  # noqa: B018


def test_norms_learning_and_estimators_need_no_extra():
    code = (
        "import jointsparse.norms, jointsparse.learning.solvers, jointsparse.learning.sweep, jointsparse.learning.svm\n"
        "from jointsparse import JointSparseClassifier\n"
        "from jointsparse.features import SVDBasis, VocabularyTree\n"
        "import sys; print('pandas' in sys.modules)"
    )
    done = without_extra(code)
    assert (done.stdout, done.returncode) == ("False\n", 0), done.stderr


@pytest.mark.parametrize("module", ["datasets", "figures", "learning.tasks", "papers", "scores", "provenance.tables"])
def test_what_needs_the_extra_says_so_in_one_sentence(module):
    done = without_extra(f"import jointsparse.{module}")
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: jointsparse.{module} needs pandas")
    assert last.endswith(": pip install 'jointsparse[pipeline]'")


def test_the_command_line_tells_its_version_without_the_extra():
    done = without_extra("from jointsparse.app.command_line import main; main(['--version'])")
    assert done.stdout == f"jointsparse {version('jointsparse')}\n", done.stderr


@pytest.mark.parametrize(
    ("error", "said"),
    [("KeyboardInterrupt", r"error: interrupted\n"), ("OSError", r"Traceback [\s\S]*in main\nOSError\n")],
)
def test_an_interrupt_while_the_command_line_is_imported_is_one_line(error, said):
    code = f"""
import importlib.abc, runpy, sys
class Interrupting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "jointsparse.app.command_line":
            main()
def main():
    raise {error}
sys.meta_path.insert(0, Interrupting())
runpy.run_module("jointsparse", run_name="__main__")
"""
    done = run(code)
    assert done.returncode != 0
    assert re.fullmatch(said, done.stderr)


@pytest.mark.parametrize("how", [["-m", "mypy", "--strict"], []], ids=["types", "runs"])
def test_a_users_script(how):
    script = str(Path(__file__).with_name("user.py"))
    done = subprocess.run([sys.executable, *how, script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr

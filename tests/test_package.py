"""The installed package: light imports, a core that works without the extra, and clear messages if it is missing."""

import re
import runpy
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from common import run_python

PIPELINE = ("pandas", "pyarrow", "psutil", "matplotlib", "PIL", "skimage", "snowballstemmer", "snakemake")

# The packages of the extra cannot be imported.
WITHOUT_EXTRA = f"""
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


@pytest.mark.parametrize(
    ("setting", "code", "said"),
    [
        ("", "import jointsparse; print({'numpy', 'numba', 'sklearn', 'scipy'} & set(sys.modules))", "set()"),
        ("", f"import jointsparse.norms; print({{'sklearn', *{PIPELINE}}} & set(sys.modules))", "set()"),
        (
            "",
            "from jointsparse.norms import l1inf; l1inf.project([[1.0]], 0.5); l1inf.norm([[[1.0]]])\n"
            "print({'array_api_compat', 'jax', 'torch', 'jointsparse.norms.formulas'} & set(sys.modules))",
            "set()",
        ),
        (
            "",
            "from jointsparse.features import basis, dense_sift, shards, vocabulary_tree\n"
            "print('sklearn' in sys.modules)",
            "False",
        ),
        (
            WITHOUT_EXTRA,
            "import jointsparse.norms, jointsparse.learning.solvers, jointsparse.pipeline.sweep\n"
            "import jointsparse.pipeline.svm\n"
            "from jointsparse import JointSparseClassifier, compare, task_scores\n"
            "from jointsparse.features import SVDBasis, VocabularyTree\n"
            "print('pandas' in sys.modules, set(jointsparse.__all__) <= set(dir(jointsparse)))",
            "False True",
        ),
        (
            WITHOUT_EXTRA,
            "from jointsparse.pipeline.app.command_line import main; main(['--version'])",
            f"jointsparse {version('jointsparse')}",
        ),
        (
            WITHOUT_EXTRA,
            "from jointsparse.pipeline.app.command_line import main; sys.stderr = sys.stdout; main(['run'])",
            "error: jointsparse run needs snakemake: pip install 'jointsparse[pipeline]'",
        ),
    ],
    ids=[
        "nothing heavy",
        "norms alone",
        "norms of NumPy's arrays",
        "features without scikit-learn",
        "the core without the extra",
        "version",
        "a run",
    ],
)
def test_an_import_loads_only_what_it_needs(setting, code, said):
    assert run_python("-c", f"import sys\n{setting}{code}") == f"{said}\n"


def test_modules_that_need_the_extra_say_so_in_one_sentence():
    modules = [
        *("datasets", "figures", "words", "papers", "page", "provenance.tables"),
        *("models.final", "models.stability", "models.tags_to_check"),
        *("scores.comparison", "scores.learnt", "scores.warning_table"),
    ]
    code = """
from importlib import import_module
for module in sys.argv[1:]:
    try:
        import_module(f"jointsparse.pipeline.{module}")
    except ImportError as error:
        print(error)
"""
    said = [rf"jointsparse\.pipeline\.{m} needs pandas.*: pip install 'jointsparse\[pipeline\]'" for m in modules]
    assert re.fullmatch("\n".join([*said, ""]), run_python("-c", WITHOUT_EXTRA + code, *modules))


@pytest.mark.parametrize(
    ("error", "said"),
    [("KeyboardInterrupt", r"error: interrupted\n"), ("OSError", r"Traceback [\s\S]*in main\n[\s\S]*OSError\n")],
)
def test_an_interrupt_while_the_command_line_is_imported_is_one_line(error, said):
    code = f"""
import importlib.abc, runpy, sys
class Interrupting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "jointsparse.pipeline.app.command_line":
            main()
def main():
    raise {error}
sys.meta_path.insert(0, Interrupting())
runpy.run_module("jointsparse", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode != 0 and re.fullmatch(said, done.stderr)


def test_a_users_script_runs():
    pytest.importorskip("pandas")
    runpy.run_path(str(Path(__file__).with_name("user.py")))

"""The library files that a rule depends on: the files that its script imports, and the plug-ins that its job uses."""

import json
import re
import shutil
from collections import defaultdict

import pytest
from code_hashes import code_of
from common import run_python
from miniature import BASE

# The files of a script


def test_unchanged_files_are_not_read_again_by_another_process(tmp_path):
    package = shutil.copytree(BASE / "src" / "jointsparse" / "norms", tmp_path / "norms").parent
    code = "import code_hashes as code; from pathlib import Path; code.recall('seen.json')\n"
    code += "print(code.code_of('norms/rows.py', package=Path.cwd())[0]); code.keep('seen.json')"
    seen, rows = package / "seen.json", package / "norms" / "rows.py"
    first = run_python("-c", code, cwd=package)
    seen.write_text(seen.read_text().replace(first.split()[1], "f" * 16))
    again = run_python("-c", code, cwd=package)
    rows.write_text(rows.read_text() + "pass\n")
    edited = run_python("-c", code, cwd=package)
    assert "f" * 16 in again and len({first, again, edited}) == 3


def test_every_form_of_import_is_followed_but_none_into_dictionaries_of_plug_ins(tmp_path):
    package = tmp_path / "package"
    for name in ("a", "b", "c", "d", "room/e", "f", "norms/l1", "norms/l2"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / f"{name}.py").write_text("")
    (package / "room" / "__init__.py").write_text("def f():\n    import jointsparse.a\n")
    (package / "norms" / "__init__.py").write_text("def g():\n    from jointsparse.norms import l2\n")
    (package / "top.py").write_text(
        "import numpy\nimport jointsparse.a\nfrom jointsparse import b, norms\nfrom jointsparse.c import name\n"
        "from jointsparse.room import e\nfrom jointsparse.norms import l1\ndef late():\n    from jointsparse import d\n"
        "match b:\n    case 1:\n        import jointsparse.f\n"
    )
    expected = ["a.py", "b.py", "c.py", "d.py", "f.py", "norms/l1.py", "room/__init__.py", "room/e.py", "top.py"]
    before = code_of("top.py", package=package)
    assert [line.split()[0] for line in before] == expected
    changed = shutil.copytree(package, tmp_path / "changed")
    (changed / "b.py").write_text("2\n")
    after = code_of("top.py", package=changed)
    assert [old.split()[0] for old, new in zip(before, after, strict=True) if old != new] == ["b.py"]


# The edits that change the line of a file

PYTHON = '''"""Captions."""

import math


def area(radius):
    """The area of a # disc."""
    # Source: Archimedes.
    if radius:
        print(f"area: {radius = } # {radius * 2:.3f}")
    return 3.14 * radius**2  # as 22 / 7 is too large
'''
TEMPLATE = "{# large #}\n<p>{{ text }}</p>\n"


@pytest.mark.parametrize(
    ("file", "content", "old", "new", "changes"),
    [
        ("a.py", PYTHON, "too large", "larger", False),
        ("a.py", PYTHON, "  # as 22 / 7 is too large", "", False),
        ("a.py", PYTHON, "    # Source: Archimedes.\n", "", False),
        ("a.py", PYTHON, "    # Source", "# Source", False),
        ("a.py", PYTHON, "import math\n", "# Constants\nimport math\n", False),
        ("a.py", PYTHON, "import math\n\n\n", "\n\nimport math\n", False),
        ("a.py", PYTHON, "import math\n", "import  math \t\n", False),
        ("a.py", PYTHON, "import math\n", "\f\nimport math\n", False),
        ("a.py", PYTHON, "\n", "\r\n", False),
        ("a.py", PYTHON, "3.14 * radius**2", "(\n        3.14 * radius**2\n    )", False),
        ("a.py", PYTHON, "Captions", "Legends", True),  # the docstring of the module
        ("a.py", PYTHON, "# disc", "# circle", True),  # the docstring of a function
        ("a.py", PYTHON, "    return", "        return", True),
        ("a.py", PYTHON, "3.14", "3.1416", True),
        ("a.py", PYTHON, "radius**2", "radius**2.0", True),
        ("a.py", PYTHON, "math", "cmath", True),
        ("a.py", PYTHON, "return 3.14", "3.14", True),
        ("a.py", PYTHON, 'f"area', '"area', True),
        ("a.py", PYTHON, "area: ", "area:  ", True),
        ("a.py", PYTHON, "# {", "#  {", True),
        ("a.py", PYTHON, "radius = }", "radius=}", True),
        ("a.py", PYTHON, "radius * 2", "radius * 3", True),
        ("a.py", PYTHON, ".3f", ".4f", True),
        ("a.py", PYTHON.replace("return", "return return"), "too large", "larger", True),
        ("a.py", "f(" + "-" * 2000 + "1)  # large\n", "large", "larger", True),  # too deep for Python's parser
        ("a.html.jinja", TEMPLATE, "large", "larger", True),
        ("a.html.jinja", TEMPLATE, "\n", "\r\n", True),
    ],
)
def test_an_edit_changes_the_line_of_its_file_unless_it_is_of_comments_or_layout(
    tmp_path, file, content, old, new, changes
):
    lines = []
    for folder, written in (("before", content), ("after", content.replace(old, new))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_bytes(written.encode())
        lines += code_of(file, package=tmp_path / folder)
    before, after = lines
    assert old in content and (before != after) == changes


def test_the_line_of_a_python_file_is_the_same_in_all_versions_of_python(tmp_path):
    (tmp_path / "a.py").write_text(PYTHON)
    assert code_of("a.py", package=tmp_path) == ["a.py 82241cd34120e980"]


# The jobs that depend on each file

LIST_JOBS = """
import json, sys
from pathlib import Path
from miniature import jobs
folder, *workflows = sys.argv[1:]
for workflow in workflows:
    print(json.dumps([
        (rule, Path(job.rule.script).stem, dict(job.wildcards.items()), job.params.where, [*map(str, job.params)])
        for rule, of_rule in jobs(workflow, folder).items() if rule != "reproduce-all"
        for job in of_rule
    ]))
"""
MODULE = f"""
module jointsparse:
    snakefile: "{BASE / "workflow" / "Snakefile"}"
use rule * from jointsparse
"""


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """Return the jobs of a whole run, as planned by each of our Snakefiles and by a workflow that uses ours."""
    module = tmp_path_factory.mktemp("module")
    (module / "Snakefile").write_text(MODULE)
    lines = run_python("-c", LIST_JOBS, tmp_path_factory.mktemp("run"), BASE, BASE / "workflow", module).splitlines()
    return [sorted(json.loads(line), key=str) for line in lines]


def test_both_snakefiles_and_a_workflow_that_uses_ours_plan_the_same_jobs(planned):
    assert planned == [planned[0]] * 3


PATHS, SWEEPS = ({f"{rule} {norm}" for norm in ("l1", "l1inf", "l2")} for rule in ("train_path", "train_sweep"))
DESCRIBING, ON_TASKS = {"encode", "grow_vocabularies"}, {"repeat_exponentiated", "repeat_race", "repeat_online"}
DEPENDING = {  # file of the library or of the scripts: the jobs that it reruns, by rule and norm or kind
    "estimators/online.py": set(),
    "norms/l12.py": set(),  # no study here uses this norm
    "norms/l1inf.py": {
        *("compile_kernels", "repeat_recovery", "measure cost"),
        *("train_sweep l1inf", "train_path l1inf", "fit_final l1inf"),
    },
    "learning/losses/logistic.py": {*ON_TASKS, "fit_final l1inf"},
    "learning/losses/hinge.py": {
        *("compile_kernels", "measure cost", "repeat_recovery"),
        *PATHS,
        *SWEEPS,
    },
    "learning/solvers/subgradient.py": {"compile_kernels", "measure cost", "repeat_recovery", *SWEEPS},
    "learning/solvers/working_set.py": {"compile_kernels", "repeat_recovery", "fit_final l1inf", *PATHS},
    "pipeline/datasets/libsvm.py": set(),  # no dataset here has this loader
    "pipeline/datasets/collage/__init__.py": {"read_images", *DESCRIBING, "write_page", "keep_model"},
    "pipeline/datasets/digits.py": {"read_samples"},
    "features/dense_sift.py": {"read_images", *DESCRIBING, "write_page", "keep_model"},
    "scripts/describing.py": DESCRIBING,
    "scripts/training.py": {"train_svm", *PATHS, *SWEEPS},
    "pipeline/models/annotator.py": {"keep_model"},
    "pipeline/papers/duchi/race.py": {"repeat_race"},
    "pipeline/papers/duchi/objective.py": ON_TASKS,
    "pipeline/papers/duchi/projection.py": {"repeat_operations", "measure projection"},
    "pipeline/papers/quattoni/cost.py": {"measure cost"},
    "pipeline/papers/judging.py": {"judge_claims", "write_index"},
    "pipeline/papers/index.html.jinja": {"judge_claims"},
    "pipeline/papers/page.md.jinja": {"judge_claims"},
    "pipeline/papers/claims.html.jinja": {"judge_claims"},
    "pipeline/papers/claims.css": {"judge_claims"},
    "pipeline/figures/jointsparse.mplstyle": {"draw_figures"},
    "pipeline/page/model.html.jinja": {"write_page"},
    "pipeline/page/maps.html.jinja": {"write_page"},
    "pipeline/page/index.html.jinja": {"write_index"},
    "pipeline/page/frame.html.jinja": {"write_page", "write_index"},
    "pipeline/page/page.css": {"write_page", "write_index"},
    "pipeline/page/page.js": {"write_page", "write_index"},
}


def test_each_rule_names_the_scripts_that_its_script_imports():
    rules = "".join(file.read_text() for file in (BASE / "workflow" / "rules").glob("*.smk"))
    for file in (BASE / "workflow" / "scripts").glob("*.py"):
        for shared in re.findall(r"(?m)^from (describing|training) import", file.read_text()):
            assert f'*code("{file.stem}", {shared.upper()}' in rules


def test_an_edit_reruns_the_jobs_that_use_the_file_and_no_others(planned):
    depending = defaultdict(set)
    for rule, script, wildcards, _, params in planned[0]:
        name = " ".join([rule, *(wildcards[key] for key in ("norm", "kind") if key in wildcards)])
        code = {param.split()[0] for param in params if re.fullmatch(r"\S+ [0-9a-f]{16}", param)}
        assert {f"scripts/{script}.py", "checks.py"} <= code, name
        for file in code:
            depending[file].add(name)
    assert {file: depending[file] for file in DEPENDING} == DEPENDING

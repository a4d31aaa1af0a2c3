"""The library files that a rule depends on: the files that its script imports, and the plug-ins that its job uses."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from code_hashes import code_of
from common import run_python

from jointsparse.pipeline.settings.inheritance import written_out
from jointsparse.registry import room

BASE = Path(__file__).parents[2]
PACKAGE = BASE / "src" / "jointsparse"

# The files of a script


def files(*named, package=PACKAGE):
    return [line.split()[0] for line in code_of(*named, package=package)]


def test_unchanged_files_are_not_read_again_by_another_process(tmp_path):
    package = shutil.copytree(PACKAGE / "norms", tmp_path / "jointsparse" / "norms").parent
    code = "import code_hashes as code; from pathlib import Path; import sys; code.recall('seen.json')\n"
    code += "print(code.code_of('norms/rows.py', package=Path(sys.argv[1]))); code.keep('seen.json')"
    seen, rows = tmp_path / "seen.json", package / "norms" / "rows.py"
    first = run_python("-c", code, package, cwd=tmp_path)
    seen.write_text(seen.read_text().replace(first.split()[1][:16], "f" * 16))
    again = run_python("-c", code, package, cwd=tmp_path)
    rows.write_text(rows.read_text() + "pass\n")
    edited = run_python("-c", code, package, cwd=tmp_path)
    assert "f" * 16 in again and len({first, again, edited}) == 3


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (
            "norms/l12.py",
            "arrays.py checks.py compiled.py groups.py norms/l1.py norms/l12.py norms/l2.py norms/on_arrays.py "
            "norms/rows.py",
        ),
        ("pipeline/figures/jointsparse.mplstyle", "pipeline/figures/jointsparse.mplstyle"),  # data
        # Imports are not followed into the dictionaries of plug-ins.
        (
            "pipeline/sweep.py norms/l1inf.py learning/losses/hinge.py learning/solvers/subgradient.py",
            "arrays.py checks.py compiled.py groups.py learning/certificate.py learning/fit.py learning/loss.py "
            "learning/losses/hinge.py learning/problem.py learning/radii.py learning/regulariser.py learning/scales.py "
            "learning/solvers/subgradient.py norms/l1inf.py norms/on_arrays.py norms/rows.py pipeline/flag.py "
            "pipeline/sweep.py registry.py threads.py",
        ),
    ],
)
def test_files_include_what_they_import(named, expected):
    assert files(*named.split()) == expected.split()


def test_every_form_of_import_is_understood_and_an_edit_changes_only_the_line_of_its_file(tmp_path):
    (tmp_path / "room").mkdir()
    for name in ("a", "b", "c", "d", "room/e", "f"):
        (tmp_path / f"{name}.py").touch()
    (tmp_path / "room" / "__init__.py").write_text("def f():\n    import jointsparse.a\n")
    (tmp_path / "top.py").write_text(
        "import numpy\nimport jointsparse.a\nfrom jointsparse import b\nfrom jointsparse.c import name\n"
        "from jointsparse.room import e\ndef late():\n    from jointsparse import d\n"
        "match b:\n    case 1:\n        import jointsparse.f\n"
    )
    expected = ["a.py", "b.py", "c.py", "d.py", "f.py", "room/__init__.py", "room/e.py", "top.py"]
    assert files("top.py", package=tmp_path) == expected
    changed = shutil.copytree(tmp_path, tmp_path / "changed")
    (changed / "b.py").write_text("2\n")
    before, after = (code_of("top.py", package=package) for package in (tmp_path, changed))
    assert [line.split()[0] for line in set(after) - set(before)] == ["b.py"] and len(after) == len(before)


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
UNREADABLE = PYTHON.replace("return", "return return")
DEEP = "f(" + "-" * 2000 + "1)  # large\n"
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
        ("a.py", UNREADABLE, "too large", "larger", True),
        ("a.py", DEEP, "large", "larger", True),
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

CONFIG = yaml.safe_load((BASE / "config.yaml").read_text())
KINDS = {name: study["kind"] for name, study in written_out(CONFIG)["studies"].items()}

UNUSED = {"correct_labels", "describe", "embed"}  # no dataset of the configuration needs them
HELPERS = ("job", "describing", "training")  # modules that scripts import

LIST_JOBS = """
import json, sys
from pathlib import Path
from miniature import jobs
folder, overlay, *workflows = sys.argv[1:]
for workflow in workflows:
    listed = []
    by_rule = jobs(workflow, folder, overlay)
    by_rule.pop("reproduce-all")
    for rule, of_rule in by_rule.items():
        for job in of_rule:
            params = [line for one in job.params for line in (one if isinstance(one, list) else [one])]
            lines = [line for line in params if isinstance(line, str)]
            listed.append((rule, Path(job.rule.script).stem, dict(job.wildcards.items()), lines))
    print(json.dumps(listed))
"""

MODULE = f"""
module jointsparse:
    snakefile: "{BASE / "workflow" / "Snakefile"}"
use rule * from jointsparse
"""


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """Return the jobs of a run in miniature, as planned by each of our Snakefiles and by a workflow that uses ours."""
    module = tmp_path_factory.mktemp("module")
    (module / "Snakefile").write_text(MODULE)
    overlay = BASE / "tests" / "pipeline" / "config.yaml"
    workflows = (BASE, BASE / "workflow", module)
    lines = run_python("-c", LIST_JOBS, tmp_path_factory.mktemp("run"), overlay, *workflows)
    return [json.loads(line) for line in lines.splitlines()]


@pytest.fixture(scope="module")
def jobs(planned):
    """Return the jobs of a whole run in miniature: rule, wildcards, script, and the files that the job depends on."""
    job_list = []
    for rule, script, wildcards, params in planned[0]:
        lines = [line.split() for line in params]
        code = {line[0] for line in lines if len(line) == 2 and len(line[1]) == 16 and int(line[1], 16)}
        code = {file.removesuffix(".py").removesuffix("/__init__") for file in code}
        job_list.append((rule, wildcards, script, code))
    return job_list


def label(rule, wildcards):
    """Return the rule of a job, with its norm, the kind of its experiment, or the dataset that it reads."""
    kind = KINDS[wildcards["study"]] if rule == "measure" else ""
    dataset = wildcards["dataset"] if rule == "read_samples" else ""
    return f"{rule.replace('repeat_', 'repeat ')} {wildcards.get('norm', kind or dataset)}".strip()


def test_both_snakefiles_and_a_workflow_that_uses_ours_plan_the_same_jobs(planned):
    root, workflow, module = (sorted(job_list, key=str) for job_list in planned)
    assert root == workflow == module


def test_every_job_depends_on_its_script_and_every_rule_and_experiment_has_one(jobs):
    for rule, wildcards, script, code in jobs:
        assert script == ("repeat" if rule.startswith("repeat_") else rule)
        assert {f"scripts/{script}", "checks", "written"} <= code, (rule, wildcards)
    scripts = {path.stem for path in (BASE / "workflow" / "scripts").glob("*.py")} - {*UNUSED, *HELPERS}
    assert {script for _, _, script, _ in jobs} == scripts
    kinds = {KINDS[wildcards["study"]] for _, wildcards, script, _ in jobs if script in ("repeat", "measure")}
    assert kinds == set(room("experiments"))


def test_every_rule_has_a_log_a_benchmark_and_the_place_of_its_values():
    for file in (BASE / "workflow" / "rules").glob("*.smk"):
        for rule in re.split(r"(?m)^rule ", file.read_text())[1:]:
            assert all(needed in rule for needed in ("log:", "benchmark:", "where=")), rule


def by_norm(*rules):
    return {f"{rule} {norm}" for rule in rules for norm in ("l1", "l1inf", "l2")}


EVALUATED = {"evaluate", *by_norm("train_path")}  # jobs that compute scores of words
JUDGED = {"judge_claims", "write_index"}
IN_FORMS = {"repeat digits", "repeat exponentiated"}
DESCENT = {"repeat exponentiated", "repeat race"}
REPEATED = {f"repeat {kind}" for kind in ("digits", "exponentiated", "online", "operations", "race", "recovery")}
ON_TASKS = {*DESCENT, "repeat online"}  # jobs that use the objective of one task
COMPARED = {*ON_TASKS, *IN_FORMS}
BALLS = {"measure projection", "repeat operations"}
L1INF = {"compile_kernels", *(f"{rule} l1inf" for rule in ("train_sweep", "train_path", "fit_final"))}
KEPT = {"fit_final l1inf", "keep_model", "count_selections"}
LOADING = {"keep_model", "count_selections", "write_page"}  # the model file is written or loaded
DESCRIBING = {"encode", "grow_vocabularies"}
TRAINED = {"train_svm", "repeat recovery", *COMPARED, *by_norm("train_path", "train_sweep")}


@pytest.mark.parametrize(
    ("edited", "expected"),
    [
        ("estimators/online pipeline/app/command_line __main__", set()),
        ("estimators/classifier estimators/search pipeline/models/final", KEPT | LOADING),
        ("pipeline/models/model_file pipeline/models/card", LOADING),
        ("features/explain features/evidence", {"keep_model", "write_page"}),
        ("norms/l12", set()),  # no study here uses this norm
        ("pipeline/datasets/photos pipeline/datasets/libsvm", set()),  # nor other loaders
        ("pipeline/models/annotator", {"keep_model"}),
        ("pipeline/models/probabilities", LOADING - {"count_selections"}),
        ("pipeline/models/tags_to_check", {"keep_model"}),
        ("estimators/issues estimators/ranking", {"keep_model"}),
        ("pipeline/models/stability estimators/stability", {"count_selections"}),
        ("features/transformers features/embedding features/efficientnet features/onnx", LOADING),
        ("pipeline/datasets/collage", {"read_images", *DESCRIBING, "write_page", "keep_model"}),
        ("pictures", {"read_images", *DESCRIBING, *LOADING}),
        ("pipeline/datasets/picture_check", {*DESCRIBING, "keep_model"}),
        ("pipeline/datasets/digits", {"read_samples digits"}),
        ("pipeline/datasets/documents", {"read_samples bigrams", "read_samples documents"}),
        ("pipeline/datasets/synthetic", {"measure cost", "repeat recovery"}),
        ("features/dense_sift", {"read_images", *DESCRIBING, *LOADING}),
        ("features/shards", {"encode", "grow_vocabularies", *LOADING}),
        ("features/vocabulary_tree", {"encode", "grow_vocabularies", *LOADING}),
        ("features/basis", KEPT | {"fit_basis", "write_page", "train_svm", *by_norm("train_path", "train_sweep")}),
        ("features/similarities", {"fit_similarities", "repeat digits"}),
        ("norms/l1inf", {"repeat recovery", "measure cost"} | L1INF),
        ("learning/l1_sparse", BALLS | {"repeat online"}),
        ("learning/warmup", {"compile_kernels"}),
        (
            "learning/problem learning/regulariser learning/certificate learning/fit",
            TRAINED | EVALUATED | KEPT | {"compile_kernels", "measure cost", "write_page"},
        ),
        ("learning/radii", TRAINED | EVALUATED | KEPT | {"write_page"}),
        ("pipeline/sweep", TRAINED | EVALUATED),
        ("pipeline/svm", {"train_svm"}),
        ("scripts/training", {"train_svm", *by_norm("train_path", "train_sweep")}),
        ("scripts/describing", DESCRIBING),
        ("pipeline/papers/duchi/entropic", BALLS | COMPARED),
        ("pipeline/papers/duchi/comparison pipeline/papers/duchi/steps", COMPARED),
        ("learning/lazy", BALLS | ON_TASKS),
        ("pipeline/papers/duchi/objective", ON_TASKS),
        ("pipeline/papers/duchi/descent pipeline/papers/duchi/line_search", DESCENT),
        ("pipeline/papers/duchi/interior_point pipeline/papers/duchi/coordinate_descent", {"repeat race"}),
        ("learning/losses/logistic", ON_TASKS | {"fit_final l1inf"}),
        (
            "learning/losses/hinge",
            {"compile_kernels", "measure cost", "repeat recovery", *by_norm("train_path", "train_sweep")},
        ),
        (
            "learning/solvers/subgradient",
            {"compile_kernels", "measure cost", "repeat recovery", *by_norm("train_sweep")},
        ),
        (
            "learning/solvers/working_set learning/solvers/pdhg",
            {"compile_kernels", "repeat recovery", "fit_final l1inf", *by_norm("train_path")},
        ),
        ("pipeline/scores/evaluation", EVALUATED),
        ("pipeline/scores/scored_fits", EVALUATED | {"compare_methods"}),
        ("metrics", EVALUATED | KEPT | {"compare_methods", "draw_figures", "write_page"} | JUDGED),
        ("pipeline/scores/learnt", {"evaluate"}),
        ("pipeline/scores/comparison", {"compare_methods"}),
        ("pipeline/scores/runs", {"compare_methods", "draw_figures", "evaluate"} | JUDGED),
        ("pipeline/scores/flags", EVALUATED | JUDGED | {"draw_figures", "inspect_features", "write_page"}),
        ("pipeline/scores/warning_table", {"evaluate", "write_page"} | REPEATED),
        (
            "pipeline/figures/study pipeline/figures/jointsparse.mplstyle pipeline/papers/catalogue "
            "pipeline/papers/duchi/figures",
            {"draw_figures"},
        ),
        ("pipeline/figures/style", {"draw_figures", "write_index", "write_page"}),  # the colours and names of norms
        ("pipeline/papers/quattoni/numbers", {"draw_figures"} | JUDGED),
        (
            "pipeline/papers/judging pipeline/papers/shapes pipeline/papers/duchi/claims "
            "pipeline/papers/quattoni/claims pipeline/papers/page",
            JUDGED,
        ),
        ("pipeline/papers/page.md.jinja pipeline/papers/index.html.jinja", {"judge_claims"}),
        ("pipeline/papers/claims.html.jinja pipeline/papers/claims.css", {"judge_claims"}),
        ("pipeline/papers/quattoni/recovery", {"repeat recovery"}),
        ("pipeline/papers/quattoni/cost", {"measure cost"}),
        ("pipeline/papers/duchi/race", {"repeat race"}),
        ("pipeline/papers/duchi/online", {"repeat online"}),
        ("pipeline/papers/duchi/exponentiated", {"repeat exponentiated"}),
        ("pipeline/papers/duchi/digits", {"repeat digits"}),
        ("pipeline/papers/duchi/projection", BALLS),
        (
            "pipeline/page/words pipeline/page/kept pipeline/page/weights pipeline/page/model.html.jinja",
            {"write_page"},
        ),
        (
            "pipeline/page/frame pipeline/page/frame.html.jinja pipeline/page/page.css pipeline/page/page.js "
            "pipeline/page/sentences pipeline/page/warnings",
            {"write_page", "write_index"},
        ),
        ("pipeline/page/index.html.jinja pipeline/page/index", {"write_index"}),
        ("pipeline/provenance/manifest pipeline/provenance/records", {"write_manifest"}),
    ],
)
def test_an_edit_reruns_these_jobs_and_no_others(jobs, edited, expected):
    for file in edited.split():
        assert {label(rule, wildcards) for rule, wildcards, _, code in jobs if file in code} == expected, file

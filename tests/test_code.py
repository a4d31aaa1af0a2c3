"""The library files that a rule depends on: those that its script imports, and the plug-ins that its job picks."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from configuration import studies as of_config
from configuration.code import code_of

from jointsparse.registry import room

BASE = Path(__file__).parents[1]
PACKAGE = BASE / "src" / "jointsparse"

# The files of a script


def files(*named, package=PACKAGE):
    return [line.split()[0] for line in code_of(*named, package=package)]


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("norms/l12.py", "checks.py compiled.py norms/l1.py norms/l12.py norms/l2.py norms/rows.py"),
        ("figures/jointsparse.mplstyle", "figures/jointsparse.mplstyle"),  # data
        # The dictionaries of plug-ins are not followed.
        (
            "learning/sweep.py norms/l1inf.py learning/losses/hinge.py learning/solvers/subgradient.py",
            "checks.py compiled.py learning/flag.py learning/loss.py learning/losses/hinge.py learning/problem.py "
            "learning/scales.py learning/solvers/subgradient.py learning/sweep.py norms/l1inf.py norms/rows.py "
            "registry.py",
        ),
    ],
)
def test_files_bring_what_they_import(named, expected):
    assert files(*named.split()) == expected.split()


def test_every_way_to_import_is_understood_and_a_changed_byte_changes_the_line_of_its_file_alone(tmp_path):
    (tmp_path / "room").mkdir()
    for name in ("a", "b", "c", "d", "room/e"):
        (tmp_path / f"{name}.py").touch()
    (tmp_path / "room" / "__init__.py").write_text("def f():\n    import jointsparse.a\n")
    (tmp_path / "top.py").write_text(
        "import numpy\nimport jointsparse.a\nfrom jointsparse import b\nfrom jointsparse.c import name\n"
        "from jointsparse.room import e\ndef late():\n    from jointsparse import d\n"
    )
    expected = ["a.py", "b.py", "c.py", "d.py", "room/__init__.py", "room/e.py", "top.py"]
    assert files("top.py", package=tmp_path) == expected
    changed = shutil.copytree(tmp_path, tmp_path / "changed")
    (changed / "b.py").write_text("2\n")
    before, after = (code_of("top.py", package=package) for package in (tmp_path, changed))
    assert [line.split()[0] for line in set(after) - set(before)] == ["b.py"] and len(after) == len(before)


# The files of each rule. Besides them, each job depends on its script and on BASIS.

CONFIG = yaml.safe_load((BASE / "config.yaml").read_text())
KINDS = {study: of_config.full_block(CONFIG, study)["kind"] for study in CONFIG["studies"]}
BASIS = {"checks", "provenance/tables"}
COLLAGE = "datasets/collage datasets/collage/materials datasets/collage/painting datasets/collage/plans "
COLLAGE += "datasets/pictures datasets/samples datasets/splits registry"
SCORES = "datasets/splits learning/flag scores/flags"
TRAINING = "learning/flag learning/problem learning/scales learning/sweep learning/tasks registry"
CLAIMS = (
    f"{SCORES} scores/many papers/verdicts papers/judging papers/shapes papers/duchi/claims papers/quattoni/claims "
)
CLAIMS += "papers/quattoni/numbers"
FRAME = "explorer/frame explorer/frame.html.jinja explorer/explorer.css explorer/explorer.js"
RUNNING = ("repeat", "measure")  # the rules of experiments
RUN = "datasets/samples registry"  # of their scripts
DUCHI = f"{RUN} learning/entropic learning/flag learning/lazy learning/loss learning/losses/logistic "
DUCHI += "learning/losses/squared learning/problem learning/scales learning/sweep norms/l1 papers/duchi/descent "
DUCHI += "papers/harness"
EXPONENTIATED = f"{DUCHI} learning/tasks papers/duchi/exponentiated"
QUATTONI = f"{RUN} datasets/synthetic learning/loss learning/losses/hinge learning/problem "
QUATTONI += "learning/solvers/subgradient norms/l1inf papers/harness"
PROJECTION = f"{RUN} learning/entropic norms/l1 norms/l1_sparse norms/l2 papers/duchi/projection papers/harness"
EXPERIMENTS = {
    "cost": f"{QUATTONI} norms/l1 papers/quattoni/cost",
    "digits": f"{EXPONENTIATED} features/similarities papers/duchi/digits",
    "exponentiated": EXPONENTIATED,
    "online": f"{EXPONENTIATED} norms/l1_sparse papers/duchi/online",
    "operations": f"{PROJECTION} papers/duchi/operations",
    "projection": PROJECTION,
    "race": f"{DUCHI} papers/duchi/race",
    "recovery": f"{QUATTONI} learning/flag learning/scales learning/solvers/working_set learning/sweep norms/l1 "
    "norms/l2 papers/quattoni/recovery",
}
RULES = {  # but for repeat and measure; what a job's wildcards decide is in braces
    "read_images": f"{COLLAGE} features/dense_sift",
    "read_samples": "datasets/samples datasets/splits registry datasets/{loader}",
    "set_aside": "learning/flag learning/tasks",
    "describe": f"{COLLAGE} features/dense_sift features/shards",
    "grow_vocabulary": "features/shards features/vocabulary_tree",
    "encode": "features/vocabulary_tree",
    "weigh_histograms": "features/vocabulary_tree",
    "fit_basis": "features/basis",
    "fit_similarities": "features/similarities",
    "choose_words": "learning/flag learning/tasks",
    "draw_tasks": "learning/flag learning/tasks",
    "compile_kernels": "learning/loss learning/losses/hinge learning/problem learning/solvers/working_set "
    "learning/solvers/subgradient learning/warmup norms/{norm} registry",
    "train_sweep": f"features/basis {TRAINING} learning/solvers/{{solver}} learning/loss learning/losses/{{loss}} "
    "norms/{norm}",
    "train_path": f"features/basis {SCORES} scores/evaluation scores/metrics {TRAINING} learning/solvers/working_set "
    "learning/loss learning/losses/{loss} norms/{norm}",
    "train_svm": f"features/basis {TRAINING} learning/svm",
    "evaluate": f"{SCORES} scores/evaluation scores/learnt scores/many scores/metrics {TRAINING}",
    "compare_methods": "scores/comparison scores/many scores/metrics",
    "gather_runs": "",
    "draw_figures": f"{SCORES} scores/many registry figures/jointsparse.mplstyle figures/study figures/style "
    "papers/catalogue papers/duchi/figures papers/quattoni/figures papers/quattoni/numbers",
    "inspect_features": SCORES,
    "gather_warnings": SCORES,
    "write_configs": "",
    "judge_claims": f"{CLAIMS} papers/page papers/page.md.jinja",
    "write_manifest": "provenance/manifest provenance/records",
    "write_page": f"{CLAIMS} {FRAME} {TRAINING} scores/evaluation scores/learnt scores/metrics papers/page "
    "papers/claims.html.jinja explorer/findings explorer/fits explorer/page explorer/page.html.jinja explorer/sharing "
    "explorer/thumbnails explorer/words datasets/{loader}",
    "write_index": f"{FRAME} explorer/index.html.jinja",
}
OF_LOADER = {"collage": COLLAGE, "synthetic": ""}  # files that a loader imports

LIST_JOBS = """
import json, sys
from pathlib import Path
from miniature import jobs
listed = []
by_rule = jobs(*sys.argv[1:])
by_rule.pop("reproduce-all")
for rule, of_rule in by_rule.items():
    for job in of_rule:
        params = [line for one in job.params for line in (one if isinstance(one, list) else [one])]
        lines = [line for line in params if isinstance(line, str)]
        listed.append((rule, Path(job.rule.script).stem, dict(job.wildcards.items()), lines))
print(json.dumps(listed))
"""


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """The jobs of a whole run in miniature: rule, wildcards, script, and the files that the job depends on."""
    command = [sys.executable, "-c", LIST_JOBS, BASE, tmp_path_factory.mktemp("run"), BASE / "tests" / "config.yaml"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(BASE / "tests"), str(BASE / "src")])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = []
    for rule, script, wildcards, params in json.loads(done.stdout):
        lines = [line.split() for line in params]
        code = {line[0] for line in lines if len(line) == 2 and len(line[1]) == 16 and int(line[1], 16)}
        code = {file.removesuffix(".py").removesuffix("/__init__") for file in code}
        found.append((rule, wildcards, script, code))
    return found


def label(rule, wildcards):
    """The rule of a job, with its norm or the kind of its experiment."""
    of_study = KINDS[wildcards["study"]] if rule in RUNNING else ""
    return f"{rule} {wildcards.get('norm', of_study)}".strip()


def expected_files(rule, wildcards):
    """The files that a job depends on, besides its script and BASIS."""
    study = of_config.full_block(CONFIG, wildcards["study"]) if "study" in wildcards else {}
    dataset = CONFIG["datasets"].get(wildcards.get("dataset"), {})
    named = EXPERIMENTS[study["kind"]] if rule in RUNNING else RULES[rule]
    picked = {"loader": dataset.get("loader"), "solver": study.get("training", {}).get("solver")}
    files = set(named.format(**wildcards, **picked).split())
    if rule == "write_page":
        files |= set(OF_LOADER.get(dataset["loader"], "datasets/samples datasets/splits").split())
    files |= {"norms/rows"} if files & {"norms/l1", "norms/l12", "norms/l1inf"} else set()
    return files | ({"learning/solvers/pdhg"} if "learning/solvers/working_set" in files else set())


def test_every_rule_depends_on_these_files_and_no_others(jobs):
    assert {KINDS[wildcards["study"]] for rule, wildcards, _, _ in jobs if rule in RUNNING} == set(room("experiments"))
    assert {rule for rule, _, _, _ in jobs} == {*RULES, *RUNNING}
    for rule, wildcards, script, got in jobs:
        assert script == {"measure": "repeat"}.get(rule, rule)
        # `compiled` is there where a file with kernels is.
        expected = expected_files(rule, wildcards) | BASIS | {f"scripts/{script}"}
        assert got - {"compiled"} == expected, (rule, wildcards)


def test_every_rule_has_a_log_a_benchmark_and_the_place_of_its_values():
    for file in (BASE / "workflow" / "rules").glob("*.smk"):
        for rule in re.split(r"(?m)^rule ", file.read_text())[1:]:
            assert all(needed in rule for needed in ("log:", "benchmark:", "where=")), rule


@pytest.mark.parametrize(
    ("edited", "expected"),
    [
        ("estimators/classifier estimators app/command_line __main__", set()),
        ("norms/l12", set()),  # no study here has that norm
        (
            "norms/l1inf",
            {"compile_kernels l1inf", "train_sweep l1inf", "train_path l1inf", "repeat recovery", "measure cost"},
        ),
        ("figures/style figures/study papers/catalogue papers/duchi/figures", {"draw_figures"}),
        ("papers/quattoni/numbers", {"draw_figures", "judge_claims", "write_page"}),
        ("papers/judging papers/shapes papers/duchi/claims papers/quattoni/claims", {"judge_claims", "write_page"}),
        ("papers/quattoni/recovery", {"repeat recovery"}),
        ("papers/duchi/race", {"repeat race"}),
        ("papers/duchi/online", {"repeat online"}),
    ],
)
def test_an_edit_reruns_these_jobs_and_no_others(jobs, edited, expected):
    assert {label(rule, wildcards) for rule, wildcards, _, code in jobs if set(edited.split()) & code} == expected

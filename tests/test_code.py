"""Which library files a rule depends on: those that its script imports, and the plug-ins that its job picks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from configuration.code import code_of

BASE = Path(__file__).parents[1]
PACKAGE = BASE / "src" / "jointsparse"

# The files of a script


def files(*named, package=PACKAGE):
    return [line.split()[0] for line in code_of(package, *named)]


def test_a_file_brings_the_neighbours_that_it_imports():
    assert files("norms/l12") == ["checks.py", "norms/l1.py", "norms/l12.py", "norms/l2.py"]


def test_imports_of_imports_are_followed():
    own = ["learning/problem.py", "learning/svm.py", "learning/sweep.py", "registry.py"]
    assert files("learning/svm") == ["checks.py", *own]


def test_the_dictionaries_of_plug_ins_are_not_followed():
    got = files("learning/sweep", "norms/l1inf", "learning/losses/hinge", "learning/solvers/subgradient")
    own = ["learning/loss.py", "learning/losses/hinge.py", "learning/problem.py", "learning/solvers/subgradient.py"]
    assert got == ["checks.py", *own, "learning/sweep.py", "norms/l1inf.py", "registry.py"]


def test_every_way_to_import_is_understood(tmp_path):
    for name in ("a", "b", "c", "d"):
        (tmp_path / f"{name}.py").touch()
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "__init__.py").write_text(
        '"""A room with code of its own."""\ndef f():\n    import jointsparse.a\n'
    )
    (tmp_path / "room" / "e.py").touch()
    (tmp_path / "top.py").write_text(
        "import numpy\nimport jointsparse.a\nfrom jointsparse import b\nfrom jointsparse.c import name\n"
        "from jointsparse.room import e\ndef late():\n    from jointsparse import d\n"
    )
    assert files("top", package=tmp_path) == ["a.py", "b.py", "c.py", "d.py", "room/__init__.py", "room/e.py", "top.py"]


def test_a_relative_import_is_refused_as_it_would_be_overlooked(tmp_path):
    (tmp_path / "top.py").write_text("from . import a\n")
    with pytest.raises(ValueError, match=r"imports must name the whole module, got from \. import a"):
        files("top", package=tmp_path)


def test_data_files_are_named_with_their_suffix():
    assert files("figures/jointsparse.mplstyle") == ["figures/jointsparse.mplstyle"]


def test_a_file_that_does_not_exist_is_named():
    with pytest.raises(FileNotFoundError, match=r"the library must hold norms/l3, got none in "):
        code_of(PACKAGE, "norms/l3")


def test_a_changed_byte_of_a_file_changes_its_line_alone(tmp_path):
    lines = {}
    for at, text in (("before", "1\n"), ("after", "2\n")):
        package = tmp_path / at
        package.mkdir()
        (package / "a.py").write_text("from jointsparse import b, c\n")
        (package / "b.py").write_text(text)
        (package / "c.py").touch()
        lines[at] = code_of(package, "a")
    assert [line.split()[0] for line in set(lines["after"]) - set(lines["before"])] == ["b.py"]
    assert len(lines["before"]) == len(lines["after"]) == 3


# The files of each rule. Besides them, each job depends on its script and on BASIS.

BASIS = {"checks", "tables"}
COLLAGE = "datasets/collage datasets/collage/cutouts datasets/collage/painting datasets/collage/scenes "
COLLAGE += "datasets/collage/sentences datasets/folder datasets/splits registry"
SCORES = "datasets/splits scores/flags"
TRAINING = "learning/problem learning/sweep learning/tasks registry"
CLAIMS = f"{SCORES} papers/claims papers/judging papers/duchi/claims papers/quattoni/claims"
EXPERIMENT = "datasets/samples registry"
DESCENT = "papers/duchi/descent learning/entropic learning/lazy learning/problem norms/l1 "
DESCENT += "learning/loss learning/losses/squared learning/losses/logistic learning/sweep"
ENTROPIC = f"{DESCENT} papers/duchi/exponentiated learning/tasks"

RULES = {  # what a job's wildcards decide is in braces
    "read_images": f"{COLLAGE} features/dense_sift",
    "draw_contact_sheet": f"{COLLAGE} {SCORES} figures/scores figures/style",
    "read_samples": "datasets/samples datasets/splits registry datasets/{loader}",
    "set_aside": "learning/tasks",
    "describe": f"{COLLAGE} features/dense_sift features/shards",
    "grow_vocabulary": "features/shards features/vocabulary_tree",
    "encode": "features/vocabulary_tree",
    "weigh_histograms": "features/vocabulary_tree",
    "fit_basis": "features/basis",
    "fit_similarities": "features/similarities",
    "choose_words": "learning/tasks",
    "draw_tasks": "learning/tasks",
    "train_sweep": f"{TRAINING} learning/solvers/{{solver}} learning/loss learning/losses/{{loss}} norms/{{norm}}",
    "train_path": f"{TRAINING} learning/solvers/pdhg learning/loss learning/losses/{{loss}} norms/{{norm}}",
    "train_svm": f"{TRAINING} learning/svm",
    "evaluate": f"{SCORES} scores/evaluation scores/metrics {TRAINING}",
    "evaluate_path": f"{SCORES} scores/evaluation scores/metrics {TRAINING}",
    "compare_methods": "scores/comparison scores/metrics",
    "resample_differences": "scores/comparison scores/metrics",
    "repeat recovery": f"{EXPERIMENT} papers/quattoni/recovery datasets/synthetic learning/loss learning/problem "
    "learning/sweep learning/losses/hinge learning/solvers/pdhg learning/solvers/subgradient norms/l1 norms/l1inf "
    "norms/l2",
    "repeat race": f"{EXPERIMENT} papers/duchi/race {DESCENT}",
    "repeat exponentiated": f"{EXPERIMENT} {ENTROPIC}",
    "repeat digits": f"{EXPERIMENT} papers/duchi/digits {ENTROPIC} features/similarities",
    "repeat online": f"{EXPERIMENT} papers/duchi/online {ENTROPIC} norms/l1_sparse",
    "measure cost": f"{EXPERIMENT} papers/quattoni/cost papers/timing datasets/synthetic learning/problem "
    "learning/loss learning/losses/hinge learning/solvers/subgradient norms/l1inf",
    "measure projection": f"{EXPERIMENT} papers/duchi/projection papers/timing norms/l1 norms/l1_sparse",
    "measure updates": f"{EXPERIMENT} papers/duchi/updates papers/duchi/online papers/duchi/projection papers/timing "
    f"{ENTROPIC} norms/l1_sparse",
    "gather_runs": "",
    "draw_figure": f"{SCORES} figures/jointsparse.mplstyle figures/scores figures/style papers/catalogue "
    "papers/duchi/figures papers/quattoni/figures papers/quattoni/numbers",
    "inspect_features": SCORES,
    "gather_warnings": SCORES,
    "write_config": "",
    "judge_claims": CLAIMS,
    "write_claims_page": f"{CLAIMS} papers/page",
    "write_manifest": "records",
}
SCRIPTS = {"resample_differences": "compare_methods"}  # of another name than the rule

LIST_JOBS = """
import json, sys
from damage import jobs
listed = []
for rule, of_rule in jobs(*sys.argv[1:]).items():
    for job in of_rule:
        params = [line for one in job.params for line in (one if isinstance(one, list) else [one])]
        listed.append((rule, dict(job.wildcards.items()), [line for line in params if isinstance(line, str)]))
print(json.dumps(listed))
"""


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """The jobs of a whole run of the miniature configuration: rule, wildcards, and the files that it depends on."""
    command = [sys.executable, "-c", LIST_JOBS, BASE, tmp_path_factory.mktemp("run"), BASE / "tests" / "config.yaml"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(BASE / "tests"), str(BASE / "src")])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = []
    for rule, wildcards, params in json.loads(done.stdout):
        lines = [line.split() for line in params]
        code = {line[0] for line in lines if len(line) == 2 and len(line[1]) == 16 and int(line[1], 16)}
        code = {file.removesuffix(".py").removesuffix("/__init__") for file in code}
        found.append((rule, wildcards, code))
    return [job for job in found if job[0] != "reproduce-all"]


def label(rule, wildcards):
    """The name of a job's kind in RULES."""
    return f"{rule} {wildcards['study']}" if rule in ("repeat", "measure") else rule


def plug_ins_of(wildcards):
    """What the miniature configuration has a job pick."""
    of_dataset = {"digits": "digits", "documents": "documents", "bigrams": "documents"}
    solver = "pdhg" if wildcards.get("study") == "text" else "subgradient"
    return wildcards | {"loader": of_dataset.get(wildcards.get("dataset")), "solver": solver}


def test_every_rule_depends_on_these_files_and_no_others(jobs):
    assert {label(rule, wildcards) for rule, wildcards, _ in jobs} == set(RULES)
    for rule, wildcards, got in jobs:
        expected = set(RULES[label(rule, wildcards)].format(**plug_ins_of(wildcards)).split())
        assert got == expected | BASIS | {f"scripts/{SCRIPTS.get(rule, rule)}"}, (rule, wildcards)


def concerned(jobs, *edited):
    """The kinds of jobs that an edit reruns."""
    return {label(rule, wildcards) for rule, wildcards, code in jobs if set(edited) & code}


def test_editing_the_estimators_or_the_command_line_reruns_nothing(jobs):
    rooms = ("estimators", "app", "__main__")
    edited = [path.relative_to(PACKAGE).as_posix().removesuffix(".py") for path in PACKAGE.rglob("*.py")]
    edited = [file.removesuffix("/__init__") for file in edited if file.split("/")[0] in rooms]
    assert {"estimators", "estimators/classifier", "app/command_line", "__main__"} <= set(edited)
    assert concerned(jobs, *edited) == set()


def test_editing_a_norm_trains_it_again_and_no_other(jobs):
    training = [(rule, w["norm"]) for rule, w, code in jobs if "norm" in w and "norms/l1" in code]
    assert set(training) == {("train_sweep", "l1"), ("train_path", "l1")}
    experiments = {f"repeat {kind}" for kind in ("recovery", "race", "exponentiated", "digits", "online")}
    measured = {"measure projection", "measure updates"}
    assert concerned(jobs, "norms/l1") == {"train_sweep", "train_path"} | experiments | measured
    assert concerned(jobs, "norms/l1inf") == {"train_sweep", "train_path", "repeat recovery", "measure cost"}
    assert concerned(jobs, "norms/l12") == set()  # no study here has that norm


def test_editing_figures_or_claims_trains_nothing(jobs):
    drawn = {"draw_figure", "draw_contact_sheet"}
    assert concerned(jobs, "figures/style", "figures/scores", "papers/catalogue", "papers/duchi/figures") == drawn
    judged = {"judge_claims", "write_claims_page"}
    assert concerned(jobs, "papers/judging", "papers/duchi/claims", "papers/quattoni/claims") == judged
    assert concerned(jobs, "papers/quattoni/numbers") == {"draw_figure"}


def test_editing_an_experiment_repeats_it_and_those_that_rest_on_it(jobs):
    assert concerned(jobs, "papers/quattoni/recovery") == {"repeat recovery"}
    assert concerned(jobs, "papers/duchi/race") == {"repeat race"}
    assert concerned(jobs, "papers/duchi/online") == {"repeat online", "measure updates"}

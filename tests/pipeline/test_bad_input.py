"""The workflow does not start where it cannot run correctly, and says so in one line."""

import pytest
from miniature import Project

from jointsparse.pipeline.app.interrupt import RESUME

UNCHANGED = ("config.yaml", "seed", "seed")
STARTS = {  # environment variables, folder, a text of a file and its replacement, and the last line or nothing
    "a terminal without UTF-8": (
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        "a",
        UNCHANGED,
        "",
    ),
    "no docstrings": ({"PYTHONOPTIMIZE": "2"}, "a", UNCHANGED, "error: PYTHONOPTIMIZE must be less than 2, because"),
    "a folder that PYTHONPATH cannot name": (
        {},
        "a:b",
        UNCHANGED,
        "error: the workflow must be in a folder without ':' in its path, got ",
    ),
    "an unknown key": (
        {},
        "a",
        ("overlay.yaml", "{rank: 10", "{rnak: 10"),
        "error: unknown key 'rnak' (did you mean rank?); the keys here are centred, fitted_on, power, rank",
    ),
    "a file that Snakemake would misread": (
        {},
        "a",
        ("config.yaml", "\nseed:", "\nseed: 2\nseed:"),
        "error: the key 'seed' occurs twice in one block (config.yaml, line ",
    ),
    "an interrupt while rules are read": (
        {},
        "a",
        ("workflow/raw.py", "import math\n", "raise KeyboardInterrupt\n"),
        RESUME,
    ),
}


@pytest.mark.parametrize(("variables", "folder", "edit", "said"), STARTS.values(), ids=STARTS)
def test_the_workflow_starts_or_ends_with_one_line(tmp_path, variables, folder, edit, said):
    project = Project(tmp_path / folder)
    project.variables = variables
    with project.edited(*edit):
        done = project.snakemake("--dry-run")
    assert (done.returncode != 0) == bool(said) and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith(said), done.stderr

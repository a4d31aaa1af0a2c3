"""A little of `faults.py`: the tasks of two studies are the same files after three kills and a second run."""

import faults
import numpy as np
import pytest
from faults import Interrupted

# Nothing that is compiled, for time.
TARGETS = [f"results/{study}/tasks/run1.npz" for study in ("collage/stories", "documents/text")]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Interrupted:
    """A project that has been run once, undisturbed."""
    folder = tmp_path_factory.mktemp("faults")
    made = Interrupted(folder / "project", folder / "numba", TARGETS)
    made.go_on()
    made.expected = made.files()
    return made


def test_a_run_that_is_killed_goes_on_where_it_stopped_and_makes_the_same_files(project):
    rng = np.random.default_rng(0)
    n_jobs, project.started = project.started, 0
    project.clean()
    faults_at = {
        "read_samples": "Snakemake and its jobs are killed",
        "choose_words": "a job is killed",
        "draw_tasks": "Ctrl-C",
    }
    for rule, kind in faults_at.items():
        assert faults.disturb(project, kind, rng, rule=rule)
        project.check()
        assert project.files().keys() < project.expected.keys()
        project.unlock()
    # While the rest is made, a second run says that the folder is locked, and changes nothing.
    assert list(faults.second_run(project, rng, patience=0)) == ["a second run is started"]
    assert project.unlocked >= 1
    # What a fault costs is what was running, two jobs at most.
    assert n_jobs < project.started <= n_jobs + 2 * len(faults_at)

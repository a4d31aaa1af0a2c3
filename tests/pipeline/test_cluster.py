"""A job on a real SLURM, whose node is killed; trials/cluster runs the whole miniature there."""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from miniature import Project

sys.path.insert(0, str(Path(__file__).parents[2] / "trials" / "cluster"))
import slurm
import trial

CAN = (
    all(map(shutil.which, ("munged", "slurmctld", "slurmd", "squeue")))
    and find_spec("snakemake_executor_plugin_slurm")
    and not slurm.PLACE.exists()
)


@pytest.mark.skipif(
    not CAN or os.getuid() > 0, reason="needs SLURM and munge, the extra cluster, root, and no /etc/slurm/slurm.conf"
)
def test_a_job_whose_node_is_killed_reruns_on_the_other_node_with_the_same_results(tmp_path):
    project, local = trial.prepared(tmp_path / "cluster", 2), Project(tmp_path / "local")
    with slurm.slurm(tmp_path / "slurm"):
        run = trial.begin(project, "--until", "read_samples")
        slurm.kill(tmp_path / "slurm", trial.running("read_samples")[1])
        assert run.wait(220) == 0, (project.root / "run.log").read_text()
    local.run("--until", "read_samples", cores=1)
    assert trial.results(project) == trial.results(local)

"""No run waits forever for a core, because the number of cores is at least one."""

import subprocess
import sys
from types import SimpleNamespace

import cluster_resources as resources
import pytest

from jointsparse.pipeline.app.command_line import WORKFLOW, main


@pytest.mark.parametrize("command", ["run", "report"])
@pytest.mark.parametrize("cores", ["0", "00", "-1", "1.5", "two", ""])
def test_cores_of_a_command_are_at_least_one(command, cores, capsys):
    assert main([command, "--cores", cores]) == 2
    assert capsys.readouterr().err == f"error: --cores must be a whole number of at least 1, or all, got {cores!r}\n"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cores": -1}, "--cores must be at least 1, got -1"),
        ({"cores": 2, "local_cores": 0}, "--local-cores must be at least 1, got 0"),
        ({"nodes": 0}, "--jobs must be at least 1, got 0"),  # on a cluster
    ],
)
def test_numbers_of_snakemake_are_at_least_one(settings, message):
    unset = {"cores": None, "nodes": None, "local_cores": None}
    with pytest.raises(ValueError, match=f"^{message}$"):
        resources.require_cores(SimpleNamespace(**unset | settings))
    resources.require_cores(SimpleNamespace(**unset | {"cores": 1, "nodes": 100}))


def test_the_workflow_itself_refuses_to_wait(tmp_path):
    command = [sys.executable, "-m", "snakemake", "--snakefile", WORKFLOW / "Snakefile", "--cores", "0"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 1 and done.stderr.splitlines()[-1].endswith("must be at least 1, got 0")

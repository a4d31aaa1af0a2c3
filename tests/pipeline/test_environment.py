"""The conda environment of the rules has the packages of pyproject.toml in the versions of constraints.txt."""

import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

BASE = Path(__file__).parents[2]


def requirements(lines):
    """Return the extras and the versions of each package."""
    parsed = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(package.name): (package.extras, package.specifier) for package in parsed}


def test_the_environment_has_what_the_pipeline_needs_in_the_versions_of_the_constraints():
    project = tomllib.loads((BASE / "pyproject.toml").read_text())["project"]
    needed = requirements([*project["dependencies"], *project["optional-dependencies"]["pipeline"]])
    constraints = requirements((BASE / "constraints.txt").read_text().splitlines())
    environment = yaml.safe_load((BASE / "workflow" / "envs" / "jointsparse.yaml").read_text())
    got = requirements(environment["dependencies"][-1]["pip"])
    assert got == {name: (extras, constraints[name][1]) for name, (extras, _) in needed.items()}

"""What pyproject.toml says of modules and packages: which modules import which, and what an environment installs."""

import tomllib

import yaml
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports
from miniature import BASE
from packaging.requirements import Requirement


def test_every_package_imports_only_what_it_may(monkeypatch):
    monkeypatch.setattr("logging.config.dictConfig", lambda _: None)  # it would disable the loggers of later tests
    assert lint_imports(config_filename=str(BASE / "pyproject.toml"), no_cache=True) == EXIT_STATUS_SUCCESS


def test_the_conda_environment_has_what_the_pipeline_needs_in_the_versions_of_the_constraints():
    project = tomllib.loads((BASE / "pyproject.toml").read_text())["project"]
    needed = map(Requirement, [*project["dependencies"], *project["optional-dependencies"]["pipeline"]])
    versions = (BASE / "constraints.txt").read_text().lower().replace("_", "-").splitlines()
    constraints = dict(line.split("==") for line in versions if "==" in line)
    environment = yaml.safe_load((BASE / "workflow" / "envs" / "jointsparse.yaml").read_text())
    installed = map(Requirement, environment["dependencies"][-1]["pip"])
    got = {(one.name, *one.extras, str(one.specifier)) for one in installed}
    assert got == {(one.name, *one.extras, f"=={constraints[one.name]}") for one in needed}

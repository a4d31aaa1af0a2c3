"""Which modules may import which, according to the contracts in pyproject.toml."""

from pathlib import Path

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

BASE = Path(__file__).parents[2]


def test_every_package_imports_only_what_it_may():
    assert lint_imports(config_filename=str(BASE / "pyproject.toml"), no_cache=True) == EXIT_STATUS_SUCCESS

"""Fixtures of the pipeline's tests: albums of photographs, the miniature of the workflow, and its scripts."""

import runpy
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from albums import make_album, verdicts_here
from miniature import BASE, Project, made_once

from jointsparse.pipeline.datasets import folder
from jointsparse.pipeline.papers import harness

# Of two files at a time the longest first, so that neither worker waits for the other in the end.
LONGEST = ["test_workflow.py", "test_bad_input.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The workflow in a folder of its own, in which the embedded run has been made in miniature."""
    return made_once(tmp_path_factory)


@pytest.fixture
def album(tmp_path: Path) -> Path:
    """A folder of twelve pictures with two captions each, all in good order, without splits.csv."""
    return make_album(tmp_path / "album", 12)


@pytest.fixture
def checked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "verdicts", verdicts_here)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock of the papers' harness that only tests move."""
    clock = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(harness, "time", SimpleNamespace(process_time=lambda: clock.seconds))
    return clock


class Named(SimpleNamespace):
    """Files or values of a job by name, as Snakemake gives them."""

    def items(self):
        return vars(self).items()

    def __iter__(self):
        return iter(vars(self).values())


@pytest.fixture
def run_script(monkeypatch):
    """Run a script as its job does, but without records. given: input, output, params and wildcards by name."""
    monkeypatch.setattr("job.job", lambda snakemake: nullcontext(print))

    def run(name, **given):
        parts = {part: {} for part in ("input", "output", "params", "wildcards")} | given
        snakemake = SimpleNamespace(**{part: Named(**values) for part, values in parts.items()})
        script = BASE / "workflow" / "scripts" / f"{name}.py"
        runpy.run_path(str(script), {"snakemake": snakemake}, "__main__")

    return run

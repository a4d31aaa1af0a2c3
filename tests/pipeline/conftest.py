"""Fixtures of the pipeline's tests: albums of photographs, scripts of the workflow, clocks and browsers."""

import shutil
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from albums import make_album, verdicts_here
from miniature import run_script_with

# The first file takes longest, and its jobs compile most kernels. Meanwhile the other worker runs the files in the
# second row, which hardly need any. Those in the third row take long, too: if one came last, a worker would wait.
FIRST = (
    *("workflow",),
    *("walk", "results", "command_line", "bad_input", "layouts"),
    *("norms", "arrays_api", "solvers", "figures"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {f"test_{name}.py": rank for rank, name in enumerate(FIRST)}
    items.sort(key=lambda item: ranks.get(item.path.name, len(FIRST)))


@pytest.fixture
def album(tmp_path: Path) -> Path:
    """Return a folder of twelve valid pictures with two captions each, without splits.csv."""
    return make_album(tmp_path / "album", 12)


@pytest.fixture
def checked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jointsparse.pipeline.datasets.checker.verdicts", verdicts_here)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Return a clock for the papers' harness that only tests advance."""
    clock = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr("jointsparse.pipeline.papers.harness.time", SimpleNamespace(process_time=lambda: clock.seconds))
    return clock


@pytest.fixture
def run_script(monkeypatch):
    return partial(run_script_with, monkeypatch)


@pytest.fixture(scope="module")
def browser():
    """Return Chromium. Tests that need it are skipped if it or Playwright is not installed."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium is installed here")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()

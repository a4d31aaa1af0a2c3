"""Fixtures of the pipeline's tests: albums of photographs, scripts of the workflow, clocks and browsers."""

import shutil
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from albums import make_album, verdicts_here
from miniature import run_script_with

# The longest file comes first. The second row needs hardly any kernels, and meanwhile jobs of the first file compile
# those of the others. The third row is long as well, so that neither of two workers waits for the other at the end.
FIRST = (
    *("workflow",),
    *("walk", "results", "command_line", "bad_input", "layouts"),
    *("norms", "arrays_api", "solvers", "figures"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: (*FIRST, name := item.path.stem.removeprefix("test_")).index(name))


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

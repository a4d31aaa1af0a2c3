"""Fixtures shared by tests: small folders of photographs made on the spot."""

import os
import runpy
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from miniature import Project, made_once
from PIL import Image
from scipy import sparse

from jointsparse.learning.problem import Problem
from jointsparse.pipeline.datasets import folder, photos, picture_check
from jointsparse.pipeline.datasets.samples import Photographs, Samples

# The same examples on every run: a test that fails is one that somebody's change broke.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")


# Of two files at a time the longest first, so that neither worker waits for the other in the end.
LONGEST = ["test_workflow.py", "test_bad_input.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The workflow in a folder of its own, in which the embedded run has been made in miniature."""
    return made_once(tmp_path_factory)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def album(tmp_path: Path) -> Path:
    """A folder of twelve pictures with two captions each, all in good order, without splits.csv."""
    return make_album(tmp_path / "album", 12)


def verdicts_here(
    paths: Sequence[Path], smallest_side: int, longest_side: int
) -> Generator[tuple[str, str], None, None]:
    """`verdicts` without a process of its own and its limits: to start one takes a quarter of a second."""
    for path in paths:
        yield picture_check.check_picture(path, smallest_side, longest_side)[:2]


@pytest.fixture
def checked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "verdicts", verdicts_here)


def failing(monkeypatch: pytest.MonkeyPatch, owner: Any, function: str, name: str, code: int) -> None:
    """Let a function fail for files of a name."""
    permitted = getattr(owner, function)

    def fail(path: Any, *arguments: Any, **options: Any) -> Any:
        if Path(path).name == name:
            raise OSError(code, os.strerror(code), str(path))
        return permitted(path, *arguments, **options)

    monkeypatch.setattr(owner, function, fail)


def run_python(*arguments: Any, variables: Mapping[str, str] = {}, **options: Any) -> str:
    """Text that Python prints in a process of its own, which finds the modules that tests find and must not fail."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), **variables},
        capture_output=True,
        text=True,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_album(root: Path, **options: Any) -> Photographs:
    return photos.read(root, smallest_side=32, longest_side=320, **options)


def make_album(root: Path, n_images: int) -> Path:
    rng = np.random.default_rng(0)
    (root / "images").mkdir(parents=True)
    lines = ["image,caption"]
    for i in range(n_images):
        name = f"{i:03}.jpg"
        Image.fromarray(rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)).save(root / "images" / name)
        lines += [f"{name},A dog number {i}.", f'{name},"A cat, or ""kitten"", on grass."']
    (root / "captions.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root


def make_samples(X: sparse.csr_matrix, labels: Sequence[str], n_test: int) -> Samples:
    """Samples with a label each, or none (""); the last n_test are for testing, the one before for validation."""
    names = [f"sample {i}" for i in range(len(labels))]
    split = ["train"] * (len(names) - n_test - 1) + ["validation"] + ["test"] * n_test
    captions = pd.DataFrame({"image": names, "caption": labels})
    images = pd.DataFrame({"image": names, "split": split})
    return Samples(images, captions[captions["caption"] != ""], pd.DataFrame(columns=["item", "reason"]), X)


def draw_scores(n=200, m=6, seed=0, ties=False):
    """Scores that follow the labels of m tasks, and these labels, from rare to frequent ones: (n, m) each."""
    rng = np.random.default_rng(seed)
    labels = rng.random((n, m)) < np.linspace(0.1, 0.9, m)
    scores = labels + rng.normal(0, 1.5, (n, m))
    return (np.round(scores) if ties else scores), labels


def draw_labels(n=24, d=5, m=3):
    """Samples of some of m tasks each, and labels that follow the first two features, with noise; 0 is of no task."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    Y = np.where(X[:, :1] + 0.5 * X[:, 1:2] + rng.normal(0, 0.7, (n, m)) > 0, 1.0, -1.0)
    return X, np.where(rng.random((n, m)) < 0.3, 0.0, Y)


def draw_tasks(dtype=float, n=14, d=6, container=np.asarray, **options):
    """A problem of three tasks with n, n + 1 and n + 2 samples that share two features, with weights."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n + k, d)).astype(dtype) for k in range(3)]
    y = [np.where(x[:, 0] + x[:, 1] * rng.random() + 0.5 + rng.normal(size=len(x)) > 0, 1.0, -1.0) for x in X]
    return Problem([container(x) for x in X], y, [rng.choice([0.5, 1.0, 3.0], size=len(x)) for x in X], **options)


def rounding(A, B):
    """How far two products A @ B in single precision lie apart at most, if BLAS adds up the same terms in other orders.

    It does so on other processors, for one row and for many, and for rows that are sparse.
    """
    return np.shape(B)[0] * float(np.finfo(np.float32).eps) * (np.abs(A) @ np.abs(B))


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
        script = Path(__file__).parents[1] / "workflow" / "scripts" / f"{name}.py"
        runpy.run_path(str(script), {"snakemake": snakemake}, "__main__")

    return run

"""Compare the seconds and the memory that `init` announces with those that `run` takes.

    python trials/estimates.py [--folder FOLDER] [SET ...]

Each set is made in a folder of its own, read by `jointsparse init`, and run by `jointsparse run` with all cores. The
machine must be idle otherwise. A set is one of `SETS`, or a folder of data. Memory is the largest sum over all
processes that run at the same time. The kernels are compiled before the first set. A ratio is the measured value
divided by the estimate. Exits with 1 if an estimate is wrong by more than a factor of two.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from PIL import Image, ImageFilter
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

COMMAND = Path(sys.executable).with_name("jointsparse")
SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600}
EVERY_SECONDS = 0.2  # between two looks at the memory


def drawn_labels(X: Any, n_labels: int, noise: float, rng: np.random.Generator) -> np.ndarray:
    """Return labels (n_samples, n_labels) that depend on the same tenth of the features; each has a share of 5-40 %."""
    relevant = rng.permutation(X.shape[1])[: max(5, X.shape[1] // 10)]
    scores = np.asarray(X[:, relevant] @ rng.normal(size=(len(relevant), n_labels)))
    scores = scores / scores.std(axis=0) + noise * rng.normal(size=scores.shape)
    return scores > np.quantile(scores, 1 - rng.uniform(0.05, 0.4, n_labels), axis=0).diagonal()


def dense(root: Path, n: int, d: int, n_labels: int, noise: float = 1.0) -> None:
    """Make a table of features and a table of labels."""
    rng = np.random.default_rng(n + d)
    X = rng.normal(size=(n, d)).astype(np.float32)
    np.save(root / "features.npy", X)
    Y = drawn_labels(X, n_labels, noise, rng).astype(int)
    pd.DataFrame(Y, columns=[f"label {k}" for k in range(n_labels)]).to_csv(root / "labels.csv", index=False)


def counts(root: Path, n: int, d: int, n_labels: int, length: int, noise: float = 0.3) -> None:
    """Make documents as a libsvm file: normalised counts of words, whose frequencies follow Zipf's law."""
    rng = np.random.default_rng(n + d)
    words = np.minimum(rng.zipf(1.3, size=(n, length)) - 1, d - 1)
    X = sparse.csr_matrix((np.ones(n * length), words.ravel(), np.arange(0, n * length + 1, length)), shape=(n, d))
    X.sum_duplicates()
    X = sparse.diags(1 / np.sqrt(X.multiply(X).sum(axis=1).A1)) @ X
    Y = drawn_labels(X, n_labels, noise, rng).astype(int)
    dump_svmlight_file(X, Y, str(root / "documents.libsvm"), zero_based=False, multilabel=True)


def photographs(root: Path, n: int, n_classes: int, width: int) -> None:
    """Make photographs in a folder per class: blurred noise, with a colour for each class."""
    rng = np.random.default_rng(n)
    for i in range(n):
        tint = 0.5 + 0.5 * np.random.default_rng(i % n_classes).random(3)
        noise = rng.random((width * 3 // 4, width, 3)) * tint
        folder = root / f"class {i % n_classes}"
        folder.mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray((255 * noise).astype(np.uint8)).filter(ImageFilter.GaussianBlur(2))
        picture.save(folder / f"{i:05}.jpg", quality=90)


SETS: dict[str, Callable[[Path], None]] = {
    "table": partial(dense, n=2_000, d=200, n_labels=20),
    "tall table": partial(dense, n=30_000, d=40, n_labels=10),
    "many labels": partial(dense, n=4_000, d=100, n_labels=150),
    "documents": partial(counts, n=6_000, d=8_000, n_labels=30, length=60),
    "photographs": partial(photographs, n=600, n_classes=6, width=640),
}


def announced(said: str) -> dict[str, float]:
    """Return the seconds and the MB that `init` has announced."""
    number, unit, gigabytes = re.search(r"about ([\d.]+) (\w+) on .* up to ([\d.]+) GB", said).groups()
    return {"seconds": float(number) * SECONDS[unit], "mb": float(gigabytes) * 1000}


def measured(folder: Path) -> dict[str, float]:
    """Run `run`, and return its elapsed seconds and the largest sum of memory of its processes."""
    begun, most = time.monotonic(), 0
    with psutil.Popen([COMMAND, "run"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            most = max(most, sum(map(memory, [process, *process.children(recursive=True)])))
            time.sleep(EVERY_SECONDS)
    if process.returncode:
        raise RuntimeError(f"the run in {folder} ends with exit status {process.returncode}")
    return {"elapsed": time.monotonic() - begun, "used_mb": most / 1e6}


def memory(process: psutil.Process) -> int:
    """Return the bytes that a process uses; pages that several processes share are divided among them."""
    try:
        return process.memory_full_info().pss
    except psutil.Error:  # the process has just ended
        return 0


def compared(name: str, folder: Path) -> dict[str, Any]:
    """Run `init` and `run` on a set, or on a folder of data, and return what was announced and what was measured."""
    data, run = folder / "data", folder / "run"
    run.mkdir(parents=True)
    if name in SETS:
        data.mkdir()
        SETS[name](data)
    else:
        data = Path(name).resolve()
    seen = subprocess.run([COMMAND, "init", data], cwd=run, capture_output=True, text=True, check=True).stdout
    row = announced(seen) | measured(run)
    return row | {"time_ratio": row["elapsed"] / row["seconds"], "memory_ratio": row["used_mb"] / row["mb"]}


def main(sets: Sequence[str], folder: Path) -> int:
    """Print a row for each set."""
    subprocess.run([COMMAND, "warmup", "l1", "l12", "l1inf", "l2"], check=True, capture_output=True)
    table = pd.DataFrame({name: compared(name, folder / Path(name).name) for name in sets}).T
    print(table.round(2).to_string())
    return int(((table[["time_ratio", "memory_ratio"]] - 1.25).abs() > 0.75).any(axis=None))  # outside of 0.5 to 2


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"{', '.join(SETS)} (default: all), or folders of data")
    parser.add_argument("--folder", type=Path, help="where to make and run the sets (default: a temporary folder)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(given.sets or list(SETS), given.folder or Path(temporary)))

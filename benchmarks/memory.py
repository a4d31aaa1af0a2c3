"""Peak memory of each stage on simulated datasets of growing size, such as 100,000 images.

    python benchmarks/memory.py [--images 5000 20000 100000] [--folder /tmp/simulated] [--stages fit_basis …]

Simulated histograms have 11,110 visual words, of which an image has some 1,500 as on Flickr8k. An image has five
captions, and 40 words are tasks. Every stage is the pipeline's own script, run in a process of its own on the files of
the stages before. Iterations, runs, prototypes and the rank of the basis are smaller than in config.yaml, for time.

peak: the largest resident set, including imports and mapped files. own: the same without memory that the system can
take back, such as mapped files, sampled fifty times a second.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

BASE = Path(__file__).parents[1]
sys.path[:0] = [str(BASE / "workflow" / "scripts")]

N_COLUMNS = (10, 100, 1000, 10_000)  # words of each level of the tree
FILLED_SHARE = 0.135  # of the columns of an image
SHARDS = 8
DESCRIPTORS = 2000  # of an image
SIZES = [40, 80, 160, 320, 640]
METHODS = ["hinge-l1inf", "hinge-l1"]
RANK = 100
PROTOTYPES = 2000
GRID = {"eta0": [0.01, 0.1, 1, 10], "radius": [10, 30, 100, 300]}


def held(process: int | str, kind: str) -> float:
    """Megabytes that a process holds, as the kernel counts them; 0 once it is gone."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    found = re.search(rf"{kind}:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


def quiet(done: int, total: int) -> None:
    """Show no progress."""


def simulate(folder: Path) -> None:
    """Write the files that the first stages below read. No stage itself."""
    import numpy as np
    import pandas as pd
    from scipy import sparse

    from jointsparse.features import shards
    from jointsparse.provenance.tables import write_arrays, write_matrix, write_table

    rng, n_images = np.random.default_rng(0), int(folder.name)
    names = np.array([f"{i:07}.jpg" for i in range(n_images)])
    split = rng.choice(["train", "validation", "test", "unlabelled"], n_images, p=[0.7, 0.05, 0.1, 0.15])
    write_table(pd.DataFrame({"image": names, "split": split}), folder / "images.parquet")
    letters = np.array([list("abcdefghijklmnopqrst")])
    words = np.array(["".join(letters[0, rng.integers(0, 20, 6)]) for _ in range(8000)])
    ranks = np.exp(rng.uniform(np.log(20), np.log(8020), (5 * n_images, 11))).astype(int) - 20
    captions = [" ".join(row) for row in words[ranks]]
    write_table(pd.DataFrame({"image": np.repeat(names, 5), "caption": captions}), folder / "captions.parquet")
    n_words = sum(N_COLUMNS)
    level = np.repeat(np.arange(len(N_COLUMNS) + 1), [1, *N_COLUMNS]).astype(np.int32)
    n_children = np.where(level < len(N_COLUMNS), 10, 0).astype(np.int32)
    first_child = np.where(n_children, 10 * np.arange(n_words + 1) + 1, 0).astype(np.int32)
    centres = rng.random((n_words + 1, 128), np.float32)
    write_arrays(folder / "tree.npz", centres=centres, first_child=first_child, n_children=n_children, level=level)
    for shard in range(SHARDS):
        blocks = []
        for start in range(0, len(shards.part(names, shard, SHARDS)), 500):
            height = min(500, len(shards.part(names, shard, SHARDS)) - start)
            row, column = np.nonzero(rng.random((height, n_words), dtype=np.float32) < FILLED_SHARE)
            counts = rng.integers(1, 9, len(row), dtype=np.int32)
            blocks.append(sparse.csr_matrix((counts, (row, column)), shape=(height, n_words)))
        write_matrix(folder / f"histograms{shard}.npz", sparse.csr_matrix(sparse.vstack(blocks, format="csr")))
        # Descriptors of zeros take no room on the disk.
        n = len(shards.part(names, shard, SHARDS))
        np.lib.format.open_memmap(folder / f"descriptors{shard}.npy", "w+", np.uint8, (n * DESCRIPTORS, 128)).flush()
        np.save(folder / f"counts{shard}.npy", np.full(n, DESCRIPTORS))


def weigh_histograms(folder: Path) -> None:
    from weigh_histograms import main

    options = {"weighting": "sqrt", "normalise": True}
    parts = [folder / f"histograms{shard}.npz" for shard in range(SHARDS)]
    main(
        images=folder / "images.parquet",
        histograms=parts,
        tree=folder / "tree.npz",
        options=options,
        output=folder / "histograms.npz",
    )


def sample_descriptors(folder: Path) -> None:
    """First part of grow_vocabulary. Its other parts need as much memory for any number of images."""
    import numpy as np

    from jointsparse.features import shards
    from jointsparse.provenance.tables import read_table

    shards.sample(
        [np.load(folder / f"descriptors{shard}.npy", mmap_mode="r") for shard in range(SHARDS)],
        [np.load(folder / f"counts{shard}.npy") for shard in range(SHARDS)],
        read_table(folder / "images.parquet")["split"].isin(["train", "unlabelled"]).to_numpy(),
        200_000,
        rng=np.random.default_rng(0),
    )


def encode(folder: Path) -> None:
    """One shard."""
    import numpy as np

    from jointsparse.features import vocabulary_tree
    from jointsparse.provenance.tables import read_arrays, write_matrix

    tree = vocabulary_tree.Tree(**read_arrays(folder / "tree.npz"))
    given = np.load(folder / "descriptors0.npy", mmap_mode="r"), np.load(folder / "counts0.npy")
    write_matrix(folder / "encoded.npz", vocabulary_tree.encode(tree, *given))


def choose_words(folder: Path) -> None:
    from choose_words import main

    output = SimpleNamespace(words=folder / "words.csv", labels=folder / "labels.npy")
    files = {"images": folder / "images.parquet", "captions": folder / "captions.parquet"}
    main(**files, smallest_size=min(SIZES), options={"n_words": 40}, output=output)


def set_aside(folder: Path) -> None:
    from set_aside import main

    main(images=folder / "images.parquet", numbers={"train": 1000}, seed=1, output=folder / "aside.parquet")


def draw_tasks(folder: Path) -> None:
    from draw_tasks import main

    output = SimpleNamespace(tasks=folder / "tasks.npz", table=folder / "tasks.csv")
    options = {"sizes": SIZES, "negatives_per_positive": 2, "n_validation_words": 10}
    files = {"images": folder / "images.parquet", "words": folder / "words.csv", "labels": folder / "labels.npy"}
    main(**files, options=options, seed=1, run=1, output=output)


def fit_basis(folder: Path) -> None:
    from fit_basis import main

    output = SimpleNamespace(basis=folder / "basis.npz", features=folder / "features.npz")
    files = {"images": folder / "images.parquet", "features": folder / "histograms.npz"}
    options = {"rank": RANK, "centred": True}
    main(**files, fitted_on=["train"], options=options, seed=1, output=output)


def fit_similarities(folder: Path) -> None:
    from fit_similarities import main

    output = SimpleNamespace(prototypes=folder / "prototypes.npz", features=folder / "similarities.npz")
    files = {"images": folder / "images.parquet", "features": folder / "histograms.npz"}
    options = {"measure": "intersection", "n_prototypes": min(PROTOTYPES, 500)}
    main(**files, options=options, seed=1, output=output)


def dense_features(folder: Path) -> None:
    """Write as many features as config.yaml has, for the stages that follow. No stage itself."""
    import numpy as np

    from jointsparse.provenance.tables import read_table, write_matrix

    n = len(read_table(folder / "images.parquet"))
    rng = np.random.default_rng(1)
    write_matrix(folder / "features1000.npz", rng.normal(size=(n, 1000)).astype(np.float32) / np.float32(1000**0.5))


def train_sweep(folder: Path, method: str = METHODS[0]) -> None:
    """All sizes."""
    from train_sweep import main

    loss, norm = method.split("-")
    training = {"solver": "subgradient", "n_iter": 3, "normalisation": "sum"}
    given = {"features": folder / "features1000.npz", "tasks": folder / "tasks.npz", "progress": quiet}
    main(**given, loss=loss, norm=norm, grid=GRID, training=training, output=folder / f"sweep-{method}.npz")


def other_sweeps(folder: Path) -> None:
    """Train with another norm, for the stages that compare two. No stage itself."""
    train_sweep(folder, METHODS[1])


def train_path(folder: Path) -> None:
    """All sizes."""
    from train_path import main

    names = {"images": "images.parquet", "features": "features1000.npz", "labels": "labels.npy", "tasks": "tasks.npz"}
    files = {key: folder / name for key, name in names.items()}
    options = {"loss": "hinge", "norm": "l1inf", "stop": {"n_iter": 10, "tol": 0.01}, "normalisation": "sum"}
    main(**files, **options, metric="auc", output=folder / "path.npz", progress=quiet)


def train_svm(folder: Path) -> None:
    """All sizes."""
    import warnings

    from train_svm import main

    warnings.simplefilter("ignore")
    files = {"features": folder / "features1000.npz", "tasks": folder / "tasks.npz", "output": folder / "svm.npz"}
    main(**files, grid={"C": [0.1], "max_iter": 10}, seed=1, progress=quiet)


def evaluate(folder: Path) -> None:
    """One run."""
    from evaluate import main

    names = {"images": "images.parquet", "features": "features1000.npz", "words": "words.csv", "labels": "labels.npy"}
    files: dict[str, Any] = {key: folder / name for key, name in names.items()}
    files |= {"tasks": [folder / "tasks.npz"], "sweeps": [folder / f"sweep-{method}.npz" for method in METHODS]}
    tables = {name: folder / f"{name}.csv" for name in ("chosen", "by_word", "sparsity", "convergence", "weights")}
    options = {"runs": [1], "methods": METHODS, "metric": "auc", "at_size": 40}
    main(**files, **options, output=tables | {"scores": folder / "scores.npz"})


def compare_methods(folder: Path) -> None:
    from compare_methods import main

    main(scores=folder / "scores.npz", n_pairings=200, seed=1, output=folder / "significance.csv")


def resample_differences(folder: Path) -> None:
    from resample_differences import main

    main(scores=folder / "scores.npz", n_resamples=1000, seed=1, output=folder / "differences.csv")


STAGES: list[Callable[[Path], None]] = [
    simulate,
    sample_descriptors,
    encode,
    weigh_histograms,
    choose_words,
    set_aside,
    draw_tasks,
    fit_basis,
    fit_similarities,
    dense_features,
    train_sweep,
    other_sweeps,
    train_path,
    train_svm,
    evaluate,
    compare_methods,
    resample_differences,
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [stage.__name__ for stage in STAGES]
    parser.add_argument("--images", type=int, nargs="+", default=[5000, 20_000, 100_000], help="how many")
    parser.add_argument("--folder", type=Path, help="where to keep the simulated files; 12 GB for 100,000 images")
    parser.add_argument("--stages", nargs="+", choices=names, default=names[1:], help="those to measure, in this order")
    parser.add_argument("--alone", help=argparse.SUPPRESS)  # one stage in this process
    options = parser.parse_args()
    if options.alone:
        stages = {stage.__name__: stage for stage in STAGES}
        stages[options.alone](options.folder)
        print(f"{held('self', 'VmHWM'):.0f} {time.process_time():.1f}")
        return
    with tempfile.TemporaryDirectory() as temporary:
        print(f"{'stage':22}{'images':>10}{'peak MB':>10}{'own MB':>10}{'CPU s':>9}")
        for n_images in options.images:
            folder = (options.folder or Path(temporary)) / str(n_images)
            folder.mkdir(parents=True, exist_ok=True)
            simulated = (folder / f"counts{SHARDS - 1}.npy").exists()
            for stage in options.stages if simulated else ["simulate", *options.stages]:
                command = [sys.executable, __file__, "--folder", str(folder), "--alone", stage]
                threads = {f"{name}_NUM_THREADS": "1" for name in ("NUMBA", "OMP", "OPENBLAS", "MKL")}
                pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
                with subprocess.Popen(command, env=os.environ | threads, **pipes) as run:  # type: ignore[call-overload]
                    own = 0.0
                    while run.poll() is None:
                        own = max(own, held(run.pid, "RssAnon"))
                        time.sleep(0.02)
                    said, error = run.communicate()
                if run.returncode:
                    raise SystemExit(f"{stage} failed: {error}")
                peak, seconds = said.split()
                print(f"{stage:22}{n_images:10,}{peak:>10}{own:10.0f}{seconds:>9}", flush=True)


if __name__ == "__main__":
    main()

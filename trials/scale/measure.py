"""Measure how seconds, memory and disk space of each stage grow with the number of pictures, in a table and a figure.

python trials/scale/measure.py docs RUN RUN RUN      # results/scale of runs on more and more pictures
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import style

from jointsparse.pipeline.figures.style import SHEET, canvas, legend, log_axis, size_axis
from jointsparse.pipeline.provenance.tables import read_table

STAGES = {  # the outputs of each rule
    "read_images": "images.parquet captions.parquet",
    "grow_vocabularies": "vocabularies.npz",
    "encode": "histograms",
    "choose_words": "annotation/labels.npy",
    "draw_tasks": "annotation/tasks",
    "fit_basis": "annotation/basis",
    "train_path": "annotation/paths",
    "evaluate": "annotation/scores.npz",
    "compare_methods": "",
    "write_page": "index.html thumbnails",
}
QUANTITIES = {"seconds": "CPU seconds, all jobs", "mb": "MB of memory, the largest job", "disk_mb": "MB on disk"}


def measured(run: Path) -> pd.DataFrame:
    """Return the CPU seconds of all jobs of each stage, the memory of the largest job, and disk space."""
    n, rows = len(read_table(run / "images.parquet", "image")), []
    for stage, names in STAGES.items():
        files = [*run.glob(f"**/timings/{stage}.tsv"), *run.glob(f"**/timings/{stage}/**/*.tsv")]
        jobs = pd.concat([pd.read_csv(file, sep="\t") for file in files]) if files else None
        left = [file for name in names.split() for file in (run / name, *(run / name).rglob("*")) if file.is_file()]
        if jobs is not None:
            disk = sum(file.stat().st_size for file in left) / 1e6
            rows.append((n, stage, len(jobs), jobs["cpu_time"].sum(), jobs["max_rss"].max(), disk))
    return pd.DataFrame(rows, columns=["pictures", "stage", "jobs", *QUANTITIES])


def exponents(table: pd.DataFrame, quantity: str) -> pd.Series:
    """Return the log-log slope of each stage between the smallest and the largest run."""
    low, high = table["pictures"].min(), table["pictures"].max()
    by_n = table.pivot_table(index="stage", columns="pictures", values=quantity)
    return np.log((by_n[high] / by_n[low]).replace(0, np.nan)) / np.log(high / low)


def main(folder: Path, runs: list[Path]) -> None:
    """Write scale.csv and scale.png, and print the exponents."""
    table = pd.concat(map(measured, runs))
    table.to_csv(folder / "scale.csv", index=False, float_format="%.4g")
    sizes = sorted(table["pictures"].unique())
    longest = table[table["pictures"] == sizes[-1]].nlargest(6, "seconds")["stage"]
    with style.context(SHEET):
        figure, axes = canvas(12, 4, panels=3)
        for axis, (quantity, label) in zip(axes, QUANTITIES.items(), strict=True):
            for stage in longest:
                rows = table[(table["stage"] == stage) & (table[quantity] > 0)]
                axis.plot(rows["pictures"], rows[quantity], marker="o", label=stage if len(rows) else None)
            size_axis(axis, sizes, "pictures")
            log_axis(axis, "y")
            axis.set_ylabel(label)
        legend(figure)
        figure.savefig(folder / "scale.png", dpi=120)
    found = pd.DataFrame({quantity: exponents(table, quantity) for quantity in QUANTITIES})
    print(found.loc[[stage for stage in STAGES if stage in found.index]].round(2).to_string())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("runs", type=Path, nargs="+")
    main(**vars(parser.parse_args()))

"""Spoil the files of a finished run one at a time, and run the job that reads each: it must refuse the file by name.

python trials/damage.py FOLDER [--overlay FILE] [--cuts 4] [--seed 1]

FOLDER: a project whose results are complete, such as that of tests/miniature.py. It is not changed. One job of each
rule is taken, and each of its inputs under results/ once per folder and kind. Ends with 1 if a job ended in a
traceback, or did not refuse what was cut off. Other files that are accepted are listed: a table of another run with the
same rows cannot be told apart.
"""

import argparse
import contextlib
import io
import os
import re
import runpy
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from miniature import jobs

from jointsparse.provenance import tables

REFUSED, VAGUE, SAME, OTHER, TRACEBACK = RESULTS = (
    "refused, named",
    "refused, not named",
    "accepted, same result",
    "accepted, other result",
    "traceback",
)
CUT_OFF, CHANGED, FOREIGN = "cut off", "another type, shape or name inside", "of another run or dataset"
READ = {".csv": tables.read_table, ".parquet": tables.read_table, ".npy": tables.read_array, ".npz": tables.read_arrays}
WRITE = {
    ".csv": lambda file, table: tables.write_table(table, file),
    ".parquet": lambda file, table: tables.write_table(table, file),
    ".npy": tables.write_array,
    ".npz": lambda file, arrays: tables.write_arrays(file, **arrays),
}


class Run(NamedTuple):
    """A fault, the result of the job that met it, and a line that tells both."""

    fault: str
    result: str
    line: str


def content_of(path: Path) -> bytes:
    """The bytes of a file, or of all files below a folder."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    return b"".join(file.read_bytes() for file in files)


def run(job: Any, scripts: Path) -> tuple[str, dict[str, bytes]]:
    """Run a job's script on what lies under results/; what it says, and what it makes, by name."""
    shutil.rmtree("out", ignore_errors=True)
    for file in job.output:
        Path("out", file).parent.mkdir(parents=True, exist_ok=True)
    given = SimpleNamespace(
        rule=job.rule.name,
        input=job.input,
        output=type(job.output)(toclone=job.output, custom_map=lambda file: f"out/{file}"),
        params=job.params,
        wildcards=job.wildcards,
        log=["out/log"],
        config=job.rule.workflow.config,
    )
    said = io.StringIO()
    with contextlib.redirect_stderr(said), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with contextlib.suppress(SystemExit):
            runpy.run_path(str(scripts / Path(job.rule.script).name), {"snakemake": given}, "__main__")
    made = {file: content_of(Path("out", file)) for file in job.output if Path("out", file).exists()}
    return said.getvalue(), made


def cut(path: Path, rng: np.random.Generator, n_cuts: int) -> Iterator[tuple[str, bytes]]:
    """The beginning of a file: nothing, all but the last byte, some places between, of a table the end of a line."""
    whole = path.read_bytes()
    for length in {0, len(whole) - 1, *rng.integers(1, len(whole), n_cuts).tolist()}:
        yield f"cut off at {length} of {len(whole)}", whole[:length]
    if path.suffix == ".csv" and whole.count(b"\n") > 3:
        yield "cut off at the end of a line", whole[: whole.rindex(b"\n", 0, len(whole) - 2) + 1]


def changed_table(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for name in table:
        yield f"without the column {name}", table.drop(columns=name)
    if len(table):
        yield "without its last row", table[:-1]


def changed_array(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    yield "other type", array.astype("U8" if array.dtype.kind in "fiub" else "S8")
    if array.ndim:
        yield "one row less", array[:-1]
        yield "one axis more", array[np.newaxis]
    if array.ndim > 1:
        yield "one column less", array[..., :-1]


def changed_arrays(arrays: dict[str, np.ndarray]) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    for name in arrays:
        for how, array in changed_array(arrays[name]):
            yield f"{name}: {how}", arrays | {name: array}
        yield f"without the array {name}", {other: array for other, array in arrays.items() if other != name}


def changed(path: Path) -> Iterator[tuple[str, bytes]]:
    """The file whole, but with another type, shape or name of one thing in it."""
    change = {".npy": changed_array, ".npz": changed_arrays}.get(path.suffix, changed_table)
    for how, content in change(READ[path.suffix](path)):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / path.name
            WRITE[path.suffix](file, content)
            yield how, file.read_bytes()


def foreign(path: Path) -> Iterator[tuple[str, bytes]]:
    """The files of the same name from other datasets, studies, runs and sizes."""
    for other in sorted(Path("results").rglob(re.sub(r"\d+", "*", path.name))):
        if other != path and other.read_bytes() != path.read_bytes():
            yield f"{other} in its place", other.read_bytes()


def outcome(said: str, made: dict[str, bytes], whole: dict[str, bytes], path: Path) -> str:
    if said:
        one_line = said.startswith("error: ") and said.count("\n") == 1
        if "the traceback is in" in said or not one_line:
            return TRACEBACK
        named = str(path) in said or f"table {path.stem} " in said or "One of its inputs is from another run" in said
        return REFUSED if named else VAGUE
    return SAME if made == whole else OTHER


def damage(job: Any, scripts: Path, rng: np.random.Generator, n_cuts: int) -> Iterator[Run]:
    """Spoil each input of a job in turn, and run the job."""
    said, whole = run(job, scripts)
    assert not said, (job.rule.name, said)
    paths = [Path(file) for file in job.input if file.startswith("results/")]
    for path in {(path.parent, path.suffix): path for path in paths if path.suffix in READ}.values():
        before = path.read_bytes()
        faults = {CUT_OFF: list(cut(path, rng, n_cuts))}
        if job.rule.name != "write_manifest":  # which records what is there
            faults |= {CHANGED: list(changed(path)), FOREIGN: list(foreign(path))[:n_cuts]}
        for fault, how, content in [(kind, *one) for kind, several in faults.items() for one in several]:
            path.write_bytes(content)
            said, made = run(job, scripts)
            result = outcome(said, made, whole, path)
            yield Run(fault, result, f"{result}: {job.rule.name}, {path}, {how}: {said.strip()[:300]}")
        path.write_bytes(before)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--overlay", default="")
    parser.add_argument("--cuts", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    folder = given.folder.absolute()
    os.chdir(folder)
    by_rule = jobs(folder, folder, given.overlay)
    scripts = Path(__file__).absolute().parents[1] / "workflow" / "scripts"
    sys.path.insert(0, str(scripts))
    rng = np.random.default_rng(given.seed)
    chosen = [
        max(by_rule[rule], key=lambda job: str(job.output)) for rule in sorted(by_rule) if rule != "reproduce-all"
    ]
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(folder / "results", Path(place) / "results")
        os.chdir(place)
        reads = [job for job in chosen if any(file.startswith("results/") for file in job.input)]
        runs = pd.DataFrame([one for job in reads for one in damage(job, scripts, rng, given.cuts)])
        os.chdir("/")
    print("\n".join(sorted(runs["line"][runs["result"].isin((VAGUE, TRACEBACK, OTHER))])))
    faults = [CUT_OFF, CHANGED, FOREIGN]
    print(pd.crosstab(runs["fault"], runs["result"]).reindex(index=faults, columns=RESULTS, fill_value=0).to_string())
    bad = (runs["result"] == TRACEBACK) | ((runs["fault"] == CUT_OFF) & (runs["result"] != REFUSED))
    return int(bad.any())


if __name__ == "__main__":
    sys.exit(main())

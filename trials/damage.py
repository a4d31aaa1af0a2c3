"""Damage the files of a finished run one at a time. The job that reads a damaged file must refuse it by name.

python trials/damage.py FOLDER [--overlay FILE] [--cuts 4] [--seed 1]

FOLDER is a project with complete results, such as the project of tests/pipeline/miniature.py. It is not changed. The
trial takes one job of each rule, and damages one of the job's inputs per folder and kind of file. Exits with 1 if a job
does not refuse a damaged file by name.
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

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "pipeline"))
from miniature import jobs

REFUSED, ACCEPTED, TRACEBACK = RESULTS = ("refused, named", "accepted", "traceback")
CUT_OFF, CHANGED, FOREIGN = FAULTS = ("cut off", "a changed byte", "of another run or dataset")


class Run(NamedTuple):
    """A kind of damage, the outcome of the job whose input was damaged, and a line that describes both."""

    fault: str
    result: str
    line: str


def run(job: Any, scripts: Path) -> str:
    """Run a job's script on the files under results/, and return its error message."""
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
    return said.getvalue()


def cut(path: Path, rng: np.random.Generator, n_cuts: int) -> Iterator[tuple[str, bytes]]:
    """Yield truncated copies of a file: empty, without the last byte, of some lengths between, or with fewer lines."""
    whole = path.read_bytes()
    for length in {0, len(whole) - 1, *rng.integers(1, len(whole), n_cuts).tolist()}:
        yield f"cut off at {length} of {len(whole)}", whole[:length]
    if path.suffix == ".csv" and whole.count(b"\n") > 3:
        yield "cut off at the end of a line", whole[: whole.rindex(b"\n", 0, len(whole) - 2) + 1]


def changed(path: Path, rng: np.random.Generator, n_cuts: int) -> Iterator[tuple[str, bytes]]:
    """Yield copies of a file, in each of which one byte is changed."""
    for place in rng.integers(0, path.stat().st_size, n_cuts).tolist():
        spoilt = bytearray(path.read_bytes())
        spoilt[place] ^= int(rng.integers(1, 256))
        yield f"byte {place} changed", bytes(spoilt)


def foreign(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the contents of files with the same name that belong to other datasets, studies, runs or sizes."""
    for other in sorted(Path("results").rglob(re.sub(r"\d+", "*", path.name))):
        if other != path and other.read_bytes() != path.read_bytes():
            yield f"{other} in its place", other.read_bytes()


def outcome(said: str, path: Path) -> str:
    one_line = said.startswith("error: ") and said.count("\n") == 1 and "the traceback is in" not in said
    if said and not one_line:
        return TRACEBACK
    return REFUSED if str(path) in said else ACCEPTED


def damage(job: Any, scripts: Path, rng: np.random.Generator, n_cuts: int) -> Iterator[Run]:
    """Damage each input file of a job in turn, run the job each time, and yield the outcome."""
    said = run(job, scripts)
    assert not said, (job.rule.name, said)
    paths = [Path(file) for file in job.input if Path(file).is_file()]
    for path in {(path.parent, path.suffix): path for path in paths}.values():
        before = path.read_bytes()
        faults = [(CUT_OFF, *one) for one in cut(path, rng, n_cuts)]
        faults += [(CHANGED, *one) for one in changed(path, rng, n_cuts)]
        faults += [(FOREIGN, *one) for one in list(foreign(path))[:n_cuts]]
        for fault, how, content in faults:
            path.write_bytes(content)
            said = run(job, scripts)
            result = outcome(said, path)
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
    bad = runs["result"] != REFUSED
    print("\n".join(sorted(runs["line"][bad])))
    print(pd.crosstab(runs["fault"], runs["result"]).reindex(index=FAULTS, columns=RESULTS, fill_value=0).to_string())
    return int(bad.any())


if __name__ == "__main__":
    sys.exit(main())

"""Damage the files of a finished run one at a time. The job that reads a damaged file must refuse it by name.

    python trials/damage.py FOLDER --overlay FILE --cases 400

FOLDER is a project with complete results, such as the project of tests/pipeline/miniature.py. It is not changed. Each
case takes a job, and truncates, changes or exchanges one of the files that it reads. The ways in which a case can end
are listed in `harness.py`.
"""

import contextlib
import io
import os
import re
import runpy
import shutil
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import harness
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "pipeline"))
from miniature import jobs

SCRIPTS = Path(__file__).absolute().parents[1] / "workflow" / "scripts"
sys.path.insert(0, str(SCRIPTS))
Rng = np.random.Generator


def run(job: Any) -> str:
    """Run a job's script on the files under results/, and return its error message."""
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
    warnings.simplefilter("ignore")
    with contextlib.redirect_stderr(said), contextlib.suppress(SystemExit), np.errstate(all="ignore"):
        runpy.run_path(str(SCRIPTS / Path(job.rule.script).name), {"snakemake": given}, "__main__")
    return said.getvalue()


# Kinds of damage. Each function returns the new content of a file.


def mutated(path: Path, rng: Rng) -> bytes:
    return harness.mutated(path.read_bytes(), rng, [b"\0", b"\n"], path.stat().st_size, most=1)


def cut(path: Path, rng: Rng) -> bytes:
    """Return the beginning of a file: nothing, all but the last byte or the last line, or of any length."""
    whole = path.read_bytes()
    return whole[: harness.one_of([0, -1, max(whole.rfind(b"\n", 0, -2) + 1, 0), rng.integers(len(whole))], rng)]


def foreign(path: Path, rng: Rng) -> bytes:
    """Return the content of a file with the same name that belongs to another dataset, study, run or size."""
    others = {other.read_bytes() for other in Path("results").rglob(re.sub(r"\d+", "*", path.name))}
    return harness.one_of(sorted(others - {path.read_bytes()}) or [path.read_bytes()], rng)


def read_by(job: Any) -> list[Path]:
    """Return the results that a job reads."""
    return [Path(file) for file in job.input if file.startswith("results/") and Path(file).is_file()]


def case(damage: Callable[[Path, Rng], bytes], chosen: list[Any], results: Path, rng: Rng, folder: Path) -> str | None:
    """Damage an input file of a job, and run the job."""
    shutil.copytree(results, folder / "results", copy_function=os.link)
    os.chdir(folder)
    job = chosen[rng.integers(len(chosen))]
    path = read_by(job)[rng.integers(len(read_by(job)))]
    content = damage(path, rng)
    if content == path.read_bytes():
        return "the same"
    path.unlink()  # it is a link to the file in the folder of the run
    path.write_bytes(content)
    said = run(job)
    harness.require(said.startswith("error: ") and str(path) in said, f"{job.rule.name} accepted {path}: {said[:300]}")
    harness.require("the traceback is in" not in said, f"{job.rule.name}, {path}: {said[:300]}")
    return harness.refuse(ValueError(said.removesuffix("\n")))


if __name__ == "__main__":
    parser = harness.parser(__doc__, 400)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--overlay", default="")
    given = parser.parse_args()
    root = given.folder.resolve()
    os.chdir(root)
    by_rule = jobs(root, root, given.overlay)
    last = [max(of_rule, key=lambda job: str(job.output)) for _, of_rule in sorted(by_rule.items())]
    chosen = [job for job in last if job.rule.name != "reproduce-all" and read_by(job)]
    damages = {"damaged": mutated, "cut off": cut, "of another run or dataset": foreign}
    kinds = {name: partial(case, damage, chosen, root / "results") for name, damage in damages.items()}
    sys.exit(harness.run(kinds, given, seconds=120, at_once=1))  # jobs keep loggers and caches

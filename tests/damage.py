"""Spoils the files of a finished run one at a time and lets the job that reads each run again: is it refused, by name?

python tests/damage.py FOLDER [--overlay FILE] [--cuts 4] [--seed 1]

FOLDER: a project whose results are complete, such as that of tests/test_workflow.py; it is not changed. One job of each
rule is taken, and each of its inputs under results/ once per folder and kind. Ends with 1 if a job ended in a
traceback, or did not refuse what was cut off. What is accepted otherwise is listed: a table of another run with the
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
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from jointsparse import tables

REFUSED, VAGUE, TRACEBACK, SAME, OTHER = (
    "refused, named",
    "refused, not named",
    "traceback",
    "accepted, same result",
    "accepted, other result",
)


def jobs(workflow_folder: str | Path, folder: str | Path, overlay: str = "") -> dict[str, list[Any]]:
    """The jobs of a whole run in a folder by rule, as the workflow plans them."""
    from snakemake.api import SnakemakeApi
    from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, ResourceSettings

    found = defaultdict(list)
    with contextlib.redirect_stderr(io.StringIO()), SnakemakeApi(OutputSettings(dryrun=True)) as api:
        workflow = api.workflow(
            resource_settings=ResourceSettings(cores=1),
            config_settings=ConfigSettings(configfiles=[Path(overlay)] if overlay else []),
            snakefile=Path(workflow_folder) / "Snakefile",
            workdir=Path(folder),
        )
        workflow.dag(DAGSettings(targets={"reproduce-all"}, forceall=True)).execute_workflow(executor="dryrun")
        for job in workflow._workflow_store.dag.jobs:
            found[job.rule.name].append(job)
    return found


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
    )
    said = io.StringIO()
    with contextlib.redirect_stderr(said), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with contextlib.suppress(SystemExit):
            runpy.run_path(str(scripts / Path(job.rule.script).name), {"snakemake": given}, "__main__")
    made = {file: Path("out", file).read_bytes() for file in job.output if Path("out", file).exists()}
    return said.getvalue(), made


def cut(path: Path, rng: np.random.Generator, cuts: int) -> Iterator[tuple[str, bytes]]:
    """The beginning of a file: nothing, all but the last byte, some places between, of a table the end of a line."""
    whole = path.read_bytes()
    for length in {0, len(whole) - 1, *rng.integers(1, len(whole), cuts).tolist()}:
        yield f"cut off at {length} of {len(whole)}", whole[:length]
    if path.suffix == ".csv" and whole.count(b"\n") > 3:
        yield "cut off at the end of a line", whole[: whole.rindex(b"\n", 0, len(whole) - 2) + 1]


def remade(path: Path) -> Iterator[tuple[str, bytes]]:
    """The file whole, but with another type, shape or name of one thing in it."""
    if path.suffix in (".csv", ".parquet"):
        table = tables.read_table(path)
        for name in table:
            yield f"without the column {name}", table.drop(columns=name)
        if len(table):
            yield "without its last row", table[:-1]
    else:
        arrays = tables.read_arrays(path) if path.suffix == ".npz" else {"": tables.read_array(path)}
        for name, array in arrays.items():
            changed = {"other type": array.astype("U8" if array.dtype.kind in "fiub" else "S8")}
            if array.ndim:
                changed |= {"one row less": array[:-1], "one axis more": array[np.newaxis]}
            if array.ndim > 1:
                changed["one column less"] = array[..., :-1]
            for how, spoilt in changed.items():
                yield f"{name}: {how}".lstrip(": "), arrays | {name: spoilt}
            if name:
                yield f"without the array {name}", {other: value for other, value in arrays.items() if other != name}


def written(path: Path, content: Any) -> bytes:
    """The bytes of a file of that suffix that holds this."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / path.name
        if isinstance(content, bytes):
            return content
        if isinstance(content, pd.DataFrame):
            tables.write_table(content, file)
        elif path.suffix == ".npz":
            tables.write_arrays(file, **content)
        else:
            tables.write_array(file, content[""])
        return file.read_bytes()


def foreign(path: Path) -> Iterator[tuple[str, bytes]]:
    """The files of the same name from other datasets, studies, runs and sizes."""
    name = re.sub(r"\d+", "*", path.name)
    for other in sorted(Path("results").rglob(name)):
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
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    listed: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(folder / "results", Path(place) / "results")
        os.chdir(place)
        for rule, of_rule in sorted(by_rule.items()):
            job = max(of_rule, key=lambda job: str(job.output))
            inputs = {
                (str(Path(file).parent), Path(file).suffix): Path(file)
                for file in job.input
                if file.startswith("results/")
            }
            if rule == "reproduce-all" or not inputs:
                continue
            said, whole = run(job, scripts)
            assert not said, (rule, said)
            for path in inputs.values():
                if path.suffix not in (".csv", ".npy", ".npz", ".parquet"):
                    continue
                before = path.read_bytes()
                faults = {"cut off": list(cut(path, rng, given.cuts))}
                if rule != "write_manifest":  # which records what is there
                    faults |= {
                        "another type, shape or name inside": list(remade(path)),
                        "of another run or dataset": list(foreign(path))[: given.cuts],
                    }
                for kind, spoilt in faults.items():
                    for how, content in spoilt:
                        path.write_bytes(written(path, content))
                        said, made = run(job, scripts)
                        result = outcome(said, made, whole, path)
                        counts[kind][result] += 1
                        if result in (VAGUE, TRACEBACK, OTHER):
                            listed.append(f"{result}: {rule}, {path}, {how}: {said.strip()[:300]}")
                        bad = result == TRACEBACK or (kind == "cut off" and result != REFUSED)
                        counts["bad"]["bad"] += bad
                path.write_bytes(before)
        os.chdir("/")
    bad = counts.pop("bad")["bad"]
    print("\n".join(sorted(listed)))
    kinds = [REFUSED, VAGUE, SAME, OTHER, TRACEBACK]
    print(f"{'fault':38}" + "".join(f"{kind:>24}" for kind in kinds))
    for fault, count in counts.items():
        print(f"{fault:38}" + "".join(f"{count[kind]:24}" for kind in kinds))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

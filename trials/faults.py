"""Kill runs, fill their disk, delete their folders, start two runs at once, and check that no result is lost.

    python trials/faults.py --kills 30 --seed 1

The miniature workflow runs once undisturbed, and then repeatedly with faults. After each fault come the commands that
the README recommends after an interrupted run. At any time, every file under its final name must be identical to the
file of the undisturbed run, except that of timings only the format is compared. At the end, all files must exist, and
no job may be left to do. Prints what was done, and exits with 1 if a result was lost. A kill takes half a minute on two
cores.
"""

import argparse
import hashlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "pipeline"))
from miniature import Project

from jointsparse.pipeline.papers.catalogue import FIGURES
from jointsparse.pipeline.settings.studies import EXPERIMENTS


class Kill(NamedTuple):
    """A way to kill a run: which processes get a signal, and whether the next run waits until the jobs have ended."""

    target: str
    number: int
    wait: bool = True


KILLS = {
    "a job is killed": Kill("job", signal.SIGKILL),
    "Snakemake and its jobs are killed": Kill("all", signal.SIGKILL),
    "Snakemake is killed, its jobs end later": Kill("snakemake", signal.SIGKILL),
    "Snakemake is killed, its jobs run on beside the next run": Kill("snakemake", signal.SIGKILL, wait=False),
    "Snakemake gets SIGTERM": Kill("snakemake", signal.SIGTERM),
    "Ctrl-C": Kill("all", signal.SIGINT),
}
# Tables of timings, and the figures that show them.
FOLDERS = {table: folder for study in EXPERIMENTS.values() for table, folder in study.TABLES.items()}
MEASURED = {name for name, drawing in FIGURES.items() if FOLDERS.get(drawing.table) == "timings"}
MADE = ("results", ".snakemake")
KILLS_PER_RUN = 10  # number of kills between the start of a run and its end
HANGING_SECONDS = 900


class Lost(Exception):
    """Raised if a result was lost through a fault, or if the fault was not reported."""


def demand(holds: object, message: str) -> None:
    if not holds:
        raise Lost(message)


class Interrupted(Project):
    """A project whose runs are disturbed. Numba's compiled kernels are cached in a separate folder."""

    def __init__(self, root: Path, numba: Path, targets: Iterable[str] = ("reproduce-all",)):
        super().__init__(root)
        self.numba, self.targets = numba, tuple(targets)
        self.log = numba.parent / "run.log"
        self.expected: dict[str, str] = {}
        self.started = self.unlocked = 0

    def environment(self) -> dict[str, str]:
        return super().environment() | {"NUMBA_CACHE_DIR": str(self.numba)}

    def begin(self) -> psutil.Popen:
        """Start a run in a process group of its own, as a terminal does."""
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # ignored in the background of a shell, and by children
            signal.signal(signal.SIGINT, signal.default_int_handler)
        with self.log.open("w") as log:
            streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            return psutil.Popen(
                self.command("--printshellcmds", *self.targets),
                cwd=self.root,
                env=self.environment(),
                start_new_session=True,
                **streams,
            )

    def end(self, run: psutil.Popen) -> str:
        """Wait until a run has ended, and return its output."""
        run.wait(timeout=HANGING_SECONDS)
        said = self.log.read_text()
        self.started += len(re.findall(r"^(?:local)?rule (?!reproduce-all)", said, re.MULTILINE))
        return said

    def expect(self, run: psutil.Popen, reason: str = "") -> None:
        """Wait until a run ends, and check that it succeeds, or that it fails with a message that matches `reason`."""
        said = self.end(run)
        as_expected = run.returncode and re.search(reason, said) if reason else run.returncode == 0
        demand(as_expected, f"exit status {run.returncode}, expected {reason or 'success'}: {said[-3000:]}")

    def go_on(self, reason: str = "") -> None:
        self.expect(self.begin(), reason)

    def unlock(self) -> None:
        """Unlock the project's folder if necessary, in the way that the README recommends."""
        if any((self.root / ".snakemake" / "locks").glob("*")):
            self.unlocked += 1
            done = self.snakemake("--unlock")
            demand(done.returncode == 0, f"cannot be unlocked: {done.stdout}{done.stderr}")

    def finish(self) -> None:
        """Run to the end. Every result must then exist and be right, and no job may be left to do."""
        self.unlock()
        self.go_on()
        self.check()
        missing = self.expected.keys() - self.files().keys()
        demand(not missing, f"missing at the end: {sorted(missing)}")
        leftovers = list((self.root / "results").rglob(".*.part*"))
        demand(not leftovers, f"temporary files left at the end: {leftovers}")
        said = self.snakemake("--dry-run", *self.targets).stdout
        demand("Nothing to be done" in said, f"jobs are left to do: {said[-3000:]}")

    def check(self) -> None:
        """Check that every file under its final name is the same as in the undisturbed run."""
        wrong = [name for name, content in self.files().items() if self.expected.get(name) != content]
        demand(not wrong, f"differs from the undisturbed run: {wrong}")

    def clean(self) -> None:
        for name in MADE:
            shutil.rmtree(self.root / name, ignore_errors=True)

    def files(self) -> dict[str, str]:
        """Return a checksum of every result under its final name. Only the format of files with timings is included."""
        results = self.root / "results"
        found = {}
        for path in sorted(results.rglob("*")):
            name = str(path.relative_to(results))
            if not path.is_file() or path.name.startswith(".") or "logs/" in name or path.suffix == ".tsv":
                continue
            content = path.read_bytes()
            # Records contain the modification times of files.
            is_measured = path.parent.name == "records" or "timings/" in name
            if not is_measured and not (path.parent.name == "figures" and path.stem in MEASURED):
                found[name] = hashlib.sha256(content).hexdigest()
            else:
                found[name] = str(content[-6:] if path.suffix in (".png", ".pdf") else content.count(b"\n"))
        return found

    def everything(self) -> set[tuple[str, int, int]]:
        """Return path, size and modification time of every file that a run makes, including Snakemake's metadata."""
        paths = [path for name in MADE for path in (self.root / name).rglob("*") if path.is_file()]
        notes = self.root / ".snakemake" / "log"
        return {(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in paths if path.parent != notes}


def jobs(run: psutil.Popen, rule: str = "") -> list[psutil.Process]:
    """Return the processes in which a run executes scripts, or an empty list if one of them ends during the search."""
    script = re.compile(rf"\S+ \S*\.snakemake/scripts/\S*\.{rule or '.*'}\.py")
    with suppress(psutil.NoSuchProcess):
        return [process for process in run.children(recursive=True) if script.fullmatch(" ".join(process.cmdline()))]
    return []


def wait_for_job(run: psutil.Popen, rule: str = "") -> None:
    while run.poll() is None and not jobs(run, rule):
        time.sleep(0.01)


def disturb(project: Interrupted, fault: str, rng: np.random.Generator, patience: float = 0, rule: str = "") -> bool:
    """Start a run, and cause a fault within `patience` seconds of its first job. Return False if the run ends before.

    If `rule` is given, the fault waits for a job of this rule. When this function returns, the run and its jobs have
    ended, unless the fault is that the jobs continue.
    """
    kill = KILLS[fault]
    run = project.begin()
    wait_for_job(run, rule)
    time.sleep(rng.uniform(0, patience))
    wait_for_job(run)  # because the run may be between two jobs
    if run.poll() is not None:
        project.expect(run)
        return False
    running = jobs(run, rule) or jobs(run)
    everybody = [run, *run.children(recursive=True)]
    chosen = running[int(rng.integers(len(running)))] if running else run
    for process in {"all": everybody, "snakemake": [run], "job": [chosen]}[kill.target]:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(kill.number)
    project.end(run)
    hanging = psutil.wait_procs(everybody, timeout=HANGING_SECONDS)[1] if kill.wait else []
    demand(not hanging, f"processes hang after the fault: {fault}")
    return run.returncode != 0  # otherwise the fault came too late


# The faults. Each function yields the name of a fault whenever the project has survived it, and finishes the run.


def kills(project: Interrupted, faults: Iterable[str], rng: np.random.Generator, patience: float) -> Iterator[str]:
    """Run once from start to end, and cause as many of the faults as possible before the run ends."""
    project.clean()
    for fault in faults:
        if not disturb(project, fault, rng, patience):
            break
        project.check()
        yield fault
        project.unlock()
    project.finish()


def read_only_folder(project: Interrupted, rng: np.random.Generator, patience: float) -> Iterator[str]:
    """Make the results folder of a half-finished run read-only."""
    project.clean()
    disturb(project, "Ctrl-C", rng, patience)
    project.unlock()
    results = project.root / "results"
    before = project.files()
    with mounted(results, "--bind", results):
        mount("-o", "remount,bind,ro", results)
        project.go_on("Read-only file system|Write-protected")
        demand(project.files() == before, "a read-only folder has changed")
        yield "the results folder is read-only"
    project.finish()


def deletion(project: Interrupted, rng: np.random.Generator, patience: float) -> Iterator[str]:
    """Delete the results folder while jobs run."""
    project.clean()
    run = project.begin()
    wait_for_job(run)
    time.sleep(rng.uniform(patience / 2, patience))
    shutil.rmtree(project.root / "results", ignore_errors=True)
    project.end(run)
    project.check()
    yield "the results folder is deleted"
    project.finish()


def second_run(project: Interrupted, rng: np.random.Generator, patience: float) -> Iterator[str]:
    """Start a second run in the same folder. It must report that the folder is locked, and change nothing."""
    run = project.begin()
    wait_for_job(run)
    time.sleep(rng.uniform(0, patience))
    everybody = [run]
    run.suspend()  # before its jobs, so that it starts no other job
    while more := [process for process in run.children(recursive=True) if process not in everybody]:
        for process in more:
            process.suspend()
        everybody += more
    before = project.everything()
    done = project.snakemake(*project.targets)
    changed = before ^ project.everything()
    for process in everybody:
        process.resume()
    refused = done.returncode and "cannot be locked" in done.stdout + done.stderr
    demand(refused and not changed, f"a second run: exit status {done.returncode}, {changed} changed, {done.stderr}")
    yield "a second run is started"
    project.expect(run)
    project.finish()


def full_disk(project: Interrupted) -> Iterator[str]:
    """Run on a disk that has room for a third of the output of a run, then for two thirds, then for all of it."""
    disk = project.root.parent
    needed = sum(path.lstat().st_blocks for name in MADE for path in (project.root / name).rglob("*")) * 512
    size = sum(path.lstat().st_blocks for path in project.root.rglob("*")) * 512
    with mounted(disk, "-t", "tmpfs", "none", "-o", f"size={2 * size}"):
        copy = Interrupted(project.root, project.numba, project.targets)
        copy.expected = project.expected
        for share in (1 / 3, 2 / 3):
            mount("-o", f"remount,size={int(size - (1 - share) * needed)}", disk)
            copy.go_on("No space left on device")
            copy.check()
            yield "the disk is full"
            mount("-o", f"remount,size={2 * size}", disk)
            copy.unlock()
        copy.finish()


def mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True, capture_output=True)


@contextmanager
def mounted(folder: Path, *what: str | Path) -> Iterator[None]:
    """Mount a file system on a folder until the `with` block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    mount(*what, folder)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def can_mount(folder: Path) -> bool:
    with suppress(OSError, subprocess.CalledProcessError), mounted(folder, "-t", "tmpfs", "none"):
        return True
    return False


def all_faults(project: Interrupted, n_kills: int, rng: np.random.Generator, patience: float) -> Iterator[str]:
    """Cause every fault. The kills are spread over as many runs as are needed."""
    n_jobs, project.started, n_runs, left = project.started, 0, 0, n_kills
    faults = cycle(rng.permutation(list(KILLS)))
    while left:
        for fault in kills(project, islice(faults, min(KILLS_PER_RUN, left)), rng, patience):
            left -= 1
            yield fault
        n_runs += 1
    n_more = project.started - n_runs * n_jobs
    print(f"{n_runs} runs killed, {n_more} jobs more than the {n_runs * n_jobs} there are; {project.unlocked} unlocked")
    yield from deletion(project, rng, patience)
    project.clean()
    yield from second_run(project, rng, patience)
    if can_mount(project.root.parent):
        yield from read_only_folder(project, rng, patience)
        yield from full_disk(project)
    else:
        print("not tried, because nothing can be mounted here: a full disk, a read-only folder")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30, help="number of kills, over as many runs as they need")
    parser.add_argument("--seed", type=int, default=1, help="seed of the times and the jobs that are hit")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    survived: Counter[str] = Counter()
    lost = ""
    with tempfile.TemporaryDirectory(prefix="faults") as folder:
        disk = Path(folder) / "disk"
        disk.mkdir()
        project = Interrupted(disk / "project", Path(folder) / "numba")
        begin = time.monotonic()
        project.go_on()
        patience = (time.monotonic() - begin) / KILLS_PER_RUN  # on average, half a run is over after this many kills
        project.expected = project.files()
        print(f"undisturbed: {project.started} jobs, {len(project.expected)} files", flush=True)
        try:
            for fault in all_faults(project, options.kills, rng, patience):
                survived[fault] += 1
                print(f"{time.monotonic() - begin:6.0f} s  {fault}", flush=True)
        except (Lost, psutil.TimeoutExpired) as error:
            lost = str(error)
            print(f"LOST: {error}")
    print(f"\n{'fault':60}survived")
    for fault, times in survived.items():
        print(f"{fault:60}{times:8}")
    return bool(lost)


if __name__ == "__main__":
    sys.exit(main())

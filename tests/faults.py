"""What a run survives: killed processes, a full disk, folders that vanish or cannot be written, two runs at once.

    python tests/faults.py --kills 30 --seed 1

The miniature workflow runs once undisturbed, then again and again with faults, each followed by the commands that the
README names for an interrupted run. At any time a file under its final name must hold the bytes of the undisturbed run
(of measured seconds only the shape is compared), in the end all files must be there, and nothing be left to do. Prints
what was done, and exits with 1 if something was lost. A kill takes half a minute on two cores. Not collected by pytest;
test_faults.py does a little of it.
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

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow"))  # for test_workflow
from test_workflow import Project

from jointsparse.papers.catalogue import FIGURES
from jointsparse.registry import pick, room

KILLS = {  # who gets which signal, and whether the next run waits until the jobs have ended, as the README says
    "a job is killed": ("job", signal.SIGKILL, True),
    "Snakemake and its jobs are killed": ("all", signal.SIGKILL, True),
    "Snakemake is killed, its jobs end later": ("snakemake", signal.SIGKILL, True),
    "Snakemake is killed, its jobs run on beside the next run": ("snakemake", signal.SIGKILL, False),
    "Snakemake gets SIGTERM": ("snakemake", signal.SIGTERM, True),
    "Ctrl-C": ("all", signal.SIGINT, True),
}
# Tables of measured seconds, and the figures that show them.
FOLDERS = {table: folder for kind in room("experiments") for table, folder in pick("experiments", kind).TABLES.items()}
MEASURED = {name for name, drawing in FIGURES.items() if FOLDERS.get(drawing.table) == "timings"}
MADE = ("results", ".snakemake")
PER_RUN = 10  # kills of one run from its beginning to its end
PATIENCE = 900  # seconds after which a process counts as hanging


class Lost(Exception):
    """A fault has cost a result, or was not told."""


class Interrupted(Project):
    """A project whose runs are disturbed; the kernels compiled in its place are kept in another."""

    def __init__(self, root: Path, numba: Path, targets: Iterable[str] = ("reproduce-all",), overlays=()):
        super().__init__(root)
        self.numba, self.targets, self.overlays = numba, tuple(targets), tuple(overlays)
        self.expected: dict[str, str] = {}
        self.started = self.unlocked = 0

    def environment(self) -> dict[str, str]:
        return super().environment() | {"NUMBA_CACHE_DIR": str(self.numba)}

    def begin(self) -> psutil.Popen:
        """Start a run with a process group of its own, as a terminal does."""
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell, and for all it starts
            signal.signal(signal.SIGINT, signal.default_int_handler)
        command = self.command(*self.targets, overlays=self.overlays)
        with self.log().open("w") as log:
            streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            return psutil.Popen(command, cwd=self.root, env=self.environment(), start_new_session=True, **streams)

    def end(self, run: psutil.Popen) -> str:
        """Wait for a run; what it said."""
        run.wait(timeout=PATIENCE)
        said = self.log().read_text()
        self.started += len(re.findall(r"^(?:local)?rule (?!reproduce-all)", said, re.MULTILINE))
        return said

    def log(self) -> Path:
        return self.numba.parent / "run.log"

    def attempt(self) -> tuple[int, str]:
        """A whole run: its exit status and what it said."""
        run = self.begin()
        said = self.end(run)
        return run.returncode, said

    def unlock(self) -> None:
        """What the README says to do where the folder is locked."""
        if any((self.root / ".snakemake" / "locks").glob("*")):
            self.unlocked += 1
            done = self.snakemake("--unlock", overlays=self.overlays)
            if done.returncode:
                raise Lost(f"cannot be unlocked: {done.stdout}{done.stderr}")

    def finish(self) -> None:
        """Go on to the end; then every result must be there and right, and nothing be left to do."""
        status, said = self.attempt()
        if status:
            raise Lost(f"a run that goes on fails: {said[-3000:]}")
        self.check()
        missing = self.expected.keys() - self.files().keys()
        if missing:
            raise Lost(f"missing in the end: {sorted(missing)}")
        if leftovers := list((self.root / "results").rglob(".*.part*")):
            raise Lost(f"temporary files left in the end: {leftovers}")
        said = self.snakemake("--dry-run", *self.targets, overlays=self.overlays).stdout
        if "Nothing to be done" not in said:
            raise Lost(f"something is left to do: {said[-3000:]}")

    def check(self) -> None:
        """Every file that has its final name must be as in the undisturbed run."""
        wrong = [name for name, content in self.files().items() if self.expected.get(name) != content]
        if wrong:
            raise Lost(f"not as in the undisturbed run: {wrong}")

    def clean(self) -> None:
        for name in MADE:
            shutil.rmtree(self.root / name, ignore_errors=True)

    def files(self) -> dict[str, str]:
        """Every result under its final name with its checksum; where seconds are measured, what all runs share."""
        results = self.root / "results"
        found = {}
        for path in sorted(results.rglob("*")):
            name = str(path.relative_to(results))
            if not path.is_file() or path.name.startswith(".") or "logs/" in name or path.suffix == ".tsv":
                continue
            content = path.read_bytes()
            is_measured = "timings/" in name or (path.parent.name == "figures" and path.stem in MEASURED)
            if not is_measured and path.suffix != ".md":
                found[name] = hashlib.sha256(content).hexdigest()
            else:
                found[name] = str(content[-6:] if path.suffix in (".png", ".pdf") else content.count(b"\n"))
        return found

    def everything(self) -> set[tuple[str, int, int]]:
        """Every file that a run makes, Snakemake's notes included, with its size and the time it was changed."""
        paths = [path for name in MADE for path in (self.root / name).rglob("*") if path.is_file()]
        notes = self.root / ".snakemake" / "log"
        return {(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in paths if path.parent != notes}


def jobs(run: psutil.Popen, rule: str = "") -> list[psutil.Process]:
    """The processes of the scripts that a run has started."""
    found = []
    with suppress(psutil.NoSuchProcess):
        for process in run.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                command = process.cmdline()
                if len(command) == 2 and re.search(rf"\.snakemake/scripts/.*\.{rule or '.*'}\.py$", command[1]):
                    found.append(process)
    return found


def disturb(project: Interrupted, kind: str, rng: np.random.Generator, patience: float = 0, rule: str = "") -> bool:
    """Start a run, and let a fault come within `patience` seconds of its first job (of a rule). False if it ended.

    Afterwards the run has ended, and so have its jobs unless the kind is that they run on.
    """
    who, number, wait = KILLS[kind]
    run = project.begin()
    while run.poll() is None and not jobs(run, rule):
        time.sleep(0.02)
    time.sleep(rng.uniform(0, patience))
    while run.poll() is None and not jobs(run):  # between two jobs
        time.sleep(0.01)
    if run.poll() is not None:
        said = project.end(run)
        if run.returncode:
            raise Lost(f"a run that goes on fails: {said[-3000:]}")
        return False
    running = jobs(run, rule) or jobs(run)
    everybody = [run, *run.children(recursive=True)]
    chosen = running[int(rng.integers(len(running)))] if running else run
    for process in {"all": everybody, "snakemake": [run], "job": [chosen]}[who]:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)
    project.end(run)
    if wait and psutil.wait_procs(everybody, timeout=PATIENCE)[1]:
        raise Lost(f"after: {kind}, processes hang")
    return run.returncode != 0  # else the fault came too late


def survive_kills(
    project: Interrupted, kinds: Iterable[str], rng: np.random.Generator, patience: float
) -> Iterator[str]:
    """One run from its beginning to its end, with these faults on the way, or as many of them as it has time for."""
    project.clean()
    for kind in kinds:
        if not disturb(project, kind, rng, patience):
            break
        project.check()
        yield kind
        project.unlock()
    project.finish()


def survive_a_full_disk(project: Interrupted, disk: Path) -> Iterator[str]:
    """A disk with room for a third of what a run writes, then for two thirds, then for all."""
    needed = sum(path.lstat().st_blocks for name in MADE for path in (project.root / name).rglob("*")) * 512
    size = sum(path.lstat().st_blocks for path in project.root.rglob("*")) * 512
    with mounted("tmpfs", disk, f"size={2 * size}"):
        copy = Interrupted(project.root, project.numba, project.targets, project.overlays)
        copy.expected = project.expected
        for share in (1 / 3, 2 / 3):
            mount("-o", f"remount,size={int(size - (1 - share) * needed)}", disk)
            status, said = copy.attempt()
            if not status or "No space left on device" not in said:
                raise Lost(f"exit status {status} on a full disk: {said[-3000:]}")
            copy.check()
            yield "the disk is full"
            mount("-o", f"remount,size={2 * size}", disk)
            copy.unlock()
        copy.finish()


def survive_a_read_only_folder(project: Interrupted, rng: np.random.Generator, patience: float) -> Iterator[str]:
    """A results folder, half filled, in which nothing can be written."""
    project.clean()
    disturb(project, "Ctrl-C", rng, patience)
    project.unlock()
    results = project.root / "results"
    before = project.files()
    with mounted("--bind", results, results):
        mount("-o", "remount,bind,ro", results)
        status, said = project.attempt()
        if not status or not re.search("Read-only file system|Write-protected", said):
            raise Lost(f"exit status {status} in a folder that is read-only: {said[-3000:]}")
        if project.files() != before:
            raise Lost("a folder that is read-only has changed")
        yield "the results folder is read-only"
    project.unlock()
    project.finish()


def survive_deletion(project: Interrupted, rng: np.random.Generator, patience: float) -> Iterator[str]:
    """The results folder is deleted while jobs run."""
    project.clean()
    run = project.begin()
    while run.poll() is None and not jobs(run):
        time.sleep(0.02)
    time.sleep(rng.uniform(patience / 2, patience))
    shutil.rmtree(project.root / "results", ignore_errors=True)
    project.end(run)
    project.check()
    yield "the results folder is deleted"
    project.unlock()
    project.finish()


def survive_a_second_run(project: Interrupted, rng: np.random.Generator, patience: float) -> Iterator[str]:
    """Another run in the same folder: it must say that the folder is locked, and change nothing."""
    run = project.begin()
    while run.poll() is None and not jobs(run):
        time.sleep(0.02)
    time.sleep(rng.uniform(0, patience))
    everybody = [run, *run.children(recursive=True)]
    for process in everybody:
        process.suspend()
    before = project.everything()
    done = project.snakemake(*project.targets, overlays=project.overlays)
    after = project.everything()
    for process in everybody:
        process.resume()
    if not done.returncode or "cannot be locked" not in done.stdout + done.stderr or before != after:
        raise Lost(f"a second run: exit status {done.returncode}, {after ^ before} changed, {done.stderr}")
    yield "a second run is started"
    said = project.end(run)
    if run.returncode:
        raise Lost(f"the first run failed because of the second: {said[-3000:]}")
    project.finish()


def mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True, capture_output=True)


@contextmanager
def mounted(*arguments: str | Path) -> Iterator[None]:
    """Something mounted on the folder named last (or last but one, before its options) until the block ends."""
    *what, folder, options = arguments if str(arguments[-1]).startswith("size=") else (*arguments, "rw")
    kind = ["-t", *what, "none"] if what[0] == "tmpfs" else what
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    mount(*kind, folder, "-o", options)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def can_mount(folder: Path) -> bool:
    try:
        with mounted("tmpfs", folder, "size=65536"):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30, help="how many, over as many runs as they take")
    parser.add_argument("--seed", type=int, default=1, help="of the moments and the jobs that are hit")
    parser.add_argument("--targets", nargs="+", default=["reproduce-all"], help="what the runs make")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    survived: Counter[str] = Counter()
    lost: list[str] = []
    with tempfile.TemporaryDirectory(prefix="faults") as folder:
        disk = Path(folder) / "disk"
        disk.mkdir()
        project = Interrupted(disk / "project", Path(folder) / "numba", options.targets)
        begin = time.monotonic()
        status, said = project.attempt()
        if status:
            raise SystemExit(said)
        patience = (time.monotonic() - begin) / PER_RUN  # on average half a run is over after so many kills
        project.expected, n_jobs = project.files(), project.started
        print(f"undisturbed: {n_jobs} jobs, {len(project.expected)} files", flush=True)
        runs = project.started = 0

        def watch(faults: Iterator[str]) -> None:
            begin = time.monotonic()
            try:
                for fault in faults if not lost else ():
                    survived[fault] += 1
                    print(f"{time.monotonic() - begin:6.0f} s  {fault}", flush=True)
            except (Lost, psutil.TimeoutExpired) as error:
                lost.append(str(error))
                print(f"LOST: {error}", flush=True)

        kinds = cycle(rng.permutation(list(KILLS)))
        while survived.total() < options.kills and not lost:
            watch(survive_kills(project, islice(kinds, min(PER_RUN, options.kills - survived.total())), rng, patience))
            runs += 1
        again = project.started - runs * n_jobs
        watch(survive_deletion(project, rng, patience))
        project.clean()
        watch(survive_a_second_run(project, rng, patience))
        if can_mount(Path(folder) / "try"):
            watch(survive_a_read_only_folder(project, rng, patience))
            watch(survive_a_full_disk(project, disk))
        else:
            print("not tried, as nothing can be mounted here: a full disk, a folder that is read-only")
    print(f"\n{'fault':60}survived")
    for fault, times in survived.items():
        print(f"{fault:60}{times:8}")
    print(
        f"{runs} runs killed, {again} jobs more than the {runs * n_jobs} there are; {project.unlocked} times unlocked; "
        f"{len(lost)} lost"
    )
    return bool(lost)


if __name__ == "__main__":
    sys.exit(main())

"""Kill runs, and delete their results, and check that nothing else is lost.

    python trials/faults.py --cases 7 --seed 1

The miniature workflow of the tests runs once undisturbed. In every case it runs in a new folder, and one kind of fault
happens again and again until the run ends. After each fault come the commands that the README recommends after an
interrupted run. At any time, every file under its final name must be identical to the file of the undisturbed run,
except for measured times. At the end, all files must exist, and no job may be left to do. A case takes some minutes on
two cores. The ways in which a case can end are listed in `harness.py`.
"""

import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import harness
import numpy as np
import psutil
from harness import require

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "pipeline"))
sys.path.insert(0, str(Path(__file__).parent / "cluster"))
from miniature import Project
from trial import results


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
FAULTS_PER_RUN = 10
HANGING_SECONDS = 3600


class Interrupted(Project):
    """A project whose runs are disturbed.

    numba: folder of Numba's compiled kernels, which all projects share.
    expected: the results of an undisturbed run.
    patience: the seconds within which a fault comes after the first job.
    """

    def __init__(self, root: Path, numba: Path, expected: dict[str, bytes], patience: float):
        super().__init__(root)
        self.expected, self.patience, self.log = expected, patience, root / "run.log"
        self.variables = {"NUMBA_CACHE_DIR": str(numba)}

    def begin(self) -> psutil.Popen:
        """Start a run in a process group of its own, as a terminal does."""
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # ignored in the background of a shell, and by children
            signal.signal(signal.SIGINT, signal.default_int_handler)
        command = self.command("--printshellcmds", "reproduce-all")
        with self.log.open("w") as log:
            streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            return psutil.Popen(command, cwd=self.root, env=self.environment(), start_new_session=True, **streams)

    def end(self, run: psutil.Popen) -> None:
        """Wait until a run ends, and check that it succeeds."""
        status, said = run.wait(timeout=HANGING_SECONDS), self.log.read_text()
        require(status == 0, f"exit status {status}: {said[-3000:]}")

    def unlock(self) -> None:
        """Unlock the project's folder if necessary, in the way that the README recommends."""
        if any((self.root / ".snakemake" / "locks").glob("*")):
            done = self.snakemake("--unlock")
            require(done.returncode == 0, f"cannot be unlocked: {done.stdout}{done.stderr}")

    def files(self) -> dict[str, bytes]:
        """Return every result under its final name, without measured times."""
        return {name: content for name, content in results(self).items() if "/." not in f"/{name}"}

    def check(self) -> None:
        """Check that every file under its final name is the same as in the undisturbed run."""
        wrong = [name for name, content in self.files().items() if self.expected.get(name) != content]
        require(not wrong, f"differs from the undisturbed run: {wrong}")

    def finish(self) -> None:
        """Run to the end. Every result must then exist and be right, and no job may be left to do."""
        self.unlock()
        self.end(self.begin())
        self.check()
        missing = self.expected.keys() - self.files().keys()
        require(not missing, f"missing at the end: {sorted(missing)}")
        leftovers = list((self.root / "results").rglob(".*.part*"))
        require(not leftovers, f"temporary files left at the end: {leftovers}")
        said = self.snakemake("--dry-run", "reproduce-all").stdout
        require("Nothing to be done" in said, f"jobs are left to do: {said[-3000:]}")


def jobs(run: psutil.Popen) -> list[psutil.Process]:
    """Return the processes in which a run executes scripts, or an empty list if one of them ends during the search."""
    script = re.compile(r"\S+ \S*\.snakemake/scripts/\S*\.py")
    with suppress(psutil.NoSuchProcess):
        return [process for process in run.children(recursive=True) if script.fullmatch(" ".join(process.cmdline()))]
    return []


def running(project: Interrupted, rng: np.random.Generator) -> psutil.Popen:
    """Start a run, and return it at a random moment when a job runs, or when it has ended."""
    run = project.begin()
    for seconds in (rng.uniform(0, project.patience), 0):
        while run.poll() is None and not jobs(run):
            time.sleep(0.01)
        time.sleep(seconds)
    return run


# The kinds of faults


def killed(kill: Kill, project: Interrupted, rng: np.random.Generator) -> None:
    """Kill the run until it reaches its end."""
    for _ in range(FAULTS_PER_RUN):
        run = running(project, rng)
        if run.poll() is not None:
            break
        targets = {"all": [run, *run.children(recursive=True)], "snakemake": [run], "job": (jobs(run) or [run])[:1]}
        everybody = targets["all"]
        for process in targets[kill.target]:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(kill.number)
        run.wait(timeout=HANGING_SECONDS)
        hanging = psutil.wait_procs(everybody, timeout=HANGING_SECONDS)[1] if kill.wait else []
        require(not hanging, "processes hang after the fault")
        project.check()
        project.unlock()
    project.finish()


def deleted(project: Interrupted, rng: np.random.Generator) -> None:
    """Delete the results folder while jobs run."""
    for _ in range(2):
        run = running(project, rng)
        shutil.rmtree(project.root / "results", ignore_errors=True)
        run.wait(timeout=HANGING_SECONDS)
        project.check()
    project.finish()


FAULTS = {name: partial(killed, kill) for name, kill in KILLS.items()} | {"the results folder is deleted": deleted}


if __name__ == "__main__":
    given = harness.parser(__doc__, len(FAULTS)).parse_args()
    with tempfile.TemporaryDirectory(prefix="faults-") as temporary:
        numba, begin = Path(temporary) / "numba", time.monotonic()
        project = Interrupted(Path(temporary) / "project", numba, {}, 0)
        project.end(project.begin())
        # On average, half a run is over after FAULTS_PER_RUN faults.
        more = {"expected": project.files(), "patience": (time.monotonic() - begin) / FAULTS_PER_RUN}
        print(f"undisturbed: {len(more['expected'])} files, {time.monotonic() - begin:.0f} s", flush=True)

        def case(fault: Callable, rng: np.random.Generator, folder: Path) -> None:
            fault(Interrupted(folder / "project", numba, **more), rng)

        kinds = {name: partial(case, fault) for name, fault in FAULTS.items()}
        sys.exit(harness.run(kinds, given, seconds=3 * 3600, at_once=1))

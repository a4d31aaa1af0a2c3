"""A run removes the lock that a killed run has left behind, and no other lock."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from albums import lay

from jointsparse.pipeline.app import command_line, lock
from jointsparse.pipeline.app.interrupt import RESUME

LOCKS = Path(".snakemake/locks")
RUN = """
import sys
from pathlib import Path
from jointsparse.pipeline.app import command_line
command_line.WORKFLOW = Path("workflow").absolute()
sys.exit(command_line.main(["run", "--cores", "1"]))
"""
SNAKEFILE = """
from jointsparse.pipeline.app import lock, progress
progress.attach(workflow, str)
onstart:
    lock.sign()
rule all:
    output: "made"
    shell: "echo part > {output}; test -e go || sleep 99; echo whole > {output}"
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, with a workflow whose only job takes long."""
    shutil.copytree(command_line.WORKFLOW / "profiles", tmp_path / "workflow" / "profiles")
    lay(tmp_path, {"workflow/Snakefile": SNAKEFILE, "config.yaml": ""})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def change(**values):
    lock.HOLDER.write_text(json.dumps(json.loads(lock.HOLDER.read_text(encoding="utf-8")) | values), encoding="utf-8")


def ended():
    process = subprocess.Popen("true")
    process.wait()
    change(process=process.pid)


def with_times(**times):
    """Change a start time of the holder, as another clock would."""
    by_clock, since_start = lock._begun(os.getpid())
    change(begun=[*({"by_clock": by_clock, "since_start": since_start} | times).values()])


UNKNOWN = "another run is at work in it or was killed. If no run is at work, run jointsparse run -- --unlock"
NO_RUN = f"a run is at work in it (process {os.getpid()}). Wait until it has finished. If that process is not a run"
HOLDERS = {  # what becomes of a lock of this process, and the message if the lock stays
    "the process is alive": (lambda: None, NO_RUN),
    "it has ended": (ended, ""),
    "its number was given to another process": (lambda: with_times(by_clock=0, since_start=0), ""),
    "the clock was changed": (lambda: with_times(by_clock=0), NO_RUN),
    "the clock was changed, not on Linux": (lambda: with_times(since_start=0), NO_RUN),
    "another machine": (lambda: change(place=["elsewhere", ""]), "a run on elsewhere is at work in it or was killed"),
    "an additional lock": (lambda: (LOCKS / "1.output.lock").touch(), UNKNOWN),
    "a replaced lock": (lambda: os.utime(LOCKS / "0.input.lock"), UNKNOWN),
    "no record": (lock.HOLDER.unlink, UNKNOWN),
    "a truncated record": (lambda: lock.HOLDER.write_text("{", encoding="utf-8"), UNKNOWN),
    "an empty record": (lambda: lock.HOLDER.write_text("null", encoding="utf-8"), UNKNOWN),
}


@pytest.mark.parametrize(("alter", "said"), HOLDERS.values(), ids=HOLDERS)
def test_a_lock_is_removed_if_its_holder_is_gone_and_in_doubt_a_message_says_who_it_may_be(here, alter, said):
    lay(here, {".snakemake/locks/0.input.lock": "results/a", ".snakemake/locks/0.output.lock": "results/a"})
    lock.sign()
    alter()
    before = sorted(LOCKS.iterdir())
    assert said in lock.sentence() and lock.release() == (not said)
    assert sorted(LOCKS.iterdir()) == (before if said else [])


def test_a_process_that_nobody_waits_for_holds_no_lock(monkeypatch):
    monkeypatch.setattr(psutil.Process, "status", lambda _: psutil.STATUS_ZOMBIE)
    assert not lock._lives({"process": os.getpid()})


def begin(until=lambda: Path("made").exists() and Path("made").stat().st_size):
    """Begin a run, and wait until its job has begun or it has ended."""
    run = subprocess.Popen(
        [sys.executable, "-c", RUN],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    while run.poll() is None and not until():
        time.sleep(0.05)
    return run


@pytest.mark.parametrize("signals", [(signal.SIGINT, signal.SIGINT), (signal.SIGHUP, signal.SIGTERM)])
def test_a_signal_ends_a_run_and_its_jobs_and_the_folder_is_free(here, signals):
    run = begin()
    tree = psutil.Process(run.pid).children(recursive=True)
    for number in signals:
        os.killpg(run.pid, number) if number == signal.SIGINT else os.kill(run.pid, number)
        time.sleep(0.1)
    assert run.communicate()[1].splitlines()[-1] == RESUME and run.returncode == 1
    assert not any(process.is_running() for process in tree) and not list(LOCKS.glob("*"))


def test_a_run_does_not_start_beside_a_live_run_and_after_a_kill_unlocks_and_remakes_partial_files(here):
    run = begin()
    other = begin(until=lambda: False)
    assert (
        f"a run is at work in it (process {json.loads(lock.HOLDER.read_text())['process']})" in other.communicate()[1]
    )
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    assert other.returncode == 1 and Path("made").read_text(encoding="utf-8") == "part\n"
    Path("go").touch()
    said = begin(until=lambda: False).communicate()[1]
    assert "Unlocked this folder, which a killed run had left locked.\n" in said
    assert Path("made").read_text(encoding="utf-8") == "whole\n"

"""A run removes the lock that a killed run has left behind, and no other lock."""

import io
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from jointsparse.pipeline.app import command_line, lock
from jointsparse.pipeline.app.interrupt import RESUME
from jointsparse.pipeline.app.progress import Progress

SIGNED = """
import os, signal
from pathlib import Path
from jointsparse.pipeline.app import lock
Path(".snakemake/locks").mkdir(parents=True)
for kind in ("input", "output"):
    Path(f".snakemake/locks/0.{kind}.lock").write_text("results/a")
lock.sign()
os.kill(os.getpid(), signal.SIGKILL)
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


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A folder with the lock of a process that was killed."""
    folder = tmp_path_factory.mktemp("killed")
    subprocess.run([sys.executable, "-c", SIGNED], cwd=folder, check=False)
    return folder / ".snakemake"


@pytest.fixture
def locked(killed, tmp_path, monkeypatch):
    """A copy of this folder as the current folder."""
    shutil.copytree(killed, tmp_path / ".snakemake")  # keeps the modification times
    monkeypatch.chdir(tmp_path)
    return tmp_path


def change(**values):
    lock.HOLDER.write_text(json.dumps(json.loads(lock.HOLDER.read_text()) | values))


def live(**times):
    """Return the record with which the process of the tests is the holder. times: start times to replace."""
    by_clock, since_start = lock._begun(os.getpid())
    begun = {"by_clock": by_clock, "since_start": since_start} | times
    return {"process": os.getpid(), "begun": list(begun.values())}


def message():
    """Return what the terminal shows when Snakemake finds the folder locked."""
    progress, record = Progress(io.StringIO(), str), logging.LogRecord("", logging.ERROR, "", 0, "", None, None)
    record.exception = "LockException"
    progress.handle(record)
    return progress.stream.getvalue()


def test_the_lock_of_a_killed_process_is_taken_away(locked):
    assert lock.release()
    assert list(Path(".snakemake/locks").iterdir()) == [] and not lock.release()


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        (lambda: change(**live()), f"a run is at work in it (process {os.getpid()}). Wait until it has finished. If"),
        (lambda: change(**live(by_clock=0)), "If that process is not a run, run jointsparse run -- --unlock"),
        (lambda: change(**live(since_start=0)), "If that process is not a run, run jointsparse run -- --unlock"),
        (lambda: change(place=["elsewhere", ""]), "a run on elsewhere is at work in it or was killed. If no run"),
        (lambda: Path(".snakemake/locks/1.output.lock").touch(), "another run is at work in it or was killed"),
        (lambda: os.utime(".snakemake/locks/0.input.lock"), "another run is at work in it or was killed"),
        (lambda: lock.HOLDER.unlink(), "run jointsparse run -- --unlock (or snakemake --unlock), then repeat"),
        (lambda: lock.HOLDER.write_text("{"), "another run is at work in it or was killed"),
        (lambda: lock.HOLDER.write_text("null"), "another run is at work in it or was killed"),
    ],
    ids=[
        "the process is alive",
        "the clock was changed",
        "the clock was changed, not on Linux",
        "another machine",
        "an additional lock",
        "a replaced lock",
        "no record",
        "a truncated record",
        "an empty record",
    ],
)
def test_in_doubt_the_lock_stays_and_the_message_says_who_may_hold_it(locked, alter, said):
    alter()
    before = sorted(Path(".snakemake/locks").iterdir())
    assert not lock.release() and sorted(Path(".snakemake/locks").iterdir()) == before
    assert message().startswith("error: the directory cannot be locked, because ") and said in message()


SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize(("first", "second"), [*zip(SIGNALS, SIGNALS, strict=True), (signal.SIGINT, None)])
def test_a_signal_ends_a_run_and_its_jobs_and_the_folder_is_free(tmp_path, first, second):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "run.py").write_text(
        "import sys\nfrom jointsparse.pipeline.app import command_line as c\n"
        "sys.exit(c._status_of([sys.executable, '-c', c.SNAKEMAKE, '--cores', '1']))"
    )
    run = subprocess.Popen(
        [sys.executable, "run.py"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    while run.poll() is None and not (tmp_path / "made").exists():
        time.sleep(0.05)
    tree = psutil.Process(run.pid).children(recursive=True)
    for number in filter(None, (first, second)):
        os.killpg(run.pid, number) if number == signal.SIGINT else os.kill(run.pid, number)
        time.sleep(0.1)
    assert run.communicate()[1].splitlines()[-1] == RESUME and run.returncode == 1
    assert not any(process.is_running() for process in tree) and not list(tmp_path.glob(".snakemake/locks/*"))


def test_a_zombie_process_holds_no_lock(locked, monkeypatch):
    monkeypatch.setattr(psutil.Process, "status", lambda _: psutil.STATUS_ZOMBIE)
    change(**live())
    assert lock.release()


def test_another_process_with_the_number_of_the_killed_run_does_not_hold_its_lock(locked):
    change(process=os.getpid())
    assert lock.release()


def test_a_run_refuses_to_start_beside_a_live_run_and_after_a_kill_unlocks_and_remakes_partial_files(
    tmp_path, monkeypatch, capfd
):
    workflow, here = tmp_path / "workflow", tmp_path / "here"
    shutil.copytree(command_line.WORKFLOW / "profiles", workflow / "profiles")
    (workflow / "Snakefile").write_text(SNAKEFILE)
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(command_line, "WORKFLOW", workflow)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    Path("config.yaml").touch()
    run = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--snakefile", workflow / "Snakefile"], start_new_session=True
    )
    made = Path("made")
    while run.poll() is None and not (made.exists() and made.stat().st_size):
        time.sleep(0.05)
    assert command_line.main(["run", "--cores", "1"]) == 1
    assert f"a run is at work in it (process {run.pid}). Wait until it has" in capfd.readouterr().err
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    assert made.read_text(encoding="utf-8") == "part\n"
    Path("go").touch()
    assert command_line.main(["run", "--cores", "1"]) == 0
    assert made.read_text(encoding="utf-8") == "whole\n"
    assert "Unlocked this folder, which a killed run had left locked.\n" in capfd.readouterr().err

"""What a run shows on the terminal, tested with events of Snakemake and with a small workflow."""

import errno
import io
import json
import logging
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from jointsparse.pipeline.app import disk
from jointsparse.pipeline.app.interrupt import RESUME
from jointsparse.pipeline.app.progress import Progress, last_words
from jointsparse.pipeline.app.terminal import ERASE

DONE = "2026-01-01 00:00:00,000"
SNAKEFILE = """
from jointsparse.pipeline.app.progress import attach
progress = attach(workflow, lambda: "as recorded")
onstart:
    assert workflow.local_exec and workflow.scheduler.job_rate_limiter  # which the workflow lifts
onsuccess:
    progress.succeed([f"all {'all' in progress.rules}, none {'none' in progress.rules}"])
onerror:
    progress.fail(log, remote=False)
rule all:
    input: "made"
rule make:
    output: "made"
    log: "make.log"
    shell: "test -e right && touch made || {{ echo '2026-01-01 error: all wrong' > {log}; exit 1; }}"
rule none:
    output: "none"
"""


class Screen(io.StringIO):
    def isatty(self):
        return True


def send(progress, message="", level=logging.INFO, **values):
    """Send a message of Snakemake, and return all output so far."""
    record = logging.LogRecord("snakemake", level, "", 0, message, None, None)
    vars(record).update(values)
    progress.handle(record)
    return progress.stream.getvalue()


def begun(stream=None, total=2):
    """Return the progress of a run that has just started."""
    progress = Progress(stream or io.StringIO(), lambda: "all as recorded")
    send(progress, event="run_info", stats={"all": 1, "a": total - 1, "total": total})
    return progress


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("jointsparse.pipeline.app.progress.time.monotonic", lambda: now[0])
    return now


def test_outside_a_terminal_progress_is_a_line_per_minute(clock):
    progress = begun(total=100)
    for done in range(1, 101):
        clock[0] += 6.1
        send(progress, event="progress", done=done, total=100)
    progress.succeed(["a"])
    lines = progress.stream.getvalue().splitlines()
    assert lines == [*(f"{done} of 100 jobs" for done in range(0, 91, 10)), "100 of 100 jobs in 10 min", "a"]


def test_on_a_terminal_messages_and_the_summary_overwrite_the_progress_line():
    progress = begun(Screen())
    send(progress, "Waiting at most 5 seconds", logging.WARNING)
    send(progress, event="progress", done=2, total=2)
    progress.succeed(["a"])
    progress.close()
    shown = ["", "0 of 2 jobs", "Waiting at most 5 seconds\n", "2 of 2 jobs", "2 of 2 jobs in 0 s\na\n"]
    assert progress.stream.getvalue().split(ERASE) == shown


def test_the_progress_line_is_erased_however_a_run_ends():
    progress = begun(Screen())
    progress.close()
    assert progress.stream.getvalue().endswith(ERASE)


def test_an_interrupt_is_one_line():
    progress = begun()
    send(progress, "Terminating processes on user request, this might take some time.")
    send(progress, "RuleException:\nCalledProcessError: died with <Signals.SIGINT: 2>.", logging.ERROR)
    send(progress, "Traceback\nRuntimeError: Cannot close a running event loop", logging.ERROR, event="error")
    progress.fail([], remote=False)
    assert progress.stream.getvalue() == f"0 of 2 jobs\n{RESUME}\n"


@pytest.mark.parametrize(
    ("message", "level", "event", "written"),
    [
        ("Select jobs to execute...", logging.INFO, None, ""),
        ("Finished", logging.INFO, "job_finished", ""),
        ("Error in rule a", logging.ERROR, "job_error", ""),
        ("RuleException:\nCalledProcessError: returned non-zero exit status 1.", logging.ERROR, None, ""),
        ("WorkflowError:\nAt least one job did not complete successfully.", logging.ERROR, "error", ""),
        ("Cannot restore results/mine/vocabularies.npz: no backup found.", logging.WARNING, None, ""),
        ("RuleException:\ndied with <Signals.SIGKILL: 9>.", logging.ERROR, None, "RuleException:\ndied with <Signals."),
        ("Missing input:\n\x1b[2J", logging.ERROR, "error", "Missing input:\n\\x1b[2J\n"),
        ("Nothing to be done (all is there).", logging.INFO, None, "Nothing to be done (all is there).\nall as recor"),
        ("Unlocked working directory.", logging.INFO, None, "Unlocked working directory.\n"),
    ],
)
def test_the_terminal_shows_only_messages_that_the_user_needs(message, level, event, written):
    progress = Progress(io.StringIO(), lambda: "all as recorded")
    shown = send(progress, message, level, event=event, job_id=0, jobid=0, rule_name="a", log=[])
    assert shown.startswith(written) and bool(shown) == bool(written)


@pytest.mark.parametrize("remote", [False, True])
def test_a_failed_run_ends_with_the_error_message_of_each_log(tmp_path, remote):
    (tmp_path / "a.log").write_text(
        f"{DONE} a begins\nTraceback\n{DONE} error: a: no \x1b[2J\nsrun: error: exit 1\n", encoding="utf-8"
    )
    (tmp_path / "b.log").touch()
    progress = begun()
    for job, name in enumerate(("a", "b", "a")):
        send(progress, event="job_error", rule_name=name, jobid=job, log=[str(tmp_path / f"{name}.log")])
    progress.fail(["all.log"], remote=remote)
    assert progress.stream.getvalue().splitlines()[1:] == [
        "0 of 2 jobs, 3 failed. The complete log is in all.log",
        f"error: a: no \\x1b[2J{f' (its log: {tmp_path}/a.log)' * remote}",
        f"error: b ended without a message{', as if the system had killed it (is there enough memory?)' * remote}; "
        f"its log: {tmp_path / 'b.log'}",
    ]


KILL = "RuleException:\nCalledProcessError: died with <Signals.SIGKILL: 9>."
STATUS = f"RuleException:\nCalledProcessError: returned non-zero exit status {disk.STATUS}."
SNAKEMAKE = "WorkflowError:\nError recording metadata for finished job ([Errno 28] No space left on device). Please"


def test_only_a_job_that_was_killed_may_have_lacked_memory():
    progress = begun()
    send(progress, KILL, logging.ERROR, event="error")
    send(progress, event="job_error", rule_name="a", jobid=0, log=["a.log"])
    progress.fail([], remote=False)
    assert progress.stream.getvalue().endswith(
        "as if the system had killed it (is there enough memory?); its log: a.log\n"
    )


@pytest.mark.parametrize(("message", "logged"), [(STATUS, True), (STATUS, False), (SNAKEMAKE, False)])
def test_a_full_disk_is_one_line_that_names_the_folder(tmp_path, monkeypatch, message, logged):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda folder: SimpleNamespace(free=folder != Path()))
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(f"{DONE} error: a: {disk.SENTENCE.format('/disk')}\nTraceback" * logged)
    progress = begun()
    send(progress, message, logging.ERROR, event="error")
    for job, name in enumerate(("a", "b")):
        send(progress, event="job_error", rule_name=name, jobid=job, log=[f"{name}.log"])
    progress.fail(["all.log"], remote=False)
    progress.close()
    _, tally, line = progress.stream.getvalue().splitlines()
    assert tally == "0 of 2 jobs, 2 failed. The complete log is in all.log"
    assert line == f"error: {'a: ' * logged}{disk.SENTENCE.format('/disk' if logged else tmp_path)}"


def test_a_full_disk_that_ends_snakemake_itself_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda folder: SimpleNamespace(free=folder != Path()))
    progress = begun()
    for _ in range(2):
        send(progress, SNAKEMAKE, logging.ERROR, event="error")
    progress.close()
    assert progress.stream.getvalue().splitlines()[1:] == [f"error: {disk.SENTENCE.format(tmp_path)}"]


def test_output_that_cannot_be_written_does_not_disturb_the_run(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(stream, "write", failing(OSError(errno.ENOSPC, "No space left on device")))
    begun(stream).close()


def failing(error):
    def fail(*_):
        raise error

    return fail


def test_a_failed_group_has_one_message_and_a_job_that_succeeds_at_a_second_try_has_none():
    progress = begun()
    jobs = [{"rule_name": name, "jobid": i, "log": [f"{name}.log"]} for i, name in enumerate("ab")]
    send(progress, event="group_error", groupid="g", job_error_info=jobs, aux_logs=["slurm.log"])
    for job in jobs:
        send(progress, event="job_error", indent=True, **job)
    send(progress, event="job_error", rule_name="c", jobid=2, log=[])
    send(progress, event="job_finished", job_id=2)
    progress.fail([], remote=False)
    assert progress.stream.getvalue().splitlines()[1:] == [
        "0 of 2 jobs, 2 failed. The complete log is in .snakemake/log",
        "error: a or b ended without a message; its log: a.log, b.log, slurm.log",
    ]


def test_a_run_ends_with_its_findings_and_escapes_control_characters(tmp_path):
    (tmp_path / "mine").mkdir()
    assert last_words(["mine"], tmp_path) == []
    (tmp_path / "mine" / "findings.json").write_text('{"dataset": "mi')
    assert last_words(["mine"], tmp_path) == []
    (tmp_path / "index.html").touch()
    assert last_words(["mine"], tmp_path) == [f"The page with the results: {tmp_path}/index.html"]  # no model was kept
    (tmp_path / "mine" / "index.html").touch()
    findings = {"dataset": "mine", "sentence": "31 of 40 \x1b[2J.", "warnings": 2}
    (tmp_path / "mine" / "findings.json").write_text(json.dumps(findings))
    progress = begun()
    progress.succeed(last_words(["mine"], tmp_path))
    assert progress.stream.getvalue().splitlines()[-2:] == [
        "mine: 31 of 40 \\x1b[2J.",
        f"The page with the results and 2 warnings: {tmp_path}/mine/index.html",
    ]


def test_snakemake_still_has_the_events_and_attributes_that_progress_reads(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)

    def run():
        command = [sys.executable, "-m", "snakemake", "--cores", "1"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    first, tally, sentence = run().stderr.splitlines()
    assert (first, tally[:38], sentence) == (
        "0 of 2 jobs",
        "0 of 2 jobs, 1 failed. The complete lo",
        "error: all wrong",
    )
    (tmp_path / "right").touch()
    first, seconds, rules = run().stderr.splitlines()
    assert (first, seconds[:14], rules) == ("0 of 2 jobs", "2 of 2 jobs in", "all True, none False")
    assert run().stderr.splitlines()[1:] == ["as recorded"]

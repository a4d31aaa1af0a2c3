"""The terminal of a run, and Snakemake's internals that the workflow touches."""

import io
import json
import logging
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from jointsparse.pipeline.app import terminal
from jointsparse.pipeline.app.forecast import OTHERWISE, SECONDS, Forecast

DONE = "2026-01-01 00:00:00,000"
TELLING = ("verbose", "printshellcmds", "debug_dag")
INSIDE = """
from jointsparse.pipeline.app import internals, terminal
calm = terminal.calm(workflow, lambda: "as recorded")
onstart:
    before = workflow.scheduler.job_rate_limiter
    internals.lift_limit_of_jobs_per_second(workflow)
    print("limit", before is not None, workflow.scheduler.job_rate_limiter)
    print("jobs", internals.jobs_to_run(workflow), flush=True)
onsuccess:
    calm.succeed([str(internals.is_asked_for(workflow, name)) for name in ("all", "none")])
rule all:
    output: "made"
    params: *["a.py 1", "b.py 2"], where="here", files=["c", "d"]
    benchmark: "seconds.tsv"
    run:
        print("code", internals.lines_of_code(params), flush=True)
        shell("touch made")
rule none:
    output: "none"
"""


FAILED = {"rule_name": "a", "jobid": 0, "log": [], "groupid": "0", "job_error_info": [], "aux_logs": []}


class Screen(io.StringIO):
    def isatty(self):
        return True


def record(message="", level=logging.INFO, **values):
    made = logging.LogRecord("snakemake", level, "", 0, message, None, None)
    vars(made).update(values)
    return made


def begun(stream, total=2):
    """A run of some jobs."""
    calm = terminal.Calm(stream, lambda: "all as recorded", lambda: dict.fromkeys(range(total), ("encode", "")))
    calm.filter(record(event="run_info", stats={"total": total}))
    return calm


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(terminal.atexit, "register", lambda *_: None)
    return now


def test_progress_is_a_line_a_minute_with_the_time_left(clock):
    calm = begun(io.StringIO(), 100)
    for done in range(1, 101):
        calm.filter(record(event="job_started", jobs=[done - 1]))
        clock[0] += 6.1
        calm.filter(record(event="job_finished", job_id=done - 1))
        assert not calm.filter(record(event="progress", done=done, total=100))
    calm.succeed(["a"])
    lines = calm.stream.getvalue().splitlines()
    assert lines[:2] == ["0 of 100 jobs", "10 of 100 jobs, about 9 min left"]
    assert lines[-3:] == ["90 of 100 jobs, about 61 s left", "100 of 100 jobs in 10 min", "a"]
    assert len(lines) == 12


def test_a_terminal_has_one_line_that_makes_room_for_messages_and_for_the_last():
    calm = begun(Screen())
    calm.filter(record(event="progress", done=1, total=2))
    assert calm.filter(record("Waiting at most 5 seconds for missing files", logging.WARNING))
    calm.filter(record(event="progress", done=2, total=2))
    calm.succeed(["a"])
    calm.end(["more"])
    lines = ["", "0 of 2 jobs", "1 of 2 jobs", "", "2 of 2 jobs in 0 s", "2 of 2 jobs in 0 s\na\n"]
    assert calm.stream.getvalue().split(terminal.ERASE) == lines


def test_a_dry_run_says_what_would_run_in_a_few_lines():
    calm = terminal.Calm(io.StringIO(), lambda: "all as recorded", dry=True)
    for _ in range(2):  # Snakemake says it before and after the jobs
        assert not calm.filter(record(event="run_info", stats={f"rule{i}": 20 for i in range(32)} | {"total": 640}))
    lines = calm.stream.getvalue().splitlines()
    assert lines[0] == "640 jobs would run; --printshellcmds tells of each, and why:"
    assert len(lines) == 9 and lines[8].split()[::2] == ["20"] * 4


# The time left


def test_the_time_left_is_right_after_a_third_of_the_jobs_though_long_ones_come_late():
    """As if each job took as long as those before, it was a tenth."""
    seconds = [1.0] * 30 + [12.0] * 12 + [30.0] * 3
    rules = ["encode"] * 30 + ["train_path"] * 12 + ["fit_final"] * 3
    left, now = Forecast({job: (rule, "") for job, rule in enumerate(rules)}, 0.0), 0.0
    for job, took in enumerate(seconds):
        left.start([job], now)
        now += took
        left.finish(job, now)
        if job >= len(seconds) // 3 and job < len(seconds) - 1:
            assert 0.5 < left.left(now) / (sum(seconds) - now) < 2


def test_jobs_that_take_longer_than_expected_say_so_of_others_while_they_run():
    left = Forecast(dict.fromkeys(range(4), ("train_path", "")), 0.0)  # of 8 seconds each
    left.start([0, 1], 0.0)
    assert left.left(6.0) == pytest.approx((2 * 2 + 2 * 8) / 2)
    assert left.left(80.0) == pytest.approx((2 * 20 + 2 * 80) / 2)


def test_jobs_are_expected_to_take_as_long_as_before_and_else_as_others_of_the_dataset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = Path("results/mine/a/timings/train_path")
    files = [str(folder / f"run{run}.tsv") for run in (1, 2, 3)]
    folder.mkdir(parents=True)
    for file, text in zip(files, ("s\th\n70.5\t0\n", "s\th\n30.5\t0\n", "s\th\n"), strict=True):
        Path(file).write_text(text, encoding="utf-8")
    jobs = [*(("train_path", file) for file in files), ("train_path", "results/other/a/timings/train_path/run1.tsv")]
    expected = Forecast(dict(enumerate([*jobs, ("all", "")])), 0.0).expected
    assert list(expected.values()) == [70.5, 30.5, 50.5, SECONDS["train_path"], OTHERWISE]


def test_an_interrupt_and_a_run_without_jobs_end_with_one_line():
    calm = begun(io.StringIO())
    assert not calm.filter(record("Terminating processes on user request, this might take some time."))
    killed = "RuleException:\nCalledProcessError: died with <Signals.SIGINT: 2>."
    assert not any(calm.filter(record(message, logging.ERROR)) for message in ("RuleException:", killed))
    calm.fail([])
    assert calm.stream.getvalue() == "0 of 2 jobs\nerror: interrupted\n"
    calm = terminal.Calm(io.StringIO(), lambda: "all as recorded")
    assert not calm.filter(record("Nothing to be done (all requested files are present and up to date)."))
    assert [line[:18] for line in calm.stream.getvalue().splitlines()] == ["Nothing to be done", "all as recorded"]


@pytest.mark.parametrize(
    ("shown", "message", "level", "event"),
    [
        (False, "Select jobs to execute...", logging.INFO, None),
        (False, "Error in rule evaluate", logging.ERROR, "job_error"),
        (False, "Error in group 0", logging.ERROR, "group_error"),
        (False, "RuleException:\nCalledProcessError in file: returned non-zero exit status 1.", logging.ERROR, None),
        (False, "WorkflowError:\nAt least one job did not complete successfully.", logging.ERROR, "error"),
        (False, "Cannot restore results/mine/vocabularies.npz: no backup found.", logging.WARNING, None),
        (True, "RuleException:\nCalledProcessError in file: died with <Signals.SIGKILL: 9>.", logging.ERROR, None),
        (True, "Directory cannot be locked.", logging.ERROR, "error"),
    ],
)
def test_the_terminal_shows_what_people_need(shown, message, level, event):
    assert begun(io.StringIO()).filter(record(message, level, event=event, **FAILED)) == shown


@pytest.mark.parametrize("told", [None, *TELLING])
def test_a_run_of_which_all_is_told_ends_with_what_was_found_too(told, monkeypatch, capsys):
    handler = logging.StreamHandler(io.StringIO())
    handler.name = "DefaultStreamHandler"
    monkeypatch.setattr(logging.getLogger("snakemake.logging"), "handlers", [handler])
    settings = SimpleNamespace(dryrun=False, **{name: name == told for name in TELLING})
    calm = terminal.calm(SimpleNamespace(is_main_process=True, output_settings=settings), lambda: "")
    assert handler.filters == ([] if told else [calm])
    calm.succeed(["a", "b"])
    calm.fail([])
    assert (capsys.readouterr().err if told else handler.stream.getvalue()) == "a\nb\n"


@pytest.mark.parametrize("remote", [False, True])
def test_a_failed_run_ends_with_the_sentence_of_each_log(tmp_path, remote):
    (tmp_path / "a.log").write_text(
        f"{DONE} a begins\nTraceback\n{DONE} error: a: sizes must be at least 1\nsrun: error: exit 1\n"
    )
    (tmp_path / "b.log").touch()
    calm = begun(io.StringIO())
    for job, name in enumerate(("a", "b", "a")):
        calm.filter(record(event="job_error", rule_name=name, jobid=job, log=[str(tmp_path / f"{name}.log")]))
    calm.fail(["all.log"], remote=remote)
    assert calm.stream.getvalue().splitlines()[1:] == [
        "0 of 2 jobs, 3 failed; all messages are in all.log",
        f"error: a: sizes must be at least 1{f' (its log: {tmp_path}/a.log)' * remote}",
        "error: b ended without a word, as a job that the system kills does (is there enough memory?); "
        f"its log: {tmp_path / 'b.log'}",
    ]


def test_a_failed_group_is_one_failure_and_what_runs_again_is_none(tmp_path):
    calm, jobs = begun(io.StringIO()), [{"rule_name": name, "log": [f"{name}.log"]} for name in ("a", "b")]
    group = record(event="group_error", groupid="g", job_error_info=jobs, aux_logs=["slurm.log"])
    for one in (group, *(record(event="job_error", jobid=i, indent=True, **job) for i, job in enumerate(jobs))):
        calm.filter(one)
    calm.filter(record(event="job_error", rule_name="c", jobid=2, log=[]))
    assert calm.line() == "0 of 2 jobs, 2 failed"
    calm.filter(record(event="job_started", jobs=[2, "a name of the group"]))
    calm.fail([])
    assert calm.stream.getvalue().splitlines()[1:] == [
        "0 of 2 jobs, 1 failed; all messages are in .snakemake/log",
        "error: a or b ended without a word, as a job that the system kills does (is there enough memory?); "
        "its log: a.log, b.log, slurm.log",
    ]
    calm.filter(record(event="group_info", group_id="g", jobs=[SimpleNamespace(jobid=0)]))
    assert not calm.failed and calm.forecast.started.keys() == {0, 2}


def test_a_run_ends_with_what_was_found(tmp_path):
    (tmp_path / "mine").mkdir()
    assert terminal.last_words(["mine"], tmp_path) == []
    (tmp_path / "mine" / "findings.json").write_text('{"dataset": "mi')
    assert terminal.last_words(["mine"], tmp_path) == []
    (tmp_path / "mine" / "index.html").touch()
    found = {"dataset": "mine", "sentence": "31 of 40 words.", "warnings": 2}
    (tmp_path / "mine" / "findings.json").write_text(json.dumps(found))
    assert terminal.last_words(["mine"], tmp_path) == [
        "mine: 31 of 40 words.",
        f"The page with all that was found and 2 warnings: {tmp_path}/mine/index.html",
    ]


def test_snakemake_has_the_internals_that_we_touch(tmp_path):
    """After an upgrade, each that has moved is mended in app/internals.py."""
    (tmp_path / "Snakefile").write_text(INSIDE)
    command = [sys.executable, "-m", "snakemake", "--cores", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    jobs = "jobs {0: ('all', 'seconds.tsv')}"
    assert done.stdout.splitlines() == ["limit True None", jobs, "code ['a.py 1', 'b.py 2']"], done.stderr
    begun, seconds, *asked = done.stderr.splitlines()
    assert (begun, seconds[:14], asked) == ("0 of 1 jobs", "1 of 1 jobs in", ["True", "False"])

import io
import json
import logging
from types import SimpleNamespace

import pytest
from snakemake.logging import logger

from jointsparse.app import terminal

DONE = "2026-01-01 00:00:00,000"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def record(message="", **values):
    made = logging.LogRecord("snakemake", logging.INFO, "", 0, message, None, None)
    vars(made).update(values)
    return made


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def screen(monkeypatch):
    """A run on a terminal of 60 columns, of 2 jobs; no thread keeps the line up to date."""
    monkeypatch.setattr(terminal.threading.Thread, "start", lambda thread: None)
    monkeypatch.setattr(terminal.shutil, "get_terminal_size", lambda: SimpleNamespace(columns=60))
    monkeypatch.setattr(terminal.atexit, "register", lambda function: None)
    monkeypatch.setattr(terminal.os, "environ", {})
    calm = terminal.Calm(Terminal())
    calm.filter(record(event="run_info", stats={"total": 2}))
    return calm


def kept(calm):
    """The text that a run's thread writes in one look at the jobs."""
    looks = iter([False, True])
    calm.ended.wait, calm.told = lambda seconds: next(looks), -1.0
    calm.stream.truncate(calm.stream.seek(0))
    calm._keep()
    return calm.stream.getvalue()


def test_progress_is_a_line_a_minute_with_the_time_left(clock):
    calm = terminal.Calm(io.StringIO())
    calm.filter(record(event="run_info", stats={"total": 100}))
    for done in range(1, 101):
        clock[0] += 6.1
        assert not calm.filter(record(event="progress", done=done, total=100))
    terminal.succeed(calm, ["a"])
    lines = calm.stream.getvalue().splitlines()
    assert lines[:2] == ["0 of 100 jobs", "10 of 100 jobs, about 9 min left"]
    assert lines[-3:] == ["90 of 100 jobs, about a minute left", "100 of 100 jobs in 10 min", "a"]
    assert len(lines) == 12


def test_a_terminal_has_one_line_that_tells_of_the_oldest_job(screen, tmp_path):
    for i, told in enumerate(("begins", "begins", "412 of 2000")):
        with (tmp_path / f"{min(i, 1)}.log").open("a") as log:
            log.write(f"{DONE} train_path collage {told}\n" if told == "begins" else f"{DONE} {told}\n")
    for i in range(2):
        screen.filter(record(event="job_info", jobid=i, log=[str(tmp_path / f"{i}.log")]))
    assert kept(screen) == f"{terminal.ERASE}0 of 2 jobs; train_path collage"
    screen.filter(record(event="job_finished", job_id=0))
    screen.filter(record(event="progress", done=1, total=2))
    assert kept(screen) == f"{terminal.ERASE}1 of 2 jobs; train_path collage: 412 of 2000"
    (tmp_path / "1.log").write_text(f"{DONE} {'long ' * 20}begins\n")
    assert len(kept(screen)) == len(terminal.ERASE) + 59
    (tmp_path / "1.log").unlink()
    assert kept(screen) == f"{terminal.ERASE}1 of 2 jobs"
    assert terminal.JOBS_ARE_TOLD in terminal.os.environ


def test_the_line_makes_room_for_messages_and_is_gone_in_the_end(screen):
    kept(screen)
    assert screen.filter(record("Waiting at most 5 seconds for missing files"))
    assert screen.stream.getvalue().endswith(terminal.ERASE)
    screen.end()
    assert screen.stream.getvalue().endswith(terminal.ERASE)
    screen.end("more")
    assert not screen.stream.getvalue().endswith("more")


def test_an_interrupt_is_one_line(screen):
    messages = (
        "Terminating processes on user request, this might take some time.",
        "Complete log(s): a",
        "RuleException:",
    )
    killed = "RuleException:\nCalledProcessError: died with <Signals.SIGINT: 2>."
    assert not any(screen.filter(record(message)) for message in (*messages, killed))
    terminal.fail(screen, [])
    assert screen.stream.getvalue().split(terminal.ERASE) == ["", "error: interrupted\n"]


@pytest.mark.parametrize(
    ("shown", "message", "values"),
    [
        (False, "rule evaluate: ...", {"event": "job_info"}),
        (False, "Select jobs to execute...", {}),
        (False, "RuleException:\nCalledProcessError in file: returned non-zero exit status 1.", {}),
        (True, "RuleException:\nCalledProcessError in file: died with <Signals.SIGKILL: 9>.", {}),
        (True, "Building DAG of jobs...", {}),
        (True, "Complete log(s): a", {}),
        (True, "Directory cannot be locked.", {"event": "error"}),
    ],
)
def test_the_terminal_shows_what_people_need(shown, message, values):
    assert terminal.Calm(io.StringIO()).filter(record(message, **values)) == shown


@pytest.mark.parametrize("told", [None, "dryrun", "verbose", "printshellcmds"])
def test_snakemakes_own_handler_is_made_calm_in_a_run(told, monkeypatch):
    handler = logging.StreamHandler(io.StringIO())
    handler.name = "DefaultStreamHandler"
    monkeypatch.setattr(logger, "handlers", [handler])
    settings = SimpleNamespace(**{name: name == told for name in ("dryrun", "verbose", "printshellcmds")})
    calm = terminal.calm(SimpleNamespace(is_main_process=True, output_settings=settings))
    assert handler.filters == ([] if told else [calm])
    assert terminal.calm(SimpleNamespace(is_main_process=False, output_settings=settings)) is None


def test_a_failed_run_ends_with_the_sentence_of_each_log(tmp_path):
    log, empty = tmp_path / "a.log", tmp_path / "b.log"
    log.write_text(f"{DONE} a begins\nTraceback\n{DONE} error: a: sizes must be at least 1 (config.yaml: studies)\n")
    empty.touch()
    calm = terminal.Calm(io.StringIO())
    for name, file in (("a", log), ("b", empty), ("a", log)):
        calm.filter(record(event="job_error", rule_name=name, log=[str(file)]))
    terminal.fail(calm, ["all.log"])
    assert calm.stream.getvalue().splitlines() == [
        "0 of 0 jobs, 3 failed; all messages are in all.log",
        "error: a: sizes must be at least 1 (config.yaml: studies)",
        "error: b ended without a word, as a job that the system kills does (is there enough memory?); "
        f"its log: {empty}",
    ]
    assert not calm.filter(record("WorkflowError:\nAt least one job did not complete successfully.", event="error"))


def test_a_run_ends_with_what_was_found(tmp_path):
    (tmp_path / "mine").mkdir()
    assert terminal.last_words(["mine"], tmp_path) == []
    found = {"dataset": "mine", "sentence": "31 of 40 words.", "warnings": 2}
    (tmp_path / "mine" / "index.html").touch()
    (tmp_path / "mine" / "findings.json").write_text(json.dumps(found))
    assert terminal.last_words(["mine"], tmp_path) == [
        "mine: 31 of 40 words.",
        f"The page with all that was found: {tmp_path}/mine/index.html",
        "2 kinds of warnings: the page says in plain words what each means and what to do.",
    ]
    for text in (
        "{",
        "[]",
        json.dumps({"sentence": "31 of 40 words."}),
    ):  # of a run that was killed, or of another version
        (tmp_path / "mine" / "findings.json").write_text(text)
        assert terminal.last_words(["mine", "other"], tmp_path) == []


def test_a_run_of_which_all_is_told_ends_with_what_was_found_too(capsys):
    terminal.succeed(None, ["a", "b"])
    terminal.fail(None, [])
    assert capsys.readouterr().err == "a\nb\n"

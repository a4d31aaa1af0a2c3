import io
import json
import logging

import pytest
from snakemake.logging import logger

from jointsparse.app import terminal


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


def test_progress_is_a_line_a_minute_with_the_time_left(clock):
    stream = io.StringIO()
    calm = terminal.Calm(stream)
    for done in range(1, 101):
        clock[0] += 6
        assert not calm.filter(record(event="progress", done=done, total=100))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == "10 of 100 jobs, about 9 min left"
    assert lines[-2:] == ["90 of 100 jobs, about a minute left", "100 of 100 jobs"]


def test_a_terminal_has_one_line_that_changes(clock):
    stream = Terminal()
    calm = terminal.Calm(stream)
    for done in (1, 2):
        calm.filter(record(event="progress", done=done, total=2))
    assert stream.getvalue() == "\r\x1b[2K1 of 2 jobs\r\x1b[2K2 of 2 jobs\n"


@pytest.mark.parametrize(
    ("shown", "message", "values"),
    [
        (False, "rule evaluate: ...", {"event": "job_info"}),
        (False, "Select jobs to execute...", {}),
        (False, "RuleException:\nCalledProcessError in file: returned non-zero exit status 1.", {}),
        (True, "RuleException:\nCalledProcessError in file: died with <Signals.SIGKILL: 9>.", {}),
        (True, "Job stats:", {}),
        (True, "Directory cannot be locked.", {"event": "error"}),
    ],
)
def test_the_terminal_shows_what_people_need(shown, message, values):
    assert terminal.Calm(io.StringIO()).filter(record(message, **values)) == shown


def test_snakemakes_own_handler_is_made_calm_once():
    handler = logging.StreamHandler(io.StringIO())
    handler.name = "DefaultStreamHandler"
    before = list(logger.handlers)
    logger.handlers[:] = [handler]
    try:
        assert terminal.calm() is terminal.calm()
        assert len(handler.filters) == 1
        logger.handlers[:] = []
        assert terminal.calm() is None
    finally:
        logger.handlers[:] = before


def test_a_failed_job_ends_with_the_sentence_of_its_log(tmp_path):
    log, empty = tmp_path / "a.log", tmp_path / "b.log"
    log.write_text(
        "2026-01-01 a begins\nTraceback\n2026-01-01 error: a: sizes must be at least 1 (config.yaml: studies)\n"
    )
    empty.touch()
    calm = terminal.Calm(io.StringIO())
    for name, file in (("a", log), ("b", empty), ("a", log)):
        calm.filter(record(event="job_error", rule_name=name, log=[str(file)]))
    assert terminal.reasons(calm.failed) == [
        "error: a: sizes must be at least 1 (config.yaml: studies)",
        f"error: b failed; its log: {empty}",
    ]


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
    (tmp_path / "mine" / "findings.json").write_text("{")  # of a run that was killed
    assert terminal.last_words(["mine", "other"], tmp_path) == []


def test_lines_are_written_in_one_piece(capsys):
    terminal.say(["a", "b"])
    assert capsys.readouterr().err == "a\nb\n"

"""What a run shows on the terminal, tested with events of Snakemake and with a small workflow."""

import io
import json
import logging
import re
import subprocess
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from albums import lay

from jointsparse.pipeline.app import disk, terminal
from jointsparse.pipeline.app.interrupt import RESUME
from jointsparse.pipeline.app.progress import Progress, last_words

SNAKEFILE = """
from jointsparse.pipeline.app.progress import attach
progress = attach(workflow, lambda: "as recorded")
onstart:
    assert workflow.local_exec and workflow.scheduler.job_rate_limiter  # which the workflow lifts
onsuccess:
    progress.succeed([str(sorted(progress.rules))])
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


def send_message(progress, message="", level=logging.INFO, **values):
    record = logging.LogRecord("snakemake", level, "", 0, message, None, None)
    vars(record).update(values)
    progress.handle(record)


def begun(total=2, terminal=False, **options):
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    progress = Progress(stream, lambda: "all as recorded", **options)
    send_message(progress, event="run_info", stats={"all": 1, "a": total - 1, "total": total})
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
        send_message(progress, event="progress", done=done, total=100)
    progress.succeed(["a"])
    lines = progress.stream.getvalue().splitlines()
    assert lines == [*(f"{done} of 100 jobs" for done in range(0, 91, 10)), "100 of 100 jobs in 10 min", "a"]


def test_on_a_terminal_messages_and_the_summary_overwrite_the_progress_line():
    progress = begun(terminal=True)
    send_message(progress, "Waiting at most 5 seconds", logging.WARNING)
    send_message(progress, event="progress", done=2, total=2)
    progress.succeed(["a"])
    progress.close()
    shown = ["", "0 of 2 jobs", "Waiting at most 5 seconds\n", "2 of 2 jobs", "2 of 2 jobs in 0 s\na\n"]
    assert progress.stream.getvalue().split(terminal.ERASE) == shown


@pytest.mark.parametrize(
    ("end", "shown"),
    [
        (lambda progress: progress.succeed(["a"]), "0 of 2 jobs in 0 s\na\n"),
        (lambda progress: progress.fail(["a.log"], remote=False), "0 of 2 jobs. The complete log is in a.log\n"),
    ],
)
def test_beside_the_messages_that_snakemake_shows_itself_only_a_summary_is_written(end, shown):
    progress = begun(silent=True)
    send_message(progress, "Unlocked working directory.")
    end(progress)
    assert progress.stream.getvalue() == shown


@pytest.mark.parametrize(
    ("message", "level", "event", "written"),
    [
        ("Select jobs to execute...", logging.INFO, None, ""),
        ("Finished", logging.INFO, "job_finished", ""),
        ("RuleException:\nCalledProcessError: returned non-zero exit status 1.", logging.ERROR, None, ""),
        ("WorkflowError:\nAt least one job did not complete successfully.", logging.ERROR, "error", ""),
        ("Cannot restore results/mine/vocabularies.npz: no backup found.", logging.WARNING, None, ""),
        ("Missing input:\n\x1b[2J", logging.ERROR, "error", "Missing input:\n\\x1b[2J\n"),
        ("Nothing to be done (all is there).", logging.INFO, None, "Nothing to be done (all is there).\nall as recor"),
        ("Unlocked working directory.", logging.INFO, None, "Unlocked working directory.\n"),
    ],
)
def test_the_terminal_shows_only_messages_that_the_user_needs(message, level, event, written):
    progress = begun()
    send_message(progress, message, level, event=event, job_id=0)
    shown = progress.stream.getvalue().removeprefix("0 of 2 jobs\n")
    assert shown.startswith(written) and bool(shown) == bool(written)


def failed(job, name):
    return {"event": "job_error", "rule_name": name, "jobid": job, "log": [f"{name}.log"]}


LOGS = {
    **dict.fromkeys(("a.log", "again.log"), "1 a begins\nTraceback\n2 error: a: no \x1b[2J\nsrun: error: exit 1\n"),
    "b.log": "",
    **dict.fromkeys(("full.log", "later.log"), f"1 error: full: {disk.SENTENCE.format('/disk')}\nTraceback"),
}
KILL = {"message": "RuleException:\ndied with <Signals.SIGKILL: 9>.", "level": logging.ERROR, "event": "error"}
STATUS = KILL | {"message": f"RuleException:\nCalledProcessError: returned non-zero exit status {disk.STATUS}."}
RECORDING = KILL | {"message": "WorkflowError:\nError recording metadata ([Errno 28] No space left on device). Please"}
NO_MEMORY = ", as if the system had killed it (is there enough memory?)"
TALLY = "0 of 2 jobs, {} failed. The complete log is in all.log"


# events, whether jobs ran on other machines (None: Snakemake ended by itself), and what is shown
@pytest.mark.parametrize(
    ("events", "remote", "lines"),
    [
        pytest.param(
            [
                {"message": "Terminating processes on user request, this might take some time."},
                KILL | {"message": "RuleException:\nCalledProcessError: died with <Signals.SIGINT: 2>."},
                KILL | {"message": "Traceback\nRuntimeError: Cannot close a running event loop"},
            ],
            False,
            [RESUME],
            id="an interrupt",
        ),
        pytest.param(
            [failed(0, "a"), failed(1, "b"), failed(2, "again")],
            False,
            [TALLY.format(3), "error: a: no \\x1b[2J", "error: b ended without a message; its log: b.log"],
            id="logs with a message and without, and two with the same message",
        ),
        pytest.param(
            [failed(0, "a"), failed(1, "b")],
            True,
            [
                TALLY.format(2),
                "error: a: no \\x1b[2J (its log: a.log)",
                f"error: b ended without a message{NO_MEMORY}; its log: b.log",
            ],
            id="on other machines",
        ),
        pytest.param(
            [KILL, failed(1, "b")],
            False,
            [
                *KILL["message"].splitlines(),
                TALLY.format(1),
                f"error: b ended without a message{NO_MEMORY}; its log: b.log",
            ],
            id="a killed job",
        ),
        pytest.param(
            [
                {"event": "group_error", "job_error_info": [failed(0, "a"), failed(1, "b")], "aux_logs": ["slurm.log"]},
                failed(0, "a") | {"indent": True},
                failed(1, "b") | {"indent": True},
                failed(2, "c"),
                {"event": "job_finished", "job_id": 2},
            ],
            False,
            [TALLY.format(2), "error: a: no \\x1b[2J"],
            id="a group, and a job that succeeded at its second try",
        ),
        pytest.param(
            [{"event": "group_error", "job_error_info": [failed(0, "b"), failed(1, "c")], "aux_logs": ["slurm.log"]}],
            False,
            [TALLY.format(2), "error: b or c ended without a message; its log: b.log, c.log, slurm.log"],
            id="a group without a message",
        ),
        pytest.param(
            [STATUS, failed(0, "full"), failed(1, "later")],
            False,
            [TALLY.format(2), f"error: full: {disk.SENTENCE.format('/disk')}"],
            id="a full disk that two jobs name",
        ),
        pytest.param(
            [STATUS, failed(0, "b"), failed(1, "c")],
            False,
            [TALLY.format(2), f"error: {disk.SENTENCE.format('HERE')}"],
            id="a full disk that no job names",
        ),
        pytest.param(
            [RECORDING, RECORDING],
            None,
            [f"error: {disk.SENTENCE.format('HERE')}"],
            id="a full disk that ends Snakemake",
        ),
    ],
)
def test_a_failed_run_ends_with_a_line_per_cause(tmp_path, monkeypatch, events, remote, lines):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda folder: SimpleNamespace(free=str(folder) != "."))
    lay(tmp_path, LOGS)
    progress = begun()
    for event in events:
        send_message(progress, **event)
    if remote is not None:
        progress.fail(["all.log"], remote=remote)
    progress.close()
    assert progress.stream.getvalue().replace(str(tmp_path), "HERE").splitlines() == ["0 of 2 jobs", *lines]


def test_output_that_cannot_be_written_does_not_disturb_the_run(monkeypatch):
    progress = begun()
    monkeypatch.setattr(progress.stream, "write", Mock(side_effect=OSError(28, "No space left on device")))
    send_message(progress, "Waiting", logging.WARNING)
    send_message(progress, **RECORDING)
    progress.close()


def test_the_last_words_of_a_run_are_its_findings_and_its_page(tmp_path):
    findings = {name: json.dumps({"dataset": name, "sentence": "31 of 40.", "warnings": 2}) for name in "ab"}
    lay(tmp_path, {f"{name}/findings.json": text for name, text in (findings | {"c": '{"dataset": "mi'}).items()})
    lay(tmp_path, {"index.html": "", "a/index.html": ""})
    page = f"The page with the results{{}}: {tmp_path}/{{}}index.html"
    assert {names: last_words(names, tmp_path) for names in ("a", "b", "ba", "ac", "c")} == {
        "a": ["a: 31 of 40.", page.format(" and 2 warnings", "a/")],
        "b": ["b: 31 of 40."],
        "ba": ["b: 31 of 40.", page.format(" and 4 warnings", "")],
        "ac": ["a: 31 of 40.", page.format(" and 2 warnings", "")],
        "c": [page.format("", "")],  # no model was kept
    }


def test_snakemake_still_has_the_events_and_attributes_that_progress_reads(tmp_path):
    lay(tmp_path, {"Snakefile": SNAKEFILE})
    command = [sys.executable, "-m", "snakemake", "--cores", "1"]
    lines = []
    for _ in range(2):
        lines += subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stderr.splitlines()
        (tmp_path / "right").touch()
    assert [re.sub(r"\d+ s$|The complete log is in .*", "…", line) for line in lines] == [
        *("0 of 2 jobs", "0 of 2 jobs, 1 failed. …", "error: all wrong"),
        *("0 of 2 jobs", "2 of 2 jobs in …", "['all', 'make']"),
    ]


LETTERS = (
    "café Ελλάδα кошка שלום مَرْحَبًا हिन्दी ไทย 日本語 🐈 می\u200cخواهم क्\u200dष 👩\u200d🔬 10\u00a0000 全\u3000角 a\\b"
)
OTHERS = "\x00\x07\x1b[31m\x7f\x85\x9ba\nb\r\tc\u2028\u2029\u200e\u061c\u202e\u2069\ufeff\u00ad\U000e0041\ud800"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_letters_are_shown_and_characters_that_move_the_cursor_or_reorder_text_are_escaped(encoding):
    stream = io.TextIOWrapper(io.BytesIO(), encoding)
    terminal.say(LETTERS, OTHERS, to=stream)
    shown = LETTERS.encode(encoding, "backslashreplace") + b"\n" + OTHERS.encode("unicode_escape") + b"\n"
    assert stream.buffer.getvalue() == shown

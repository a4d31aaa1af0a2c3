"""The frame of a script: its messages when it works and when it fails, in a process of its own as in a run."""

import os
import pty
import re
import subprocess
import sys
import termios
from types import SimpleNamespace

import pytest

from jointsparse.app.terminal import ERASE, JOBS_ARE_TOLD

SCRIPT = """
import sys
import warnings
from types import SimpleNamespace
from snakemake.iocontainers import Params
from job import job
wildcards, params = ["collage", "1"], Params(fromdict={"where": "studies.annotation.basis"})
files = ["results/a/words.csv", "results/a/it's.npz", "tasks.py"]
snakemake = SimpleNamespace(
    rule="fit_basis", wildcards=wildcards, params=params, log=sys.argv[1:], input=files, output=["results/a/made.csv"]
)
with job(snakemake) as progress:
"""


@pytest.fixture
def run(tmp_path):
    """A function that runs a body inside a job, and returns exit status, stdout, stderr and the log."""

    def run(body, stderr=subprocess.PIPE):
        log = tmp_path / "job.log"
        (tmp_path / "results" / "a").mkdir(parents=True, exist_ok=True)
        (tmp_path / "results" / "a" / "made.csv").write_text("made\n\n")
        for name in ("results/a/words.csv", "results/a/it's.npz", "tasks.py"):
            (tmp_path / name).touch()
        code = SCRIPT + "\n".join(f"    {line}" for line in body.splitlines())
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", code, str(log)],
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment,
            cwd=tmp_path,
            text=True,
            timeout=60,
        )
        return SimpleNamespace(status=done.returncode, out=done.stdout, err=done.stderr, log=log.read_text(), path=log)

    return run


FAILURES = {
    "raise ValueError('rank must be at most 300, got 900')": (
        "rank must be at most 300, got 900 (config.yaml: studies.annotation.basis)"
    ),
    "from jointsparse.provenance.tables import Damaged\nraise Damaged(\"results/a/it's.npz\", 'cut\\noff')": (
        "results/a/it's.npz is damaged (cut off): delete it and run again "
        "(rm 'results/a/it'\"'\"'s.npz'; then the same command as before)"
    ),
    "from jointsparse.checks import Misfit\nraise Misfit('Y must have 3 rows')": (
        "Y must have 3 rows. One of its inputs is from another run "
        "(rm results/a/words.csv 'results/a/it'\"'\"'s.npz'; then the same command as before)"
    ),
    "{}['W']": "KeyError: 'W' (the traceback is in LOG)",
    "raise ValueError('first\\n    second')": "first second (config.yaml: studies.annotation.basis)",
    "raise TypeError('first\\n    second')": "TypeError: first second (the traceback is in LOG)",
}


@pytest.mark.parametrize(("body", "said"), FAILURES.items())
def test_a_failure_is_one_line_with_what_to_do_and_has_its_traceback_in_the_log(run, body, said):
    done = run(body)
    assert done.status == 1
    assert done.err == f"error: fit_basis collage 1: {said}\n".replace("LOG", str(done.path))
    assert done.err.strip() in done.log
    assert "Traceback (most recent call last)" in done.log
    assert not done.log.endswith(" ends\n")


def test_a_table_that_was_changed_after_it_was_made_is_refused(run, tmp_path):
    run("pass")
    folder = tmp_path / "results" / "a"
    (folder / "made.csv").rename(folder / "words.csv")  # which this job reads
    (folder / "records" / "made.csv.json").rename(folder / "records" / "words.csv.json")
    assert run("pass").status == 0
    (folder / "words.csv").write_text("edited\n\n")
    done = run("print('read')")
    assert done.status == 1 and done.out == ""
    assert done.err == (
        "error: fit_basis collage 1: results/a/words.csv is damaged (it was changed after it was made): delete it and "
        "run again (rm results/a/words.csv; then the same command as before)\n"
    )
    (folder / "records" / "words.csv.json").unlink()
    assert run("pass").status == 0


def test_a_job_that_works_says_nothing_and_logs_its_beginning_and_end(run):
    done = run("pass")
    assert (done.status, done.out, done.err) == (0, "", "")
    logged = [line.split(" ", 2)[2] for line in done.log.splitlines()]
    assert logged == ["fit_basis collage 1 begins", "fit_basis collage 1 ends"]


@pytest.mark.parametrize(
    ("body", "logged"),
    [
        ("for i in range(5):\n    progress(i + 1, 5)", ["5 of 5"]),
        ("warnings.simplefilter('always')\nwarnings.warn('mind the gap')", ["mind the gap"]),
    ],
)
def test_the_end_of_progress_and_warnings_are_logged_and_not_shown_without_a_terminal(run, body, logged):
    done = run(body)
    assert re.findall("mind the gap$|. of 5$", done.log, re.MULTILINE) == logged
    assert done.err == ""


def test_progress_is_logged_every_ten_seconds_and_told_every_minute(run):
    """On a clock that jumps to a later day, and then moves on by four seconds whenever it is looked at."""
    clock = "import itertools, job\nticks = itertools.count(10**9, 4)\njob.time.monotonic = lambda: next(ticks)\n"
    done = run(clock + "for i in range(20):\n    progress(i + 1, 1000)")
    assert re.findall(r" (\d+) of 1000$", done.log, re.MULTILINE)[:3] == ["1", "4", "7"]
    assert re.findall(r"^fit_basis \w.*: (\d+) of 1000$", done.err, re.MULTILINE) == ["1", "17"]


@pytest.mark.parametrize(
    ("told", "drawn"), [("", "fit_basis collage 1: "), (JOBS_ARE_TOLD, f"{ERASE}error: fit_basis")]
)
def test_a_bar_is_drawn_in_a_terminal_unless_the_run_tells_of_its_jobs(run, monkeypatch, told, drawn):
    if told:
        monkeypatch.setenv(told, "yes")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    os.set_blocking(ours, False)  # nothing drawn is an error then, and not an endless wait
    run("for i in range(5):\n    progress(i + 1, 5)\nraise ValueError", stderr=theirs)
    got = os.read(ours, 10_000).decode()
    os.close(ours)
    os.close(theirs)
    assert got.lstrip("\r").startswith(drawn.lstrip("\r"))


def test_an_interrupted_job_says_nothing_as_its_run_does(run):
    done = run("raise KeyboardInterrupt")
    assert done.status != 0
    assert (done.out, done.err) == ("", "")


def test_an_old_log_is_replaced(run):
    run("raise ValueError('first')")
    assert "first" not in run("pass").log

"""The terminal of a run: one line of progress, what was found at the end, or why it stopped."""

import atexit
import json
import logging
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

SECONDS_BETWEEN_LINES = 60  # where lines stay, that is not on a terminal
SECONDS_BETWEEN_LOOKS = 1  # at the jobs, on a terminal
FEWEST_JOBS = 5  # Choice: that are done before the time left is guessed
ERASE = "\r\x1b[2K"  # the last line of a terminal
JOBS_ARE_TOLD = "JOINTSPARSE_JOBS_ARE_TOLD"  # environment variable, for which jobs draw no bar
INTERRUPTED = "Terminating processes on user request"
# Kinds of Snakemake's messages that its log file keeps and the terminal does without, and how others begin.
HIDDEN = {"workflow_started", "run_info", "resources_info", "job_info", "group_info", "shellcmd"}
HIDDEN |= {"job_started", "job_finished", "job_error", "progress"}
OTHERS = (
    "Assuming unrestricted shared filesystem",
    "Using shell",
    "Select jobs to execute",
    "Execute ",
    "RuleException:",
    "Shutting down",
    "Exiting because",
    INTERRUPTED,
)
AFTERWARDS = ("Complete log", "Elapsed time", "WorkflowError:\nAt least one job did not")  # after the last lines


class Calm(logging.Filter):
    """Lets through what people need of Snakemake's messages, and tells its progress as one line.

    failed: the rule and the log files of each job that failed. without_jobs: returns the line of a run that has nothing
    to do.
    """

    without_jobs: Callable[[], str] | None = None

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.stream, self.on_terminal = stream, stream.isatty()
        self.failed: list[tuple[str, list[str]]] = []
        self.running: dict[int, list[str]] = {}  # the log files of each job
        self.done = self.total = 0
        self.begun = self.told = time.monotonic()
        self.ended, self.lock = threading.Event(), threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a message goes to the terminal as it is."""
        event, message = str(getattr(record, "event", None) or ""), record.getMessage()
        self._follow(event, vars(record))
        if message.startswith("Nothing to be done") and self.without_jobs:
            self._write(f"{self.without_jobs()}\n")
        if message.startswith(INTERRUPTED):
            self.end("error: interrupted\n")
        others = OTHERS + AFTERWARDS if self.ended.is_set() else OTHERS
        # A job that was killed has said nothing of it, so Snakemake's words stay.
        killed = "died with" in message and "SIGINT" not in message
        shown = killed or not (event in HIDDEN or message.startswith(others))
        if shown and self.on_terminal and not self.ended.is_set():
            with self.lock:
                self.told = time.monotonic()
                self._write(ERASE)
        return shown

    def _follow(self, event: str, values: dict[str, Any]) -> None:
        if event == "run_info":
            self.begun, self.total = time.monotonic(), values.get("stats", {}).get("total", 0)
            self._begin()
        if event == "job_info":
            self.running[values.get("jobid", 0)] = list(values.get("log") or ())
        if event in ("job_finished", "job_error"):
            self.running.pop(values.get("job_id", values.get("jobid", 0)), None)
        if event == "job_error":
            self.failed.append((str(values.get("rule_name", "job")), list(values.get("log") or ())))
        if event == "progress":
            self.done, self.total = values.get("done", 0), values.get("total", 0)
            if not self.on_terminal and self.done < self.total and time.monotonic() - self.told > SECONDS_BETWEEN_LINES:
                self.told = time.monotonic()
                self._write(f"{self.line()}\n")

    def _begin(self) -> None:
        if self.on_terminal:
            os.environ[JOBS_ARE_TOLD] = "yes"
            atexit.register(self.end)  # whatever the run ends with
            threading.Thread(target=self._keep, daemon=True).start()
        else:
            self._write(f"{self.line()}\n")

    def _keep(self) -> None:
        """Keep the line up to date on a terminal until the run ends."""
        while not self.ended.wait(SECONDS_BETWEEN_LOOKS):
            oldest = [_told(logs[0]) for logs in list(self.running.values())[:1] if logs]
            line = "; ".join(filter(None, [self.line(), *oldest]))[: shutil.get_terminal_size().columns - 1]
            with self.lock:
                # The handler may still have to write a message that was let through a moment ago.
                if not self.ended.is_set() and time.monotonic() - self.told > SECONDS_BETWEEN_LOOKS / 2:
                    self._write(ERASE + line)

    def line(self) -> str:
        """Say how many jobs are done, and guess the time left."""
        seconds, said = time.monotonic() - self.begun, f"{self.done} of {self.total} jobs"
        if self.failed:
            return f"{said}, {len(self.failed)} failed"
        if self.done == self.total:
            return f"{said} in {f'{seconds / 60:.0f} min' if seconds > 90 else f'{seconds:.0f} s'}"
        if self.done < FEWEST_JOBS:
            return said
        left = seconds / self.done * (self.total - self.done)  # as if the jobs to come took as long as those before
        return f"{said}, about {left / 60:.0f} min left" if left > 90 else f"{said}, about a minute left"

    def end(self, last: str = "") -> None:
        """End the line of progress, once, with the last lines in its place."""
        with self.lock:
            if not self.ended.is_set():
                self.ended.set()
                self._write((ERASE if self.on_terminal else "") + last)

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def _told(log: str) -> str:
    """Read from the log of a job what it is, and how far."""
    text = _text(log)
    name = re.search(r"^\S+ \S+ (.*) begins$", text, re.MULTILINE)
    far = re.findall(r" (\d+ of \d+)$", text, re.MULTILINE)
    return ": ".join([name[1], *far[-1:]]) if name and not text.endswith(" ends\n") else ""


def _text(log: str) -> str:
    try:
        return Path(log).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def calm(workflow: Any) -> Calm | None:
    """Keep the terminal of a run calm. None if this is no run, if all shall be told, or for a logger plug-in."""
    from snakemake.logging import logger  # type: ignore[import-untyped]

    settings = workflow.output_settings
    if not workflow.is_main_process or settings.dryrun or settings.verbose or settings.printshellcmds:
        return None
    for handler in logger.handlers:
        if handler.name == "DefaultStreamHandler" and isinstance(handler, logging.StreamHandler):
            handler.addFilter(made := Calm(handler.stream))
            return made
    return None


def succeed(calm: Calm | None, found: Sequence[str]) -> None:
    """End a run with what was found."""
    text = "".join(f"{line}\n" for line in found)
    if calm is None:
        sys.stderr.write(text)
    else:
        calm.end((f"{calm.line()}\n" if calm.total else "") + text)


def fail(calm: Calm | None, logs: Sequence[str]) -> None:
    """End a run with a sentence for each failed job. logs: the files that have all messages."""
    if calm is not None:
        heading = f"{calm.line()}; all messages are in {', '.join(logs) or '.snakemake/log'}"
        calm.end("".join(f"{line}\n" for line in [heading, *reasons(calm.failed)]))


def reasons(failed: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Say why each failed job has failed: the sentence in its log, or where its log is."""
    lines = []
    for rule, logs in failed:
        said = [line for log in logs for line in _text(log).splitlines() if " error: " in line]
        unsaid = f"error: {rule} ended without a word, as a job that the system kills does (is there enough memory?)"
        lines.append(said[-1][said[-1].index("error: ") :] if said else f"{unsaid}; its log: {', '.join(logs)}")
    return list(dict.fromkeys(lines)) or ["error: the run has stopped, the reason stands above"]


def last_words(datasets: Sequence[str], results: Path) -> list[str]:
    """Say in three lines what a run has found, where its page is, and what to do about warnings.

    Files that are not there are passed over: a run may have been asked for a part.
    """
    found = [_finding(results / name / "findings.json") for name in datasets]
    lines = [f"{one['dataset']}: {one['sentence']}" for one in found if {"dataset", "sentence"} <= one.keys()][:1]
    page = results / (f"{datasets[0]}/index.html" if len(datasets) == 1 else "index.html")
    if page.is_file():
        lines.append(f"The page with all that was found: {page}")
    n_warnings = sum(one.get("warnings", 0) for one in found)
    if n_warnings:
        kinds = "kind of warning" if n_warnings == 1 else "kinds of warnings"
        lines.append(f"{n_warnings} {kinds}: the page says in plain words what each means and what to do.")
    return lines


def _finding(file: Path) -> dict[str, Any]:
    """Read what the page of a dataset tells of itself; nothing if there is none, or it was cut off."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}

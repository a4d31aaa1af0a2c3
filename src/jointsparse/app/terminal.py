"""The terminal of a run: one line of progress, what was found at the end, or why it stopped."""

import atexit
import json
import logging
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from jointsparse.app.internals import handler_of_terminal

SECONDS_BETWEEN_LINES = 60  # where lines stay, that is not on a terminal
FEWEST_JOBS = 5  # Choice: that are done before the time left is guessed
ERASE = "\r\x1b[2K"  # the last line of a terminal
UNSAID = "error: {} ended without a word, as a job that the system kills does (is there enough memory?); its log: {}"
# How errors begin that are told as a sentence for each job instead.
HIDDEN = ("RuleException:", "Exiting because", "WorkflowError:\nAt least one job did not")


class Calm(logging.Filter):
    """Lets through warnings and errors of Snakemake, and tells its progress as one line.

    without_jobs: returns the line of a run that has nothing to do.
    """

    def __init__(self, stream: TextIO, without_jobs: Callable[[], str]) -> None:
        super().__init__()
        self.stream, self.on_terminal, self.without_jobs = stream, stream.isatty(), without_jobs
        self.failed: list[tuple[str, list[str]]] = []  # the rule and the log files of each job
        self.done = self.total = 0
        self.begun, self.told, self.ended = time.monotonic(), float("-inf"), False

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a message goes to the terminal as it is."""
        event, message, values = str(getattr(record, "event", None) or ""), record.getMessage(), vars(record)
        match event:
            case "run_info":
                self.begun, self.total = time.monotonic(), values["stats"]["total"]
                atexit.register(self.end, [])  # whatever the run ends with
            case "job_error":
                self.failed.append((values["rule_name"], list(values["log"])))
            case "progress":
                self.done, self.total = values["done"], values["total"]
        if message.startswith("Nothing to be done"):
            self.end([message, self.without_jobs()])
        if message.startswith("Terminating processes on user request"):
            self.end(["error: interrupted"])
        # A job that was killed has said nothing of it, so Snakemake's words stay.
        killed = "died with" in message and "SIGINT" not in message
        hidden = record.levelno < logging.WARNING or event == "job_error" or message.startswith(HIDDEN)
        self._draw(cleared=killed or not hidden)
        return killed or not hidden

    def _draw(self, *, cleared: bool) -> None:
        """Bring the line of progress up to date. cleared: make room for a message instead, on a terminal."""
        late = time.monotonic() - self.told > SECONDS_BETWEEN_LINES and self.done < self.total
        if self.total and not self.ended and self.on_terminal:
            print(ERASE if cleared else f"{ERASE}{self.line()}", end="", file=self.stream, flush=True)
        elif late and not self.ended:
            self.told = time.monotonic()
            print(self.line(), file=self.stream, flush=True)

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

    def succeed(self, found: Sequence[str]) -> None:
        """End a run with what was found."""
        self.end([self.line(), *found] if self.total else found)

    def fail(self, logs: Sequence[str]) -> None:
        """End a run with a sentence for each failed job. logs: the files that have all messages."""
        lines = [f"{self.line()}; all messages are in {', '.join(logs) or '.snakemake/log'}"]
        for rule, files in self.failed:
            texts = [Path(file).read_text(encoding="utf-8", errors="replace") for file in files if Path(file).is_file()]
            said = [line for text in texts for line in text.splitlines() if " error: " in line]
            lines.append(said[-1][said[-1].index("error: ") :] if said else UNSAID.format(rule, ", ".join(files)))
        self.end(list(dict.fromkeys(lines)) if self.total else [])

    def end(self, lines: Sequence[str]) -> None:
        """Put the last lines in the place of the line of progress, once."""
        if not self.ended:
            self.ended = True
            text = "".join([ERASE if self.on_terminal else "", *(f"{line}\n" for line in lines)])
            print(text, end="", file=self.stream, flush=True)


def calm(workflow: Any, without_jobs: Callable[[], str]) -> Calm:
    """Keep the terminal of a run calm, unless all shall be told, or a logger plug-in tells. See `Calm`."""
    handler = handler_of_terminal(workflow)
    made = Calm(handler.stream if handler else sys.stderr, without_jobs)
    if handler:
        handler.addFilter(made)
    return made


def last_words(datasets: Sequence[str], results: Path) -> list[str]:
    """Say in three lines what a run has found, where its page is, and what to do about warnings.

    Files that are not there, or damaged, are passed over: a run may have been asked for a part.
    """
    found = []
    for name in datasets:
        with suppress(OSError, ValueError):
            found.append(json.loads((results / name / "findings.json").read_text(encoding="utf-8")))
    lines = [f"{one['dataset']}: {one['sentence']}" for one in found[:1]]
    page = results / (f"{datasets[0]}/index.html" if len(datasets) == 1 else "index.html")
    if page.is_file():
        lines.append(f"The page with all that was found: {page}")
    if n_warnings := sum(one["warnings"] for one in found):
        kinds = "kind of warning" if n_warnings == 1 else "kinds of warnings"
        lines.append(f"{n_warnings} {kinds}: the page says in plain words what each means and what to do.")
    return lines

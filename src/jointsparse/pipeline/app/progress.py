"""What a run writes to the terminal in the place of Snakemake's messages: progress, warnings, and last words."""

import json
import logging
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from jointsparse.pipeline.app import lock
from jointsparse.pipeline.app.terminal import ERASE, say
from jointsparse.pipeline.provenance import manifest

SECONDS_BETWEEN_LINES = 60  # where lines stay, that is not on a terminal
UNSAID = "error: {} ended without a word, as a job that the system kills does (is there enough memory?); its log: {}"
# How messages begin that say no more than the sentence of a failed job, or nothing that people need.
HIDDEN = ("RuleException:", "Exiting because", "WorkflowError:\nAt least one job did not", "Cannot restore", "Restored")


class Progress(logging.Handler):
    """Handler of Snakemake's messages that writes a line of progress, warnings and errors, and a run's last words.

    It reads the events of Snakemake's interface for logger plug-ins. It is no plug-in itself, because plug-ins get
    their events in another thread, too late for the last words to come last.

    Parameters
    ----------
    stream : file
        The terminal, or what stands in its place.
    without_jobs : function
        Returns the last line of a run that has nothing to do.
    dry : bool
        True for a run that only says what it would do.
    silent : bool
        True if another handler writes the messages of the run. The last words are written all the same.
    """

    def __init__(
        self, stream: TextIO, without_jobs: Callable[[], str], *, dry: bool = False, silent: bool = False
    ) -> None:
        super().__init__()
        self.stream, self.without_jobs, self.dry, self.silent = stream, without_jobs, dry, silent
        self.rules = set[str]()  # of the jobs to run
        self.failed: dict[int, tuple[str, Sequence[str]]] = {}  # by job: its rule, or those of its group, and the logs
        self.done = self.total = 0
        self.begun, self.written = time.monotonic(), float("-inf")

    def emit(self, record: logging.LogRecord) -> None:
        message, values = record.getMessage(), vars(record)
        match values.get("event"):
            case LogEvent.RUN_INFO if not self.rules:  # a dry run has it twice
                self.rules = {*values["stats"]} - {"total"}
                if self.dry:
                    self._write(*message.strip().split("\n"))
                else:
                    self._count(0, values["stats"]["total"])
            case LogEvent.PROGRESS:
                self._count(values["done"], values["total"])
            case LogEvent.JOB_FINISHED:
                self.failed.pop(values["job_id"], None)
            case LogEvent.JOB_ERROR if not values.get("indent"):  # else it is one of a group
                self.failed[values["jobid"]] = values["rule_name"], values["log"]
            case LogEvent.GROUP_ERROR:
                jobs = values["job_error_info"]
                rules = " or ".join(dict.fromkeys(job["rule_name"] for job in jobs))
                logs = [*(log for job in jobs for log in job["log"]), *values["aux_logs"]]
                self.failed |= {job["jobid"]: (rules, logs) for job in jobs}
            case None | LogEvent.ERROR:
                self._pass_on(message, record.levelno, values.get("exception"))

    def _pass_on(self, message: str, level: int, exception: str | None) -> None:
        """Write a message of Snakemake if people need it, or a sentence in its place."""
        if message.startswith("Nothing to be done"):
            self._write(message, *([] if self.dry else [self.without_jobs()]))
        elif message.startswith("Terminating processes on user request"):
            self._write("error: interrupted")
            self.total = 0  # so that `fail` adds nothing
        elif exception == "LockException":
            self._write(f"error: {lock.sentence()}")
        elif message.startswith("Unlocked") or (level >= logging.WARNING and not _hidden(message)):
            self._write(*message.split("\n"))

    def _count(self, done: int, total: int) -> None:
        """Bring the line of progress up to date: on a terminal in its place, else once a minute."""
        self.done, self.total = done, total
        if self.silent:
            return
        if self.stream.isatty():
            print(f"{ERASE}{self._line()}", end="", file=self.stream, flush=True)
        elif time.monotonic() - self.written > SECONDS_BETWEEN_LINES and done < total:
            self.written = time.monotonic()
            say(self._line(), to=self.stream)

    def _line(self) -> str:
        jobs = f"{self.done} of {self.total} jobs"
        return f"{jobs}, {len(self.failed)} failed" if self.failed else jobs

    def _write(self, *lines: str, always: bool = False) -> None:
        """Write lines in the place of the line of progress."""
        if always or not self.silent:
            self._clear()
            say(*lines, to=self.stream)

    def _clear(self) -> None:
        if self.total and not self.silent and self.stream.isatty():
            print(ERASE, end="", file=self.stream, flush=True)

    def close(self) -> None:
        """Leave no line of progress behind, whatever the run ends with."""
        self._clear()
        super().close()

    def succeed(self, found: Iterable[str]) -> None:
        """End a run with what was found."""
        if self.total:
            seconds = time.monotonic() - self.begun
            took = f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"
            self._write(f"{self._line()} in {took}", *found, always=True)
            self.total = 0

    def fail(self, logs: Sequence[str], *, remote: bool) -> None:
        """End a run with a sentence for each failed job.

        logs: the files that have all messages. remote: True if jobs ran elsewhere, so that their logs are named, too.
        """
        if self.total:
            sentences = dict.fromkeys(_sentence(*job, remote) for job in self.failed.values())
            all_messages = f"{self._line()}; all messages are in {', '.join(logs) or '.snakemake/log'}"
            self._write(all_messages, *sentences, always=True)
            self.total = 0


def _hidden(message: str) -> bool:
    """Whether a warning or error says nothing that people need."""
    killed = "died with" in message and "SIGINT" not in message  # a job that has said nothing of it
    return message.startswith(HIDDEN) and not killed


def _sentence(rule: str, logs: Sequence[str], remote: bool) -> str:
    """The last sentence that a failed job has left in one of its logs."""
    texts = [Path(log).read_text(encoding="utf-8", errors="replace") for log in logs if Path(log).is_file()]
    said = [line for text in texts for line in text.splitlines() if line[:1].isdigit() and " error: " in line]
    if not said:
        return UNSAID.format(rule, ", ".join(logs))
    sentence = said[-1][said[-1].index("error: ") :]
    return f"{sentence} (its log: {', '.join(logs)})" if remote else sentence


def attach(workflow: Any, without_jobs: Callable[[], str]) -> Progress:
    """Hand the messages of a run to `Progress`.

    Snakemake's own handler or a logger plug-in writes them if the user asks for all of them, or names a plug-in.
    `Progress` then writes the last words alone.
    """
    settings = workflow.output_settings
    own = next((handler for handler in logger.handlers if handler.name == "DefaultStreamHandler"), None)
    silent = own is None or settings.verbose or settings.printshellcmds or settings.debug_dag
    stream = own.stream if isinstance(own, logging.StreamHandler) else sys.stderr
    progress = Progress(stream, without_jobs, dry=settings.dryrun, silent=silent)
    if workflow.is_main_process:  # not one that it starts for a job
        logger.addHandler(progress)
        if own and not silent:
            for option in own.filters:  # --quiet
                progress.addFilter(option)
            logger.removeHandler(own)
    return progress


def verified(results: Path) -> str:
    """Say whether the results are as the jobs have left them, or what to remove so that they are made again."""
    recorded = manifest.recorded(results)
    changed = manifest.different(recorded, cache=results / "records" / "seen.json")
    if changed:
        return f"changed after they were made: rm -r {shlex.join(changed)}; then run again"
    return f"{len(recorded)} results as recorded."


def last_words(datasets: Sequence[str], results: Path) -> list[str]:
    """Say in two lines what a run has found, and where its page is, with the number of warnings.

    Files that are not there, or damaged, are passed over: a run may have been asked for a part.
    """
    findings = []
    for name in datasets:
        with suppress(OSError, ValueError):
            findings.append(json.loads((results / name / "findings.json").read_text(encoding="utf-8")))
    lines = [f"{first['dataset']}: {first['sentence']}" for first in findings[:1]]
    page = results / (f"{datasets[0]}/index.html" if len(datasets) == 1 else "index.html")
    n_warnings = sum(finding["warnings"] for finding in findings)
    warned = f" and {n_warnings} warning{'s' if n_warnings > 1 else ''}" if n_warnings else ""
    return [*lines, f"The page with all that was found{warned}: {page}"] if page.is_file() else lines

"""Show the progress, warnings and results of a run on the terminal, in place of Snakemake's own messages."""

import json
import logging
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from jointsparse.pipeline.app import disk, lock
from jointsparse.pipeline.app.interrupt import RESUME
from jointsparse.pipeline.app.terminal import ERASE, say
from jointsparse.pipeline.provenance import manifest

SECONDS_BETWEEN_LINES = 60  # between progress lines in a file or pipe, where a line cannot be overwritten
UNSAID = "error: {} ended without a message{}; its log: {}"
KILLED = ", as if the system had killed it (is there enough memory?)"
SIGNS_OF_A_KILL = ("SIGKILL", "exit status 137")
FULL_DISK = f"non-zero exit status {disk.STATUS}."
# First words of messages that are hidden, because they repeat the message of a failed job or do not help the user.
HIDDEN = ("RuleException:", "Exiting because", "WorkflowError:\nAt least one job did not", "Cannot restore", "Restored")


class Progress(logging.Handler):
    """Logging handler that writes a progress line, warnings and errors, and a summary at the end of a run.

    It reads the events of Snakemake's interface for logger plug-ins. It is not a plug-in itself, because plug-ins
    receive their events in another thread, so that the summary would not be the last output.

    Parameters
    ----------
    stream : file
        The terminal, or the file or pipe to write to.
    without_jobs : function
        Returns the last line of a run that has nothing to do.
    dry : bool
        True for a dry run.
    silent : bool
        True if another handler writes the messages of the run. The summary is written in any case.
    """

    def __init__(
        self, stream: TextIO, without_jobs: Callable[[], str], *, dry: bool = False, silent: bool = False
    ) -> None:
        super().__init__()
        self.stream, self.without_jobs, self.dry, self.silent = stream, without_jobs, dry, silent
        self.rules = set[str]()  # the rules of the jobs to run
        self.failed: dict[int, tuple[str, Sequence[str]]] = {}  # by job: rule(s) and logs
        self.done = self.total = 0
        self.interrupted = self.killed = False
        self.full_disk = ""  # the message about a full disk that is still to be written
        self.begun, self.written = time.monotonic(), float("-inf")

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):  # the terminal may be gone, or the file that it stands for cannot be written
            self._emit(record)

    def _emit(self, record: logging.LogRecord) -> None:
        message, values = record.getMessage(), vars(record)
        match values.get("event"):
            case LogEvent.RUN_INFO if not self.rules:  # a dry run sends this event twice
                self.rules = {*values["stats"]} - {"total"}
                if self.dry:
                    self._write(*message.strip().split("\n"))
                else:
                    self._count(0, values["stats"]["total"])
            case LogEvent.PROGRESS:
                self._count(values["done"], values["total"])
            case LogEvent.JOB_FINISHED:
                self.failed.pop(values["job_id"], None)
            case LogEvent.JOB_ERROR if not values.get("indent"):  # jobs of a group are indented and come as GROUP_ERROR
                self.failed[values["jobid"]] = values["rule_name"], values["log"]
            case LogEvent.GROUP_ERROR:
                jobs = values["job_error_info"]
                rules = " or ".join(dict.fromkeys(job["rule_name"] for job in jobs))
                logs = [*(log for job in jobs for log in job["log"]), *values["aux_logs"]]
                self.failed |= {job["jobid"]: (rules, logs) for job in jobs}
            case None | LogEvent.ERROR:
                self._pass_on(message, record.levelno, values.get("exception"))

    def _pass_on(self, message: str, level: int, exception: str | None) -> None:
        """Pass a message from Snakemake on to the user if it is useful, rewording it if necessary."""
        self.killed |= any(sign in message for sign in SIGNS_OF_A_KILL)
        if self.interrupted:  # what Snakemake says about processes that end early does not help
            return
        if level >= logging.WARNING and (FULL_DISK in message or disk.is_full(message)):
            self.full_disk = self.full_disk or f"error: {disk.sentence(None, '.')}"
        elif message.startswith("Nothing to be done"):
            self._write(message, *([] if self.dry else [self.without_jobs()]))
        elif message.startswith("Terminating processes on user request"):
            self._write(RESUME)
            self.interrupted = True
            self.total = 0  # so that `fail` adds nothing
        elif exception == "LockException":
            self._write(f"error: {lock.sentence()}")
        elif message.startswith("Unlocked") or (level >= logging.WARNING and not _hidden(message)):
            self._write(*message.split("\n"))

    def _count(self, done: int, total: int) -> None:
        """Update the progress line. On a terminal it is overwritten; elsewhere a new line is written once a minute."""
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
        """Write lines of text in place of the progress line."""
        if always or not self.silent:
            self._clear()
            say(*lines, to=self.stream)

    def _clear(self) -> None:
        if self.total and not self.silent and self.stream.isatty():
            print(ERASE, end="", file=self.stream, flush=True)

    def announce(self, deleted: Sequence[str]) -> None:
        """Name the results that have been deleted and are made again."""
        if deleted:
            self._write(f"Making results again that have been deleted: {shlex.join(deleted)}")

    def close(self) -> None:
        """Erase the progress line, and say that a disk is full if that ended Snakemake before `fail` was called."""
        self._clear()
        with suppress(OSError):
            self._write(*filter(None, [self.full_disk]), always=True)
        self.full_disk = ""
        super().close()

    def succeed(self, found: Iterable[str]) -> None:
        """Write the summary of a run that succeeded. found: the lines about its results."""
        if self.total:
            seconds = time.monotonic() - self.begun
            took = f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"
            self._write(f"{self._line()} in {took}", *found, always=True)
            self.total = 0

    def fail(self, logs: Sequence[str], *, remote: bool) -> None:
        """Write the summary of a run that failed, with a sentence for each failed job, and only one for a full disk.

        logs: the log files of the whole run. remote: True if jobs ran on other machines; the summary then names their
        log files.
        """
        if self.total:
            said = {(rule, tuple(logs)): _last_error(logs) for rule, logs in self.failed.values()}
            full = next((error for error in said.values() if disk.AGAIN in error), self.full_disk)
            kill = KILLED if self.killed or remote else ""
            sentences = [
                f"{error} (its log: {', '.join(logs)})"
                if error and remote
                else error or UNSAID.format(rule, kill, ", ".join(logs))
                for (rule, logs), error in said.items()
                if not full or (error and disk.AGAIN not in error)
            ]
            all_messages = f"{self._line()}. The complete log is in {', '.join(logs) or '.snakemake/log'}"
            self._write(all_messages, *dict.fromkeys(sentences), *filter(None, [full]), always=True)
            self.total, self.full_disk = 0, ""


def _hidden(message: str) -> bool:
    """Return True if a warning or error from Snakemake is of no use to the user."""
    killed = "died with" in message and "SIGINT" not in message  # a killed job could not report its own end
    return message.startswith(HIDDEN) and not killed


def _last_error(logs: Sequence[str]) -> str:
    """Return the last error message in the logs of a failed job, or an empty string."""
    texts = [Path(log).read_text(encoding="utf-8", errors="replace") for log in logs if Path(log).is_file()]
    said = [line for text in texts for line in text.splitlines() if line[:1].isdigit() and " error: " in line]
    return said[-1][said[-1].index("error: ") :] if said else ""


def attach(workflow: Any, without_jobs: Callable[[], str]) -> Progress:
    """Make `Progress` handle Snakemake's messages about a run.

    If the user asks for verbose output or names a logger plug-in, Snakemake's own handler or the plug-in writes the
    messages, and `Progress` writes only the summary.
    """
    settings = workflow.output_settings
    own = next((handler for handler in logger.handlers if handler.name == "DefaultStreamHandler"), None)
    silent = own is None or settings.verbose or settings.printshellcmds or settings.debug_dag
    stream = own.stream if isinstance(own, logging.StreamHandler) else sys.stderr
    progress = Progress(stream, without_jobs, dry=settings.dryrun, silent=silent)
    if workflow.is_main_process:  # not in the processes that Snakemake starts for jobs
        logger.addHandler(progress)
        logging.raiseExceptions = False  # Snakemake's log may be on a full disk, too
        if own and not silent:
            for option in own.filters:  # --quiet
                progress.addFilter(option)
            logger.removeHandler(own)
    return progress


def verified(results: Path) -> str:
    """Return a message that no result has changed, or else the command that removes the changed results."""
    recorded = manifest.recorded(results)
    faults = manifest.different(recorded, cache=results / "records" / "seen.json")
    if changed := [name for name in faults if os.path.lexists(name)]:
        return f"Some results were changed after they were made. Remove them and run again: rm -r {shlex.join(changed)}"
    if faults:
        return f"Some results have been deleted. To make those of this run, run again: {shlex.join(faults)}"
    return f"All {len(recorded)} results match their records."


def last_words(datasets: Sequence[str], results: Path) -> list[str]:
    """Return a line about the results of a run, and a line with the path of its page and the number of warnings.

    Missing and damaged files are skipped, because the user may have asked for only some of the results.
    """
    findings = []
    for name in datasets:
        with suppress(OSError, ValueError):
            findings.append(json.loads((results / name / "findings.json").read_text(encoding="utf-8")))
    lines = [f"{first['dataset']}: {first['sentence']}" for first in findings[:1]]
    page = results / (f"{datasets[0]}/index.html" if len(datasets) == len(findings) == 1 else "index.html")
    n_warnings = sum(finding["warnings"] for finding in findings)
    warned = f" and {n_warnings} warning{'s' if n_warnings > 1 else ''}" if n_warnings else ""
    return [*lines, f"The page with the results{warned}: {page}"] if page.is_file() else lines

"""The terminal: the one way of all commands to it, and that of a run, with a line of progress and its end."""

import atexit
import json
import logging
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from jointsparse.checks import printable
from jointsparse.pipeline.app import lock
from jointsparse.pipeline.app.forecast import Forecast
from jointsparse.pipeline.app.internals import handler_of_terminal, jobs_to_run

SECONDS_BETWEEN_LINES = 60  # where lines stay, that is not on a terminal
RULES_A_LINE = 4
FEWEST_JOBS = 5  # Choice: that are done before the time left is guessed
ERASE = "\r\x1b[2K"  # the last line of a terminal
UNSAID = "error: {} ended without a word, as a job that the system kills does (is there enough memory?); its log: {}"
# How errors begin that are told as a sentence for each job instead, and what of a failed job's files is of no matter.
HIDDEN = ("RuleException:", "Exiting because", "WorkflowError:\nAt least one job did not", "Cannot restore", "Restored")


def say(*lines: str, to: TextIO | None = None) -> None:
    """Print lines, by default to stdout. All that a command prints comes through here.

    Words, names and errors may come from anywhere, see `checks.printable`. Letters that it does not have are escaped.
    """
    stream = sys.stdout if to is None else to
    encoding = stream.encoding or "utf-8"
    text = "".join(f"{printable(line)}\n" for line in lines)
    print(text.encode(encoding, "backslashreplace").decode(encoding), end="", file=stream, flush=True)


class Calm(logging.Filter):
    """Lets through warnings and errors of Snakemake, and tells its progress as one line.

    Parameters
    ----------
    stream : file
        The terminal, or what stands in its place.
    without_jobs : function
        Returns the line of a run that has nothing to do.
    jobs : function
        Returns the jobs of the run, see `internals.jobs_to_run`.
    dry : bool
        True for a run that only says what it would do.
    """

    def __init__(
        self,
        stream: TextIO,
        without_jobs: Callable[[], str],
        jobs: Callable[[], Mapping[int, tuple[str, str]]] = dict,
        *,
        dry: bool = False,
    ) -> None:
        super().__init__()
        self.stream, self.on_terminal, self.without_jobs = stream, stream.isatty(), without_jobs
        self.jobs, self.dry = jobs, dry
        self.forecast = Forecast({}, 0.0)
        self.failed: dict[int | str, tuple[str, list[str]]] = {}  # the rule and the log files of each job or group
        self.done = self.total = 0
        self.begun, self.told, self.ended = time.monotonic(), float("-inf"), False

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a message goes to the terminal as it is."""
        event, message, values = str(getattr(record, "event", None) or ""), record.getMessage(), vars(record)
        match event:
            case "run_info" if self.dry:
                self.end(planned(values["stats"]))
            case "run_info":
                self.begun, self.total = time.monotonic(), values["stats"]["total"]
                self.forecast = Forecast(self.jobs(), self.begun)
                atexit.register(self.end, [])  # whatever the run ends with
            case "job_started":
                self._start(values["jobs"])
            case "group_info":
                self._start([values["group_id"], *(job.jobid for job in values["jobs"])])
            case "job_finished":
                self.done += 1
                self.forecast.finish(values["job_id"], time.monotonic())
            case "job_error" if not values.get("indent"):  # else it is one of a group
                self.failed[values["jobid"]] = values["rule_name"], list(values["log"])
            case "group_error":
                jobs = values["job_error_info"]
                logs = [*(log for job in jobs for log in job["log"]), *values["aux_logs"]]
                self.failed[values["groupid"]] = " or ".join(dict.fromkeys(job["rule_name"] for job in jobs)), logs
            case "progress":
                self.done, self.total = values["done"], values["total"]
        if message.startswith("Nothing to be done"):
            self.end([message] if self.dry else [message, self.without_jobs()])
        if message.startswith("Unlocked"):
            self.end([message])
        if values.get("exception") == "LockException":
            self.end([f"error: {lock.sentence()}"])
        if message.startswith("Terminating processes on user request"):
            self.end(["error: interrupted"])
        # A job that was killed has said nothing of it, so Snakemake's words stay.
        killed = "died with" in message and "SIGINT" not in message
        hidden = record.levelno < logging.WARNING or event in ("job_error", "group_error") or message.startswith(HIDDEN)
        hidden |= values.get("exception") == "LockException"
        self._draw(cleared=killed or not hidden)
        if killed or not hidden:
            record.msg, record.args = "\n".join(map(printable, message.split("\n"))), ()
        return killed or not hidden

    def _start(self, jobs: Sequence[int | str]) -> None:
        """Note that jobs or groups run, for the first time or again."""
        for job in jobs:
            self.failed.pop(job, None)
        self.forecast.start(jobs, time.monotonic())

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
        left = self.forecast.left(time.monotonic())
        return f"{said}, about {left / 60:.0f} min left" if left > 90 else f"{said}, about {max(left, 5):.0f} s left"

    def succeed(self, found: Sequence[str]) -> None:
        """End a run with what was found."""
        self.end([self.line(), *found] if self.total else found)

    def fail(self, logs: Sequence[str], *, remote: bool = False) -> None:
        """End a run with a sentence for each failed job.

        logs: the files that have all messages. remote: True if jobs ran elsewhere, so that their logs are named, too.
        """
        lines = [f"{self.line()}; all messages are in {', '.join(logs) or '.snakemake/log'}"]
        for rule, files in self.failed.values():
            texts = [Path(file).read_text(encoding="utf-8", errors="replace") for file in files if Path(file).is_file()]
            said = [line for text in texts for line in text.splitlines() if line[:1].isdigit() and " error: " in line]
            line = said[-1][said[-1].index("error: ") :] if said else UNSAID.format(rule, ", ".join(files))
            lines.append(f"{line} (its log: {', '.join(files)})" if said and remote else line)
        self.end(list(dict.fromkeys(lines)) if self.total else [])

    def end(self, lines: Sequence[str]) -> None:
        """Put the last lines in the place of the line of progress, once."""
        if not self.ended:
            self.ended = True
            print(ERASE if self.on_terminal else "", end="", file=self.stream, flush=True)
            say(*lines, to=self.stream)


def calm(workflow: Any, without_jobs: Callable[[], str]) -> Calm:
    """Keep the terminal of a run calm, unless all shall be told, or a logger plug-in tells. See `Calm`."""
    handler = handler_of_terminal(workflow)
    stream, dry = handler.stream if handler else sys.stderr, workflow.output_settings.dryrun
    made = Calm(stream, without_jobs, lambda: jobs_to_run(workflow), dry=dry)
    if handler:
        handler.addFilter(made)
    return made


def planned(stats: Mapping[str, int]) -> list[str]:
    """Say in a few lines which jobs a run would begin. stats: their number by rule, and in total.

    >>> planned({"describe": 4, "encode": 4, "total": 8})
    ['8 jobs would run; --printshellcmds tells of each, and why:', '    4 describe             4 encode']
    """
    jobs = [f"{count:5} {rule:<17}" for rule, count in stats.items() if rule != "total"]
    rows = ["".join(jobs[start : start + RULES_A_LINE]).rstrip() for start in range(0, len(jobs), RULES_A_LINE)]
    return [f"{stats['total']} jobs would run; --printshellcmds tells of each, and why:", *rows]


def verified(results: Path) -> str:
    """Say whether the results are as the jobs have left them, or what to remove so that they are made again."""
    from jointsparse.pipeline.provenance import manifest  # needs the extra, which `jointsparse --version` does not

    recorded = manifest.recorded(results)
    changed = manifest.different(recorded, cache=results / "records" / "seen.json")
    if changed:
        return f"changed after they were made: rm -r {shlex.join(changed)}; then run again"
    return f"{len(recorded)} results as recorded."


def last_words(datasets: Sequence[str], results: Path) -> list[str]:
    """Say in two lines what a run has found, and where its page is, with the number of warnings.

    Files that are not there, or damaged, are passed over: a run may have been asked for a part.
    """
    found = []
    for name in datasets:
        with suppress(OSError, ValueError):
            found.append(json.loads((results / name / "findings.json").read_text(encoding="utf-8")))
    lines = [f"{one['dataset']}: {one['sentence']}" for one in found[:1]]
    page = results / (f"{datasets[0]}/index.html" if len(datasets) == 1 else "index.html")
    n_warnings = sum(one["warnings"] for one in found)
    warned = f" and {n_warnings} warning{'s' if n_warnings > 1 else ''}" if n_warnings else ""
    return [*lines, f"The page with all that was found{warned}: {page}"] if page.is_file() else lines

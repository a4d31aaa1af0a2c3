"""The terminal of a run: a line of progress now and then, what was found at the end, or why it stopped."""

import json
import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

SECONDS_BETWEEN_LINES = 60  # where lines stay, that is not on a terminal
FEWEST_JOBS = 5  # Choice: that are done before the time left is guessed
# Kinds of Snakemake's messages that its log file keeps and the terminal does without, and how others begin.
HIDDEN = {"job_info", "job_started", "job_finished", "shellcmd", "run_info", "resources_info", "group_info"}
OTHERS = ("Select jobs to execute", "Execute ", "RuleException:", "Shutting down", "Exiting because")


class Calm(logging.Filter):
    """Lets through what people need of Snakemake's messages, and tells its progress as one line.

    failed: the rule and the log files of each job that failed.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.stream = stream
        self.failed: list[tuple[str, list[str]]] = []
        self.begun = time.monotonic()
        self.told = self.begun

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a message goes to the terminal as it is."""
        event = str(getattr(record, "event", None) or "")
        if event == "progress":
            self._tell(getattr(record, "done", 0), getattr(record, "total", 0))
        if event == "job_error":
            job: dict[str, Any] = getattr(record, "job_info", None) or vars(record)
            self.failed.append((str(job.get("rule_name") or job.get("name") or "job"), list(job.get("log") or ())))
        # A job that was killed has said nothing of it, so Snakemake's words stay.
        killed = "died with" in record.getMessage()
        return killed or not (event in HIDDEN | {"progress", "job_error"} or record.getMessage().startswith(OTHERS))

    def _tell(self, done: int, total: int) -> None:
        now, on_terminal = time.monotonic(), self.stream.isatty()
        if done < total and not on_terminal and now - self.told < SECONDS_BETWEEN_LINES:
            return
        self.told = now
        line = f"{done} of {total} jobs{_left(now - self.begun, done, total)}"
        end = "\n" if done == total or not on_terminal else ""
        self.stream.write(f"\r\x1b[2K{line}{end}" if on_terminal else f"{line}\n")
        self.stream.flush()


def _left(seconds: float, done: int, total: int) -> str:
    """Guess the time left, as if the jobs to come took as long as those before."""
    if done < FEWEST_JOBS or done == total:
        return ""
    left = seconds / done * (total - done)
    return f", about {left / 60:.0f} min left" if left > 90 else ", about a minute left"


def calm() -> Calm | None:
    """Keep Snakemake's own handler calm from now on. None if there is none, as with a logger plug-in."""
    from snakemake.logging import logger  # type: ignore[import-untyped]

    for handler in logger.handlers:
        if handler.name == "DefaultStreamHandler" and isinstance(handler, logging.StreamHandler):
            found = next((one for one in handler.filters if isinstance(one, Calm)), None) or Calm(handler.stream)
            handler.addFilter(found)
            return found
    return None


def last_words(datasets: Sequence[str], results: Path) -> list[str]:
    """Say in three lines what a run has found, where its page is, and what to do about warnings.

    Files that are not there are passed over: a run may have been asked for a part.
    """
    found = [_finding(results / name / "findings.json") for name in datasets]
    lines = [f"{one['dataset']}: {one['sentence']}" for one in found if "sentence" in one][:1]
    page = results / (f"{datasets[0]}/index.html" if len(datasets) == 1 else "index.html")
    if page.is_file():
        lines.append(f"The page with all that was found: {page}")
    n_warnings = sum(one.get("warnings", 0) for one in found)
    if n_warnings:
        lines.append(f"{n_warnings} kinds of warnings: the page says in plain words what each means and what to do.")
    return lines


def _finding(file: Path) -> dict[str, Any]:
    """Read what the page of a dataset tells of itself; nothing if there is none, or it was cut off."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def reasons(failed: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Say why each failed job has failed: the sentence in its log, or where its log is."""
    lines = []
    for rule, logs in failed:
        texts = [Path(log).read_text(encoding="utf-8", errors="replace") for log in logs if Path(log).is_file()]
        errors = [line[line.index("error: ") :] for text in texts for line in text.splitlines() if " error: " in line]
        lines.append(errors[-1] if errors else f"error: {rule} failed; its log: {', '.join(logs) or 'none'}")
    return list(dict.fromkeys(lines))


def say(lines: Sequence[str]) -> None:
    """Write lines to the terminal in one piece."""
    sys.stderr.write("".join(f"{line}\n" for line in lines))

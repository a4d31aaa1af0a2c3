"""The frame of every script: progress, a log file, records of outputs, and one clear line if the job fails."""

import logging
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

from jointsparse.pipeline.app.interrupt import end_interrupts_with

end_interrupts_with("")  # the imports below take a while, and those of the script after this one
import numpy as np  # noqa: E402

from jointsparse.checks import Misfit, printable  # noqa: E402
from jointsparse.pipeline.app.terminal import ERASE  # noqa: E402
from jointsparse.pipeline.provenance import records  # noqa: E402
from jointsparse.pipeline.provenance.tables import Damaged, read_arrays  # noqa: E402

SHOWN_FILES = 6  # in a message; the log has all
SECONDS_BETWEEN_LINES = 60
SEARCHING = ("jointsparse.estimators", "jointsparse.pipeline.models")  # what of the library says which fit begins


@contextmanager
def job(snakemake: Any) -> Iterator[Callable[[int, int], None]]:
    """Run a job. Give `progress(done, total)`: a line a minute, here and in the log file.

    A ValueError ends the job with one line: its message, and the place in config.yaml where the values come from. For
    a damaged file, or files that do not belong together, the line has the command that removes them. The next run
    makes them again. Any error leaves its traceback in the log file.

    Each output gets a record beside it. Jobs refuse a file that is no longer as its record says.
    """
    name = f"{snakemake.rule} {' '.join(snakemake.wildcards)}"
    log = snakemake.log[0]
    Path(log).write_bytes(b"")  # and then append, for jobs that a killed Snakemake has left behind
    logging.basicConfig(filename=log, filemode="a", format="%(asctime)s %(message)s", level=logging.INFO)
    logging.captureWarnings(True)
    logging.info("%s begins", name)
    last = time.monotonic()

    def tell(line: str) -> None:
        line = printable(line)
        logging.info("%s", line)
        # In one piece, as jobs side by side write to the same place.
        sys.stderr.write(f"{ERASE if sys.stderr.isatty() else ''}{line}\n")

    def tell_once_a_minute(line: str) -> None:
        nonlocal last
        if time.monotonic() - last > SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            tell(f"{name}: {line}")

    def progress(done: int, total: int) -> None:
        tell_once_a_minute(f"{done} of {total}")

    for searching in SEARCHING:
        logging.getLogger(searching).addHandler(_Lines(tell_once_a_minute))
    try:
        inputs = records.read_inputs(snakemake.input)
        yield progress
        values, code = dict(snakemake.params.items()), lines_of_code(snakemake.params)
        raw = {snakemake.wildcards.dataset: _unchanged(**values.pop("raw"))} if "raw" in values else {}
        records.write(snakemake.output, inputs, job=name, code=code, values=values, raw=raw)
    except Exception as error:
        logging.info("%s", traceback.format_exc())
        tell(" ".join(f"error: {name}: {_explained(error, snakemake)}".split()))
        sys.exit(1)
    logging.info("%s ends", name)


class _Lines(logging.Handler):
    """Hands on what the library logs of a long search, such as the fit that begins."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self.tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self.tell(record.getMessage())


def parts(items: Sequence[Any], progress: Callable[[int, int], None]) -> Iterator[tuple[Any, Callable[..., None]]]:
    """Each of the items of a job, which take as long as each other, with its own progress."""
    for before, item in enumerate(items):
        yield item, lambda done, total, before=before: progress(before * total + done, len(items) * total)


def key_of(params: Any, *more: Any) -> str:
    """A text that changes with all that decides what a job makes of an image."""
    values = {name: value for name, value in params.items() if name not in ("where", "keep")}
    return records.digest([lines_of_code(params), values, *more])


def left_by(path: str, key: str, *names: str) -> dict[str, np.ndarray]:
    """The arrays that an earlier job has left in a file, if it would make the same of the same images; else none.

    names: those to read besides the key; all by default.
    """
    try:
        records.read_inputs([path])
        found = read_arrays(path, *(("key", *names) if names else ()))
        return found if str(found["key"]) == key else {}
    except (LookupError, OSError, ValueError):  # also a file of another version, with other arrays
        return {}


def lines_of_code(params: Any) -> list[str]:
    """The params of a job without a name, which stand before those with one: see `configuration.code.params_of`."""
    return list(params)[: -len(dict(params.items()))]


def _unchanged(paths: list[str], cache: str, digest: str) -> str:
    """The digest of raw files that a job has read. Raises ValueError if they are not what they were before."""
    if records.digest(records.checksums(paths, cache, records.LARGEST_RAW)) != digest:
        names = ", ".join(paths)
        raise ValueError(
            f"raw files must stay as they are while they are read, got other contents in {names}: run again"
        )
    return digest


def _explained(error: Exception, snakemake: Any) -> str:
    """The message of an error, and what to do about it."""
    if isinstance(error, Damaged):
        return f"{error} (rm {quote(error.path)}; then the same command as before)"
    if isinstance(error, Misfit):
        # First what the last stages made, which is the cheapest to make again.
        made = [file for file in snakemake.input if file.startswith("results/")]
        files = [quote(file) for file in sorted(made, key=lambda file: -file.count("/"))]
        logging.info("what does not belong together is among %s", " ".join(files))
        n_more = len(files) - SHOWN_FILES
        more = f", or one of {n_more} more in {snakemake.log[0]}" if n_more > 0 else ""
        removed = f"rm {' '.join(files[:SHOWN_FILES])}; then the same command as before{more}"
        return f"{error}. One of its inputs is from another run ({removed})"
    if isinstance(error, ValueError):
        return f"{error} (config.yaml: {_place(snakemake)})"
    return f"{type(error).__name__}: {error} (the traceback is in {snakemake.log[0]})"


def _place(snakemake: Any) -> str:
    """The places of a job's values: a block, those that it is like, and a dataset's entries that replace some."""
    where, study = str(snakemake.params.where), getattr(snakemake.wildcards, "study", None)
    if not (study and where.startswith("studies.")):
        return where
    dataset, blocks = snakemake.wildcards.dataset, snakemake.config["studies"]
    replaced = snakemake.config["datasets"][dataset].get("studies", {})
    dataset = dataset.removesuffix("-quick") if snakemake.config.get("quick") else dataset
    names = [study]
    while like := blocks[names[-1]].get("like"):
        names.append(like)
    places = [where.replace(f"studies.{study}", f"studies.{name}") for name in names]
    of_dataset = [f"studies.{name}" for name in names if replaced.get(name)]
    of_dataset += ["final"] * replaced.keys().isdisjoint(names)  # which gives it the settings of the study
    return ", or ".join(places + [f"datasets.{dataset}.{place}" for place in of_dataset])

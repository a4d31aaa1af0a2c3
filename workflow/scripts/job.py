"""Everything that all scripts share: progress, a log file, records of outputs, and a one-line message on failure."""

import errno
import gc
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

from jointsparse.pipeline.app.interrupt import end_interrupts_with

end_interrupts_with("")  # the imports below, and those of the script, take a while
gc.set_threshold(50_000, 20, 20)  # searching what they create for garbage would take a tenth of their time
import numpy as np  # noqa: E402

from jointsparse.checks import Misfit  # noqa: E402
from jointsparse.messages import printable  # noqa: E402
from jointsparse.pipeline.app import disk  # noqa: E402
from jointsparse.pipeline.app.terminal import ERASE  # noqa: E402
from jointsparse.pipeline.provenance import records  # noqa: E402
from jointsparse.pipeline.provenance.tables import Damaged, read_arrays  # noqa: E402

SHOWN_FILES = 6  # most files that a message lists; the log lists all
SECONDS_BETWEEN_LINES = 60
SEARCHING = ("jointsparse.estimators", "jointsparse.pipeline.models")  # they log each fit that a search begins


@contextmanager
def job(snakemake: Any) -> Iterator[Callable[[int, int], None]]:
    """Run a job, and yield `progress(done, total)`, which writes to stderr and the log file at most once a minute.

    A ValueError ends the job with a one-line message: the error, and the place in config.yaml from which the values
    come. For a damaged file, or for files that do not belong together, the message gives the command that removes the
    files, and the next run makes them again. The log file has the traceback of every error. If a disk is full, only the
    log file has a message, and the run says once for all jobs which disk it is.

    The job writes a record next to each output. Jobs refuse a file that does not match its record.
    """
    name = f"{snakemake.rule} {' '.join(snakemake.wildcards)}"
    log = snakemake.log[0]
    last = time.monotonic()

    def tell(line: str) -> None:
        line = printable(line)
        logging.info("%s", line)
        # A single write, because parallel jobs write to the same stream.
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
        _begin_log(log, name)
        inputs = records.read_inputs(snakemake.input)
        yield progress
        values, code = dict(snakemake.params.items()), lines_of_code(snakemake.params)
        raw = _unchanged(**values.pop("raw")) if "raw" in values else {}
        records.write(snakemake.output, inputs, job=name, code=code, values=values, raw=raw)
    except Exception as error:
        line = " ".join(f"error: {name}: {_explained(error, snakemake)}".split())
        if full := disk.is_full(error):
            logging.info("%s", line)  # before the traceback, for which there may be no room
        else:
            tell(line)
        logging.info("%s", traceback.format_exc())
        sys.exit(disk.STATUS if full else 1)
    logging.info("%s ends", name)


def _begin_log(log: str, name: str) -> None:
    """Begin the log file of a job. Raise OSError if it cannot be written."""
    logging.raiseExceptions = False  # a log that cannot be continued must not fill the terminal with tracebacks
    Path(log).write_bytes(b"")  # then append: if Snakemake was killed, one of its jobs may still be writing to the file
    logging.basicConfig(filename=log, filemode="a", format="%(asctime)s %(message)s", level=logging.INFO)
    logging.captureWarnings(True)
    logging.info("%s begins", name)
    if not Path(log).stat().st_size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), log)


class _Lines(logging.Handler):
    """A log handler that passes on the library's messages during a long search, such as the beginning of a fit."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self.tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self.tell(record.getMessage())


def parts(items: Sequence[Any], progress: Callable[[int, int], None]) -> Iterator[tuple[Any, Callable[..., None]]]:
    """Yield the items of a job, each with a function that reports its progress. All items count as equally long."""
    for before, item in enumerate(items):
        yield item, lambda done, total, before=before: progress(before * total + done, len(items) * total)


def key_of(params: Any, *more: Any) -> str:
    """Return a key that changes with all code and settings on which a job's results for an image depend."""
    values = {name: value for name, value in params.items() if name not in ("where", "keep")}
    return records.digest([lines_of_code(params), values, *more])


def left_by(path: str, key: str, *names: str) -> dict[str, np.ndarray]:
    """Return the arrays that an earlier job has left in a file; nothing if the settings or the code have changed.

    key: see `key_of`. names: the arrays to read in addition to the key; by default, all arrays are read.
    """
    try:
        records.read_inputs([path])
        arrays = read_arrays(path, *(("key", *names) if names else ()))
        return arrays if str(arrays["key"]) == key else {}
    except (LookupError, OSError, ValueError):  # also raised for a file of another version, with other arrays
        return {}


def lines_of_code(params: Any) -> list[str]:
    """Return the unnamed params, which come before the named ones. See `code_hashes.params_of`."""
    return list(params)[: -len(dict(params.items()))]


def _unchanged(name: str, paths: list[str], cache: str, digest: str) -> dict[str, str]:
    """Return the digest of the raw files that a job has read, by the name under which the manifest lists the files.

    Raise ValueError if the files have changed in the meantime.
    """
    if records.digest(records.checksums(paths, cache, records.LARGEST_RAW)) != digest:
        names = ", ".join(paths)
        raise ValueError(
            f"raw files must not change while they are read, but the contents of {names} have changed: run again"
        )
    return {name: digest}


def _explained(error: Exception, snakemake: Any) -> str:
    """Return an error's message, followed by advice on what to do."""
    if disk.is_full(error):
        return disk.sentence(error, Path(snakemake.log[0]).parent)
    if isinstance(error, Damaged):
        return f"{error} (rm {quote(error.path)}; then the same command as before)"
    if isinstance(error, Misfit):
        # Outputs of the last stages come first, because they are the cheapest to make again.
        results = [file for file in snakemake.input if file.startswith("results/")]
        files = [quote(file) for file in sorted(results, key=lambda file: -file.count("/"))]
        logging.info("the files that do not belong together are among %s", " ".join(files))
        n_more = len(files) - SHOWN_FILES
        more = f", or one of {n_more} more in {snakemake.log[0]}" if n_more > 0 else ""
        removed = f"rm {' '.join(files[:SHOWN_FILES])}; then the same command as before{more}"
        return f"{error}. One of its inputs is from another run ({removed})"
    if isinstance(error, ValueError):
        return f"{error} (config.yaml: {_place(snakemake)})"
    return f"{type(error).__name__}: {error} (the traceback is in {snakemake.log[0]})"


def _place(snakemake: Any) -> str:
    """Return the places in config.yaml that set a job's values: its study, the studies in `like`, and its dataset."""
    where, study = str(snakemake.params.where), getattr(snakemake.wildcards, "study", None)
    if not (study and where.startswith("studies.")):
        return where
    from jointsparse.pipeline.settings.inheritance import places  # imported here, as most jobs need no message

    dataset = snakemake.wildcards.dataset
    dataset = dataset.removesuffix("-quick") if snakemake.config.get("quick") else dataset
    return ", or ".join(places(snakemake.config, dataset, study, where))

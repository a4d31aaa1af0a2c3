"""The frame of every script: progress, a log file, records of outputs, and one clear line if the job fails."""

import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

from jointsparse.app.interrupt import leave_interrupts_to_the_run

leave_interrupts_to_the_run()  # the imports below take a while, and those of the script after this one
from jointsparse.app.terminal import ERASE, JOBS_ARE_TOLD  # noqa: E402
from jointsparse.checks import Misfit  # noqa: E402
from jointsparse.provenance.records import raw_files, read_inputs, write_records  # noqa: E402
from jointsparse.provenance.tables import Damaged  # noqa: E402

SHOWN_FILES = 6  # in a message; the log has all
SECONDS_BETWEEN_LINES = 10  # in the log file
SECONDS_BETWEEN_LINES_ON_SCREEN = 60  # where there is no terminal


@contextmanager
def job(snakemake: Any) -> Iterator[Callable[[int, int], None]]:
    """Run a job. Give `progress(done, total)`: a line a minute, and lines in the log file.

    On a terminal the run tells how far its jobs are, or else a bar does.

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
    on_terminal = sys.stderr.isatty()
    bar = _bar(name) if on_terminal and JOBS_ARE_TOLD not in os.environ else None
    last_line = last_told = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal last_line, last_told
        now = time.monotonic()
        if bar is not None:
            bar.total = total
            bar.update(done - bar.n)
        elif not on_terminal and now - last_told > SECONDS_BETWEEN_LINES_ON_SCREEN:
            last_told = now
            sys.stderr.write(f"{name}: {done} of {total}\n")
        if now - last_line > SECONDS_BETWEEN_LINES or done == total:
            last_line = now
            logging.info("%d of %d", done, total)

    try:
        inputs = read_inputs(snakemake.input)
        yield progress
        values = dict(snakemake.params.items())
        code = list(snakemake.params)[: -len(values)]
        raw = {snakemake.wildcards.dataset: _unchanged(**values.pop("raw"))} if "raw" in values else {}
        write_records(snakemake.output, inputs, job=name, code=code, values=values, raw=raw)
    except Exception as error:
        logging.info("%s", traceback.format_exc())
        said = " ".join(f"{name}: {_explained(error, snakemake)}".split())
        logging.error("error: %s", said)
        # In one piece, as jobs side by side write to the same place.
        sys.stderr.write(f"{ERASE if on_terminal else ''}error: {said}\n")
        sys.exit(1)
    finally:
        if bar is not None:
            bar.close()
    logging.info("%s ends", name)


def _bar(name: str) -> Any:
    from tqdm import tqdm  # most jobs have no terminal

    return tqdm(desc=name, leave=False)


def part_of(progress: Callable[[int, int], None], before: int, parts: int) -> Callable[[int, int], None]:
    """Progress of one of several parts of a job, as long as each other; `before` parts are done."""
    return lambda done, total: progress(before * total + done, parts * total)


def _unchanged(paths: list[str], cache: str, digest: str) -> str:
    """The digest of raw files that a job has read. Raises ValueError if they are not what they were before."""
    if raw_files(paths, cache).digest != digest:
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
    """The places of a job's values: a block, that of the study it is like, and a dataset's entry that replaces some."""
    where, study = str(snakemake.params.where), getattr(snakemake.wildcards, "study", None)
    if not (study and where.startswith("studies.")):
        return where
    dataset, like = snakemake.wildcards.dataset, snakemake.config["studies"][study].get("like")
    names = [study, like] if like else [study]
    replaced = snakemake.config["datasets"][dataset]["studies"]
    places = [where.replace(f"studies.{study}", f"studies.{name}") for name in names]
    return ", or ".join(places + [f"datasets.{dataset}.studies.{name}" for name in names if replaced.get(name)])

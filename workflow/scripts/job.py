"""What every script does around its one library call: progress, the log file, and one clear line if it fails."""

import logging
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Any

from tqdm import tqdm

from jointsparse.checks import Misfit
from jointsparse.tables import Damaged, sha256

SHOWN = 6  # input files in a message; the log has all


@contextmanager
def job(snakemake: Any) -> Iterator[Callable[[int, int], None]]:
    """Run a job; gives `progress(done, total)`: a bar in a terminal, a line every ten seconds in the log file else.

    A ValueError ends the job with its message and the place in config.yaml where the values come from; for a damaged
    file or files that do not belong together, with the command that removes them, so that the next run makes them
    again. Anything unexpected leaves its whole traceback in the log file.

    The log file ends with checksums of the tables that the job made. A table that the job reads must be what the log
    of the job that made it says, if there is one.
    """
    name = f"{snakemake.rule} {' '.join(snakemake.wildcards)}"
    Path(snakemake.log[0]).write_bytes(b"")  # and then append, for jobs that a killed Snakemake has left behind
    logging.basicConfig(filename=snakemake.log[0], filemode="a", format="%(asctime)s %(message)s", level=logging.INFO)
    logging.captureWarnings(True)
    logging.info("%s begins", name)
    bar = tqdm(desc=name, disable=not sys.stderr.isatty(), leave=False)
    last_line = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal last_line
        bar.total = total
        bar.update(done - bar.n)
        if time.monotonic() - last_line > 10 or done == total:
            last_line = time.monotonic()
            logging.info("%d of %d", done, total)

    try:
        _require_as_made(snakemake.input)
        yield progress
    except Damaged as error:
        logging.info("%s", traceback.format_exc())
        _fail(f"{name}: {error} (rm {quote(error.path)}; then the same command as before)")
    except Misfit as error:
        logging.info("%s", traceback.format_exc())
        # First what the last stages made, which is the cheapest to make again.
        files = [file for file in snakemake.input if file.startswith("results/")]
        files = [quote(file) for file in sorted(files, key=lambda file: -file.count("/"))]
        logging.info("what does not belong together is among %s", " ".join(files))
        more = f", or one of {len(files) - SHOWN} more in {snakemake.log[0]}" if len(files) > SHOWN else ""
        removed = f"rm {' '.join(files[:SHOWN])}; then the same command as before{more}"
        _fail(f"{name}: {error}. One of its inputs is from another run ({removed})")
    except ValueError as error:
        logging.info("%s", traceback.format_exc())
        _fail(f"{name}: {error} (config.yaml: {_place(snakemake)})")
    except Exception as error:
        logging.info("%s", traceback.format_exc())
        _fail(f"{name}: {type(error).__name__}: {error} (the traceback is in {snakemake.log[0]})")
    finally:
        bar.close()
    for path in _tables(snakemake.output):
        logging.info("%s%s", _made(path), sha256(path))
    logging.info("%s ends", name)


def _tables(files: Iterable[str]) -> list[str]:
    """Those of the files that people read, and may change."""
    return [file for file in files if file.startswith("results/") and file.endswith(".csv")]


def _made(path: str) -> str:
    return f"made {path}, SHA-256 "


def _require_as_made(files: Iterable[str]) -> None:
    """Raise Damaged for a table that is none of those that jobs say they have made there."""
    for path in _tables(files):
        folder = next((parent / "logs" for parent in Path(path).parents if (parent / "logs").is_dir()), Path("none"))
        made = {line.partition(_made(path))[2] for line in _lines_of_logs(folder) if _made(path) in line}
        if made and sha256(path) not in made:
            raise Damaged(path, "it was changed after it was made")


@cache
def _lines_of_logs(folder: Path) -> list[str]:
    """What jobs say they have made, in the log files of a folder, which many tables share."""
    lines = (line for log in folder.rglob("*.log") for line in log.read_text(errors="replace").splitlines())
    return [line for line in lines if "made " in line]


def _place(snakemake: Any) -> str:
    """Where the values come from: a block of the configuration, and the dataset's entry if it replaces some of it."""
    where, study = str(snakemake.params.where), getattr(snakemake.wildcards, "study", None)
    if study and where.startswith("studies."):
        dataset = snakemake.wildcards.dataset
        if snakemake.config["datasets"][dataset]["studies"].get(study):
            return f"{where}, or datasets.{dataset}.studies.{study}"
    return where


def _fail(message: str) -> None:
    message = " ".join(message.split())
    logging.error("error: %s", message)
    sys.stderr.write(f"error: {message}\n")  # in one piece, as jobs side by side write to the same place
    sys.exit(1)

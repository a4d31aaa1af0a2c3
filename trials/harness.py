"""What the trials with random cases have in common.

A trial has several kinds of cases. A kind is a function of a random generator and an empty folder, which makes an input
and judges how it is read. Every case ends in one of these ways:

- right: the function returns. It may return another name of an outcome that is no error.
- refused: it raises Refused, because the input was refused with one clear line.
- wrong: it raises Wrong, with the reason.
- traceback: it raises another exception, or the process ends.
- slow: it takes longer than the trial allows.

If a case ends in one of the last three ways, it is printed, and the exit status is 1. Seed and number determine a case:
--only N repeats it, and --keep FOLDER keeps the files of all cases. Cases run in another process, because they may end
it, hang, or take all memory.
"""

import argparse
import multiprocessing
import os
import resource
import shutil
import struct
import tempfile
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

Kind = Callable[[np.random.Generator, Path], str | None]
Judge = Callable[[int], tuple[str, str]]
FINE, FAILURES = ["right", "refused"], ["wrong", "traceback", "slow"]
FORK = multiprocessing.get_context("fork")  # forks this process, because imports take seconds


class Wrong(Exception):
    """Raised with the reason why a case is wrong."""


class Refused(Exception):
    """Raised with the line with which an input was refused."""


def require(holds: object, reason: str) -> None:
    if not holds:
        raise Wrong(reason)


def refuse(error: Exception, longest: int = 1000) -> NoReturn:
    """Raise Refused if an error is one clear line, Wrong if it is not, and the error itself if it is not ours."""
    if type(error) is not ValueError and not type(error).__module__.startswith("jointsparse."):
        raise error
    message = str(error)
    require(message and "\n" not in message and len(message) <= longest, f"no clear line: {message}")
    raise Refused(message)


def one_of(things: Any, rng: np.random.Generator) -> Any:
    return things[int(rng.integers(len(things)))]


def mutated(data: bytes, rng: np.random.Generator, pieces: list[bytes], header: int = 64, most: int = 4) -> bytes:
    """Make one to `most` small changes, half of them near the beginning, where files state their format."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, most + 1)):
        end = len(changed) if rng.random() < 0.5 else min(header, len(changed))
        at, n = int(rng.integers(end + 1)), int(rng.integers(1, 9))
        number = int(rng.choice([0, 1, 255, 20_000, 65_535, 2**31 - 1, 2**32 - 1]))
        flipped = bytes(byte ^ (1 << rng.integers(8)) for byte in changed[at : at + 1])
        changes = [
            (at, at + 1, rng.bytes(1)),
            (at, at + 1, flipped),
            (at, at + n, b""),
            (at, at, changed[at : at + 10 * n]),
            (at, at, one_of(pieces, rng)),
            (at, at + 4, one_of(pieces, rng)),
            (at, at + 4, struct.pack(one_of("<>", rng) + "I", number)),
            (int(rng.integers(len(changed) + 1)) if rng.random() < 0.4 else len(changed), len(changed), b""),
        ]
        start, stop, new = one_of(changes, rng)
        changed[start:stop] = new
    return bytes(changed)


def parser(doc: str, cases: int) -> argparse.ArgumentParser:
    """Return a parser of the arguments of a trial. cases: number of cases by default."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=cases)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", metavar="KIND", help="only these kinds of cases")
    parser.add_argument("--only", type=int, metavar="N", help="only the case with this number")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the files of the cases in this folder")
    return parser


def run(
    kinds: dict[str, Kind], given: argparse.Namespace, seconds: float = 20, gigabytes: float = 0, at_once: int = 500
) -> int:
    """Run the cases, print the failures and how often each kind of case ends in each way, and return the exit status.

    seconds, gigabytes: limits of a case; the memory is in addition to that of this process, and 0 means no limit.
    at_once: number of cases in a process.
    """
    names = given.kinds or list(kinds)
    numbers = list(range(given.cases)) if given.only is None else [given.only]
    ends = []
    with tempfile.TemporaryDirectory(prefix="trial-") as temporary:

        def judge(number: int) -> tuple[str, str]:
            folder = (given.keep or Path(temporary)).resolve() / str(number)
            folder.mkdir(parents=True)
            end = judged(kinds[names[number % len(names)]], np.random.default_rng([given.seed, number]), folder)
            if not given.keep:
                shutil.rmtree(folder, ignore_errors=True)
            return end

        for start in range(0, len(numbers), at_once):
            for number, end, why in outcomes(judge, numbers[start : start + at_once], seconds, gigabytes):
                kind = names[number % len(names)]
                ends.append((kind, end))
                if end in FAILURES or given.only is not None:
                    print(f"seed {given.seed}, case {number}, {kind}, {end}: {why}", flush=True)
    print(table_of(ends, names).to_string())
    return int(any(end in FAILURES for _, end in ends))


def table_of(ends: list[tuple[str, str]], names: list[str]) -> pd.DataFrame:
    """Return how often each kind of case ends in each way."""
    table = pd.crosstab([kind for kind, _ in ends], [end for _, end in ends], rownames=[""], colnames=[""])
    columns = FINE + sorted({*table} - {*FINE, *FAILURES}) + FAILURES
    return table.reindex(index=names, columns=columns, fill_value=0)


def judged(kind: Kind, rng: np.random.Generator, folder: Path) -> tuple[str, str]:
    """Return how a case ends, and why."""
    try:
        return kind(rng, folder) or "right", ""
    except Refused as refusal:
        return "refused", str(refusal)
    except Wrong as reason:
        return "wrong", str(reason)
    except BaseException:
        return "traceback", traceback.format_exc()


def outcomes(judge: Judge, numbers: list[int], seconds: float, gigabytes: float) -> Iterator[tuple[int, str, str]]:
    """Yield the number of each case, how it ends, and why. If a case ends the process, a new process runs the rest."""
    left = list(numbers)
    while left:
        failure = "slow", f"more than {seconds} s"
        ours, theirs = FORK.Pipe(duplex=False)
        child = FORK.Process(target=send_outcomes, args=(judge, left, gigabytes, theirs))
        child.start()
        theirs.close()
        try:
            while left and ours.poll(seconds):
                yield left[0], *ours.recv()
                del left[0]
        except EOFError:
            failure = "traceback", "the process ended"
        child.kill()
        child.join()
        if left:
            yield left.pop(0), *failure


def send_outcomes(judge: Judge, numbers: list[int], gigabytes: float, parent: Connection) -> None:
    """Run cases one after the other, and send how each ends, and why."""
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    if gigabytes:
        used = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + int(gigabytes * 2**30), resource.RLIM_INFINITY))
    for number in numbers:
        parent.send(judge(number))

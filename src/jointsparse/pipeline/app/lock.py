"""Whose is the lock of a folder: of a run that is at work there, or of one that was killed."""

import json
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from jointsparse.written import written

HOLDER = Path(".snakemake/holder.json")  # of the locks, as the run itself has left word
SECONDS = 2.0  # to which the beginning of a process is known
UNLOCK = "jointsparse run -- --unlock (or snakemake --unlock), and then the same command"


def sign() -> None:
    """Leave word that the locks of the current folder are of this process."""
    with suppress(OSError), written(HOLDER) as file:  # without it, people unlock by hand
        mine = {"process": os.getpid(), "begun": _begun(os.getpid()), "place": _place()}
        text = json.dumps(mine | {"locks": _locks()})
        file.write_text(text, encoding="utf-8")


def release() -> bool:
    """Unlock the current folder if a run has locked it that was killed on this machine. Returns True if it was so.

    In all doubt the folder stays locked: if not all locks are those that the run has signed, if they are of another
    machine or container, and if the process may live.
    """
    holder = _holder()
    if not holder or holder["place"] != _place() or _lives(holder):
        return False
    for file in holder["locks"]:
        Path(file).unlink(missing_ok=True)
    return True


def sentence() -> str:
    """Say who holds the lock of the current folder, as far as it is known, and what to do."""
    holder = _holder()
    if holder and holder["place"] == _place() and _lives(holder):
        return (
            f"the directory cannot be locked: a run is at work in it (process {holder['process']}). Wait for its end. "
            f"If this process is no run: {UNLOCK}"
        )
    who = f"a run on {holder['place'][0]}" if holder else "another run"
    return f"the directory cannot be locked: {who} is at work in it, or was killed. If none is at work: {UNLOCK}"


def _holder() -> dict[str, Any] | None:
    """The process that has signed the locks, its place, and the files; None if they are not those that it signed."""
    with suppress(OSError, ValueError, LookupError, TypeError):  # not there, or not whole
        holder: dict[str, Any] = json.loads(HOLDER.read_text(encoding="utf-8"))
        if holder["locks"] and holder["locks"] == _locks():
            return holder
    return None


def _locks() -> dict[str, int]:
    """The files by which Snakemake locks the current folder, and when each was written, in nanoseconds."""
    return {str(file): file.stat().st_mtime_ns for file in Path(".snakemake/locks").glob("*.lock")}


def _place() -> list[str]:
    """The machine, and the container, in which numbers of processes mean something."""
    container = Path("/proc/self/ns/pid")  # of Linux
    return [platform.node(), os.readlink(container) if os.path.lexists(container) else ""]


def _lives(holder: Mapping[str, Any]) -> bool:
    """Whether the process that has signed may be at work. After a kill, another one may have got its number."""
    import psutil  # of the extra, which the rest of the command can do without

    try:
        if psutil.Process(holder["process"]).status() == psutil.STATUS_ZOMBIE:
            return False
        times = zip(holder.get("begun", []), _begun(holder["process"]), strict=False)
        return "begun" not in holder or any(abs(one - other) < SECONDS for one, other in times)
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True


def _begun(process: int) -> list[float]:
    """When a process began, in seconds: by the clock, and since the machine was started.

    One of the two stays the same when the clock is set anew: on Linux the second one, elsewhere the first.
    """
    import psutil

    started = psutil.boot_time()
    begun = psutil.Process(process).create_time()
    return [begun, begun - started]

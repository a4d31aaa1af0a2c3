"""Find out whether a folder was locked by a run that is still working or by a run that was killed."""

import json
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from jointsparse.written import written

HOLDER = Path(".snakemake/holder.json")  # a run records here that it holds the locks of the folder
SECONDS = 2.0  # accuracy of the start time of a process
UNLOCK = "run jointsparse run -- --unlock (or snakemake --unlock), then repeat your command"


def sign() -> None:
    """Record that this process holds the locks of the current folder."""
    with suppress(OSError), written(HOLDER) as file:  # if this fails, the user has to unlock the folder by hand
        mine = {"process": os.getpid(), "begun": _begun(os.getpid()), "place": _place()}
        text = json.dumps(mine | {"locks": _locks()})
        file.write_text(text, encoding="utf-8")


def release() -> bool:
    """Unlock the current folder if its locks were left by a run that was killed on this machine.

    The folder stays locked if the lock files are not exactly the ones that the run recorded, if the run was on another
    machine or in another container, or if its process may still be alive.

    Returns
    -------
    bool
        True if the folder was unlocked.
    """
    holder = _holder()
    if not holder or holder["place"] != _place() or _lives(holder):
        return False
    for file in holder["locks"]:
        Path(file).unlink(missing_ok=True)
    return True


def sentence() -> str:
    """Return a message about which process holds the lock of the current folder, if known, and what to do."""
    holder = _holder()
    if holder and holder["place"] == _place() and _lives(holder):
        return (
            f"the directory cannot be locked, because a run is at work in it (process {holder['process']}). Wait until "
            f"it has finished. If that process is not a run, {UNLOCK}"
        )
    who = f"a run on {holder['place'][0]}" if holder else "another run"
    return (
        f"the directory cannot be locked, because {who} is at work in it or was killed. If no run is at work, {UNLOCK}"
    )


def _holder() -> dict[str, Any] | None:
    """Return the record of the process that holds the locks, or None if it does not match the lock files."""
    with suppress(OSError, ValueError, LookupError, TypeError):  # the record is missing or incomplete
        holder: dict[str, Any] = json.loads(HOLDER.read_text(encoding="utf-8"))
        if holder["locks"] and holder["locks"] == _locks():
            return holder
    return None


def _locks() -> dict[str, int]:
    """Return the modification time in nanoseconds of each of Snakemake's lock files in the current folder."""
    return {str(file): file.stat().st_mtime_ns for file in Path(".snakemake/locks").glob("*.lock")}


def _place() -> list[str]:
    """Return the machine and the container of this process. Process numbers are unique only within them."""
    container = Path("/proc/self/ns/pid")  # exists only on Linux
    return [platform.node(), os.readlink(container) if os.path.lexists(container) else ""]


def _lives(holder: Mapping[str, Any]) -> bool:
    """Return True if the recorded process may still be running.

    The start times are compared as well, because the system may have given the number of a killed process to another.
    """
    import psutil  # comes with an optional extra, which the other commands do not need

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
    """Return the start time of a process in seconds, both as clock time and relative to the boot of the machine.

    If the clock is changed, only one of the two values stays the same: on Linux the second, elsewhere the first.
    """
    import psutil

    started = psutil.boot_time()
    begun = psutil.Process(process).create_time()
    return [begun, begun - started]

"""Open pictures in separate processes, because a picture may crash its process or take too much time or memory."""

import json
import logging
import mmap
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from itertools import cycle
from pathlib import Path
from typing import Any

from jointsparse.pipeline.datasets import picture_check
from jointsparse.pipeline.datasets.picture_check import NO_PICTURE, MachineError

PICTURES_PER_PROCESS = 200  # for so few pictures, starting a second process takes longer than it saves
Progress = Callable[[int, int], None]
LOG = logging.getLogger(__name__)  # jobs write it to their log file; elsewhere it has no handler
# Choice: a limit on CPU time instead of elapsed time, so that no picture is left out because the machine is busy. The
# slowest valid pictures, with MOST_PIXELS pixels, take a third of this limit.
MOST_SECONDS = 20
# A single thread, because each thread reserves memory. glibc is told to keep freed memory: returning it to the system
# after each picture takes half as long as decoding.
SETTINGS = {
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
    "MALLOC_TRIM_THRESHOLD_": str(2**28),
}


def ask(
    folder: Path, names: Sequence[str], task: str, *arguments: Any, progress: Progress | None = None
) -> tuple[dict[str, str], dict[str, Any]]:
    """Run a task of `picture_check` on each picture, in two processes if there are many pictures.

    Parameters
    ----------
    folder : path
        Folder of the pictures.
    names : list of str
        Names of the pictures, relative to the folder.
    task : str
        One of `picture_check.TASKS`.
    *arguments : any
        Arguments of the task.
    progress : function or None
        Called as `progress(done, total)` after each picture.

    Returns
    -------
    reasons : dict
        For each picture that cannot be used, the reason.
    values : dict
        For each picture, the result of the task, or None.
    """
    reasons, values = dict[str, str](), dict[str, Any]()
    paths = [folder / name for name in names]
    n = 2 if len(paths) > PICTURES_PER_PROCESS else 1
    with ExitStack() as stack:
        parts = [stack.enter_context(closing(verdicts(paths[i::n], task, *arguments))) for i in range(n)]
        for done, (name, part) in enumerate(zip(names, cycle(parts), strict=False), start=1):
            reason, values[name] = next(part)
            if reason:
                reasons[name] = reason
            if progress:
                progress(done, len(names))
    return reasons, values


def verdicts(paths: Sequence[Path], task: str, *arguments: Any) -> Generator[tuple[str, Any], None, None]:
    """Yield for each picture the reason why it cannot be used, or "", and the result of a task.

    A second process opens the pictures. If a picture ends that process, a new one continues with the next picture.
    The process is stopped when the caller closes this generator. If the caller is killed, the process stops after the
    current picture.

    Parameters
    ----------
    paths : list of path
        The pictures.
    task, *arguments : as in `ask`
        See there.

    Raises
    ------
    MachineError
        If a picture cannot be read because of a failure of the machine.
    """
    # Start a new interpreter, because a fork could hang if this process has threads. -P: do not import modules from the
    # user's folder.
    command = [sys.executable, "-P", picture_check.__file__, task, json.dumps(arguments), str(MOST_SECONDS)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | SETTINGS
    done = 0
    while done < len(paths):
        # A file instead of a pipe, because with two full pipes both processes would wait for each other.
        with tempfile.TemporaryFile("w+", encoding="utf-8") as names:
            names.writelines(json.dumps(str(path)) + "\n" for path in paths[done:])
            names.seek(0)
            process = subprocess.Popen(command, stdin=names, stdout=subprocess.PIPE, env=environment, encoding="utf-8")
        with process:
            try:
                for line in process.stdout or ():
                    reason, value, n_bytes, failure, words = json.loads(line)
                    for word in words.splitlines():
                        LOG.info("%s: %s", paths[done], word)
                    if n_bytes and not _has_room(n_bytes):
                        failure = f"decoding it may take {1 + (n_bytes >> 20):,} MiB, more memory than is free"
                    if failure:
                        raise MachineError(paths[done], failure)
                    yield reason, value
                    done += 1
                status = process.wait()
            finally:
                process.kill()
        if done < len(paths):
            yield _reason_of_end(status, paths[done]), None
            done += 1


def _has_room(n_bytes: int) -> bool:
    """Return True if the system grants this process `n_bytes` of additional memory."""
    try:
        mmap.mmap(-1, n_bytes).close()
    except OSError:
        return False
    return True


def _reason_of_end(status: int, path: Path) -> str:
    """Return the reason why a picture that ended the process cannot be used.

    Raises MachineError if the process ended for a reason that has nothing to do with decoding the picture.
    """
    name = signal.Signals(-status).name if status < 0 else ""
    if name == "SIGPROF":
        return f"{NO_PICTURE}decoding takes more than {MOST_SECONDS} s of CPU time"
    if name in ("SIGABRT", "SIGFPE", "SIGILL", "SIGSEGV"):
        return f"{NO_PICTURE}the decoder crashed ({name})"
    # When memory runs out, the system sends SIGKILL.
    raise MachineError(path, f"the process that decodes it ended with {name or f'status {status}'}")

"""Checking pictures in a process of its own, which a picture that takes too much time or memory ends."""

import json
import logging
import mmap
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path

from jointsparse.pipeline.datasets import picture_check
from jointsparse.pipeline.datasets.picture_check import NO_PICTURE, MachineError

LOG = logging.getLogger(__name__)  # of a job; elsewhere nobody listens
# Choice: of CPU time, so that no picture is left out because the machine is busy. The slowest pictures in good order,
# of MOST_PIXELS, take a third of it.
MOST_SECONDS = 20
# One thread that reserves memory. And glibc keeps memory instead of giving it back after each picture, which takes half
# as long as decoding.
SETTINGS = {
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
    "MALLOC_TRIM_THRESHOLD_": str(2**28),
}


def verdicts(paths: Sequence[Path], smallest_side: int, longest_side: int) -> Generator[tuple[str, str], None, None]:
    """Yield the reason why a picture cannot be used, or "", and a digest of its bytes, for each in turn.

    One process decodes them all, and another goes on after a picture that has ended it. It ends when the caller closes
    this generator, and after a picture if the caller is killed. smallest_side, longest_side: as in `check_picture`.
    Raises MachineError.
    """
    # A new interpreter: a fork of this one could hang, as it may have threads. -P: no module of the user's folder.
    command = [sys.executable, "-P", picture_check.__file__, str(smallest_side), str(longest_side), str(MOST_SECONDS)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | SETTINGS
    done = 0
    while done < len(paths):
        # Not a pipe, as both sides would wait when two pipes are full.
        with tempfile.TemporaryFile("w+", encoding="utf-8") as names:
            names.writelines(json.dumps(str(path)) + "\n" for path in paths[done:])
            names.seek(0)
            process = subprocess.Popen(command, stdin=names, stdout=subprocess.PIPE, env=environment, encoding="utf-8")
        with process:
            try:
                for line in process.stdout or ():
                    reason, digest, n_bytes, failure, words = json.loads(line)
                    for word in words.splitlines():
                        LOG.info("%s: %s", paths[done], word)
                    if n_bytes and not _has_room(n_bytes):
                        failure = f"decoding it may take {1 + (n_bytes >> 20):,} MiB, and there is less memory"
                    if failure:
                        raise MachineError(paths[done], failure)
                    yield reason, digest
                    done += 1
                status = process.wait()
            finally:
                process.kill()
        if done < len(paths):
            yield _reason_of_end(status, paths[done]), ""
            done += 1


def _has_room(n_bytes: int) -> bool:
    """True if the system grants so much memory more."""
    try:
        mmap.mmap(-1, n_bytes).close()
    except OSError:
        return False
    return True


def _reason_of_end(status: int, path: Path) -> str:
    """The reason why a picture that ended the process is not used. MachineError unless its decoder is the reason."""
    name = signal.Signals(-status).name if status < 0 else ""
    if name == "SIGPROF":
        return f"{NO_PICTURE}decoding takes more than {MOST_SECONDS} s of CPU time"
    if name in ("SIGABRT", "SIGFPE", "SIGILL", "SIGSEGV"):
        return f"{NO_PICTURE}the decoder crashed ({name})"
    # A system that is short of memory sends SIGKILL.
    raise MachineError(path, f"the process that decodes it ended with {name or f'status {status}'}")

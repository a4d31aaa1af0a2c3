"""Checking pictures in a process of its own, which a picture that takes too much time or memory ends."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from jointsparse.datasets import pictures
from jointsparse.datasets.pictures import NO_PICTURE, MachineError

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


class Checker:
    """A process that decodes pictures whole, one after the other. A picture that ends it is not used.

    paths: the pictures. The process starts at once, and again after each picture that has ended it. smallest_side,
    longest_side: as in `check_picture`. A process whose parent is killed ends after the picture that it decodes.
    """

    def __init__(self, paths: Sequence[Path], smallest_side: int, longest_side: int) -> None:
        self._paths, self._done = paths, 0
        self._options = [str(smallest_side), str(longest_side), str(MOST_SECONDS)]
        self._start()

    def _start(self) -> None:
        # A new interpreter: a fork of this one could hang, as it may have threads. -P: no module of the user's folder.
        command = [sys.executable, "-P", pictures.__file__, *self._options]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | SETTINGS
        # Not a pipe, as both sides would wait when two pipes are full.
        with tempfile.TemporaryFile("w+", encoding="utf-8") as names:
            names.writelines(json.dumps(str(path)) + "\n" for path in self._paths[self._done :])
            names.seek(0)
            self._process = subprocess.Popen(
                command, stdin=names, stdout=subprocess.PIPE, env=environment, encoding="utf-8"
            )
        self._lines = iter(self._process.stdout or ())

    def next_verdict(self) -> tuple[str, str]:
        """The verdict of `check_picture` on the next picture. Raises MachineError."""
        path, line = self._paths[self._done], next(self._lines, "")
        self._done += 1
        if line:
            reason, digest, error = json.loads(line)
            if error:
                raise MachineError(path, error)
            return reason, digest
        reason = _reason_of_end(self._process.wait(), path)
        self.close()
        if self._done < len(self._paths):
            self._start()
        return reason, ""

    def close(self) -> None:
        """End the process."""
        with self._process:
            self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _reason_of_end(status: int, path: Path) -> str:
    """The reason why a picture that ended the process is not used. MachineError unless its decoder is the reason."""
    name = signal.Signals(-status).name if status < 0 else ""
    if name == "SIGPROF":
        return f"{NO_PICTURE}decoding takes more than {MOST_SECONDS} s of CPU time"
    if name in ("SIGABRT", "SIGFPE", "SIGILL", "SIGSEGV"):
        return f"{NO_PICTURE}the decoder crashed ({name})"
    # A system that is short of memory sends SIGKILL.
    raise MachineError(path, f"the process that decodes it ended with {name or f'status {status}'}")

"""Print one line after Ctrl-C instead of a traceback."""

import signal
import sys
import time
from types import FrameType, TracebackType

RESUME = "Interrupted. Rerun the same command to resume."  # the last line of an interrupted run
AGAIN_SECONDS = 5  # how long further interrupts are ignored, so that they do not disturb the end of the process
# The command `run` sends SIGUSR1 to Snakemake, where it blocks SIGINT, and Snakemake handles SIGTERM itself.
INTERRUPTS = [getattr(signal, name) for name in ("SIGINT", "SIGUSR1") if hasattr(signal, name)]
_last = float("-inf")  # when this process was interrupted


def end_interrupts_with(line: str) -> None:
    """Make an interrupt end this process after printing only the given line, even if the user presses Ctrl-C twice.

    Jobs pass an empty line, because the run that started them reports the interrupt for all of them.
    """

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.stderr.write(line)
        else:
            sys.__excepthook__(kind, error, trace)

    sys.excepthook = hook
    for number in INTERRUPTS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _last
    before, _last = _last, time.monotonic()
    if _last - before > AGAIN_SECONDS:
        raise KeyboardInterrupt

"""One line after Ctrl-C, in the place of a traceback."""

import sys
from types import TracebackType


def say_interrupts_in_one_line() -> None:
    """Let an interrupt end this process with one line instead of a traceback."""
    sys.excepthook = _say


def leave_interrupts_to_the_run() -> None:
    """Let an interrupt end this job without a word: the run that it belongs to says it once."""
    sys.excepthook = _leave


def _say(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.stderr.write("error: interrupted\n")
    else:
        sys.__excepthook__(kind, error, trace)


def _leave(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)

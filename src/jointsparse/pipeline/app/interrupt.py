"""Print one line after Ctrl-C instead of a traceback."""

import sys
from types import TracebackType


def end_interrupts_with(line: str) -> None:
    """Make an interrupt end this process after printing only the given line.

    Jobs pass an empty line, because the run that started them reports the interrupt for all of them.
    """

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.stderr.write(line)
        else:
            sys.__excepthook__(kind, error, trace)

    sys.excepthook = hook

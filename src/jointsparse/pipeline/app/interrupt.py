"""One line after Ctrl-C, in the place of a traceback."""

import sys
from types import TracebackType


def end_interrupts_with(line: str) -> None:
    """Let an interrupt end this process with a line. A job has none, as the run that it belongs to says it once."""

    def said(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.stderr.write(line)
        else:
            sys.__excepthook__(kind, error, trace)

    sys.excepthook = said

"""A context manager that watches a fit: it prints certificates, and can end the fit early."""

import math
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Self

INTERRUPT, TIME, CALLBACK = "an interrupt", "max_time", "callback"  # reasons for an early end


class Interrupted(KeyboardInterrupt):
    """A KeyboardInterrupt that is raised after the result of an interrupted fit has been stored."""


class Watch:
    """A context manager that prints certificates and ends a fit on request, after some time, or on Ctrl-C.

    The solver calls the watch regularly. After Ctrl-C, or if the callback raises KeyboardInterrupt, the fit ends at the
    next call; a second Ctrl-C ends it at once.

    Parameters
    ----------
    callback : function (iteration, objective, gap) or None
        Function that ends the fit by returning True. `gap` is NaN if the solver has no certificate.
    max_time : float or None
        Number of seconds after which the fit ends. It must be positive.
    verbose : bool
        True to print a line for each certificate.

    Attributes
    ----------
    ended_by : str
        Reason for an early end: "an interrupt", "max_time" or "callback"; "" if there was none.
    """

    def __init__(
        self, callback: Callable[[int, float, float], object] | None, max_time: float | None, verbose: bool
    ) -> None:
        self.callback, self.verbose, self.ended_by = callback, verbose, ""
        self.until = math.inf if max_time is None else time.monotonic() + max_time

    def left(self) -> float:
        """Return the number of seconds until `max_time` has passed, which may be infinite or negative."""
        return self.until - time.monotonic()

    def __enter__(self) -> Self:
        ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        self.listens = ours and threading.current_thread() is threading.main_thread()
        if self.listens:
            signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.listens:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.ended_by == INTERRUPT:
            raise KeyboardInterrupt
        self.ended_by = INTERRUPT

    def __call__(self, iteration: int, objective: float, gap: float) -> bool:
        """Report the state of the fit, and return True if the fit should end."""
        if self.verbose and not math.isnan(gap):
            print(f"iteration {iteration:5d}: objective {objective:.6g}, gap {gap:.2g}", flush=True)
        wants_end = False
        try:
            wants_end = self.callback is not None and bool(self.callback(iteration, objective, gap))
        except KeyboardInterrupt:
            self._interrupt(signal.SIGINT, None)
        if not self.ended_by:
            self.ended_by = CALLBACK if wants_end else TIME if self.left() < 0 else ""
        return bool(self.ended_by)

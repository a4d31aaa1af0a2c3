"""An eye on a fit: it reports certificates, and ends the fit early."""

import math
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Self

INTERRUPT, TIME, CALLBACK = "an interrupt", "max_time", "callback"  # what may end a fit


class Interrupted(KeyboardInterrupt):
    """Raised after an interrupted fit whose result is kept."""


class Watch:
    """Watch a fit: print each certificate, call a function, and end the fit by it, after a time or on Ctrl-C.

    It is a context. On Ctrl-C in it the fit ends at its next look; a second Ctrl-C ends it at once. A KeyboardInterrupt
    that the callback raises is a Ctrl-C too.

    Parameters
    ----------
    callback : function (iteration, objective, gap) or None
        Ends the fit by returning True. gap is NaN where the solver has no certificate.
    max_time : float or None
        Seconds, above 0, after which the fit ends.
    verbose : bool
        True to print a line per certificate.

    Attributes
    ----------
    ended_by : str
        "an interrupt", "max_time", "callback", or nothing for a fit that ends by itself.
    """

    def __init__(
        self, callback: Callable[[int, float, float], object] | None, max_time: float | None, verbose: bool
    ) -> None:
        self.callback, self.verbose, self.ended_by = callback, verbose, ""
        self.until = math.inf if max_time is None else time.monotonic() + max_time

    def left(self) -> float:
        """Seconds that are left."""
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
        """Look at a fit; True if it shall end."""
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

"""The terminal: the one way of all commands to it."""

import sys
from typing import TextIO

from jointsparse.checks import printable

ERASE = "\r\x1b[2K"  # the last line of a terminal


def say(*lines: str, to: TextIO | None = None) -> None:
    """Print lines, by default to stdout. All that a command prints comes through here.

    Words, names and errors may come from anywhere, see `checks.printable`. Letters that it does not have are escaped.
    """
    stream = sys.stdout if to is None else to
    encoding = stream.encoding or "utf-8"
    text = "".join(f"{printable(line)}\n" for line in lines)
    print(text.encode(encoding, "backslashreplace").decode(encoding), end="", file=stream, flush=True)

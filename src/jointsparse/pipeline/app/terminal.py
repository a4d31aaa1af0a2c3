"""Output to the terminal. All commands print through this module."""

import sys
from typing import TextIO

from jointsparse.messages import printable

ERASE = "\r\x1b[2K"  # erases the current line of a terminal


def say(*lines: str, to: TextIO | None = None) -> None:
    """Print lines, by default to stdout, with control characters escaped.

    Words, file names and error messages may contain any character, see `messages.printable`. Characters that the
    encoding of the stream lacks are escaped as well.
    """
    stream = sys.stdout if to is None else to
    encoding = stream.encoding or "utf-8"
    text = "".join(f"{printable(line)}\n" for line in lines)
    print(text.encode(encoding, "backslashreplace").decode(encoding), end="", file=stream, flush=True)

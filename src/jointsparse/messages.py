"""Texts for people: values and file names in messages, and warnings that name the user's line."""

import os
import sys
import unicodedata
import warnings

JOINERS = "\u200c\u200d"  # zero-width characters that decide whether neighbours join: Persian, Hindi, emoji


def shortened(value: object) -> str:
    """Return the repr of a value for a message, cut after 200 characters."""
    shown = repr(value)
    return shown if len(shown) <= 200 else f"{shown[:200]} …"


def printable(text: str) -> str:
    r"""Return the text in a form that is safe to print on one line of a terminal.

    Characters that move the cursor or change the direction of writing are escaped. Letters of all scripts are kept, and
    so are spaces of any width and the joiners that some scripts need.

    >>> print(printable("caf\u00e9 \u202ecod\x1b[2J"))
    café \u202ecod\x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(sign if _is_shown(sign) else sign.encode("unicode_escape").decode() for sign in text)


def _is_shown(sign: str) -> bool:
    return sign.isprintable() or sign in JOINERS or unicodedata.category(sign) == "Zs"


def relative_path(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> str:
    """Return the path of a file relative to a folder, with slashes, or its absolute path if its drive is another one.

    >>> relative_path("data/tea.jpg", "out/page")
    '../../data/tea.jpg'
    """
    try:
        path = os.path.relpath(path, folder)
    except ValueError:  # on Windows, no relative path leads from one drive to another
        path = os.path.abspath(path)
    return path.replace(os.sep, "/")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and attribute the warning to the innermost line of code outside jointsparse and scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals["__name__"].partition(".")[0] in ("jointsparse", "sklearn"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)

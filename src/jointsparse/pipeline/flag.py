"""Flags, which are short warnings about a row of a table, for example that the row's fit is not certified.

A cell of the column `warning` holds the flags of its row, separated by "; ". A flag is written as "kind" or
"kind: number".
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple, Self


class Kind(StrEnum):
    """The kinds of flags, as they are written in tables. `page.warnings` explains the meaning of each kind."""

    CERTIFIED_GAP = "certified gap"
    CERTIFIED_ONLY_TO = "optimum certified only to"
    NOT_CONVERGED = "tasks not converged"
    NOT_UNIQUE = "not unique from radius"
    NO_LOWER = "the last objective is no lower than the first"
    NO_BETTER = "validation no better than chance"
    TIED = "the same score for all test images"
    WORDS_TIED = "words with the same score for all test images"
    UNDEFINED = "scores that are not numbers"
    WORDS_UNDEFINED = "words with scores that are not numbers"
    ETA0_LOWER = "eta0 at the lower edge of its grid"
    ETA0_UPPER = "eta0 at the upper edge of its grid"
    RADIUS_LOWER = "radius at the lower edge of its grid"
    RADIUS_UPPER = "radius at the upper edge of its grid"
    NEARLY_ALL = "training images with it"
    FEW_TRAINING_WITH = "left out, too few training images with it"
    FEW_TRAINING_WITHOUT = "left out, too few training images without it"
    FEW_TEST_WITH = "left out, too few test images with it"
    FEW_TEST_WITHOUT = "left out, too few test images without it"
    ONE_GROUP = "left out, all training images with it, or without it, in one group"
    CAPPED = "fewer images than asked for"
    CONSTANT = "features that are the same in all training images"
    EMPTY = "images without any feature"
    REPEATED = "images with the features of an image in another split"
    TORN = "groups in several splits"
    GROUPED = "images in a group with others"


ETA0_EDGES = {Kind.ETA0_LOWER, Kind.ETA0_UPPER}
RADIUS_EDGES = {Kind.RADIUS_LOWER, Kind.RADIUS_UPPER}
TOO_FEW = {Kind.FEW_TRAINING_WITH, Kind.FEW_TRAINING_WITHOUT, Kind.FEW_TEST_WITH, Kind.FEW_TEST_WITHOUT}
LEFT_OUT = TOO_FEW | {Kind.ONE_GROUP}


class Flag(NamedTuple):
    """A warning about a row of a table. kind: see `Kind`. number: a size or count, or None. unit: "" or "%".

    >>> Flag(Kind.CERTIFIED_GAP, 7, "%").write()
    'certified gap: 7%'
    """

    kind: str
    number: float | None = None
    unit: str = ""

    def write(self) -> str:
        """Return the flag as a string, such as "certified gap: 7%"."""
        return str(self.kind) if self.number is None else f"{self.kind}: {self.number:g}{self.unit}"

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a flag from a string that `write` has returned."""
        kind, _, number = text.rpartition(": ")
        try:
            return cls(kind, float(number.removesuffix("%")), "%" if number.endswith("%") else "")
        except ValueError:
            return cls(text)


def gap_above(tol: float, gap: float) -> Flag | None:
    """Return a flag if the certified duality gap is above `tol`, otherwise None."""
    return Flag(Kind.CERTIFIED_ONLY_TO, float(f"{gap:.2g}")) if gap > tol else None


def write_cell(flags: Iterable[Flag | None]) -> str:
    """Return the text of a cell that holds the flags of a row. Flags that are None are skipped."""
    return "; ".join(flag.write() for flag in flags if flag is not None)


def read_cell(cell: object) -> list[Flag]:
    """Read the flags from the text of a cell that `write_cell` has written. An empty or missing cell has no flags."""
    return [Flag.read(text) for text in cell.split("; ")] if isinstance(cell, str) and cell else []


def kinds_in(cell: object) -> set[str]:
    """Return the kinds of the flags in a cell."""
    return {flag.kind for flag in read_cell(cell)}

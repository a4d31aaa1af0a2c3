"""A flag: what a reader should know of a row of a table, such as a fit that is not certified.

A cell of a column `warning` holds the flags of its row, parted by "; ", each as its kind, or as "kind: number".
"""

from collections.abc import Iterable
from typing import NamedTuple, Self

EDGE = "edge of its grid"  # the end of a kind


class Flag(NamedTuple):
    """One flag. kind: in words, without "; ". number: how large or how many, if there is one. unit: "" or "%".

    >>> Flag("certified gap", 7, "%").write()
    'certified gap: 7%'
    """

    kind: str
    number: float | None = None
    unit: str = ""

    def write(self) -> str:
        """Text of the flag."""
        return self.kind if self.number is None else f"{self.kind}: {self.number:g}{self.unit}"

    @classmethod
    def read(cls, text: str) -> Self:
        """Read what `write` wrote."""
        kind, _, number = text.rpartition(": ")
        try:
            return cls(kind, float(number.removesuffix("%")), "%" if number.endswith("%") else "")
        except ValueError:
            return cls(text)


def gap_above(tol: float, gap: float) -> Flag | None:
    """Flag of an optimum that is not certified to tol; else None."""
    return Flag("optimum certified only to", float(f"{gap:.2g}")) if gap > tol else None


def write_cell(flags: Iterable[Flag | None]) -> str:
    """Cell of the flags of one row, without those that are None."""
    return "; ".join(flag.write() for flag in flags if flag is not None)


def read_cell(cell: object) -> list[Flag]:
    """Read what `write_cell` wrote; an empty or missing cell holds no flag."""
    return [Flag.read(text) for text in cell.split("; ")] if isinstance(cell, str) and cell else []

"""Count the heap rows that `SparseL1Ball.add` reads to change k coordinates of a point with n non-zero entries.

    python benchmarks/visits.py [--sizes 10000 100000 1000000 10000000]

Duchi et al. (2008, sec. 6) claim O(k log n). The benchmark counts rows because times depend on caches. Compiled kernels
build the point. The updates run as plain Python, so that every row that they read can be counted.
"""

import argparse
from types import FunctionType
from typing import Any

import numpy as np
import pandas as pd

from jointsparse.learning import l1_sparse, lazy
from jointsparse.norms import l1

TOUCHED = (1, 10, 100, 1000)
N_UPDATES = 5  # number of updates that are averaged
UPDATE_SHARE = 0.3  # standard deviation of the changes / standard deviation of the entries


class Record:
    """A record of a structured array, whose fields are attributes, as in compiled kernels."""

    def __init__(self, record: np.void) -> None:
        vars(self)["record"] = record

    def __getattr__(self, field: str) -> Any:
        return self.record[field]

    def __setattr__(self, field: str, value: Any) -> None:
        self.record[field] = value


class Records:
    """The records of a structured array, with a count of how many records were read."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.visits = array, 0

    def __getitem__(self, i: int) -> Record:
        self.visits += 1
        return Record(self.array[i])


def interpreted() -> Any:
    """Return an uncompiled `l1_sparse.update`. All kernels that it calls run as plain Python, too."""
    names = {**vars(lazy), **vars(l1_sparse)}
    kernels = {name: kernel.py_func for name, kernel in names.items() if hasattr(kernel, "py_func")}
    names |= {name: FunctionType(function.__code__, names) for name, function in kernels.items()}
    return names["update"]


def visits(n: int, touched: int) -> float:
    """Return the number of heap rows that an update of `touched` out of n non-zero coordinates reads."""
    rng = np.random.default_rng(0)
    point = rng.normal(size=n)
    ball = l1_sparse.SparseL1Ball(n, l1.norm(point), point)
    balls, rows, *others = ball._arrays
    counted, update = Records(rows[0]), interpreted()
    for _ in range(N_UPDATES):
        where, changes = rng.choice(n, touched, replace=False), UPDATE_SHARE * rng.normal(size=touched)
        update(Records(balls), [counted], *others, ball.radius, where, changes, l1_sparse.ONE_STEP)
    return counted.visits / N_UPDATES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**4, 10**5, 10**6, 10**7])
    counts = [(n, k, visits(n, k)) for n in parser.parse_args().sizes for k in TOUCHED]
    table = pd.DataFrame(counts, columns=["n", "k", "rows read"])
    table["rows read / (k log2 n)"] = table["rows read"] / (table["k"] * np.log2(table["n"]))
    print(table.to_string(index=False, float_format="{:.4g}".format))


if __name__ == "__main__":
    main()

"""Compare random projections of every norm with 700-digit arithmetic.

    python trials/projections.py --cases 20000 --kinds l1inf

Matrices have many kinds of entries, at scales from 1e-300 to 1e300, in both precisions and several memory layouts, with
weights that differ by factors of up to 2^500, groups and `positive`. Radii range from 0 to more than the norm, and
include radii that differ from 0, from the norm or from the largest entry by a few units in the last place. Every
projection must lie in the ball and reach its boundary, must not enlarge any entry, and must agree with the exact
solution. A matrix that already lies in the ball must be returned unchanged, bit for bit.
"""

import sys
from decimal import Decimal, getcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import harness
import numpy as np
from harness import require

from jointsparse.norms import NORMS

getcontext().prec = 700  # digits for squares of numbers that differ by 2^500, and 60 more
getcontext().Emin, getcontext().Emax = -(10**6), 10**6

NORM_TOLERANCE = {"float64": 1e-12, "float32": 1e-6}  # relative to the radius
ERROR_TOLERANCE = {"float64": 1e-14, "float32": 4e-6}  # relative to the largest entry
SMALLEST_RADIUS = 1e-300  # relative to the norm; smaller radii return 0
LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "every other row": lambda W: np.repeat(W, 2, axis=0)[::2],
    "reversed": lambda W: W[::-1, ::-1].copy()[::-1, ::-1],
    "other byte order": lambda W: W.astype(W.dtype.newbyteorder()),
}

Rng = np.random.Generator
Numbers = list[Decimal]


class Ball(NamedTuple):
    """A ball, of which there is one, or one per task: the places in W of the entries of each row, and the weights."""

    places: list[list[tuple[int, int]]]
    s: Numbers

    def rows(self, W: np.ndarray) -> list[Numbers]:
        return [[Decimal(float(abs(W[place]))) for place in row] for row in self.places]


# Exact solutions. A row is a list of magnitudes, and s is its weight.


def length(row: Numbers) -> Decimal:
    return sum((x * x for x in row), Decimal(0)).sqrt()


def norm_of(name: str, rows: list[Numbers], s: Numbers) -> Decimal:
    if name == "l2":
        return length([x for row in rows for x in row])
    size = {"l12": length}.get(name, lambda row: max(row, default=Decimal(0)))
    return sum((a * size(row) for a, row in zip(s, rows, strict=True)), Decimal(0))


def level(row: Numbers, theta: Decimal) -> tuple[Decimal, int]:
    """Return mu with sum (row - mu)_+ = theta, and how many entries of the decreasing row exceed mu; or zeros."""
    total = Decimal(0)
    if sum(row) <= theta:
        return total, 0
    for k, x in enumerate(row, start=1):
        total += x
        mu = (total - theta) / k
        if k == len(row) or mu >= row[k]:
            return mu, k
    raise AssertionError("unreachable: the last entry ends the loop")


def clipped(rows: list[Numbers], s: Numbers, radius: Decimal) -> Numbers:
    """Return the levels at which the l1,inf projection clips the rows, by Newton's method on theta."""
    falling, theta, sets = [sorted(row, reverse=True) for row in rows], Decimal(0), list[int]()
    while True:
        levels = [level(row, a * theta) for row, a in zip(falling, s, strict=True)]
        if sets == [k for _, k in levels]:
            return [mu for mu, _ in levels]
        sets = [k for _, k in levels]
        excess = sum(a * mu for a, (mu, _) in zip(s, levels, strict=True)) - radius
        theta += excess / sum(a * a / k for a, (_, k) in zip(s, levels, strict=True) if k)


def project_rows(name: str, rows: list[Numbers], s: Numbers, radius: Decimal) -> list[Numbers]:
    """Return the exact projection of non-negative rows."""
    norm = norm_of(name, rows, s)
    if norm <= radius:
        return rows
    if not radius or name == "l2":
        return [[x * radius / norm for x in row] for row in rows]
    if name == "l1inf":
        return [[min(x, mu) for x in row] for row, mu in zip(rows, clipped(rows, s, radius), strict=True)]
    sizes = [length(row) for row in rows]
    shorter = clipped([[size] for size in sizes], s, radius)  # as l1,inf, with rows of one entry
    return [[x * b / a if a else x for x in row] for row, a, b in zip(rows, sizes, shorter, strict=True)]


# Draws


def entries(rng: Rng, shape: tuple[int, int]) -> np.ndarray:
    """Draw a matrix of one of many kinds, with entries of the order of 1."""
    normal = rng.normal(size=shape)
    kinds = {
        "normal": normal,
        "heavy tails": rng.standard_t(1.0, size=shape),
        "ties": rng.integers(-3, 4, size=shape).astype(float),
        "nearly equal": np.sign(normal) * (1 + rng.integers(-9, 10, size=shape) * 2.0**-52),
        "all scales": normal * 10.0 ** rng.uniform(-40, 0, size=shape),
        "rows of all scales": normal * 10.0 ** rng.uniform(-150, 0, size=(shape[0], 1)),
        "zeros": np.where(rng.random(shape) < 0.7, 0.0, normal),
        "repeated rows": normal[rng.integers(0, max(shape[0] // 2, 1), size=shape[0])] if shape[0] else normal,
    }
    return kinds[rng.choice(list(kinds))]


def matrix(rng: Rng) -> np.ndarray:
    dtype = rng.choice([np.float64, np.float64, np.float32])
    scale = rng.choice([0.0, 0.0, rng.uniform(-300, 300) if dtype == np.float64 else rng.uniform(-30, 30)])
    with np.errstate(over="ignore", under="ignore"):
        W = (entries(rng, (int(rng.integers(0, 13)), int(rng.integers(1, 9)))) * 10.0**scale).astype(dtype)
    return np.where(np.isfinite(W), W, dtype(1))


def radius_of(rng: Rng, norm: Decimal, W: np.ndarray) -> float:
    """Draw a radius from 0 to more than the norm."""
    ulp = float(np.spacing(np.abs(W).max(initial=0)))
    exact = min(float(norm), sys.float_info.max)
    choices = (
        exact * rng.uniform(0, 1.2),
        exact * 10.0 ** rng.uniform(-299, 0),
        exact * 10.0 ** rng.uniform(-20, 0),
        np.nextafter(exact, 0),
        exact,
        max(exact - ulp * rng.integers(1, 5), 0.0),
        ulp * rng.uniform(0, 5),
        0.0,
    )
    return float(choices[rng.choice(len(choices), p=[0.3, 0.1, 0.2, 0.08, 0.08, 0.08, 0.14, 0.02])])


def options_of(rng: Rng, name: str, n_rows: int) -> dict[str, Any]:
    """Draw groups, weights and `positive`, as far as a norm has them."""
    options: dict[str, Any] = {"positive": True} if rng.random() < 0.2 else {}
    if NORMS[name].GROUPED and n_rows and rng.random() < 0.3:
        options["groups"] = np.unique(rng.integers(0, n_rows, size=n_rows), return_inverse=True)[1]
    if NORMS[name].WEIGHTED and n_rows and rng.random() < 0.6:
        n = options["groups"].max() + 1 if "groups" in options else n_rows
        spread = rng.choice([0.3, 3.0, 30.0, 75.0])  # with 75, the extremes differ by a factor of 2^500
        options["weights"] = 10.0 ** rng.uniform(-spread, spread, size=n)
    return options


def balls(name: str, shape: tuple[int, ...], options: dict[str, Any]) -> list[Ball]:
    if NORMS[name].PER_TASK:
        places = [[[(i, l)] for i in range(shape[0])] for l in range(shape[1])]
    else:
        groups = options.get("groups", np.arange(shape[0]))
        members = [np.flatnonzero(groups == g) for g in range(groups.max(initial=-1) + 1)]
        places = [[[(i, l) for i in rows for l in range(shape[1])] for rows in members]]
    weights = options.get("weights", np.ones(len(places[0])))
    return [Ball(rows, [Decimal(float(a)) for a in weights]) for rows in places]


# Checks


def check(name: str, ball: Ball, before: np.ndarray, after: np.ndarray, radius: float) -> None:
    """Check the part of a projection that lies in one ball."""
    rows, got, z, dtype = ball.rows(before), ball.rows(after), Decimal(float(radius)), after.dtype.name
    norm, new, near = norm_of(name, rows, ball.s), norm_of(name, got, ball.s), Decimal(NORM_TOLERANCE[dtype])
    # Subnormal entries have few digits after rounding, and are lowered by the smallest number.
    quantum = Decimal(float(np.finfo(dtype).smallest_subnormal))
    lost = 2 * quantum * sum((a * len(row) for a, row in zip(ball.s, rows, strict=True)), Decimal(0))
    if norm <= z:  # the norm itself is known only up to rounding
        require(got == rows or norm >= z * (1 - Decimal("4e-16")), "inside, and comes back changed")
    else:
        require(new <= z * (1 + near), f"norm {new:.17} above the radius {z:.17}")
        reached = new >= z * (1 - near) - lost or z < norm * Decimal(SMALLEST_RADIUS)
        require(reached, f"norm {new:.17} below the radius {z:.17}")
    entries_of = lambda rows: [x for row in rows for x in row]  # noqa: E731
    exact = project_rows(name, rows, ball.s, z)
    error = max((abs(a - b) for a, b in zip(entries_of(got), entries_of(exact), strict=True)), default=Decimal(0))
    largest = max(entries_of(rows), default=Decimal(0))
    require(error <= Decimal(ERROR_TOLERANCE[dtype]) * largest + 2 * quantum, f"error {error:.3} of {largest:.3}")


def case(name: str, rng: Rng, folder: Path) -> None:
    """Project a random matrix onto a random ball, and check every property of the result."""
    W = matrix(rng)
    options = options_of(rng, name, len(W))
    wanted, parts = np.where(W > 0, W, 0) if "positive" in options else W, balls(name, W.shape, options)
    radii = [radius_of(rng, norm_of(name, ball.rows(wanted), ball.s), W) for ball in parts]
    radius = np.array(radii) if NORMS[name].PER_TASK else radii[0]
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        B = NORMS[name].project(LAYOUTS[rng.choice(list(LAYOUTS))](W), radius, **options)
    require(B.shape == W.shape and B.dtype == W.dtype, f"shape or dtype: {B.shape} {B.dtype}")
    grows = (np.abs(B) > np.abs(wanted)).any() or ((B != 0) & (np.sign(B) != np.sign(wanted))).any()
    require(not grows, "an entry grows or changes its sign")
    for ball, z in zip(parts, radii, strict=True):
        check(name, ball, wanted, B, z)


KINDS = {name: partial(case, name) for name in NORMS}

if __name__ == "__main__":
    sys.exit(harness.run(KINDS, harness.parser(__doc__, 20_000).parse_args()))

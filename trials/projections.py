"""Compare random projections of every norm with 700-digit arithmetic.

    .venv/bin/python trials/projections.py --draws 20000

Matrices have many kinds of entries, at scales from 1e-300 to 1e300, in both precisions and all memory layouts, with
weights that differ by factors of up to 2^500, groups and `positive`. Radii range from 0 to more than the norm, and
include radii that differ from 0, from the norm or from the largest entry by a few units in the last place. Every
projection must lie in the ball and reach its boundary, must not enlarge any entry, and must agree with the exact
solution. A matrix that already lies in the ball must be returned unchanged, bit for bit.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal, getcontext
from typing import Any, NamedTuple

import numpy as np

from jointsparse.norms import NORMS

getcontext().prec = 700  # digits for squares of numbers that differ by 2^500, and 60 more
getcontext().Emin, getcontext().Emax = -(10**6), 10**6

NORM_TOLERANCE = {"float64": 1e-12, "float32": 1e-6}  # relative to the radius
ERROR_TOLERANCE = {"float64": 1e-14, "float32": 4e-6}  # relative to the largest entry
SMALLEST_RADIUS = 1e-300  # relative to the norm; smaller radii return 0
LAYOUTS = ("C", "F", "every other row", "reversed", "read-only", "other byte order")

Numbers = list[Decimal]


class Draw(NamedTuple):
    """A call to check, project(W, radius, **options)."""

    W: np.ndarray
    radius: Any
    options: dict[str, Any]


# Exact solutions. A row is a list of magnitudes, and s is its weight.


def theta_of(tops: Numbers, slopes: Numbers, total: Decimal) -> Decimal:
    """Return theta with sum slopes (tops - theta)_+ = total."""
    steepness, mass, theta = Decimal(0), Decimal(0), Decimal(0)
    for i in sorted(range(len(tops)), key=lambda i: -tops[i]):
        if steepness and mass - steepness * tops[i] >= total:
            break
        steepness, mass = steepness + slopes[i], mass + slopes[i] * tops[i]
        theta = (mass - total) / steepness
    return theta


def shrunk(v: Numbers, s: Numbers, radius: Decimal) -> Numbers:
    """Project non-negative values onto the l1 ball with weights s, for a radius between 0 and their norm."""
    theta = theta_of([x / a for x, a in zip(v, s, strict=True)], [a * a for a in s], radius)
    return [max(x - theta * a, Decimal(0)) for x, a in zip(v, s, strict=True)]


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


def flat(rows: list[Numbers]) -> Numbers:
    return [x for row in rows for x in row]


def length(row: Numbers) -> Decimal:
    return sum((x * x for x in row), Decimal(0)).sqrt()


def norm_of(name: str, rows: list[Numbers], s: Numbers) -> Decimal:
    """Return the norm of the rows in a ball. If the norm acts on each task separately, each row is a single entry."""
    if name == "l2":
        return length(flat(rows))
    size = {"l12": length}.get(name, lambda row: max(row, default=Decimal(0)))
    return sum((a * size(row) for a, row in zip(s, rows, strict=True)), Decimal(0))


def project_rows(name: str, rows: list[Numbers], s: Numbers, radius: Decimal) -> list[Numbers]:
    """Return the exact projection of non-negative rows."""
    norm = norm_of(name, rows, s)
    if norm <= radius:
        return rows
    if not radius:
        return [[Decimal(0)] * len(row) for row in rows]
    if name == "l2":
        return [[x * radius / norm for x in row] for row in rows]
    if name == "l1inf":
        return [[min(x, mu) for x in row] for row, mu in zip(rows, clipped(rows, s, radius), strict=True)]
    sizes = [length(row) if name == "l12" else row[0] for row in rows]
    shorter = shrunk(sizes, s, radius)
    return [[x * b / a if a else x for x in row] for row, a, b in zip(rows, sizes, shorter, strict=True)]


# Draws


def entries(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
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


def laid_out(W: np.ndarray, layout: str) -> np.ndarray:
    """Return a copy of a matrix in another memory layout."""
    if layout == "F":
        return np.asfortranarray(W)
    if layout == "every other row":
        return np.repeat(W, 2, axis=0)[::2]
    if layout == "reversed":
        return W[::-1, ::-1].copy()[::-1, ::-1]
    W = W.astype(W.dtype.newbyteorder()) if layout == "other byte order" else W.copy()
    W.flags.writeable = layout != "read-only"
    return W


def radius_of(rng: np.random.Generator, norm: Decimal, largest: float, dtype: Any) -> float:
    """Draw a radius from 0 to more than the norm."""
    ulp = float(np.spacing(dtype(largest)))
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


def draw(rng: np.random.Generator, name: str) -> Draw:
    """Draw a random projection onto a ball of this norm."""
    norm, dtype = NORMS[name], rng.choice([np.float64, np.float64, np.float32])
    shape = (int(rng.integers(0, 13)), int(rng.integers(1, 9)))
    scale = rng.choice([0.0, 0.0, rng.uniform(-300, 300) if dtype == np.float64 else rng.uniform(-30, 30)])
    with np.errstate(over="ignore", under="ignore"):
        W = (entries(rng, shape) * 10.0**scale).astype(dtype)
    W[~np.isfinite(W)] = 1
    options: dict[str, Any] = {}
    if norm.GROUPED and len(W) and rng.random() < 0.3:
        options["groups"] = np.unique(rng.integers(0, len(W), size=len(W)), return_inverse=True)[1]
    if norm.WEIGHTED and len(W) and rng.random() < 0.6:
        n = options["groups"].max() + 1 if "groups" in options else len(W)
        spread = rng.choice([0.3, 3.0, 30.0, 75.0])  # with 75, the extremes differ by a factor of 2^500
        options["weights"] = 10.0 ** rng.uniform(-spread, spread, size=n)
    if rng.random() < 0.2:
        options["positive"] = True
    units = parts_of(name, W, options)
    largest = float(np.abs(W).max(initial=0))
    radii = [radius_of(rng, norm_of(name, rows, s), largest, dtype) for rows, s, _ in units]
    radius = np.array(radii) if norm.PER_TASK and len(radii) == W.shape[1] else radii[0] if radii else 1.0
    return Draw(laid_out(W, str(rng.choice(LAYOUTS))), radius, options)


def parts_of(name: str, W: np.ndarray, options: dict[str, Any]) -> list[tuple[list[Numbers], Numbers, list[Any]]]:
    """Return for each ball its rows, their weights, and the places in W. There is one ball, or one per task."""
    exact = [[Decimal(float(abs(x))) if x > 0 or "positive" not in options else Decimal(0) for x in row] for row in W]
    if NORMS[name].PER_TASK:
        places = [[[(i, l)] for i in range(len(W))] for l in range(W.shape[1])]
    else:
        groups = options.get("groups", np.arange(len(W)))
        members = [np.flatnonzero(groups == g) for g in range(groups.max(initial=-1) + 1)]
        places = [[[(i, l) for i in rows for l in range(W.shape[1])] for rows in members]]
    weights = options.get("weights", np.ones(max(map(len, places), default=0)))
    s = [Decimal(float(a)) for a in weights]
    return [([[exact[i][l] for i, l in row] for row in part], s, part) for part in places]


# Checks


def faults(name: str, case: Draw) -> Iterator[str]:
    """Yield a line for each property that a projection violates."""
    W, radius, options = case
    B = NORMS[name].project(W, radius, **options)
    dtype = np.dtype(W.dtype).newbyteorder("=")
    if B.shape != W.shape or B.dtype != dtype:
        yield f"shape or dtype: {B.shape} {B.dtype}"
        return
    wanted = np.where(W > 0, W, 0) if "positive" in options else W
    if (np.abs(B) > np.abs(wanted)).any() or ((B != 0) & (np.sign(B) != np.sign(wanted))).any():
        yield "an entry grows or changes its sign"
    near, close = Decimal(NORM_TOLERANCE[dtype.name]), Decimal(ERROR_TOLERANCE[dtype.name])
    quantum = Decimal(float(np.finfo(dtype).smallest_subnormal))
    radii = np.broadcast_to(radius, W.shape[1])
    for number, (rows, s, places) in enumerate(parts_of(name, W, options)):
        z = Decimal(float(radii[number]))
        got = [[Decimal(float(abs(B[place]))) for place in row] for row in places]
        before, after = norm_of(name, rows, s), norm_of(name, got, s)
        # Subnormal entries have few digits after rounding, and are lowered by the smallest number.
        lost = 2 * quantum * sum((a * len(row) for a, row in zip(s, rows, strict=True)), Decimal(0))
        inside = before <= z
        if inside and got != rows:
            # The norm itself is known only up to rounding.
            if before < z * (1 - Decimal("4e-16")):
                yield f"part {number} is inside and comes back changed"
        elif not inside and after > z * (1 + near):
            yield f"part {number}: norm / radius = {after / z:.6}" if z else f"part {number}: not 0 for radius 0"
        elif not inside and after < z * (1 - near) - lost and z >= before * Decimal(SMALLEST_RADIUS):
            yield f"part {number}: norm / radius = {after / z:.6}, below the boundary"
        largest = max((x for row in rows for x in row), default=Decimal(0))
        exact = project_rows(name, rows, s, z)
        error = max((abs(a - b) for a, b in zip(flat(got), flat(exact), strict=True)), default=Decimal(0))
        if error > close * largest + 2 * quantum:
            yield f"part {number}: error / largest entry = {error / largest:.3}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20_000, help="number of draws for each norm")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--norms", nargs="+", choices=list(NORMS), default=list(NORMS))
    parser.add_argument("--show", type=int, default=5, help="number of faults of each norm to show")
    given = parser.parse_args(arguments)
    wrong = 0
    for name in given.norms:
        rng, found = np.random.default_rng([given.seed, *name.encode()]), 0
        for number in range(given.draws):
            case = draw(rng, name)
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                complaints = list(faults(name, case))
            found += bool(complaints)
            if complaints and found <= given.show:
                print(f"{name}, draw {number}: {'; '.join(complaints)}\n    {case}")
        print(f"{name}: {found} of {given.draws} projections are wrong", flush=True)
        wrong += found
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

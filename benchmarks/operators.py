"""Compare our projections and proximal operators with a package that pip installs and that computes the same points.

    python benchmarks/operators.py [--peer NAME] [--quick] [--out FOLDER]

Adds a row for each case to operators.csv, in place of earlier rows of the same package. README.md tells how to give
each package an environment of its own, with its newest version. Without --peer, our projection onto the l1 ball is
compared with a sort in NumPy, and that onto the l1,inf ball with the bi-level projection (bilevel.csv).

Both packages run on one thread, in a process that is pinned to one core. A time is the shortest CPU time of interleaved
rounds, after a first call that compiles. The time of a package counts only if its result is within TOLERANCE of ours,
relative to the largest entry. SPAMS gets its matrices in Fortran order and optax its arrays on the device; neither
conversion counts. SPAMS and fastprox have no projection onto the l1,inf ball, only the proximal operator, so a
projection with them has to search for theta.
"""

# ruff: noqa: E402

import os

THREADS = 1
for variable in ("OMP", "OPENBLAS", "MKL", "NUMBA", "FASTPROX"):  # before NumPy is imported
    os.environ[f"{variable}_NUM_THREADS"] = str(THREADS)
os.environ |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from measure import ENTRIES, RADII, Task, fastest, merge, options, processor, show, versions

from jointsparse.norms import l1, l1inf, l12

OURS = "jointsparse"
TOLERANCE = 1e-8
SHAPES = ((200, 60), (3_000, 40), (10_000, 100), (1_000, 1_000))
STEPS = (0.1, 0.5, 0.9)  # of proximal operators, as fractions of the smallest step whose result is zero
PEERS = {  # names for --peer, which pip knows, and the names in the table
    "numpy": "NumPy sort",
    "fastprox": "fastprox",
    "spams-bin": "SPAMS",
    "optax": "optax",
    "POT": "POT",
    "pyproximal": "pyproximal",
}


class Operator(NamedTuple):
    """A projection or a proximal operator, with its cases and the packages that compute it."""

    shapes: tuple[Any, ...]
    fractions: tuple[float, ...]  # radii as fractions of the norm, or steps as fractions of the dual norm
    norm: Callable[[np.ndarray], float]  # the norm or the dual norm
    tasks: Callable[[np.ndarray, float], dict[str, Task]]  # maps an array and a radius or a step to a task per package


def installed(module: str) -> Any:
    """Return the module, or None if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        return None


jax, optax, ot, spams, fastprox, pyproximal = map(installed, ("jax", "optax", "ot", "spams", "fastprox", "pyproximal"))
if jax:
    jax.config.update("jax_enable_x64", True)


def by_jax(function: Callable[..., Any], *arguments: Any) -> Task:
    compiled, placed = jax.jit(function), jax.device_put(arguments)
    return lambda: compiled(*placed).block_until_ready()


def project_by_numpy_sort(v: np.ndarray, z: float) -> np.ndarray:
    """Implement Fig. 1 of Duchi et al. (2008) with few NumPy calls, for 0 < z < ||v||."""
    a = np.abs(v)
    u = np.sort(a)[::-1]
    theta = (np.cumsum(u) - z) / np.arange(1, v.size + 1)
    return np.copysign(np.maximum(a - theta[np.count_nonzero(u > theta) - 1], 0), v)


def l1_ball(v: np.ndarray, radius: float) -> dict[str, Task]:
    out = np.empty_like(v)
    tasks = {OURS: lambda: l1.project(v, radius, out=out), "NumPy sort": lambda: project_by_numpy_sort(v, radius)}
    if fastprox:
        tasks["fastprox"] = lambda: fastprox.project_l1_ball(v, radius, out=out, threads=THREADS)
    if spams:
        column = np.asfortranarray(v[:, None])
        tasks["SPAMS"] = lambda: spams.sparseProject(column, thrs=radius, mode=1, pos=False, numThreads=THREADS)[:, 0]
    if optax:
        tasks["optax"] = by_jax(optax.projections.projection_l1_ball, v, radius)
    if pyproximal:
        ball = pyproximal.L1Ball(v.size, radius, xtol=1e-10)
        tasks["pyproximal"] = lambda: ball.prox(v, 1.0)
    return tasks


def simplex(v: np.ndarray, total: float) -> dict[str, Task]:
    out = np.empty_like(v)
    tasks: dict[str, Task] = {OURS: lambda: l1.project_simplex(v, total, out=out)}
    if fastprox:
        tasks["fastprox"] = lambda: fastprox.project_simplex(v, total, out=out, threads=THREADS)
    if ot:
        tasks["POT"] = lambda: ot.utils.proj_simplex(v, total)
    if optax:
        tasks["optax"] = by_jax(optax.projections.projection_simplex, v, total)
    if pyproximal:
        faces = pyproximal.Simplex(v.size, total, xtol=1e-10, engine="numba")
        tasks["pyproximal"] = lambda: faces.prox(v, 1.0)
    return tasks


def l1_columns(W: np.ndarray, radius: float) -> dict[str, Task]:
    out = np.empty_like(W)
    tasks: dict[str, Task] = {OURS: lambda: l1.project(W, radius, out=out)}
    if fastprox:
        tasks["fastprox"] = lambda: fastprox.project_l1_ball(W, radius, axis=0, out=out, threads=THREADS)
    if spams:
        columns = np.asfortranarray(W)
        tasks["SPAMS"] = lambda: spams.sparseProject(columns, thrs=radius, mode=1, pos=False, numThreads=THREADS)
    if optax:
        project = jax.vmap(optax.projections.projection_l1_ball, in_axes=(1, None), out_axes=1)
        tasks["optax"] = by_jax(project, W, radius)
    return tasks


def prox_by_spams(W: np.ndarray, regul: str) -> Callable[[float], np.ndarray]:
    columns = np.asfortranarray(W)
    return lambda step: spams.proximalFlat(columns, lambda1=step, regul=regul, numThreads=THREADS)


def l12_prox(W: np.ndarray, step: float) -> dict[str, Task]:
    out = np.empty_like(W)
    tasks: dict[str, Task] = {OURS: lambda: l12.prox(W, step)}
    if fastprox:
        tasks["fastprox"] = lambda: fastprox.group_soft_threshold(W, step, axis=1, out=out, threads=THREADS)
    if spams:
        prox = prox_by_spams(W, "l1l2")
        tasks["SPAMS"] = lambda: prox(step)
    if pyproximal:
        transposed = np.ascontiguousarray(W.T).ravel()  # pyproximal's groups lie along the first axis
        groups = pyproximal.L21(ndim=W.shape[1])
        tasks["pyproximal"] = lambda: groups.prox(transposed, step).reshape(W.shape[::-1]).T
    return tasks


def l1inf_prox(W: np.ndarray, step: float) -> dict[str, Task]:
    out = np.empty_like(W)
    tasks: dict[str, Task] = {OURS: lambda: l1inf.prox(W, step)}
    if fastprox:
        tasks["fastprox"] = lambda: fastprox.prox_linf(W, step, axis=1, out=out, threads=THREADS)
    if spams:
        prox = prox_by_spams(W, "l1linf")
        tasks["SPAMS"] = lambda: prox(step)
    return tasks


def l1inf_ball(W: np.ndarray, radius: float) -> dict[str, Task]:
    out = np.empty_like(W)
    bounds = l1inf.dual_norm(W), l1inf.norm(W)
    tasks: dict[str, Task] = {OURS: lambda: l1inf.project(W, radius, out=out)}
    if fastprox:
        tasks["fastprox, search"] = lambda: search(
            lambda step: fastprox.prox_linf(W, step, axis=1, out=out, threads=THREADS), radius, *bounds
        )
    if spams:
        prox = prox_by_spams(W, "l1linf")
        tasks["SPAMS, search"] = lambda: search(prox, radius, *bounds)
    return tasks


def search(prox: Callable[[float], np.ndarray], radius: float, top: float, norm: float) -> np.ndarray:
    """Project with a proximal operator, searching for theta in [0, top] by false position (Illinois).

    The search needs 6 to 20 calls of the operator, no more than other methods need; bisection needs 30.
    """
    low, high, above, below, side = 0.0, top, norm - radius, -radius, 0
    while True:
        theta = (low * below - high * above) / (below - above)
        B = prox(theta)
        excess = float(np.maximum(B.max(axis=1), -B.min(axis=1)).sum()) - radius
        if abs(excess) <= 1e-9 * radius or high - low <= 1e-10 * high:
            return B
        if excess > 0:
            low, above, below, side = theta, excess, below / (2 if side > 0 else 1), 1
        else:
            high, below, above, side = theta, excess, above / (2 if side < 0 else 1), -1


VECTORS = ((1_000,), (100_000,), (1_000_000,))
OPERATORS = {
    "l1,∞ projection": Operator(SHAPES, RADII, l1inf.norm, l1inf_ball),
    "l1 projection": Operator(VECTORS, RADII, l1.norm, l1_ball),
    "l1 projection of columns": Operator(SHAPES, RADII, lambda W: float(l1.norm(W).mean()), l1_columns),
    "simplex projection": Operator(VECTORS, RADII, l1.norm, simplex),
    "l1,∞ prox": Operator(SHAPES, STEPS, l1inf.dual_norm, l1inf_prox),
    "l1,2 prox": Operator(SHAPES, STEPS, l12.dual_norm, l12_prox),
}


def cases(quick: bool) -> Iterator[tuple[tuple[int, ...], str, np.ndarray, str, float]]:
    """Yield the shape, the kind of entries, the array, the name of the operator and the fraction of each case."""
    for name, operator in OPERATORS.items():
        for shape in operator.shapes[: 2 if quick else None]:
            for entries in ("normal",) if quick else ("normal", "t(1.5)"):
                A = ENTRIES[entries](np.random.default_rng(0), shape)
                for fraction in operator.fractions:
                    yield shape, entries, A, name, fraction


def rows(peer: str, quick: bool, rounds: int) -> Iterator[dict[str, object]]:
    """Yield a row for each case that the peer can compute, with its time and ours from the same process."""
    for shape, entries, A, name, fraction in cases(quick):
        operator = OPERATORS[name]
        tasks = operator.tasks(A, fraction * operator.norm(A))
        expected = np.array(tasks[OURS]())
        for package in (package for package in tasks if package.partition(",")[0] == PEERS[peer]):
            distance = float(np.abs(tasks[package]() - expected).max() / np.abs(A).max())
            raced = (OURS, package) if distance <= TOLERANCE else (OURS,)
            seconds = fastest({each: tasks[each] for each in raced}, rounds)
            time = seconds.get(package, np.nan)
            yield {
                "operator": name,
                "size": " × ".join(map("{:,}".format, shape)),
                "entries": entries,
                "fraction": fraction,
                "package": package,
                "ms": 1e3 * time,
                "ours (ms)": 1e3 * seconds[OURS],
                "package / ours": time / seconds[OURS],
                "distance": distance,
                "threads": THREADS,
                "versions": versions(*dict.fromkeys((peer, "jax", "jointsparse", "numba", "numpy"))),
            }


def bilevel(W: np.ndarray, radius: float, out: np.ndarray) -> np.ndarray:
    """Project the largest absolute values of the rows onto the l1 ball, and clip every row at its projected value.

    This is the bi-level projection of Barlaud, Perez and Marmorat (2024), written with our compiled passes. Of a row it
    considers only the largest entry when it shares out the radius, so the result is not the nearest point of the ball.
    """
    maxima = l1inf.statistics(W)[1]
    l1inf.clip_rows(W, l1.project(maxima, radius), out)
    return out


def bilevel_rows(quick: bool, rounds: int) -> Iterator[dict[str, object]]:
    """Compare the bi-level projection with the projection, in time and in the point that is returned."""
    for shape, entries, W, name, fraction in cases(quick):
        if name != "l1,∞ projection":
            continue
        radius, out = fraction * l1inf.norm(W), np.empty_like(W)
        exact, other = l1inf.project(W, radius), bilevel(W, radius, np.empty_like(W))
        seconds = fastest(
            {
                OURS: lambda W=W, radius=radius, out=out: l1inf.project(W, radius, out=out),
                "bi-level": lambda W=W, radius=radius, out=out: bilevel(W, radius, out),
            },
            rounds,
        )
        ours, theirs = exact.any(axis=1), other.any(axis=1)
        yield {
            "size": " × ".join(map("{:,}".format, shape)),
            "entries": entries,
            "fraction": fraction,
            "jointsparse (ms)": 1e3 * seconds[OURS],
            "bi-level (ms)": 1e3 * seconds["bi-level"],
            "ours / bi-level": seconds[OURS] / seconds["bi-level"],
            "distance / length": np.linalg.norm(other - exact) / np.linalg.norm(exact),
            "excess": np.linalg.norm(W - other) / np.linalg.norm(W - exact) - 1,
            "rows": np.count_nonzero(ours),
            "bi-level rows": np.count_nonzero(theirs),
            "rows of both": np.count_nonzero(ours & theirs),
        }


def main() -> None:
    given = options(__doc__, "a quarter of the sizes, normal entries, and fewer rounds", tuple(PEERS))
    rounds = 5 if given.quick else 15
    print(f"{processor()}; {THREADS} thread; shortest CPU time of at most {rounds} interleaved rounds")
    table = pd.DataFrame(rows(given.peer, given.quick, rounds)).assign(processor=processor())
    if table.empty:
        raise SystemExit(f"{given.peer} is not installed in this environment")
    packages = [f"{name}{how}" for name in PEERS.values() for how in ("", ", search")]
    merge(table, given.out / "operators.csv", "package", {"operator": OPERATORS, "package": packages})
    show(given.peer, table.drop(columns=["processor", "versions", "threads"]))
    if given.peer == "numpy":
        bilevel = pd.DataFrame(bilevel_rows(given.quick, rounds)).assign(processor=processor())
        bilevel.to_csv(given.out / "bilevel.csv", index=False, float_format="%.4g")
        show("bi-level", bilevel.drop(columns="processor"))


if __name__ == "__main__":
    main()

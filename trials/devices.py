"""Compare projections of arrays on an accelerator with the compiled code: errors, gradients and times.

    python trials/devices.py docs/devices.csv

Writes a table with the results of PyTorch, JAX and CuPy, as far as they are installed. Exits with 1 if a result is not
what the documentation promises. A time is the median over repeated calls after a warm-up, and each call is timed until
the device has finished.
"""

import argparse
import importlib.util
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from jointsparse.norms import NORMS, l1inf

COLUMNS = [
    *("library", "device", "cpu", "norm", "function", "dtype", "batch", "rows", "columns", "fraction"),
    *("ms", "ms_in_jit", "ms_with_gradient", "ms_by_cpu", "ms_on_cpu", "ms_copy"),
    *("error", "excess", "gradient_error"),
]
SIZES = [  # batch, rows, columns and dtype of the timed projections
    *((1, 1000, 1000, "float32"), (1, 10_000, 1000, "float32"), (1, 100_000, 1000, "float32")),
    *((100, 1000, 100, "float32"), (1, 10_000, 1000, "float64")),
]
N_CHECKED = 1000  # number of small matrices whose projections are checked
FRACTIONS = (0.01, 0.1, 0.5)  # of the norm
LIMITS = {
    "error": {"float32": 1e-5, "float64": 1e-12},  # relative to the largest entry
    "excess": {"float32": 1e-6, "float64": 1e-12},  # by which the norm may exceed the radius, relative to the radius
    "gradient_error": {"float64": 1e-6},  # of directional derivatives, compared with finite differences
}
STEP = 1e-6  # step of the finite differences
LEAST_REPEATS, MOST_REPEATS, SECONDS = 3, 30, 0.4  # repeats of a timed call, and their total time


class Library(NamedTuple):
    """What is called differently in each library. gradients: of a function with respect to all arguments."""

    name: str
    device: str
    array: Callable[[Any], Any]
    numpy: Callable[[Any], np.ndarray]
    copy: Callable[[Any], Any]
    wait: Callable[[Any], None]
    jit: Callable | None = None
    gradients: Callable[..., Any] | None = None


def pytorch() -> Library:
    import torch

    def gradients(function: Callable, *arguments: Any) -> list[Any]:
        leaves = [x.detach().requires_grad_() for x in arguments]
        function(*leaves).backward()
        return [leaf.grad for leaf in leaves]

    return Library(
        name=f"PyTorch {torch.__version__}",
        device=torch.cuda.get_device_name(),
        array=lambda x: torch.asarray(x, device="cuda"),
        numpy=lambda x: x.detach().cpu().numpy(),
        copy=lambda W: W.clone(),
        wait=lambda x: torch.cuda.synchronize(),
        gradients=gradients,
    )


def jax() -> Library:
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax

    jax.config.update("jax_enable_x64", True)
    double = jax.jit(lambda W: 2 * W)  # a new array, whose copy on the host JAX does not know yet
    return Library(
        name=f"JAX {jax.__version__}",
        device=jax.devices()[0].device_kind,
        array=jax.device_put,
        numpy=np.array,
        copy=lambda W: double(W) / 2,
        wait=jax.block_until_ready,
        jit=jax.jit,
        gradients=lambda function, *arguments: jax.grad(function, tuple(range(len(arguments))))(*arguments),
    )


def cupy() -> Library:
    import cupy

    return Library(
        name=f"CuPy {cupy.__version__}",
        device=cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        array=cupy.asarray,
        numpy=cupy.asnumpy,
        copy=lambda W: W.copy(),
        wait=lambda x: cupy.cuda.Device().synchronize(),
    )


def milliseconds(library: Library, function: Callable, argument: Any) -> float:
    """Return the median time of function(argument)."""

    def once() -> float:
        x = library.copy(argument)
        library.wait(x)
        start = time.perf_counter()
        library.wait(function(x))
        return 1e3 * (time.perf_counter() - start)

    once()
    repeats = int(np.clip(1e3 * SECONDS / max(once(), 1e-3), LEAST_REPEATS, MOST_REPEATS))
    return statistics.median(once() for _ in range(repeats))


def timed(library: Library, batch: int, n_rows: int, n_columns: int, dtype: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each radius, with times and the error relative to a projection in float64."""
    shape = (n_rows, n_columns) if batch == 1 else (batch, n_rows, n_columns)
    W = np.random.default_rng(0).standard_normal(shape, np.float32).astype(dtype)
    on_device, V, exact = library.array(W), library.array(np.ones_like(W)), W.astype(float)
    row = {"norm": "l1inf", "function": "project", "dtype": dtype, "batch": batch, "rows": n_rows, "columns": n_columns}
    row["ms_copy"] = milliseconds(library, library.copy, on_device)
    for fraction in FRACTIONS:
        radius = float(np.mean(l1inf.norm(exact))) * fraction
        ways: dict[str, Callable[[Any], Any]] = {
            "ms": lambda W, radius=radius: l1inf.project(W, radius),
            "ms_by_cpu": lambda W, radius=radius: library.array(l1inf.project(library.numpy(W), radius)),
            "ms_on_cpu": lambda _, radius=radius: l1inf.project(W, radius),
        }
        if library.jit:
            ways["ms_in_jit"] = library.jit(ways["ms"])
        if library.gradients:
            ways["ms_with_gradient"] = lambda W, project=ways["ms"]: library.gradients(
                lambda W: (project(W) * V).sum(), W
            )
        times = {name: milliseconds(library, function, on_device) for name, function in ways.items()}
        B = library.numpy(l1inf.project(on_device, radius)).astype(float)
        error = np.abs(B - l1inf.project(exact, radius)).max() / np.abs(W).max()
        yield {**row, **times, "fraction": fraction, "error": error, "excess": np.max(l1inf.norm(B) / radius) - 1}


def checked(library: Library, name: str, dtype: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each function of a norm: its error and that of its gradient, on a batch of small matrices."""
    norm, rng = NORMS[name], np.random.default_rng(1)
    W = rng.standard_t(2, size=(N_CHECKED, 12, 5)).astype(dtype)
    s = {"weights": rng.uniform(0.5, 2, size=12)} if norm.WEIGHTED else {}
    norms = norm.norm(W.astype(float), **s)
    for verb in ("project", "prox", *["project_simplex"] * (name == "l1")):
        function, options = getattr(norm, verb), {} if verb == "project_simplex" else s
        number = norms * rng.choice([1e-3, 0.1, 0.5, 0.9, 1.5], size=norms.shape)
        got = library.numpy(function(library.array(W), number, **options)).astype(float)
        largest = max(np.abs(W).max(), np.max(number) if verb == "project_simplex" else 0)
        error = np.abs(got - function(W.astype(float), number, **options)).max() / largest
        row = {
            "norm": name,
            "function": verb,
            "dtype": dtype,
            "batch": len(W),
            "rows": 12,
            "columns": 5,
            "error": error,
        }
        if verb == "project":
            row["excess"] = np.max(norm.norm(got, **s) / number) - 1
        if library.gradients and dtype == "float64":
            row["gradient_error"] = gradient_error(library, function, W[0], number[0], options)
        yield row


def gradient_error(library: Library, function: Callable, W: Any, number: Any, options: dict[str, Any]) -> float:
    """Return the largest error of a directional derivative in all arguments, relative to the largest derivative."""
    rng = np.random.default_rng(2)
    V, arguments = rng.normal(size=W.shape), [W, np.asarray(number), *options.values()]

    def value(V: Any, *x: Any) -> Any:
        return (function(x[0], x[1], **dict(zip(options, x[2:], strict=True))) * V).sum()

    on_device = library.array(V)
    gradients = library.gradients(lambda *x: value(on_device, *x), *map(library.array, arguments))
    errors, sizes = [], [1.0]
    for _ in range(5):
        directions = [rng.normal(size=np.shape(x)) for x in arguments]
        above, below = ([x + sign * STEP * u for x, u in zip(arguments, directions, strict=True)] for sign in (1, -1))
        expected = (value(V, *above) - value(V, *below)) / (2 * STEP)
        got = sum((library.numpy(g) * u).sum() for g, u in zip(gradients, directions, strict=True))
        errors.append(abs(got - expected))
        sizes.append(abs(expected))
    return max(errors) / max(sizes)


def rows_of(library: Library) -> Iterator[dict[str, Any]]:
    for dtype in ("float64", "float32"):
        for name in NORMS:
            yield from checked(library, name, dtype)
    for size in SIZES:
        yield from timed(library, *size)


def main(path: Path) -> int:
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    cpu = next(line.partition(": ")[2] for line in info if line.startswith("model name"))
    rows = []
    for module, make in (("torch", pytorch), ("jax", jax), ("cupy", cupy)):
        if importlib.util.find_spec(module):
            library = make()
            rows += [{"library": library.name, "device": library.device, "cpu": cpu, **row} for row in rows_of(library)]
    table = pd.DataFrame(rows).reindex(columns=COLUMNS)
    table.to_csv(path, index=False, float_format="%.4g")
    broken = [table[name] > table["dtype"].map(limits) for name, limits in LIMITS.items()]
    print(table[np.any(broken, axis=0)].to_string())
    return int(np.any(broken))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help="table to write")
    sys.exit(main(parser.parse_args().path))

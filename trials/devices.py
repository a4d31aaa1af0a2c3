"""Compare projections of arrays on an accelerator with the compiled code: errors, gradients and times.

    python trials/devices.py --out docs

Writes devices.csv with the results of PyTorch, JAX and CuPy, as far as they are installed and find an accelerator. With
`--cpu` the processor is used instead, and with `--quick` the matrices are small. Exits with 1 if a result is not what
the documentation promises. A time is the median over repeated calls after a warm-up, and each call is timed until the
device has finished.
"""

import argparse
import csv
import importlib.util
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jointsparse.norms import NORMS, l1inf

COLUMNS = (
    *("library", "device", "cpu", "norm", "function", "dtype", "batch", "rows", "columns", "fraction"),
    *("ms", "ms_in_jit", "ms_with_gradient", "ms_by_cpu", "ms_on_cpu", "ms_copy"),
    *("error", "excess", "gradient_error"),
)
SHAPES = (((), 1000, 1000), ((), 10_000, 1000), ((), 100_000, 1000), ((100,), 1000, 100))
QUICK_SHAPES = (((), 100, 50), ((), 1000, 100), ((10,), 100, 20))
FRACTIONS = (0.01, 0.1, 0.5)  # of the norm
LARGEST_ERROR = {"float32": 1e-5, "float64": 1e-12}  # relative to the largest entry
LARGEST_EXCESS = {"float32": 1e-6, "float64": 1e-12}  # by which the norm may exceed the radius, relative to the radius
LARGEST_GRADIENT_ERROR = 1e-6  # of directional derivatives in float64, compared with finite differences
STEP = 1e-6  # step of the finite differences
LEAST_REPEATS, MOST_REPEATS, SECONDS = 3, 30, 0.4  # repeats of a timed call, and their total time

Row = dict[str, Any]


class Torch:
    module = "torch"

    def __init__(self, cpu: bool) -> None:
        import torch

        self.torch, self.device = torch, torch.device("cpu" if cpu else "cuda")
        self.name = f"PyTorch {torch.__version__}"
        self.device_name = "" if cpu else torch.cuda.get_device_name()
        self.copy, self.jit = lambda W: W.clone(), None

    def array(self, x: Any) -> Any:
        return self.torch.asarray(x, device=self.device)

    def numpy(self, x: Any) -> Any:
        return x.detach().cpu().numpy()

    def wait(self, x: Any) -> None:
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()

    def fresh(self, W: Any) -> Any:
        return W

    def gradients(self, function: Callable, *arguments: Any) -> Any:
        leaves = [x.detach().requires_grad_() for x in arguments]
        function(*leaves).backward()
        return [leaf.grad for leaf in leaves]


class Jax:
    module = "jax"

    def __init__(self, cpu: bool) -> None:
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax, self.device = jax, jax.devices("cpu" if cpu else "gpu")[0]
        self.name = f"JAX {jax.__version__}"
        self.device_name = "" if cpu else self.device.device_kind
        self.copy, self.jit = jax.jit(lambda W: 2 * W), jax.jit

    def array(self, x: Any) -> Any:
        return self.jax.device_put(x, self.device)

    def numpy(self, x: Any) -> Any:
        return np.array(x)

    def wait(self, x: Any) -> None:
        self.jax.block_until_ready(x)

    def fresh(self, W: Any) -> Any:
        """Return a new array, because JAX caches the host copy of an array that was once copied to the host."""
        return self.jax.block_until_ready(self.copy(W) / 2)

    def gradients(self, function: Callable, *arguments: Any) -> Any:
        return self.jax.grad(function, tuple(range(len(arguments))))(*arguments)


class CuPy:
    module = "cupy"

    def __init__(self, cpu: bool) -> None:
        if cpu:
            raise RuntimeError("CuPy has no arrays on the processor")
        import cupy

        self.cupy = cupy
        self.name = f"CuPy {cupy.__version__}"
        self.device_name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        self.array, self.numpy = cupy.asarray, cupy.asnumpy
        self.copy, self.jit, self.gradients = lambda W: W.copy(), None, None

    def wait(self, x: Any) -> None:
        self.cupy.cuda.Device().synchronize()

    def fresh(self, W: Any) -> Any:
        return W


LIBRARIES = {library.module: library for library in (Torch, Jax, CuPy)}


def milliseconds(library: Any, function: Callable, argument: Callable[[], Any]) -> float:
    """Return the median time of function(argument()) in milliseconds, without the time to make the argument."""

    def once() -> float:
        x = argument()
        library.wait(x)
        start = time.perf_counter()
        library.wait(function(x))
        return 1e3 * (time.perf_counter() - start)

    once()
    repeats = int(np.clip(1e3 * SECONDS / max(once(), 1e-3), LEAST_REPEATS, MOST_REPEATS))
    return statistics.median(once() for _ in range(repeats))


def measured(library: Any, batch: tuple[int, ...], n_rows: int, n_columns: int, dtype: str) -> Iterator[Row]:
    """Yield a row for each radius, with times and the error relative to a projection in float64."""
    W = np.random.default_rng(0).standard_normal((*batch, n_rows, n_columns), np.float32).astype(dtype)
    on_device, V = library.array(W), library.array(np.ones_like(W))
    norms = l1inf.norm(W.astype(float))
    copy = milliseconds(library, library.copy, lambda: on_device)
    for fraction in FRACTIONS:
        radius = float(np.mean(norms)) * fraction

        def by_cpu(W: Any, radius: float = radius) -> Any:
            return library.array(l1inf.project(library.numpy(W), radius))

        def with_gradient(W: Any, radius: float = radius) -> Any:
            return library.gradients(lambda W: (l1inf.project(W, radius) * V).sum(), W)[0]

        times = {
            "ms": milliseconds(library, lambda W, radius=radius: l1inf.project(W, radius), lambda: on_device),
            "ms_by_cpu": milliseconds(library, by_cpu, lambda: library.fresh(on_device)),
            "ms_on_cpu": milliseconds(library, lambda _, radius=radius: l1inf.project(W, radius), lambda: on_device),
            "ms_copy": copy,
        }
        if library.jit:
            in_jit = library.jit(lambda W, radius=radius: l1inf.project(W, radius))
            times["ms_in_jit"] = milliseconds(library, in_jit, lambda: on_device)
        if library.gradients:
            times["ms_with_gradient"] = milliseconds(library, with_gradient, lambda: on_device)
        B = library.numpy(l1inf.project(on_device, radius)).astype(float)
        size = {"batch": int(np.prod(batch)), "rows": n_rows, "columns": n_columns, "fraction": fraction}
        error = np.abs(B - l1inf.project(W.astype(float), radius)).max() / np.abs(W).max()
        excess = np.max(l1inf.norm(B) / radius) - 1
        yield {
            "norm": "l1inf",
            "function": "project",
            "dtype": dtype,
            **size,
            **times,
            "error": error,
            "excess": excess,
        }


def checked(library: Any, name: str, dtype: str, n: int) -> Iterator[Row]:
    """Yield a row for each function of a norm: its error and that of its gradient, on a batch of small matrices."""
    norm, rng = NORMS[name], np.random.default_rng(1)
    W = rng.standard_t(2, size=(n, 12, 5)).astype(dtype)
    s = {"weights": rng.uniform(0.5, 2, size=12)} if norm.WEIGHTED else {}
    norms = norm.norm(W.astype(float), **s)
    for verb in ("project", "prox", *["project_simplex"] * (name == "l1")):
        function, options = getattr(norm, verb), {} if verb == "project_simplex" else s
        number = norms * rng.choice([1e-3, 0.1, 0.5, 0.9, 1.5], size=norms.shape)
        got = library.numpy(function(library.array(W), number, **options)).astype(float)
        expected = function(W.astype(float), number, **options)
        row: Row = {"norm": name, "function": verb, "dtype": dtype, "batch": n, "rows": 12, "columns": 5}
        row["error"] = np.abs(got - expected).max() / np.maximum(
            np.abs(W).max(), np.max(number) if "simplex" in verb else 0
        )
        if verb == "project":
            row["excess"] = np.max(norm.norm(got, **s) / number) - 1
        if library.gradients and dtype == "float64":
            row["gradient_error"] = gradient_error(library, function, W[0], number[0], options)
        yield row


def gradient_error(library: Any, function: Callable, W: Any, number: Any, options: dict[str, Any]) -> float:
    """Return the largest error of a directional derivative in all arguments, relative to the largest derivative."""
    rng = np.random.default_rng(2)
    V, arguments = rng.normal(size=W.shape), [W, np.asarray(number), *options.values()]

    def value(*x: Any, V: Any = V) -> Any:
        return (function(x[0], x[1], **dict(zip(options, x[2:], strict=True))) * V).sum()

    on_device = library.array(V)
    gradients = library.gradients(lambda *x: value(*x, V=on_device), *(library.array(x) for x in arguments))
    errors, sizes = [], [1.0]
    for _ in range(5):
        directions = [rng.normal(size=np.shape(x)) for x in arguments]
        above, below = ([x + sign * STEP * u for x, u in zip(arguments, directions, strict=True)] for sign in (1, -1))
        expected = (value(*above) - value(*below)) / (2 * STEP)
        got = sum((library.numpy(g) * u).sum() for g, u in zip(gradients, directions, strict=True))
        errors.append(abs(got - expected))
        sizes.append(abs(expected))
    at_zeros = library.gradients(
        lambda *x: value(*x, V=on_device),
        *(library.array(0 * x) for x in arguments[:2]),
        *(library.array(x) for x in arguments[2:]),
    )
    return max(errors) / max(sizes) if all(np.isfinite(library.numpy(g)).all() for g in at_zeros) else np.nan


def rows_of(library: Any, quick: bool) -> Iterator[Row]:
    for dtype in ("float64", "float32"):
        for name in NORMS:
            yield from checked(library, name, dtype, 20 if quick else 1000)
    for batch, n_rows, n_columns in QUICK_SHAPES if quick else SHAPES:
        yield from measured(library, batch, n_rows, n_columns, "float32")
    yield from measured(library, (), *((1000, 100) if quick else (10_000, 1000)), "float64")


def faults(row: Row) -> list[str]:
    limits = {"error": LARGEST_ERROR[row["dtype"]], "excess": LARGEST_EXCESS[row["dtype"]]}
    limits["gradient_error"] = LARGEST_GRADIENT_ERROR
    return [f"{name} {row[name]:.2g}" for name, limit in limits.items() if name in row and not row[name] <= limit]


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def measure(module: str, path: Path, cpu: bool, quick: bool) -> int:
    """Append the rows of one library to a table, and return how many rows break a promise of the documentation."""
    library, n_faults = LIBRARIES[module](cpu), 0
    where = {"library": library.name, "device": library.device_name or processor(), "cpu": processor()}
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        for row in rows_of(library, quick):
            writer.writerow({key: f"{x:.4g}" if isinstance(x, float) else x for key, x in {**where, **row}.items()})
            file.flush()
            print(library.name, {key: f"{x:.3g}" if isinstance(x, float) else x for key, x in row.items()}, flush=True)
            for fault in faults(row):
                print("  NOT AS PROMISED:", fault)
                n_faults += 1
    return n_faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of devices.csv")
    parser.add_argument("--library", choices=LIBRARIES, help="that one alone, at the end of a table that exists")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    path = args.out / "devices.csv"
    if args.library:
        return int(measure(args.library, path, args.cpu, args.quick) > 0)
    path.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    codes = [  # one process per library, because each library reserves memory of the device
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--library", module], check=False).returncode
        for module in LIBRARIES
        if importlib.util.find_spec(module) and not (args.cpu and module == "cupy")
    ]
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())

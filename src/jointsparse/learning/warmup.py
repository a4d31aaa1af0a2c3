"""A function that compiles the training kernels before their first use."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import subgradient, working_set
from jointsparse.registry import pick


def warmup(
    *norms: str,
    losses: Sequence[str] = ("logistic", "hinge", "squared"),
    dtypes: Sequence[Any] = (np.float64, np.float32),
    progress: bool = True,
) -> None:
    """Compile the kernels for projections and fits, so that the first calls do not have to wait.

    The compiled kernels are stored in the user's cache folder, where all processes find them (see
    `jointsparse.compiled`). If the kernels are already in the cache, this function takes a second or two.

    Parameters
    ----------
    *norms : str
        Names in `jointsparse.norms.NORMS`. The default is l1inf.
    losses : sequence of str
        Names in `jointsparse.learning.losses.LOSSES`.
    dtypes : sequence of dtypes
        Feature dtypes for which fits are compiled. Projections are always compiled for float64 and float32.
    progress : bool
        Whether to print to standard error what is being compiled.

    Raises
    ------
    ValueError
        If a name is unknown.
    """
    rng = np.random.default_rng(0)
    # The features differ in size, so that the working set solver compiles the code that scales them, too.
    X = rng.normal(size=(20, 6)) / np.arange(1, 7)
    Y = rng.choice([-1.0, 1.0], size=(20, 3))
    radius = np.array([0.1, 1.0])
    for name in norms or ("l1inf",):
        norm = pick("norms", name)
        for precision in (np.float64, np.float32):
            norm.project(rng.normal(size=(6, 3)).astype(precision), 1.0)
        for dtype in dtypes:
            if progress:
                print(f"compiling {name} for {np.dtype(dtype)} (takes some seconds the first time)", file=sys.stderr)
            problem = Problem.from_matrix(X.astype(dtype), Y)
            for loss in losses:
                plug_ins: dict[str, Any] = {"loss": pick("losses", loss), "norm": norm}
                subgradient.fit(problem, **plug_ins, radius=radius, eta0=np.ones(2), n_iter=3)
                working_set.fit(problem, **plug_ins, radius=radius[:1], n_iter=3)
                if plug_ins["loss"].QUADRATIC:
                    working_set.fit(problem, **plug_ins, radius=radius[:1], n_iter=3, penalised=True)

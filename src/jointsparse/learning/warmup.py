"""Compile the kernels of training before they are waited for."""

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
    """Compile what first calls need: projections and fits, once for all processes.

    The kernels stay in the user's cache folder (see `jointsparse.compiled`). Where they are there already, this takes a
    second or two.

    Parameters
    ----------
    *norms : str
        Names in `jointsparse.norms.NORMS`; l1inf if there is none.
    losses : sequence of str
        Names in `jointsparse.learning.losses.LOSSES`.
    dtypes : sequence of dtypes
        Precisions of features. Projections are compiled in both.
    progress : bool
        True to say on the standard error what is compiled.

    Raises
    ------
    ValueError
        For an unknown name.
    """
    rng = np.random.default_rng(0)
    # Features of different sizes, so that working sets scale them.
    X = rng.normal(size=(20, 6)) / np.arange(1, 7)
    Y = rng.choice([-1.0, 1.0], size=(20, 3))
    radius = np.array([0.1, 1.0])
    for name in norms or ("l1inf",):
        norm = pick("norms", name)
        for precision in (np.float64, np.float32):
            norm.project(rng.normal(size=(6, 3)).astype(precision), 1.0)
        for dtype in dtypes:
            if progress:
                print(f"compiling {name} in {np.dtype(dtype)}, which takes seconds the first time", file=sys.stderr)
            problem = Problem.from_matrix(X.astype(dtype), Y)
            for loss in losses:
                plug_ins: dict[str, Any] = {"loss": pick("losses", loss), "norm": norm}
                subgradient.fit(problem, **plug_ins, radius=radius, eta0=np.ones(2), n_iter=3)
                working_set.fit(problem, **plug_ins, radius=radius[:1], n_iter=3)
                if plug_ins["loss"].QUADRATIC:
                    working_set.fit(problem, **plug_ins, radius=radius[:1], n_iter=3, penalised=True)

"""Compile the kernels of training before they are waited for."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import subgradient, working_set
from jointsparse.registry import pick


def warmup(norm: str, losses: Sequence[str] = ("hinge",)) -> None:
    """Compile what training with a norm runs: fits in single precision, and projections in double precision.

    The kernels stay in the user's cache folder (see `jointsparse.compiled`). Where they are there already, this takes a
    second. norm: a name of `jointsparse.norms.NORMS`. losses: names of `jointsparse.learning.losses.LOSSES`.
    """
    rng = np.random.default_rng(0)
    # Features of different sizes, so that working sets scale them.
    X = (rng.normal(size=(20, 6)) / np.arange(1, 7)).astype(np.float32)
    Y = rng.choice([-1.0, 1.0], size=(20, 3))
    problem, radius = Problem.from_matrix(X, Y), np.array([0.1, 1.0])
    plug_in = pick("norms", norm)
    for loss in losses:
        plug_ins: dict[str, Any] = {"loss": pick("losses", loss), "norm": plug_in}
        subgradient.fit(problem, **plug_ins, radius=radius, eta0=np.ones(2), n_iter=3)
        working_set.fit(problem, **plug_ins, radius=radius[:1], n_iter=3)
    plug_in.project(rng.normal(size=(6, 3)), 1.0)

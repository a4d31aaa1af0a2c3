"""Helpers for all tests: random samples, rounding errors of products, and Python subprocesses."""

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from jointsparse.learning.problem import Problem


def draw_scores(n=200, m=6, ties=False):
    """Draw labels of m tasks, from rare to frequent, and noisy scores for them: scores and labels, both (n, m)."""
    rng = np.random.default_rng(0)
    labels = rng.random((n, m)) < np.linspace(0.1, 0.9, m)
    scores = labels + rng.normal(0, 1.5, (n, m))
    return (np.round(scores) if ties else scores), labels


def draw_labels(n=24, d=5, m=3):
    """Draw samples, and noisy labels of m tasks that depend on the first two features; some labels are 0 (unknown)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    Y = np.where(X[:, :1] + 0.5 * X[:, 1:2] + rng.normal(0, 0.7, (n, m)) > 0, 1.0, -1.0)
    return X, np.where(rng.random((n, m)) < 0.3, 0.0, Y)


def draw_tasks(dtype=float, n=14, d=6, container=np.asarray, **options):
    """Draw a problem of three tasks that depend on the same two features, with n, n + 1 and n + 2 weighted samples."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n + k, d)).astype(dtype) for k in range(3)]
    y = [np.where(x[:, 0] + x[:, 1] * rng.random() + 0.5 + rng.normal(size=len(x)) > 0, 1.0, -1.0) for x in X]
    return Problem([container(x) for x in X], y, [rng.choice([0.5, 1.0, 3.0], size=len(x)) for x in X], **options)


def problem(n=40, d=6, m=3, seed=0):
    """Draw features, and noisy signs (n, m) that depend on the first two features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, :1] + 0.5 * X[:, 1:2] + rng.normal(0, 0.5, (n, m)) > 0, 1, -1)


def masked(Y):
    return np.where(np.random.default_rng(1).random(Y.shape) < 0.3, 0, Y)


def regression():
    """Draw features, and targets of three tasks around 10 that depend on the first three of eight features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 8))
    return X, X[:, :3] @ rng.normal(size=(3, 3)) + 10 + rng.normal(0, 0.1, (50, 3))


def rounding(A, B):
    """Return the largest difference of two products A @ B in single precision whose terms are added in other orders.

    The order depends on the processor, on the number of rows, and on sparsity.
    """
    return np.shape(B)[0] * float(np.finfo(np.float32).eps) * (np.abs(A) @ np.abs(B))


def run_python(*arguments: Any, variables: Mapping[str, str] = {}, **options: Any) -> str:
    """Run Python in a subprocess with the module path of the tests, assert that it succeeds, and return its output."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), **variables},
        capture_output=True,
        text=True,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

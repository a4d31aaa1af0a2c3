"""What tests of both houses share: drawn samples, the rounding of products, and processes of their own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from jointsparse.learning.problem import Problem


def draw_scores(n=200, m=6, seed=0, ties=False):
    """Scores that follow the labels of m tasks, and these labels, from rare to frequent ones: (n, m) each."""
    rng = np.random.default_rng(seed)
    labels = rng.random((n, m)) < np.linspace(0.1, 0.9, m)
    scores = labels + rng.normal(0, 1.5, (n, m))
    return (np.round(scores) if ties else scores), labels


def draw_labels(n=24, d=5, m=3):
    """Samples of some of m tasks each, and labels that follow the first two features, with noise; 0 is of no task."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    Y = np.where(X[:, :1] + 0.5 * X[:, 1:2] + rng.normal(0, 0.7, (n, m)) > 0, 1.0, -1.0)
    return X, np.where(rng.random((n, m)) < 0.3, 0.0, Y)


def draw_tasks(dtype=float, n=14, d=6, container=np.asarray, **options):
    """A problem of three tasks with n, n + 1 and n + 2 samples that share two features, with weights."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n + k, d)).astype(dtype) for k in range(3)]
    y = [np.where(x[:, 0] + x[:, 1] * rng.random() + 0.5 + rng.normal(size=len(x)) > 0, 1.0, -1.0) for x in X]
    return Problem([container(x) for x in X], y, [rng.choice([0.5, 1.0, 3.0], size=len(x)) for x in X], **options)


def problem(n=40, d=6, m=3, seed=0):
    """Features, and signs (n, m) that follow the first two of them, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, :1] + 0.5 * X[:, 1:2] + rng.normal(0, 0.5, (n, m)) > 0, 1, -1)


def masked(Y, seed=1):
    """The signs Y, of which 0 takes the place of some."""
    return np.where(np.random.default_rng(seed).random(Y.shape) < 0.3, 0, Y)


def regression(n=50, d=8, m=3, seed=0):
    """Features, and targets (n, m) around 10 that follow the first three of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, :3] @ rng.normal(size=(3, m)) + 10 + rng.normal(0, 0.1, (n, m))


def rounding(A, B):
    """How far two products A @ B in single precision lie apart at most, if BLAS adds up the same terms in other orders.

    It does so on other processors, for one row and for many, and for rows that are sparse.
    """
    return np.shape(B)[0] * float(np.finfo(np.float32).eps) * (np.abs(A) @ np.abs(B))


def run_python(*arguments: Any, variables: Mapping[str, str] = {}, **options: Any) -> str:
    """Text that Python prints in a process of its own, which finds the modules that tests find and must not fail."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), **variables},
        capture_output=True,
        text=True,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

"""Count the operations of projections onto the l1 ball and of sparse updates, by slow twins of the paper's algorithms.

The kernels of `norms.l1` and `norms.l1_sparse` count nothing. Their seconds are in `projection`.

Source: Duchi et al. 2008. They claim O(n) expected for a projection (sec. 5, Fig. 2). For an update of k coordinates
and the return to the ball they claim O(k log n) (sec. 6, Fig. 3).
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from jointsparse.papers.duchi.projection import RADIUS_SHARE, UPDATE_SHARE
from jointsparse.papers.timing import require_sizes

SERVES = "drawn"
TABLES = {"operations": "tables"}
WARNS = ()

Vector = NDArray[np.float64]
N_PROJECTIONS = 20  # of a vector, as the number of operations depends on the pivots drawn


def run(
    data: None,
    *,
    sizes: Sequence[int],
    touched: Sequence[int],
    non_zeros: Sequence[int],
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Count entries compared with a pivot, and nodes visited in a tree.

    Parameters
    ----------
    data : None
    sizes : sequence of int, at least 1
        Numbers of entries of dense normal vectors.
    touched : sequence of int, at least 1
        Numbers k of coordinates that an update changes.
    non_zeros : sequence of int, at least max(touched)
        Numbers of non-zero entries before the update.
    rng : numpy.random.Generator
        Draws numbers, pivots and the shape of trees.
    progress : callable, optional
        Called with (rows done, of all).

    Returns
    -------
    DataFrame
        A row per count, with columns part, x, n, k, method and operations:
        - "dimension": entries compared until `pivot` has projected a vector of n entries, the mean of 20 projections.
          The radius is 0.1 of the norm, and x = k = n.
        - "touched": nodes that a `Tree` of n entries visits while k random ones change and the point returns to the
          ball. x = k.

    Raises
    ------
    ValueError
        Sizes out of range.
    """
    require_sizes(sizes=sizes, touched=touched, non_zeros=non_zeros)
    if max(touched) > min(non_zeros):
        raise ValueError(f"touched must be at most {min(non_zeros)}, the least of non_zeros, got {max(touched)}")
    rows: list[dict[str, object]] = []

    def count(part: str, method: str, n: int, k: int, operations: float) -> None:
        rows.append({"part": part, "x": k, "n": n, "k": k, "method": method, "operations": operations})
        if progress:
            progress(len(rows), len(sizes) + len(non_zeros) * len(touched))

    for n in sizes:
        v = np.abs(rng.normal(size=n))
        compared = [pivot(v, RADIUS_SHARE * v.sum(), rng)[1] for _ in range(N_PROJECTIONS)]
        count("dimension", "pivot", n, n, float(np.mean(compared)))
    for n in non_zeros:
        tree = Tree(rng.normal(size=n), rng)
        for k in touched:
            before = tree.visits
            tree.add(rng.choice(n, k, replace=False), UPDATE_SHARE * rng.normal(size=k))
            count("touched", "tree", n, k, tree.visits - before)
    return pd.DataFrame(rows)


def pivot(v: Vector, z: float, rng: np.random.Generator) -> tuple[float, int]:
    """Theta of the projection of v, no entry below 0 and sum v > z, and the number of entries compared with a pivot.

    Source: Duchi et al. (2008), Fig. 2.
    """
    U, s, rho, compared = v, 0.0, 0, 0
    while len(U):
        k = rng.integers(len(U))
        compared += len(U)
        in_G = U[k] <= U
        G = U[in_G]
        if s + G.sum() - (rho + len(G)) * U[k] < z:
            s, rho, U = s + G.sum(), rho + len(G), U[~in_G]
        else:
            in_G[k] = False
            U = U[in_G]
    return (s - z) / rho, compared


class Node:
    """An entry in a tree. key: its magnitude, before Theta is taken off; count, total: of keys in its subtree."""

    __slots__ = ("count", "index", "key", "left", "right", "total")

    def __init__(self, key: float, index: int) -> None:
        self.key, self.index = key, index
        self.left: Node | None = None
        self.right: Node | None = None
        self.renew()

    def renew(self) -> "Node":
        """Sum up the subtree again, after a child has changed."""
        self.count = 1 + count_of(self.left) + count_of(self.right)
        self.total = self.key + total_of(self.left) + total_of(self.right)
        return self


def count_of(tree: Node | None) -> int:
    """Number of nodes."""
    return tree.count if tree else 0


def total_of(tree: Node | None) -> float:
    """Sum of the keys."""
    return tree.total if tree else 0.0


class Tree:
    """A point on the boundary of an l1 ball that sparse updates move, and the number of nodes visited so far.

    `visits` counts a node each time that an update reads it: while entries are removed and inserted, while the pivot is
    searched, and while zeros are split off. The paper has a red-black tree. Here the tree is random, which has
    logarithmic depth too, but in expectation.

    Source: Duchi et al. (2008), sec. 6 and Fig. 3; Martínez, Roura: Randomized binary search trees. Journal of the ACM
    45, 1998.
    """

    def __init__(self, point: Vector, rng: np.random.Generator) -> None:
        self.radius, self.rng, self.theta, self.visits = float(np.abs(point).sum()), rng, 0.0, 0
        self.keys, self.signs = np.abs(point), np.sign(point)
        order = np.argsort(self.keys)
        self.root = self._built([Node(float(self.keys[i]), int(i)) for i in order])

    def _built(self, nodes: list[Node]) -> Node | None:
        """A random tree of ordered nodes."""
        if not nodes:
            return None
        middle = int(self.rng.integers(len(nodes)))
        root = nodes[middle]
        root.left, root.right = self._built(nodes[:middle]), self._built(nodes[middle + 1 :])
        return root.renew()

    def _split(self, tree: Node | None, key: float, index: float) -> tuple[Node | None, Node | None]:
        """Split a tree into the nodes before (key, index) and all others."""
        if tree is None:
            return None, None
        self.visits += 1
        if (tree.key, tree.index) < (key, index):
            tree.right, others = self._split(tree.right, key, index)
            return tree.renew(), others
        before, tree.left = self._split(tree.left, key, index)
        return before, tree.renew()

    def _merged(self, before: Node | None, after: Node | None) -> Node | None:
        """A tree of two trees, the first before the second."""
        if before is None or after is None:
            return before or after
        self.visits += 1
        if self.rng.random() * (before.count + after.count) < before.count:
            before.right = self._merged(before.right, after)
            return before.renew()
        after.left = self._merged(before, after.left)
        return after.renew()

    def _pivot_shift(self) -> float:
        """Theta with sum (key - Theta)_+ = radius. Paper: Fig. 3."""
        s, rho, node = 0.0, 0, self.root
        while node:
            self.visits += 1
            larger_s, larger_rho = s + node.key + total_of(node.right), rho + 1 + count_of(node.right)
            if larger_s - larger_rho * node.key < self.radius:
                s, rho, node = larger_s, larger_rho, node.left
            else:
                node = node.right
        return (s - self.radius) / rho

    def add(self, indices: NDArray[np.int64], values: Vector) -> None:
        """Add values (k,) to coordinates indices (k,), each given once, then project."""
        for i, change in zip(indices.tolist(), values.tolist(), strict=True):
            value = self.signs[i] * max(self.keys[i] - self.theta, 0.0) + change
            before, others = self._split(self.root, self.keys[i], i)
            _, after = self._split(others, self.keys[i], i + 1)  # without node i, if the tree has it
            self.keys[i], self.signs[i] = abs(value) + self.theta, np.sign(value)
            before, after = self._split(self._merged(before, after), self.keys[i], i)
            self.root = self._merged(self._merged(before, Node(self.keys[i], i)), after)
        if total_of(self.root) - count_of(self.root) * self.theta > self.radius:
            self.theta = self._pivot_shift()
            _, self.root = self._split(self.root, self.theta, math.inf)  # zeros leave

    def toarray(self) -> Vector:
        """The point, (n,)."""
        return self.signs * np.maximum(self.keys - self.theta, 0.0)

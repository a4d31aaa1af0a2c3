"""Count the operations of l1 projections and sparse updates, with plain Python versions of the paper's algorithms.

The library's kernels do not count operations. The module `projection` measures the CPU time of `norms.l1` and of
`SparseL1Ball`, which uses a heap instead of the paper's tree.

Source: Duchi et al. 2008. The paper claims expected O(n) for a projection (sec. 5, Fig. 2), and O(k log n) for an
update of k coordinates followed by a projection (sec. 6, Fig. 3).
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from jointsparse.pipeline.papers.duchi.projection import UPDATE_SHARE, require_fit
from jointsparse.pipeline.papers.harness import RADIUS_SHARE, Progress, silent, ticking

Vector = NDArray[np.float64]
N_PROJECTIONS = 20  # projections per vector, because the number of operations depends on the random pivots


def run(
    data: None,
    *,
    sizes: Sequence[int],
    touched: Sequence[int],
    non_zeros: Sequence[int],
    rng: np.random.Generator,
    progress: Progress = silent,
) -> pd.DataFrame:
    """Count the entries that projections compare with a pivot, and the tree nodes that sparse updates visit.

    Parameters
    ----------
    data : None
    sizes : sequence of int, at least 1
        Lengths n of dense normal vectors.
    touched : sequence of int, at least 1
        Numbers k of coordinates that an update changes.
    non_zeros : sequence of int, at least max(touched)
        Numbers n of non-zero entries before the update.
    rng : numpy.random.Generator
        Draws the vectors, the pivots and the shapes of trees.
    progress : callable
        Called with the number of rows done and the number of all rows.

    Returns
    -------
    DataFrame
        A row per count, with the columns part, x, n, k, method and operations. There are two parts:

        - "dimension": the number of comparisons with a pivot that `pivot` makes while it projects a vector of n
          entries, averaged over 20 projections. The radius is 0.1 times the norm, and x = k = n.
        - "touched": the number of nodes of a `Tree` with n entries that are visited while k random entries are changed
          and the point is projected; x = k.

    Raises
    ------
    ValueError
        If more coordinates are touched than there are.
    """
    require_fit(touched, non_zeros)
    tick, rows = ticking(progress, len(sizes) + len(non_zeros) * len(touched)), []
    for n in sizes:
        v = np.abs(rng.normal(size=n))
        compared = [pivot(v, RADIUS_SHARE * v.sum(), rng)[1] for _ in range(N_PROJECTIONS)]
        rows.append(("dimension", n, n, n, "pivot", float(np.mean(compared))))
        tick()
    for n in non_zeros:
        tree = Tree(rng.normal(size=n), rng)
        for k in touched:
            before = tree.visits
            tree.add(rng.choice(n, k, replace=False), UPDATE_SHARE * rng.normal(size=k))
            rows.append(("touched", k, n, k, "tree", float(tree.visits - before)))
            tick()
    return pd.DataFrame(rows, columns=["part", "x", "n", "k", "method", "operations"])


def pivot(v: Vector, z: float, rng: np.random.Generator) -> tuple[float, int]:
    """Return theta for the projection of v, and the number of entries compared with a pivot.

    The entries of v are non-negative, and their sum exceeds the radius z.

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


class Node(NamedTuple):
    """A tree node for an entry. Its key is the entry's magnitude before theta is subtracted.

    size, total: the number of keys in the subtree of this node, and their sum.
    """

    left: Any
    key: tuple[float, int]  # the magnitude, and the entry's index
    right: Any
    size: int
    total: float


EMPTY = Node(None, (np.nan, -1), None, 0, 0.0)  # the tree without nodes


def join(left: Node, key: tuple[float, int], right: Node) -> Node:
    """Return the tree whose root has the given key and the given subtrees."""
    return Node(left, key, right, 1 + left.size + right.size, key[0] + left.total + right.total)


class Tree:
    """A point on the boundary of an l1 ball that is moved by sparse updates, with the number of nodes visited so far.

    `visits` counts how often updates read a node, while they remove and insert entries, search for the pivot and split
    off zeros. The paper uses a red-black tree. Here, the tree is a random one, whose expected depth is logarithmic.

    Source: Duchi et al. (2008), sec. 6 and Fig. 3; Martínez, Roura: Randomized binary search trees. Journal of the ACM
    45, 1998.
    """

    def __init__(self, point: Vector, rng: np.random.Generator) -> None:
        self.radius, self.rng, self.theta, self.visits = float(np.abs(point).sum()), rng, 0.0, 0
        self.keys, self.signs = np.abs(point), np.sign(point)
        self.root = self._built(np.argsort(self.keys).tolist())

    def _built(self, entries: list[int]) -> Node:
        """Build a random tree from entries that are sorted by key."""
        if not entries:
            return EMPTY
        middle = int(self.rng.integers(len(entries)))
        left, right = self._built(entries[:middle]), self._built(entries[middle + 1 :])
        return join(left, (float(self.keys[entries[middle]]), entries[middle]), right)

    def _split(self, tree: Node, *at: float) -> tuple[Node, Node]:
        """Split a tree into two: the nodes before the key `at`, and all other nodes."""
        if tree is EMPTY:
            return EMPTY, EMPTY
        self.visits += 1
        if tree.key < at:
            inner, others = self._split(tree.right, *at)
            return join(tree.left, tree.key, inner), others
        before, inner = self._split(tree.left, *at)
        return before, join(inner, tree.key, tree.right)

    def _merged(self, before: Node, after: Node) -> Node:
        """Merge two trees. All keys of the first tree must come before those of the second."""
        if before is EMPTY or after is EMPTY:
            return before if after is EMPTY else after
        self.visits += 1
        if self.rng.random() * (before.size + after.size) < before.size:
            return join(before.left, before.key, self._merged(before.right, after))
        return join(self._merged(before, after.left), after.key, after.right)

    def _pivot_shift(self) -> float:
        """Return the theta at which the sum of (key - theta)_+ is the radius. Paper: Fig. 3."""
        # Paper: begin at the root, with s = rho = 0.
        s, rho, node = 0.0, 0, self.root
        while node is not EMPTY:
            self.visits += 1
            # Paper: rho and s of all keys that are not smaller than this node's.
            larger_s, larger_rho = s + node.key[0] + node.right.total, rho + 1 + node.right.size
            # Paper: if the test holds, these keys stay positive: go left. Otherwise go right.
            if larger_s - larger_rho * node.key[0] < self.radius:
                s, rho, node = larger_s, larger_rho, node.left
            else:
                node = node.right
        # Paper: theta = (s - z) / rho, where no child is left.
        return (s - self.radius) / rho

    def add(self, indices: NDArray[np.int64], values: Vector) -> None:
        """Add `values` (k,) to the coordinates at `indices` (k,), which must be distinct, and project the point."""
        # Paper: v_i + g_i for each g_i that is not 0. Choice: the sign is stored beside the magnitude.
        for i, change in zip(indices.tolist(), values.tolist(), strict=True):
            value = self.signs[i] * max(self.keys[i] - self.theta, 0.0) + change
            # Paper: delete the old key and insert the new one.
            before, others = self._split(self.root, self.keys[i], i)
            _, after = self._split(others, self.keys[i], i + 1)  # without node i, if the tree contains it
            self.keys[i], self.signs[i] = abs(value) + self.theta, np.sign(value)
            before, after = self._split(self._merged(before, after), self.keys[i], i)
            self.root = self._merged(self._merged(before, join(EMPTY, (self.keys[i], i), EMPTY)), after)
        # Paper: find theta by PivotSearch, and remove the keys that fall to zero.
        if self.root.total - self.root.size * self.theta > self.radius:
            self.theta = self._pivot_shift()
            _, self.root = self._split(self.root, self.theta, math.inf)  # remove zeros

    def toarray(self) -> Vector:
        """Return the point as an array (n,)."""
        return self.signs * np.maximum(self.keys - self.theta, 0.0)

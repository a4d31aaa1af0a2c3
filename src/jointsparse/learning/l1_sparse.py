"""The l1 ball under sparse updates: a point that changes in a few coordinates at a time and stays in the ball.

Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008, sec. 6 and Fig. 3.

A projection takes one number off every magnitude. Instead of taking it off, one shift Theta is kept for all. A tree
holds the keys |w_i| + Theta of the non-zero entries in order, with the counts and sums of its subtrees. The search for
the next Theta walks down the tree once, and one cut removes all entries below it.

Erratum: the keys of Fig. 3 are unshifted, so its search returns the whole new Theta, not what to add to the old one.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import Floats, as_places, as_radius, real_array, require, require_count, require_finite
from jointsparse.compiled import njit
from jointsparse.norms import l1

# The tree is a treap whose nodes are the coordinates. They are ordered by (key, coordinate) from left to right, and by
# a hash of the coordinate from top to bottom, which balances the tree. Node 0 is no node; coordinate i is node i + 1.
# A record keeps together what one visit needs. Every change rebuilds subtotals from below, so they gather no rounding.
NODE = np.dtype(
    [
        ("key", np.float64),  # |w_i| + Theta
        ("sum_left", np.float64),
        ("sum_right", np.float64),
        ("left", np.int32),
        ("right", np.int32),
        ("count_left", np.int32),
        ("count_right", np.int32),
        ("sign", np.float64),
    ],
    align=True,
)
MOST_COORDINATES = 2**31 - 2
LARGEST_SUM = 2.0**900  # of the radius and of an update's magnitudes: no sum of so many keys overflows

# Keys of nodes outside the tree:
UNTOUCHED = 0.0
TOUCHED = -1.0  # by the present update; the node's sign holds its new value


@njit
def shift_for(nodes, root, z):  # type: ignore[no-untyped-def]
    """Theta with sum (key - Theta)_+ = z. Paper: Fig. 3, the search for the pivot."""
    s, rho = 0.0, 0
    while root:
        larger_s = s + (nodes[root].sum_right + nodes[root].key)
        larger_rho = rho + nodes[root].count_right + 1
        if larger_s - larger_rho * nodes[root].key < z:
            s, rho, root = larger_s, larger_rho, nodes[root].left
        else:
            root = nodes[root].right
    return (s - z) / rho


@njit
def project_tree(nodes, root, theta, z, path):  # type: ignore[no-untyped-def]
    """Project onto the ball. Return the root and Theta. Paper: Fig. 3."""
    count, total = count_and_sum(nodes, root)
    if total - count * theta > z:
        theta = max(shift_for(nodes, root, z), theta)
        smaller, root = split(nodes, root, theta, nodes.size, path)
        drop_tree(nodes, smaller, path)
        count, total = count_and_sum(nodes, root)
    if count == 0:
        return 0, 0.0
    # The old keys summed to less than z when Theta was 0. So if this holds, half of the entries are new since then, and
    # they pay for it. No entry loses more digits than the mean one would have lost.
    if count * theta > 2.0 * z:
        theta = rebase(nodes, root, theta, path)
    return root, theta


@njit
def height(node):  # type: ignore[no-untyped-def]
    """Hash of the node, different for each. The larger it is, the nearer the node is to the root."""
    h = np.uint32(node) * np.uint32(0x9E3779B1)
    h = (h ^ (h >> np.uint32(15))) * np.uint32(0x85EBCA6B)
    return np.int64(np.uint32(h ^ (h >> np.uint32(13))))


@njit
def set_left(nodes, node, child):  # type: ignore[no-untyped-def]
    nodes[node].left = child
    nodes[node].count_left = nodes[child].count_left + nodes[child].count_right + 1 if child else 0
    nodes[node].sum_left = nodes[child].sum_left + nodes[child].sum_right + nodes[child].key if child else 0.0


@njit
def set_right(nodes, node, child):  # type: ignore[no-untyped-def]
    nodes[node].right = child
    nodes[node].count_right = nodes[child].count_left + nodes[child].count_right + 1 if child else 0
    nodes[node].sum_right = nodes[child].sum_left + nodes[child].sum_right + nodes[child].key if child else 0.0


@njit
def walk(nodes, root, key, node, least, path):  # type: ignore[no-untyped-def]
    """Walk towards the place of (key, node), over nodes higher than `least`. Return the next node and the depth.

    The path holds the nodes passed, negative where the walk turns left.
    """
    depth = 0
    while root and height(root) > least:
        if nodes[root].key < key or (nodes[root].key == key and root < node):
            path[depth], root = root, nodes[root].right
        else:
            path[depth], root = -root, nodes[root].left
        depth += 1
    return root, depth


@njit
def attach(nodes, path, depth, child):  # type: ignore[no-untyped-def]
    """Attach `child` below a path of `depth` steps. Return the root."""
    for step in path[:depth][::-1]:
        if step > 0:
            set_right(nodes, step, child)
        else:
            set_left(nodes, -step, child)
        child = abs(step)
    return child


@njit
def split(nodes, root, key, node, path):  # type: ignore[no-untyped-def]
    """Split a tree into the nodes before (key, node) and the nodes after."""
    _, depth = walk(nodes, root, key, node, -1, path)
    smaller, larger = 0, 0
    for step in path[:depth][::-1]:
        if step > 0:
            set_right(nodes, step, smaller)
            smaller = step
        else:
            set_left(nodes, -step, larger)
            larger = -step
    return smaller, larger


@njit
def merge(nodes, smaller, larger, path):  # type: ignore[no-untyped-def]
    """Merge two trees, the first before the second."""
    depth = 0
    while smaller and larger:
        if height(smaller) > height(larger):
            path[depth], smaller = smaller, nodes[smaller].right
        else:
            path[depth], larger = -larger, nodes[larger].left
        depth += 1
    return attach(nodes, path, depth, smaller or larger)


@njit
def insert(nodes, root, node, path):  # type: ignore[no-untyped-def]
    """Insert `node`, whose key is set. Return the root."""
    below, depth = walk(nodes, root, nodes[node].key, node, height(node), path)
    smaller, larger = split(nodes, below, nodes[node].key, node, path[depth:])
    set_left(nodes, node, smaller)
    set_right(nodes, node, larger)
    return attach(nodes, path, depth, node)


@njit
def remove(nodes, root, node, path):  # type: ignore[no-untyped-def]
    """Remove `node`. Return the root."""
    _, depth = walk(nodes, root, nodes[node].key, node, height(node), path)
    child = merge(nodes, nodes[node].left, nodes[node].right, path[depth:])
    nodes[node].key = UNTOUCHED
    return attach(nodes, path, depth, child)


@njit
def count_and_sum(nodes, root):  # type: ignore[no-untyped-def]
    """Number and sum of the keys of a tree."""
    if root == 0:
        return 0, 0.0
    count = nodes[root].count_left + nodes[root].count_right + 1
    return count, nodes[root].sum_left + (nodes[root].sum_right + nodes[root].key)


@njit
def parents_first(nodes, root, path):  # type: ignore[no-untyped-def]
    """List the nodes of a tree, parents before children."""
    order = np.empty(count_and_sum(nodes, root)[0], np.int32)
    path[0], depth = root, 1
    for seen in range(order.size):
        depth -= 1
        order[seen] = path[depth]
        for child in (nodes[order[seen]].right, nodes[order[seen]].left):
            if child:
                path[depth] = child
                depth += 1
    return order


@njit
def drop_tree(nodes, root, path):  # type: ignore[no-untyped-def]
    """Empty a whole tree. Each entry has paid for this when it was inserted."""
    for node in parents_first(nodes, root, path):
        nodes[node].key = UNTOUCHED


@njit
def rebase(nodes, root, theta, path):  # type: ignore[no-untyped-def]
    """Take Theta off all keys, in whole last digits of the largest key, so that nothing is rounded. Return the rest."""
    top = root
    while nodes[top].right:
        top = nodes[top].right
    digit = max(2.0 ** (math.frexp(nodes[top].key)[1] - 53), 5e-324)
    shift = math.floor(theta / digit) * digit
    for node in parents_first(nodes, root, path)[::-1]:  # children first
        nodes[node].key -= shift
        set_left(nodes, node, nodes[node].left)
        set_right(nodes, node, nodes[node].right)
    return theta - shift


@njit
def remove_touched(nodes, root, theta, indices, values, path):  # type: ignore[no-untyped-def]
    """Remove the nodes to be changed; their signs then hold the new values. Return the root and these nodes."""
    touched, n_touched = np.empty(indices.size, np.int64), 0
    for k in range(indices.size):
        node = indices[k] + 1
        if nodes[node].key != TOUCHED:
            value = 0.0
            if nodes[node].key > 0.0:
                value = nodes[node].sign * (nodes[node].key - theta)
                root = remove(nodes, root, node, path)
            nodes[node].key, nodes[node].sign = TOUCHED, value
            touched[n_touched] = node
            n_touched += 1
        nodes[node].sign += values[k]
    return root, touched[:n_touched]


@njit
def insert_touched(nodes, root, theta, touched, path):  # type: ignore[no-untyped-def]
    """Insert the removed nodes with their new values. Return the root."""
    for node in touched:
        value = nodes[node].sign
        nodes[node].key = abs(value) + theta
        nodes[node].sign = 1.0 if value > 0.0 else -1.0
        if nodes[node].key > theta:
            root = insert(nodes, root, node, path)
        else:
            nodes[node].key = UNTOUCHED
    return root


@njit
def update_tree(nodes, root, theta, z, indices, values, path):  # type: ignore[no-untyped-def]
    """Add the values and project. Return the root, Theta, and touched nodes that are not in the tree.

    These are none, or all that can be non-zero after this update: the tree is then empty.
    """
    root, touched = remove_touched(nodes, root, theta, indices, values, path)
    top = 0.0
    for node in touched:
        top = max(top, abs(nodes[node].sign))
    if top > 2.0 * z:  # Theta grows by at least top - z > z, the most that any other entry can be
        drop_tree(nodes, root, path)
        return 0, 0.0, touched
    root = insert_touched(nodes, root, theta, touched, path)
    root, theta = project_tree(nodes, root, theta, z, path)
    return root, theta, touched[:0]


@njit
def are_fit(indices, values, n):  # type: ignore[no-untyped-def]
    """True if all indices are in 0..n-1 and sum |values| is not too large."""
    total = 0.0
    for k in range(indices.size):
        total += abs(values[k]) if 0 <= indices[k] < n else math.inf
    return total <= LARGEST_SUM


class SparseL1Ball:
    """A point w in the l1 ball, sum_i |w_i| <= radius, that sparse updates move: w <- project(w + sum_k values_k e_k).

    `add` takes O(k log N) for k indices and N non-zero coordinates. The bound is amortised: an entry that becomes zero
    is paid for when it is added. The norm takes O(1), the array O(n). Memory is 48 bytes for each
    coordinate that was ever not zero. Two threads must not change one object at once.

    Parameters
    ----------
    n : int, 0 to 2^31 - 2
        Number of coordinates.
    radius : float, at least 0
        The papers' z: at most 2^900, or infinite.
    point : array (n,), optional
        The start, zero by default. It is projected first, in O(n log n). Its magnitudes sum to at most 2^900.

    Raises
    ------
    ValueError
        For values outside these ranges, NaN, infinity, or a wrong shape.

    References
    ----------
    Duchi et al. (2008), sec. 6 and Fig. 3.

    >>> ball = SparseL1Ball(5, radius=2.0)
    >>> ball.add([0, 3], [3.0, -2.0])
    >>> ball.toarray()
    array([ 1.5,  0. ,  0. , -0.5,  0. ])
    """

    def __init__(self, n: int, radius: float, point: ArrayLike | None = None) -> None:
        require_count(n, "n", MOST_COORDINATES, least=0)
        self.n, self.radius = int(n), as_radius(radius)
        if LARGEST_SUM < self.radius < math.inf:
            raise ValueError(f"radius must be at most 2^900 or infinite, got {self.radius}")
        self._nodes = np.zeros(self.n + 1, NODE)
        self._path = np.empty(self.n + 2, np.int64)
        self._root, self._theta = 0, 0.0
        if point is not None:
            start = real_array(point, "point").astype(np.float64)
            require(start.shape == (self.n,), f"point must have shape ({self.n},), got {start.shape}")
            require_finite(start, "point")
            require(l1.norm(start) <= LARGEST_SUM, "point must have a sum of magnitudes of at most 2^900")
            self._start_from(np.arange(self.n), start)

    def _start_from(self, indices: NDArray[np.int64], values: Floats) -> None:
        """Build the tree, empty so far, of the projection of `values`. All other coordinates are 0."""
        self._nodes["sign"][indices + 1] = projected = l1.project(values, self.radius)
        order = np.argsort(np.abs(projected))  # neighbours in the tree are then near each other in memory's caches
        self._root, self._theta = insert_touched(self._nodes, 0, 0.0, indices[order] + 1, self._path), 0.0

    def add(self, indices: ArrayLike, values: ArrayLike) -> None:
        """Add values[k] to coordinate indices[k] for all k, then project. An index that comes twice is added twice.

        indices: (k,) integers in 0..n-1. values: (k,). Raises ValueError, and changes nothing, for other indices, NaN,
        infinity, magnitudes whose sum is above 2^900, and lengths that differ.
        """
        where = np.asarray(indices)
        numbers = real_array(values, "values").astype(np.float64, copy=False)
        if where.ndim != 1 or where.shape != numbers.shape or (where.dtype.kind not in "iu" and where.size):
            raise ValueError(
                "indices and values must be vectors of one length, the first of integers, "
                f"got {where.dtype} {where.shape} and {numbers.shape}"
            )
        where = np.ascontiguousarray(where, np.int64)
        if not are_fit(where, numbers, self.n):
            as_places(where, self.n)
            require_finite(numbers, "values")
            raise ValueError("values must have a sum of magnitudes of at most 2^900")
        self._root, self._theta, alone = update_tree(
            self._nodes, self._root, self._theta, self.radius, where, numbers, self._path
        )
        if len(alone):
            self._start_from(alone - 1, self._nodes["sign"][alone])

    def __len__(self) -> int:
        return self.n

    def take(self, indices: ArrayLike) -> NDArray[np.float64]:
        """Coordinates (k,) for k indices in 0..n-1, in O(k). Raises ValueError for others."""
        return self._values(self._nodes[as_places(indices, self.n) + 1])

    def toarray(self) -> NDArray[np.float64]:
        """The point, (n,)."""
        return self._values(self._nodes[1:])

    def _values(self, nodes: Any) -> NDArray[np.float64]:
        return np.where(nodes["key"] > 0, nodes["sign"] * (nodes["key"] - self._theta), 0.0)

    def count_nonzero(self) -> int:
        """The number of coordinates that are not zero."""
        return int(count_and_sum(self._nodes, self._root)[0])

    def norm(self) -> float:
        """sum_i |w_i|."""
        count, total = count_and_sum(self._nodes, self._root)
        return float(max(total - count * self._theta, 0.0))

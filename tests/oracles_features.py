"""Slow but obviously correct versions of dense SIFT and of the descent in a vocabulary tree."""

import math

import numpy as np


def dense_sift(picture, patch_sizes, step, clip, rootsift, min_contrast):
    """Return descriptors computed patch by patch and pixel by pixel in double precision, scaled by 512, not rounded."""
    padded = np.pad(picture.astype(np.float64), 1, mode="edge")
    dx = (padded[1:-1, 2:] - padded[1:-1, :-2]) / 2
    dy = (padded[2:, 1:-1] - padded[:-2, 1:-1]) / 2
    height, width = picture.shape
    return np.array(
        [
            _finish(*_histogram(dx[top : top + s, left : left + s], dy[top : top + s, left : left + s]), **options)
            for options in [{"clip": clip, "rootsift": rootsift, "min_contrast": min_contrast}]
            for s in patch_sizes
            for top in range(0, height - s + 1, step)
            for left in range(0, width - s + 1, step)
        ]
    )


def _triangle(z):
    return max(0.0, 1.0 - abs(z))


def _histogram(dx, dy):
    size = len(dx)
    histogram = np.zeros((4, 4, 8))
    share = 0.0
    for y in range(size):
        for x in range(size):
            magnitude = math.hypot(dx[y, x], dy[y, x])
            angle = math.degrees(math.atan2(dy[y, x], dx[y, x]))
            for i in range(4):
                for j in range(4):
                    place = _triangle(4 * (y + 0.5) / size - i - 0.5) * _triangle(4 * (x + 0.5) / size - j - 0.5)
                    share += place
                    if place == 0:
                        continue
                    for o in range(8):
                        apart = (angle - 45 * o + 180) % 360 - 180
                        histogram[i, j, o] += magnitude * place * _triangle(apart / 45)
    return histogram.ravel(), share


def _finish(histogram, share, clip, rootsift, min_contrast):
    if histogram.sum() / share < min_contrast:
        return np.zeros(128)
    f = np.minimum(histogram / np.linalg.norm(histogram), clip)
    return 512 * (np.sqrt(f / f.sum()) if rootsift else f / np.linalg.norm(f))


def greedy_path(tree, descriptor, depth):
    """Return the path from the root that always continues to the nearest child, padded with -1 to `depth`."""
    path = []
    node = 0
    while tree.n_children[node] > 0:
        first = tree.first_child[node]
        children = range(first, first + tree.n_children[node])
        distances = [float(((tree.centres[c].astype(np.float64) - descriptor) ** 2).sum()) for c in children]
        node = children[int(np.argmin(distances))]
        path.append(node)
    return path + [-1] * (depth - len(path))


def histogram(tree, paths):
    """Return the number of paths through each node except the root."""
    return [sum(path.count(node) for path in paths) for node in range(1, len(tree.level))]

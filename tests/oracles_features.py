"""Slow but obviously correct versions of dense SIFT and of the descent in a vocabulary tree."""

import numpy as np


def dense_sift(picture, patch_sizes, step, clip, rootsift, min_contrast):
    """Return descriptors computed patch by patch in double precision, scaled by 512, not rounded."""
    padded = np.pad(picture.astype(np.float64), 1, mode="edge")
    dx = (padded[1:-1, 2:] - padded[1:-1, :-2]) / 2
    dy = (padded[2:, 1:-1] - padded[:-2, 1:-1]) / 2
    descriptors = []
    for s in patch_sizes:
        for top in range(0, picture.shape[0] - s + 1, step):
            for left in range(0, picture.shape[1] - s + 1, step):
                histogram, share = _histogram(dx[top : top + s, left : left + s], dy[top : top + s, left : left + s])
                f = np.minimum(histogram, clip * np.linalg.norm(histogram))
                f = np.sqrt(f / max(f.sum(), 1e-30)) if rootsift else f / max(np.linalg.norm(f), 1e-30)
                descriptors.append(512 * f if histogram.sum() / share >= min_contrast else np.zeros(128))
    return np.array(descriptors)


def _triangle(z):
    return np.maximum(0.0, 1.0 - np.abs(z))


def _histogram(dx, dy):
    """Return the histogram of a patch, and the sum of the weights of its pixels."""
    i, o = np.arange(4)[:, np.newaxis], np.arange(8)[:, np.newaxis, np.newaxis]
    near = _triangle(4 * (np.arange(len(dx)) + 0.5) / len(dx) - i - 0.5)
    apart = (np.degrees(np.arctan2(dy, dx)) - 45 * o + 180) % 360 - 180
    return np.einsum("iy,jx,oyx->ijo", near, near, np.hypot(dx, dy) * _triangle(apart / 45)).ravel(), near.sum() ** 2


def greedy_path(tree, descriptor):
    """Return the path from the root that always continues to the nearest child, padded with -1 to the tree's depth."""
    path = []
    node = 0
    while tree.n_children[node] > 0:
        children = tree.first_child[node] + np.arange(tree.n_children[node])
        distances = ((tree.centres[children].astype(np.float64) - descriptor) ** 2).sum(axis=1)
        node = int(children[np.argmin(distances)])
        path.append(node)
    return path + [-1] * (tree.depth - len(path))


def histogram(tree, paths):
    """Return the number of paths through each node except the root. paths: (n, depth)."""
    return [int(np.sum(paths == node)) for node in range(1, len(tree.level))]

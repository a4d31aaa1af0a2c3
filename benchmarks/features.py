"""Measure the speed of dense SIFT and of the vocabulary tree on one core, next to scikit-image's DAISY and SIFT.

    python benchmarks/features.py [--rounds 7] [--sample 50000]

Every round runs all tasks in turn, and the medians of CPU time over the rounds are printed. Pictures and descriptors
come from scikit-learn's two sample photographs. Slow tasks run in only three of the rounds. Absolute speeds hold for
the machine whose name is printed; ratios carry over to other machines.
"""

import argparse

import numpy as np
from measure import machine, medians
from skimage.color import rgb2gray
from skimage.feature import SIFT, daisy
from skimage.transform import resize
from sklearn.datasets import load_sample_images

from jointsparse.features import vocabulary_tree
from jointsparse.features.dense_sift import describe
from jointsparse.threads import one_thread

STEP_PIXELS = 8
PATCH_PIXELS = 16


def skimage_daisy(picture: np.ndarray) -> np.ndarray:
    """Compute DAISY with its default rings and a radius of 7 pixels, which describes 16-pixel patches."""
    return daisy(picture, step=STEP_PIXELS, radius=PATCH_PIXELS // 2 - 1).reshape(-1, 200)


def skimage_sift(picture: np.ndarray) -> np.ndarray:
    """Compute scikit-image's SIFT for upright 16-pixel patches at our patch positions, without keypoint detection.

    The time includes building the scale space, which scikit-image does for every picture.
    """
    height, width = picture.shape
    y, x = (
        np.mgrid[0 : height - PATCH_PIXELS + 1 : STEP_PIXELS, 0 : width - PATCH_PIXELS + 1 : STEP_PIXELS]
        + (PATCH_PIXELS - 1) / 2
    )
    sift = SIFT(upsampling=1)
    sift.positions = np.column_stack([y.ravel(), x.ravel()])
    n = len(sift.positions)
    sift.sigmas = np.full(n, PATCH_PIXELS / (2 * sift.lambda_descr))
    sift.scales, sift.octaves, sift.orientations = np.ones(n, int), np.zeros(n, int), np.zeros(n)
    sift.extract(picture)
    return sift.descriptors


def compare_extractors(photograph: np.ndarray, height: int, width: int, rounds: int) -> None:
    picture = resize(photograph, (height, width), anti_aliasing=True).astype(np.float32)
    tasks = {
        "describe, patches of 16": lambda: describe(picture, patch_sizes=(PATCH_PIXELS,), step=STEP_PIXELS),
        "describe, patches of 16, 24, 32": lambda: describe(picture),
        "scikit-image DAISY, 16": lambda: skimage_daisy(picture),
        "scikit-image SIFT, 16": lambda: skimage_sift(picture),
    }
    seconds = medians(tasks, rounds)
    first = seconds["describe, patches of 16"]
    print(f"\n{width} x {height} pixels{'':18} descriptors   pictures/s   descriptors/s   time / first line")
    for name, task in tasks.items():
        n = len(task())
        print(f"  {name:32} {n:9,} {1 / seconds[name]:12.1f} {n / seconds[name]:15,.0f} {seconds[name] / first:19.1f}")


def time_tree(descriptors: np.ndarray, rounds: int) -> None:
    tree = vocabulary_tree.grow(descriptors, seed=0)
    per_image = np.full(-(-len(descriptors) // 1000), 1000)
    per_image[-1] -= per_image.sum() - len(descriptors)
    tasks = {
        "grow": lambda: vocabulary_tree.grow(descriptors, seed=0),
        "quantise": lambda: vocabulary_tree.quantise(tree, descriptors),
        "encode, 1,000 an image": lambda: vocabulary_tree.encode(tree, descriptors, per_image),
    }
    levels = " + ".join(f"{n:,}" for n in np.bincount(tree.level)[1:])
    print(f"\nvocabulary tree, {len(descriptors):,} descriptors, {levels} words    seconds   descriptors/s")
    for name, seconds in medians(tasks, rounds).items():
        print(f"  {name:58} {seconds:10.3f} {len(descriptors) / seconds:15,.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="number of rounds over which medians are taken")
    parser.add_argument("--sample", type=int, default=50_000, help="number of descriptors for the vocabulary tree")
    options = parser.parse_args()
    photographs = [rgb2gray(image).astype(np.float32) for image in load_sample_images().images]
    print(f"{machine()}; one thread; medians of {options.rounds} interleaved rounds")
    with one_thread():
        compare_extractors(photographs[0], 240, 320, options.rounds)
        compare_extractors(photographs[0], 224, 224, options.rounds)
        descriptors = np.concatenate([describe(photograph, step=2) for photograph in photographs])
        rng = np.random.default_rng(0)
        n = min(options.sample, len(descriptors))
        time_tree(descriptors[rng.choice(len(descriptors), n, replace=False)], options.rounds)


if __name__ == "__main__":
    main()

"""The evidence of patches: their parts sum to the score of the pipeline, and are shown at the right pixels."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from jointsparse import JointSparseClassifier
from jointsparse.features import SVDBasis, VocabularyTree, dense_sift
from jointsparse.features.evidence import heat, parts, smooth_heat, word_weights
from jointsparse.features.vocabulary_tree import quantise

HEIGHT, WIDTH = 64, 96


def textures(side=512):
    """Return two textures: grass with patches of bare ground, and bricks with mortar."""
    rng = np.random.default_rng(0)
    down, across = np.mgrid[:side, :side]
    noise = rng.random((side, side))
    blades = sum(np.roll(noise, shift, axis=0) for shift in range(12)) / 12
    bare = (down // 40 + across // 40) % 4 == 0
    mortar = (down % 24 < 3) | ((across + 24 * (down // 24 % 2)) % 48 < 3)
    return np.where(bare, 0.2, blades).astype(np.float32), (0.4 + 0.4 * mortar + 0.2 * noise).astype(np.float32)


GRASS, BRICK = textures()


def meadow(i, wall=False):
    """Return a picture of grass. With a wall, its bottom right quarter shows bricks."""
    picture = GRASS[40 * i :][:HEIGHT, 30 * i :][:, :WIDTH].copy()
    if wall:
        picture[HEIGHT // 2 :, WIDTH // 2 :] = BRICK[40 * i :][: HEIGHT // 2, 30 * i :][:, : WIDTH // 2]
    return picture


@pytest.fixture(scope="module")
def descriptors():
    """Descriptors of ten pictures, half of which have a wall."""
    return [dense_sift.describe(meadow(i, wall=i % 2 == 1)) for i in range(10)]


def explained(words, classifier, descriptors, basis=None):
    """Return the parts of a picture's descriptors in the scores of a fitted pipeline, and the constants."""
    fitted = () if basis is None else (basis.basis_, basis.factors_)
    G, constant = word_weights(classifier.coef_.T, classifier.intercept_, *fitted)
    options = {"weighting": words.weighting, "normalise": words.normalise, "idf": words.idf_}
    return parts(words.tree_, descriptors, G, **options), constant


def learn(descriptors, basis=None, **options):
    """Fit a pipeline to eight pictures, for two tasks: whether there is a wall, and random labels."""
    Y = np.array([[0, 1, 0, 1, 0, 1, 0, 1], [1, 1, 0, 1, 0, 0, 1, 0]]).T
    words = VocabularyTree(4, 3, random_state=0, **options)
    classifier = JointSparseClassifier(radius=5.0, tol=0.05, fit_intercept=True)
    chain = make_pipeline(words, *([] if basis is None else [basis]), classifier).fit(descriptors[:8], Y)
    return chain, words, classifier


@pytest.mark.parametrize(
    ("basis", "weighting", "normalise"),
    [
        *((None, weighting, True) for weighting in ("count", "sqrt", "tf-idf")),
        *((SVDBasis(5, power=power, random_state=0), "tf-idf", True) for power in (0, 0.5, 1)),
        (SVDBasis(5, centred=False, random_state=0), "tf-idf", False),
    ],
    ids=str,
)
def test_parts_and_the_constant_sum_to_the_score_of_the_pipeline(descriptors, basis, weighting, normalise):
    chain, words, classifier = learn(descriptors, basis, weighting=weighting, normalise=normalise)
    patches = dense_sift.patches(HEIGHT, WIDTH)
    for picture in descriptors[-2:]:
        assert (quantise(words.tree_, picture) < 0).any()  # early leaves
        got, constant = explained(words, classifier, picture, basis)
        [expected] = chain.decision_function([picture])
        np.testing.assert_allclose(got.sum(axis=0) + constant, expected, rtol=1e-5, atol=1e-5)
        sums = [heat(part, patches, HEIGHT, WIDTH).sum() for part in got.T]
        np.testing.assert_allclose(sums + constant, expected, rtol=1e-5, atol=1e-5)


def test_heat_agrees_with_a_slow_version(rng):
    side = rng.integers(1, 12, 200)
    patches = np.stack([rng.integers(0, 31 - side), rng.integers(0, 41 - side), side], axis=1)
    added = rng.normal(size=200)
    expected = np.zeros((30, 40))
    for (y, x, s), part in zip(patches, added, strict=True):
        expected[y : y + s, x : x + s] += part / s**2
    np.testing.assert_allclose(heat(added, patches, 30, 40), expected, atol=1e-6)


@pytest.mark.parametrize(("height", "width"), [(30, 40), (3, 40), (1, 2)])
def test_smooth_heat_sums_to_the_parts_even_if_there_are_fewer_pixels_than_places(height, width, rng):
    added = rng.normal(size=(5, 7))
    assert smooth_heat(added, height, width).sum() == pytest.approx(added.sum(), abs=1e-5)


@pytest.mark.parametrize("axis", [0, 1], ids=["rows", "columns"])
def test_a_line_changes_the_descriptors_of_patches_near_it_and_no_others(axis):
    """Lines of one pixel are drawn into a flat picture. Central differences see one pixel beyond a patch."""
    options = {"patch_sizes": (9, 14), "step": 5}
    patches = dense_sift.patches(44, 53, **options)
    flat = np.full((44, 53), 0.5, np.float32)
    for at in range(0, flat.shape[axis], 3):
        lined = flat.copy()
        np.moveaxis(lined, axis, 0)[at] = 1
        got = (dense_sift.describe(lined, **options) != dense_sift.describe(flat, **options)).any(axis=1)
        first = patches[:, axis]
        np.testing.assert_array_equal(got, (first - 1 <= at) & (at <= first + patches[:, 2]), str(at))

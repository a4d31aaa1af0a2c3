"""The transformers: descriptors in all forms, copies, and invalid input."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from jointsparse import JointSparseClassifier
from jointsparse.features import DenseSift, SVDBasis, VocabularyTree, dense_sift

SEED = 7


@pytest.fixture(scope="module")
def descriptors():
    """Descriptors of eight pictures, which have different numbers of descriptors."""
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (40 + i, 12), dtype=np.uint8) for i in range(8)]


def words(**options):
    return VocabularyTree(**{"branching": 5, "depth": 2, "random_state": SEED, **options})


@pytest.fixture
def pillow():
    """Skip a test that describes pictures if Pillow, which shrinks them, is not installed."""
    pytest.importorskip("PIL")


def assert_same(got, expected):
    """Assert that two results hold the same bits."""
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(*[array.toarray() if sparse.issparse(array) else array for array in (got, expected)])


@pytest.mark.usefixtures("pillow")
def test_the_papers_image_model_distinguishes_textures():
    data = pytest.importorskip("skimage.data")
    textures = [data.brick(), data.grass(), data.gravel()]
    pictures = [texture[i : i + 128, :128] for texture in textures for i in range(0, 512, 128)]
    tasks = np.repeat(np.eye(3, dtype=int), 4, axis=0)
    model = make_pipeline(
        DenseSift(),
        VocabularyTree(random_state=0),
        SVDBasis(rank=8, random_state=0),
        JointSparseClassifier(radius=10.0, fit_intercept=True),
    ).fit(pictures, tasks)
    new = [texture[i : i + 128, 384:] for texture in textures for i in range(0, 512, 128)]
    assert np.mean(model.predict(new) == tasks) > 0.95


# Descriptors in the forms that other libraries return


def test_a_picture_without_keypoints_has_a_histogram_of_zeros(descriptors):
    expected = words().fit(descriptors).transform([descriptors[0], np.empty((0, 12), np.uint8)])
    for none in (None, [], np.empty((0, 12), np.float32)):
        model = words().fit([*descriptors, none])
        assert model.transform([none]).nnz == 0
        assert_same(words().fit(descriptors).transform([descriptors[0], none]), expected)
    with pytest.raises(ValueError, match=r"^X must hold descriptors, got none$"):
        words().fit([None, None])


def test_whole_numbers_may_be_floats(descriptors):
    expected = words().fit_transform(descriptors)
    assert_same(words().fit_transform([array.astype(np.float32) for array in descriptors]), expected)
    with pytest.raises(ValueError, match=r"^descriptors must be uint8"):
        words().fit([array / 255 for array in descriptors])


@pytest.mark.usefixtures("pillow")
def test_descriptors_and_pictures_may_come_from_an_iterator(descriptors):
    expected, pictures = words().fit_transform(descriptors), [np.tile(np.linspace(0, 1, 64), (48, 1))]
    assert_same(words().fit_transform(iter(descriptors)), expected)
    assert_same(words().fit(array for array in descriptors).transform(array for array in descriptors), expected)
    assert_same(DenseSift().fit_transform(iter(pictures))[0], DenseSift().transform(pictures)[0])


# Options and invalid input


@pytest.mark.usefixtures("pillow")
@pytest.mark.parametrize("option", [{"clip": 0.05}, {"min_contrast": 1.0}, {"rootsift": False}, {"step": 5}])
def test_dense_sift_takes_all_options_of_its_function(rng, option):
    picture = rng.random((48, 40), dtype=np.float32)
    [got], expected = (
        DenseSift((16,), **option).transform([picture]),
        dense_sift.describe(picture, patch_sizes=(16,), **option),
    )
    np.testing.assert_array_equal(got, expected)
    assert not np.array_equal(expected, dense_sift.describe(picture, patch_sizes=(16,)))


@pytest.mark.usefixtures("pillow")
@pytest.mark.parametrize(
    ("picture", "message"),
    [
        (np.zeros(40), r"a picture must be \(height, width\) or .* got shape \(40,\) of float64"),
        (np.zeros((40, 40, 2)), r".* got shape \(40, 40, 2\)"),
        (np.zeros((40, 40), int), r".* uint8 or floating-point, got shape \(40, 40\) of int64"),
        (np.full((40, 40, 3), 1.5), r".* must lie in \[0, 1\], got 1.5 to 1.5"),
        (np.full((40, 40), np.nan), r".* must lie in \[0, 1\], got nan"),
        (np.zeros((40, 31)), "picture must be at least 32 pixels on its shorter side, got 31 x 40"),
    ],
)
def test_an_invalid_picture_raises_an_error_with_its_number(picture, message):
    with pytest.raises(ValueError, match=rf"X\[1\]: {message}"):
        DenseSift().transform([np.zeros((40, 40)), picture])


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda d, X: DenseSift().transform("a.jpg"), "X must be a list of at least one picture, .* got 'a.jpg'"),
        (lambda d, X: DenseSift(longest_side=0).transform(["a.jpg"]), "longest_side must be a whole number"),
        (lambda d, X: DenseSift(16).transform([np.zeros((40, 40))]), "patch_sizes must be a sequence of .*, got 16"),
        (lambda d, X: words().fit([]), r"X must be a list of at least one picture, .* got \[\]"),
        (lambda d, X: words().fit(d[0]), r"X must be a list .*, got an array of shape \(\d+, 12\): give \[X\]"),
        (
            lambda d, X: DenseSift().transform(np.zeros((40, 50, 3))),
            r"X must be a list .* got an array of shape \(40, 50, 3\)",
        ),
        (lambda d, X: words().fit([d[0][0]]), r"X\[0\]: expected descriptors .*, got shape \(12,\)"),
        (lambda d, X: words().fit([array[:0] for array in d]), "X must hold descriptors, got none"),
        *(
            (
                lambda d, X, none=none: words().fit(none),
                "X must be a list of at least one picture, or of the descriptors",
            )
            for none in (None, 5, object())
        ),
        *(
            (
                lambda d, X, item=item: words().fit([d[0], item(d[1])]),
                r"^X\[1\]: expected .* these are pairs \(keypoints, desc",
            )
            for item in (lambda array: (["a", "b"], array), lambda array: ((), array), lambda array: [[1, 2], [3]])
        ),
        (
            lambda d, X: words().fit([d[0], None, d[1][:, :11]]),
            r"X must hold descriptors of the same length, got 12 in X\[0\] and 11 in X\[2\]",
        ),
        (
            lambda d, X: words(branching=3).fit([np.repeat(d[0][:2], 300, axis=0)]),
            "3 of them distinct, got 600 rows, 2 of them distinct$",
        ),
        (lambda d, X: words().fit([array + 0.5 for array in d]), "descriptors must be uint8"),
        (lambda d, X: words().fit([array + 256.0 for array in d]), "descriptors must be uint8"),
        (lambda d, X: words(weighting="log").fit(d), "weighting must be one of .* got 'log'"),
        (lambda d, X: words(sample_size=0).fit(d), "sample_size must be a whole number of at least 1, got 0"),
        (lambda d, X: words(random_state="a").fit(d), "random_state must be .* got 'a'"),
        (lambda d, X: words().fit(d).transform([d[0], d[1][:, :5]]), r"X\[1\]: .* the tree's length 12, got 5"),
        (lambda d, X: SVDBasis().fit(X), "rank must be between 1 and 8 .* got 1000"),
        (lambda d, X: SVDBasis(2.5).fit(X), "rank must be a whole number of at least 1, got 2.5"),
        (lambda d, X: SVDBasis(2, power=-1).fit(X), "power must be at least 0, got -1"),
        (lambda d, X: SVDBasis(2, random_state=-1).fit(X), "random_state must be .* got -1"),
        (
            lambda d, X: SVDBasis(2).fit(np.full((9, 3), np.inf, np.float16)),
            "X must be finite, got infinite .* in float16",
        ),
        (lambda d, X: SVDBasis(2).fit(X * 1e40), r"X must hold numbers from -1e\+30 to 1e\+30, got .*e\+40"),
        (lambda d, X: SVDBasis("full").fit(np.ones((5, 3))), "rank must be at most 0, the rank of the data, got full"),
    ],
)
def test_invalid_input_raises(descriptors, rng, use, message):
    X = rng.poisson(0.5, (30, 8)).astype(float)
    with pytest.raises(ValueError, match=message):
        use(descriptors, X)


def test_the_memory_for_a_picture_covers_the_patches_of_every_size():
    none, small, large, both = (DenseSift(sizes).bytes_of_picture() for sizes in ((), (16,), (24,), (16, 24)))
    assert both - none == (small - none) + (large - none) > large - none

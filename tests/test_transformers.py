"""The transformers: descriptors in all forms, copies, and invalid input."""

import numpy as np
import pytest

from jointsparse.features import DenseSift, SVDBasis, VocabularyTree, dense_sift

# Descriptors of eight pictures, which have 40 to 47 each.
DESCRIPTORS = np.split(np.random.default_rng(0).integers(0, 256, (348, 12), np.uint8), np.cumsum(range(40, 47)))


def words(**options):
    return VocabularyTree(**{"branching": 5, "depth": 2, "random_state": 7, **options})


@pytest.fixture
def pillow():
    # Pictures are shrunk by Pillow.
    pytest.importorskip("PIL")


# Descriptors in the forms that other libraries return


@pytest.mark.parametrize(
    "form",
    [
        iter,
        lambda arrays: [array.astype(np.float32) for array in arrays],  # whole numbers
        lambda arrays: [*arrays, None],  # pictures without keypoints
        lambda arrays: [*arrays, []],
        lambda arrays: [*arrays, np.empty((0, 12), np.float32)],
    ],
)
def test_descriptors_may_come_in_the_forms_of_other_libraries(form):
    got = words().fit_transform(form(DESCRIPTORS)).toarray()
    np.testing.assert_array_equal(got[:8], words().fit_transform(DESCRIPTORS).toarray())
    assert not got[8:].any()
    np.testing.assert_array_equal(words().fit(form(DESCRIPTORS)).transform(form(DESCRIPTORS)).toarray(), got)


# Options and invalid input


@pytest.mark.usefixtures("pillow")
@pytest.mark.parametrize("option", [{"clip": 0.05}, {"min_contrast": 1.0}, {"rootsift": False}, {"step": 5}])
def test_dense_sift_takes_all_options_of_its_function(rng, option):
    picture = rng.random((48, 40), dtype=np.float32)
    [got], [default] = (DenseSift((16,), **options).transform(iter([picture])) for options in (option, {}))
    np.testing.assert_array_equal(got, dense_sift.describe(picture, patch_sizes=(16,), **option))
    assert not np.array_equal(got, default)


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
def test_invalid_input_raises(rng, use, message):
    with pytest.raises(ValueError, match=message):
        use(DESCRIPTORS, rng.poisson(0.5, (30, 8)).astype(float))

"""The transformers: the pipeline's own features, scikit-learn's checks, and what they refuse."""

import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image
from scipy import sparse
from skimage import data
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from jointsparse import JointSparseClassifier
from jointsparse.features import DenseSift, SVDBasis, VocabularyTree, basis
from jointsparse.features.dense_sift import describe as dense_sift
from jointsparse.pictures import grey_of, open_grey
from jointsparse.pipeline.provenance.tables import read_arrays, read_features, read_matrix, write_table

CONFIG = yaml.safe_load((Path(__file__).parents[1] / "config.yaml").read_text())
SEED = 7
SIFT = {"patch_sizes": [8, 12], "step": 8, "rootsift": False}
TREE = {"branching": 5, "depth": 2}
BASIS = {"rank": 3, "centred": True}


@pytest.fixture(scope="module")
def descriptors():
    """Descriptors of eight pictures, each with another number of them."""
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (40 + i, 12), dtype=np.uint8) for i in range(8)]


def words(**options):
    return VocabularyTree(**{**TREE, "random_state": SEED, **options})


def assert_same(got, expected):
    """Two results hold the same bits."""
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(*[one.toarray() if sparse.issparse(one) else one for one in (got, expected)])


# The pipeline


@pytest.fixture
def train(album):
    """Names of the pictures of an album with images.parquet, and a mark of those for training."""
    names = sorted(path.name for path in (album / "images").iterdir())
    split = np.where(np.arange(len(names)) % 3, "train", "test")
    write_table(pd.DataFrame({"image": names, "split": split}), album / "images.parquet")
    return names, split == "train"


def run_scripts(run, root, weighting, longest_side):
    """The features that the scripts of the pipeline make of an album, and their basis."""
    images, vocabularies, basis_file = root / "images.parquet", root / "vocabularies.npz", root / "basis.npz"
    params = {"loader": "photos", "options": {"root": str(root)}, "longest_side": longest_side}
    params |= {"extractor": "dense_sift", "extractor_options": SIFT, "seed": SEED, "keep": False}
    params |= {"sample": {"images": 100, "descriptors": 300, "fitted_on": ["train"]}}
    params |= {"vocabularies": {"tree": TREE | {"weighting": weighting}}}
    run("grow_vocabularies", input={"images": images}, output={"vocabularies": vocabularies}, params=params)
    params["vocabularies"] = {"tree": {"weighting": weighting, "normalise": True}}
    shards = [root / f"{shard}.npz" for shard in range(2)]
    for shard, file in enumerate(shards):
        given = {"images": images, "vocabularies": vocabularies}
        run("encode", input=given, output={"histograms": file}, params=params, wildcards={"shard": shard, "shards": 2})
    output = {"basis": basis_file, "features": root / "features.npy"}
    options = {"fitted_on": ["train"], "options": BASIS, "seed": SEED, "vocabulary": "tree"}
    run("fit_basis", input={"images": images, "features": shards}, output=output, params=options)
    return read_features(shards, "tree"), read_matrix(output["features"]), read_arrays(basis_file, "singular_values")


@pytest.mark.parametrize(("weighting", "longest_side"), [("sqrt", 64), ("tf-idf", 50)])
def test_the_pipeline_computes_the_same(run_script, album, train, weighting, longest_side):
    histograms, features, values = run_scripts(run_script, album, weighting, longest_side)
    names, fitted = train
    model = make_pipeline(
        DenseSift(**SIFT, longest_side=longest_side),
        words(sample_size=300, weighting=weighting),
        SVDBasis(**BASIS, random_state=SEED),
    )
    paths = [album / "images" / name for name in names]
    model.fit([path for path, chosen in zip(paths, fitted, strict=True) if chosen])
    assert_same(model[:2].transform([str(path) for path in paths]), histograms)
    np.testing.assert_allclose(model.transform(paths), features, atol=1e-5)  # of rows in another order
    # As `sweep.in_powers` makes features of another power.
    factor = basis.factors(values["singular_values"], [0.5])[0.5]
    halfway = clone(model[-1]).set_params(power=0.5).fit(histograms[fitted])
    np.testing.assert_allclose(halfway.transform(histograms), features * factor, atol=1e-5)


def test_defaults_are_those_of_the_config():
    def asked(*blocks, without=()):
        return {key: value for block in blocks for key, value in block.items() if key not in without}

    features, study = CONFIG["features"], CONFIG["studies"]["annotation"]
    sift = asked(features["options"], {"longest_side": features["longest_side"]})
    assert DenseSift().get_params() == sift | {"patch_sizes": tuple(sift["patch_sizes"])}
    seeded = {"random_state": None}
    seeded_words = seeded | {"sample_size": features["sample"]["descriptors"]}
    assert VocabularyTree().get_params() == features["vocabularies"]["tree"] | seeded_words
    assert SVDBasis().get_params() == asked(study["basis"], seeded, without=("fitted_on",))


def test_the_papers_image_model_tells_textures_apart():
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


# Descriptors as other libraries hand them out


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
    assert_same(words().fit_transform([each.astype(np.float32) for each in descriptors]), expected)
    with pytest.raises(ValueError, match=r"^descriptors must be uint8"):
        words().fit([each / 255 for each in descriptors])


def test_descriptors_may_come_from_an_iterator(descriptors):
    expected = words().fit_transform(descriptors)
    assert_same(words().fit_transform(iter(descriptors)), expected)
    assert_same(words().fit(each for each in descriptors).transform(each for each in descriptors), expected)
    pictures = [np.tile(np.linspace(0, 1, 64), (48, 1))]
    np.testing.assert_array_equal(DenseSift().fit_transform(iter(pictures)), DenseSift().transform(pictures))


def test_descriptors_of_two_lengths_and_too_few_distinct_ones_are_refused(descriptors):
    lengths = re.escape("X must hold descriptors of one length, got 12 in X[0], 11 in X[2]")
    with pytest.raises(ValueError, match=lengths):
        words().fit([descriptors[0], None, descriptors[1][:, :11]])
    with pytest.raises(ValueError, match=r"3 of them distinct, got 600 rows, 2 of them distinct$"):
        words(branching=3).fit([np.repeat(descriptors[0][:2], 300, axis=0)])


# scikit-learn


@parametrize_with_checks(
    [SVDBasis(rank=1), SVDBasis(rank="full"), SVDBasis(rank="full", power=0), SVDBasis(rank=1, centred=False)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def X():
    return np.random.default_rng(1).poisson(0.5, (30, 8)).astype(float)


def test_transformers_are_cloned_and_pickled(descriptors, X):
    ramp = [np.tile(np.linspace(0, 1, 40), (32, 1))]
    for model, given in [(DenseSift((16,)), ramp), (words(), descriptors), (SVDBasis(2, random_state=SEED), X)]:
        expected = model.fit_transform(given)
        again = pickle.loads(pickle.dumps(model))
        assert again.get_params() == clone(model).get_params() == model.get_params()
        for got in (again.transform(given), clone(model).fit(given).transform(given)):
            assert_same(*((got[0], expected[0]) if isinstance(got, list) else (got, expected)))


# Pictures


@pytest.mark.parametrize("shape", [(40, 60), (40, 60, 3), (150, 600, 3)])
@pytest.mark.parametrize("longest_side", [320, 50])
def test_a_picture_in_memory_is_that_of_a_file(tmp_path, shape, longest_side):
    picture = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    Image.fromarray(picture).save(tmp_path / "picture.png")
    grey = open_grey(tmp_path / "picture.png", longest_side)
    assert_same(grey_of(picture, longest_side), grey)
    np.testing.assert_allclose(grey_of(picture / 255, longest_side), grey, atol=1 / 255)  # not rounded to 255 levels
    for got in DenseSift([4], longest_side=longest_side).transform([picture, tmp_path / "picture.png"]):
        assert_same(got, dense_sift(grey, patch_sizes=[4]))


# What is refused


@pytest.mark.parametrize(
    ("use", "message"),
    [
        *(
            (lambda d, X, picture=picture: DenseSift().transform([np.zeros((40, 40)), picture]), rf"X\[1\]: {message}")
            for picture, message in (
                (np.zeros(40), r"a picture must be \(height, width\) or .* got shape \(40,\) of float64"),
                (np.zeros((40, 40, 2)), r".* got shape \(40, 40, 2\)"),
                (np.zeros((40, 40), int), r".* uint8 or floating-point, got shape \(40, 40\) of int64"),
                (np.full((40, 40, 3), 1.5), r".* must lie in \[0, 1\], got 1.5 to 1.5"),
                (np.full((40, 40), np.nan), r".* must lie in \[0, 1\], got nan"),
                (np.zeros((40, 31)), "picture must be at least 32 pixels on its shorter side, got 31 x 40"),
            )
        ),
        (lambda d, X: DenseSift().transform("a.jpg"), "X must be a list of at least one picture, .* got 'a.jpg'"),
        (lambda d, X: DenseSift(longest_side=0).transform(["a.jpg"]), "longest_side must be a whole number"),
        (lambda d, X: DenseSift(step=0).transform([np.zeros((40, 40))]), "step must be a whole number"),
        (lambda d, X: DenseSift(16).transform([np.zeros((40, 40))]), "patch_sizes must be a sequence of .*, got 16"),
        (lambda d, X: words().fit([]), r"X must be a list of at least one picture, .* got \[\]"),
        (lambda d, X: words().fit(d[0]), r"X must be a list with .*, got one of shape \(\d+, 12\): give \[X\] for one"),
        (
            lambda d, X: DenseSift().transform(np.zeros((40, 50, 3))),
            r"X must be a list .* got one of shape \(40, 50, 3\)",
        ),
        (lambda d, X: words().fit([d[0][0]]), r"X\[0\]: expected descriptors .*, got shape \(12,\)"),
        (lambda d, X: words().fit([one[:0] for one in d]), "X must hold descriptors, got none"),
        (lambda d, X: words().fit([one + 0.5 for one in d]), "descriptors must be uint8"),
        (lambda d, X: words(weighting="log").fit(d), "weighting must be one of .* got 'log'"),
        (lambda d, X: words(sample_size=0).fit(d), "sample_size must be a whole number of at least 1, got 0"),
        (lambda d, X: words(random_state="a").fit(d), "random_state must be .* got 'a'"),
        (lambda d, X: words().fit(d).transform([d[0], d[1][:, :5]]), r"X\[1\]: .* the tree's length 12, got 5"),
        (lambda d, X: SVDBasis().fit(X), "rank must be between 1 and 8 .* got 1000"),
        (lambda d, X: SVDBasis(2.5).fit(X), "rank must be a whole number of at least 1, got 2.5"),
        (lambda d, X: SVDBasis(2, power=-1).fit(X), "power must be at least 0, got -1"),
        (lambda d, X: SVDBasis(2, random_state=-1).fit(X), "random_state must be .* got -1"),
        (lambda d, X: SVDBasis(2).fit(X * 1e40), r"X must hold numbers from -1e\+30 to 1e\+30, got .*e\+40"),
        (lambda d, X: SVDBasis("full").fit(np.ones((5, 3))), "rank must be at most 0, the rank of the data, got full"),
    ],
)
def test_bad_input_is_one_clear_error(descriptors, X, use, message):
    with pytest.raises(ValueError, match=message):
        use(descriptors, X)

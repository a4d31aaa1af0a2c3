"""The scripts of the pipeline compute the same features as the transformers, with the same defaults."""

import numpy as np
import pandas as pd
import pytest
import yaml
from miniature import BASE
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from jointsparse.features import DenseSift, SVDBasis, VocabularyTree, basis, dense_sift
from jointsparse.pipeline.provenance.tables import read_arrays, read_features, read_matrix, write_table

CONFIG = yaml.safe_load((BASE / "config.yaml").read_text())
SEED = 7
SIFT = {"patch_sizes": [8, 12], "step": 8, "rootsift": False}
TREE = {"branching": 5, "depth": 2}
BASIS = {"rank": 3, "centred": True}


@pytest.fixture
def train(album):
    """Return the names of the pictures of an album with images.parquet, and a mask of the training pictures."""
    names = sorted(path.name for path in (album / "images").iterdir())
    split = np.where(np.arange(len(names)) % 3, "train", "test")
    write_table(pd.DataFrame({"image": names, "split": split}), album / "images.parquet")
    return names, split == "train"


def run_scripts(run, root, weighting, longest_side):
    """Return the features that the scripts of the pipeline compute for an album, and their basis."""
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
def test_the_pipeline_computes_the_same_features(run_script, album, train, weighting, longest_side):
    histograms, features, values = run_scripts(run_script, album, weighting, longest_side)
    names, fitted = train
    model = make_pipeline(
        DenseSift(**SIFT, longest_side=longest_side),
        VocabularyTree(**TREE, random_state=SEED, sample_size=300, weighting=weighting),
        SVDBasis(**BASIS, random_state=SEED),
    )
    paths = [album / "images" / name for name in names]
    model.fit([path for path, chosen in zip(paths, fitted, strict=True) if chosen])
    got = model[:2].transform([str(path) for path in paths])
    np.testing.assert_array_equal(got.toarray(), histograms.toarray(), strict=True)
    np.testing.assert_allclose(model.transform(paths), features, atol=1e-5)  # the rows are in another order
    # Features of another power, computed as in `sweep.in_powers`.
    factor = basis.factors(values["singular_values"], [0.5])[0.5]
    halfway = clone(model[-1]).set_params(power=0.5).fit(histograms[fitted])
    np.testing.assert_allclose(halfway.transform(histograms), features * factor, atol=1e-5)


def test_defaults_agree_with_the_config():
    def asked(*blocks, without=()):
        return {key: value for block in blocks for key, value in block.items() if key not in without}

    features, study = CONFIG["features"], CONFIG["studies"]["annotation"]
    usual = {"clip": dense_sift.CLIP, "min_contrast": dense_sift.MIN_CONTRAST}  # not in config.yaml
    sift = asked(features["options"], usual, {"longest_side": features["longest_side"]})
    assert DenseSift().get_params() == sift | {"patch_sizes": tuple(sift["patch_sizes"])}
    seeded = {"random_state": None}
    seeded_words = seeded | {"sample_size": features["sample"]["descriptors"]}
    assert VocabularyTree().get_params() == features["vocabularies"]["tree"] | seeded_words
    assert SVDBasis().get_params() == asked(study["basis"], seeded, without=("fitted_on",))

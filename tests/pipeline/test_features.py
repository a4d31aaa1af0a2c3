"""The scripts of the pipeline compute the same features as the transformers, with the same defaults."""

import numpy as np
import pandas as pd
import pytest
import yaml
from miniature import BASE
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from jointsparse.features import DenseSift, SVDBasis, VocabularyTree, basis
from jointsparse.pipeline.provenance.tables import read_arrays, read_features, read_matrix, write_table

SEED = 7
SIFT = {"patch_sizes": [8, 12], "step": 8, "rootsift": False}
TREE = {"branching": 5, "depth": 2}
BASIS = {"rank": 3, "centred": True}


@pytest.mark.parametrize(("weighting", "longest_side"), [("sqrt", 64), ("tf-idf", 50)])
def test_the_pipeline_computes_the_same_features(run_script, album, weighting, longest_side):
    paths = sorted((album / "images").iterdir())
    split, images = np.where(np.arange(len(paths)) % 3, "train", "test"), {"images": album / "images.parquet"}
    write_table(pd.DataFrame({"image": [path.name for path in paths], "split": split}), images["images"])
    words, shards = {"vocabularies": album / "words.npz"}, [album / f"{shard}.npz" for shard in range(2)]
    params = {"loader": "photos", "options": {"root": str(album)}, "longest_side": longest_side}
    params |= {"extractor": "dense_sift", "extractor_options": SIFT, "seed": SEED, "keep": False}
    params |= {"sample": {"images": 100, "descriptors": 300, "fitted_on": ["train"]}}
    params |= {"vocabularies": {"tree": TREE | {"weighting": weighting}}}
    run_script("grow_vocabularies", input=images, output=words, params=params)
    params["vocabularies"] = {"tree": {"weighting": weighting, "normalise": True}}
    for shard, file in enumerate(shards):
        place = {"shard": shard, "shards": 2}
        run_script("encode", input=images | words, output={"histograms": file}, params=params, wildcards=place)
    output = {"basis": album / "basis.npz", "features": album / "features.npy"}
    params = {"fitted_on": ["train"], "options": BASIS, "seed": SEED, "vocabulary": "tree"}
    run_script("fit_basis", input=images | {"features": shards}, output=output, params=params)
    histograms, features = read_features(shards, "tree"), read_matrix(output["features"])

    model = make_pipeline(
        DenseSift(**SIFT, longest_side=longest_side),
        VocabularyTree(**TREE, random_state=SEED, sample_size=300, weighting=weighting),
        SVDBasis(**BASIS, random_state=SEED),
    )
    model.fit([path for path, part in zip(paths, split, strict=True) if part == "train"])
    np.testing.assert_array_equal(model[:2].transform(paths).toarray(), histograms.toarray(), strict=True)
    np.testing.assert_allclose(model.transform(paths), features, atol=1e-5)  # the rows are in another order
    # Features of another power, computed as in `sweep.in_powers`.
    values = read_arrays(output["basis"], "singular_values")["singular_values"]
    halfway = clone(model[-1]).set_params(power=0.5).fit(histograms[split == "train"])
    expected = features * basis.factors(values, [0.5])[0.5]
    np.testing.assert_allclose(halfway.transform(histograms), expected, atol=1e-5)


def test_defaults_agree_with_the_config():
    config = yaml.safe_load((BASE / "config.yaml").read_text())
    features, svd = config["features"], config["studies"]["annotation"]["basis"]
    given = features["options"] | features["vocabularies"]["tree"] | svd | {"longest_side": features["longest_side"]}
    defaults = DenseSift().get_params() | VocabularyTree().get_params() | SVDBasis().get_params()
    defaults |= {"patch_sizes": [*defaults["patch_sizes"]], "fitted_on": svd["fitted_on"]}
    assert {name: defaults[name] for name in given} == given
    assert defaults["sample_size"] == features["sample"]["descriptors"]

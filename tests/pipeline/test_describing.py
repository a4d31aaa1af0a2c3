"""Describing pictures: as the transformers do; results of an earlier job are reused for the same images alone."""

import hashlib
import shutil
from functools import partial

import describing
import networks
import numpy as np
import pandas as pd
import pytest
from albums import make_album
from runs import CONFIG
from sklearn.pipeline import make_pipeline

from jointsparse.features import DenseSift, Embedding, SVDBasis, VocabularyTree, onnx, shards
from jointsparse.pipeline.provenance import records
from jointsparse.pipeline.provenance.tables import read_arrays, read_features, read_matrix, write_arrays, write_table

NAMES = [f"{i:03}.jpg" for i in range(12)]
SAMPLED = shards.drawn(NAMES, 5, seed=1)
MADE = {"grow_vocabularies": "vocabularies", "encode": "histograms", "embed": "features"}  # by each rule
OTHER, NEW = next(name for name in NAMES if name not in SAMPLED), "a new one.jpg"
SIFT, TREE = {"patch_sizes": [8, 12], "step": 6, "rootsift": False}, {"branching": 5, "depth": 2, "weighting": "tf-idf"}


def listed(root):
    files = sorted((root / "images").iterdir())
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return pd.DataFrame({"image": [file.name for file in files], "split": "train", "digest": digests})


@pytest.fixture
def run(run_script, tmp_path, monkeypatch):
    # A function that runs the script of a rule for an album and returns the images that it has described.
    root, seen, checked = make_album(tmp_path / "mine", 12), [], describing._checked
    monkeypatch.setattr(describing, "_checked", lambda image, *given: seen.append(image) or checked(image, *given))

    def run_rule(rule, images=None, **params):
        write_table(listed(root) if images is None else images, root / "images.parquet")
        given = {"images": root / "images.parquet", "vocabularies": root / "vocabularies.npz"}
        output = {name: root / f"{name}.npz" for name in MADE.values()}
        params = {"loader": "photos", "options": {"root": str(root)}, "longest_side": 64, "seed": 1} | params
        seen.clear()
        run_script(rule, input=given, output=output, params=params, wildcards={"shard": 0, "shards": 1})
        records.write([output[MADE[rule]]], {"raw": {}, "made_with": {}}, job=rule, code=[], values={}, raw={})
        return sorted({*seen})

    run_rule.root = root
    return run_rule


# the images that were described for vocabularies and for histograms, and the histograms
def make(run, images=None, sift=SIFT, tree=TREE, keep=False):
    options = {"extractor": "dense_sift", "extractor_options": sift, "keep": keep}
    options |= {"sample": {"images": 5, "descriptors": 400, "fitted_on": ["train"]}}
    grown = run("grow_vocabularies", images, **options, vocabularies={"tree": tree})
    encoded = run(
        "encode", images, **options, vocabularies={"tree": {"weighting": tree["weighting"], "normalise": True}}
    )
    return grown, encoded, read_features([run.root / "histograms.npz"], "tree")


@pytest.mark.parametrize("weighting", ["sqrt", "tf-idf"])
def test_the_scripts_compute_the_features_of_the_transformers(run, run_script, weighting):
    root, images = run.root, listed(run.root).assign(split=["test"] * 7 + ["train"] * 5)
    *_, histograms = make(run, images, tree=TREE | {"weighting": weighting})
    given = {"images": root / "images.parquet", "features": [root / "histograms.npz"]}
    output, options = {"basis": root / "basis.npz", "features": root / "features.npy"}, {"rank": 3, "centred": True}
    params = {"fitted_on": ["train"], "options": options, "seed": 1, "vocabulary": "tree"}
    run_script("fit_basis", input=given, output=output, params=params)
    words = VocabularyTree(**TREE | {"weighting": weighting}, random_state=1, sample_size=400)
    model = make_pipeline(DenseSift(**SIFT, longest_side=64), words, SVDBasis(**options, random_state=1))
    paths = [root / "images" / name for name in NAMES]
    model.fit(paths[7:])
    np.testing.assert_array_equal(model[:2].transform(paths).toarray(), histograms.toarray(), strict=True)
    features = read_matrix(output["features"])
    np.testing.assert_allclose(model.transform(paths), features, atol=1e-5)  # the rows are in another order


def test_defaults_of_the_transformers_agree_with_the_config():
    features, svd = CONFIG["features"], CONFIG["studies"]["annotation"]["basis"]
    given = features["options"] | features["vocabularies"]["tree"] | svd | {"longest_side": features["longest_side"]}
    given |= {"sample_size": features["sample"]["descriptors"], "patch_sizes": (*features["options"]["patch_sizes"],)}
    defaults = DenseSift().get_params() | VocabularyTree().get_params() | SVDBasis().get_params()
    assert defaults | given == defaults | {"fitted_on": svd["fitted_on"]}


@pytest.mark.parametrize(
    ("target", "source", "options", "grown", "encoded"),
    [
        pytest.param("", "", {}, [], [], id="nothing"),
        pytest.param(f"images/{OTHER}", "images/005.jpg", {}, [], [OTHER], id="an image"),
        pytest.param(f"images/{SAMPLED[0]}", "images/005.jpg", {}, SAMPLED, NAMES, id="an image of the sample"),
        pytest.param(
            f"images/{SAMPLED[0]}", "images/005.jpg", {"keep": True}, [], SAMPLED[:1], id="the same with trees kept"
        ),
        pytest.param(f"images/{NEW}", "images/005.jpg", {"keep": True}, [], [NEW], id="a new image"),
        pytest.param(f"images/{OTHER}", "", {"keep": True}, [], [], id="a missing image"),
        pytest.param("", "", {"sift": SIFT | {"step": 12}, "keep": True}, SAMPLED, NAMES, id="a setting"),
        pytest.param("", "", {"tree": TREE | {"depth": 1}}, SAMPLED, NAMES, id="the depth of trees"),
        pytest.param("histograms.npz", "captions.csv", {}, [], NAMES, id="damaged histograms"),
        pytest.param("vocabularies.npz", "", {}, SAMPLED, [], id="no trees"),
    ],
)
def test_only_what_a_change_concerns_is_made_again(run, target, source, options, grown, encoded):
    make(run)
    if source:
        shutil.copy(run.root / source, run.root / target)
    elif target:
        (run.root / target).unlink()
    *described, got = make(run, **options)
    assert described == [grown, encoded]
    (run.root / "histograms.npz").unlink()
    np.testing.assert_array_equal(make(run, **options)[-1].toarray(), got.toarray())


def test_histograms_that_are_not_those_of_their_record_are_made_again(run):
    make(run)
    arrays = read_arrays(run.root / "histograms.npz")
    write_arrays(run.root / "histograms.npz", **arrays | {"tree/data": 2 * arrays["tree/data"]})
    assert make(run)[1] == NAMES


def test_features_of_a_network_are_in_the_order_of_the_images(run, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx, "open_network", networks.opened_here)
    model, images = networks.write(tmp_path / "network.onnx", "maps"), run.root / "images"
    options = {"network": {"digest": Embedding(model).fit(None).digest_}, "extractor_options": {"model": str(model)}}
    embed = partial(run, "embed", vocabulary="network", **options)
    assert embed() == NAMES
    before = read_features([run.root / "features.npz"], "network")
    np.testing.assert_array_equal(before, Embedding(model).transform([images / name for name in NAMES]))
    shutil.copy(images / "005.jpg", images / "001 again.jpg")
    assert embed() == ["001 again.jpg"]
    expected = np.insert(before, 1, before[5], axis=0)
    np.testing.assert_array_equal(read_features([run.root / "features.npz"], "network"), expected)


def test_an_image_that_changes_while_it_is_read_is_an_error_of_one_sentence(run):
    images = listed(run.root)
    shutil.copy(run.root / "images" / "005.jpg", run.root / "images" / "003.jpg")
    with pytest.raises(ValueError, match=r"^003.jpg could be read .* \(its contents have changed\): run again"):
        make(run, images)

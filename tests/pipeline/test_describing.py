"""Describing pictures: results of an earlier job are reused for the same images, and made again for changed images."""

import hashlib
from functools import partial

import describing
import networks
import numpy as np
import pandas as pd
import pytest
from albums import make_album

from jointsparse.features import Embedding, onnx, shards
from jointsparse.pipeline.provenance import records
from jointsparse.pipeline.provenance.tables import read_features, write_table

NAMES = [f"{i:03}.jpg" for i in range(12)]
SAMPLED = shards.drawn(NAMES, 5, seed=1)
MADE = {"grow_vocabularies": "vocabularies", "encode": "histograms", "embed": "features"}  # by each rule
OTHER, NEW = next(name for name in NAMES if name not in SAMPLED), "a new one.jpg"


def listed(root):
    """Return the table of the images in an album."""
    files = sorted((root / "images").iterdir())
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return pd.DataFrame({"image": [file.name for file in files], "split": "train", "digest": digests})


@pytest.fixture
def run(run_script, tmp_path, monkeypatch):
    """Return a function that runs the script of a rule for an album and returns the images that it has described."""
    root, seen, checked = make_album(tmp_path / "mine", 12), [], describing._checked
    monkeypatch.setattr(describing, "_checked", lambda image, *given: seen.append(image) or checked(image, *given))

    def run_rule(rule, images=None, **params):
        write_table(listed(root) if images is None else images, root / "images.parquet")
        given = {"images": root / "images.parquet", "vocabularies": root / "vocabularies.npz"}
        output = {name: root / f"{name}.npz" for name in MADE.values()}
        params = {"loader": "photos", "options": {"root": str(root)}, "longest_side": 64, "seed": 1} | params
        seen.clear()
        run_script(rule, input=given, output=output, params=params, wildcards={"shard": 0, "shards": 1})
        made = [output[MADE[rule]]]
        records.write(made, {"raw": {}, "made_with": {}}, job=rule, code=[], values={}, raw={})
        return sorted({*seen})

    run_rule.root = root
    return run_rule


def make(run, keep=False, depth=2, step=8, images=None):
    """Make vocabularies and histograms; return the images that were described for each, and the histograms."""
    options = {"extractor": "dense_sift", "extractor_options": {"patch_sizes": [8], "step": step}, "keep": keep}
    options |= {"sample": {"images": 5, "descriptors": 200, "fitted_on": ["train"]}}
    tree = {"branching": 3, "depth": depth, "weighting": "tf-idf"}
    grown = run("grow_vocabularies", images, **options, vocabularies={"tree": tree})
    weighted = {"tree": {"weighting": "tf-idf", "normalise": True}}
    encoded = run("encode", images, **options, vocabularies=weighted)
    return grown, encoded, read_features([run.root / "histograms.npz"], "tree").toarray()


def copy(root, name, source="005.jpg"):
    (root / "images" / name).write_bytes((root / "images" / source).read_bytes())


def cut(root, name):
    (root / name).write_bytes((root / name).read_bytes()[:-9])


@pytest.mark.parametrize(
    ("change", "options", "grown", "encoded"),
    [
        pytest.param(lambda root: None, {}, [], [], id="nothing"),
        pytest.param(lambda root: copy(root, OTHER), {}, [], [OTHER], id="an image"),
        pytest.param(lambda root: copy(root, SAMPLED[0]), {}, SAMPLED, NAMES, id="an image of the sample"),
        pytest.param(lambda root: copy(root, SAMPLED[0]), {"keep": True}, [], SAMPLED[:1], id="with trees kept"),
        pytest.param(lambda root: copy(root, NEW), {"keep": True}, [], [NEW], id="a new image"),
        pytest.param(lambda root: (root / "images" / OTHER).unlink(), {"keep": True}, [], [], id="a missing image"),
        pytest.param(lambda root: None, {"step": 12, "keep": True}, SAMPLED, NAMES, id="a setting"),
        pytest.param(lambda root: None, {"depth": 1}, SAMPLED, NAMES, id="the depth of trees"),
        pytest.param(lambda root: cut(root, "histograms.npz"), {}, [], NAMES, id="damaged histograms"),
        pytest.param(lambda root: (root / "vocabularies.npz").unlink(), {}, SAMPLED, [], id="no trees"),
    ],
)
def test_only_what_a_change_concerns_is_made_again(run, change, options, grown, encoded):
    make(run)
    change(run.root)
    *described, got = make(run, **options)
    assert described == [grown, encoded]
    (run.root / "histograms.npz").unlink()
    np.testing.assert_array_equal(make(run, **options)[-1], got)


def test_features_of_a_network_are_in_the_order_of_the_images(run, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx, "open_network", networks.opened_here)
    model = networks.write(tmp_path / "network.onnx", "maps")
    options = {"network": {"digest": Embedding(model).fit(None).digest_}, "extractor_options": {"model": str(model)}}
    embed = partial(run, "embed", vocabulary="network", **options)
    assert embed() == NAMES
    before = read_features([run.root / "features.npz"], "network")
    copy(run.root, "001 again.jpg")
    assert embed() == ["001 again.jpg"]
    expected = np.insert(before, 1, before[5], axis=0)
    np.testing.assert_array_equal(read_features([run.root / "features.npz"], "network"), expected)


def test_trees_are_grown_from_images_of_the_named_splits(run):
    images = listed(run.root).assign(split=["test"] * 6 + ["train"] * 6)
    assert make(run, images=images)[0] == shards.drawn(NAMES[6:], 5, seed=1)


def test_an_image_that_changes_while_it_is_read_is_an_error_of_one_sentence(run):
    images = listed(run.root)
    copy(run.root, "003.jpg")
    with pytest.raises(ValueError, match=r"^003.jpg could be read .* \(its contents have changed\): run again"):
        make(run, images=images)

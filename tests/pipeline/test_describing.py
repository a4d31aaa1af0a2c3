"""Describing pictures: results of an earlier job are reused for the same images, and made again for changed images."""

import hashlib
import shutil

import describing
import networks
import numpy as np
import pandas as pd
import pytest
from albums import make_album

from jointsparse.features import Embedding, onnx
from jointsparse.pipeline.provenance import records
from jointsparse.pipeline.provenance.tables import read_features, write_table

WEIGHTED = {"weighting": "tf-idf", "normalise": True}


def listed(root):
    """Return the table of the images in an album."""
    names = sorted(path.name for path in (root / "images").iterdir())
    digests = [hashlib.sha256((root / "images" / name).read_bytes()).hexdigest() for name in names]
    return pd.DataFrame({"image": names, "split": "train", "digest": digests})


@pytest.fixture
def make(run_script, tmp_path, monkeypatch):
    """Return a function that makes vocabularies and histograms of an album, and lists the described images."""
    root, seen, checked = make_album(tmp_path / "mine", 12), [], describing._checked
    monkeypatch.setattr(describing, "_checked", lambda image, *given: seen.append(image) or checked(image, *given))
    made = {"vocabularies": root / "vocabularies.npz", "histograms": root / "histograms.npz"}

    def run(rule, params, **given):
        run_script(rule, params=params, output=made, wildcards={"shard": 0, "shards": 1}, **given)
        output = made["vocabularies" if rule == "grow_vocabularies" else "histograms"]
        records.write([output], {"raw": {}, "made_with": {}}, job=rule, code=[], values={}, raw={})
        described = sorted(set(seen))
        seen.clear()
        return described

    def both(keep=False, images=None, depth=2, **options):
        found = listed(root)
        write_table(found if images is None else images, root / "images.parquet")
        params = {"loader": "photos", "options": {"root": str(root)}, "longest_side": 64, "extractor": "dense_sift"}
        params |= {"extractor_options": {"patch_sizes": [8], "step": 8} | options, "seed": 1, "keep": keep}
        params |= {"sample": {"images": 5, "descriptors": 200, "fitted_on": ["train"]}}
        tree = params | {"vocabularies": {"tree": {"branching": 3, "depth": depth, "weighting": "tf-idf"}}}
        given = {"images": root / "images.parquet"}
        grown = run("grow_vocabularies", tree, input=given)
        given |= {"vocabularies": made["vocabularies"]}
        encoded = run("encode", params | {"vocabularies": {"tree": WEIGHTED}}, input=given)
        return found["image"].tolist(), grown, encoded, read_features([made["histograms"]], "tree").toarray()

    both.root, both.made = root, made
    return both


def test_only_new_and_changed_images_are_described(make):
    names, grown, encoded, before = make()
    assert (len(grown), encoded) == (5, names)
    assert make()[1:3] == ([], [])
    one, other, more = (make.root / "images" / name for name in (names[0], names[1], "a new one.jpg"))
    more.write_bytes(one.read_bytes())
    one.write_bytes(other.read_bytes())
    _, grown, encoded, after = make(keep=True)
    assert (grown, encoded) == ([], [one.name, more.name])
    expected = np.vstack([before[1], before[1:], before[0]])  # in the order of names
    np.testing.assert_array_equal(after, expected)
    more.unlink()
    assert make(keep=True)[1:3] == ([], [])


def test_features_of_a_network_are_in_the_order_of_the_images(run_script, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx, "open_network", networks.opened_here)
    images, root = tmp_path / "images.parquet", make_album(tmp_path / "mine", 4)
    made, model = tmp_path / "embeddings.npz", str(networks.maps_of_uint8(tmp_path / "network.onnx"))
    network = {"digest": Embedding(model).fit(None).digest_}
    params = {"loader": "photos", "options": {"root": str(root)}, "extractor_options": {"model": model}}
    params |= {"network": network, "vocabulary": "network"}
    given = {"input": {"images": images}, "output": {"features": made}, "params": params}

    def embed():
        write_table(listed(root), images)
        run_script("embed", wildcards={"shard": 0, "shards": 1}, **given)
        records.write([made], {"raw": {}, "made_with": {}}, job="embed", code=[], values={}, raw={})
        return read_features([made], "network")

    before = embed()
    shutil.copy(root / "images" / "003.jpg", root / "images" / "001 again.jpg")
    np.testing.assert_array_equal(embed(), before[[0, 3, 1, 2, 3]])


def test_other_images_grow_new_trees_and_encode_all_images_again_unless_trees_are_kept(make):
    names, grown, *_ = make()
    one, other = (make.root / "images" / name for name in (grown[0], names[-1]))
    one.write_bytes(other.read_bytes())
    assert make()[1:3] == (grown, names)


def test_another_tree_encodes_all_images_again(make):
    names, grown, *_ = make()
    assert make(depth=1)[1:3] == (grown, names)


def test_trees_are_grown_from_images_of_the_named_splits(make):
    names, *_ = make()
    images = pd.read_parquet(make.root / "images.parquet").assign(split=["test"] * 6 + ["train"] * 6)
    grown = make(images=images)[1]
    assert len(grown) == 5 and set(grown) < set(names[6:])


def test_other_settings_and_damaged_files_make_everything_again(make):
    names, grown, _, before = make()
    assert make(keep=True, step=12)[1:3] == (grown, names)
    make.made["histograms"].write_bytes(make.made["histograms"].read_bytes()[:-9])
    *_, encoded, after = make(keep=True, step=12)
    assert encoded == names and after.shape[0] == len(names)
    make.made["vocabularies"].unlink()
    *others, again = make()
    assert others == [names, grown, names]
    np.testing.assert_array_equal(again, before)


def test_an_image_that_changes_while_it_is_read_is_an_error_of_one_sentence(make):
    names, *_ = make()
    (make.root / "images" / names[3]).write_bytes((make.root / "images" / names[2]).read_bytes())
    make.made["histograms"].unlink()
    images = pd.read_parquet(make.root / "images.parquet")
    with pytest.raises(ValueError, match=f"^{names[3]} could be read .* \\(its contents have changed\\): run again"):
        make(images=images)

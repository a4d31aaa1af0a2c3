"""What holds for every reader of datasets: splits, groups, corrections, and what the next stage reads."""

import struct
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from albums import lay, make_tagged

from jointsparse.pipeline.datasets import corrections, digits, documents
from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.registry import pick

pytestmark = pytest.mark.usefixtures("checked_here")

N = 40
HAS = np.arange(N) % 4 == 0
TAGS = np.where(HAS, "cat", "dog")
GROUPS = np.arange(N) // 4
NAMES = [f"{i:02}.png" for i in range(N)]
IMAGES = {f"images/{name}": i for i, name in enumerate(NAMES)}
TABLE = pd.DataFrame({"image": NAMES, "caption": TAGS, "site": [f"s{i}" for i in GROUPS]})
X = np.column_stack([HAS, np.arange(N)]).astype(np.float32)
HALF = {"train": 0.5, "test": 0.5}


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


LINES = "".join(f"{int(not has)} 1:{int(has)} 2:{i}\n" for i, has in enumerate(HAS))
SHAPED = {"images": idx(np.tile(X[:, :, np.newaxis], 2)), "labels": idx(~HAS)}


class Reader(NamedTuple):
    """A reader, files of 40 samples, of which every fourth is a cat, its options, and the option of groups."""

    loader: str
    files: dict[str, Any]
    options: dict[str, Any]
    group: Any = {}  # noqa: RUF012


READERS = {
    "arrays": Reader(
        "arrays",
        {"x.npy": X, "y.csv": TABLE},
        {"features": "x.npy", "labels": "y.csv", "tags": "caption", "index": "image"},
        {"group": "site"},
    ),
    "libsvm": Reader("libsvm", {"a": LINES}, {"train": "a"}),
    "libsvm by split": Reader("libsvm", {"a": LINES, "b": LINES}, {"train": "a", "test": "b"}),
    "idx": Reader(
        "idx",
        {f"{part}-{kind}": data for part in ("train", "test") for kind, data in SHAPED.items()},
        {f"{part}_{kind}": f"{part}-{kind}" for part in ("train", "test") for kind in SHAPED}
        | {"validation_fraction": 0.2},
    ),
    "photos": Reader("photos", IMAGES | {"captions.csv": TABLE}, {"smallest_side": 8}, {"group": "site"}),
    "tagged": Reader(
        "tagged",
        IMAGES | {"t.csv": TABLE},
        {"labels": "t.csv", "tags": "caption", "smallest_side": 8},
        {"group": "site"},
    ),
    "scenes": Reader(
        "scenes",
        {f"images/{tag}/{name}": i for i, (name, tag) in enumerate(zip(NAMES, TAGS, strict=True))},
        {"smallest_side": 8},
    ),
    "keywords": Reader("keywords", {}, {"images": "carrying", "smallest_side": None}),
}
DRAWN = {"digits": digits.read, "documents": lambda **options: documents.read(n_documents=99, **options)}


@pytest.fixture(params=[*READERS, *DRAWN])
def reader(request, tmp_path):
    """A function that reads with more options, the name of the reader, and how often it has every sample."""
    name = request.param
    if name in DRAWN:
        return name, DRAWN[name]
    reader = READERS[name]
    lay(tmp_path, reader.files)
    if name == "keywords":
        make_tagged(tmp_path / "carrying", {n.replace("png", "jpg"): [tag] for n, tag in zip(NAMES, TAGS, strict=True)})
    return name, lambda **options: pick("datasets", reader.loader).read(tmp_path, **reader.options, **options)


def test_splits_depend_only_on_the_seed_and_have_their_fractions(reader):
    name, read = reader
    given = {} if name in ("idx", "libsvm by split") else {"fractions": HALF}
    first, again, other = (read(seed=seed, **given).images for seed in (1, 1, 2))
    assert first.equals(again) and not first["split"].equals(other["split"])
    expected = {split: len(first) / 2 for split in HALF} if given else {"train": 32, "validation": 8, "test": N}
    assert first["split"].value_counts().to_dict() == pytest.approx(expected, abs=0.5)
    if given:
        with pytest.raises(ValueError, match="at least one usable training image or sample, got"):
            read(fractions={"test": 1.0})


def test_every_sample_has_its_own_features_and_label_also_in_the_files_for_the_next_stage(reader, tmp_path):
    name, read = reader
    samples = read()
    assert samples.left_out.empty and samples.images["image"].is_unique
    names = {part: tmp_path / f"{part}.parquet" for part in ("images", "captions", "left_out")}
    samples.write(**names, features=tmp_path / "features.npz" if samples.X is not None else None)
    if name in DRAWN or samples.X is None:
        return
    del names["left_out"]
    again = Samples.read(**names, features=tmp_path / "features.npz")
    has = {**dict.fromkeys(("cat", "0"), 1), **dict.fromkeys(("dog", "1"), 0)}
    of_name = again.captions.set_index("image")["caption"].map(has)
    first = again.X.toarray()[:, 0]
    np.testing.assert_array_equal(first / first.max(), of_name[again.images["image"]])
    pd.testing.assert_frame_equal(again.images, samples.images)


def test_a_correction_changes_one_label(reader):
    samples = reader[1]()
    (image, tag), *rest = sorted(samples.captions[["image", "caption"]].itertuples(index=False, name=None))
    decided = pd.DataFrame({"sample": [image] * 2, "tag": [tag, "new"], "has": [False, True]})
    got = corrections.applied(samples, decided).captions
    assert sorted(got[~got["absent"]][["image", "caption"]].itertuples(index=False, name=None)) == sorted(
        [*rest, (image, "new")]
    )


@pytest.mark.parametrize("reader", [name for name in READERS if READERS[name].group], indirect=True)
def test_no_split_divides_a_group(reader):
    name, read = reader
    images = read(**READERS[name].group).images
    np.testing.assert_array_equal(images["group"], GROUPS)
    assert images.groupby("group")["split"].nunique().eq(1).all() and images["split"].nunique() == 3
    assert read().images.groupby(GROUPS)["split"].nunique().max() > 1

"""Readers of datasets: what each reads from files, what holds for all of them, and which files they refuse."""

import bz2
import gzip
import io
import json
import tracemalloc
import unicodedata
from collections import namedtuple
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from albums import carrying, idx, lay, xmp
from PIL import Image
from pyarrow import parquet
from scipy import sparse
from sklearn.datasets import load_digits

from jointsparse.pipeline.app.columns import roles_of
from jointsparse.pipeline.datasets import arrays, digits, folder, packed, tabular
from jointsparse.pipeline.datasets.labels import tags_of
from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.pipeline.provenance import tables
from jointsparse.registry import pick

pytestmark = pytest.mark.usefixtures("checked_here")


TABLES = {"fractions": {"train": 1.0}, "validation_fraction": 0}  # all samples are for training unless files say else
USUAL = {"arrays": TABLES, "libsvm": TABLES, "idx": {"validation_fraction": 0}}


def read(loader, root, **options):
    return pick("datasets", loader).read(root, **USUAL.get(loader, TABLES | {"smallest_side": 8}) | options)


# What each reader reads


# A loader, files by name (see `albums.lay`), options, and what is right: the labels of each sample, of which unknown
# ones end in "?"; the split of each sample, by default for training; the reasons for what is left out; the features.
Row = namedtuple("Row", "loader files options labels splits left_out X", defaults=(None, {}, None))


def of(write, *values, **options):
    file = io.BytesIO()
    write(file, *values, **options)
    return file.getvalue()


X = np.array([[0.5, 0, -0.25], [1e-3, 2, 0], [0, 0, 1], [3, 0, 0]], np.float32)
TABLE = pd.DataFrame({"cat": [1, 0, 1, np.nan], "dog": [0, 1, 1, 0]})
NAMED = pd.DataFrame(X, columns=["a", "b.c", "é"])
SAME = {"row 1": ["cat"], "row 2": ["dog"], "row 3": ["cat", "dog"], "row 4": ["cat?"]}
FEATURES = {
    "x.npy": X,
    "fortran.npy": np.asfortranarray(X.astype(">f8")),
    "one.npz": of(np.savez, X),
    "sparse.npz": sparse.coo_matrix(
        (np.tile(X[X != 0] / 2, 2), np.tile(np.nonzero(X), 2)), X.shape
    ),  # each entry twice
    "x.parquet": NAMED,
    "x.csv": b"\xef\xbb\xbf" + NAMED.to_csv(index=False, sep=";").encode(),
    "lists.parquet": pd.DataFrame({"e": X.tolist()}),
    "lists of NumPy.parquet": pd.DataFrame({"e": [str(row) for row in X]}),
    "lists of NumPy 2.csv": pd.DataFrame({"e": [str([*row]) for row in X]}),
}
COLUMNS = {
    "y.parquet": TABLE.astype("boolean"),
    "text.csv": TABLE.replace({1: "TRUE", 0: "False"}).to_csv(index=False, sep="\t"),
    "missing.csv": "cat,dog\n1,0\n0,1.0\n1,true\nn/a,0\n",
}
TAGS = {
    "tags.csv": "tags\ncat;\ndog\ndog; cat\n \n",
    "lists.parquet": pd.DataFrame({"tags": [["cat"], ["dog"], ["cat", "dog"], []]}),
}
BOTH = {"features": "x.npy", "labels": "y.csv"}
NUMBERS = {  # the classes 1, 2, none and 3, as files spell them
    "t.csv": b"tags\n1\n2.0\nNA\n3.\n",
    "t.parquet": pd.DataFrame({"tags": [1, 2, np.nan, 3]}),
    "decimals.parquet": pd.DataFrame({"tags": [Decimal("1.0"), Decimal("2.0"), None, Decimal("3")]}),
    "bytes.parquet": pd.DataFrame({"tags": [b"1", b"2", b"nan", b"3"]}),
    "text.npy": np.array(["1", "2", "None", "3"]),
    "bytes.npy": np.array([b"1", b"2", b"", b"3"]),
    "Hugging Face's classes.parquet": pa.table({"tags": [0, 1, -1, 2]}).replace_schema_metadata(
        {"huggingface": json.dumps({"info": {"features": {"tags": {"names": ["1", "2", "3"]}}}})}
    ),
}
MORE = TABLE.assign(id=list("0123"), part=["fit", "eval"] * 2, file=["a.png", "", "../b.png", "c.png"], say="x", rare=0)

PIXELS = [[0, 255, 51, 0, 0, 1], [0] * 6, [2, 3, 4, 5, 6, 7], [9, 0, 8, 0, 7, 0]]


IDX = {
    "train_images": idx(np.reshape(PIXELS[:3], (3, 2, 3))),
    "train_labels": idx(np.array([3, 0, 9])),
    "test_images": idx(np.reshape(PIXELS[3], (1, 2, 3))),
    "test_labels": idx(np.array([1])),
}
SVM = b"3,17 1:0.5 4:-2e-1\n 2:1\n17 1:.25 3:3.\t5:1e3\n3\n-1,0 5:+7 # a comment\n"
OF_SVM = {f"train:{i + 1}": own for i, own in enumerate([["17", "3"], [], ["17"], ["3"], ["-1", "0"]])}
X_OF_SVM = np.float32([[0.5, 0, 0, -0.2, 0], [0, 1, 0, 0, 0], [0.25, 0, 3, 0, 1000], [0, 0, 0, 0, 0], [0, 0, 0, 0, 7]])

NAMES = ["0.png", "1.png", "2.png", "3.png"]
PICTURES = {f"images/{name}": i for i, name in enumerate(NAMES)}
TEXTS = ["A cat.", "A dog, and a cat.", "Two; three.", 'One\t"kitten".']
SAID = [*zip(NAMES, TEXTS, strict=True)]
OF_TEXTS = {name: [text] for name, text in SAID}
CAFE = {form: unicodedata.normalize(form, "café.png") for form in ("NFC", "NFD")}


def csv(rows, header="image,caption", sign=","):
    quoted = [sign.join(f'"{cell.replace(chr(34), 2 * chr(34))}"' for cell in row) for row in rows]
    return "\r\n".join([header.replace(",", sign), *quoted, ""])


def captioned(*more):
    return PICTURES | {"captions.csv": csv([*SAID, *more])}


COCO = {
    "images": [{"id": 7 - i, "file_name": name} for i, name in enumerate(NAMES)],
    "annotations": [{"id": i, "image_id": 7 - i, "caption": text} for i, text in enumerate(TEXTS)],
}
KARPATHY = {"images": [{"filename": name, "sentences": [{"raw": text, "tokens": []}]} for name, text in SAID]}
FOLDERS = {
    "images": [
        {"filepath": "b", "filename": "0.png", "split": "test", "sentences": [{"raw": "A dog."}]},
        {"filepath": "a", "filename": "0.png", "split": "train", "sentences": [{"raw": "A cat."}]},
    ]
}
CATEGORIES = COCO | {"categories": [{"id": 5, "name": "cat"}], "annotations": [{"image_id": 7, "category_id": 5}]}
CAPTIONS = {  # the same captions in other files
    "semicolons.csv": csv(SAID, '"image","caption"', ";"),
    "tabs.csv": "\ufeff" + csv([(*row, "") for row in SAID], "image,caption,note; or text", "\t"),
    "bars and spaces.csv": csv(SAID, "image, caption", "|").replace('"|"', '"|  "'),
    "coco.json": json.dumps(COCO).encode("utf-8-sig"),
    "karpathy.JSON": json.dumps(KARPATHY),
}

ROWS = {
    **{
        f"features in {name}": Row("arrays", {name: content, "y.csv": TABLE}, BOTH | {"features": name}, SAME, X=X)
        for name, content in FEATURES.items()
    },
    **{
        f"labels in {name}": Row("arrays", {"x.npy": X, name: content}, BOTH | {"labels": name}, SAME)
        for name, content in COLUMNS.items()
    },
    **{
        f"tags in {name}": Row(
            "arrays", {"x.npy": X, name: content}, BOTH | {"labels": name, "tags": "tags"}, SAME | {"row 4": []}
        )
        for name, content in TAGS.items()
    },
    "labels in an array": Row(
        "arrays",
        {"x.npy": X, "y.npy": TABLE.to_numpy()},
        BOTH | {"labels": "y.npy"},
        {"row 1": ["label 1"], "row 2": ["label 2"], "row 3": ["label 1", "label 2"], "row 4": ["label 1?"]},
    ),
    **{
        f"numbers as tags in {name}": Row(
            "arrays",
            {"x.npy": X, name: content},
            BOTH | {"labels": name, "tags": "label 1" if name.endswith("npy") else "tags"},
            {"row 1": ["1"], "row 2": ["2"], "row 3": [], "row 4": ["3"]},
        )
        for name, content in NUMBERS.items()
    },
    "a cell without tags of which nothing is known": Row(
        "arrays",
        {"x.npy": X, "t.csv": 'tags\ncat\ndog\ncat;dog\n""\n'},
        BOTH | {"labels": "t.csv", "tags": "tags", "separator": ";", "unknown": [""]},
        SAME | {"row 4": ["cat?", "dog?"]},
    ),
    "a tag that means that nothing is known, in any case": Row(
        "arrays",
        {"x.npy": X, "t.csv": "tags\ncat\ndog\ncat;dog\nNot sure\n"},
        BOTH | {"labels": "t.csv", "tags": "tags", "separator": ";", "unknown": ["not Sure"]},
        SAME | {"row 4": ["cat?", "dog?"]},
    ),
    "large numbers as tags": Row(
        "arrays",
        {"x.npy": X, "t.parquet": pd.DataFrame({"tags": pd.array([0, 2**53, 2**53 + 1, None], dtype="Int64")})},
        BOTH | {"labels": "t.parquet", "tags": "tags"},
        {"row 1": ["0"], "row 2": ["9007199254740992"], "row 3": ["9007199254740993"], "row 4": []},
    ),
    "a column that features and labels share": Row(
        "arrays",
        {"x.csv": NAMED.assign(id=list("pqrs")), "y.csv": TABLE.assign(id=list("pqrs"))},
        {"features": "x.csv", "labels": "y.csv", "index": "id"},
        dict(zip("pqrs", SAME.values(), strict=True)),
        X=X,
    ),
    "a shared column that is ignored": Row(
        "arrays",
        {"x.csv": NAMED.assign(id=list("pqrs")), "y.csv": TABLE.assign(id=list("srqp"))},
        {"features": "x.csv", "labels": "y.csv", "ignore": ["id"]},
        SAME,
        X=X,
    ),
    "features and labels in one table": Row(
        "arrays",
        {"t.parquet": NAMED.assign(cat=[1, 0, 1, 0], dog=[0, 1, 1, 0])},
        {"features": "t.parquet", "labels": "t.parquet", "columns": ["cat", "d*"]},
        SAME | {"row 4": []},
        X=X,
    ),
    "files by split, in any order": Row(
        "arrays",
        {"xa.npy": X[:3], "xb.npy": X[3:], "ya.csv": TABLE[:3], "yb.csv": TABLE[3:]},
        {
            "features": {"train": "xa.npy", "test": "xb.npy"},
            "labels": {"test": "yb.csv", "train": "ya.csv"},
            "validation_fraction": 0,
        },
        SAME,
        ["train", "train", "train", "test"],
        X=X,
    ),
    "columns of names, splits, pictures and text": Row(
        "arrays",
        {"x.npy": X, "y.csv": MORE, "a.png": 0},
        BOTH
        | {"index": "id", "split": "part", "pictures": "file", "text": "say", "validation_fraction": 0}
        | {"split_names": {"train": "fit", "test": "eval"}},
        dict(zip("0123", SAME.values(), strict=True)),
        ["train", "test"] * 2,
        {
            "rare (label)": "no sample is known to have it",
            "../b.png (picture)": "no picture in the folder root",
            "c.png (picture)": "no picture in the folder root",
        },
        X=X,
    ),
    "float16": Row("arrays", {"x.npy": X.astype(np.float16), "y.csv": TABLE}, BOTH, SAME, X=X.astype(np.float16)),
    "parts in float16": Row(
        "arrays",
        {"a.npy": X[:1].astype(np.float16), "b.npy": X[1:].astype(np.float16), "y.csv": TABLE},
        BOTH | {"features": ["a.npy", "b.npy"]},
        SAME,
        X=X.astype(np.float16),
    ),
    "parts in float16 and float64": Row(
        "arrays",
        {"a.npy": X[:1].astype(np.float16), "b.npy": X[1:].astype(float), "y.csv": TABLE},
        BOTH | {"features": ["a.npy", "b.npy"]},
        SAME,
        X=X,
    ),
    **{
        f"idx{suffix}": Row(
            "idx",
            {f"{name}{suffix}": pack(content) for name, content in IDX.items()},
            {name: f"{name}{suffix}" for name in IDX} | {"validation_fraction": 0},
            {"train:1": ["3"], "train:2": ["0"], "train:3": ["9"], "test:1": ["1"]},
            ["train", "train", "train", "test"],
            X=np.float32(PIXELS) / np.float32(255),
        )
        for suffix, pack in (("", bytes), (".gz", gzip.compress))
    },
    "libsvm": Row("libsvm", {"a": SVM}, {"train": "a"}, OF_SVM, X=X_OF_SVM),
    "libsvm.bz2": Row("libsvm", {"a.bz2": bz2.compress(SVM)}, {"train": "a.bz2"}, OF_SVM, X=X_OF_SVM),
    "libsvm with names of labels": Row(
        "libsvm",
        {"a": SVM, "topics": "3 corn 10 5\n\n17\tblé extra\n-1 nothing\n0 zero\n"},
        {"train": "a", "topics": "topics"},
        dict(zip(OF_SVM, [["blé", "corn"], [], ["blé"], ["corn"], ["nothing", "zero"]], strict=True)),
    ),
    "libsvm with empty lines, repeated labels and a zero": Row(
        "libsvm",
        {"a": b"# a header\n+3 1:1 3:-0.0\n\n \t \n 2:1\r\n1.0,5,01 1:1\n   # only a comment\n"},
        {"train": "a"},
        {"train:2": ["3"], "train:5": [], "train:6": ["1", "5"]},
        left_out={
            "train:3": "an empty line",
            "train:4": "an empty line",
            "train:6 (repeated labels)": "expected each label once, got [1, 1, 5]",
        },
        X=np.float32([[1, 0, 0], [0, 1, 0], [1, 0, 0]]),
    ),
    "libsvm without a file for validation": Row(
        "libsvm",
        {"a": "1 1:1\n0 1:2\n", "b": "0 1:3\n"},
        {"train": "a", "test": "b", "validation_fraction": 0.5},
        {"train:1": ["1"], "train:2": ["0"], "test:1": ["0"]},
        ["train", "validation", "test"],
    ),
    "libsvm by split, of which only the last has all features": Row(
        "libsvm",
        {"a": "1 0:1\n0 1:1\n", "b": "1 1:2\n", "c": "0 2:3\n"},
        {"train": "a", "validation": "b", "test": "c", "index_base": 0},
        {"train:1": ["1"], "train:2": ["0"], "validation:1": ["1"], "test:1": ["0"]},
        ["train", "train", "validation", "test"],
        X=np.float32([[1, 0, 0], [0, 1, 0], [0, 2, 0], [0, 0, 3]]),
    ),
    **{
        f"captions in {name}": Row("photos", PICTURES | {name: content}, {"captions": name}, OF_TEXTS)
        for name, content in CAPTIONS.items()
    },
    "captions in Karpathy's format, with folders": Row(
        "photos",
        {"images/a/0.png": 0, "images/b/0.png": 1, "k.json": json.dumps(FOLDERS)},
        {"captions": "k.json", "split": "split"},
        {"a/0.png": ["A cat."], "b/0.png": ["A dog."]},
        ["train", "test"],
    ),
    "pictures beside their captions": Row(
        "photos",
        {name: i for i, name in enumerate(NAMES)} | {"captions.csv": captioned()["captions.csv"]},
        {"images": "."},
        OF_TEXTS,
    ),
    "captions in several files, by split": Row(
        "photos",
        PICTURES | {"a.csv": csv(SAID[:2]), "b.csv": csv(SAID[2:])},
        {"captions": {"test": "b.csv", "train": ["a.csv"]}, "validation_fraction": 0.5},
        OF_TEXTS,
        ["train", "validation", "test", "test"],
    ),
    "text files, and names with dots": Row(
        "photos",
        {"images/a.b.png": 0, "images/a.c.png": 1, "images/a.b.txt": "A cat.\n", "images/a.c.txt": "A dog."},
        {"captions": "*.txt"},
        {"a.b.png": ["A cat."], "a.c.png": ["A dog."]},
    ),
    "captions and pictures that are not used": Row(
        "photos",
        captioned(
            *(("4.png", " "), ("ghost.jpg", "A ghost."), ("0 copy.png", "A toy."), ("012.", "x"), ("7", "x")),
            *(("1.0", "x"), ("1.png", TEXTS[1])),
        )
        | {"images/4.png": 4, "images/mute.png": 5, "images/notes.doc": "x"}
        | {"images/0 copy.png": 0, "images/1 copy.png": 1},
        {},
        {"0 copy.png": ["A cat.", "A toy."]} | {name: OF_TEXTS[name] for name in NAMES[1:]},
        left_out={
            "4.png": "no caption",
            "mute.png": "no caption",
            "1 copy.png": "no caption",  # a copy without a caption gets none
            "notes.doc": f"not a picture file ({' '.join(folder.SUFFIXES)})",
            **dict.fromkeys(("ghost.jpg", "012.", "7", "1.0"), "captions.csv names an image that is not there"),
            "1.png (repeated caption)": "captions.csv gives it the same caption again",
            "0.png": "same bytes as 0 copy.png, which gets its captions, too",
        },
    ),
    "splits of another name": Row(
        "photos",
        captioned() | {"splits.csv": "image,split\n0.png,fit\n1.png,eval\n2.png,fit\n3.png,eval\n"},
        {"splits": "splits.csv", "split_names": {"train": "fit", "test": "eval"}},
        OF_TEXTS,
        ["train", "test", "train", "test"],
    ),
    "repeated and missing rows of splits": Row(
        "photos",
        captioned() | {"splits.csv": "image,split\n0.png,train\n1.png,VAL\n2.png,test\n1.png,val\nghost.png,train\n"},
        {"splits": "splits.csv"},
        {name: OF_TEXTS[name] for name in NAMES[:3]},
        ["train", "validation", "test"],
        {
            "1.png (repeated split)": "splits.csv lists it again, with the same split",
            "3.png": "in no split of splits.csv",
            "ghost.png": "splits.csv names an image that is not there",
        },
    ),
    "unlabelled pictures need no caption, and of equal pictures the labelled one is kept": Row(
        "photos",
        PICTURES
        | {"images/0 copy.png": 0, "captions.csv": csv([("0.png", "A cat.")])}
        | {"splits.csv": "image,split\n0.png,train\n" + "".join(f"{n}.png,none\n" for n in (1, 2, 3, "0 copy"))},
        {"splits": "splits.csv"},
        {"0.png": ["A cat."], "1.png": [], "2.png": [], "3.png": []},
        ["train", *["unlabelled"] * 3],
        {"0 copy.png": "same bytes as 0.png"},
    ),
    **{
        f"{of_file} in files, {of_table} in tables": Row(
            "photos",
            {f"images/{CAFE[of_file]}": 0, "images/tea.png": 1}
            | {"captions.csv": csv([(CAFE[of_table], "A cup."), ("tea.png", "A pot.")])}
            | {"splits.csv": csv([(CAFE[of_table], "train"), ("tea.png", "test")], "image,split")},
            {"splits": "splits.csv"},
            {CAFE[of_file]: ["A cup."], "tea.png": ["A pot."]},
            ["train", "test"],
        )
        for of_file, of_table in (("NFC", "NFD"), ("NFD", "NFC"))
    },
    "pictures that are too small after shrinking": Row(
        "photos",
        captioned(("wide.png", "x"), ("low.png", "x"))
        | {f"images/{n}.png": of(Image.new("RGB", s).save, "PNG") for n, s in (("wide", (3200, 70)), ("low", (20, 7)))},
        {"longest_side": 310},
        OF_TEXTS,
        left_out={
            "wide.png": "too small: 310 x 7 pixels, the shorter side must be at least 8",
            "low.png": "too small: 20 x 7 pixels, the shorter side must be at least 8",
        },
    ),
    "classes": Row(
        "scenes",
        {"images/Tall Building/0.png": 0, "images/Coast/0.png": 1, "images/Coast/0.jpg": 2}
        | {
            f"images/{name}": "x"
            for name in ("Thumbs.db", "Icon\r", ".x/5.png", "__MACOSX/0.png", "CVS/0.png", "0/._3.png")
        },
        {},
        {"Coast/0.jpg": ["Coast"], "Coast/0.png": ["Coast"], "Tall Building/0.png": ["Tall Building"]},
    ),
    "equal pictures in two classes and in one": Row(
        "scenes",
        {"images/cat/0.png": 0, "images/dog/0.png": 0, "images/dog/1.png": 1, "images/cat/2.png": 2}
        | {"images/cat/3.png": 2},
        {},
        {"cat/0.png": ["cat", "dog"], "cat/2.png": ["cat"], "dog/1.png": ["dog"]},
        left_out={
            "cat/3.png": "same bytes as cat/2.png",
            "dog/0.png": "same bytes as cat/0.png, which gets its captions, too",
        },
    ),
    "of equal pictures a known label comes first": Row(
        "tagged",
        {"images/0.png": 0, "images/1.png": 1, "images/5.png": 0}
        | {"t.csv": "image,cat,dog\n0.png,,0\n1.png,1,\n5.png,1,1\n"},
        {"labels": "t.csv"},
        {"0.png": ["cat", "dog"], "1.png": ["cat", "dog?"]},
        left_out={"5.png": "same bytes as 0.png, which gets its captions, too"},
    ),
}


def labels_in(samples):  # as in `Row`
    captions = samples.captions
    marks = np.where(captions["known"], "", "?") if "known" in captions else ""
    of_image = (captions["caption"] + marks).groupby(captions["image"]).agg(sorted).to_dict()
    return {image: of_image.get(image, []) for image in samples.images["image"]}


@pytest.mark.parametrize("name", ROWS)
def test_labels_splits_features_and_what_is_left_out_are_those_of_the_files_also_after_writing(tmp_path, name):
    row = ROWS[name]
    lay(tmp_path, row.files)
    samples = read(row.loader, tmp_path, **row.options)
    written = {part: tmp_path / f"{part}.parquet" for part in ("images", "captions", "left_out")}
    samples.write(**written, features=None if samples.X is None else tmp_path / "features.npz")
    if row.X is not None:
        X = tables.read_matrix(tmp_path / "features.npz")
        np.testing.assert_array_equal(X.toarray() if sparse.issparse(X) else X, row.X, strict=True)
        assert not sparse.issparse(X) or X.nnz == np.count_nonzero(row.X)
        del written["left_out"]
        again = Samples.read(**written, features=tmp_path / "features.npz")
        np.testing.assert_array_equal(again.X.toarray(), row.X.astype(np.float32), strict=True)
        samples = samples._replace(images=again.images, captions=again.captions)
    assert labels_in(samples) == row.labels
    assert samples.images["split"].tolist() == (row.splits or ["train"] * len(row.labels))
    assert dict(samples.left_out.itertuples(index=False, name=None)) == row.left_out


# What holds for every reader

N = 40
HAS = np.arange(N) % 4 == 0
CAPTIONED = pd.DataFrame({"image": [f"{i:02}.png" for i in range(N)], "caption": np.where(HAS, "cat", "dog")})
IMAGES = {f"images/{i:02}.png": i for i in range(N)}
PARTS = {
    f"{part}_{kind}": idx(array)
    for part in ("train", "test")
    for kind, array in (("images", np.ones((N, 1, 1))), ("labels", HAS))
}
READERS = {  # files of 40 samples, of which every fourth is a cat, and the options
    "arrays": ({"x.npy": np.eye(N), "y.csv": CAPTIONED}, BOTH | {"tags": "caption", "index": "image"}),
    "libsvm": ({"a": "".join(f"{int(has)} 1:{i + 1}\n" for i, has in enumerate(HAS))}, {"train": "a"}),
    "idx": (PARTS, {name: name for name in PARTS} | {"validation_fraction": 0.2}),
    "photos": (IMAGES | {"captions.csv": CAPTIONED}, {"smallest_side": 8}),
    "tagged": (IMAGES | {"t.csv": CAPTIONED}, {"labels": "t.csv", "tags": "caption", "smallest_side": 8}),
    "scenes": ({f"images/{tag}/{i}.png": i for i, tag in enumerate(CAPTIONED["caption"])}, {"smallest_side": 8}),
    "keywords": (
        {f"{i}.jpg": carrying(xmp([tag]), seed=i) for i, tag in enumerate(CAPTIONED["caption"])},
        {"images": ".", "smallest_side": None},
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_splits_depend_only_on_the_seed_and_have_their_fractions(tmp_path, name):
    files, options = READERS[name]
    lay(tmp_path, files)
    given = {} if name == "idx" else {"fractions": {"train": 0.5, "test": 0.5}}
    draw = partial(pick("datasets", name).read, tmp_path, **options | given)
    first, again, other = (draw(seed=seed).images for seed in (1, 1, 2))
    assert first.equals(again) and not first["split"].equals(other["split"]) and first["image"].is_unique
    expected = {"train": N / 2, "test": N / 2} if given else {"train": 32, "validation": 8, "test": N}
    assert first["split"].value_counts().to_dict() == expected


@pytest.mark.parametrize("name", ["arrays", "tagged"])
def test_splits_of_groups_have_their_fractions_of_each_label(tmp_path, name):
    files, options = READERS[name]
    lay(tmp_path, files | {[*files][-1]: CAPTIONED.assign(pair=np.arange(N) // 2)})
    drawn = pick("datasets", name).read(
        tmp_path, **options, group="pair", fractions={"train": 0.5, "test": 0.5}, seed=2
    )
    split_of, cats = drawn.images.set_index("image")["split"], drawn.captions["caption"] == "cat"
    assert split_of[drawn.captions["image"][cats]].value_counts().to_dict() == {"train": 5, "test": 5}


def test_the_digits_are_those_of_scikit_learn():
    pixels, classes = load_digits(return_X_y=True)
    samples = digits.read()
    np.testing.assert_array_equal(samples.X.toarray() * 16, pixels.astype(np.float32), strict=True)
    assert labels_in(samples) == {f"digit {i + 1}": [str(label)] for i, label in enumerate(classes)}


@pytest.mark.parametrize(
    ("loader", "files", "options", "expected"),
    [
        ("arrays", {"x.csv": NAMED, "y.csv": TABLE}, {"features": "x.csv", "labels": "y.csv"}, ["a", "b.c", "é"]),
        ("arrays", {"x.npy": X, "y.csv": TABLE}, BOTH, []),
        (
            "arrays",
            {"x.npy": X, "y.csv": TABLE, "n.txt": "one\ntwo\nthree\n"},
            BOTH | {"names": "n.txt"},
            ["one", "two", "three"],
        ),
        ("libsvm", {"v.txt": "tea\r\ncorn\n"}, {"train": "a", "vocabulary": "v.txt"}, ["tea", "corn"]),
    ],
)
def test_features_have_the_names_of_columns_or_lines(tmp_path, loader, files, options, expected):
    lay(tmp_path, files)
    assert pick("datasets", loader).feature_names(tmp_path, **options) == expected


# Cells and names

QUOTED = ["bär", 'it\'s "a"']
CELLS = {  # a cell, and its tags
    "cat; dog;cat;": ["cat", "dog"],
    json.dumps([*QUOTED, None]): QUOTED,
    str([*QUOTED, None]): QUOTED,
    str(np.array([*QUOTED, None], dtype=object)): QUOTED,
    repr(np.array(QUOTED)): QUOTED,
    "array(['bär', 'it\\'s \"a\"'], dtype=object)": QUOTED,
    repr(frozenset(["cat"])): ["cat"],
    "set()": [],
    "('bär')": ["bär"],
    str(["null model", "nan bread", float("nan")]): ["null model", "nan bread"],
    str(["a\\b"]): ["a\\b"],
    str([1.0, np.int64(2)]): ["1", "2"],
    "a (b); set(c)": ["a (b)", "set(c)"],
    "big\u00a0c\u200bat;big cat": ["big cat"],
    '{"choices": ["cat"]}': ["cat"],
}


def test_a_cell_lists_tags():
    assert {cell: tags_of("t.csv", cell, ";") for cell in CELLS} == CELLS


@pytest.mark.parametrize(
    "cell", [str({"a": 1}), str([["a"]]), "[a, b]", r"['a\d']", "['a', b]", [["a"]], [2.0**53]], ids=str
)
def test_a_cell_that_lists_no_tags_is_refused(cell):
    with pytest.raises(ValueError, match=r"t\.csv must hold (tags or a list|a flat list|text or whole numbers as) "):
        tags_of("t.csv", cell, ";")


# Refused files


BASES = {  # by loader: good files and the options
    "arrays": ({"x.npy": X, "y.csv": TABLE}, BOTH),
    "idx": (IDX, {name: name for name in IDX}),
    "libsvm": ({"a": SVM}, {"train": "a"}),
    "photos": (captioned(), {}),
    "scenes": (PICTURES, {}),
}
OF_NUMBERS = "a,b.c,é\n1,2,3\n4,{},6\n"
REFUSED = {  # by loader and option: the file that the option names and its content, and a part of the message
    ("arrays", "features"): [
        (
            "x.csv",
            OF_NUMBERS.format("-inf"),
            "got 1 missing, infinite or too large for float32 in column 'b.c' (1 such",
        ),
        ("x.npy", X * [1, 1, 1e300], "too large for float32 in column 3"),
        ("x.npy", np.where(X == 2, np.inf, X).astype(np.float16), "too large for float16 in column 2"),
        ("x.csv", OF_NUMBERS.format("much"), "got string in column 'b.c'"),
        ("x.parquet", NAMED.assign(é="x"), "got large_string in column 'é'"),
        ("x.parquet", pd.DataFrame({"e": [[1, 2]] * 3 + [[1]]}), "list of 2 numbers in each row of the"),
        ("x.parquet", pd.DataFrame({"e": [[1, 2]] * 3 + [None]}), "of the column 'e', got None in row 4"),
        ("x.csv", pd.DataFrame({"e": ["[1, 2]"] * 3 + [""]}), "in each row of the column 'e', got"),
        ("x.npz", of(np.savez, X.astype(object)), "Object arrays cannot"),
        ("x.npy", b"text", "x.npy must be a valid .npy file"),
        ("x.npz", of(sparse.save_npz, sparse.coo_matrix(X))[:-9], "x.npz must be a valid .npz file"),
        ("x.npz", of(np.savez, a=X, b=X), "must hold a single array, got a, b"),
        ("x.parquet", NAMED.to_parquet()[:-9], "x.parquet must be a valid .parquet file"),
        (
            "x.npy",
            b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 3), }".ljust(127)
            + b"\n",
            "but reading it failed: Value",
        ),
        ("x.csv", "a,é\n1,2\n".encode("latin-1"), "must be UTF-8 text, got byte 0xe9 in line 1"),
        ("x.csv", "5,3,7\n1,2,3\n", "numbers are accepted as names only if consecutive"),
        ("x.csv", "a,a\n1,2\n", "must have a header with a different name for each column, got ['a']"),
        ("x.csv", NAMED.to_csv(), "got [''] (pandas writes"),
        ("x.npy", X[:, 0], "must hold a matrix of numbers, got an array of shape (4,) and type float32"),
        ("x.txt", "1 2", "must end in .npy, .npz, .parquet or .csv, got '.txt'"),
        ("x.npy", X[:3], "y.csv must have 3 rows, one for each row of"),
    ],
    ("arrays", "labels"): [
        ("y.csv", "1,0\n0,1\n", "y.csv must have a header with a different name for each column, got ['1']"),
        ("y.csv", "sea\ncat\nsea\n", "but the column 'sea' also holds 'sea'"),
        ("y.csv", "# by hand\ncat,dog\n1,0\n", "must begin with a header, got the comment '# by hand'"),
        ("y.csv", "cat,dog\n0,0\n1,maybe\n", "each label column, got 'maybe' in row 2 of 'dog': say what"),
        ("y.npy", np.empty((4, 0)), "must hold at least one row, got only the columns "),
    ],
    ("arrays", "index"): [
        ("cat", None, "must have distinct names in the column 'cat', got '1' twice"),
    ],
    ("arrays", "tags"): [
        ("sea", None, "y.csv must have the column 'sea', which an option names"),
    ],
    ("arrays", "names"): [
        ("names.txt", "one\ntwo\n", "names.txt must name the 3 features, one per line, got 2 names"),
    ],
    ("idx", "train_images"): [
        ("train_images", b"", "and the number of dimensions, got nothing"),
        ("train_images", b"\0\1\x08\3", "must be an idx file of unsigned bytes, which begins with the"),
        ("train_images", b"\0\0\x08\0", "5 bytes to match them, got dimensions () and 4 bytes"),
        ("train_images", b"\0\0\x08\3" + bytes(11), "16 bytes to match them, got dimensions (0, 0, 0)"),
        ("train_images", idx(np.empty((4, 0, 3))), "16 bytes to match them, got dimensions (4, 0, 3) and 16"),
        ("train_images", idx(np.ones(4)), "must hold images, in at least two dimensions, got shape"),
        ("train_images", IDX["train_images"] + b"\0", "got dimensions (3, 2, 3) and 35 bytes"),
        ("train_images", gzip.compress(b""), "got 1f 8b 08 00 (the name of a gzip file must end in .gz)"),
        ("train_images", b"\0\0\x08\3\0\0\0\4\0\1\0\0\0\1\0\0", "hold 17,179,869,200 bytes to match"),
    ],
    ("idx", "train_labels"): [
        ("train_labels", idx(np.ones(2)), "must hold a label for each of the 3 images of "),
    ],
    ("idx", "test_images"): [
        ("test_images", idx(np.ones((1, 3, 2))), "must hold images of shape (2, 3) like "),
    ],
    ("libsvm", "train"): [
        *(
            ("a", SVM + line + b"\n" + SVM, f"a line 6: expected {said}")
            for line, said in (
                (b"0.5 1:0.5", "whole numbers as labels, from -9007199254740991 to 9007199254740991, got [0.5]"),
                (b"9007199254740992 1:0.5", "whole numbers as labels"),
                (b"1e999,1 1:0.5", "whole numbers as labels"),
                (b"3,,4 1:0.5", "labels such as 3,17 or a space, then features such as 12:0.5 with increasing"),
                (
                    b"nan 1:0.5",
                    "labels such as 3,17 or a space, then features such as 12:0.5 with increasing indices from 1",
                ),
                (b"3 1:0.5 2", "labels such as"),
                (b"3 1:1\r2:1", "labels such as"),
                (b"3 1:1e39", "indices from 1 to 2147483647 and values that are finite in float32, got 1:inf"),
                (b"3 0:0.5 2:1", "labels such as"),
                (b"3 1:1 4:1 4:1", "labels such as"),
                (b"3 1:" + b"1" * 10**5 + b"x", "labels such as"),
            )
        ),
        ("a", "3\n", "a must hold at least one sample with features, got none"),
    ],
    ("libsvm", "topics"): [
        ("t", "3 corn\n0 a\n-1 b\n", "a line 1: t must name all labels, got [3, 17]"),
        ("t", "3 corn\n17\n", "t line 2: expected the number and the name of a label that no other line"),
        ("t", "x corn\n", "t line 1: expected the number and the name of a label"),
        ("t", "3 corn\n3 wheat\n", "t line 2: expected the number and the name of a label"),
        ("t", "3 corn\n17 corn\n", "t line 2: expected the number and the name of a label"),
    ],
    ("photos", "captions"): [
        (
            "a.csv",
            "image;caption\na.jpg;A dog; a cat.\n",
            "line 2: expected 2 fields of text (put a text that contains a semicolon in",
        ),
        ("a.csv", "image,caption\na.jpg\n", "a.csv line 2: expected 2 fields"),
        ("a.csv", "image,caption\na.jpg,A\0dog.\n", "a.csv line 2: expected 2 fields of text"),
        ("a.csv", "image,caption\n", "a.csv must hold at least one row, got only the columns image, "),
        ("a.csv", "", "a.csv must begin with a header line that names each column once, got ''"),
        ("a.csv", "image,caption,caption\na,A,B\n", "names each column once, got 'image,caption,caption'"),
        ("a.csv", "image,text\na,A\n", "a.csv must have the column 'caption', which an option names"),
        ("a.csv", 'image,caption\na.jpg,"A dog.\n', "a.csv line 2: unexpected end of data"),
        ("a.csv", b"image,caption\n" + 20_000 * b"a,\xc3\xa9\n" + b"a,\xe9\n", "0xe9 in line 20002"),
        ("a.json", '{"images": [\n{"id": 1,}]}', "a.json must be JSON with captions or labels: "),
        ("a.json", "[" * 100_000, "a.json must be JSON with captions or labels: maximum recursion depth"),
        ("a.json", "[]", "a.json must hold at least one row, got only the columns "),
        ("a.json", '[{"image": "a.jpg", "caption": "\\ud800"}]', "row 1: caption must be text, got '\\ud8"),
        ("a.json", '["a"]', "a.json row 1 must be a JSON object, got 'a'"),
        ("a.jsonl", '{"image": "a"}\n[', "a.jsonl line 2 must be JSON"),
        ("a.txt", "a.jpg#0\tA dog.\nb.jpg\n", 'a.txt line 2: expected an image, "#" and a number'),
        ("a.doc", "a", "must be in a file that ends in .csv, .json"),
        *(
            ("a.json", json.dumps(content).replace(old, new, 1), f"labels: {said}")
            for content, old, new, said in (
                (COCO, '"images"', '"x"', "images must be a list, got None"),
                (COCO, "[{", '["x", {', "images[0].id must be a whole number, got None"),
                (COCO, '"id": 6', '"id": true', "images[1].id must be a whole number, got True"),
                (COCO, '"id": 6', '"id": 7', "images must have different ids"),
                (COCO, '"image_id": 5', '"image_id": 8', "annotations[2].image_id must be one of the ids, got 8"),
                (COCO, '"A cat."', '"a\\u0000"', "annotations[0].caption must be text, got "),
                (
                    CATEGORIES,
                    '"category_id": 5',
                    '"category_id": 6',
                    "annotations[0].category_id must be one of the ids",
                ),
                (KARPATHY, '"filename"', '"filepath": 5, "filename"', "images[0].filepath must be text, got 5"),
                (KARPATHY, '"raw": "Two', '"x": "Two', "images[2].sentences[0].raw must be text, got None"),
            )
        ),
        ("nothing.csv", None, "root must hold a file nothing.csv, got none at"),
    ],
    ("photos", "images"): [
        ("nothing", None, "root must hold pictures (" + " ".join(folder.SUFFIXES)),
    ],
    ("photos", "splits"): [
        ("s.csv", "image,part\n0.png,train\n", "header line that names the columns image,split, got"),
        ("s.csv", "image,split\n0.png,test\n1.png,test\n2.png,test\n", "got 3 usable images or samples, none"),
        ("s.csv", "image,split\n0.png,test\n", "because: ('1.png', 'in no split of s.csv')"),
    ],
    ("scenes", "images"): [
        ("images", None, "must be in one folder per class below the folder 'images', got '0.png'"),
    ],
}


@pytest.mark.parametrize(
    ("loader", "option", "name", "content", "said"),
    [pytest.param(*key, *row, id=f"{key[0]}: {row[2]}") for key, rows in REFUSED.items() for row in rows],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_line(tmp_path, loader, option, name, content, said):
    files, options = BASES[loader]
    lay(tmp_path, files | ({} if content is None else {name: content}))
    with pytest.raises(ValueError) as error:
        read(loader, tmp_path, **options | {option: name})
    message = str(error.value)
    assert said in message and "\n" not in message and len(message) < 600 + 2 * len(str(tmp_path))


# Large files


def test_a_large_array_is_never_in_memory_as_a_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 10)
    lay(tmp_path, {"x.npy": np.random.default_rng(0).normal(size=(400, 5000)), "y.npy": np.eye(400, 2, dtype=int)})
    tracemalloc.start()
    samples = arrays.read(tmp_path, features="x.npy", labels="y.npy")
    samples.write(
        images=tmp_path / "i.csv", captions=tmp_path / "c.csv", left_out=tmp_path / "l.csv", features=tmp_path / "x"
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < samples.X.nbytes / 3


def test_tables_that_are_read_in_several_blocks_give_the_same_samples(tmp_path, monkeypatch, rng):
    monkeypatch.setattr(tabular, "ENTRIES_AT_ONCE", 8)
    monkeypatch.setattr(tabular, "COLUMNS_AT_ONCE", 2)
    expected = rng.normal(size=(60_000, 5)).round(3).astype(np.float32)  # as text more than a block of Arrow, 1 MiB
    expected[:50_000, 4] = 1  # integers in the first block
    named = pd.DataFrame(expected, columns=list("abcde"))
    named.to_csv(tmp_path / "x.csv", index=False, float_format="%g")
    named[:100].to_parquet(tmp_path / "x.parquet", row_group_size=30)
    pd.DataFrame({"a": expected[:, :4].tolist(), "e": expected[:, 4]})[:100].to_parquet(tmp_path / "lists.parquet")
    for name, n in {"x.csv": 60_000, "x.parquet": 100, "lists.parquet": 100}.items():
        np.testing.assert_array_equal(tabular.read_features(tmp_path / name)[0], expected[:n])


def _parquet(**columns):
    return of(lambda file: parquet.write_table(pa.table(columns), file, compression="zstd"))


LONG = 60_000
BOMBS = {  # files that unpack to much more than their size
    "array.npz": of(np.savez_compressed, np.zeros((800, 800))),
    "rows.npz": of(sparse.save_npz, sparse.coo_matrix(([1.0], ([0], [0])), (10**8, 3))),
    "columns.npz": of(sparse.save_npz, sparse.csr_matrix(([1.0], ([0], [0])), (3, 10**8))),
    "numbers.parquet": _parquet(a=np.zeros(20 * LONG), b=np.zeros(20 * LONG)),
    "flags.parquet": _parquet(a=np.zeros(20 * LONG, bool)),
    "lists.parquet": _parquet(a=[[0.5] * LONG] * 20),
    "nothing.parquet": _parquet(a=pa.nulls(20 * LONG, pa.float32())),
    "text.parquet": _parquet(tags=["x" * LONG] * 200),
    "fixed.parquet": _parquet(tags=pa.array([b"x" * LONG] * 200, pa.binary(LONG))),
    "texts.parquet": _parquet(tags=[["x" * LONG, "y"]] * 200),
    "records.parquet": _parquet(tags=[{"a": "x" * LONG, "b": 1}] * 200),
    "embedding.parquet": _parquet(a=[f"[{'0.25, ' * 5000}]"] * 1000),
}
OPEN = {
    "features": arrays.read_features,
    "labels": lambda path: arrays.read(path.parent, features="x.npy", labels=path.name),
    "init": lambda path: roles_of(path.parent, path.name, "y.csv", {}),
    "init, labels": lambda path: roles_of(path.parent, "x.npy", path.name, {}),
}


@pytest.mark.parametrize(
    ("name", "opened"), [*((name, "features") for name in BOMBS), *(("text.parquet", key) for key in [*OPEN][1:])]
)
def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch, name, opened):
    monkeypatch.setattr(packed, "SMALL_BYTES", 2**16)
    monkeypatch.setattr(parquet.ParquetFile, "read", None)
    lay(tmp_path, {name: BOMBS[name], "x.npy": X, "y.csv": TABLE})
    with pytest.raises(
        ValueError, match=rf"{name} must unpack to at most 200 times its {len(BOMBS[name]):,} bytes, got"
    ):
        OPEN[opened](tmp_path / name)


def test_a_small_file_is_read_whatever_it_unpacks_to(tmp_path):
    lay(tmp_path, {"x.parquet": _parquet(a=np.zeros(10**5)), "y.parquet": _parquet(tags=["cat", "dog"] * (10**5 // 2))})
    assert arrays.read(tmp_path, features="x.parquet", labels="y.parquet", tags="tags").X.shape == (10**5, 1)

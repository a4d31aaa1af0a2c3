"""Folders that people have: what `init` makes of each, and what the reader reads with the options that it wrote."""

import json
import warnings
from collections import namedtuple
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import yaml
from albums import carrying, idx, iptc, lay, xmp
from PIL import Image
from scipy import sparse

from jointsparse.pipeline.app import config
from jointsparse.pipeline.words import choose_words
from jointsparse.registry import pick

# Files and folders


# what `init` reports on a folder of these files, the entry that it writes, and what the loader reads
def init(root, monkeypatch, files, **choices):
    lay(root / "data", files)
    lay(root / "workflow", {"config.yaml": "# no datasets"})
    (root / "run").mkdir()
    monkeypatch.chdir(root / "run")
    said = config.write(root / "data", Path("config.yaml"), root / "workflow", choices).lines
    (entry,) = yaml.safe_load(Path("config.yaml").read_text(encoding="utf-8"))["datasets"].values()
    plug_in = pick("datasets", entry["loader"])
    more = {"smallest_side": 8} if plug_in.SHOWS == "pictures" else {}
    return said, entry, plug_in.read(**entry["options"], **more)


# A folder, and what is right: the number of samples with each label, and of unknown labels; the number of test samples,
# if the folder has splits; some of the options that `init` writes, with the loader; a part of what `init` reports; the
# choices of the user; the number of items that are left out; and the group of each sample, if there are groups.
Row = namedtuple(
    "Row", "files labels unknown test options line choices left_out groups", defaults=({}, None, {}, "", {}, 0, None)
)


X = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
HAS = X[:, :3] > 0
Y = pd.DataFrame(HAS.astype(int), columns=["cat", "dog", "sea"])
CODES = X[:, :3].argmax(axis=1)
CLASSES = np.array(["cat", "dog", "sea"])[CODES]
NAMED = pd.DataFrame(X, columns=list("abcd"))
OF_Y = {name: int(Y[name].sum()) for name in Y}
OF_CLASSES = pd.Series(CLASSES).value_counts().to_dict()
F = {"features.npy": X}

PICTURES = {f"{i:02}.png": i for i in range(40)}
TEXTS = {name: f"A {('cat', 'dog')[i % 2]}." for name, i in PICTURES.items()}
EVEN = {"A cat.": 20, "A dog.": 20}
SPLITS = {name: ("train", "val", "test")[i % 3] for name, i in PICTURES.items()}


def csv(rows, header="image,caption"):
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


def of_pictures(column, cells, **more):
    return pd.DataFrame({"image": list(PICTURES), column: list(cells)} | more)


def lists(tags, sign, n=40):
    """The cells of a list of tags: the tags that the bits of the number of the row say, joined by a separator."""
    own = [[tag for k, tag in enumerate(tags) if (3 * i + 1) >> k & 1] for i in range(n)]
    return [sign.join(some) for some in own], {tag: sum(tag in some for some in own) for tag in tags}


def listed(tags, sign, column="tags", **more):
    cells, counts = lists(tags, sign)
    return PICTURES | {"tags.csv": of_pictures(column, cells, **more)}, counts


CITIES = ["Golden Gate Bridge", "San Francisco", "Alcatraz", "fog", "polar bear"]
IMAGES = [{"id": i, "file_name": name, "split": SPLITS[name]} for i, name in enumerate(PICTURES)]
COCO = {"images": IMAGES, "annotations": [{"image_id": i, "caption": t} for i, t in enumerate(TEXTS.values())]}
INSTANCES = {
    "images": IMAGES,
    "categories": [{"id": 7, "name": "polar bear"}, {"id": 9, "name": "cat"}],
    "annotations": [{"image_id": i, "category_id": 7 + 2 * (i % 2), "bbox": [0, 0, 1, 1]} for i in range(30)],
}
CONFIDENCE = [(n, w, int((i + k) % 2)) for i, n in enumerate(PICTURES) for k, w in enumerate(("cat", "dog"))]


def taken(i):
    """A photograph with tags. Two cameras take bursts of three, three seconds apart, and the last four have no time."""
    burst, place = divmod(i // 2, 3)
    hundredths, exif = 895 * burst + 295 * place, Image.Exif()
    if i < 36:
        exif[271], exif[272] = "Maker", f"Model {i % 2}"
        time = f"2024:01:01 10:{hundredths // 6000:02}:{hundredths // 100 % 60:02}"
        exif.get_ifd(0x8769).update({36867: time, 37521: f"{hundredths % 100:02}", 42033: "17"})
    return carrying(xmp(own(i)), kind=("JPEG", "PNG", "WEBP")[i // 2 % 3], exif=exif, seed=i)


PATIENTS = [f"p{i // 4}" if i < 36 else "" for i in range(40)]
OF_PATIENTS = [p or str(i) for i, p in enumerate(PATIENTS)]  # an empty cell is a group of its own
SESSIONS = [f"s{i // 2}" for i in range(40)]
OF_TEN = [i // 6 for i in range(60)]


def own(i):
    return [("cat", "dog")[i % 2], *["polar bear"] * (i % 4 == 0)]


OWN = {"cat": 20, "dog": 20, "polar bear": 10}
CARRIED = {
    "XMP": {f"{i}.jpg": carrying(xmp(own(i)), seed=i) for i in range(40)},
    "XMP in TIFF": {f"{i}.tif": carrying(xmp(own(i)), kind="TIFF", seed=i) for i in range(40)},
    "IPTC": {f"{i}.jpg": carrying(segment=iptc(own(i)), seed=i) for i in range(40)},
    "Lightroom's sidecars": {f"{i}.jpg": i for i in range(40)} | {f"{i}.xmp": xmp(own(i)) for i in range(40)},
    "digiKam's sidecars": {f"{i}.jpg": i for i in range(40)}
    | {f"{i}.jpg.xmp": xmp(["_Digikam_Internal_Tags_/x", *own(i)], "digiKam:TagsList", "Seq") for i in range(40)},
}

SPLIT_CLASSES = {f"{i % 2}/{n}": i for n, i in PICTURES.items()} | {
    "splits.csv": csv([(f"{i % 2}/{n}", "train" if i % 3 else "test") for n, i in PICTURES.items()], "image,split")
}
ORDER = pd.Index(np.random.default_rng(1).permutation(60))

ROWS = {
    **{
        f"a column or file that the user ignores: {name}": Row(files, labels, choices={"ignore": [name]})
        for name, files, labels in (
            (
                "image_id",
                {"features.csv": NAMED.assign(image_id=range(60)), "labels.csv": Y.assign(image_id=range(60)[::-1])},
                OF_Y,
            ),
            (
                "__index_level_0__",
                {"features.parquet": NAMED.set_index(ORDER), "labels.parquet": Y.set_index(ORDER[::-1])},
                OF_Y,
            ),
            ("names.txt", {"X.npy": X, "y.csv": Y, "names.txt": "cat\ndog\nsea\n"}, OF_Y),
        )
    },
    "0 means known not to be there": Row(
        PICTURES | {"captions.csv": csv(CONFIDENCE, "image,caption,confidence")},
        {"cat": 20, "dog": 20},
        {},
        options={"loader": "tagged", "tags": "caption", "confidence": "confidence", "unmentioned": "unknown"},
    ),
    "rows that contradict each other": Row(
        PICTURES
        | {
            "captions.csv": csv(
                CONFIDENCE + [(n, w, 1 - yes) for n, w, yes in CONFIDENCE[:12]], "image,caption,confidence"
            )
        },
        {"cat": 17, "dog": 17},
        {"cat": 6, "dog": 6},
    ),
    "tags of several words": Row(
        *listed(CITIES, "; ", "caption"),
        options={"loader": "tagged", "separator": ";", "none": None},
        choices={"captions": "tags.csv"},
    ),
    "tags joined by |": Row(
        F | {"labels.csv": pd.DataFrame({"id": range(60), "tags": lists(["cat", "dog", "sky"], "|", 60)[0]})},
        lists(["cat", "dog", "sky"], "|", 60)[1],
        options={"separator": "|", "index": "id"},
    ),
    "the column called tags": Row(
        F
        | {"labels.csv": pd.DataFrame({"id": range(60), "tags": CLASSES, "is_color": Y["cat"], "reviewed": Y["dog"]})},
        OF_CLASSES,
        options={"tags": "tags"},
        line="is_color, reviewed: left out",
    ),
    "a photograph in two formats": Row(
        {name: i for i in range(40) for name in (f"a/{i:02}.jpg", f"a/{i:02}.png")}
        | {"captions.csv": csv([(f"{i:02}.jpg", f"A {('cat', 'dog')[i % 2]}.") for i in range(40)])},
        EVEN,
        options={"one_per_stem": True, "images": "a"},
        line="40 pictures are named as another, but for the suffix",
        left_out=40,
    ),
    "tags in other scripts": Row(*listed(["日", "東京", "🐻‍❄️", "été", "क्षेत्र"], ";"), options={"separator": ";"}),
    "names of classes of Hugging Face": Row(
        F
        | {
            "labels.parquet": pa.table({"label": CODES}).replace_schema_metadata(
                {
                    "huggingface": json.dumps(
                        {"info": {"features": {"label": {"names": ["cat", "dog", "sea"], "_type": "ClassLabel"}}}}
                    )
                }
            )
        },
        OF_CLASSES,
        options={"tags": "label"},
    ),
    "JSON in cells": Row(
        PICTURES
        | {"export.csv": of_pictures("sentiment", [json.dumps({"choices": own(i)}) for i in range(40)], annotator=3)},
        OWN,
        options={"loader": "tagged", "tags": "sentiment"},
        line="annotator: left out",
    ),
    "categories of COCO": Row(
        PICTURES | {"instances.json": json.dumps(INSTANCES)},
        {"polar bear": 15, "cat": 15},
        test=13,
        options={"loader": "tagged", "split": "split"},
    ),
    "a column of vectors": Row(
        {"features.parquet": pd.DataFrame({"e": X.tolist()}), "labels.csv": Y}, OF_Y, options={"loader": "arrays"}
    ),
    "missing captions": Row(
        PICTURES
        | {
            "captions.csv": csv(
                (TEXTS | dict(zip(TEXTS, ("nan", "NaN", "None", "null", "N/A", ""), strict=False))).items()
            )
        },
        {"A cat.": 17, "A dog.": 17},
        line="captions.csv: captions of 34 of 40 pictures",
        left_out=6,
    ),
    "Flickr8k's token file": Row(
        PICTURES | {"tokens.txt": "".join(f"{n}#0\t{t}\n" for n, t in TEXTS.items())},
        EVEN,
        options={"loader": "photos"},
    ),
    "Flickr30k's results.csv": Row(
        PICTURES
        | {
            "results.csv": "\n".join(
                ["image_name| comment_number| comment", *(f"{n}| 0| {t}" for n, t in TEXTS.items())]
            )
        },
        EVEN,
        options={"pictures": "image_name", "caption": "comment"},
    ),
    "Hugging Face's metadata.jsonl": Row(
        PICTURES
        | {
            "metadata.jsonl": "\n".join(
                json.dumps({"file_name": name, "text": text, "split": SPLITS[name]}) for name, text in TEXTS.items()
            )
        },
        EVEN,
        test=13,
        options={"split": "split"},
    ),
    "captions in Parquet": Row(PICTURES | {"captions.parquet": of_pictures("caption", TEXTS.values())}, EVEN),
    "Karpathy's splits": Row(
        PICTURES
        | {
            "dataset.json": json.dumps(
                {"images": [{"filename": n, "split": SPLITS[n], "sentences": [{"raw": t}]} for n, t in TEXTS.items()]}
            )
        },
        EVEN,
        test=13,
    ),
    "COCO's captions and categories": Row(
        PICTURES | {"captions_a.json": json.dumps(COCO), "instances_a.json": json.dumps(INSTANCES)},
        EVEN,
        line="not used: instances_a.json",
        left_out=1,
    ),
    "a table of another name, an exported path": Row(
        {f"photos/{n}": i for n, i in PICTURES.items()}
        | {
            "export.csv": csv(
                [(f"./photos/{n}", f"{'cat' * (i % 3 == 0)};{'dog' * (i % 2)}") for n, i in PICTURES.items()],
                "SourceFile,Keywords",
            )
        },
        {"cat": 14, "dog": 20},
        options={"loader": "tagged", "images": ".", "pictures": "SourceFile", "tags": "Keywords"},
    ),
    "a column that names pictures beside features, whatever it is called": Row(
        F
        | {
            "labels.csv": Y.assign(
                note=[f"{i}.png" if i else "as above" for i in range(60)], shot=[*map("{}.png".format, range(60))]
            )
        },
        OF_Y,
        options={"pictures": "shot"},
        left_out=60,
    ),
    "a column of words of which half are in one row": Row(
        F
        | {"labels.csv": pd.DataFrame({"kind": [*["cat", "dog"] * 16, *map("rare {}".format, range(28))], "by": "x"})},
        {"cat": 16, "dog": 16} | {f"rare {i}": 1 for i in range(28)},
    ),
    "a column for each label": Row(
        PICTURES | {"labels.csv": of_pictures("cat", ["yes", "no"] * 20, dog=["no", "yes", "no", "?"] * 10)},
        {"cat": 20, "dog": 10},
        {"dog": 10},
        options={"columns": ["cat", "dog"], "positive": ["yes"], "negative": ["no"], "unknown": ["?"]},
    ),
    "-1 means no": Row(
        PICTURES | {"labels.csv": of_pictures("cat", [1, -1] * 20, dog=[-1, 1, 1, -1] * 10)},
        {"cat": 20, "dog": 20},
        {},
        options={"negative": ["-1"]},
    ),
    "-1 means unknown": Row(
        PICTURES | {"labels.csv": of_pictures("cat", [1, 0] * 20, dog=[-1, 1, 1, 0] * 10)},
        {"cat": 20, "dog": 20},
        {"dog": 10},
        choices={"unknown": ["-1"]},
    ),
    "only crosses": Row(
        PICTURES | {"labels.csv": of_pictures("cat", ["1", ""] * 20, dog=["", "1", "1", ""] * 10)},
        {"cat": 20, "dog": 20},
        {},
        line="an empty cell means no",
    ),
    "Finding Labels": Row(
        PICTURES
        | {
            "findings.csv": of_pictures(
                "Finding Labels", ["No Finding", "Mass", "Mass|Pleural Thickening", "Pleural Thickening"] * 10
            )
        },
        {"Mass": 20, "Pleural Thickening": 20},
        {},
        options={"tags": "Finding Labels", "separator": "|", "none": ["No Finding"]},
        line="(No Finding means none of them)",
    ),
    "tags that are known not to be there": Row(
        PICTURES
        | {"t.csv": of_pictures("tags", ["", "cat", "dog", ""] * 10, not_tags=["cat;dog", "dog", "cat", ""] * 10)},
        {"cat": 10, "dog": 10},
        {"cat": 10, "dog": 10},
        options={"not_tags": "not_tags", "unmentioned": "unknown"},
    ),
    "a column of one word beside classes": Row(
        F | {"labels.csv": pd.DataFrame({"species": CLASSES, "country": "New Zealand"})},
        OF_CLASSES,
        options={"tags": "species"},
        line="country: left out",
    ),
    "names of which few parts repeat": Row(
        PICTURES | {"t.csv": of_pictures("label", ["lake, big", "big, river", "hill, old", "sea"] * 10)},
        dict.fromkeys(("lake, big", "big, river", "hill, old", "sea"), 10),
    ),
    "places with their countries": Row(
        PICTURES
        | {"t.csv": of_pictures("label", ["Paris, France", "Lyon, France", "Rome, Italy", "Bari, Italy"] * 10)},
        dict.fromkeys(("Paris, France", "Lyon, France", "Rome, Italy", "Bari, Italy"), 10),
    ),
    "names with commas": Row(
        PICTURES | {"t.csv": of_pictures("label", ["oak", "oak, red", "ash", "ash; a"] * 10)},
        {"oak": 10, "oak, red": 10, "ash": 10, "ash; a": 10},
        choices={"separator": ""},
    ),
    "text files called captions": Row(
        {f"caption {n}": i for n, i in PICTURES.items()}
        | {f"caption {n[:2]}.txt": text for n, text in zip(PICTURES, lists(CITIES, ",")[0], strict=True)},
        lists(CITIES, ",")[1],
        options={"loader": "tagged", "labels": "*.txt"},
    ),
    "sentences of parts that repeat": Row(
        PICTURES | {"t.csv": of_pictures("caption", ["a cat, a dog", "a dog, a cat", "a cat", "a dog"] * 10)},
        dict.fromkeys(("a cat, a dog", "a dog, a cat", "a cat", "a dog"), 10),
        options={"loader": "photos"},
    ),
    "tags called caption beside a flag": Row(
        *listed(CITIES, ";", "caption", reviewed=[0, 1] * 20), options={"tags": "caption"}, line="reviewed: left out"
    ),
    "tags that do not repeat": Row(
        PICTURES | {"t.csv": of_pictures("tags", [("cat", f"dog; x{i}")[i % 2] for i in range(40)])},
        {"cat": 20, "dog": 20} | {f"x{i}": 1 for i in range(1, 40, 2)},
        options={"separator": ";"},
        line="tags: labels, separated by ';'",
    ),
    "sentences with commas": Row(
        PICTURES
        | {"t.csv": of_pictures("caption", ["A cat, on a mat.", "On a mat, a cat.", "a cat, a dog"] * 13 + ["A dog."])},
        {"A cat, on a mat.": 13, "On a mat, a cat.": 13, "a cat, a dog": 13, "A dog.": 1},
        options={"loader": "photos"},
    ),
    "a manifest beside folders of classes": Row(
        {f"{i % 2}/{n}": i for n, i in PICTURES.items()}
        | {"sizes.csv": csv([(n, 40 + i) for n, i in PICTURES.items()], "file,w")},
        {"0": 20, "1": 20},
        options={"loader": "scenes"},
        left_out=1,
    ),
    "patients": Row(
        PICTURES
        | {
            "Data_Entry.csv": of_pictures(
                "Finding Labels", ["Mass|Nodule", "Nodule|Mass", "Mass", "Nodule"] * 10, **{"Patient ID": PATIENTS}
            )
        },
        {"Mass": 30, "Nodule": 30},
        options={"loader": "tagged", "group": "Patient ID"},
        line="Patient ID: groups (13), which no split divides (--ignore Patient ID declines)",
        groups=OF_PATIENTS,
    ),
    "captions of sessions, and an empty cell for missing ones": Row(
        PICTURES | {"captions.csv": of_pictures("caption", TEXTS.values(), Session=[i // 5 for i in range(40)])},
        EVEN,
        options={"loader": "photos", "group": "Session"},
        groups=[i // 5 for i in range(40)],
    ),
    "groups that the user declines": Row(
        PICTURES | {"t.csv": of_pictures("tags", ["cat", "dog"] * 20, patient=PATIENTS)},
        {"cat": 20, "dog": 20},
        options={"group": None},
        choices={"ignore": ["patient"]},
    ),
    "groups of another name": Row(
        PICTURES | {"t.csv": of_pictures("tags", ["cat", "dog"] * 20, site=PATIENTS, patient=SESSIONS)},
        {"cat": 20, "dog": 20},
        choices={"group": "site"},
        line="t.csv: tags of 40 of 40 pictures; site: groups (13)",
        groups=OF_PATIENTS,
    ),
    "sessions of patients": Row(
        PICTURES
        | {"t.csv": of_pictures("species", ["cat", "dog"] * 20, session_id=SESSIONS, patient=["", *PATIENTS[1:]])},
        {"cat": 20, "dog": 20},
        options={"group": "patient"},
        line="session_id: left out",
        groups=["", *OF_PATIENTS[1:]],
    ),
    "patients in several tables": Row(
        PICTURES
        | {
            f"{part}.csv": of_pictures("tags", ["cat", "dog"] * 20, subjectNumber=PATIENTS)[rows]
            for part, rows in (("train", slice(27)), ("test", slice(35, 40)))
        },
        {"cat": 16, "dog": 16},
        test=5,
        options={"group": "subjectNumber"},
        left_out=8,
        groups=[name for i, name in enumerate(OF_PATIENTS) if not 27 <= i < 35],
    ),
    "subjects that are tags": Row(*listed(CITIES, ";", "Subject"), options={"tags": "Subject", "group": None}),
    "groups without a number are no groups": Row(
        PICTURES | {"t.csv": of_pictures("tags", ["cat", "dog"] * 20, group=["control", "old", "new", "old"] * 10)},
        {"cat": 20, "dog": 20},
        line="group: left out",
    ),
    "patients that do not repeat": Row(
        PICTURES | {"t.csv": of_pictures("tags", ["cat", "dog"] * 20, patient=range(40))}, {"cat": 20, "dog": 20}
    ),
    "patients in one table with features": Row(
        {"a.csv": NAMED.assign(y=CLASSES, burst=OF_TEN, group=[i // 3 for i in range(60)])},
        OF_CLASSES,
        options={"group": "burst", "ignore": ["group"]},
        groups=OF_TEN,
    ),
    "folders as groups": Row(
        {f"{i // 4}/{n}": i for n, i in PICTURES.items()} | {"captions.csv": csv(TEXTS.items())},
        EVEN,
        options={"group_by": "folder"},
        choices={"group_by": "folder"},
        groups=sorted(str(i // 4) for i in range(40)),
    ),
    "bursts": Row(
        {f"{i:02}.jpg": taken(i) for i in range(40)},
        OWN,
        options={"loader": "keywords", "group_by": "burst"},
        choices={"group_by": "burst"},
        groups=[(i // 6, i % 2) if i < 36 else i for i in range(40)],
    ),
    "notes beside few pictures": Row(
        {f"{('cat', 'dog')[i % 2]}/{i}.png": i for i in range(40)}
        | {f"cat/{i}.txt": "blurred" for i in range(0, 12, 2)},
        {"cat": 20, "dog": 20},
        options={"loader": "scenes"},
        left_out=6,
    ),
    "captions in text files": Row(
        {f"a/{n}": i for n, i in PICTURES.items()}
        | {f"a/{n[:2]}.caption": t + f" It is {i}." for i, (n, t) in enumerate(TEXTS.items())},
        {t + f" It is {i}.": 1 for i, t in enumerate(TEXTS.values())},
        options={"loader": "photos", "captions": "*.caption"},
    ),
    "hierarchical subjects": Row(
        {
            f"{i}.jpg": carrying(xmp(["animal|cat" if i % 2 else "animal|bird|owl"], "lr:hierarchicalSubject"), seed=i)
            for i in range(40)
        },
        {"animal": 40, "cat": 20, "bird": 20, "owl": 20},
        options={"loader": "keywords"},
    ),
    "some photographs without tags": Row(
        CARRIED["XMP"] | {f"{i}.jpg": i for i in range(8)},
        {"cat": 16, "dog": 16, "polar bear": 8},
        line="tags of 32 of 40 pictures; the others, perhaps not yet tagged",
        left_out=8,
    ),
    "folders of photographs with tags": Row(
        {f"{i % 2}/{n}": content for i, (n, content) in enumerate(CARRIED["XMP"].items())},
        {"0": 20, "1": 20},
        choices={"layout": "classes"},
    ),
    "a class called train": Row(
        {f"{name}/{i}.png": 20 * k + i for k, name in enumerate(("train", "car", "bus")) for i in range(20)},
        {"train": 20, "car": 20, "bus": 20},
    ),
    "one table with both": Row(
        {"iris.csv": NAMED.assign(species=CLASSES)}, OF_CLASSES, options={"features": "iris.csv", "labels": "iris.csv"}
    ),
    "one table, label columns by name": Row(
        {"yeast.parquet": NAMED.join(Y.add_prefix("Class "))},
        {f"Class {n}": k for n, k in OF_Y.items()},
        choices={"columns": ["Class *"]},
    ),
    "one table, label columns by type": Row(
        {"a.parquet": NAMED.join(Y > 0)}, OF_Y, options={"columns": ["cat", "dog", "sea"]}
    ),
    "one table by split": Row(
        {"train.csv": NAMED.assign(y=CODES + 3)[:40], "test.csv": NAMED.assign(y=CODES + 3)[40:]},
        {str(3 + k): OF_CLASSES[n] for k, n in enumerate(("cat", "dog", "sea"))},
        test=20,
    ),
    "sparse features": Row({"x.npz": sparse.csr_matrix(X), "y.csv": Y}, OF_Y),
    "idx files": Row(
        {
            f"{part}-{kind}-ubyte": idx(array)
            for part in ("train", "t10k")
            for kind, array in (("images-idx3", np.ones((40, 2, 2))), ("labels-idx1", np.arange(40) % 2))
        },
        {"0": 40, "1": 40},
        test=40,
        options={"loader": "idx"},
    ),
    "libsvm files by split": Row(
        dict.fromkeys(("a.svm", "a_t.svm"), "".join(f"{i % 2} 1:{i + 1}\n" for i in range(40))),
        {"0": 40, "1": 40},
        test=40,
    ),
    "a label called as a column": Row(
        F | {"labels.csv": Y.set_axis(["file", "id", "text"], axis=1)},
        dict(zip(("file", "id", "text"), OF_Y.values(), strict=True)),
        line="labels.csv: 3 labels (file, id, text)",
    ),
    "labels called by numbers": Row(
        F | {"labels.csv": Y.set_axis(["0", "1", "2"], axis=1)}, dict(zip("012", OF_Y.values(), strict=True))
    ),
    "classes as numbers": Row(
        F | {"labels.csv": pd.DataFrame({"y": CODES + 3})},
        {str(3 + k): OF_CLASSES[n] for k, n in enumerate(("cat", "dog", "sea"))},
        options={"tags": "y"},
    ),
    "one column of numbers": Row(
        F | {"labels.npy": 2 * CODES + 3},
        {str(3 + 2 * k): OF_CLASSES[n] for k, n in enumerate(("cat", "dog", "sea"))},
        options={"tags": "label 1"},
    ),
    "columns of several kinds": Row(
        F
        | {
            "labels.csv": Y.assign(
                id=range(60),
                smiles=[f"C{i}" for i in range(60)],
                age=range(60),
                File=[f"{i}.png" for i in range(60)],
                SPLIT=["train", "val", "test"] * 20,
                title="A sea.",
                image=[f"https://x.org/{i}.jpg" for i in range(60)],
            )
        },
        OF_Y,
        test=20,
        options={"index": "id", "pictures": "File", "split": "SPLIT", "text": "title", "columns": list(Y)},
        line="3 labels (cat, dog, sea); id: names; SPLIT: splits; File: pictures; title: text; smiles, age, image: l",
        left_out=60,
    ),
    "web addresses of pictures": Row(
        F | {"labels.csv": Y.assign(image=[f"https://x.org/{i}.jpg" for i in range(60)])}, OF_Y, line="image: left out"
    ),
    "columns that the user chooses": Row(
        F | {"labels.csv": Y.assign(address="1 Sea Road", note="x")},
        {name: OF_Y[name] for name in ("cat", "dog")},
        options={"text": "address", "columns": ["cat", "dog"]},
        choices={"text": "address", "ignore": ["note", "sea"]},
    ),
    "a word that counts as no label": Row(
        F | {"labels.csv": pd.DataFrame({"tags": np.where(np.arange(60) % 5, CLASSES, "None")})},
        pd.Series(CLASSES[np.arange(60) % 5 > 0]).value_counts().to_dict(),
        line="labels.csv: tags: labels (None counts as no label)",
    ),
    "parts of a table": Row(
        # ten or more parts, so that the order of texts is another than that of numbers
        {f"features-{i}-of-12.parquet": NAMED[5 * i : 5 * i + 5] for i in range(12)} | {"labels.csv": Y},
        OF_Y,
    ),
    "codes as integers and floats": Row(
        {
            f"{s}_{kind}": content
            for s, own, type in (("train", slice(30), int), ("val", slice(30, 45), float), ("test", slice(45, 60), int))
            for kind, content in (
                ("features.npy", X[own]),
                ("labels.csv", pd.DataFrame({"label": pd.Series(CODES[own] + 1).astype(type)})),
            )
        },
        {str(1 + k): OF_CLASSES[n] for k, n in enumerate(("cat", "dog", "sea"))},
        test=15,
    ),
    "a copy that is not chosen": Row(
        F | {"labels.csv": Y, "labels copy.csv": 1 - Y},
        OF_Y,
        choices={"labels": "labels.csv"},
        line="not used: labels copy.csv",
    ),
    "an old file in a folder below": Row(
        F | {"labels.csv": Y, "old/labels.csv": 1 - Y}, OF_Y, line="not used: old/labels.csv"
    ),
    "labels and row numbers among the features": Row(
        {"features.csv": NAMED.assign(cat=Y["cat"], id=range(60), name="x"), "labels.csv": Y},
        OF_Y,
        line="features.csv: 4 columns of features; id, name: left out; cat: left out, because the labels have",
        left_out=1,
    ),
    "copies of labels": Row(
        {"features.csv": NAMED.assign(**{"Cat": Y["cat"], " dog": 1 - Y["dog"]}), "labels.csv": Y},
        OF_Y,
        line="Cat,  dog: left out, because they copy labels",
    ),
    "a copy of labels of which some are unknown": Row(
        {"features.csv": NAMED.assign(Cat=Y["cat"]), "labels.csv": Y.assign(cat=Y["cat"].where(Y.index > 9, -1))},
        {"cat": int(Y["cat"][10:].sum()), "dog": OF_Y["dog"], "sea": OF_Y["sea"]},
        {"cat": 10},
        choices={"unknown": ["-1"]},
        line="Cat: left out, because they copy labels",
    ),
    "copies of tags": Row(
        {
            "features.csv": NAMED.join(Y[["cat", "dog"]]),
            "labels.csv": pd.DataFrame({"tags": [";".join(Y.columns[row]) for row in HAS]}),
        },
        OF_Y,
        line="cat, dog: left out, because they copy labels",
    ),
    "an index of two levels": Row(
        {"features.parquet": NAMED.set_index([ORDER, ORDER]), "labels.csv": Y}, OF_Y, line="60 samples with 4 features"
    ),
    "a column of text among the features that the user ignores": Row(
        {"features.csv": NAMED.assign(price="1,5"), "labels.csv": Y},
        OF_Y,
        options={"ignore": ["price"]},
        choices={"ignore": ["price"]},
    ),
    "a feature that is called like row numbers": Row(
        {"features.csv": NAMED.assign(nr=[i / 2 for i in range(60)]), "labels.csv": Y},
        OF_Y,
        line="5 columns of features",
        options={"ignore": None},
    ),
    "a column of few values, and a label of so few samples that both may agree by chance": Row(
        {"features.csv": NAMED.assign(flag=NAMED.index < 4), "labels.csv": Y.assign(rare=NAMED.index < 4)},
        OF_Y | {"rare": 4},
        options={"ignore": None},
        line="each with 17 to 19 positive training samples",
    ),
    "a copy of the classes": Row(
        {"features.csv": NAMED.assign(code=7 * CODES), "labels.npy": CLASSES},
        OF_CLASSES,
        line="code: left out, because they copy",
    ),
    "a copy in an array": Row(
        {"features.npy": np.column_stack([X, Y["cat"]]), "labels.csv": Y},
        OF_Y,
        line="features.npy: column 5: seem to copy labels; if they do, remove them from the file",
    ),
    "a feature called target": Row(
        {"features.csv": NAMED.assign(target=CODES), "labels.csv": pd.DataFrame({"species": CLASSES})},
        OF_CLASSES,
        line="4 columns of features; target: left out, because labels have such names",
    ),
    "row names that have nothing in common": Row(
        {"features.csv": NAMED.assign(idx=range(60)), "labels.csv": Y.assign(id=["007", "7", *range(100, 158)])},
        OF_Y,
        options={"index": "id"},
    ),
    "names of features and of classes": Row(
        {"X.npy": X, "y.npy": CLASSES, "class_names.txt": "1\n2\n3\n4\n", "feature_names.txt": "a\nb\nc\nd\n"},
        OF_CLASSES,
        options={"names": "feature_names.txt"},
        line="not used: class_names.txt",
    ),
    "COCO as published": Row(
        {f"{part}/{i:012}.png": i for part, own in (("train2017", range(30)), ("val2017", range(30, 40))) for i in own}
        | {
            f"annotations/captions_{part}.json": json.dumps(
                {
                    "images": [{"id": i, "file_name": f"{i:012}.png"} for i in own],
                    "annotations": [{"id": i, "image_id": i, "caption": ["A cat.", "A dog."][i % 2]} for i in own],
                }
            )
            for part, own in (("train2017", range(30)), ("val2017", range(30, 40)))
        },
        EVEN,
        test=10,
    ),
    "splits of classes": Row(
        {f"{i % 2}/{('train', 'test')[i % 3 == 0]}/{n}": i for n, i in PICTURES.items()}
        | {"splits.csv": csv([(n, ("train", "test")[i % 3 == 0]) for n, i in PICTURES.items()], "image,split")},
        {"0": 20, "1": 20},
        test=14,
        options={"splits": "splits.csv"},
        line="splits.csv: splits of 40 of 40 pictures",
    ),
    "splits.csv that is left out": Row(
        {f"{i % 2}/{n}": i for n, i in PICTURES.items()} | {"splits.csv": "image,split\n0/00.png,train\n"},
        {"0": 20, "1": 20},
        test=8,
        options={"splits": None},
        choices={"ignore": ["splits.csv"]},
        left_out=1,
    ),
    "texts beside pictures, of which one is a number": Row(
        PICTURES | {f"{n[:2]}.txt": text for n, text in TEXTS.items()} | {"00.txt": "2024"},
        {"2024": 1, "A cat.": 19, "A dog.": 20},
    ),
    "pictures outside the folder": Row(
        {f"a/{n}": i for n, i in PICTURES.items()}
        | {f"b/{i:02}.png": 100 + i for i in range(10)}
        | {"captions.csv": csv(TEXTS.items())},
        EVEN,
        options={"images": "a"},
        line="not used: 10 pictures outside a, such as b/00.png",
    ),
    "equal pictures in two classes": Row(
        {f"{k}/{i}.png": 20 * n + i for n, k in enumerate(("cat", "dog")) for i in range(20)}
        | {f"cat - Copy/{i}.png": i for i in range(16)},
        {"cat": 20, "dog": 20, "cat - Copy": 16},
        left_out=16,
    ),
    **{
        f"patients of features in {name}": Row(
            {name: NAMED.assign(patient_id=OF_TEN, session=[i // 3 for i in range(60)]), "labels.csv": Y},
            OF_Y,
            options={"group": "patient_id", "ignore": ["session"]},
            groups=OF_TEN,
        )
        for name in ("features.parquet",)
    },
    **{
        name: Row(files, OWN, options={"loader": "keywords"}, line="tags of 40 of 40 pictures\n")
        for name, files in CARRIED.items()
        if name != "XMP"
    },
    **{
        f"classes in {' and '.join(parts)}": Row(
            {
                f"{part}/{k}/{i}.png": 100 * p + 50 * (k == "cat") + i
                for p, part in enumerate(parts)
                for k in ("cat", "dog")
                for i in range(9)
            },
            {"cat": 9 * len(parts), "dog": 9 * len(parts)},
            test=18,
            options={"split_folders": True},
        )
        for parts in (
            ("Training Data", "Testing Data"),
            ("train2017", "val2017"),
            ("train", "valid", "test"),
        )
    },
    **{
        f"an embedding in {kind}": Row(
            {f"features.{kind}": pd.DataFrame({"e": X.astype(float).tolist()}), "labels.csv": Y},
            OF_Y,
            line="1 column of features",
        )
        for kind in ("csv",)
    },
    **{
        f"files by split, such as {names[0]}": Row(
            {names[0]: X[:40], names[1]: Y[:40].to_numpy(), names[2]: X[40:], names[3]: Y[40:].to_numpy()},
            dict(zip(("label 1", "label 2", "label 3"), OF_Y.values(), strict=True)),
            test=20,
        )
        for names in (
            [f"{name.format(split)}.npy" for split in splits for name in both]
            for both, splits in (
                (("features-{}", "labels-{}"), ("train", "test")),
                (("{}X", "{}Y"), ("train", "test")),
                (("X_{}", "y_{}"), ("tr", "te")),
                (("{}features", "{}labels"), ("train", "test")),
            )
        )
    },
    **{
        f"row numbers called {name}": Row(
            {"features.csv": NAMED.assign(**{name: order}), "labels.csv": Y}, OF_Y, line=f"{name}: left out"
        )
        for name, order in (
            ("Unnamed: 0", range(60)),
            ("idx", np.random.default_rng(1).permutation(60)),
        )
    },
    **{
        f"a table beside the pictures of each split, from {start}": Row(
            {f"train/{i:02}.png": i for i in range(28)}
            | {f"test/{start + i:02}.png": 28 + i for i in range(12)}
            | {
                f"{part}/metadata.csv": csv([(n, TEXTS[n]) for n in [*PICTURES][own]], "file_name,text")
                for part, own in (("train", slice(28)), ("test", slice(start, start + 12)))
            },
            EVEN,
            test=12,
        )
        for start in (0,)
    },
}


STOPS = {
    "pointers of Git LFS": (
        dict.fromkeys(PICTURES, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n")
        | {"c.csv": csv(TEXTS.items())},
        {},
        "git lfs pull",
    ),
    "captions or categories": (
        PICTURES | {"a.json": json.dumps(COCO), "b.json": json.dumps(INSTANCES)},
        {},
        "a.json and b.json hold captions and tags: choose one with --captions FILE or --labels FILE",
    ),
    "-1 may mean two things": (
        PICTURES | {"labels.csv": of_pictures("cat", [1, 0] * 20, dog=[-1, 1, 1, 0] * 10)},
        {},
        "what -1 means in its label columns .cat, dog., .* choose one with --unknown=-1 or --negative=-1",
    ),
    "tags and captions": (
        PICTURES | {"t.csv": of_pictures("tags", ["cat", "dog"] * 20, caption=TEXTS.values())},
        {},
        "several columns could list them, got tags, caption: choose one with --tags tags or --caption caption",
    ),
    "two separators": (
        PICTURES | {"t.csv": of_pictures("tags", ["a;b", "b;a", "c,d", "d,c", "a", "b", "c", "d"] * 5)},
        {},
        r"several separators in the column 'tags', .* choose one with --separator ';' or --separator ','",
    ),
    "names with commas, or tags": (
        PICTURES | {"t.csv": of_pictures("label", ["oak", "oak, red", "ash", "ash"] * 10)},
        {},
        r"or with none \(''\): choose one with --separator ',' or --separator ''",
    ),
    "sessions across patients": (
        PICTURES | {"t.csv": of_pictures("tags", ["cat", "dog"] * 20, patient=PATIENTS, session=[*range(1, 5)] * 10)},
        {},
        "columns patient, session: choose one with --group patient or --group session, or .* --ignore",
    ),
    "an image of two patients": (
        PICTURES
        | {"t.csv": csv([(n, "a cat", i // 2) for i, n in enumerate([*PICTURES, "00.png"])], "image,caption,patient")},
        {},
        r"t\.csv must give each image one group, got '0' and '20' for '00\.png'",
    ),
    "tags in photographs in folders": (
        {f"{i % 2}/{n}": content for i, (n, content) in enumerate(CARRIED["XMP"].items())},
        {},
        "could be read in several ways: choose one with --layout keywords, .* or --layout classes, ",
    ),
    "one table, labels unknown": (
        {"a.parquet": NAMED.join(Y)},
        {},
        "no column could list them, got a, b, c, …: .* --label-columns PATTERN",
    ),
    "pictures in Parquet": (
        {"data.parquet": pa.table({"image": [{"bytes": b"x", "path": "a.jpg"}] * 9, "label": [0, 1, 1] * 3})},
        {},
        "holds pictures, which must be files: convert it with Python: .*write_bytes",
    ),
    "ARFF": ({"a.arff": "@relation"}, {}, "convert it to one of these types, with Python: import pandas, scipy.io"),
    "two columns of classes": (
        F | {"labels.csv": pd.DataFrame({"genus": CLASSES, "family": CLASSES})},
        {},
        "several columns could list them, got genus, family: choose one with --tags genus or --tags family",
    ),
    "no column of labels": (
        F | {"labels.csv": pd.DataFrame({"age": range(60), "note": [f"n{i}" for i in range(60)]})},
        {},
        "no column could list them, got age, note: choose one with --tags COLUMN",
    ),
    "classes that are no numbers": (
        F | {"labels.csv": pd.DataFrame({"label": [np.inf, *range(59)]})},
        {},
        "got label: choose one with --tags",
    ),
    "a single label": (F | {"labels.csv": Y[["cat"]] > 0}, {}, "at least 2 labels .* got 'cat' with 27 samples: add"),
    "a picture in two splits": (
        PICTURES
        | {
            f"captions_{part}.csv": csv([*TEXTS.items()][own])
            for part, own in (("train", slice(28)), ("val", slice(27, 40)))
        },
        {},
        r"captions_train\.csv and captions_val\.csv must name different pictures, got '27\.png' in several",
    ),
    "splits of other pictures": (
        PICTURES | {"captions.csv": csv(TEXTS.items()), "splits.csv": "image,split\nx.png,train\n"},
        {},
        r"at least one usable training image .*'00\.png', 'in no split of splits\.csv'",
    ),
    "captions that name no picture": (
        PICTURES | {"c.csv": csv([("no.jpg", "A cat.")])},
        {},
        r"c\.csv must have a column that names the pictures in .* such as '00\.png', got 'no\.jpg'",
    ),
    "captions without rows": (
        PICTURES | {"captions.csv": "image,caption\n"},
        {},
        r"captions\.csv must hold at least one row",
    ),
    "a table that names no picture": (PICTURES | {"pictures.csv": "a,b\n1,2\n"}, {}, r"got pictures\.csv, 00\.png"),
    "a column and a way of grouping": (
        PICTURES,
        {"group": "a", "group_by": "burst"},
        "--group and --group-by exclude each other",
    ),
    "folders named after other splits": (
        {f"{part}/{k}/{i}.png": i for part in ("train", "pred") for k in ("cat", "dog") for i in range(3)},
        {},
        r"every folder must be a class, .* named after splits .*train",
    ),
    "two libsvm files": (
        dict.fromkeys(("a.svm", "b.svm"), "1 1:1\n" * 40),
        {},
        r"samples must be .*, got a.svm, b.svm",
    ),
    **{
        f"parts {kept}": (
            {
                f"{of}-{i:05}-of-00003.csv": t[20 * i : 20 * i + 20]
                for of, t in (("features", NAMED), ("labels", Y))
                for i in kept
            },
            {},
            "features must be in one file, .* numbered from 0 or 1 without a gap, got features-0000",
        )
        for kept in ((0, 2), (0,), (1, 2))
    },
    "parts with other columns": (
        {f"features-{i}-of-2.csv": part for i, part in ((1, NAMED[:30]), (2, NAMED[30:].rename(columns={"a": "z"})))}
        | {"labels.csv": Y},
        {},
        r"features-2-of-2\.csv must have the same features as .*, in the same order and format",
    ),
    **{
        f"a copy called {copy}": (
            F | {"labels.csv": Y, copy: 1 - Y},
            {},
            r"labels must be in one file, .* choose one with --labels FILE, leave files out with --ignore",
        )
        for copy in ("labels (copy).csv", "labels_old.csv", "test_labels.csv")
    },
    "complex numbers": (
        F | {"labels.npy": Y.to_numpy() + 1j},
        {},
        "labels.npy must hold real numbers or text, got complex128",
    ),
    "a label with a shape": (
        F | {"labels.npy": Y.to_numpy()[:, :, np.newaxis]},
        {},
        r"a row of labels for each sample, got shape \(60, 3, 1\)",
    ),
    "lists without quotes": (
        F | {"labels.csv": pd.DataFrame({"tags": ["[fox"] * 30 + ["[cat, dog]"] * 30})},
        {},
        r"cell, got '\[cat, dog\]': write",
    ),
    "labels by split": (
        F | {"train_labels.npy": Y[:40].to_numpy(), "test_labels.npy": Y[40:].to_numpy()},
        {},
        "files for the same splits, got",
    ),
    "a spreadsheet": (
        F | {"labels.xlsx": "x"},
        {},
        r"labels\.xlsx: convert it to one of these types, with Python: import pandas; pandas.read_excel",
    ),
    "text as features": (
        {"features.csv": NAMED.astype(str).add("x"), "labels.csv": Y},
        {},
        "must have a column of features: .* got only columns such as 'a' with string such as",
    ),
    "folders of splits below those of classes": (
        {f"{i % 2}/{('train', 'test')[i % 3 == 0]}/{n}": i for n, i in PICTURES.items()},
        {},
        r"named after splits \(test, train\), .*: write splits\.csv with the columns image,split",
    ),
    "drafts of captions": (
        {f"images/{n}": i for n, i in PICTURES.items()}
        | {"captions.csv": csv(TEXTS.items()), "captions old.csv": csv([(f"images/{n}", "A draft.") for n in TEXTS])},
        {},
        r"captions old\.csv and captions\.csv must name different pictures, got 'images/00\.png' in several",
    ),
    **{
        f"chosen captions in {name}": (
            {f"{k}/{i}.png": 20 * n + i for n, k in enumerate(("cat", "dog")) for i in range(20)} | {name: content},
            {"captions": name},
            rf"{name} must have a column that names the pictures in .*, got a",
        )
        for name, content in (("notes.csv", "a\nb\n"), ("captions.jsonl", '{"a": "b"}\n'))
    },
    **{
        f"the idle choice {choice}": (files, choice, f"{said} has no effect there")
        for files, choice, said in (
            (SPLIT_CLASSES, {"ignore": ["nope.csv"]}, "in 2 folders, one per class, and --ignore nope.csv"),
            (SPLIT_CLASSES, {"text": "a"}, "in 2 folders, one per class, and --text a"),
            (F | {"labels.csv": Y}, {"group_by": "folder"}, "--group-by folder"),
            (CARRIED["XMP"], {"group": "patient"}, "--group patient"),
            (PICTURES | {f"{n[:2]}.txt": t for n, t in TEXTS.items()}, {"group": "patient"}, "--group patient"),
        )
    },
    "the idle choice of no column": (
        F | {"labels.csv": Y},
        {"ignore": ["Cat"]},
        r"--ignore Cat has no effect .* \(the columns are cat, d",
    ),
    "a column that is not there": (F | {"labels.csv": Y}, {"tags": "z"}, r"must have the column 'z' \(--tags"),
    "rows in another order": (
        {"features.csv": NAMED.assign(image_id=range(60)), "labels.csv": Y.assign(image_id=range(60)[::-1])},
        {},
        r"the same 'image_id' in each row, got '0' and '59' in row 1: .* --ignore 'image_id'",
    ),
    "rows in another order, by columns of other names": (
        {"features.csv": NAMED.assign(sample_id=range(60)), "labels.csv": Y.assign(id=range(60))[::-1]},
        {},
        "rows in the same order, but in row 1 the column 'sample_id' of the features holds '0' and the column 'id'",
    ),
    "rows in another order, by the index of pandas": (
        {"features.parquet": NAMED.set_index(ORDER), "labels.parquet": Y.set_index(ORDER[::-1])},
        {},
        "the same '__index_level_0__' in each row, got",
    ),
    "an unknown split": (
        F | {"labels.csv": Y.assign(split=["train", "train", "test", "extra"] * 15)},
        {},
        "in the column 'split', got extra: repl",
    ),
    "numbers as splits": (F | {"labels.csv": Y.assign(split=[0, 1] * 30)}, {}, "in the column 'split', got 0, 1"),
    "decimal commas": (
        {"features.csv": NAMED.assign(e="0,5"), "labels.csv": Y},
        {},
        "got string such as '0,5' in the column 'e'",
    ),
    "too few names of features": (
        {"X.npy": X, "y.csv": Y, "names.txt": "cat\ndog\nsea\n"},
        {},
        "names.txt must name the 4",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_init_and_the_reader_agree_on_what_is_right(tmp_path, monkeypatch, checked_here, name):
    row = ROWS[name]
    said, entry, read = init(tmp_path, monkeypatch, row.files, **row.choices)
    known = read.captions["known"] if "known" in read.captions else read.captions["image"].notna()
    assert read.captions["caption"][known].value_counts().to_dict() == row.labels
    assert read.captions["caption"][~known].value_counts().to_dict() == row.unknown
    assert row.test is None or (read.images["split"] == "test").sum() == row.test
    options = {"loader": entry["loader"]} | entry["options"]
    assert {key: options.get(key) for key in row.options} == row.options
    assert row.line in "\n".join([*said, ""]) and len(read.left_out) == row.left_out
    assert ("group" in read.images) == (row.groups is not None)
    if row.groups is not None:
        got, expected = (
            pd.factorize(np.array([*map(str, names)]))[0].tolist() for names in (read.images["group"], row.groups)
        )
        assert got == expected and (row.test or read.images.groupby("group")["split"].nunique().max() == 1)
    if read.X is not None and read.X.shape == X.shape:
        np.testing.assert_allclose(read.X.toarray() if sparse.issparse(read.X) else read.X, X, rtol=1e-6)
    loader, options = pick("datasets", entry["loader"]), entry["options"]
    if loader.SHOWS == "pictures":  # a page opens pictures with these options
        options |= {"image": read.images["image"][0]}
        assert loader.file(**options).is_file() and loader.picture(**options).shape == (40, 40)
        assert loader.thumbnail(longest_side=20, **options).shape == (20, 20, 3)
    elif loader.SHOWS == "names":
        assert len(loader.feature_names(**options)) in (0, read.X.shape[1])


@pytest.mark.parametrize("name", STOPS)
def test_in_doubt_init_stops_with_a_line_that_says_what_to_do(tmp_path, monkeypatch, checked_here, name):
    files, choices, said = STOPS[name]
    with pytest.raises(ValueError, match=rf"\A[^\n]*{said}[^\n]*\Z"):
        init(tmp_path, monkeypatch, files, **choices)


RARE = pd.DataFrame({f"label {k:02}": (np.arange(300) % 60 < k).astype(int) for k in range(9, 51)})
OFTEN = {"cat": 30, "dog": 24, "sea": 16, "fog": 2}
SAID = [" ".join(["it", *(word for word, n in OFTEN.items() if i < n)]) for i in range(40)]


@pytest.mark.parametrize(
    ("files", "limits", "n_words", "said"),
    [
        (
            {"X.npy": np.tile(X, (5, 1)), "y.csv": RARE},
            {},
            42,
            [],
        ),
        (
            {"X.npy": np.tile(X, (5, 1)), "y.csv": RARE},
            {"MOST_LEARNT": 41},
            41,
            ["Not learnt, because they are rarer: 1 labels. To learn more, raise n_words in config.yaml."],
        ),
        (
            {"X.npy": X, "y.csv": Y.assign(rare=np.arange(60) < 3, every=np.arange(60) > 2)},
            {},
            4,
            ["Not learnt: 2 of 5 labels (", "too few training samples with it: 1", "samples without it: 1"],
        ),
        (
            {"X.npy": X, "y.csv": Y.assign(split=["train"] * 45 + ["test"] * 15, late=np.arange(60) > 50)},
            {},
            3,
            ["Not learnt: 1 of 4 labels (no training samples with it: 1)."],
        ),
        (
            {
                "X.npy": X,
                "y.csv": Y.replace({1: "yes", 0: "no"}).assign(rare=np.repeat(["yes", "no", "?"], [12, 2, 46])),
            },
            {},
            3,
            ["Not learnt: 1 of 4 labels (", "samples without it: 1"],
        ),
        (PICTURES | {"c.csv": of_pictures("caption", SAID)}, {"MOST_WORDS": 2}, 3, []),
        (
            PICTURES | {"c.csv": of_pictures("caption", SAID)},
            {"MOST_WORDS": 1, "LEAST_SHARE": 0.5},  # of the 24 training pictures
            2,
            ["Not learnt, because they are rarer: 1 words. To learn more, raise n_words in config.yaml."],
        ),
        (
            PICTURES | {"c.csv": of_pictures("caption", SAID)},
            {"MOST_WORDS": 2, "LEAST_SHARE": 0.7},  # which only the most frequent word has
            2,
            ["Not learnt, because they are rarer: 1 words."],
        ),
    ],
)
def test_init_learns_all_labels_with_samples_enough_up_to_a_limit(tmp_path, monkeypatch, files, limits, n_words, said):
    for name, value in limits.items():
        monkeypatch.setattr(config, name, value)
    lines, entry, read = init(tmp_path, monkeypatch, files)
    assert entry["final"]["words"] == {"n_words": n_words}
    assert all(text in "\n".join(lines[2:]) for text in said) and ("Not learnt" in "\n".join(lines)) == bool(said)
    of_words = {"split_captions": entry["loader"] == "photos", "smallest_size": 5}
    with warnings.catch_warnings(action="ignore"):
        _, has = choose_words(read.images, read.captions, n_words=n_words, **of_words)
    assert f"The model will learn {has.shape[1]} " in lines[1]

"""A config.yaml that fits a folder of data: what lies there, and the settings that read it."""

import os
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import yaml

from jointsparse.checks import printable, require
from jointsparse.pipeline.datasets.captions import read as read_captions
from jointsparse.pipeline.datasets.folder import list_pictures
from jointsparse.pipeline.datasets.splits import ALIASES, FRACTIONS, SPLIT_NAMES, assign_splits
from jointsparse.pipeline.datasets.text import read_csv
from jointsparse.pipeline.tasks import AUTO_SIZES, choose_words
from jointsparse.registry import pick

# How names of files end that may hold captions or a table, and what they tell of its content.
CAPTIONS, TABLES = (".csv", ".json", ".tsv", ".txt"), (".npy", ".npz", ".parquet", ".csv")
FEATURES, OF_LABELS, LIBSVM = (
    re.compile(pattern, re.IGNORECASE)
    for pattern in ("feature|embed|vector|^x$", "label|tag|target|^y$", r"\.(libsvm|svmlight|svm)(\.gz|\.bz2)?$")
)
COLUMNS = {  # how columns beside the labels are called, by the option that names them
    "index": {"id", "index", "name"},
    "split": {"split"},
    "pictures": {"picture", "image", "path", "file", "filename", "image_path"},
    "text": {"text", "caption", "title"},
    "tags": {"tags"},
}
FEW, MANY_TASKS = 5, 10  # Choice: training samples of a task, where fewer tasks reach the smallest of AUTO_SIZES
WITH_CAPTIONS = "captions.csv (image,caption) or JSON with captions as of COCO or Karpathy"
# What lies in a folder: the loader that reads it, its options, images and captions, and a few words on it.
Found = tuple[str, dict[str, Any], pd.DataFrame, pd.DataFrame, str]


def write(root: Path, file: Path, shipped: Path) -> str:
    """Write a config.yaml that fits a folder of data. Returns what lies there, for people.

    shipped: the config.yaml of the workflow, over which this one is laid. Raises ValueError for a folder that no loader
    reads, and where too little is labelled.
    """
    require(root.is_dir(), f"init takes a folder of data, got {str(root)!r}")
    pictures, reasons = list_pictures(root)
    others = sorted(reasons)
    loader, options, images, captions, found = _samples(root, pictures, others) or _photographs(root, pictures, others)
    with warnings.catch_warnings(action="ignore"):  # of words that are left out
        words, has = choose_words(
            images,
            captions,
            n_words="auto",
            smallest_size=FEW,
            split_captions=loader == "photos",
            join_inflections=loader == "photos",
        )
    words, labels = words[: has.shape[1]], pick("datasets", loader).LABELS
    common = words[words["train"] >= AUTO_SIZES[0]]
    tasks = common if len(common) >= MANY_TASKS else words
    counts, some = tasks["train"], ", ".join(tasks["word"][:3])
    said = printable(
        f"{found}, {len(tasks)} {labels} ({some}, …) with {counts.min():,} to {counts.max():,} training samples"
    )
    name = re.sub("[^A-Za-z0-9_-]+", "-", root.resolve().name).strip("-")[:90] or "mine"
    is_taken = name in yaml.safe_load(shipped.read_text(encoding="utf-8"))["datasets"]
    template = (files("jointsparse.pipeline.app") / "config.yaml.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    text = environment.from_string(template).render(
        said=said,
        name=f"my-{name}" if is_taken else name,
        loader=loader,
        options={"root": str(root)} | options,
        labels=labels,
        study={"arrays": "table", "libsvm": "text"}.get(loader, "annotation"),
        few=FEW if counts.min() < AUTO_SIZES[0] else None,
        yaml=lambda value: yaml.safe_dump([value], default_flow_style=True, allow_unicode=True, width=10**6)[1:-2],
    )
    file.write_text(text, encoding="utf-8")
    return said


def _samples(root: Path, pictures: Sequence[str], others: Sequence[str]) -> Found | None:
    """Samples in files of libsvm, which are named after their splits, or a file of features beside one of labels."""
    svm = sorted(filter(LIBSVM.search, others), key=lambda one: "train" not in one)
    stems = {one: Path(one).stem for one in others if one.lower().endswith(TABLES)}
    labels = [one for one, stem in stems.items() if OF_LABELS.search(stem)]
    features = [one for one, stem in stems.items() if FEATURES.search(stem) and one not in labels]
    features += [one for one in stems if one not in labels and not one.endswith(".csv")]
    labels += [one for one in stems if one not in features and not pictures]
    if svm:
        named = {split: one for split in ("validation", "test") for one in svm[1:] if split[:3] in one}
        beside = {key: f"{key}.txt" for key in ("topics", "vocabulary") if f"{key}.txt" in others}
        loader, options = "libsvm", {"train": svm[0], **named, **beside}
    elif features and labels:
        columns = pick("datasets", "arrays").feature_names(root, features=labels[0])
        named = {option: one for option, names in COLUMNS.items() for one in columns if one.lower() in names}
        named |= {key: one for key in ("names",) for one in others if one.endswith(f"{key}.txt")}
        loader, options = "arrays", {"features": features[0], "labels": labels[0], **named}
    else:
        return None
    read = pick("datasets", loader).read(root, **options)
    n, d = read.X.shape
    return loader, options, read.images, read.captions, f"{n:,} samples with {d:,} features"


def _photographs(root: Path, pictures: Sequence[str], others: Sequence[str]) -> Found:
    """Photographs with captions in a file, or in one folder per class."""
    file, folder, captions = _captioned(root, pictures, others) or _in_classes(root, pictures, others)
    require(
        not Path.cwd().is_relative_to((root / folder).resolve()),
        f"results must lie outside of the folder of the pictures, {root / folder}: run init elsewhere",
    )
    names = [name.removeprefix(f"{folder}/") for name in pictures if folder == "." or name.startswith(f"{folder}/")]
    table = read_csv(root / "splits.csv", "image", "split") if "splits.csv" in others else None
    splits, _ = assign_splits(
        names, table, split_names=SPLIT_NAMES, fractions=FRACTIONS, validation_fraction=0.2, seed=0
    )
    images = pd.DataFrame(list(splits.items()), columns=["image", "split"], dtype=str)
    options = {"images": folder} | ({"captions": file} if file else {})
    said = f", captions in {file}" if file else f" in {captions['caption'].nunique():,} folders, one per class"
    captions = captions[captions["image"].isin(splits)]
    return "photos" if file else "scenes", options, images, captions, f"{len(images):,} pictures{said}"


def _captioned(root: Path, pictures: Sequence[str], others: Sequence[str]) -> tuple[str, str, pd.DataFrame] | None:
    """The file of captions, the folder to which their names are relative, and the captions: those of most pictures."""
    tables = dict[str, pd.DataFrame]()
    for file in (one for one in others if one.lower().endswith(CAPTIONS)):
        with suppress(ValueError):
            tables[file] = read_captions(root / file)
    for file in [one for one in others if "caption" in one.lower() and not tables]:
        read_captions(root / file)  # which says what is wrong with it
    fits = Counter(
        (file, "/".join(parts[:i]) or ".")
        for file, named in ((file, set(table["image"])) for file, table in tables.items())
        for parts in (name.split("/") for name in pictures)
        for i in range(len(parts))
        if "/".join(parts[i:]) in named
    )
    for file, table in tables.items() if pictures and not fits else ():
        some = table["image"].min()
        raise ValueError(f"{root / file} must name pictures of {root}, such as {pictures[0]!r}, got {some!r}")
    return next(((file, folder, tables[file]) for (file, folder), _ in fits.most_common(1)), None)


def _in_classes(root: Path, pictures: Sequence[str], others: Sequence[str]) -> tuple[str, str, pd.DataFrame]:
    """No file, the folder that holds those of the classes, and the class of each picture."""
    folder = Path(os.path.commonpath([os.path.dirname(name) for name in pictures] or [""])).as_posix()
    names = [Path(name).relative_to(folder).as_posix() for name in pictures]
    require(
        names and all("/" in name for name in names),
        f"init looks in {root} for pictures with {WITH_CAPTIONS}, pictures in one folder per class, at least two, "
        "features (.npy, .npz, .parquet or .csv) beside labels, and libsvm files, got "
        f"{', '.join(map(printable, [*pictures, *others][:3])) or 'no file'}",
    )
    classes = [name.partition("/")[0] for name in names]
    require(
        not {one.lower() for one in classes} <= {*SPLIT_NAMES, *ALIASES},
        f"folders must be classes, got {', '.join(sorted(set(classes)))}, which are splits: put all pictures of a "
        "class into one folder, and image,split into splits.csv",
    )
    return "", folder, pd.DataFrame({"image": names, "caption": classes}, dtype=str)

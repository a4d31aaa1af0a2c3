"""Create folders of data like those of users, with known content, and check whether `init` reads them correctly.

    python trials/folders.py --cases 500 --seed 1

Each folder has a few oddities: hidden copies, file names in another Unicode normalisation, file names with splits and
part numbers, drafts, columns of all kinds, unusual encodings. The data that are read must be the data that were
created, or the folder must be refused with one line. The ways in which a case can end are listed in `harness.py`.
"""

import json
import os
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np
import pandas as pd
import yaml
from PIL import Image
from scipy import sparse

from jointsparse.pipeline.app import config
from jointsparse.registry import pick

WORKFLOW = Path(__file__).parents[1]
WORDS, TAGS = ("cat", "dog", "sea"), ("polar bear", "fire", "TV", "東京")
XMP = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject><rdf:Bag>{}</rdf:Bag></dc:subject>
</rdf:Description></rdf:RDF></x:xmpmeta>"""
N, N_FEATURES = 60, 5  # size of tables


@dataclass
class Draw:
    """Random choices."""

    rng: np.random.Generator

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def one_of(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def in_form(self, name: str) -> str:
        """Return a name in one of two Unicode normalisations."""
        return unicodedata.normalize(self.one_of("NFC", "NFD"), name)


@dataclass
class Folder:
    """The files of a folder, and the data that should be read from it.

    files: the content of each file. An integer is the seed of a picture.
    labels, unknown: the known and the unknown labels of each image or row. `labels` is None if the folder must be
    refused.
    splits, groups: the split and the group of each image or row, if the folder gives them.
    X: the rows of features.
    main: the file of which clutter is a copy.
    """

    files: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, set[str]] | None = field(default_factory=dict)
    unknown: dict[str, set[str]] = field(default_factory=dict)
    splits: dict[str, str] = field(default_factory=dict)
    groups: dict[str, Any] = field(default_factory=dict)
    X: np.ndarray | None = None
    main: str = ""


def write(path: Path, content: Any) -> None:
    """Write a picture, text, bytes, an array, a sparse matrix or a data frame."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, int):
        Image.fromarray(np.random.default_rng(content).integers(0, 255, (20, 24, 3), dtype=np.uint8)).save(path)
    elif isinstance(content, np.ndarray):
        (np.save if path.suffix == ".npy" else np.savez)(path, content)
    elif sparse.issparse(content):
        sparse.save_npz(path, content)
    elif isinstance(content, pd.DataFrame):
        content.to_parquet(path) if path.suffix == ".parquet" else content.to_csv(path, index=False)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def clutter(draw: Draw, made: Folder) -> None:
    """Add hidden files, and files that operating systems create. Some are copies of a data file."""
    path, content = Path(made.main), made.files[made.main]
    for place in (".ipynb_checkpoints", "__MACOSX", "@eaDir", "#recycle", ".Trash-1000", "lost+found"):
        if draw.chance(0.25):
            name = draw.one_of(path.name, f"{path.stem}-checkpoint{path.suffix}", f"._{path.name}")
            made.files[f"{place}/{name}"] = content
    for name in ("Thumbs.db", "desktop.ini", ".DS_Store", f"._{path.name}", f"{path.name}~"):
        if draw.chance(0.15):
            made.files[name] = "left behind"


# Pictures


def classes(draw: Draw) -> Folder:
    """Create pictures in class folders, one folder per class."""
    below, made = draw.one_of("", "images/", "data/"), Folder()
    names = [draw.in_form(name) for name in draw.one_of(WORDS, ("Café", "Bär", "Meer"))]
    kept = [unicodedata.normalize("NFC", name) for name in names]
    of_splits = ("train/", "test/"), ("training_set/", "test_set/"), ("train2017/", "val2017/", "extra/")
    parts = draw.one_of(*of_splits) if draw.chance(0.3) else ("",)
    for k, name in enumerate(names):
        for i in range(12):
            path = f"{parts[i % len(parts)]}{name}/{name}{i:02}.png"
            made.files[below + path], made.labels[path] = 100 * k + i, {kept[k]}
            made.splits |= {path: "test"} if path.startswith(("test", "val")) else {}
    made.main = f"{below}{path}"
    if len(parts) == 3:
        made.labels = None
    elif len(parts) == 1 and draw.chance(0.3):  # a picture in two classes
        first, second = f"{names[0]}/{names[0]}00.png", f"{names[1]}/also.png"
        made.files[below + second] = 0
        made.labels[min(first, second)] = made.labels.pop(first) | {kept[1]}
    return made


def csv(rows: Iterable[Sequence[str]], sign: str = ",", header: Sequence[str] = ("image", "caption")) -> str:
    return "".join(sign.join(row) + "\n" for row in [header, *rows])


def drafts(rows: list[tuple[str, str]]) -> str:
    return csv((name, "a draft") for name, _ in rows)


def coco(rows: list[tuple[str, str]]) -> str:
    images = [{"id": i, "file_name": name} for i, (name, _) in enumerate(rows)]
    notes = [{"id": i, "image_id": i, "caption": text} for i, (_, text) in enumerate(rows)]
    return json.dumps({"images": images, "annotations": notes})


SPLITS = np.resize(["train", "train", "validation", "test"], 36).tolist()
CAPTIONS: dict[str, Callable[[list[tuple[str, str]]], dict[str, Any]]] = {  # the files with names and captions
    "csv": lambda rows: {"captions.csv": csv(rows)},
    "semicolon": lambda rows: {"captions.csv": csv(rows, ";")},
    "tab": lambda rows: {"captions.csv": csv(rows, "\t")},
    "byte order mark": lambda rows: {"captions.csv": "\ufeff" + csv(rows)},
    "latin": lambda rows: {"captions.csv": csv([(name, "déjà") for name, _ in rows]).encode("cp1252")},
    "split": lambda rows: {
        "captions.csv": csv(
            [(*row, split) for row, split in zip(rows, SPLITS, strict=True)], ",", ["image", "x", "split"]
        )
    },
    "token": lambda rows: {"tokens.txt": "".join(f"{name}#0\t{text}\n" for name, text in rows)},
    "results": lambda rows: {
        "results.csv": csv(
            [(n, " 0", f" {text}") for n, text in rows], "|", ["image_name", " comment_number", " comment"]
        )
    },
    "parquet": lambda rows: {"captions.parquet": pd.DataFrame(rows, columns=["file_name", "text"])},
    "coco": lambda rows: {"annotations/captions_all.json": coco(rows)},
    "two files": lambda rows: {"captions_a.csv": csv(rows[:20]), "captions_b.csv": csv(rows[20:])},
    "a draft": lambda rows: {"captions.csv": csv(rows), "captions old.csv": drafts(rows)},
    "a copy": lambda rows: {"captions.csv": csv(rows), "captions (copy).csv": drafts(rows)},
}


def pictures(draw: Draw) -> tuple[str, list[str]]:
    """Return a folder of pictures, and the names of the pictures in it."""
    word = draw.one_of("img", "img", "naïve")
    return draw.one_of("", "images/", "train2017/"), [draw.in_form(f"{word}{i:02}.png") for i in range(36)]


def captions(draw: Draw) -> Folder:
    """Create pictures with captions in one of several file formats, or in two files."""
    below, names = pictures(draw)
    texts = {name: f"a {WORDS[i % 3]} there" for i, name in enumerate(names)}
    rows = [(draw.in_form(name), text) for name, text in texts.items()]
    form = draw.one_of(*CAPTIONS)
    files = CAPTIONS[form](rows)
    made = Folder({below + name: i for i, name in enumerate(names)} | files, main=next(iter(files)))
    made.labels = {name: {text} for name, text in texts.items()}
    if form == "split":
        made.splits = dict(zip(names, SPLITS, strict=True))
    if draw.chance(0.2):
        made.files["old/captions.csv"] = drafts(rows)
    if form == "latin" or ("old/captions.csv" in made.files and "/" in made.main):  # the draft cannot be distinguished
        made.labels = None
    return made


def tags(draw: Draw) -> Folder:
    """Create pictures with tags in a table, in text files or in sidecars."""
    below, names = pictures(draw)
    own = {name: [tag for k, tag in enumerate(TAGS) if (5 * i + 3) >> k & 1] for i, name in enumerate(names)}
    made = Folder({below + name: i for i, name in enumerate(names)}, {name: {*some} for name, some in own.items()})
    form, sign = draw.one_of("table", "beside", "sidecars"), draw.one_of(";", ", ", " | ")
    if form == "table":
        header = draw.one_of("image", "SourceFile", "x"), draw.one_of("tags", "Keywords", "caption")
        cells = [(f'"{draw.in_form(name)}"', f'"{sign.join(some)}"') for name, some in own.items()]
        made.files["tags.csv"] = csv(cells, "\t", header)
    elif form == "beside":
        made.files |= {f"{below}{Path(name).stem}.txt": sign.join(some) for name, some in own.items()}
    else:
        own = {name: "".join(f"<rdf:li>{tag}</rdf:li>" for tag in some) for name, some in own.items() if some}
        made.files |= {f"{below}{draw.one_of(Path(name).stem, name)}.xmp": XMP.format(s) for name, s in own.items()}
        made.labels = {name: made.labels[name] for name in own}
    made.main = list(made.files)[-1]
    return made


# Tables


def among(words: Sequence[str], has: np.ndarray) -> list[set[str]]:
    return [{word for word, one in zip(words, row, strict=True) if one} for row in has]


def columns_of(
    draw: Draw, form: str, words: Sequence[str], has: np.ndarray, codes: np.ndarray
) -> tuple[dict[str, Any], list[set[str]], list[set[str]]]:
    """Return columns of labels, the labels of each row and the unknown labels.

    words, has: the labels, and which of them each row has.
    codes: the number of a label of each row, if each row has a single one.
    """
    own = among(words, has)
    if form in ("tasks", "unknown"):
        hidden = (draw.rng.random(has.shape) < 0.1) & (form == "unknown")
        columns = pd.DataFrame(has.astype(int), columns=list(words))
        columns = columns.astype(object).mask(hidden) if hidden.any() else columns
        return dict(columns), among(words, has & ~hidden), among(words, hidden)
    if form in ("classes", "numbers"):
        names = np.array(WORDS if form == "classes" else (3, 7, 12))[codes]
        return {draw.one_of("label", "class", "species", "y"): names}, [{str(name)} for name in names], [set()] * N
    empty, forms = draw.one_of("", "NA", "None", "nan"), (str, json.dumps, lambda s: str(np.array(s)), repr)
    cells: dict[str, list[Any]] = {
        "tags": [";".join(sorted(some)) or empty for some in own],
        "lists": [[*sorted(some), *[None] * draw.chance(0.2)] for some in own],
        "text lists": [draw.one_of(*forms)([draw.one_of(np.str_, str)(word) for word in sorted(some)]) for some in own],
    }
    return {draw.one_of("tags", "labels"): cells[form]}, own, [set()] * N


FEATURES: dict[str, tuple[str, Callable[[pd.DataFrame], Any]]] = {  # the ending of the file, and its content
    "npy": ("npy", lambda table: table.to_numpy()),
    "npz": ("npz", lambda table: table.to_numpy()),
    "sparse": ("npz", lambda table: sparse.csr_matrix(table.to_numpy())),
    "csv": ("csv", lambda table: table),
    "parquet": ("parquet", lambda table: table),
    "embedding": ("parquet", lambda table: pd.DataFrame({"embedding": table.to_numpy().tolist()})),
}
LABELS = ("tasks", "unknown", "tags", "lists", "text lists", "classes", "numbers")
GROUPS = ("patient", "Patient ID", "subjectNumber", "session_id", "burst")


def more_columns(draw: Draw, made: Folder, rows: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Return columns beside the labels, and the names that they give the rows."""
    columns: dict[str, Any] = {
        "smiles": [f"C{'C' * i}O" for i in range(N)],
        "age": draw.rng.integers(18, 80, N),
        "id": [f"s{i:03}" for i in range(N)],
        "split": np.resize(["train", "train", "val", "test"], N),
        draw.one_of(*GROUPS): [draw.one_of("p{}", "{}").format(i) for i in range(N // 3)] * 3,
    }
    columns = {name: cells for name, cells in columns.items() if draw.chance(0.2)}
    rows = columns.get("id", rows)
    if "split" in columns:
        made.splits = {row: {"val": "validation"}.get(s, s) for row, s in zip(rows, columns["split"], strict=True)}
    for name in columns.keys() & {*GROUPS}:
        made.groups = dict(zip(rows, columns[name], strict=True))
    return columns, rows


def parts_of(draw: Draw, made: Folder, rows: list[str]) -> dict[str, slice]:
    """Return the rows in each of several files, by the part of their names: a file, one per split, or numbered ones."""
    if not made.splits and draw.chance(0.25):
        middle = draw.one_of("val", "valid", "dev")
        parts = {"train": slice(0, 30), middle: slice(30, 40), "test": slice(40, N)}
        for name, part in parts.items():
            made.splits |= dict.fromkeys(rows[part], "validation" if name == middle else name)
        return parts
    parts = {f"{i:05}-of-00003": slice(20 * i, 20 * i + 20) for i in range(3)}
    if draw.chance(0.2):  # a part is missing
        del parts[draw.one_of(*parts)]
    return parts if draw.chance(0.15) else {"": slice(0, N)}


def name_of(word: str, part: str, end: str, part_first: bool) -> str:
    both = [part, word] if part_first and not part[:1].isdigit() else [word, part]
    return "_".join(filter(None, both)).replace("_0", "-0") + f".{end}"


def tables(draw: Draw) -> Folder:
    """Create features and labels in files of all kinds."""
    X = draw.rng.normal(size=(N, N_FEATURES)).astype(np.float32)
    has, codes, made = X[:, :3] > 0, X[:, :3].argmax(axis=1), Folder(X=X)
    form, words = draw.one_of(*LABELS), draw.one_of(*[WORDS] * 4, ("file", "dog", "sea"))
    columns, own, hidden = columns_of(draw, form, words, has, codes)
    more, rows = more_columns(draw, made, [f"row {i + 1}" for i in range(N)])
    made.labels, made.unknown = dict(zip(rows, own, strict=True)), dict(zip(rows, hidden, strict=True))
    parts, labels = parts_of(draw, made, rows), pd.DataFrame(columns | more)
    features = pd.DataFrame(X, columns=[f"f{j}" for j in range(N_FEATURES)])
    if form in ("tags", "classes") and more.keys() <= {*GROUPS} and draw.chance(0.3):  # one table
        both = features.join(labels)
        made.files = {f"{part or 'table'}.csv": both[own] for part, own in parts.items()}
        made.main = next(iter(made.files))
        return made
    kind, first = draw.one_of(*FEATURES), draw.one_of(True, False)
    ending, content = labels_file(draw, form, words, labels, more, made)
    if kind in ("csv", "parquet") and form in ("tasks", "unknown") and draw.chance(0.2):  # labels among the features
        features = features.assign(**{name: labels[name] for name in columns})
    if kind in ("csv", "parquet") and ending != "npy" and draw.chance(0.1):  # rows in another order, which nobody knows
        features["image_id"], labels["image_id"], made.labels = range(N), range(N)[::-1], None
    for part, own in parts.items():
        made.files[name_of("features", part, FEATURES[kind][0], first)] = FEATURES[kind][1](features[own])
        made.main = name_of("labels", part, ending, first)
        made.files[made.main] = content(labels[own])
    copies(draw, made)
    return made


def labels_file(
    draw: Draw, form: str, words: Sequence[str], labels: pd.DataFrame, more: dict[str, Any], made: Folder
) -> tuple[str, Callable[[pd.DataFrame], Any]]:
    """Choose the ending of the file of labels, and return it with the function that gives its content."""
    if form == "lists" or (form != "text lists" and draw.chance(0.4)):
        return "parquet", lambda table: table
    if form in ("tasks", "numbers") and not more and words == WORDS and draw.chance(0.3):
        dtype = draw.one_of("<i8", ">i4", "f4", "f2", "u1")
        numbers = {word: f"label {i + 1}" for i, word in enumerate(labels)} if form == "tasks" else {}
        made.labels = {row: {numbers.get(word, word) for word in own} for row, own in made.labels.items()}
        return "npy", lambda table: table.to_numpy().astype(dtype)[:, 0 if form == "numbers" else slice(None)]
    sign = draw.one_of(",", ";", "\t") if form != "tags" else ","
    return "csv", lambda table: table.to_csv(index=False, sep=sign)


def copies(draw: Draw, made: Folder) -> None:
    """Add a copy of a file of labels, and an older version in a folder."""
    path = Path(made.main)
    for name in (f"{path.stem}{draw.one_of(' (copy)', ' copy', ' (1)', '_old')}{path.suffix}", f"old/{path}"):
        if draw.chance(0.15):
            made.files[name] = made.files[made.main]


# Checks


def sets_of(captions: pd.DataFrame) -> dict[str, set[str]]:
    return captions.groupby("image")["caption"].agg(set).to_dict()


def differences(made: Folder, entry: dict[str, Any]) -> Iterator[str]:
    """Yield the differences between the data that a dataset's settings lead to and the data of the case."""
    pictures = pick("datasets", entry["loader"]).SHOWS == "pictures"
    read = pick("datasets", entry["loader"]).read(**entry["options"], **({"smallest_side": 8} if pictures else {}))
    names = read.images["image"].tolist()
    base = os.path.commonpath([os.path.dirname(name) for name in made.labels]) if pictures and not made.splits else ""
    expected = {name.removeprefix(f"{base}/") if base else name: own for name, own in made.labels.items()}
    if set(names) != set(expected):
        yield f"samples {sorted(set(names) ^ set(expected))[:4]}"
    known = read.captions.get("known", pd.Series(True, read.captions.index)).astype(bool)
    split = dict(zip(names, read.images["split"], strict=True))
    for what, got, wanted, given in (
        ("labels", sets_of(read.captions[known]), expected, names),
        ("unknown labels", sets_of(read.captions[~known]), made.unknown, names),
        ("splits", split, made.splits, made.splits),
    ):
        wrong = [name for name in given if got.get(name, set()) != wanted.get(name, set())]
        if wrong:
            yield f"{len(wrong)} {what}, {wrong[0]}: {got.get(wrong[0])}, not {wanted.get(wrong[0])}"
    if made.X is not None:
        X = read.X.toarray() if sparse.issparse(read.X) else np.asarray(read.X)
        if X.shape != made.X.shape or not np.allclose(X, made.X, atol=1e-6):
            yield f"features {X.shape}"
    yield from differences_of_groups(made, read.images)


def differences_of_groups(made: Folder, images: pd.DataFrame) -> Iterator[str]:
    if ("group" in images) != bool(made.groups):
        yield f"groups in {list(images)}"
    elif made.groups:
        own = images["group"], pd.Series([made.groups[name] for name in images["image"]])
        n_torn = images.groupby("group")["split"].nunique().gt(1).sum()
        if not np.array_equal(*(pd.factorize(groups)[0] for groups in own)) or (n_torn and not made.splits):
            yield f"other groups, or {n_torn} groups in several splits"


def case(kind: Callable[[Draw], Folder], rng: np.random.Generator, folder: Path) -> None:
    """Create a folder, and compare what `init` and the reader make of it."""
    draw = Draw(rng)
    made = kind(draw)
    clutter(draw, made)
    for name, content in made.files.items():
        write(folder / "data" / name, content)
    os.chdir(folder)
    warnings.simplefilter("ignore")
    try:
        config.write(folder / "data", Path("config.yaml"), WORKFLOW)
        (entry,) = yaml.safe_load(Path("config.yaml").read_text(encoding="utf-8"))["datasets"].values()
        found = ["read, and not refused"] if made.labels is None else list(differences(made, entry))
    except Exception as error:
        harness.refuse(error)
    harness.require(not found, "; ".join(found))


KINDS = {kind.__name__: partial(case, kind) for kind in (classes, captions, tags, tables)}

if __name__ == "__main__":
    sys.exit(harness.run(KINDS, harness.parser(__doc__, 500).parse_args(), seconds=60))

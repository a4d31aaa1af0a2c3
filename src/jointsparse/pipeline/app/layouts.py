"""The layouts of folders that `init` knows, and what it makes of each: a loader with its options."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from jointsparse.checks import require
from jointsparse.pipeline.app.columns import Column, NoLabels, copies_of_labels, group_in, roles_of, roles_of_table
from jointsparse.pipeline.datasets import records
from jointsparse.pipeline.datasets.checker import ask
from jointsparse.pipeline.datasets.folder import SUFFIXES
from jointsparse.pipeline.datasets.names import Files, files_of, finder
from jointsparse.pipeline.datasets.records import Columns
from jointsparse.pipeline.datasets.rows import OF_TEXT, rows_of
from jointsparse.pipeline.datasets.splits import ALIASES, SPLIT_NAMES
from jointsparse.pipeline.datasets.tabular import KINDS, TABLES, columns_of, text_of
from jointsparse.registry import pick

# Patterns that recognise the content of a file by its name, from which splits and part numbers have been removed.
FEATURES, OF_LABELS, LIBSVM, IDX = (
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        "feature|embed|vector|^x$",
        "label|tag|target|^y$",
        r"\.(libsvm|svmlight|svm)(\.gz|\.bz2)?$",
        r"(?:^|/)[^/]*(train|test|t10k)[^/]*(image|label)s?[^/]*idx[13][^/]*$",
    )
)
# A word for a split in a file name, with no letters next to it.
OF_SPLIT = re.compile(r"(?<![a-z])(training|train|validation|valid|val|dev|testing|test)(?![a-z])", re.IGNORECASE)
# A word or abbreviation for a split that is joined to a word for the content, as in Xtrain, X_tr or testlabels.
SHORT = {"trn": "train", "tr": "train", "tst": "test", "te": "test"}
HELD, WORD = "x|y|features?|labels?|embeddings?|targets?|tags?", "|".join([*SPLIT_NAMES, *ALIASES, *SHORT])
JOINED = re.compile(rf"(?<![a-z])(?:({HELD})[_.-]?({WORD})|({WORD})[_.-]?({HELD}))(?![a-z])", re.IGNORECASE)
NAMES = re.compile(r"((features?|columns?|x)[-_. ]?)?names\.txt", re.IGNORECASE)  # a file with the feature names
OF_SVM_SPLIT = re.compile(r"[_.-](tr|t|te)(?=$|\.)", re.IGNORECASE)  # splits in the file names of LIBSVM's collection
# The number of a part at the end of a file name, and perhaps the number of parts, as in features-00000-of-00003.
PART = re.compile(r"(?:[-_. ]?part)?[-_. ]?(?<=[-_. t])(\d+)(?:[-_. ]?of[-_. ]?(\d+))?$", re.IGNORECASE)
OF_LIBSVM = {  # what a file holds, by the option of the loader `libsvm`
    "train": "training samples",
    "validation": "validation samples",
    "test": "test samples",
    "topics": "names of the topics",
    "vocabulary": "names of the features",
}
OF_FILES = ("features", "labels", "captions")  # options by which the user chooses a file
OF_TABLES = (*KINDS, ".tsv", ".jsonl", ".json")  # suffixes of files with features or labels
BESIDE = (".txt", ".caption", ".tags")  # suffixes of text files beside pictures
LOOKED_AT = 60  # pictures in which `init` looks for tags, before it reads all of them
POINTER = b"version https://git-lfs.github.com/spec/"  # the beginning of a file of Git LFS that has not been fetched
ELSEWHERE = {  # how to convert a file of a format that is not read, by its suffix
    ".arff": "import pandas, scipy.io; "
    "pandas.DataFrame(scipy.io.arff.loadarff(FILE)[0]).to_csv('table.csv', index=False)",
    ".h5ad": "import anndata, numpy; a = anndata.read_h5ad(FILE); numpy.save('features.npy', a.X); "
    "a.obs.to_csv('labels.csv', index=False)",
    ".xlsx": "import pandas; pandas.read_excel(FILE).to_csv('table.csv', index=False)",
}
OF_PICTURES = (
    "import pathlib, pandas; t = pandas.read_parquet(FILE); t['image'] = [pathlib.Path(f'{i}.jpg').write_bytes("
    "c['bytes']) and f'{i}.jpg' for i, c in enumerate(t['image'])]; t.to_csv('metadata.csv', index=False)"
)


class Folder(NamedTuple):
    """A folder of data: the names of its pictures and other files, and the user's choices, see `config.write`."""

    root: Path
    pictures: Sequence[str]
    others: Sequence[str]
    choices: Mapping[str, Any]


class Found(NamedTuple):
    """The content of a folder of data.

    Attributes
    ----------
    loader, options
        The loader that reads the folder, and its options.
    images, captions
        The tables that were read, see `datasets.samples`.
    said
        A short description of the content, for the user.
    lines
        Lines for the user, which say how each file was interpreted.
    used
        The files that the loader reads.
    """

    loader: str
    options: dict[str, Any]
    images: pd.DataFrame
    captions: pd.DataFrame
    said: str
    lines: list[str]
    used: set[str]


class Layout(NamedTuple):
    """A layout of a folder.

    Attributes
    ----------
    name
        Its name, as the option `--layout` of `init` has it.
    looks
        What it looks like.
    becomes
        What `init` makes of it: the loader and its options.
    found
        Function that returns what a folder holds, or None if the folder does not have this layout.
    """

    name: str
    looks: str
    becomes: str
    found: Callable[[Folder], Found | None]


def found_in(folder: Folder) -> Found:
    """Return what a folder holds.

    Of the layouts in `LAYOUTS`, tables come first; of the others, only one may fit. Raises ValueError if the folder has
    no layout, or if it has several of these.
    """
    _require_readable(folder)
    chosen = folder.choices.get("layout")
    require(
        chosen in (None, *(layout.name for layout in LAYOUTS)),
        f"--layout must be one of {', '.join(layout.name for layout in LAYOUTS)}, got {chosen!r}",
    )
    faults = list[ValueError]()
    fits = dict[str, Found]()
    for layout in LAYOUTS:
        if chosen in (None, layout.name) and not (fits and layout.name not in WITHOUT_TABLE):
            try:
                found = layout.found(folder)
            except NoLabels as error:
                faults.append(error)
            else:
                fits |= {layout.name: found} if found else {}
                if found and layout.name not in WITHOUT_TABLE:
                    break
    if not fits:
        _require_forms(folder)
        require(not faults, str(faults[0]) if faults else "")
        raise ValueError(_nothing_fits(folder))
    said = " or ".join(f"--layout {name}, {found.said}" for name, found in fits.items())
    require(len(fits) == 1, f"{folder.root} could be read in several ways: choose one with {said}")
    return next(iter(fits.values()))


def _nothing_fits(folder: Folder) -> str:
    got = ", ".join([*folder.others[:3], *folder.pictures[:3]]) or "no file"
    return (
        f"init expects {folder.root} to hold pictures with captions.csv (image,caption), another table that names "
        "them, or captions as JSON in the format of COCO or Karpathy, or pictures in one folder per class (at least "
        f"two classes), or features (.npy, .npz, .parquet or .csv) and labels, or libsvm files, got {got}"
    )


def _require_readable(folder: Folder) -> None:
    """Raise ValueError if files are only pointers to their content, or have a format that has to be converted."""
    root = folder.root
    for name in [*folder.pictures[:9], *folder.others]:
        with suppress(OSError):
            path = root / name
            if path.is_file() and path.stat().st_size < 1024:
                with path.open("rb") as file:
                    is_pointer = file.read(len(POINTER)) == POINTER
                require(not is_pointer, f"{path} is only a pointer of Git LFS: fetch the files with git lfs pull")


def _require_forms(folder: Folder) -> None:
    """Raise ValueError if a file seems to hold captions, features or labels in a format that has to be converted."""
    types = tuple(dict.fromkeys((*KINDS, *records.SUFFIXES)))
    for name in folder.others:
        path = PurePosixPath(name)
        stem, how = path.name.partition(".")[0].lower(), ELSEWHERE.get(path.suffix.lower(), "")
        called = "caption" in stem or FEATURES.search(stem) or OF_LABELS.search(stem)
        require(
            path.name.lower().endswith(types) or not (called or how),
            f"captions, features and labels must be in files of type {', '.join(types)}, got {folder.root / name}: "
            f"convert it to one of these types{', with Python: ' * bool(how)}{how}",
        )


# Files that belong together


def _stem(file: str, *, svm: bool = False) -> str:
    return LIBSVM.sub("", file) if svm else str(PurePosixPath(file).with_suffix(""))


class _Place(NamedTuple):
    """The place of a file in a dataset of several files, as inferred from the file's name.

    stem: the name without its split and part number. split: the split, or None if the name contains none. part: the
    part number, or None if the name contains none.
    """

    stem: str
    split: str | None
    part: int | None


def _place(file: str, *, svm: bool = False) -> _Place:
    stem = _stem(file, svm=svm)
    number = PART.search(PurePosixPath(stem).name)
    stem = stem[: len(stem) - len(number[0])] if number else stem
    if joined := JOINED.search(stem):
        held, word, first, after = (text or "" for text in joined.groups())
        word = (word or first).lower()
        stem = f"{stem[: joined.start()]}{held or after} {SHORT.get(word, word)}{stem[joined.end() :]}"
    named = list(OF_SPLIT.finditer(stem)) or (list(OF_SVM_SPLIT.finditer(stem)) if svm else [])
    if not named:
        return _Place(stem.strip(" _.-"), None, int(number[1]) if number else None)
    word = named[-1][1].lower()
    split = {"tr": "train", "t": "test", "te": "test"}.get(word, ALIASES.get(word, word))
    rest = stem[: named[-1].start()] + stem[named[-1].end() :]
    return _Place(re.sub("[ _.-]+", " ", rest).strip(), split, int(number[1]) if number else None)


def _chosen(files: Sequence[str], option: str, *, svm: bool = False) -> Files:
    """Return the file to use for an option, or several files if they are the splits or parts of one table.

    Files in a subfolder are considered only if no file in a folder above it fits. Raises ValueError if several files
    fit but are not splits or parts of one table.
    """
    depth = min(file.count("/") for file in files)
    top = [file for file in files if file.count("/") == depth]
    if len(top) == 1:
        _require_all_parts(top, option, svm=svm)
        return top[0]
    places = {file: _place(file, svm=svm) for file in top}
    stems, splits = {place.stem for place in places.values()}, {place.split for place in places.values()}
    # In LIBSVM's collection, media.svm holds the training samples if there is a file media_t.svm.
    if svm and None in splits and "train" not in splits and len(splits) > 1:
        places = {file: place._replace(split=place.split or "train") for file, place in places.items()}
        splits = {place.split for place in places.values()}
    by_split = {split: [file for file in top if places[file].split == split] for split in sorted(splits, key=str)}
    in_parts = any(len(parts) > 1 for parts in by_split.values())
    numbered = all(place.part is not None for place in places.values())
    distinct = len(set(places.values())) == len(places)
    all_or_none_named = None not in splits or splits == {None}  # either every file names a split or none does
    of_one_table = len(stems) == 1 and distinct and all_or_none_named and (not in_parts or (numbered and not svm))
    choice = f"choose one with --{option} FILE, or " if option in OF_FILES else ""
    require(
        of_one_table,
        f"{'samples' if svm else option} must be in one file, or in files named after splits or part numbers, but "
        f"several files could hold them: {', '.join(top)}. To continue, {choice}leave some out with --ignore FILE",
    )
    by_split = {split: sorted(parts, key=lambda file: places[file].part or 0) for split, parts in by_split.items()}
    for parts in by_split.values():
        _require_all_parts(parts, option, svm=svm)
    whole = {split: parts if len(parts) > 1 else parts[0] for split, parts in by_split.items()}
    return whole[None] if None in whole else _with_test({key: whole[key] for key in SPLIT_NAMES if key in whole})


def _require_all_parts(files: Sequence[str], option: str, *, svm: bool) -> None:
    """Raise ValueError unless the parts are numbered from 0 or 1 without a gap, up to the total in their names."""
    parts = [part for file in files if (part := PART.search(PurePosixPath(_stem(file, svm=svm)).name))]
    numbers, totals = sorted(int(part[1]) for part in parts), [int(part[2]) for part in parts if part[2]]
    total = max(totals, default=len(parts))
    require(
        numbers in (list(range(total)), list(range(1, total + 1))) or (len(files) == 1 and not totals),
        f"the parts of {option} must be numbered from 0 or 1 without a gap, got {', '.join(files)}: add the missing "
        "parts, or renumber the files",
    )


def _with_test(by_split: dict[Any, Any]) -> dict[Any, Any]:
    """Return the files by split. If there are no test files, the validation files take their place."""
    without_test = by_split.keys() == {"train", "validation"}
    return {"train": by_split["train"], "test": by_split["validation"]} if without_test else by_split


# Tables of features


def _libsvm(folder: Folder) -> Found | None:
    svm = [name for name in folder.others if LIBSVM.search(name)]
    if not svm or folder.choices.keys() & {"features", "labels"}:
        return None
    options: dict[str, Any] = {split or "train": file for split, file in files_of(_chosen(svm, "train", svm=True))}
    options |= {key: f"{key}.txt" for key in ("topics", "vocabulary") if f"{key}.txt" in folder.others}
    lines = [f"{file}: {OF_LIBSVM[option]}" for option, file in options.items()]
    return _read(folder, "libsvm", options, lines, set(options.values()))


def _idx(folder: Folder) -> Found | None:
    options = dict[str, Any]()
    for name in folder.others:
        if (match := IDX.search(name)) and match[2]:
            split = "train" if match[1].lower() == "train" else "test"
            options.setdefault(f"{split}_{match[2].lower()}s", name)
    if len(options) < 4:
        return None
    lines = [
        f"{file}: {option.replace('_', 'ing ', option.startswith('train')).replace('_', ' ')}"
        for option, file in options.items()
    ]
    return _read(folder, "idx", options, lines, set(options.values()))


def _features(folder: Folder) -> Found | None:
    """Return features in files of their own or, if there is no other table, in the table of labels."""
    choices, tables = (
        folder.choices,
        [name for name in folder.others if name.lower().endswith(OF_TABLES)],
    )
    stems = {name: _place(PurePosixPath(name).name).stem for name in tables if name != "splits.csv"}
    labels = [choices["labels"]] if "labels" in choices else [name for name in stems if OF_LABELS.search(stems[name])]
    named = [name for name in stems if FEATURES.search(stems[name]) and name not in labels]
    features = named or [
        name for name in stems if name not in labels and name.lower().endswith((".npy", ".npz", ".parquet"))
    ]
    features = [choices["features"]] if "features" in choices else features
    labels = labels or [name for name in stems if name not in features and not folder.pictures]
    if not (features and labels) and not folder.pictures:
        both = [name for name in features or labels if name.lower().endswith(TABLES)]
        features = labels = both
        for name in both[:1]:
            _require_no_pictures_in(folder.root / name)
    if not (features and labels):
        return None
    of_features = _chosen(features, "features")
    of_labels = of_features if features == labels else _chosen(labels, "labels")
    options, lines = roles_of(folder.root, of_features, of_labels, choices)
    options = {"features": of_features, "labels": of_labels} | options
    if names := [name for name in folder.others if NAMES.fullmatch(PurePosixPath(name).name)]:
        options["names"] = _chosen(names, "names of features")
        lines.append(f"{options['names']}: names of the features")
    used = {file for key in ("features", "labels", "names") for _, file in files_of(options.get(key, []))}
    found = _read(folder, "arrays", options, list(dict.fromkeys(lines)), used)
    read = pick("datasets", "arrays").read(folder.root, **options)
    if copies := copies_of_labels(read.X, read.images, read.captions):
        first = files_of(options["features"])[0][1]
        every = pick("datasets", "arrays").feature_names(folder.root, **options)
        copied = [every[i] if every else f"column {i + 1}" for i in copies]
        if set(copied) <= set(columns_of(folder.root / first)) and "names" not in options:
            again = _features(folder._replace(choices={**choices, "ignore": [*choices.get("ignore", []), *copied]}))
            line = f"{first}: {', '.join(copied)}: left out, because they copy labels"
            return again and again._replace(lines=[*again.lines, line])
        found.lines.append(f"{first}: {', '.join(copied)}: seem to copy labels; if they do, remove them from the file")
    return found


def _require_no_pictures_in(path: Path) -> None:
    """Raise ValueError if a table holds pictures as bytes, as Hugging Face stores them."""
    holds = False
    if path.suffix.lower() == ".parquet":
        with suppress(Exception):  # a file that cannot be read is reported where it is read
            kinds = [field.type for field in parquet.read_schema(path) if pa.types.is_struct(field.type)]
            holds = any("bytes" in [kind.field(i).name for i in range(kind.num_fields)] for kind in kinds)
    require(not holds, f"{path} holds pictures, which must be files: convert it with Python: {OF_PICTURES}")


def _read(folder: Folder, loader: str, options: dict[str, Any], lines: list[str], used: set[str]) -> Found:
    """Read samples with features."""
    read = pick("datasets", loader).read(folder.root, **options)
    n, d = read.X.shape
    said = f"{n:,} samples with {d:,} feature{'s' * (d != 1)}"
    return Found(loader, options, read.images, read.captions, said, lines, used)


# Photographs


def _table(folder: Folder) -> Found | None:
    """Return photographs whose captions or tags are in files that name them."""
    if not folder.pictures:
        return None
    tables = _tables_of_pictures(folder)
    if not tables:
        return None
    first, kinds = next(iter(tables)), {file: "caption" in table.options for file, table in tables.items()}
    if len({*kinds.values()}) > 1:
        of_captions = [file for file in tables if "caption" in file.lower() and kinds[file]]
        require(
            of_captions,
            f"{' and '.join(tables)} hold captions and tags: choose one with --captions FILE or --labels FILE",
        )
        tables, first = {file: tables[file] for file in of_captions}, of_captions[0]
    top: list[str] = []
    for file, table in tables.items():
        for other in top:
            image = _contradiction(tables[other].labels, table.labels)
            require(
                not image,
                f"{other} and {file} give different captions for {image!r}: choose one of the two files with "
                f"--{'captions' if kinds[file] else 'labels'} FILE, or leave one out with --ignore FILE",
            )
        if not any(table.rows <= tables[other].rows for other in top):
            top.append(file)
        require(
            table.options == tables[first].options,
            f"{first} and {file} must have the same columns of labels, got {tables[first].options} and "
            f"{table.options}: leave one of the files out with --ignore FILE",
        )
    images = _common([tables[file].images for file in top])
    options = tables[first].options
    places = {file: _place(file) for file in top}
    splits = {place.split for place in places.values()}
    by_split = len({place.stem for place in places.values()}) == 1 and None not in splits and "train" in splits
    files: Files = top[0] if len(top) == 1 else top
    if by_split and "split" not in options and len(splits) == len(top) > 1:
        files = _with_test({split: file for split in SPLIT_NAMES for file in top if places[file].split == split})
    loader, option = ("photos", "captions") if kinds[first] else ("tagged", "labels")
    said = f"with {'captions' if loader == 'photos' else 'tags'} in {' and '.join(f for _, f in files_of(files))}"
    notes = {file: tables[file].notes for file in top}
    prefix = "" if images == "." else f"{images}/"
    rows = {file: {str(name).removeprefix(prefix) for name in tables[file].labels.index} for file in top}
    own = {"images": images, option: files} | options
    return _pictures(folder, loader, own, said, {*top, "splits.csv"}, notes, rows)


class _Table(NamedTuple):
    """A table of photographs: its options, its rows, the labels that it gives each image, and notes for the user."""

    options: dict[str, Any]
    rows: set[Any]
    labels: pd.Series
    images: str
    notes: list[str]


def _tables_of_pictures(folder: Folder) -> dict[str, _Table]:
    """Return the tables that name pictures, of those in the folder that is nearest to the top."""
    root, choices, pictures = folder.root, folder.choices, {*folder.pictures}
    own = [choices[key] for key in ("captions", "labels") if key in choices]
    stems = {name.rpartition(".")[0] for name in folder.pictures}  # of text files beside pictures, which are no tables
    kinds = tuple(suffix for suffix in records.SUFFIXES if suffix != ".npy")
    names = [name for name in folder.others if name.lower().endswith(kinds) and name.rpartition(".")[0] not in stems]
    names = own or [name for name in names if name != "splits.csv"]
    tables, faults, misses = dict[str, Columns](), dict[str, str](), dict[str, str]()
    for file in names:
        try:
            table = records.read(root / file)
        except ValueError as error:
            faults[file] = str(error)
            continue
        find = finder(folder.pictures, os.path.dirname(file))
        texts = {
            name: [text_of(cell) for cell in cells if not isinstance(cell, list | dict)]
            for name, cells in table.items()
        }
        if any(find(text) in pictures for cells in texts.values() for text in cells):
            tables[file] = table
        elif named := [text for cells in texts.values() for text in cells if text.lower().endswith(SUFFIXES)]:
            misses[file] = min(named)
        elif own:
            faults[file] = f"{root / file} must have a column that names the pictures, got {', '.join(table)[:200]}"
    for file, fault in faults.items():
        if not tables and (own or "caption" in file.lower()):
            raise ValueError(fault)
    for file, name in misses.items():
        require(tables, f"{root / file} must name pictures in {root}, such as {folder.pictures[0]!r}, got {name!r}")
    depth = min((file.count("/") for file in tables), default=0)
    tables = {file: table for file, table in tables.items() if file.count("/") == depth}
    found, empty, choices = dict[str, _Table](), list[NoLabels](), {**folder.choices, **_group(folder, tables)}
    for file, table in tables.items():
        try:
            found[file] = _table_of_pictures(folder._replace(choices=choices), file, table)
        except NoLabels as error:
            empty.append(error)
    if empty and not found:
        raise empty[0]
    return found


def _group(folder: Folder, tables: Mapping[str, Columns]) -> dict[str, Any]:
    """Return the column of groups that all tables have, as a choice. A group may have rows in several tables."""
    choices = folder.choices
    taken = {*map(str, choices.values()), *choices.get("ignore", [])}
    common = set.intersection(*map(set, tables.values())) - taken if tables else set()
    if choices.keys() & {"group", "group_by"}:
        return {}
    cells = {name: [cell for table in tables.values() for cell in table[name]] for name in sorted(common)}
    return group_in(" and ".join(tables), [Column(name, of_name) for name, of_name in cells.items()])


def _table_of_pictures(folder: Folder, file: str, table: Columns) -> _Table:
    pictures = {*folder.pictures}
    find = finder(folder.pictures, os.path.dirname(file))
    choices = {key: value for key, value in folder.choices.items() if key not in OF_FILES}
    roles = roles_of_table(folder.root / file, table, choices, find=find, pictures=pictures)
    options = roles.options
    written = [text_of(cell) for cell in table[options["pictures"]]]
    images = [find(name) for name in written]
    shown = [name for name in (options.get("caption"), options.get("tags"), *roles.columns) if name]
    cells = list(zip(*([str(cell) for cell in table[name]] for name in shown), strict=True))
    labels = pd.Series(cells, index=images).groupby(level=0).agg(frozenset)
    split = table[options["split"]] if "split" in options else [""] * len(images)
    rows = set(zip(images, cells, map(str, split), strict=True))
    folders = {
        "/".join(image.split("/")[: -1 - name.count("/")])
        for image, name in zip(images, written, strict=True)
        if image in pictures
    }
    notes = roles.notes + [f"{', '.join(roles.unused[:3])}: left out"] * bool(roles.unused)
    return _Table(options, rows, labels, _common(folders), notes)


def _common(folders: Iterable[str]) -> str:
    """Return the folder that holds all of these folders."""
    return Path(os.path.commonpath([*folders] or [""])).as_posix()


def _contradiction(ours: pd.Series, theirs: pd.Series) -> str:
    """Return an image for which two tables have different labels, or "". One of the tables may be an older draft."""
    both = ours.index.intersection(theirs.index)
    differ = both[(ours[both].to_numpy() != theirs[both].to_numpy())]
    return str(differ[0]) if len(differ) else ""


def _beside(folder: Folder) -> Found | None:
    """Return photographs with a text file beside each of them."""
    others = {*folder.others}
    for suffix in BESIDE:
        n = sum(f"{name.rpartition('.')[0]}{suffix}" in others for name in folder.pictures)
        if 2 * n >= len(folder.pictures) > 0:
            rows = rows_of(folder.root, ".", f"*{suffix}", folder.pictures, pictures="")
            images = _common(os.path.dirname(name) for name in folder.pictures)
            column = Column(OF_TEXT, rows.table[OF_TEXT])
            if column.numbers() or all(re.fullmatch(r"[\d.\s-]*", text) for text in column.known):
                return None  # boxes of objects
            files = {f"{name.rpartition('.')[0]}{suffix}" for name in rows.images}
            said = f"in a {suffix} file beside each"
            if column.separators or column.is_classes():
                roles = roles_of_table(f"*{suffix}", rows.table, {"tags": OF_TEXT, **_meant(folder.choices)})
                options = {"images": images, "labels": f"*{suffix}", **roles.options}
                return _pictures(folder, "tagged", options, f"with tags {said}", files, {f"*{suffix}": roles.notes})
            return _pictures(
                folder,
                "photos",
                {"images": images, "captions": f"*{suffix}"},
                f"with captions {said}",
                files,
                {f"*{suffix}": []},
            )
    return None


def _meant(choices: Mapping[str, Any]) -> dict[str, Any]:
    return {key: choices[key] for key in ("separator", "none", "unknown") if key in choices}


def _keywords(folder: Folder) -> Found | None:
    """Return photographs of which at least half carry tags."""
    looked_at = folder.pictures[:: max(1, len(folder.pictures) // LOOKED_AT)]
    _, tags = ask(folder.root, looked_at, "tags", "all")
    n_tagged = sum(map(bool, tags.values()))
    if not n_tagged or 2 * n_tagged < len(looked_at):
        return None
    sidecars = {name for name in folder.others if name.lower().endswith(".xmp")}
    images = _common(os.path.dirname(name) for name in folder.pictures)
    options = {"images": images, "levels": "all"}
    return _pictures(folder, "keywords", options, "with tags in them or their sidecars", sidecars, {})


def _classes(folder: Folder) -> Found | None:
    """Return photographs in a folder per class, which may lie in folders of splits."""
    above = _common(os.path.dirname(name) for name in folder.pictures)
    names = [Path(name).relative_to(above).as_posix() for name in folder.pictures]
    if not names or not all("/" in name for name in names):
        return None
    classes = {name.split("/")[0] for name in names}
    of_splits = sorted(name for name in classes if _split_in(name))
    if (
        set(of_splits) == classes
        and "splits.csv" not in folder.others
        and (found := _split_folders(folder, above, names))
    ):
        return found
    # A folder that is named like a split counts as a class if it holds only pictures, if there are at least two other
    # classes, and if no folder is named after another split.
    deep = [name for name in names if name.split("/")[0] in of_splits and name.count("/") > 1]
    require(
        not of_splits or not (deep or len(classes) - len(of_splits) < 2 or _named_after_splits(names)),
        f"every folder must be a class, but of the folders {', '.join(sorted(classes)[:9])} some are named after "
        f"splits ({', '.join(of_splits[:9])}): put all pictures of a class into one folder and write splits.csv with "
        "the columns image,split, or run init on the folder of one split, or rename a folder that is a class",
    )
    return _pictures(folder, "scenes", {"images": above}, "", {"splits.csv"}, {})


def _split_folders(folder: Folder, above: str, names: Sequence[str]) -> Found | None:
    """Return photographs in a folder per class in a folder per split, such as train/cat/1.jpg."""
    if not all(name.count("/") > 1 for name in names):
        return None
    classes: dict[str, set[str]] = {}
    for name in names:
        first, second, *_ = name.split("/")
        classes.setdefault(first, set()).add(second)
    split_of = {name: _split_in(name) for name in classes}
    train = [name for name, split in split_of.items() if split == "train"]
    if len({*split_of.values()}) < len(split_of) or len(train) != 1 or len(split_of) < 2:
        return None
    if not all(own <= classes[train[0]] for own in classes.values()):
        return None
    by_split = _with_test({str(split): name for name, split in split_of.items()})
    options: dict[str, Any] = {"images": above, "split_folders": True}
    options |= (
        {} if all(ALIASES.get(n.lower(), n) == split for split, n in by_split.items()) else {"split_names": by_split}
    )
    return _pictures(folder, "scenes", options, "", set(), {})


def _pictures(
    folder: Folder,
    loader: str,
    options: dict[str, Any],
    said: str,
    used: set[str],
    notes: Mapping[str, Sequence[str]],
    rows: Mapping[str, set[str]] = {},
) -> Found:
    """Read the labels and splits of photographs, without opening the pictures.

    notes: for the user, by the file that they are about. rows: the pictures that each file describes.
    """
    root, images = folder.root, options["images"]
    require(
        not Path.cwd().is_relative_to((root / images).resolve()),
        f"results must not be written into the folder of the pictures, {root / images}: run init in another folder",
    )
    names = [
        name.removeprefix(f"{images}/") for name in folder.pictures if images == "." or name.startswith(f"{images}/")
    ]
    stems = [name.rpartition(".")[0] for name in names]
    again = len(stems) - len({*stems})
    options = options | ({"one_per_stem": True} if again else {}) | {"near_duplicates": True}
    options |= {"group_by": folder.choices["group_by"]} if "group_by" in folder.choices else {}
    files = options.get("captions", options.get("labels", ""))
    of_table = bool(options.keys() & {"split", "split_folders"}) or isinstance(files, Mapping)
    if "splits.csv" in folder.others:
        options = {key: value for key, value in options.items() if key != "split"} | {"splits": "splits.csv"}
    given = of_table or "splits" in options
    of_splits = [] if given else _named_after_splits(names)
    require(
        not of_splits,
        f"some folders of pictures are named after splits ({', '.join(of_splits)}), but no table gives the split of "
        "each picture: write splits.csv with the columns image,split",
    )
    read = pick("datasets", loader).read(root, smallest_side=None, **options)
    reasons = Counter(re.sub(r"(no|in no split of) .*", r"\1", reason) for reason in read.left_out["reason"])
    n_classes = read.captions["caption"].nunique()
    said = f"{len(names):,} pictures {said or f'in {n_classes:,} folders, one per class'}"
    n, lines = len(names) - reasons["no"], list[str]()
    for file, about in notes.items():
        n_here = len(rows[file] & {*names}) if len(notes) > 1 else n
        what = "captions" if loader == "photos" else "tags"
        lines.append("; ".join([f"{file}: {what} of {n_here:,} of {len(names):,} pictures", *about]))
    if loader == "keywords":
        rest = "; the others, perhaps not yet tagged, are left out" if n < len(names) else ""
        lines.append(f"tags of {n:,} of {len(names):,} pictures{rest}")
    if given:
        of_files = " and ".join(file for _, file in files_of(files)) or "folders"
        source = options.get("splits", of_files)
        lines.append(f"{source}: splits of {len(names) - reasons['in no split of']:,} of {len(names):,} pictures")
    if outside := sorted(set(folder.pictures) - {name if images == "." else f"{images}/{name}" for name in names}):
        lines.append(f"not used: {len(outside):,} pictures outside {images}, such as {outside[0]}")
    if again:
        lines.append(f"{again:,} pictures are named as another, but for the suffix: each pair counts as one photograph")
    lines += _in_two_classes(root / images, names) if loader == "scenes" else []
    return Found(loader, options, read.images[["image", "split"]], read.captions, said, lines, used)


def _split_in(folder: str) -> str | None:
    """Return the split that a folder is named after, or None. Names such as TrainingSet and testdata are recognised."""
    word = OF_SPLIT.search(re.sub(r"(?<=[a-z])(?=[A-Z]|sets?$|data$)", " ", folder))
    return ALIASES.get(word[1].lower(), word[1].lower()) if word else None


def _named_after_splits(names: Iterable[str]) -> list[str]:
    """Return the folders named after splits, at those levels of the tree that have folders for at least two splits."""
    places = {(depth, folder) for name in names for depth, folder in enumerate(name.split("/")[:-1])}
    split_of = {place: split for place in sorted(places) if (split := _split_in(place[1]))}
    splits = {depth: {split for place, split in split_of.items() if place[0] == depth} for depth, _ in split_of}
    return list(dict.fromkeys(folder for depth, folder in split_of if len(splits[depth]) > 1))


def _in_two_classes(folder: Path, names: Sequence[str]) -> list[str]:
    """Return a line about pictures that occur with the same bytes in two classes, or no line if there are none."""
    by_size = dict[int, list[str]]()
    for name in names:
        with suppress(OSError):
            if (folder / name).is_file():
                by_size.setdefault((folder / name).stat().st_size, []).append(name)
    first, again = dict[bytes, str](), list[tuple[str, str]]()
    for name in (name for alike in by_size.values() if len(alike) > 1 for name in alike):
        with suppress(OSError), (folder / name).open("rb") as file:
            other = first.setdefault(hashlib.file_digest(file, "sha256").digest(), name)
            again += [(other, name)] * (other.split("/")[0] != name.split("/")[0])
    return [
        f"{len(again):,} pictures have the same bytes as a picture in another class, such as {name} and {other}: each "
        "pair counts as one picture of both classes"
        for name, other in again[:1]
    ]


# Photographs without a table: only one of these layouts may fit.
WITHOUT_TABLE = ("text", "keywords", "classes")
LAYOUTS = (
    Layout(
        "libsvm",
        "files ending in .libsvm, .svmlight or .svm, perhaps named after splits",
        "`libsvm`: `train`, `validation`, `test`; `topics.txt` and `vocabulary.txt` if they are there",
        _libsvm,
    ),
    Layout("idx", "four idx files, of training and test images and labels", "`idx`: the four files", _idx),
    Layout(
        "features",
        "features (.npy, .npz, .parquet, .csv) and a table of labels, also in parts or by split; or a table with both",
        "`arrays`: `features`, `labels`, and what their columns are",
        _features,
    ),
    Layout(
        "table",
        "pictures and a table or JSON file that names them, with captions, tags or a column per label, under any names",
        "`photos`: `captions`, `pictures`, `caption`; or `tagged`: `labels`, `pictures`, and `tags` or `columns`",
        _table,
    ),
    Layout(
        "text",
        "a text file beside each picture: `1.jpg`, `1.txt`",
        '`photos`: `captions: "*.txt"`; or `tagged`: `labels: "*.txt"`, `separator`',
        _beside,
    ),
    Layout(
        "keywords",
        "pictures that carry their tags (XMP, IPTC), or have them in .xmp sidecars",
        "`keywords`: `levels`",
        _keywords,
    ),
    Layout(
        "classes",
        "a folder of pictures per class, perhaps in a folder per split: `train/cat/1.jpg`",
        "`scenes`: `split_folders` if there are folders of splits",
        _classes,
    ),
)

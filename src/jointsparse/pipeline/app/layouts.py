"""The layouts of folders that `init` knows, and what it makes of each: a loader with its options."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from jointsparse.checks import require
from jointsparse.pipeline.app.columns import Column, NoLabels, Roles, copies_of_labels, roles_of, roles_of_table, some
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
# Words for splits, with no letters next to them. The short words occur only in names of files.
LONG = {word: split for word, split in {**SPLIT_NAMES, **ALIASES}.items() if split != "unlabelled"}
SPLIT_OF = LONG | {"trn": "train", "tr": "train", "tst": "test", "te": "test", "t": "test"}
OF_FOLDER, OF_FILE = (
    re.compile(rf"(.*)(?<![a-z])({'|'.join(words)})(?![a-z])(.*)", re.IGNORECASE) for words in (LONG, SPLIT_OF)
)
# A word for a split that is joined to a word for the content, as in Xtrain or testlabels.
HELD, WORD = "x|y|features?|labels?|embeddings?|targets?|tags?", "|".join(SPLIT_OF)
JOINED = re.compile(rf"(?<![a-z])(?:({HELD})({WORD})|({WORD})({HELD}))(?![a-z])", re.IGNORECASE)
NAMES = re.compile(r"((features?|columns?|x)[-_. ]?)?names\.txt", re.IGNORECASE)  # a file with the feature names
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


class Recognised(NamedTuple):
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
    X
        The features; None for pictures.
    """

    loader: str
    options: dict[str, Any]
    images: pd.DataFrame
    captions: pd.DataFrame
    said: str
    lines: list[str]
    used: set[str]
    X: Any = None


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
    found: Callable[[Folder], Recognised | None]


def found_in(folder: Folder) -> Recognised:
    """Return what a folder holds.

    Of the layouts in `LAYOUTS`, tables come first; of the others, only one may fit. Raises ValueError if the folder has
    no layout, or if it has several of these.
    """
    _require_fetched(folder)
    names, chosen = [layout.name for layout in LAYOUTS], folder.choices.get("layout")
    require(chosen in (None, *names), f"--layout must be one of {', '.join(names)}, got {chosen!r}")
    faults, fits = list[ValueError](), dict[str, Recognised]()
    for layout in LAYOUTS:
        try:
            found = layout.found(folder) if chosen in (None, layout.name) else None
        except NoLabels as error:
            faults.append(error)
        else:
            fits |= {layout.name: found} if found else {}
        if fits and layout.name not in WITHOUT_TABLE:
            break
    if not fits:
        _require_forms(folder)
        raise faults[0] if faults else ValueError(_nothing_fits(folder))
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


def _require_fetched(folder: Folder) -> None:
    """Raise ValueError if files are only pointers of Git LFS to their content."""
    paths = [folder.root / name for name in (*folder.pictures[:9], *folder.others)]
    small = [path for path in paths if path.is_file() and path.stat().st_size < 1024]
    pointers = [str(path) for path in small if path.read_bytes().startswith(POINTER)]
    require(not pointers, f"{''.join(pointers[:1])} is only a pointer of Git LFS: fetch the files with git lfs pull")


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


class _Place(NamedTuple):
    """The place of a file in a dataset of several files, as inferred from the file's name.

    stem: the name without its split and part number. split: the split, or None if the name contains none. part: the
    part number, or None. n_parts: the number of parts, or None.
    """

    stem: str
    split: str | None
    part: int | None = None
    n_parts: int | None = None


def _place(file: str) -> _Place:
    svm, numbers = LIBSVM.search(file), list[int | None]()
    stem = LIBSVM.sub("", file) if svm else str(PurePosixPath(file).with_suffix(""))
    if not svm and (number := PART.search(PurePosixPath(stem).name)):
        stem = stem.removesuffix(number[0])
        numbers = [int(text) if text else None for text in number.groups()]
    match = OF_FILE.fullmatch(JOINED.sub(r"\1\4 \2\3", stem))
    before, word, after = match.groups() if match else (stem, "", "")
    return _Place(re.sub("[ _.-]+", " ", f"{before} {after}").strip(), SPLIT_OF.get(word.lower()), *numbers)


def _joined(files: Sequence[str], unnamed: str | None = None) -> Files | None:
    """Return one file, the parts of a table in order, or the files by split; None if files do not belong together.

    Parts must be numbered from 0 or 1 without a gap, up to the number of parts in their names. unnamed: the split of
    files whose names contain none, if others name splits.
    """
    places = {file: _place(file) for file in files}
    stems, splits = ({getattr(place, key) for place in places.values()} for key in ("stem", "split"))
    if unnamed and unnamed not in splits and len(splits) > 1:
        places = {file: place._replace(split=place.split or unnamed) for file, place in places.items()}
        splits = splits - {None} | {unnamed}
    of_one_table = len(stems) == 1 and (splits == {None} or (None not in splits and "train" in splits))
    if len(files) > 1 and not of_one_table:
        return None
    by_split = dict[str | None, list[str]]()
    for file in sorted(files, key=lambda file: places[file].part or 0):
        by_split.setdefault(places[file].split, []).append(file)
    for own in by_split.values():
        total = max(places[file].n_parts or len(own) for file in own)
        numbers = [places[file].part for file in own]
        if total > 1 and numbers not in ([*range(total)], [*range(1, total + 1)]):
            return None
    whole: dict[Any, Any] = {split: own if len(own) > 1 else own[0] for split, own in by_split.items()}
    if len(files) == 1 or splits == {None}:
        return next(iter(whole.values()))
    return _with_test({split: whole[split] for split in SPLIT_NAMES if split in whole})


def _chosen(files: Sequence[str], option: str, unnamed: str | None = None) -> Files:
    """Return the file to use for an option, or several files if they are the splits or parts of one table.

    Files in a subfolder are considered only if no file in a folder above it fits.
    """
    depth = min(file.count("/") for file in files)
    top = [file for file in files if file.count("/") == depth]
    joined = _joined(top, unnamed)
    if joined is None:
        choice = f"choose one with --{option} FILE, " if option in OF_FILES else ""
        raise ValueError(
            f"{option} must be in one file, in a file for each split, or in parts that are numbered from 0 or 1 "
            f"without a gap, got {', '.join(top)}: {choice}leave files out with --ignore FILE, or add the missing ones"
        )
    return joined


def _with_test(by_split: dict[Any, Any]) -> dict[Any, Any]:
    """Return the files by split. If there are no test files, the validation files take their place."""
    without_test = by_split.keys() == {"train", "validation"}
    return {"train": by_split["train"], "test": by_split["validation"]} if without_test else by_split


# Tables of features


def _libsvm(folder: Folder) -> Recognised | None:
    svm = [name for name in folder.others if LIBSVM.search(name)]
    if not svm or folder.choices.keys() & {"features", "labels"}:
        return None
    options: dict[str, Any] = {
        split or "train": file for split, file in files_of(_chosen(svm, "samples", unnamed="train"))
    }
    options |= {key: f"{key}.txt" for key in ("topics", "vocabulary") if f"{key}.txt" in folder.others}
    lines = [f"{file}: {OF_LIBSVM[option]}" for option, file in options.items()]
    return _read(folder, "libsvm", options, lines, set(options.values()))


def _idx(folder: Folder) -> Recognised | None:
    found = {name: match for name in folder.others if (match := IDX.search(name))}
    options = {f"{SPLIT_OF.get(held[1].lower(), 'test')}_{held[2].lower()}s": name for name, held in found.items()}
    lines = [f"{file}: {option.replace('_', ' ')}" for option, file in options.items()]
    return _read(folder, "idx", options, lines, set(options.values())) if len(options) == 4 else None


def _features(folder: Folder) -> Recognised | None:
    """Return features in files of their own or, if there is no other table, in the table of labels."""
    features, labels = _files_of_features(folder)
    if not (features and labels):
        return None
    of_features = _chosen(features, "features")
    of_labels = of_features if features == labels else _chosen(labels, "labels")
    options, lines = roles_of(folder.root, of_features, of_labels, folder.choices)
    options = {"features": of_features, "labels": of_labels} | options
    if names := [name for name in folder.others if NAMES.fullmatch(PurePosixPath(name).name)]:
        options["names"] = _chosen(names, "names of features")
        lines.append(f"{options['names']}: names of the features")
    used = {file for key in ("features", "labels", "names") for _, file in files_of(options.get(key, []))}
    return _without_copies(folder, options, lines, used)


def _files_of_features(folder: Folder) -> tuple[list[str], list[str]]:
    """Return the files that could hold features, and those that could hold labels. Both may be the same."""
    choices = folder.choices
    tables = [name for name in folder.others if name.lower().endswith(OF_TABLES) and name != "splits.csv"]
    stems = {name: _place(PurePosixPath(name).name).stem for name in tables}
    labels = [choices["labels"]] if "labels" in choices else [name for name in tables if OF_LABELS.search(stems[name])]
    rest = [name for name in tables if name not in labels]
    features = [name for name in rest if FEATURES.search(stems[name])]
    features = features or [name for name in rest if name.lower().endswith((".npy", ".npz", ".parquet"))]
    features = [choices["features"]] if "features" in choices else features
    labels = labels or [name for name in tables if name not in features and not folder.pictures]
    if (features and labels) or folder.pictures:
        return features, labels
    both = [name for name in features or labels if name.lower().endswith(TABLES)]
    for path in [folder.root / name for name in both[:1] if name.lower().endswith(".parquet")]:
        with suppress(pa.ArrowException):  # a file that cannot be read is reported where it is read
            holds = "struct<bytes: binary" in str(parquet.read_schema(path).remove_metadata())
            require(not holds, f"{path} holds pictures, which must be files: convert it with Python: {OF_PICTURES}")
    return both, both


def _without_copies(folder: Folder, options: dict[str, Any], lines: list[str], used: set[str]) -> Recognised:
    """Read samples with features, without columns of features that copy labels."""
    arrays, found = pick("datasets", "arrays"), _read(folder, "arrays", options, lines, used)
    copies = copies_of_labels(found.X, found.images, found.captions)
    if not copies:
        return found
    first = files_of(options["features"])[0][1]
    every = arrays.feature_names(folder.root, **options)
    copied = [every[i] if every else f"column {i + 1}" for i in copies]
    if set(copied) <= set(columns_of(folder.root / first)) and "names" not in options:
        options = options | {"ignore": sorted([*options.get("ignore", []), *copied])}
        found = _read(folder, "arrays", options, lines, used)
        advice = "left out, because they copy labels"
    else:
        advice = "seem to copy labels; if they do, remove them from the file"
    return found._replace(lines=[*lines, f"{first}: {', '.join(copied)}: {advice}"])


def _read(folder: Folder, loader: str, options: dict[str, Any], lines: list[str], used: set[str]) -> Recognised:
    """Read samples with features."""
    read = pick("datasets", loader).read(folder.root, **options)
    n, d = read.X.shape
    said = f"{n:,} samples with {d:,} feature{'s' * (d != 1)}"
    return Recognised(loader, options, read.images, read.captions, said, lines, used, read.X)


# Photographs


NAMED = ("pictures", "caption", "tags", "columns")  # options for columns that all tables must have
# The loader of pictures with captions or tags, its option for the files, and what the files hold.
CAPTIONS, TAGS = ("photos", "captions", "captions"), ("tagged", "labels", "tags")


class _Table(NamedTuple):
    """A table of photographs, what its columns hold, the image of each row, and the folder that names begin in."""

    columns: Columns
    roles: Roles
    images: list[str]
    folder: str


def _table(folder: Folder) -> Recognised | None:
    """Return photographs whose captions or tags are in files that name them."""
    tables = _of_one_kind(_tables_of_pictures(folder)) if folder.pictures else {}
    if not tables:
        return None
    first, *others = tables.values()
    loader, option, held = CAPTIONS if "caption" in first.roles.options else TAGS
    _require_different(tables, option)
    roles = _roles_of_all(folder, tables, first.roles) if others else first.roles
    files = _joined([*tables]) if "split" not in roles.options else None
    files = files if isinstance(files, dict | str) else [*tables] if others else next(iter(tables))
    notes = [*roles.notes, *[f"{some(roles.unused)}: left out"] * bool(roles.unused)]
    options = {"images": _common(table.folder for table in tables.values()), option: files} | roles.options
    said, used = f"with {held} in {' and '.join(tables)}", {*tables, "splits.csv"}
    return _pictures(folder, loader, options, said, used, source=" and ".join(tables), notes=notes)


def _of_one_kind(tables: Mapping[str, _Table]) -> dict[str, _Table]:
    """Return the tables; or, if some hold captions and others tags, those of captions that are called so."""
    captions = {file: table for file, table in tables.items() if "caption" in table.roles.options}
    if len(captions) in (0, len(tables)):
        return dict(tables)
    called = {file: table for file, table in captions.items() if "caption" in file.lower()}
    said = f"{' and '.join(tables)} hold captions and tags: choose one with --captions FILE or --labels FILE"
    require(called, said)
    return called


def _require_different(tables: Mapping[str, _Table], option: str) -> None:
    """Raise ValueError if two tables name the same picture, as a draft or a copy does."""
    file_of = dict[str, str]()
    for file, table in tables.items():
        twice = sorted(image for image in {*table.images} if file_of.setdefault(image, file) != file)
        require(
            not twice,
            f"{' and '.join(tables)} must name different pictures, got {''.join(twice[:1])!r} in several: choose one "
            f"with --{option} FILE, or leave files out with --ignore FILE",
        )


def _roles_of_all(folder: Folder, tables: Mapping[str, _Table], roles: Roles) -> Roles:
    """Decide what the columns of several tables hold, from all of their rows. roles: what those of the first hold."""
    n_rows = [(table.columns, len(table.images)) for table in tables.values()]
    names = dict.fromkeys(name for columns, _ in n_rows for name in columns)
    joined = {name: [cell for columns, n in n_rows for cell in columns.get(name, [None] * n)] for name in names}
    choices = {**folder.choices, **{key: roles.options[key] for key in NAMED if key in roles.options}}
    return roles_of_table(" and ".join(tables), joined, choices, is_picture=bool)


def _tables_of_pictures(folder: Folder) -> dict[str, _Table]:
    """Return the tables that name pictures and have labels, of those in the folder that is nearest to the top.

    Raises ValueError if there is none, and one should be there.
    """
    own = [folder.choices[key] for key in ("captions", "labels") if key in folder.choices]
    pictures, tables, faults = {*folder.pictures}, dict[str, _Table](), list[ValueError]()
    for file in sorted(own or _may_name_pictures(folder), key=_depth):
        if tables and _depth(file) > min(map(_depth, tables)):
            break
        path, find = folder.root / file, finder(pictures, os.path.dirname(file))
        expected = bool(own) or "caption" in file.lower()
        try:
            columns = records.read(path)
        except ValueError as error:
            faults += [error] * expected
            continue
        texts = {text_of(cell) for cells in columns.values() for cell in cells if not isinstance(cell, list | dict)}
        named = [text for text in texts if text.lower().endswith(SUFFIXES)]
        if any(find(text) in pictures for text in texts):
            try:
                tables[file] = _table_of_pictures(folder, path, columns, find)
            except NoLabels as error:
                faults.append(error)
        elif named or expected:
            got = repr(min(named)) if named else ", ".join(columns)[:200]
            place = f"{folder.root}, such as {folder.pictures[0]!r}"
            faults.append(ValueError(f"{path} must have a column that names the pictures in {place}, got {got}"))
    if faults and not tables:
        raise faults[0]
    return tables


def _depth(file: str) -> int:
    return file.count("/")


def _may_name_pictures(folder: Folder) -> list[str]:
    """Return the tables of a folder. Text files beside pictures are none."""
    stems = {name.rpartition(".")[0] for name in folder.pictures}
    kinds = tuple(suffix for suffix in records.SUFFIXES if suffix != ".npy")
    names = [name for name in folder.others if name.lower().endswith(kinds) and name != "splits.csv"]
    return [name for name in names if name.rpartition(".")[0] not in stems]


def _table_of_pictures(folder: Folder, path: Path, columns: Columns, find: Callable[[str], str]) -> _Table:
    pictures = {*folder.pictures}
    roles = roles_of_table(path, columns, folder.choices, is_picture=lambda text: find(text) in pictures)
    written = [text_of(cell) for cell in columns[roles.options["pictures"]]]
    images = [find(name) for name in written]
    folders = {
        "/".join(image.split("/")[: -1 - name.count("/")])
        for image, name in zip(images, written, strict=True)
        if image in pictures
    }
    return _Table(columns, roles, images, _common(folders))


def _common(folders: Iterable[str]) -> str:
    """Return the folder that holds all of these folders."""
    return Path(os.path.commonpath([*folders] or [""])).as_posix()


def _beside(folder: Folder) -> Recognised | None:
    """Return photographs with a text file beside each of them."""
    others = {*folder.others}
    for suffix in BESIDE:
        n = sum(f"{name.rpartition('.')[0]}{suffix}" in others for name in folder.pictures)
        if 2 * n >= len(folder.pictures) > 0:
            rows, files = rows_of(folder.root, ".", f"*{suffix}", folder.pictures, pictures=""), f"*{suffix}"
            column = Column(OF_TEXT, rows.table[OF_TEXT])
            if all(re.fullmatch(r"[\d.\s-]*", text) for text in column.known):
                return None  # boxes of objects
            has_tags, options = bool(column.separators or column.is_classes()), dict[str, Any]()
            notes = list[str]()
            if has_tags:
                meant = {key: folder.choices[key] for key in ("separator", "none", "unknown") if key in folder.choices}
                options, _, notes, _ = roles_of_table(files, rows.table, {"tags": OF_TEXT, **meant})
            loader, option, held = TAGS if has_tags else CAPTIONS
            options = {"images": _common(map(os.path.dirname, folder.pictures)), option: files, **options}
            said, used = (
                f"with {held} in a {suffix} file beside each",
                {f"{name.rpartition('.')[0]}{suffix}" for name in rows.images},
            )
            return _pictures(folder, loader, options, said, used, source=files, notes=notes)
    return None


def _keywords(folder: Folder) -> Recognised | None:
    """Return photographs of which at least half carry tags."""
    looked_at = folder.pictures[:: max(1, len(folder.pictures) // LOOKED_AT)]
    _, tags = ask(folder.root, looked_at, "tags", "all")
    n_tagged = sum(map(bool, tags.values()))
    if not n_tagged or 2 * n_tagged < len(looked_at):
        return None
    sidecars = {name for name in folder.others if name.lower().endswith(".xmp")}
    images = _common(os.path.dirname(name) for name in folder.pictures)
    options = {"images": images, "levels": "all"}
    return _pictures(folder, "keywords", options, "with tags in them or their sidecars", sidecars)


def _classes(folder: Folder) -> Recognised | None:
    """Return photographs in a folder per class, which may lie in folders of splits."""
    above = _common(os.path.dirname(name) for name in folder.pictures)
    names = [Path(name).relative_to(above).as_posix() for name in folder.pictures]
    if not names or not all("/" in name for name in names):
        return None
    inner = dict[str, set[str]]()  # folders in each folder; "" if it holds pictures
    for name in names:
        first, *below = name.split("/")
        inner.setdefault(first, set()).add(below[0] if len(below) > 1 else "")
    split_of = {name: split for name in sorted(inner) if (split := _split_in(name))}
    by_split = _with_test({split: name for name, split in split_of.items()})
    of_train, options = inner.get(by_split.get("train", ""), set()), dict[str, Any](images=above)
    given = "splits.csv" in folder.others
    if (
        not given
        and len(by_split) == len(inner) > 1
        and all("" not in own and own <= of_train for own in inner.values())
    ):
        usual = all(ALIASES.get(name.lower(), name) == split for split, name in by_split.items())
        options |= {"split_folders": True} | ({} if usual else {"split_names": by_split})
    else:
        # A folder that is named like a split counts as a class if it holds only pictures, beside two other classes.
        require(
            not split_of or (len(inner) - len(split_of) > 1 and all(inner[name] == {""} for name in split_of)),
            f"every folder must be a class, but of the folders {', '.join(sorted(inner)[:9])} some are named after "
            f"splits ({', '.join([*split_of][:9])}): put all pictures of a class into one folder and write splits.csv "
            "with the columns image,split, or run init on the folder of one split, or rename a folder that is a class",
        )
    return _pictures(folder, "scenes", options, "", {"splits.csv"})


def _pictures(
    folder: Folder,
    loader: str,
    options: dict[str, Any],
    said: str,
    used: set[str],
    *,
    source: str = "",
    notes: Sequence[str] = (),
) -> Recognised:
    """Read the labels and splits of photographs, without opening the pictures.

    source: the files that hold the captions or tags. notes: for the user, about these files.
    """
    root, images = folder.root, options["images"]
    require(
        not Path.cwd().is_relative_to((root / images).resolve()),
        f"results must not be written into the folder of the pictures, {root / images}: run init in another folder",
    )
    prefix = "" if images == "." else f"{images}/"
    names = [name.removeprefix(prefix) for name in folder.pictures if name.startswith(prefix)]
    again = len(names) - len({name.rpartition(".")[0] for name in names})
    decided = {"one_per_stem": again > 0, "near_duplicates": True, "group_by": folder.choices.get("group_by")}
    options = options | {option: value for option, value in decided.items() if value}
    if "splits.csv" in folder.others:
        options = {key: value for key, value in options.items() if key != "split"} | {"splits": "splits.csv"}
    by_split = isinstance(options.get("captions", options.get("labels")), Mapping)
    given = by_split or bool(options.keys() & {"split", "split_folders", "splits"})
    of_splits = [] if given else _named_after_splits(names)
    require(
        not of_splits,
        f"some folders of pictures are named after splits ({', '.join(of_splits)}), but no table gives the split of "
        "each picture: write splits.csv with the columns image,split",
    )
    read = pick("datasets", loader).read(root, smallest_side=None, **options)
    total, reasons = f"{len(names):,} pictures", read.left_out["reason"].str
    n, n_placed = (len(names) - int(reasons.startswith(reason).sum()) for reason in ("no ", "in no split of "))
    lines = list[str]()
    if loader != "scenes":
        rest = ["the others, perhaps not yet tagged, are left out"] * (loader == "keywords" and n < len(names))
        what = f"{f'{source}: ' * bool(source)}{'captions' if loader == 'photos' else 'tags'}"
        lines.append("; ".join([f"{what} of {n:,} of {total}", *notes, *rest]))
    if given:
        of_table = options.get("splits", source or "folders")
        lines.append(f"{of_table}: splits of {n_placed:,} of {total}")
    if outside := sorted(name for name in folder.pictures if not name.startswith(prefix)):
        lines.append(f"not used: {len(outside):,} pictures outside {images}, such as {outside[0]}")
    if again:
        lines.append(f"{again:,} pictures are named as another, but for the suffix: each pair counts as one photograph")
    said = said or f"in {read.captions['caption'].nunique():,} folders, one per class"
    return Recognised(loader, options, read.images, read.captions, f"{total} {said}", lines, used)


def _split_in(folder: str) -> str | None:
    """Return the split that a folder is named after, or None. Names such as TrainingSet and testdata are recognised."""
    match = OF_FOLDER.fullmatch(re.sub(r"(?<=[a-z])(?=[A-Z]|sets?$|data$)", " ", folder))
    return LONG[match[2].lower()] if match else None


def _named_after_splits(names: Iterable[str]) -> list[str]:
    """Return the folders named after splits, at those levels of the tree that have folders for at least two splits."""
    places = {(depth, folder) for name in names for depth, folder in enumerate(name.split("/")[:-1])}
    split_of = {place: split for place in sorted(places) if (split := _split_in(place[1]))}
    splits = {depth: {split for place, split in split_of.items() if place[0] == depth} for depth, _ in split_of}
    return list(dict.fromkeys(folder for depth, folder in split_of if len(splits[depth]) > 1))


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

"""Write a config.yaml for a folder of data, after inferring what the files in the folder hold."""

import hashlib
import os
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import jinja2
import pandas as pd
import yaml

from jointsparse.checks import printable, require
from jointsparse.pipeline.app.columns import copies_of_labels, roles_of
from jointsparse.pipeline.datasets.captions import contradiction
from jointsparse.pipeline.datasets.captions import read as read_captions
from jointsparse.pipeline.datasets.folder import list_pictures, read_tables
from jointsparse.pipeline.datasets.names import Files, composed, files_of, finder
from jointsparse.pipeline.datasets.splits import ALIASES, FRACTIONS, SPLIT_NAMES, assign_splits
from jointsparse.pipeline.datasets.tabular import INDEX, KINDS, columns_of
from jointsparse.pipeline.tasks import FEWEST_WORDS, SMALLEST_SIZE, choose_words
from jointsparse.registry import pick

CAPTIONS = (".csv", ".json", ".jsonl", ".parquet", ".tsv", ".txt")  # suffixes of files that may hold captions
# Patterns that recognise the content of a file by its name, from which splits and part numbers have been removed.
FEATURES, OF_LABELS, LIBSVM = (
    re.compile(pattern, re.IGNORECASE)
    for pattern in ("feature|embed|vector|^x$", "label|tag|target|^y$", r"\.(libsvm|svmlight|svm)(\.gz|\.bz2)?$")
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
WITH_CAPTIONS = "captions.csv (image,caption) or captions as JSON in the format of COCO or Karpathy"
OF_LIBSVM = {  # what a file holds, by the option of the loader `libsvm`
    "train": "training samples",
    "validation": "validation samples",
    "test": "test samples",
    "topics": "names of the topics",
    "vocabulary": "names of the features",
}
OF_FILES = ("features", "labels", "captions")  # options by which the user chooses a file
# Options by which the user chooses a file or column, or names to ignore.
CHOICES = (*OF_FILES, "index", "split", "pictures", "text", "tags", "ignore", "model")


class Found(NamedTuple):
    """The content of a folder of data, as inferred from its files.

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


def write(root: Path, file: Path, workflow: Path, choices: Mapping[str, Any] | None = None) -> list[str]:
    """Write a config.yaml for a folder of data.

    Parameters
    ----------
    root : path
        The folder.
    file : path
        The config.yaml to write.
    workflow : path
        The folder of the workflow. The new file overrides values of its config.yaml.
    choices : mapping, optional
        The user's choices, keyed by the names in `CHOICES`. A value is the file or column to use, or for "ignore" a
        list of files and columns.

    Returns
    -------
    seen : list of str
        Lines for the user, which describe the data and say how each file was interpreted.

    Raises
    ------
    ValueError
        If no loader can read the folder, if too few samples are labelled, or if several files could be used for the
        same purpose and the user has not chosen one.
    """
    require(root.is_dir(), f"init expects a folder of data, got {str(root)!r}")
    choices = {key: value for key, value in (choices or {}).items() if value}
    pictures, reasons = list_pictures(root)
    ignored = choices.get("ignore", [])
    others = sorted(set(reasons) - set(ignored))
    lacking = [choices[key] for key in OF_FILES if key in choices and choices[key] not in others]
    require(not lacking, f"the files named by options must be in {root}, and {''.join(lacking[:1])} is not")
    found = _samples(root, pictures, others, choices)
    if not found:
        _require_forms(root, pictures, others)
        found = _photographs(root, pictures, others, choices)
    features: dict[str, Any] = {}
    if model := choices.get("model"):
        of_pictures = pick("datasets", found.loader).SHOWS == "pictures"
        require(of_pictures, f"--model describes pictures, and {root} holds samples with features: leave it out")
        features = {"extractor": "onnx", "options": {"model": str(model)}}
        found.lines.append(_network(str(model)))
    loader, images, captions = found.loader, found.images, found.captions
    _require_choices_used(root, found, choices, reasons)
    with (
        warnings.catch_warnings(action="ignore"),  # warnings about words that are left out
        _in_words_of_samples(root, captions) if loader in ("arrays", "libsvm") else nullcontext(),
    ):
        words, has = choose_words(
            images,
            captions,
            n_words="auto",
            smallest_size=SMALLEST_SIZE,
            split_captions=loader == "photos",
            join_inflections=loader == "photos",
        )
    words, labels = words[: has.shape[1]], pick("datasets", loader).LABELS
    fewest, most = words["train"].min(), words["train"].max()
    some = ", ".join(words["word"][:3]) + ", …" * (len(words) > 3)
    n_samples = f"{fewest:,} to {most:,}" if fewest < most else f"{most:,}"
    learnt = f"The model will learn {len(words)} {labels} ({some}), each with {n_samples} positive training samples."
    said = [printable(f"Found {found.said}."), printable(learnt)]
    name = re.sub("[^A-Za-z0-9_-]+", "-", root.resolve().name).strip("-")[:90] or "mine"
    is_taken = name in yaml.safe_load((workflow / "config.yaml").read_text(encoding="utf-8"))["datasets"]
    template = (files("jointsparse.pipeline.app") / "config.yaml.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    schema = (workflow / "config" / "schema.json").absolute().as_uri()  # editors read a path only up to a space
    text = environment.from_string(template).render(
        schema=schema,
        said=said,
        name=f"my-{name}" if is_taken else name,
        loader=loader,
        options={"root": str(root)} | found.options,
        features=features,
        labels=labels,
        study={"photos": "own-words", "scenes": "own-classes"}.get(loader, "own-labels"),
        yaml=lambda value: yaml.safe_dump([value], default_flow_style=True, allow_unicode=True, width=10**6)[1:-2],
    )
    file.write_text(text, encoding="utf-8")
    endings = (*CAPTIONS, *KINDS)
    idle = [
        name for name in others if (name.lower().endswith(endings) or LIBSVM.search(name)) and name not in found.used
    ]
    last = [f"not used: {', '.join(idle[:10])}{', …' * (len(idle) > 10)}"] if idle else []
    last += [f"not used: {name}, {why}" for name, why in reasons.items() if why.startswith("a link to ")]
    return [*said, *(f"  {line}" for line in [*found.lines, *last])]


def _network(model: str) -> str:
    """Return a line about how a network reads pictures. Raises ValueError if the network cannot be used."""
    from jointsparse.features.embedding import Embedding  # imports scikit-learn, which takes a second
    from jointsparse.features.network_files import PREPROCESSOR

    embedding = Embedding(model).fit(None)
    network, (rows, columns) = embedding.network(), embedding.grid_
    reading, blank = network.reading, network.blank
    colours = f"{reading.dtype}, {reading.channels}"
    if reading.mean is not None:
        colours += f" in [0, {reading.scale:g}], mean {reading.mean}, standard deviation {reading.std}"
    used = f"the mean over {rows} x {columns} places" if embedding.grid_ != (1, 1) else "without places"
    if reading.tokens == "first" and blank.n_tokens:
        used = f"the first of {blank.n_tokens} tokens"
    elif blank.n_left_out:
        used += f" and without the first {blank.n_left_out} of {blank.n_tokens} tokens"
    prepared = f", as {PREPROCESSOR} says" if reading.prepared else ""
    return (
        f"{model}: pictures of {reading.height} x {reading.width} pixels ({reading.layout}, {colours}{prepared}), "
        f"{embedding.n_features_:,} features of output {reading.output}, {used}"
    )


def _require_choices_used(root: Path, found: Found, choices: Mapping[str, Any], others: Collection[str]) -> None:
    """Raise ValueError if one of the user's choices would have no effect. others: the files that are not pictures."""
    takes = {"arrays": {*CHOICES} - {"captions"}, "photos": {"captions", "ignore", "model"}}.get(
        found.loader, {"ignore", "model"}
    )
    tables = [file for option in ("features", "labels") for _, file in files_of(found.options.get(option, []))]
    columns = list(dict.fromkeys(name for file in tables for name in columns_of(root / file)))
    ignorable = {*others, *columns, INDEX} - ({"splits.csv"} if found.loader != "arrays" else set())
    idle = [f"--{key} {choices[key]}" for key in choices if key not in takes]
    idle += [f"--ignore {name}" for name in choices.get("ignore", []) if not {name, composed(name)} & ignorable]
    known = f" (the columns are {', '.join(columns)[:200]})" if columns else ""
    require(
        not idle,
        f"{root} is read as {found.said}, and {', '.join(idle)} has no effect there: leave it out{known}",
    )


def _require_forms(root: Path, pictures: Collection[str], others: Sequence[str]) -> None:
    """Raise ValueError if some files seem to hold data in an unknown format, or features and labels in the same table.

    others: the files that are neither pictures nor ignored by the user.
    """
    stems = {file: PurePosixPath(file).name.partition(".")[0] for file in others}
    of_captions = [file for file, stem in stems.items() if "caption" in stem.lower()]
    if of_captions and not any(file.lower().endswith(CAPTIONS) for file in of_captions):
        raise ValueError(
            f"captions must be in a file of type {', '.join(CAPTIONS)}, got {root / of_captions[0]}: convert it to one "
            "of these types"
        )
    names = {} if pictures else {file: _place(stem).stem for file, stem in stems.items() if file not in of_captions}
    for file, name in names.items():
        require(
            file.lower().endswith(KINDS) or not (FEATURES.search(name) or OF_LABELS.search(name)),
            f"features and labels must be in files of type {', '.join(KINDS)}, got {root / file}: convert it to one of "
            "these types",
        )
    tables = [file for file in names if file.lower().endswith(KINDS) and file != "splits.csv"]
    require(
        not tables,
        f"features and labels must be in separate files, such as features.csv and labels.csv, got "
        f"{', '.join(tables[:5])}: split the table in two, or name the files with --features FILE --labels FILE",
    )


@contextmanager
def _in_words_of_samples(root: Path, captions: pd.DataFrame) -> Iterator[None]:
    """Reword errors about too few words in terms of labels and samples, because the data are tables."""
    try:
        yield
    except ValueError:
        known = captions[captions["known"].astype(bool)] if "known" in captions else captions
        got = ", ".join(f"{name!r} with {n:,} samples" for name, n in known["caption"].value_counts().head(3).items())
        raise ValueError(
            f"the tables in {root} must hold at least {FEWEST_WORDS} labels, each with at least {SMALLEST_SIZE} "
            "training samples and one test sample that have the label, and as many that do not have it, got "
            f"{got or 'none'}: add samples or labels (write a single yes/no label as two classes in a column of text)"
        ) from None


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


def _samples(root: Path, pictures: Sequence[str], others: Sequence[str], choices: Mapping[str, Any]) -> Found | None:
    """Return the samples in libsvm files or in files of features and labels, or None if there are no such files."""
    svm = [name for name in others if LIBSVM.search(name)]
    stems = {name: _place(PurePosixPath(name).name).stem for name in others if name.lower().endswith(KINDS)}
    labels = [choices["labels"]] if "labels" in choices else [name for name in stems if OF_LABELS.search(stems[name])]
    named = [name for name in stems if FEATURES.search(stems[name]) and name not in labels]
    features = named or [name for name in stems if name not in labels and not name.lower().endswith(".csv")]
    features = [choices["features"]] if "features" in choices else features
    labels = labels or [name for name in stems if name not in features and not pictures]
    if svm and not choices.keys() & {"features", "labels"}:
        parts = files_of(_chosen(svm, "train", svm=True))
        options: dict[str, Any] = {split or "train": file for split, file in parts}
        options |= {key: f"{key}.txt" for key in ("topics", "vocabulary") if f"{key}.txt" in others}
        loader, lines = "libsvm", [f"{file}: {OF_LIBSVM[option]}" for option, file in options.items()]
        used = set(options.values())
    elif features and labels:
        loader = "arrays"
        of_features, of_labels = _chosen(features, "features"), _chosen(labels, "labels")
        roles = roles_of(root, of_features, of_labels, choices)
        options = {"features": of_features, "labels": of_labels, **roles.options}
        lines = roles.lines
        if names := [name for name in others if NAMES.fullmatch(PurePosixPath(name).name)]:
            options["names"] = _chosen(names, "names of features")
            lines.append(f"{options['names']}: names of the features")
        used = {file for key in ("features", "labels", "names") for _, file in files_of(options.get(key, []))}
    else:
        return None
    read = pick("datasets", loader).read(root, **options)
    if loader == "arrays" and (copies := copies_of_labels(read.X, read.images, read.captions)):
        first = files_of(options["features"])[0][1]
        names = pick("datasets", loader).feature_names(root, **options)
        copied = [names[i] if names else f"column {i + 1}" for i in copies]
        if set(copied) <= set(columns_of(root / first)) and "names" not in options:
            found = _samples(root, pictures, others, {**choices, "ignore": [*choices.get("ignore", []), *copied]})
            lines.append(f"{first}: {', '.join(copied)}: left out, because they copy labels")
            return found and found._replace(lines=[*found.lines, lines[-1]])
        lines.append(f"{first}: {', '.join(copied)}: seem to copy labels; if they do, remove them from the file")
    n, d = read.X.shape
    said = f"{n:,} samples with {d:,} feature{'s' * (d != 1)}"
    return Found(loader, options, read.images, read.captions, said, lines, used)


def _photographs(root: Path, pictures: Sequence[str], others: Sequence[str], choices: Mapping[str, Any]) -> Found:
    """Return the photographs, whose labels are captions in a file or the names of class folders."""
    file, folder = _captioned(root, pictures, others, choices)
    require(
        not Path.cwd().is_relative_to((root / folder).resolve()),
        f"results must not be written into the folder of the pictures, {root / folder}: run init in another folder",
    )
    names = [name.removeprefix(f"{folder}/") for name in pictures if folder == "." or name.startswith(f"{folder}/")]
    captions, table, source = read_tables(root, folder, names, file or None)
    of_splits = [] if table is not None else _named_after_splits(names)
    require(
        not of_splits,
        f"some folders of pictures are named after splits ({', '.join(of_splits)}), but no table gives the split of "
        "each picture: write splits.csv with the columns image,split",
    )
    splits, _ = assign_splits(
        names, table, split_names=SPLIT_NAMES, fractions=FRACTIONS, validation_fraction=0.2, seed=0, source=source
    )
    images = pd.DataFrame(list(splits.items()), columns=["image", "split"], dtype=str)
    options = {"images": folder} | ({"captions": file} if file else {})
    of_captions = [name for _, name in files_of(file or [])]
    n_classes = captions["caption"].nunique()
    where = (
        f"with captions in {' and '.join(of_captions)}" if of_captions else f"in {n_classes:,} folders, one per class"
    )
    said = f"{len(images):,} pictures {where}"
    n = {name: len(set(rows["image"]) & set(names)) for name, rows in captions.groupby("file")}
    lines = [f"{name}: captions of {n.get(name, 0):,} of {len(names):,} pictures" for name in of_captions]
    if table is not None:
        n_placed = len(set(table["image"]) & set(names))
        require(
            n_placed,
            f"{source} must name the pictures as they are stored, such as {names[0]!r}, got {table['image'].min()!r}",
        )
        lines.append(f"{source}: splits of {n_placed:,} of {len(names):,} pictures")
    outside = sorted(set(pictures) - {name if folder == "." else f"{folder}/{name}" for name in names})
    if outside:
        lines.append(f"not used: {len(outside):,} pictures outside {folder}, such as {outside[0]}")
    lines += [] if file else _in_two_classes(root / folder, names)
    captions = captions.loc[captions["image"].isin(splits), ["image", "caption"]]
    loader, used = "photos" if file else "scenes", {*of_captions, "splits.csv"}
    return Found(loader, options, images, captions, said, lines, used)


def _captioned(
    root: Path, pictures: Sequence[str], others: Sequence[str], choices: Mapping[str, Any]
) -> tuple[Files, str]:
    """Return the caption files and the folder that holds the pictures.

    If there are no captions, the file is "" and the folder is the parent of the class folders.
    """
    tables, faults = dict[str, pd.DataFrame](), dict[str, str]()
    for file in [choices["captions"]] if "captions" in choices else others:
        if "captions" in choices or (file.lower().endswith(CAPTIONS) and file != "splits.csv"):
            try:
                table = read_captions(root / file)
                find = finder(pictures, os.path.dirname(file))
                tables[file] = table.assign(name=table["image"], image=table["image"].map(find))
            except ValueError as error:
                faults[file] = str(error)
    for file, fault in faults.items():
        if not tables and ("captions" in choices or "caption" in file.lower()):
            raise ValueError(fault)
    fitting = [file for file, table in tables.items() if table["image"].isin(pictures).any()]
    if tables and pictures and not fitting:
        file, table = next(iter(tables.items()))
        some = table["image"].min()
        raise ValueError(f"{root / file} must name pictures in {root}, such as {pictures[0]!r}, got {some!r}")
    if not fitting:
        return "", _above_classes(root, pictures, others, list(faults.values()))
    depth = min(file.count("/") for file in fitting)
    top: list[str] = []
    for file in (file for file in fitting if file.count("/") == depth):
        for other in top:
            image = contradiction(tables[other], tables[file])
            require(
                not image,
                f"{other} and {file} give different captions for {image!r}: choose one of the two files with "
                "--captions FILE, or leave one out with --ignore FILE",
            )
        rows = {name: set(map(tuple, tables[name][["image", "caption", "split"]].to_numpy())) for name in (*top, file)}
        if not any(rows[file] <= rows[name] for name in top):
            top.append(file)
    folder = _folder_of(set(pictures), pd.concat([tables[file] for file in top]))
    places = {file: _place(file) for file in top}
    splits = {place.split for place in places.values()}
    by_split = len({place.stem for place in places.values()}) == 1 and None not in splits and "train" in splits
    by_split = by_split and not any((tables[file]["split"] != "").any() for file in top)
    if by_split and len(splits) == len(top) > 1:
        return _with_test({split: file for split in SPLIT_NAMES for file in top if places[file].split == split}), folder
    return (top[0] if len(top) == 1 else top), folder


def _folder_of(pictures: Collection[str], captions: pd.DataFrame) -> str:
    """Return the folder to which the names in captions are relative, or the common parent of several such folders."""
    pairs = set(captions[["image", "name"]].itertuples(index=False, name=None))
    folders = {"/".join(image.split("/")[: -1 - name.count("/")]) for image, name in pairs if image in pictures}
    return Path(os.path.commonpath(folders)).as_posix()


def _above_classes(root: Path, pictures: Sequence[str], others: Sequence[str], faults: Sequence[str]) -> str:
    """Return the parent of the class folders."""
    folder = Path(os.path.commonpath([os.path.dirname(name) for name in pictures] or [""])).as_posix()
    names = [Path(name).relative_to(folder).as_posix() for name in pictures]
    require(
        names and all("/" in name for name in names),
        f"init expects {root} to hold pictures with {WITH_CAPTIONS}, or pictures in one folder per class (at least two "
        "classes), or features (.npy, .npz, .parquet or .csv) and labels, or libsvm files, got "
        f"{', '.join([*others[:3], *pictures[:3]]) or 'no file'}{''.join(f' ({fault})' for fault in faults[:1])}",
    )
    classes = {name.split("/")[0] for name in names}
    of_splits = sorted(name for name in classes if _split_in(name))
    # A folder that is named like a split counts as a class if it holds only pictures, if there are at least two other
    # classes, and if no folder is named after another split.
    deep = [name for name in names if name.split("/")[0] in of_splits and name.count("/") > 1]
    require(
        not of_splits or not (deep or len(classes) - len(of_splits) < 2 or _named_after_splits(names)),
        f"every folder must be a class, but of the folders {', '.join(sorted(classes)[:9])} some are named after "
        f"splits ({', '.join(of_splits[:9])}): put all pictures of a class into one folder and write splits.csv with "
        "the columns image,split, or run init on the folder of one split, or rename a folder that is a class",
    )
    return folder


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

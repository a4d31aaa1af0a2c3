"""Load features and labels from .npy, .npz, .parquet or .csv files that have one row per sample.

For example::

    features.npy     an array of shape (n_samples, n_features); or an .npz file from SciPy, or a table
    labels.csv       id,cat,dog       one column per task: 0 or 1, true or false, or empty if the label is unknown
                     a17,1,
                     b02,0,1

Instead of one column per task, the file may have a single column that lists tags, such as "cat;dog". Further columns
of the file of labels may hold the names, the splits, the pictures and the text of the samples. A table may be divided
into several files, which are joined in the order in which they are given, or into one file per split.
"""

import ast
import json
import os
import re
import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse

from jointsparse.checks import require, shortened
from jointsparse.pictures import open_colour
from jointsparse.pipeline.datasets.folder import check_pictures
from jointsparse.pipeline.datasets.names import Files, composed, files_of
from jointsparse.pipeline.datasets.packed import COMPRESSION_RATIO
from jointsparse.pipeline.datasets.samples import Samples, find, gather, kept_dtype
from jointsparse.pipeline.datasets.splits import FRACTIONS, SPLIT_NAMES, assign_splits
from jointsparse.pipeline.datasets.tabular import (
    INDEX,
    NOTHING,
    TABLES,
    WHOLE,
    columns_of,
    floats_of,
    has_index,
    is_number,
    read_columns,
    read_npy,
    read_npz,
    read_numbers,
    text_of,
    texts_of,
    unlike,
    widths_of,
)
from jointsparse.pipeline.datasets.text import open_text
from jointsparse.pipeline.provenance.tables import blocks_of

SHOWS = "names"
LABELS = "labels"

LONGEST_SIDE = 320  # pixels; pictures are shrunk to this side length when they are checked
LARGEST_TAG = 2**53  # larger integers may have been rounded when they were converted to floats
LONGEST_TEXT = 300  # characters of a sample's text that a page shows
TRUTH: Mapping[str, float] = {"1": 1, "true": 1, "0": 0, "false": 0} | {none.lower(): np.nan for none in NOTHING}
# Patterns for a list that Python, NumPy, pandas or JSON wrote as text, and for its items: a quoted string, a number, or
# a missing value.
TEXT_OF_LIST = re.compile(r"\[.*\]|\{.*\}|\((?:\s*['\"].*|.*,.*|)\)", re.DOTALL)
AROUND_LIST = re.compile(r"(?:frozenset|set|array)\((.*?)(?:,\s*dtype=(?:\w+|'[<>|]?\w+'))?\)", re.DOTALL)
IN_LIST = re.compile(
    r"""(?:np\.\w+\()?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?<![\w.])(?:[+-]?\d+\.?\d*(?:e[+-]?\d+)?|None|nan|null|NaN)(?![\w.]))\)?""",
    re.DOTALL,
)
# Invisible characters to remove. The zero-width joiners are not among them, because they are part of words.
INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200e\u200f\u2060\ufeff"))


class Labels(NamedTuple):
    """The labels in a file, and the columns of text that options name.

    Attributes
    ----------
    texts
        Table with one row per sample. For each of the options `index`, `split`, `pictures` and `text` that is given, it
        has a column with the name of the option and the text of the column in the file.
    captions
        Table with one row for each label that a sample has or may have. Its columns are `image` (the row number of the
        sample), `caption` (the label), and `known` (False if it is unknown whether the sample has the label). The
        column `known` may be missing if all labels are known.
    tasks
        Names of the columns of the file that are tasks. The list is empty if a column lists tags.
    columns
        Names of all columns of the file.
    """

    texts: pd.DataFrame
    captions: pd.DataFrame
    tasks: list[str]
    columns: list[str]


def read(
    root: str | Path,
    *,
    features: Files,
    labels: Files,
    names: str | None = None,
    index: str | None = None,
    split: str | None = None,
    pictures: str | None = None,
    text: str | None = None,
    tags: str | None = None,
    ignore: Sequence[str] = (),
    separator: str = ";",  # Choice: commas stand within tags ("black, white") and between fields of a table
    compression_ratio: float = COMPRESSION_RATIO,
    split_names: Mapping[str, str] = SPLIT_NAMES,
    fractions: Mapping[str, float] = FRACTIONS,
    validation_fraction: float = 0.2,
    seed: int = 0,
) -> Samples:
    """Read and check the features and labels of samples.

    The column that `index` names holds the names of the samples. Without it, they are named "row 1", "row 2", …
    Sparse features are converted to CSR. A single .npy file of features is memory-mapped instead of loaded.

    Parameters
    ----------
    root : path
        Folder of the files.
    features : str, list of str, or mapping
        File with one row per sample: .npy, .npz (written by `scipy.sparse.save_npz`, or with a single array), .parquet
        or .csv. A column of a table may hold a list of numbers in each row. Several files are joined in the order in
        which they are given. A mapping from splits to files also gives the split of each sample. A column that also
        exists in `labels` is not a feature; it must have the same values in both files, unless it is listed in
        `ignore`.
    labels : str, list of str, or mapping
        File or files with the same number of rows as the features: .npy, .parquet or .csv. Each column is a task,
        unless one of the options below names it.
    names : str or None
        File with the names of the features, one per line. By default the features of a table are named after its
        columns.
    index, split, pictures, text : str or None
        Columns of `labels` that hold the names of the samples, their splits, the paths of their pictures relative to
        `root`, and text that the results page shows. The column `index` may also exist in the file of features.
    tags : str or None
        Column of `labels` that lists the labels of each sample. If it is given, no other column is a task. If `labels`
        has a single column, and this column holds text or integers other than 0 and 1, it is read as a list of tags
        even if `tags` is None. A sample without tags is a negative example in every task. Words that pandas reads as a
        missing value, such as NA, are not tags.
    ignore : list of str
        Columns that are neither features nor labels.
    separator : str
        The string that separates tags.
    compression_ratio : float above 0
        Largest allowed ratio of a file's unpacked size to its size on disk. A file may always unpack to 64 MiB.
    split_names, fractions, validation_fraction, seed : as in `folder.read_folder`
        See there. Here the splits are given by the column `split`, or by mappings from splits to files.

    Returns
    -------
    samples : Samples
        If some labels are unknown, the table of captions has a column `known`, which is False for these labels.

    Raises
    ------
    ValueError
        If a file is damaged or holds Python objects, if the rows of features and labels do not match, if a feature is
        missing, is text, or is not finite in float32, or if a label is not one of the values that the docstring of this
        module lists.
    """
    folder = Path(root)
    of_features, of_labels = (
        [(part, find(folder, option, name)) for part, name in files_of(files)]
        for option, files in (("features", features), ("labels", labels))
    )
    for path in {path for _, path in of_features} & {path for _, path in of_labels}:
        raise ValueError(f"features and labels must be in separate files, got {path.name!r} for both")
    parts = {part for part, _ in of_features}
    require(
        {part for part, _ in of_labels} == parts,
        f"features and labels must have files for the same splits, got {shortened(features)} and {shortened(labels)}",
    )
    require(not split or parts == {None}, f"split must be None if the files are given by split, got {split!r}")
    options = {"index": index, "split": split, "pictures": pictures, "text": text, "tags": tags}
    columns = {option: composed(column) for option, column in options.items() if column}
    read_labels = [_read_labels(path, columns, ignore, separator, compression_ratio) for _, path in of_labels]
    known = _joined(read_labels, [path for _, path in of_labels])
    no_features = {*known.columns, *map(composed, ignore)}
    blocks = [read_features(path, without=no_features, compression_ratio=compression_ratio) for _, path in of_features]
    n_rows = [len(table.texts) for table in read_labels]
    _require_rows(of_features, of_labels, [X.shape[0] for X, _ in blocks], n_rows)
    X = _stacked(blocks, [path for _, path in of_features])
    n_names = len(
        feature_names(
            root,
            features=features,
            labels=labels,
            names=names,
            ignore=ignore,
            compression_ratio=compression_ratio,
        )
    )
    require(
        n_names in (0, X.shape[1]),
        f"{names} must name the {X.shape[1]} features, one per line, got {n_names} names: if the file names something "
        "else, leave it out (option names, or --ignore of init)",
    )
    texts, where = known.texts, of_labels[0][1]
    for twice in texts["index"][texts["index"].duplicated()][:1]:
        raise ValueError(f"{where} must have distinct names in the column {index!r}, got {twice!r} twice")
    require_same_rows(
        [path for _, path in of_features], [path for _, path in of_labels], ignore, compression_ratio=compression_ratio
    )
    placed = None
    if split:
        placed = texts[["index", "split"]].set_axis(["image", "split"], axis=1)
    elif parts != {None}:
        placed = pd.DataFrame({"image": texts["index"], "split": np.repeat([part for part, _ in of_labels], n_rows)})
    splits, _ = assign_splits(
        texts["index"].tolist(),
        placed,
        split_names=split_names,
        fractions=fractions,
        validation_fraction=validation_fraction,
        seed=seed,
        source=f"the column {split!r} of {where}" if split else "features and labels",
    )
    if pictures:
        texts["pictures"] = [_spelt(folder, path) for path in texts["pictures"]]
    reasons = _unusable(folder, texts["pictures"]) if pictures else {}
    # The table of captions that `gather` makes is replaced below, because it lacks the column `known`.
    images, _, unused = gather(splits, [[]] * len(texts), _left_out(known, [path for _, path in of_features], reasons))
    shown = {"picture": texts["pictures"].where(~texts["pictures"].isin(reasons), "")} if pictures else {}
    shown |= {"text": texts["text"].map(lambda text: shorten(text, LONGEST_TEXT, placeholder=" …"))} if text else {}
    captions = known.captions.assign(image=texts["index"].to_numpy()[known.captions["image"]])
    return Samples(images.assign(**shown), captions, unused, X)


def _left_out(labels: Labels, features: Sequence[Path], of_pictures: Mapping[str, str]) -> dict[str, str]:
    """Return the labels, pictures and features that are not used, each with the reason.

    `of_pictures` gives the reasons for the pictures. `features` are the files of features.
    """
    captions = labels.captions
    has = set(captions.loc[captions.get("known", pd.Series(True, captions.index)), "caption"])
    reasons = {f"{task} (label)": "no sample is known to have it" for task in labels.tasks if task not in has}
    reasons |= {f"{picture} (picture)": reason for picture, reason in of_pictures.items()}
    in_both = [name for path in features for name in columns_of(path) if name in labels.tasks]
    return reasons | {f"{name} (feature)": "a label of the same name" for name in in_both}


def _require_rows(
    features: Sequence[tuple[str | None, Path]], labels: Sequence[tuple[str | None, Path]], *n_rows: Sequence[int]
) -> None:
    """Raise ValueError unless features and labels have the same number of rows in each split.

    `n_rows` are two lists: the number of rows of each file of features, and of each file of labels.
    """
    for part in dict.fromkeys(part for part, _ in features):
        n, paths = [], []
        for files, numbers in zip((features, labels), n_rows, strict=True):
            in_part = [(path, number) for (split, path), number in zip(files, numbers, strict=True) if split == part]
            n.append(sum(number for _, number in in_part))
            paths.append(", ".join(str(path) for path, _ in in_part))
        require(n[0] == n[1], f"{paths[1]} must have {n[0]:,} rows, one for each row of {paths[0]}, got {n[1]:,} rows")


def require_same_rows(
    features: Sequence[Path],
    labels: Sequence[Path],
    ignore: Collection[str],
    *,
    compression_ratio: float = COMPRESSION_RATIO,
) -> None:
    """Raise ValueError if a column that both features and labels have differs between them in any row.

    Parameters
    ----------
    features, labels : list of path
        The files, in the order in which their rows are joined.
    ignore : list of str
        Columns that are not compared.
    compression_ratio : float above 0
        See `read`.
    """
    paths = [*features, *labels]
    shared = set.intersection(*(set(columns_of(path)) for path in paths)) | (
        {INDEX} if all(map(has_index, paths)) else set()
    )
    for name in sorted(shared - set(map(composed, ignore))):
        first, second = (texts_in(paths, name, compression_ratio) for paths in (features, labels))
        differing = unlike(first, second) if len(first) == len(second) else np.empty(0, int)
        if differing.size:
            row = differing[0]
            raise ValueError(
                f"{features[0]} and {labels[0]} must have the same {name!r} in each row, got {shortened(first[row])} "
                f"and {shortened(second[row])} in row {row + 1:,}: put the rows of both files in the same order, or "
                f"leave the column out if it does not name the rows (option ignore, or --ignore {name!r} of init)"
            )


def texts_in(paths: Sequence[Path], column: str, compression_ratio: float = COMPRESSION_RATIO) -> list[str]:
    """Return the cells of a column as text, for several files whose rows are joined in order."""
    tables = [read_columns(path, compression_ratio, [column], [column]) for path in paths]
    return [text for table in tables for text in texts_of(table[column])]


def _stacked(blocks: Sequence[tuple[Any, list[str]]], paths: Sequence[Path]) -> Any:
    """Join the rows of several files of features. Raises ValueError if the files differ in their columns or formats."""
    (first, names), *others = blocks
    for (X, names_here), path in zip(others, paths[1:], strict=True):
        fits = names_here == names and X.shape[1] == first.shape[1] and sparse.issparse(X) == sparse.issparse(first)
        require(
            fits,
            f"{path} must have the same features as {paths[0]}, in the same order and format, got "
            f"{shortened(names_here[:3]) if names else X.shape[1]}",
        )
    if not others:
        return first
    matrices = [X for X, _ in blocks]
    return (
        sparse.vstack(matrices, format="csr")
        if sparse.issparse(first)
        else np.concatenate(matrices, dtype=kept_dtype(*matrices))
    )


def feature_names(
    root: str | Path,
    *,
    features: Files,
    labels: Files = (),
    names: str | None = None,
    ignore: Sequence[str] = (),
    compression_ratio: float = COMPRESSION_RATIO,
    **options: Any,
) -> list[str]:
    """Return the names of the features, which are the lines of the file `names` or the columns of a table.

    Parameters
    ----------
    root, features, labels, names, ignore, compression_ratio : as in `read`
        See there.
    **options : any
        The other options of `read`, which have no effect here.

    Returns
    -------
    names : list of str
        Empty if the features are in an array and there is no file `names`.
    """
    if not names:
        of_labels = {name for _, file in files_of(labels) for name in columns_of(Path(root) / file)}
        path = Path(root) / files_of(features)[0][1]
        return [name for name, _ in _expanded(path, of_labels | {*map(composed, ignore)}, compression_ratio)]
    with open_text(find(Path(root), "names", names)) as file:
        lines = [composed(line.strip()) for line in file]
    require(all(lines) and len(set(lines)) == len(lines), f"{names} must hold a different name on each line")
    return lines


def _expanded(path: Path, without: Collection[str], compression_ratio: float) -> list[tuple[str, str]]:
    """Return pairs (feature, column) for the features in a table. A column of lists holds several features."""
    columns = [name for name in columns_of(path) if name not in without]
    widths = widths_of(path, columns, compression_ratio) if columns else {}
    return [
        (f"{name} {i + 1}" if name in widths else name, name)
        for name in columns
        for i in range(max(widths.get(name, 1), 1))
    ]


def file(image: str, root: str | Path, **options: Any) -> Path:
    """Return the full path of a sample's picture.

    `image` is the path relative to `root`. The other options of `read` are accepted, but have no effect here.
    """
    return Path(root) / image


def thumbnail(image: str, root: str | Path, longest_side: int, **options: Any) -> np.ndarray:
    """Open the picture of a sample in colour, for display.

    Parameters
    ----------
    image : str
        Path of the picture, relative to `root`.
    root, longest_side, **options : as in `folder.thumbnail`
        See there.

    Returns
    -------
    colours : array, shape (height, width, 3), uint8
    """
    return open_colour(file(image, root), longest_side)


def read_features(
    path: Path,
    *,
    columns: Sequence[str] = (),
    without: Collection[str] = (),
    compression_ratio: float = COMPRESSION_RATIO,
) -> tuple[Any, list[str]]:
    """Read the features in one file.

    Parameters
    ----------
    path : path
        The file. Its formats are those of `features` in `read`.
    columns : list of str
        Names of the features of a table to read, in this order. By default all are read.
    without : collection of str
        Columns of a table that are not features.
    compression_ratio : float above 0
        See `read`.

    Returns
    -------
    X : ndarray or csr_matrix, shape (n_samples, n_features), float32
        A dense array from an .npy file is memory-mapped, and has the dtype of the file.
    names : list of str
        The names of the features of a table. The list is empty if the file holds an array.
    """
    column_of = dict(_expanded(path, without, compression_ratio))
    lacking = [name for name in columns if column_of and name not in column_of]
    require(not lacking, f"{path} must have all features of the model, but lacks the columns {shortened(lacking)}")
    names = list(column_of)
    if names:
        needed = {column_of[name] for name in columns or names}
        widths = {name: 0 for name in dict.fromkeys(column_of.values()) if name in needed}
        widths |= widths_of(path, list(widths), compression_ratio)
        X: Any = read_numbers(path, widths, compression_ratio)
        names = [name for name in names if column_of[name] in needed]
        if columns:
            X, names = X[:, [names.index(name) for name in columns]], list(columns)
    else:
        require(path.suffix.lower() not in TABLES, f"{path} must have a column of features, got only labels")
        X = read_npz(path, compression_ratio) if path.suffix.lower() == ".npz" else read_npy(path)
    require(
        X.ndim == 2 and min(X.shape) and X.dtype.kind in "fiub",
        f"{path} must hold a matrix of numbers, got an array of shape {X.shape} and type {X.dtype}",
    )
    with np.errstate(over="ignore"):  # numbers too large for float32 become infinite and are reported below
        if sparse.issparse(X):
            X = sparse.csr_matrix(X, dtype=np.float32)
        elif path.suffix.lower() != ".npy":
            X = np.asarray(X, kept_dtype(X), order="C")
    for fault, test in (("missing", np.isnan), (f"infinite, or too large for {kept_dtype(X)},", np.isinf)):
        counts = _by_column(X, test)
        for column in np.flatnonzero(counts)[:1].tolist():
            raise ValueError(
                f"{path} must hold a number in each row of each column, got {counts[column]:,} {fault} in column "
                f"{names[column] if names else column + 1!r} ({np.count_nonzero(counts):,} such columns): replace "
                "them, or leave the column out"
            )
    return X, names


def _by_column(X: Any, test: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Count the entries of each column that pass a test. Zeros must not pass it, because a sparse X lacks them."""
    return (
        np.bincount(X.indices[test(X.data)], minlength=X.shape[1])
        if sparse.issparse(X)
        else sum(test(block).sum(axis=0) for block in blocks_of(X, kept_dtype(X)))
    )


def _read_labels(
    path: Path, columns: Mapping[str, str], ignore: Sequence[str], separator: str, compression_ratio: float
) -> Labels:
    """Read the labels in one file. `columns` maps each option that names a column to that column."""
    if path.suffix.lower() == ".npy":
        Y = read_npy(path)
        require(Y.ndim in (1, 2), f"{path} must hold a row of labels for each sample, got shape {Y.shape}")
        Y = Y.reshape(len(Y), -1).astype(np.float64 if Y.dtype.kind == "f" else Y.dtype)
        names = [f"label {k + 1}" for k in range(Y.shape[1])]
        table = pa.table([pa.array(y.tolist()) for y in Y.T], names=names)
    else:
        require(path.suffix.lower() in TABLES, f"labels must be in a .csv, .parquet or .npy file, got {str(path)!r}")
        table = read_columns(path, compression_ratio, texts=list(columns.values()))
        names = table.column_names
    for option, column in columns.items():
        require(
            column in names,
            f"{path} must have the column {column!r}, which the option {option} names, got {shortened(names)}",
        )
    texts = pd.DataFrame(
        {option: texts_of(table[column]) for option, column in columns.items() if option != "tags"},
        index=range(len(table)),
    )
    tasks = [name for name in names if name not in columns.values() and name not in set(map(composed, ignore))]
    alone = len(tasks) == 1 and not _is_truth(table[tasks[0]])
    tags = columns.get("tags", tasks[0] if alone else None)
    require(tags or tasks, f"{path} must have a column for each task, or a column of tags, got neither")
    if tags:
        again = alone and path.suffix.lower() == ".csv"  # read as text, because files may write numbers differently
        table = read_columns(path, compression_ratio, [tags], [tags]) if again else table
        lists = [tags_of(path, cell, separator) for cell in table[tags].to_pylist()]
        has = pd.Series(lists, dtype=object).explode().dropna()
        return Labels(texts, pd.DataFrame({"image": has.index, "caption": has.to_numpy()}), [], names)
    Y = np.column_stack([_truth(path, task, table[task]) for task in tasks])
    rows, columns_of_Y = np.nonzero(Y)
    captions = pd.DataFrame(
        {"image": rows, "caption": np.array(tasks)[columns_of_Y], "known": Y[rows, columns_of_Y] == 1}
    )
    return Labels(texts, captions, tasks, names)


def _joined(parts: Sequence[Labels], paths: Sequence[Path]) -> Labels:
    """Join the labels of several files. Raises ValueError if the files differ in their columns."""
    first, starts = parts[0], np.cumsum([0, *(len(part.texts) for part in parts)])
    for part, path in zip(parts, paths, strict=True):
        require(
            set(part.columns) == set(first.columns) and set(part.tasks) == set(first.tasks),
            f"{path} must have the same columns as {paths[0]}, {shortened(first.columns)}, got "
            f"{shortened(part.columns)}",
        )
    texts = pd.concat([part.texts for part in parts], ignore_index=True)
    texts = texts if "index" in texts else texts.assign(index=[f"row {i + 1}" for i in range(len(texts))])
    rows = [
        part.captions.assign(image=part.captions["image"] + start) for part, start in zip(parts, starts, strict=False)
    ]
    captions = pd.concat(rows, ignore_index=True)
    if "known" in captions and captions["known"].all():
        captions = captions.drop(columns="known")
    return Labels(texts, captions, first.tasks, first.columns)


def _is_truth(column: pa.ChunkedArray) -> bool:
    """Return True if the only column of labels is a task, rather than a column of tags.

    A column of truth values is a task. A column that holds fractions is also treated as a task, whose labels are then
    refused, because fractions are neither labels nor tags.
    """
    if not is_number(column):
        return not pa.types.is_nested(column.type) and all(text.lower() in TRUTH for text in texts_of(column))
    values = floats_of(column)
    known = values[~np.isnan(values)]
    return bool(np.isin(known, (0, 1)).all() or (known != np.rint(known)).any())


def tags_of(path: Path, cell: Any, separator: str) -> list[str]:
    """Return the distinct tags in a cell, which holds a string, a number, a list of these, or a list written as text.

    Raises ValueError if a number may have been rounded, or if a string looks like a list but cannot be read as one.

    >>> [tags_of(Path(), cell, ";") for cell in ("cat; dog;", "['cat' 'dog']", '["cat", null]', 3.0, "NaN")]
    [['cat', 'dog'], ['cat', 'dog'], ['cat'], ['3'], []]
    """
    if isinstance(cell, str):
        text = _without_constructor(cell.strip())
        cell = _list_in(path, text) if TEXT_OF_LIST.fullmatch(text) else text.split(separator)
    tags = cell if isinstance(cell, list) else [cell]
    for tag in tags:
        is_float = isinstance(tag, float) or WHOLE.fullmatch(str(tag)) or tag == "inf"
        require(
            not is_float or tag != tag or abs(float(tag)) < LARGEST_TAG,
            f"{path} must hold text or whole numbers as tags, got {tag}, which may have been rounded as a float",
        )
        require(not isinstance(tag, list | dict), f"{path} must hold a flat list of tags, got {shortened(cell)}")
    once = dict.fromkeys(" ".join(text_of(tag).translate(INVISIBLE).split()) for tag in tags)
    return [label for label in once if label not in NOTHING]


def _without_constructor(text: str) -> str:
    """Return the list inside text such as "array(['cat'], dtype='<U3')" or "set()". Return any other text unchanged.

    >>> [_without_constructor(text) for text in ("array(['cat'], dtype='<U3')", "set()", "set(tings)")]
    ["['cat']", '', 'set(tings)']
    """
    match = AROUND_LIST.fullmatch(text)
    return match[1] if match and (not match[1] or TEXT_OF_LIST.fullmatch(match[1])) else text


def _list_in(path: Path, text: str) -> list[str]:
    """Return the items of a list that was written as text, with or without commas between the items."""
    try:
        require(not IN_LIST.sub("", text[1:-1]).strip(", \t\r\n"), "text between the items")
        return [_unquoted(item) for item in IN_LIST.findall(text[1:-1])]
    except (ValueError, SyntaxError):
        raise ValueError(
            f"{path} must hold tags or a list of tags in each cell, got {shortened(text)}: write tags as cat;dog"
        ) from None


def _unquoted(item: str) -> str:
    """Remove the quotes from an item of a list that JSON or Python has written."""
    if item.startswith('"'):
        with suppress(ValueError):
            return str(json.loads(item))
    with warnings.catch_warnings(action="error"):  # Python warns about an unknown escape sequence
        return str(ast.literal_eval(item)) if item[0] in "'\"" else item


def _truth(path: Path, task: str, column: pa.ChunkedArray) -> np.ndarray:
    """Return the labels of a task as 0, 1, or NaN if unknown. Raises ValueError, with the row, for any other value."""
    if is_number(column):
        values = floats_of(column)
    else:
        values = np.array([TRUTH.get(text.lower(), np.inf) for text in texts_of(column)])
    for row in np.flatnonzero(~(np.isnan(values) | np.isin(values, (0, 1))))[:1].tolist():
        raise ValueError(
            f"{path} must hold 0 or 1, true or false, or an empty cell in each column of a task, got "
            f"{shortened(column[row].as_py())} in row {row + 1:,} of {task!r}: if the column is not a task, name it in "
            "one of the options index, split, pictures, text, tags or ignore"
        )
    return values


def _spelt(folder: Path, path: str) -> str:
    """Return the path of a picture in the Unicode form (NFC or NFD) that exists on disk, or unchanged if none does."""
    forms = (path, *(unicodedata.normalize(form, path) for form in ("NFC", "NFD")))
    return next((form for form in forms if path and os.path.isfile(folder / form)), path)


def _unusable(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Return a dictionary that maps the path of each picture that cannot be shown to the reason."""
    distinct = list(filter(None, dict.fromkeys(paths)))
    outside = [path for path in distinct if Path(path).is_absolute() or ".." in Path(path).parts]
    reasons, _ = check_pictures(root, [path for path in distinct if path not in outside], 1, LONGEST_SIDE)
    return dict.fromkeys(outside, "not in the folder root") | reasons

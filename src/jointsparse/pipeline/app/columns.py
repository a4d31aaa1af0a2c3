"""Infer what the columns of tables of labels and features hold, from their content and their names."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse

from jointsparse.checks import require, shortened
from jointsparse.pipeline.datasets.arrays import TRUTH, require_same_rows, texts_in
from jointsparse.pipeline.datasets.folder import SUFFIXES
from jointsparse.pipeline.datasets.names import Files, composed, files_of
from jointsparse.pipeline.datasets.splits import ALIASES, SPLITS
from jointsparse.pipeline.datasets.tabular import (
    INDEX,
    NOTHING,
    columns_of,
    floats_of,
    is_number,
    read_columns,
    texts_of,
    unlike,
    widths_of,
)

# Usual names of columns, in lower case, by the option that the column belongs to.
CALLED = {
    "index": {"id", "index", "name", "key", "sample", "sample_id", "uid"},
    "split": {"split", "splits", "set", "subset", "partition"},
    "pictures": {"picture", "image", "path", "file", "filename", "file_name", "image_path", "photo"},
    "text": {"text", "caption", "title", "sentence", "description"},
    "tags": {
        *(
            "tag",
            "tags",
            "label",
            "labels",
            "class",
            "classes",
            "category",
            "categories",
            "topic",
            "topics",
            "target",
            "y",
        )
    },
}
# Names of columns that number the rows. Before matching, _ is inserted in front of capital letters.
ROW = re.compile(r"(.*[_ -])?(id|idx|index|row|rowid|key|uid|name|sample|no|nr|number)|unnamed: \d+", re.IGNORECASE)
DIGITS = re.compile(r"[+-]?[\d.,'\s%]*\d[\d.,'\s%]*")  # numbers, also with a decimal comma or other separators
OF_LABEL = CALLED["tags"] - {"y", "topic", "topics", "category", "categories"}  # names that no feature has
SAID = {"index": "names", "split": "splits", "pictures": "pictures", "text": "text", "tags": "labels"}
# Choice: with at least this many rows with a label, and without it, a feature equal to the label is no coincidence.
FEWEST_ROWS = 5
MOST_SHOWN = 3  # labels or columns listed in a line


class Roles(NamedTuple):
    """The inferred roles of columns, as options of the loader `arrays` and as a line for the user about each file."""

    options: dict[str, Any]
    lines: list[str]


def roles_of(root: Path, features: Files, labels: Files, choices: Mapping[str, Any]) -> Roles:
    """Infer what the columns of the feature files and label files hold.

    Parameters
    ----------
    root : path
        Folder of the files.
    features, labels : str, list of str, or mapping
        The files, as the loader `arrays` takes them.
    choices : mapping
        The user's choices, see `config.write`.

    Returns
    -------
    Roles

    Raises
    ------
    ValueError
        If several columns could hold the labels, or if rows of features and labels do not match.
    """
    ignored = {composed(name) for name in choices.get("ignore", [])}
    of_labels, of_features = ([root / file for _, file in files_of(option)] for option in (labels, features))
    require_same_rows(of_features, of_labels, ignored)
    options, tasks = _label_columns(of_labels[0], ignored, choices)
    columns_of_labels = {name for path in of_labels for name in columns_of(path)}
    # `columns_of` does not list the index, so the loops below would not find it.
    lines, idle = list[str](), ignored & {INDEX}
    for path in of_labels:
        notes = [f"{len(tasks)} label{'s' * (len(tasks) > 1)} ({_some(tasks)})"] if tasks else []
        named = {option: f"{column}: {SAID[option]}" for option, column in options.items()}
        cells = texts_in([path], options["tags"]) if options.get("tags") in columns_of(path) else []
        if nothing := sorted(set(cells) & NOTHING - {""}):
            named["tags"] += f" ({' or '.join(nothing)} counts as no label)"
        notes += list(named.values()) or ["labels"] * (not tasks)
        unused = [name for name in columns_of(path) if name not in tasks and name not in options.values()]
        notes += [f"{_some(unused)}: left out (--text COLUMN shows a column on the page)"] if unused else []
        lines.append(f"{path.relative_to(root).as_posix()}: {'; '.join(notes)}")
        idle |= set(unused)
    for path in of_features:
        columns = columns_of(path)
        own_columns = [name for name in columns if name not in columns_of_labels]
        unused = _no_features(path, [name for name in own_columns if name not in ignored])
        if path == of_features[0]:  # only once, because the check reads the columns of all files
            others = [name for name in columns_of_labels if name not in {*tasks, *ignored}]
            _require_order(of_features, of_labels, unused, others)
        unused += [name for name in own_columns if name in ignored]
        n = len(own_columns) - len(unused)
        notes = [f"{n} column{'s' * (n != 1)} of features" if columns else "features"]
        called_as_labels = [name for name in unused if name.lower() in OF_LABEL and name not in ignored]
        rest = [name for name in unused if name not in called_as_labels]
        notes += [f"{_some(rest)}: left out"] if rest else []
        notes += [f"{_some(called_as_labels)}: left out, because labels have such names"] if called_as_labels else []
        in_both = [name for name in columns if name in columns_of_labels]
        notes += [f"{_some(in_both)}: left out, because also in {of_labels[0].name}"] if in_both else []
        lines.append(f"{path.relative_to(root).as_posix()}: {'; '.join(notes)}")
        idle |= set(unused)
    return Roles(options | ({"ignore": sorted(idle)} if idle else {}), lines)


def _require_order(
    features: Sequence[Path], labels: Sequence[Path], names: Sequence[str], others: Sequence[str]
) -> None:
    """Raise ValueError if the features and the labels have columns that name the same rows in different orders."""
    of_features, of_labels = (
        {name: texts_in(paths, name) for name in columns if all(name in columns_of(path) for path in paths)}
        for paths, columns in ((features, names), (labels, others))
    )
    for (name, first), (other, second) in product(of_features.items(), of_labels.items()):
        shared = set(first) & set(second)
        same = set(first) == set(second) or (2 * len(shared) > len(set(first)) and not any(map(str.isdigit, shared)))
        unique = len(set(first)) == len(first) == len(second)
        differing = unlike(first, second) if same and unique else np.empty(0, int)
        if differing.size:
            row = differing[0]
            raise ValueError(
                f"{features[0]} and {labels[0]} must have their rows in the same order, but in row {row + 1:,} the "
                f"column {name!r} of the features holds {first[row]!r} and the column {other!r} of the labels holds "
                f"{second[row]!r}: sort one of the files, or leave the column out with --ignore {name!r}"
            )


def copies_of_labels(X: Any, images: pd.DataFrame, captions: pd.DataFrame) -> list[int]:
    """Return the feature columns that are copies of a label, or of the class of each sample, in another coding.

    Such a column has one value for all samples with the label and another value for all samples without it; or it has
    one value per class, and a different value for each class. X, images, captions: as in `Samples`.
    """
    row = pd.Series(range(len(images)), images["image"])[captions["image"]].to_numpy()
    known = captions["known"].astype(bool) if "known" in captions else pd.Series(True, captions.index)
    codes, labels = pd.factorize(captions["caption"])
    found = set[int]()
    for code in range(len(labels)):
        # There are only two groups, so a column with few distinct values could equal a rare label by chance.
        has = np.zeros(len(images))
        has[row[(codes == code) & ~known]] = np.nan
        has[row[(codes == code) & known]] = 1
        found.update(_constant_within(X, has, fewest=FEWEST_ROWS))
    if known.all() and len(row) == len(set(row)) == len(images):
        # Every column is constant within a class of one row, so each class needs at least two rows.
        found.update(_constant_within(X, codes[np.argsort(row)], fewest=2))
    return sorted(found)


def _constant_within(X: Any, values: np.ndarray, fewest: int) -> list[int]:
    """Return the columns that are constant within each group of rows and have a different value in each group.

    Return an empty list if a group has fewer rows than `fewest`.
    """
    groups = [np.flatnonzero(values == value) for value in np.unique(values[~np.isnan(values)])]
    found = np.arange(X.shape[1])
    if len(groups) < 2 or min(map(len, groups)) < fewest:
        return []
    for some in (slice(2), slice(None)):  # two rows per group already exclude nearly all columns
        every = len(found) == X.shape[1]
        blocks = [X[group[some]] if every else X[np.ix_(group[some], found)] for group in groups if len(found)]
        dense = [block.toarray() if sparse.issparse(block) else block for block in blocks]
        if dense:
            fits = np.all([(block == block[0]).all(axis=0) for block in dense], axis=0)
            fits &= (np.diff(np.sort([block[0] for block in dense], axis=0), axis=0) != 0).all(axis=0)
            found = found[fits]
    return found.tolist()


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_SHOWN]) + ", …" * (len(names) > MOST_SHOWN)


def _label_columns(
    path: Path, ignored: Collection[str], choices: Mapping[str, Any]
) -> tuple[dict[str, str], list[str]]:
    """Return two kinds of columns of a labels file: the columns that options name, by option, and the task columns."""
    options = {option: composed(choices[option]) for option in SAID if option in choices}
    columns = columns_of(path)
    table = read_columns(path) if columns else pa.table({})
    names = [name for name in columns if name not in ignored and name not in options.values()]
    as_text = (
        read_columns(path, columns=columns, texts=columns) if columns else table
    )  # as text, 007 and 7 are different names
    held = {name: _held(name, table[name], as_text[name]) for name in names}
    splits = [] if "split" in {*options, *held.values()} else CALLED["split"]
    for name in [name for name in names if name.lower() in splits]:
        texts = sorted(set(texts_of(as_text[name])) - {*SPLITS, *ALIASES})
        raise ValueError(
            f"{path} must hold only the words train, validation, test or unlabelled in the column {name!r}, got "
            f"{_some(texts)}: replace the other words, or leave the column out with --ignore {name}",
        )
    for option in SAID:
        found = [name for name in names if held[name] == option]
        if option not in options and found and option != "tags":
            options[option] = found[0]
    if "tags" in options:
        return options, []
    tasks = [name for name in names if held[name] == "task"]
    tags = [name for name in names if held[name] == "tags"] or [name for name in names if held[name] == "classes"]
    require(
        tasks or len(tags) == 1 or not names,
        f"{path} must have a column of 0 and 1 for each label, or one column that lists the labels, but "
        f"{'several columns' if tags else 'no column'} could list them, got {_some(tags or names)}: choose one with "
        "--tags COLUMN",
    )
    return options | ({"tags": tags[0]} if tags and not tasks else {}), tasks


def _held(name: str, column: pa.ChunkedArray, as_text: pa.ChunkedArray) -> str:
    """Return the kind of values that a column seems to hold.

    The result is "task" for 0 and 1, the name of the option that the column fits, "classes" for words that repeat, or
    "" for anything else.
    """
    called = {option for option, names in CALLED.items() if name.lower() in names}
    if pa.types.is_nested(column.type):
        return "tags" if any(isinstance(item, str) for cell in column.to_pylist() for item in cell or ()) else ""
    texts = texts_of(column)
    some = {text.lower() for text in texts if text not in NOTHING}
    n_known = sum(text not in NOTHING for text in texts)
    numbers = is_number(column)
    if some and some <= TRUTH.keys():
        return "task"
    if "split" in called and some and some <= {*SPLITS, *ALIASES}:
        return "split"
    if "index" in called and len(set(texts_of(as_text))) == n_known == len(texts):
        return "index"
    pictures = sum(text.lower().endswith(SUFFIXES) and "://" not in text for text in texts)  # without web addresses
    if pictures and (pictures == n_known or ("pictures" in called and 2 * pictures >= n_known)):
        return "pictures"
    if "tags" in called and (not numbers or _are_whole(floats_of(column))):
        return "tags"
    if numbers or not some:
        return ""
    return "text" if "text" in called else "classes" if 2 * len(some) <= n_known else ""


def _are_whole(values: np.ndarray) -> bool:
    """Return True if all values that are not NaN are whole numbers."""
    return bool((np.isnan(values) | (np.isfinite(values) & (values == np.rint(values)))).all())


def _no_features(path: Path, columns: Sequence[str]) -> list[str]:
    """Return the columns that hold no numbers, number the rows or are named like labels, so that they are no features.

    Raises ValueError if no feature columns remain.
    """
    if not columns:
        return []
    table, lists = read_columns(path, columns=columns), widths_of(path, columns)
    unused = [
        name
        for name in columns
        if name not in lists
        and (name.lower() in OF_LABEL or not is_number(table[name]) or _numbers_rows(name, floats_of(table[name])))
    ]
    for name in unused:
        texts = [text for text in texts_of(table[name]) if text not in NOTHING]
        cell = texts[0] if texts else ""
        require(
            is_number(table[name]) or ROW.fullmatch(name) or not all(map(DIGITS.fullmatch, texts)),
            f"{path} must hold numbers with a decimal point and no other separators, got {table[name].type} such as "
            f"{cell!r} in the column {name!r}: rewrite the numbers, or leave the column out with --ignore {name}",
        )
        require(
            len(unused) < len(columns),
            f"{path} must have a column of features: numbers, or lists of equally many numbers, but neither labels nor "
            f"row numbers; got only columns such as {name!r} with {table[name].type} such as {shortened(cell)}",
        )
    return unused


def _numbers_rows(name: str, values: np.ndarray) -> bool:
    """Return True if a column has a name that is usual for row numbers, and holds distinct whole numbers."""
    whole = bool((np.isfinite(values) & (values == np.rint(values))).all())
    called = ROW.fullmatch(re.sub("(?<=[a-z])(?=[A-Z])", "_", name.strip()))
    return whole and bool(called and (name.startswith("Unnamed") or len(set(values)) == len(values)))

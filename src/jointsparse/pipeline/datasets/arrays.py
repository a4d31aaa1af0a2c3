"""Load features and labels from .npy, .npz, .parquet or .csv files that have one row per sample.

For example::

    features.npy     an array of shape (n_samples, n_features); or an .npz file from SciPy, or a table
    labels.csv       id,cat,dog       one column per label: 0 or 1, true or false, or empty if the label is unknown
                     a17,1,
                     b02,0,1

Instead of one column per label, a column may list tags, such as "cat;dog": option `tags`. Further columns may hold the
names, the splits, the pictures and the text of the samples. A table may be divided into several files, which are joined
in the order in which they are given, or into one file per split. Features and labels may be columns of the same file.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from jointsparse.checks import require
from jointsparse.messages import shortened
from jointsparse.pictures import open_colour
from jointsparse.pipeline.datasets import labels as of_labels
from jointsparse.pipeline.datasets import records
from jointsparse.pipeline.datasets.folder import check_pictures, list_pictures
from jointsparse.pipeline.datasets.groups import numbered
from jointsparse.pipeline.datasets.labels import Meaning
from jointsparse.pipeline.datasets.names import Files, composed, files_of, finder
from jointsparse.pipeline.datasets.records import Columns
from jointsparse.pipeline.datasets.samples import Samples, gather, kept_dtype
from jointsparse.pipeline.datasets.splits import FRACTIONS, SPLIT_NAMES, assign_splits
from jointsparse.pipeline.datasets.tabular import (
    INDEX,
    columns_of,
    features_in,
    has_index,
    read_columns,
    read_features,
    text_of,
    texts_of,
    unlike,
)
from jointsparse.pipeline.datasets.text import open_text

SHOWS = "names"
LABELS = "labels"
OF_TEXT = ("index", "split", "group", "pictures", "text")  # options that name a column of texts

LONGEST_SIDE = 320  # pixels; pictures are shrunk to this side length when they are checked
LONGEST_TEXT = 300  # characters of a sample's text that a page shows


def read(
    root: str | Path,
    *,
    features: Files,
    labels: Files,
    names: str | None = None,
    index: str | None = None,
    split: str | None = None,
    group: str | None = None,
    pictures: str | None = None,
    text: str | None = None,
    ignore: Sequence[str] = (),
    split_names: Mapping[str, str] = SPLIT_NAMES,
    fractions: Mapping[str, float] = FRACTIONS,
    validation_fraction: float = 0.2,
    seed: int = 0,
    **meaning: Any,
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
        which they are given. A mapping from splits to files also gives the split of each sample. Every column is a
        feature, except for the columns of `ignore`, and columns that also exist in `labels`, which must have the same
        values in both files, unless `ignore` lists them.
    labels : str, list of str, or mapping
        File or files with the same number of rows as the features, see `records.read`. They may be the same files: the
        columns that other options name are then no features.
    names : str or None
        File with the names of the features, one per line. By default the features of a table are named after its
        columns.
    index, split, group, pictures, text : str or None
        Columns of `labels` that hold the names of the samples, their splits, their groups, the paths of their pictures
        relative to `root`, and text that the results page shows. Splits that are drawn divide no group. The columns
        `index` and `group` may also exist in the file of features; `group` may exist only there.
    ignore : list of str
        Columns that are neither features nor labels.
    split_names, fractions, validation_fraction, seed : as in `folder.read_folder`
        See there. Here the splits are given by the column `split`, or by mappings from splits to files.
    **meaning : any
        Where the labels are, and what their values mean: see `labels.Meaning`. By default, every column of `labels`
        that no other option names is a label.

    Returns
    -------
    samples : Samples
        If some labels are unknown, the table of captions has a column `known`, which is False for these labels.

    Raises
    ------
    ValueError
        If a file is damaged or holds Python objects, if the rows of features and labels do not match, if a feature is
        missing, is text, or is not finite in float32, or if a label is not one of the values that options allow.
    """
    folder, files = Path(root), _files(Path(root), features, labels)
    require(not (split and files.by_split), f"split must be None if the files are given by split, got {split!r}")
    of_text = {"index": index, "split": split, "group": group, "pictures": pictures, "text": text}
    columns = {option: composed(column) for option, column in of_text.items() if column}
    stating, ignored, where = Meaning(**meaning), {*map(composed, ignore)}, files.labels[0]
    only = _not_features(files, stating, list(columns.values()), ignored)
    tables = [records.read(path, only) for path in files.labels]
    table, n_rows = _joined(tables, files.labels), [len(next(iter(table.values()))) for table in tables]
    if group and columns["group"] not in table and all(columns["group"] in columns_of(path) for path in files.features):
        table[columns["group"]] = texts_in(files.features, columns["group"])
    of_labels.require_columns(where, table, list(columns.values()))
    known = of_labels.read(where, table, stating, {*columns.values(), *ignored})
    X = _features(files, ignored | {*table}, n_rows)
    lines = _lines(folder / names) if names else []
    require(
        len(lines) in (0, X.shape[1]),
        f"{names} must name the {X.shape[1]} features, one per line, got {len(lines)} names: if the file names "
        "something else, leave it out (option names, or --ignore of init)",
    )
    if files.features != files.labels:
        require_same_rows(files.features, files.labels, table, ignore)
    texts = _texts(where, table, columns, X.shape[0])
    captions = of_labels.settled(known, texts["index"].to_numpy(), texts["index"].tolist(), stating)
    placed = texts[["index", "split"]].set_axis(["image", "split"], axis=1) if split else None
    if files.by_split:
        placed = pd.DataFrame({"image": texts["index"], "split": np.repeat(np.array(files.splits), n_rows)})
    groups = numbered(texts["group"]) if group else None
    splits, _ = assign_splits(
        texts["index"].tolist(),
        placed,
        groups=groups,
        captions=captions,
        split_names=split_names,
        fractions=fractions,
        validation_fraction=validation_fraction,
        seed=seed,
        source=f"the column {split!r} of {where}" if split else "features and labels",
    )
    shown, reasons = _shown(folder, texts)
    shown |= {} if groups is None else {"group": groups}
    samples = gather(splits, captions, _without_use(files, known.names, captions) | reasons, X)
    return samples._replace(images=samples.images.assign(**shown))


class _Files(NamedTuple):
    """Files of features and of labels, in the order in which their rows are joined.

    splits: the split of each file of labels. feature_splits: of each file of features. They are None if the files are
    not given by split.
    """

    features: list[Path]
    labels: list[Path]
    feature_splits: list[str | None]
    splits: list[str | None]

    @property
    def by_split(self) -> bool:
        return self.splits[0] is not None


def _files(folder: Path, features: Files, labels: Files) -> _Files:
    """Find the files. Raises ValueError if they are for different splits."""
    of_features, of_labels = files_of(features), files_of(labels)
    require(
        {split for split, _ in of_features} == {split for split, _ in of_labels},
        f"features and labels must have files for the same splits, got {shortened(features)} and {shortened(labels)}",
    )
    return _Files(
        [folder / name for _, name in of_features],
        [folder / name for _, name in of_labels],
        [split for split, _ in of_features],
        [split for split, _ in of_labels],
    )


def _not_features(files: _Files, meaning: Meaning, named: list[str], ignored: set[str]) -> list[str] | None:
    """Return the columns that are not features, if features and labels are in the same files. Otherwise return None."""
    if files.features != files.labels:
        return None
    where, own = files.labels[0], [*named, *meaning.named()]
    header = columns_of(where)
    of_labels.require_columns(where, header, own)
    rest = [name for name in header if name not in {*own, *ignored}]
    return own if meaning.tags else [*own, *of_labels.chosen(where, rest, meaning.columns)]


def _features(files: _Files, without: set[str], n_rows: Sequence[int]) -> Any:
    """Read the features, and check that they have as many rows as the labels. without: columns that are not features.

    n_rows: the number of rows of each file of labels.
    """
    blocks = [read_features(path, without=without) for path in files.features]
    sides = (
        (files.features, files.feature_splits, [X.shape[0] for X, _ in blocks]),
        (files.labels, files.splits, n_rows),
    )
    for split in dict.fromkeys(files.splits):
        (first, n_first), (second, n_second) = (
            (
                ", ".join(str(path) for path, own in zip(paths, splits, strict=True) if own == split),
                sum(n for n, own in zip(numbers, splits, strict=True) if own == split),
            )
            for paths, splits, numbers in sides
        )
        require(
            n_first == n_second,
            f"{second} must have {n_first:,} rows, one for each row of {first}, got {n_second:,} rows",
        )
    return _stacked(blocks, files.features)


def _texts(where: Path, table: Columns, columns: Mapping[str, str], n_rows: int) -> pd.DataFrame:
    """Return the columns of texts by option. Without the option index, the samples are named "row 1", "row 2", …"""
    texts = pd.DataFrame({option: [text_of(cell) for cell in table[name]] for option, name in columns.items()})
    if "index" not in columns:
        texts = texts.reindex(range(n_rows)).assign(index=[f"row {i + 1}" for i in range(n_rows)])
    for twice in texts["index"][texts["index"].duplicated()][:1]:
        raise ValueError(f"{where} must have distinct names in the column {columns['index']!r}, got {twice!r} twice")
    return texts


def _shown(folder: Path, texts: pd.DataFrame) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the columns of what pages show of each sample, and the reasons why pictures cannot be shown."""
    shown, reasons = dict[str, Any](), dict[str, str]()
    if "pictures" in texts:
        there, _ = list_pictures(folder)
        paths = texts["pictures"].map(finder(there))
        lost = dict.fromkeys(sorted({*paths} - {*there, ""}), "no picture in the folder root")
        unusable = check_pictures(folder, sorted({*paths} & {*there}), 1, LONGEST_SIDE)[0] | lost
        shown["picture"] = paths.where(~paths.isin(unusable), "")
        reasons = {f"{picture} (picture)": reason for picture, reason in unusable.items()}
    if "text" in texts:
        shown["text"] = texts["text"].map(lambda text: shorten(text, LONGEST_TEXT, placeholder=" …"))
    return shown, reasons


def _without_use(files: _Files, names: Sequence[str], captions: pd.DataFrame) -> dict[str, str]:
    """Return labels that no sample has, and features named as labels, each with the reason."""
    has = set(captions.loc[captions.get("known", pd.Series(True, captions.index)), "caption"])
    reasons = {f"{name} (label)": "no sample is known to have it" for name in names if name not in has}
    if files.features == files.labels:
        return reasons
    in_both = [name for path in files.features for name in columns_of(path) if name in names]
    return reasons | {f"{name} (feature)": "a label of the same name" for name in in_both}


def _joined(tables: Sequence[Columns], paths: Sequence[Path]) -> Columns:
    """Join the rows of several files of labels. Raises ValueError if the files differ in their columns."""
    for table, path in zip(tables, paths, strict=True):
        require(
            set(table) == set(tables[0]),
            f"{path} must have the same columns as {paths[0]}, {shortened([*tables[0]])}, got {shortened([*table])}",
        )
    return {name: [cell for table in tables for cell in table[name]] for name in tables[0]}


def require_same_rows(
    features: Sequence[Path],
    labels: Sequence[Path],
    table: Columns,
    ignore: Collection[str],
) -> None:
    """Raise ValueError if a column that both features and labels have differs between them in any row.

    Parameters
    ----------
    features, labels : list of path
        The files, in the order in which their rows are joined.
    table : Columns
        The columns of the files of labels.
    ignore : list of str
        Columns that are not compared.
    """
    shared = set(table).intersection(*(columns_of(path) for path in features))
    shared |= {INDEX} if all(map(has_index, [*features, *labels])) else set()
    for name in sorted(shared - set(map(composed, ignore))):
        first = texts_in(features, name)
        second = [text_of(cell) for cell in table[name]] if name in table else texts_in(labels, name)
        differing = unlike(first, second) if len(first) == len(second) else np.empty(0, int)
        if differing.size:
            row = differing[0]
            raise ValueError(
                f"{features[0]} and {labels[0]} must have the same {name!r} in each row, got {shortened(first[row])} "
                f"and {shortened(second[row])} in row {row + 1:,}: put the rows of both files in the same order, or "
                f"leave the column out if it does not name the rows (option ignore, or --ignore {name!r} of init)"
            )


def texts_in(paths: Sequence[Path], column: str) -> list[str]:
    """Return the cells of a column as text, for several files whose rows are joined in order."""
    return [text for path in paths for text in texts_of(read_columns(path, [column])[column])]


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
    labels: Files,
    names: str | None = None,
    ignore: Sequence[str] = (),
    **options: Any,
) -> list[str]:
    """Return the names of the features, which are the lines of the file `names` or the columns of a table.

    Parameters
    ----------
    root, features, labels, names, ignore : as in `read`
        See there.
    **options : any
        The other options of `read`.

    Returns
    -------
    names : list of str
        Empty if the features are in an array and there is no file `names`.
    """
    if names:
        return _lines(Path(root) / names)
    files, ignored = _files(Path(root), features, labels), {*map(composed, ignore)}
    named = [composed(options[option]) for option in OF_TEXT if options.get(option)]
    only = _not_features(files, Meaning.among(options), named, ignored)
    without = {name for path in files.labels for name in records.read(path)} if only is None else {*only}
    without |= {composed(options["group"])} if options.get("group") else set()
    return [name for own in features_in(files.features[0], without | ignored).values() for name in own]


def _lines(path: Path) -> list[str]:
    """Return the lines of a file of names."""
    with open_text(path) as file:
        lines = [composed(line.strip()) for line in file]
    require(all(lines) and len(set(lines)) == len(lines), f"{path.name} must hold a different name on each line")
    return lines


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

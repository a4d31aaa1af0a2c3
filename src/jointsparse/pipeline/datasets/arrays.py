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

import os
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import sparse

from jointsparse.checks import require, shortened
from jointsparse.pictures import open_colour
from jointsparse.pipeline.datasets import labels as of_labels
from jointsparse.pipeline.datasets import records
from jointsparse.pipeline.datasets.folder import check_pictures
from jointsparse.pipeline.datasets.groups import numbered
from jointsparse.pipeline.datasets.labels import NEGATIVE, POSITIVE, Meaning
from jointsparse.pipeline.datasets.names import Files, composed, files_of
from jointsparse.pipeline.datasets.packed import COMPRESSION_RATIO
from jointsparse.pipeline.datasets.records import Columns
from jointsparse.pipeline.datasets.samples import Samples, find, gather, kept_dtype
from jointsparse.pipeline.datasets.splits import FRACTIONS, SPLIT_NAMES, assign_splits
from jointsparse.pipeline.datasets.tabular import (
    INDEX,
    columns_of,
    expanded,
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
    columns: Sequence[str] = ("*",),
    tags: str | None = None,
    separator: str = ";",
    positive: Sequence[str] = POSITIVE,
    negative: Sequence[str] = NEGATIVE,
    none: Sequence[str] = (),
    unknown: Sequence[str] = (),
    not_tags: str | None = None,
    confidence: str | None = None,
    unmentioned: Literal["negative", "unknown"] = "negative",
    ignore: Sequence[str] = (),
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
    columns, tags, separator, positive, negative : as in `labels.Meaning`
        Where the labels are, and what their values mean. By default, every column of
        `labels` that no other option names is a label.
    none, unknown, not_tags, confidence, unmentioned : as in `labels.Meaning`
        See there.
    ignore : list of str
        Columns that are neither features nor labels.
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
        missing, is text, or is not finite in float32, or if a label is not one of the values that options allow.
    """
    folder = Path(root)
    feature_files, label_files = (
        [(part, find(folder, option, name)) for part, name in files_of(files)]
        for option, files in (("features", features), ("labels", labels))
    )
    parts = {part for part, _ in feature_files}
    require(
        {part for part, _ in label_files} == parts,
        f"features and labels must have files for the same splits, got {shortened(features)} and {shortened(labels)}",
    )
    require(not split or parts == {None}, f"split must be None if the files are given by split, got {split!r}")
    meaning = Meaning(columns, tags, separator, positive, negative, none, unknown, not_tags, confidence, unmentioned)
    of_text = {"index": index, "split": split, "group": group, "pictures": pictures, "text": text}
    named = {option: composed(column) for option, column in of_text.items() if column}
    tables = [records.read(path, compression_ratio) for _, path in label_files]
    table, where = _joined(tables, [path for _, path in label_files]), label_files[0][1]
    of_features = [path for _, path in feature_files]
    if group and named["group"] not in table and all(named["group"] in columns_of(path) for path in of_features):
        table[named["group"]] = texts_in(of_features, named["group"], compression_ratio)
    of_labels.require_columns(where, table, list(named.values()))
    known = of_labels.read(where, table, meaning, {*named.values(), *map(composed, ignore)})
    without = {*map(composed, ignore)}
    without |= {*known.names, *meaning.named(), *named.values()} if feature_files == label_files else {*table}
    blocks = [read_features(path, without=without, compression_ratio=compression_ratio) for _, path in feature_files]
    n_rows = [len(next(iter(table.values()))) for table in tables]
    _require_rows(feature_files, label_files, [X.shape[0] for X, _ in blocks], n_rows)
    X = _stacked(blocks, [path for _, path in feature_files])
    lines = _lines(find(folder, "names", names)) if names else []
    require(
        len(lines) in (0, X.shape[1]),
        f"{names} must name the {X.shape[1]} features, one per line, got {len(lines)} names: if the file names "
        "something else, leave it out (option names, or --ignore of init)",
    )
    texts = pd.DataFrame({option: [text_of(cell) for cell in table[name]] for option, name in named.items()})
    if not index:
        texts = texts.reindex(range(X.shape[0])).assign(index=[f"row {i + 1}" for i in range(X.shape[0])])
    for twice in texts["index"][texts["index"].duplicated()][:1]:
        raise ValueError(f"{where} must have distinct names in the column {index!r}, got {twice!r} twice")
    if feature_files != label_files:
        require_same_rows(of_features, [path for _, path in label_files], table, ignore, compression_ratio)
    placed = None
    if split:
        placed = texts[["index", "split"]].set_axis(["image", "split"], axis=1)
    elif parts != {None}:
        placed = pd.DataFrame({"image": texts["index"], "split": np.repeat([part for part, _ in label_files], n_rows)})
    samples = texts["index"].to_numpy()
    stated = known.stated.assign(row=samples[known.stated["row"].to_numpy(int)])
    captions = of_labels.settled(stated, {samples[row] for row in known.silent}, list(samples), meaning)
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
    if pictures:
        texts["pictures"] = [_spelt(folder, path) for path in texts["pictures"]]
    unusable = _unusable(folder, texts["pictures"]) if pictures else {}
    has = set(captions.loc[captions.get("known", pd.Series(True, captions.index)), "caption"])
    reasons = {f"{name} (label)": "no sample is known to have it" for name in known.names if name not in has}
    reasons |= {f"{picture} (picture)": reason for picture, reason in unusable.items()}
    in_both = [name for _, path in feature_files for name in columns_of(path) if name in known.names]
    if label_files != feature_files:
        reasons |= {f"{name} (feature)": "a label of the same name" for name in in_both}
    images, _, left_out = gather(splits, [[]] * len(texts), reasons)
    shown = {"picture": texts["pictures"].where(~texts["pictures"].isin(unusable), "")} if pictures else {}
    shown |= {"text": texts["text"].map(lambda text: shorten(text, LONGEST_TEXT, placeholder=" …"))} if text else {}
    images = images.assign(**shown) if groups is None else images.assign(**shown, group=groups)
    return Samples(images, captions, left_out, X)


def _joined(tables: Sequence[Columns], paths: Sequence[Path]) -> Columns:
    """Join the rows of several files of labels. Raises ValueError if the files differ in their columns."""
    for table, path in zip(tables, paths, strict=True):
        require(
            set(table) == set(tables[0]),
            f"{path} must have the same columns as {paths[0]}, {shortened([*tables[0]])}, got {shortened([*table])}",
        )
    return {name: [cell for table in tables for cell in table[name]] for name in tables[0]}


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
    table: Columns,
    ignore: Collection[str],
    compression_ratio: float = COMPRESSION_RATIO,
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
    compression_ratio : float above 0
        See `read`.
    """
    shared = set(table).intersection(*(columns_of(path) for path in features))
    shared |= {INDEX} if all(map(has_index, [*features, *labels])) else set()
    for name in sorted(shared - set(map(composed, ignore))):
        first = texts_in(features, name, compression_ratio)
        second = [text_of(cell) for cell in table[name]] if name in table else texts_in(labels, name, compression_ratio)
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
    return [text for path in paths for text in texts_of(read_columns(path, compression_ratio, [column])[column])]


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
        The other options of `read`.

    Returns
    -------
    names : list of str
        Empty if the features are in an array and there is no file `names`.
    """
    folder = Path(root)
    if names:
        return _lines(find(folder, "names", names))
    of_features, of_label_files = ([folder / name for _, name in files_of(file)] for file in (features, labels))
    table = {name for path in of_label_files for name in records.read(path)}
    if of_features == of_label_files:
        meaning = Meaning(**{key: value for key, value in options.items() if key in Meaning._fields})
        named = {*meaning.named(), *(composed(options[option]) for option in OF_TEXT if options.get(option))}
        rest = [name for name in table if name not in {*named, *map(composed, ignore)}]
        table = (
            {*named} if meaning.tags else {*named, *of_labels.chosen(of_label_files[0], rest, meaning.columns or "*")}
        )
    table |= {*map(composed, ignore)} | ({composed(options["group"])} if options.get("group") else set())
    return [name for name, _ in expanded(of_features[0], table, compression_ratio)]


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


def _spelt(folder: Path, path: str) -> str:
    """Return the path of a picture in the Unicode form (NFC or NFD) that exists on disk, or unchanged if none does."""
    forms = (path, *(unicodedata.normalize(form, path) for form in ("NFC", "NFD")))
    return next((form for form in forms if path and os.path.isfile(folder / form)), path)


def _unusable(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Return a dictionary that maps the path of each picture that cannot be shown to the reason."""
    distinct = list(filter(None, dict.fromkeys(paths)))
    outside = [path for path in distinct if Path(path).is_absolute() or ".." in Path(path).parts]
    reasons, _, _ = check_pictures(root, [path for path in distinct if path not in outside], 1, LONGEST_SIDE)
    return dict.fromkeys(outside, "not in the folder root") | reasons

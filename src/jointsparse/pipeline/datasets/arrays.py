"""Features of any model and a table of labels, row by row, in files .npy, .npz, .parquet or .csv.

An example::

    features.npy     (n_samples, n_features); or .npz of SciPy, or a table whose columns are named
    labels.csv       id,cat,dog       a task in each column: 0 or 1, true or false, or nothing, which is unknown
                     a17,1,
                     b02,0,1

Or a column lists tags, such as "cat;dog". Other columns of labels may hold names, splits, pictures and text.
"""

import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv, parquet
from scipy import sparse

from jointsparse.checks import as_positive, require, require_sound, shortened
from jointsparse.pictures import open_colour
from jointsparse.pipeline.datasets.folder import check_pictures
from jointsparse.pipeline.datasets.packed import COMPRESSION_RATIO, SMALL_BYTES
from jointsparse.pipeline.datasets.samples import Samples, find, gather
from jointsparse.pipeline.datasets.splits import FRACTIONS, SPLIT_NAMES, assign_splits
from jointsparse.pipeline.datasets.text import DELIMITERS, open_text

OFFERS = "samples"
SHOWS = "names"
LABELS = "labels"
FILES = ("features", "labels", "names")  # the options that name files
TAKES = (
    *("root", *FILES, "index", "split", "pictures", "text", "tags", "separator", "compression_ratio"),
    *("split_names", "fractions", "validation_fraction", "seed"),
)
NEEDS = ("root", "features", "labels")
ONLY_WITH = {"split_names": "split", "validation_fraction": "split"}
ONLY_WITHOUT = {"fractions": "split"}

TABLES = (".csv", ".parquet")
ROWS_AT_ONCE = 4096
LONGEST_SIDE = 320  # pixels to which pictures are shrunk when they are checked
LARGEST_TAG = 2**53  # of floats, which are rounded from here on
LONGEST_TEXT = 300  # letters of a sample's text that a page shows
TRUTH: Mapping[str, float] = {"1": 1, "1.0": 1, "true": 1, "0": 0, "0.0": 0, "false": 0, "": np.nan, "nan": np.nan}
DECIMAL = re.compile(r"[+-]?\d*\.\d*(e[+-]?\d+)?", re.IGNORECASE)  # no name of a column, but the first row of numbers


def read(
    root: str | Path,
    *,
    features: str,
    labels: str,
    names: str | None = None,
    index: str | None = None,
    split: str | None = None,
    pictures: str | None = None,
    text: str | None = None,
    tags: str | None = None,
    separator: str = ";",  # Choice: commas stand within tags ("black, white") and between fields of a table
    compression_ratio: float = COMPRESSION_RATIO,
    split_names: Mapping[str, str] = SPLIT_NAMES,
    fractions: Mapping[str, float] = FRACTIONS,
    validation_fraction: float = 0.2,
    seed: int = 0,
) -> Samples:
    """Read and check features that a user brings, with the labels of each sample.

    Samples are named by the column `index`, or "row 1", "row 2", … Features become float32. Dense ones in an .npy file
    stay on disk if they are float32 there. Sparse ones become CSR.

    Parameters
    ----------
    root : path
        Folder of the files.
    features : str
        File with a row for each sample: .npy, .npz (of `scipy.sparse.save_npz`, or with one array), .parquet or .csv.
    labels : str
        File with as many rows, .npy, .parquet or .csv. A column is a task unless an option below names it.
    names : str or None
        File with the name of each feature on a line of its own. The columns of a table have names already.
    index, split, pictures, text : str or None
        Columns of `labels`: names of the samples, their splits, paths of pictures relative to `root`, and text that the
        page shows. The features may have the column `index`, too.
    tags : str or None
        Column of `labels` that lists what a sample has. No other column is a task then. A single column of text is
        such a list. A sample without tags is a negative of every task.
    separator : str
        Stands between two tags.
    compression_ratio : float above 0
        Times its size that a file may unpack to. 64 KiB are never too much.
    split_names, fractions, validation_fraction, seed : as in `folder.read_folder`
        See there. The column `split` takes the place of splits.csv.

    Returns
    -------
    samples : Samples
        Where a label is unknown, the table of captions has the column known, and a row with False for that label.

    Raises
    ------
    ValueError
        If a file is damaged or holds Python objects, or if rows do not match. If a feature is missing, text, or not
        finite in float32. If a label is not as the head of this module says.
    """
    folder = Path(root)
    path, of_labels = find(folder, "features", features), find(folder, "labels", labels)
    require(path != of_labels, f"features and labels must be in files of their own, got {features!r} for both")
    X, _ = read_features(path, without=index, compression_ratio=compression_ratio)
    n_names = len(feature_names(root, features=features, names=names, index=index))
    require(n_names in (0, X.shape[1]), f"names must name the {X.shape[1]} features of {path}, got {n_names} names")
    options = {"index": index, "split": split, "pictures": pictures, "text": text, "tags": tags}
    told, captions, never = _read_labels(
        of_labels, {option: column for option, column in options.items() if column}, separator, compression_ratio
    )
    require(
        len(told) == X.shape[0],
        f"{of_labels} must have a row for each of the {X.shape[0]:,} rows of {path}, got {len(told):,}",
    )
    for twice in told["index"][told["index"].duplicated()][:1]:
        raise ValueError(f"{of_labels} must name each sample once in the column {index!r}, got {twice!r} again")
    if index in _names(path):
        same = _texts(_table(path, compression_ratio, [index], [index])[index]) == told["index"].tolist()
        require(same, f"{path} and {of_labels} must have the same {index!r} in each row, got others")
    splits, _ = assign_splits(
        told["index"].tolist(),
        told[["index", "split"]].set_axis(["image", "split"], axis=1) if split else None,
        split_names=split_names,
        fractions=fractions,
        validation_fraction=validation_fraction,
        seed=seed,
        source=f"the column {split!r} of {of_labels}",
    )
    reasons = _unusable(folder, told["pictures"]) if pictures else {}
    left_out = {f"{label} (label)": "no sample is known to have it" for label in never}
    left_out |= {f"{picture} (picture)": reason for picture, reason in reasons.items()}
    images, _, unused = gather(splits, [[]] * len(told), left_out)
    shown = {"picture": told["pictures"].where(~told["pictures"].isin(reasons), "")} if pictures else {}
    shown |= {"text": told["text"].map(lambda text: shorten(text, LONGEST_TEXT, placeholder=" …"))} if text else {}
    captions["image"] = told["index"].to_numpy()[captions["image"]]
    return Samples(images.assign(**shown), captions, unused, X)


def feature_names(
    root: str | Path, *, features: str, names: str | None = None, index: str | None = None, **options: Any
) -> list[str]:
    """Names of the features: those in the file `names`, or of the columns of a table. An array has none by itself.

    Parameters
    ----------
    root, features, names, index : as in `read`
        See there.
    **options : any
        The other options of `read`, which do not matter here.
    """
    if not names:
        return [name for name in _names(Path(root) / features) if name != index]
    with open_text(find(Path(root), "names", names)) as file:
        found = [line.strip() for line in file]
    require(all(found) and len(set(found)) == len(found), f"{names} must hold a name of its own on each line")
    return found


def file(image: str, root: str | Path, **options: Any) -> Path:
    """The file of a sample's picture. image: its path, relative to root. options: the others of `read`."""
    return Path(root) / image


def thumbnail(image: str, root: str | Path, longest_side: int, **options: Any) -> np.ndarray:
    """Open the picture of a sample in colour, for people to look at.

    Parameters
    ----------
    image : str
        Its path, relative to root.
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
    without: str | None = None,
    compression_ratio: float = COMPRESSION_RATIO,
) -> tuple[Any, list[str]]:
    """Read features, (n_samples, n_features) float32, dense or CSR, and the names of those in a table.

    Parameters
    ----------
    path : path
        See `read`.
    columns : list of str
        The columns of a table to read, in this order; by default all.
    without : str or None
        A column that is no feature.
    compression_ratio : float above 0
        See `read`.
    """
    names = [name for name in _names(path) if name != without]
    lacking = [name for name in columns if names and name not in names]
    require(not lacking, f"{path} must have each feature that the model knows, got no columns {shortened(lacking)}")
    if names:
        names = list(columns) or names
        X: Any = _of_table(path, names, compression_ratio)
    else:
        X = _of_npz(path, compression_ratio) if path.suffix.lower() == ".npz" else _of_npy(path)
    require(
        X.ndim == 2 and min(X.shape) and X.dtype.kind in "fiub",
        f"{path} must hold numbers in rows and columns, got shape {X.shape} of {X.dtype}",
    )
    with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite
        X = sparse.csr_matrix(X, dtype=np.float32) if sparse.issparse(X) else np.asanyarray(X, np.float32, order="C")
    for fault, test in (("missing", np.isnan), ("infinite, or too large for float32,", np.isinf)):
        counts = _by_column(X, test)
        for column in np.flatnonzero(counts)[:1].tolist():
            raise ValueError(
                f"{path} must hold a number in each row of each column, got {counts[column]:,} {fault} in column "
                f"{names[column] if names else column + 1!r} ({np.count_nonzero(counts):,} such columns): fill them "
                "in, or leave the column out"
            )
    return X, names


@contextmanager
def _opened(path: Path) -> Iterator[None]:
    """Say in one sentence that a file does not open, whatever its decoder raises."""
    try:
        yield
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ValueError(
            f"{path} must be a whole {path.suffix} file of numbers and text, got a fault: {said}"
        ) from None


def _require_bytes(path: Path, n_bytes: int, compression_ratio: float) -> None:
    most = max(SMALL_BYTES, as_positive(compression_ratio, "compression_ratio") * path.stat().st_size)
    require(
        n_bytes <= most,
        f"{path} must unpack to at most {compression_ratio:g} times its size, got {n_bytes:,} bytes: raise "
        "compression_ratio, if the file is what it should be",
    )


def _of_npy(path: Path) -> np.ndarray:
    with _opened(path):
        return np.lib.format.open_memmap(path, mode="r")


def _of_npz(path: Path, compression_ratio: float) -> Any:
    """The matrix that SciPy has written, without repeated or stored zero entries, or the only array."""
    with _opened(path), zipfile.ZipFile(path) as archive:
        n_bytes = sum(one.file_size for one in archive.infolist())
    _require_bytes(path, n_bytes, compression_ratio)
    with _opened(path), np.load(path, allow_pickle=False) as arrays:
        if "format" not in arrays:
            (name,) = arrays
            return arrays[name]
        given = sparse.load_npz(path)
        require_sound(given)
        X = given.tocsr()
        X.sum_duplicates()
        X.eliminate_zeros()
        return sparse.csr_matrix((X.data, X.indices, X.indptr), X.shape)  # with 32-bit indices where they suffice


def _by_column(X: Any, test: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Count the entries of each column that pass a test, which 0 does not pass."""
    return (
        np.bincount(X.indices[test(X.data)], minlength=X.shape[1])
        if sparse.issparse(X)
        else sum(test(X[start : start + ROWS_AT_ONCE]).sum(axis=0) for start in range(0, len(X), ROWS_AT_ONCE))
    )


# Tables


def _names(path: Path) -> list[str]:
    """The columns of a table, without an index that pandas keeps beside them; none of an array."""
    kind = path.suffix.lower()
    require(kind in (".npy", ".npz", *TABLES), f"{path} must end with .npy, .npz, .parquet or .csv, got {kind!r}")
    if kind not in TABLES:
        return []
    with _opened(path):
        schema = csv.open_csv(path, parse_options=_signs(path)).schema if kind == ".csv" else parquet.read_schema(path)
    names = [name for name in schema.names if kind == ".csv" or not name.startswith("__index_level_")]
    again = zip(names, pd.Index(names).duplicated(), strict=True)
    odd = [name for name, twice in again if twice or not name.strip() or DECIMAL.fullmatch(name)]
    require(
        names and not odd,
        f"{path} must have a header with a name of its own for each column, got {odd[:1] or 'none'} (pandas writes a "
        "column without name unless index=False)",
    )
    return names


def _signs(path: Path) -> csv.ParseOptions:
    """Between the fields of a table stands the sign that its header has most often, or a comma."""
    with open_text(path) as file:
        header = file.readline()
    sign = max(DELIMITERS, key=header.count)
    return csv.ParseOptions(delimiter=sign, newlines_in_values=True, ignore_empty_lines=sign in header)


def _table(path: Path, compression_ratio: float, columns: Sequence[str] = (), texts: Sequence[str] = ()) -> pa.Table:
    """Some columns of a table, by default all. texts: those of them that are text, even where all look like numbers."""
    names = list(columns) or _names(path)
    if path.suffix.lower() == ".csv":
        types = csv.ConvertOptions(include_columns=names, column_types=dict.fromkeys(texts, pa.string()))
        with _opened(path):
            return csv.read_csv(path, parse_options=_signs(path), convert_options=types)
    with _opened(path):
        file = parquet.ParquetFile(path)
    _require_bytes(path, 4 * file.metadata.num_rows * len(names), compression_ratio)
    with _opened(path):
        return file.read(names).select(names)


def _is_number(column: pa.ChunkedArray) -> bool:
    tests = pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null
    return any(test(column.type) for test in tests)


def _floats(column: pa.ChunkedArray) -> np.ndarray:
    """The numbers of a column as float64, NaN where there is none."""
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy())


def _texts(column: pa.ChunkedArray) -> list[str]:
    """The text of each row of a column, empty where there is none."""
    return ["" if cell is None else str(cell).strip() for cell in column.to_pylist()]


def _of_table(path: Path, names: Sequence[str], compression_ratio: float) -> np.ndarray:
    """Columns of a table as float32."""
    table = _table(path, compression_ratio, names)
    X = np.empty(table.shape, np.float32)
    for j, column in enumerate(table.columns):
        require(
            _is_number(column),
            f"{path} must hold a number in each row of each column, got {column.type} in column {names[j]!r}: leave "
            "the column out, or let the option index name it",
        )
        with np.errstate(over="ignore"):
            X[:, j] = _floats(column)
    return X


def _read_labels(
    path: Path, columns: Mapping[str, str], separator: str, compression_ratio: float
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Read labels. columns: by the option that names them.

    Returns the texts in these columns, by option. Then captions, whose images are numbers of rows; they have the column
    known if some labels are not. And the tasks that no row is known to have.
    """
    if path.suffix.lower() == ".npy":
        Y = _of_npy(path)
        require(Y.ndim == 2, f"{path} must hold a row of labels for each sample, got shape {Y.shape}")
        table = pa.table([*Y.T], names=[f"label {k + 1}" for k in range(Y.shape[1])])
    else:
        require(path.suffix.lower() in TABLES, f"labels must be in a file .csv, .parquet or .npy, got {str(path)!r}")
        table = _table(path, compression_ratio, texts=list(columns.values()))
    for option, column in columns.items():
        require(
            column in table.column_names,
            f"{path} must have the column {column!r}, which {option} names, got {shortened(table.column_names)}",
        )
    told = pd.DataFrame({option: _texts(table[column]) for option, column in columns.items() if option != "tags"})
    told = told if "index" in told else told.assign(index=[f"row {i + 1}" for i in range(len(table))])
    tasks = [name for name in table.column_names if name not in columns.values()]
    tags = columns.get("tags", tasks[0] if len(tasks) == 1 and not _is_number(table[tasks[0]]) else None)
    require(tags or tasks, f"{path} must have a column for each task, or one of tags, got neither")
    if tags:
        has = (
            pd.Series([_tags(path, cell, separator) for cell in table[tags].to_pylist()], dtype=object)
            .explode()
            .dropna()
        )
        return told, pd.DataFrame({"image": has.index, "caption": has.to_numpy()}), []
    Y = np.column_stack([_truth(path, task, table[task]) for task in tasks])
    rows, of = np.nonzero(Y)
    captions = pd.DataFrame({"image": rows, "caption": np.array(tasks)[of], "known": Y[rows, of] == 1})
    captions = captions.drop(columns="known") if captions["known"].all() else captions
    return told, captions, [task for task, y in zip(tasks, Y.T, strict=True) if not (y == 1).any()]


def _tags(path: Path, cell: Any, separator: str) -> list[str]:
    """The tags in a cell, text, a number or a list of them, each once. Raises ValueError for a rounded number."""
    tags = cell if isinstance(cell, list) else cell.split(separator) if isinstance(cell, str) else [cell]
    tags = [tag for tag in tags if tag is not None and tag == tag]  # without NaN
    for tag in tags:
        require(
            not isinstance(tag, float) or abs(tag) < LARGEST_TAG,
            f"{path} must hold text or whole numbers as tags, got {tag}, which floating point may have rounded",
        )
    return list(dict.fromkeys(filter(None, (str(tag).strip() for tag in tags))))


def _truth(path: Path, task: str, column: pa.ChunkedArray) -> np.ndarray:
    """The labels of a task: 0, 1, or NaN where they are unknown. Raises ValueError, with the row, for another one."""
    told = None if _is_number(column) else [TRUTH.get(text.lower(), np.inf) for text in _texts(column)]
    values = _floats(column) if told is None else np.array(told)
    for row in np.flatnonzero(~(np.isnan(values) | np.isin(values, (0, 1))))[:1].tolist():
        raise ValueError(
            f"{path} must hold 0 or 1, true or false, or nothing in each column of a task, got "
            f"{shortened(column[row].as_py())} in row {row + 1:,} of {task!r}: if it is none, let an option name it, "
            "index, split, pictures, text or tags"
        )
    return values


def _unusable(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """The reason by path of a picture that cannot be shown."""
    once = list(filter(None, dict.fromkeys(paths)))
    outside = [path for path in once if Path(path).is_absolute() or ".." in Path(path).parts]
    reasons, _ = check_pictures(root, [path for path in once if path not in outside], 1, LONGEST_SIDE)
    return dict.fromkeys(outside, "not in the folder root") | reasons

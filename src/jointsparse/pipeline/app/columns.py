"""What the columns of a table of labels and of features hold, by their content and their names."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from jointsparse.checks import require
from jointsparse.pipeline.datasets.arrays import TRUTH
from jointsparse.pipeline.datasets.folder import SUFFIXES
from jointsparse.pipeline.datasets.names import Files, composed, files_of
from jointsparse.pipeline.datasets.splits import ALIASES, SPLITS
from jointsparse.pipeline.datasets.tabular import columns_of, floats_of, is_number, read_columns, texts_of, widths_of

# What such columns are called, in small letters, by the option that names them.
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
SAID = {"index": "names", "split": "splits", "pictures": "pictures", "text": "text", "tags": "labels"}
MOST_SHOWN = 3  # labels and columns that a line shows


class Roles(NamedTuple):
    """What columns are taken for: options of the loader `arrays`, and a line for each file, for people."""

    options: dict[str, Any]
    lines: list[str]


def roles_of(root: Path, features: Files, labels: Files, choices: Mapping[str, Any]) -> Roles:
    """Find out what the columns of features and labels hold.

    Parameters
    ----------
    root : path
        Folder of the files.
    features, labels : str, list of str, or mapping
        The files, as the loader `arrays` takes them.
    choices : mapping
        The columns that the user names, see `config.write`.

    Returns
    -------
    Roles

    Raises
    ------
    ValueError
        If several columns may be the one of tags.
    """
    ignored = {composed(name) for name in choices.get("ignore", [])}
    of_labels, of_features = ([file for _, file in files_of(option)] for option in (labels, features))
    options, tasks = _of_labels(root / of_labels[0], ignored, choices)
    also = {name for file in of_labels for name in columns_of(root / file)}
    lines, idle = list[str](), set[str]()
    for file in of_labels:
        told = [f"{len(tasks)} label{'s' * (len(tasks) > 1)} ({_some(tasks)})"] if tasks else []
        told += [f"{column}: {SAID[option]}" for option, column in options.items()] or ["labels"] * (not tasks)
        unused = [name for name in columns_of(root / file) if name not in tasks and name not in options.values()]
        told += [f"{_some(unused)}: left out (--text COLUMN shows one on the page)"] if unused else []
        lines.append(f"{file}: {'; '.join(told)}")
        idle |= set(unused)
    for file in of_features:
        columns = columns_of(root / file)
        own = [name for name in columns if name not in also]
        unused = [name for name in _no_features(root / file, own) if name not in ignored]
        unused += [name for name in own if name in ignored]
        n = len(own) - len(unused)
        told = [f"{n} column{'s' * (n != 1)} of features" if columns else "features"]
        told += [f"{_some(unused)}: left out"] if unused else []
        both = [name for name in columns if name in also]
        told += [f"{_some(both)}: left out, as {of_labels[0]} has them"] if both else []
        lines.append(f"{file}: {'; '.join(told)}")
        idle |= set(unused)
    return Roles(options | ({"ignore": sorted(idle)} if idle else {}), lines)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_SHOWN]) + ", …" * (len(names) > MOST_SHOWN)


def _of_labels(path: Path, ignored: Collection[str], choices: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """The columns of labels by the option that names them, and those that are tasks."""
    options = {option: composed(choices[option]) for option in SAID if option in choices}
    table = read_columns(path, 1e6) if columns_of(path) else pa.table({})
    names = [name for name in table.column_names if name not in ignored and name not in options.values()]
    held = {name: _held(name, table[name]) for name in names}
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
        f"{path} must have a column of 0 and 1 for each label, or one of tags, and {'several' if tags else 'none'} may "
        f"be that of tags, got {_some(tags or names)}: choose one by --tags COLUMN",
    )
    return options | ({"tags": tags[0]} if tags and not tasks else {}), tasks


def _held(name: str, column: pa.ChunkedArray) -> str:
    """What a column holds: "task" for 0 and 1, an option that would name it, "classes" for words that repeat, or ""."""
    called = {option for option, names in CALLED.items() if name.lower() in names}
    if pa.types.is_nested(column.type):
        return "tags" if any(isinstance(one, str) for cell in column.to_pylist() for one in cell or ()) else ""
    texts = texts_of(column)
    some = {text.lower() for text in texts if text}
    n_known = len([text for text in texts if text])
    numbers = is_number(column)
    if some and some <= TRUTH.keys():
        return "task"
    if "split" in called and some and some <= {*SPLITS, *ALIASES}:
        return "split"
    if "index" in called and len(set(texts)) == n_known == len(texts):
        return "index"
    pictures = sum(text.lower().endswith(SUFFIXES) and "://" not in text for text in texts)  # no web addresses
    if pictures and (pictures == n_known or ("pictures" in called and 2 * pictures >= n_known)):
        return "pictures"
    values = floats_of(column) if numbers else np.zeros(0)
    whole = bool((values[~np.isnan(values)] % 1 == 0).all())
    if "tags" in called and whole:
        return "tags"
    if numbers or not some:
        return ""
    return "text" if "text" in called else "classes" if 2 * len(some) <= n_known else ""


def _no_features(path: Path, columns: Sequence[str]) -> list[str]:
    """The columns of a table that hold no numbers, or only number its rows."""
    if not columns:
        return []
    table, lists = read_columns(path, 1e6, columns), widths_of(path, columns)
    numbered = [name for name in columns if name.lower() in CALLED["index"] and _held(name, table[name]) == "index"]
    return [name for name in columns if name in numbered or not (name in lists or is_number(table[name]))]

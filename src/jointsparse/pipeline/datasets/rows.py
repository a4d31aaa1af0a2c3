"""Find the picture that each row of a table belongs to, and the text file beside each picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from jointsparse.checks import require
from jointsparse.messages import relative_path
from jointsparse.pipeline.datasets import records
from jointsparse.pipeline.datasets.folder import NO_CAPTIONS, Annotations
from jointsparse.pipeline.datasets.groups import of_rows
from jointsparse.pipeline.datasets.labels import require_columns
from jointsparse.pipeline.datasets.names import Files, composed, files_of, finder
from jointsparse.pipeline.datasets.records import Columns
from jointsparse.pipeline.datasets.tabular import text_of
from jointsparse.pipeline.datasets.text import open_text

BESIDE = "*."  # begins an option that stands for a file beside each picture, such as "*.txt"
MOST_BYTES = 2**16  # size limit of a text file beside a picture
OF_TEXT = "text"  # the column of the texts in such files


class Rows(NamedTuple):
    """The rows of one or more tables of photographs.

    Attributes
    ----------
    images
        The picture that each row belongs to; a name that belongs to no picture is unchanged.
    table
        The columns of all files, joined.
    given
        What the files say apart from labels, with all pictures that a row names.
    """

    images: list[str]
    table: Columns
    given: Annotations


def rows_of(
    root: Path,
    images: str,
    files: Files,
    names: Sequence[str],
    *,
    pictures: str,
    columns: Sequence[str] | None = None,
    split: str | None = None,
    group: str | None = None,
) -> Rows:
    """Read tables of photographs, or text files beside them, which form the column `columns[0]` of a table.

    Parameters
    ----------
    root, images : as in `folder.read_folder`
        See there.
    files, pictures, split, group : as in `photos.read`
        There, `files` is called `captions`.
    names : list of str
        The names of the pictures.
    columns : list of str or None
        Columns that the tables must have.
    """
    if isinstance(files, str) and files.startswith(BESIDE):
        require(not (split or group), f"split and group are columns of tables, and the files {files} have no columns")
        texts = _beside(root / images, files.removeprefix("*"), names)
        given = Annotations(NO_CAPTIONS, {*texts}, lacking=f"no file {files} beside it", beside=[files[1:]])
        return Rows(list(texts), {(columns or [OF_TEXT])[0]: list(texts.values())}, given)
    found, placed, parts = list[str](), list[pd.DataFrame](), list[Columns]()
    for of_split, name in files_of(files):
        path = root / name
        table = records.read(path)
        require_columns(
            path, table, [composed(column) for column in (pictures, *(columns or ()), split, group) if column]
        )
        find = finder(names, relative_path(path.parent, root / images))
        cells = table[composed(pictures)]
        own = [find(cell.strip() if isinstance(cell, str) else text_of(cell)) for cell in cells]  # "1." is a name
        splits = [of_split or ""] * len(own)
        if split and not of_split:
            splits = [text_of(cell) for cell in table[composed(split)]]
        placed.append(pd.DataFrame({"image": own, "split": splits}, dtype=str))
        found += own
        parts.append(table)
    every = pd.concat(placed, ignore_index=True)
    every = every[every["split"] != ""].drop_duplicates()
    joined = {
        key: [cell for part in parts for cell in part.get(key, [None] * len(next(iter(part.values()))))]
        for key in dict.fromkeys(key for part in parts for key in part)
    }
    names_of = [name for _, name in files_of(files)]
    where = " and ".join(names_of)
    groups = of_rows(found, [text_of(cell) for cell in joined[composed(group)]], where) if group else None
    placed_by = None if every.empty else every
    return Rows(
        found, joined, Annotations(NO_CAPTIONS, {*found}, placed_by, names_of, f"no row in {where}", groups=groups)
    )


def _beside(folder: Path, suffix: str, names: Sequence[str]) -> dict[str, str]:
    """Return the text beside each picture that has a file with the same name and this suffix."""
    texts = {}
    for name in names:
        path = folder / f"{name.rpartition('.')[0]}{suffix}"
        if path.is_file():
            require(path.stat().st_size <= MOST_BYTES, f"{path} must hold at most {MOST_BYTES:,} bytes of text")
            with open_text(path) as file:
                texts[name] = file.read().strip()
    return texts

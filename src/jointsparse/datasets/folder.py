"""The shared part of all datasets of photographs: reading a folder, checking its pictures, reading tables."""

import csv
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from jointsparse.checks import require
from jointsparse.datasets.checker import Checker
from jointsparse.datasets.pictures import MachineError, of_machine, open_colour, open_grey
from jointsparse.datasets.splits import FRACTIONS, SPLIT_NAMES, assign_splits

SUFFIXES = (".avif", ".bmp", ".gif", ".heic", ".heif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
PICTURES_PER_PROCESS = 200  # so few that a second process is not worth its start
ROWS_AT_ONCE = 100_000  # of a table, held as Python text before they become a DataFrame
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}  # of the fields of a table, with their names

Progress = Callable[[int, int], None]


class Photographs(NamedTuple):
    """A dataset as read and checked.

    images: columns image (its name), split (one of `SPLITS`), sorted by name.
    captions: columns image, caption. One row per caption of an image in the table `images`.
    left_out: columns item, reason. One row per file or caption that is not used.
    """

    images: pd.DataFrame
    captions: pd.DataFrame
    left_out: pd.DataFrame


def read_folder(
    root: str | Path,
    captions_of: Callable[[Path, list[str]], pd.DataFrame],
    captions_file: str = "captions.csv",
    *,
    smallest_side: int,
    longest_side: int = 320,
    split_names: Mapping[str, str] = SPLIT_NAMES,
    fractions: Mapping[str, float] = FRACTIONS,
    validation_fraction: float = 0.2,
    seed: int = 0,
    progress: Progress | None = None,
) -> Photographs:
    """Read and check a folder of photographs.

    Some pictures and captions are left out and listed: pictures that do not open, are too small or repeat another's
    bytes, pictures without caption or split, and captions without picture.

    Parameters
    ----------
    root : path
        Holds the folder `images` and, if any, `splits.csv` (image,split).
    captions_of : function
        `captions_of(root, names)` returns the captions as a table with the columns image, caption.
    captions_file : str
        Name of their file, for the reasons why they are left out.
    smallest_side : int, pixels
        The shorter side must have at least this length after shrinking.
    longest_side : int, pixels
        Larger pictures are shrunk to this length of their longer side.
    split_names : mapping
        Our name of a split to its name in splits.csv.
    fractions : mapping
        Split to its part of the images, from 0 to 1, where there is no splits.csv.
    validation_fraction : float, from 0 to below 1
        Part of the training images that becomes validation where splits.csv has no such part.
    seed : int
        Seed of these draws.
    progress : function or None
        Called as `progress(done, total)` after each picture.

    Returns
    -------
    tables : Photographs

    Raises
    ------
    ValueError
        If the folder or one of its tables cannot be read, or no usable training image is there.
    """
    folder = Path(root)
    require(
        (folder / "images").is_dir(),
        f"root must be a folder that holds a folder 'images', got {str(root)!r}: "
        "put the data there, link it, or set root in the dataset's entry",
    )
    names, left_out = list_pictures(folder / "images")
    captions = captions_of(folder, names)
    file = folder / "splits.csv"
    splits, unplaced = assign_splits(
        names,
        read_csv(file, "image", "split") if os.path.lexists(file) else None,
        split_names=split_names,
        fractions=fractions,
        validation_fraction=validation_fraction,
        seed=seed,
    )
    reasons, digests = check_pictures(folder / "images", names, smallest_side, longest_side, progress)
    return gather(splits, captions, left_out | unplaced | reasons, digests, captions_file)


def picture(image: str, *, root: str | Path, longest_side: int = 320, **options: Any) -> np.ndarray:
    """Open one photograph as grey levels.

    Parameters
    ----------
    image : str
        Name of the photograph, relative to the folder `images`.
    root : path
        Holds the folder `images`.
    longest_side : int, pixels
        Larger photographs are shrunk to it.
    **options : any
        The other options of `read_folder`, which do not matter here.

    Returns
    -------
    greys : array, shape (height, width), float32, in [0, 1]
    """
    return open_grey(Path(root) / "images" / image, longest_side)


def thumbnail(image: str, root: str | Path, longest_side: int, **options: Any) -> np.ndarray:
    """Open one photograph in colour, for people to look at.

    Parameters
    ----------
    image, root, **options : as in `picture`
        See there.
    longest_side : int, pixels
        Larger photographs are shrunk to it.

    Returns
    -------
    colours : array, shape (height, width, 3), uint8
    """
    return open_colour(Path(root) / "images" / image, longest_side)


def check_pictures(
    folder: Path, names: list[str], smallest_side: int, longest_side: int, progress: Progress | None = None
) -> tuple[dict[str, str], dict[str, str]]:
    """Decode every picture whole, so that a truncated file is found here and not an hour later.

    Parameters
    ----------
    folder : path
        Folder of the pictures.
    names : list of str
        Their names, relative to the folder.
    smallest_side : int, pixels
        The shorter side must have at least this length after shrinking.
    longest_side : int, pixels
        Larger pictures are shrunk to this length of their longer side.
    progress : function or None
        Called as `progress(done, total)` after each picture.

    Returns
    -------
    reasons, digests : dict
        By name, the reason why a picture cannot be used, and a digest of each picture's bytes.
    """
    reasons, digests = {}, {}
    paths = [folder / name for name in names]
    n = 2 if len(paths) > PICTURES_PER_PROCESS else 1
    with ExitStack() as stack:
        checkers = [stack.enter_context(Checker(paths[i::n], smallest_side, longest_side)) for i in range(n)]
        for done, (name, checker) in enumerate(zip(names, cycle(checkers), strict=False), start=1):
            reason, digests[name] = checker.next_verdict()
            if reason:
                reasons[name] = reason
            if progress:
                progress(done, len(names))
    return reasons, digests


def list_pictures(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Picture files below `folder` as sorted relative names, and {name: reason} for everything else there.

    Links are followed, but every folder is read once: under its own name if it lies below `folder`, else under the
    first link's.
    """
    good: list[str] = []
    other: dict[str, str] = {}
    folders, links = [folder], list[Path]()
    seen = {str(path) for path in Path(os.path.realpath(folder)).parents}
    while folders or links:
        here = folders.pop() if folders else links.pop(0)
        name = here.relative_to(folder).as_posix()
        place = os.path.realpath(here)
        if place in seen:
            other[name] = "a link to a folder that is read already or holds this one"
            continue
        seen.add(place)
        try:
            items = sorted(os.listdir(here))
        except OSError as error:
            _require_of_file(here, error)
            other[name] = f"a folder that cannot be read: {error.strerror}"
            continue
        for path in (here / item for item in items):
            name = path.relative_to(folder).as_posix()
            is_picture = name.lower().endswith(SUFFIXES)
            if name.encode(errors="ignore").decode() != name:  # it is not UTF-8, and no table could hold it
                other[os.fsencode(name).decode("utf-8", "backslashreplace")] = "the name is not UTF-8 text"
            elif _is_folder(path):
                (links if path.is_symlink() else folders).append(path)
                if is_picture:
                    other[name] = "a folder, not a picture file"
            elif is_picture:
                good.append(name)
            else:
                other[name] = f"not a picture file ({' '.join(SUFFIXES)})"
    require(good, f"root must hold pictures ({' '.join(SUFFIXES)}) in {str(folder)!r}, got none")
    return sorted(good), other


def _is_folder(path: Path) -> bool:
    """True for a folder or a link to one. A disk that fails is an error, not an answer."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except OSError as error:
        _require_of_file(path, error)
        return False


def _require_of_file(path: Path, error: OSError) -> None:
    """Raise MachineError unless an error is a file's own, such as a link to nowhere."""
    if of_machine(error):
        raise MachineError(path, error.strerror) from None


def read_csv(path: Path, *columns: str) -> pd.DataFrame:
    """Read a UTF-8 table with a header line that holds `columns`; others are dropped. All values are text.

    Of comma, semicolon and tab, the first with which the header line names the columns stands between fields.
    """
    require(
        path.is_file(), f"root must hold a file {path.name} with the columns {','.join(columns)}, got none at {path}"
    )
    try:
        # The csv module, not pandas: a row with a field too many is an error there, and NUL bytes do not pass.
        with path.open(encoding="utf-8-sig", newline="") as file:
            delimiter = _delimiter(file.readline(), columns)
            file.seek(0)
            rows = csv.reader(file, strict=True, delimiter=delimiter)
            header = next(rows, [])
            _require_header(header, columns, path)
            records = (_checked_row(row, header, f"{path} line {rows.line_num}", delimiter) for row in rows if row)
            tables = [
                pd.DataFrame(some, columns=header, dtype=str)[list(columns)]
                for some in iter(lambda: list(islice(records, ROWS_AT_ONCE)), [])
            ]
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from None
    except csv.Error as error:
        raise ValueError(f"{path} line {rows.line_num}: {error}") from None
    return pd.concat([pd.DataFrame(columns=list(columns), dtype=str), *tables], ignore_index=True)


def _delimiter(line: str, columns: tuple[str, ...]) -> str:
    """The sign between the fields of a header line; a comma if none makes fields of these names."""
    for delimiter in DELIMITERS:
        if set(columns) <= {name.strip('"') for name in line.rstrip("\r\n").split(delimiter)}:
            return delimiter
    return ","


def not_utf8(path: Path, error: UnicodeDecodeError) -> ValueError:
    """Error of a file that is not UTF-8, with the line."""
    with path.open("rb") as lines:
        line = next(n for n, line in enumerate(lines, start=1) if line.decode(errors="ignore").encode() != line)
    return ValueError(f"{path} must be UTF-8 text, got byte {error.object[error.start]:#04x} in line {line}")


def _require_header(header: list[str], columns: tuple[str, ...], path: Path) -> None:
    got = f"got {','.join(header)[:80]!r}"
    require(
        set(columns) <= set(header),
        f"{path} must begin with a header line that names the columns {','.join(columns)}, {got}",
    )
    require(len(set(header)) == len(header), f"{path} must name each column once, {got}")


def _checked_row(row: list[str], header: list[str], where: str, delimiter: str) -> list[str]:
    if len(row) != len(header) or any("\0" in field for field in row):
        raise ValueError(
            f"{where}: expected {len(header)} fields of text (a text with a {DELIMITERS[delimiter]} goes in double "
            f"quotes), got {delimiter.join(row)[:80]!r}"
        )
    return row


def gather(
    splits: Mapping[str, str],
    captions: pd.DataFrame,
    left_out: Mapping[str, str],
    digests: Mapping[str, str] | None = None,
    captions_file: str = "captions.csv",
) -> Photographs:
    """Gather the three tables of a dataset of photographs.

    Parameters
    ----------
    splits : mapping
        Split by image.
    captions : DataFrame
        Columns image, caption, also of images that are not there.
    left_out : mapping
        Reason by file or caption that is not used.
    digests : mapping or None
        Digest of each picture's bytes. Of usable pictures with the same bytes only the first by name is used.
    captions_file : str
        Name of the captions' file, for the reasons.

    Returns
    -------
    tables : Photographs

    Raises
    ------
    ValueError
        If no usable training image is left.
    """
    captions = captions[captions["caption"].str.strip() != ""]
    captioned = set(captions["image"])
    not_there = f"{captions_file} names an image that is not there"
    reasons = dict.fromkeys(captioned - set(splits), not_there) | dict(left_out)
    again = captions.duplicated()
    for name in captions["image"][again]:
        reasons[f"{name} (repeated caption)"] = f"{captions_file} gives it the same caption again"
    captions = captions[~again]
    for name, split in splits.items():
        if name not in captioned and split != "unlabelled":
            reasons.setdefault(name, "no caption")
    if digests:
        reasons |= _repeated(sorted(set(splits) - set(reasons)), digests)
    usable = sorted(set(splits) - set(reasons))
    if not any(splits[name] == "train" for name in usable):
        example = f", the first because: {min(reasons.items())}" if reasons else ""
        raise ValueError(
            f"the dataset must hold at least one usable training image, got none of {len(usable)} usable images "
            f"({len(reasons)} left out{example})"
        )
    images = pd.DataFrame({"image": usable, "split": [splits[name] for name in usable]}, dtype=str)
    kept = captions[captions["image"].isin(usable)]
    kept = kept.sort_values("image", kind="stable").reset_index(drop=True)
    table = pd.DataFrame(sorted(reasons.items()), columns=["item", "reason"], dtype=str)
    return Photographs(images, kept, table)


def _repeated(names: list[str], digests: Mapping[str, str]) -> dict[str, str]:
    """{name: reason} for pictures that repeat an earlier one's bytes, so that no picture sits in two splits."""
    first_with = {digests[name]: name for name in reversed(names)}
    firsts = {name: first_with[digests[name]] for name in names}
    return {name: f"same bytes as {first}" for name, first in firsts.items() if first != name}

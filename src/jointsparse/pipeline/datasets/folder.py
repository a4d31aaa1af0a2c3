"""Functions shared by all loaders of photographs in folders: list and check the pictures, and read the tables."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from jointsparse.checks import relative_path, require
from jointsparse.pictures import open_colour, open_grey
from jointsparse.pipeline.datasets.captions import read as read_captions
from jointsparse.pipeline.datasets.checker import verdicts
from jointsparse.pipeline.datasets.names import Files, composed, files_of, finder
from jointsparse.pipeline.datasets.picture_check import MachineError
from jointsparse.pipeline.datasets.samples import Photographs, gather
from jointsparse.pipeline.datasets.splits import FRACTIONS, SPLIT_NAMES, assign_splits
from jointsparse.pipeline.datasets.text import read_csv
from jointsparse.pipeline.provenance.folders import walk

SUFFIXES = (".avif", ".bmp", ".gif", ".heic", ".heif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
PICTURES_PER_PROCESS = 200  # for so few pictures, starting a second process takes longer than it saves

Progress = Callable[[int, int], None]


def read_folder(
    root: str | Path,
    captions_file: Files | None,
    *,
    smallest_side: int,
    longest_side: int = 320,
    images: str = "images",
    split_names: Mapping[str, str] = SPLIT_NAMES,
    fractions: Mapping[str, float] = FRACTIONS,
    validation_fraction: float = 0.2,
    seed: int = 0,
    progress: Progress | None = None,
) -> Photographs:
    """Read and check a folder of photographs.

    Some pictures and captions are left out, and listed in a table with the reason: pictures that cannot be opened, are
    too small or are byte-identical to another picture, pictures without a caption or a split, and captions without a
    picture. Of several byte-identical pictures one is kept, and it gets the captions of all of them. Hidden files and
    files that operating systems leave behind are ignored, see `provenance.folders`.

    Parameters
    ----------
    root : path
        Folder that holds the folder of the pictures, and optionally a table `splits.csv` with the columns image and
        split.
    captions_file : str, list of str, mapping, or None
        File or files of captions in `root`, see `datasets.captions`. If there is no splits.csv, the splits of the
        images are given by the keys of a mapping from splits to files, or by a column `split` in the files. If None,
        the caption of an image is the name of the top-level folder in its path.
    smallest_side : int, pixels
        Pictures whose shorter side is below this length after shrinking are left out.
    longest_side : int, pixels
        Pictures whose longer side exceeds this length are shrunk to it.
    images : str
        Folder of the pictures in `root`; "." for `root` itself. The names of pictures in tables are relative to it.
    split_names : mapping
        For each split, its name in the table that gives the splits.
    fractions : mapping
        Fraction of the images that each split gets if no table gives the splits, from 0 to 1.
    validation_fraction : float, from 0 to below 1
        Fraction of the training images that is moved to the validation split if the given splits have no validation
        images.
    seed : int
        Seed of the random generator that draws the splits.
    progress : function or None
        Called as `progress(done, total)` after each picture.

    Returns
    -------
    tables : Photographs

    Raises
    ------
    ValueError
        If the folder or one of its tables cannot be read, or if there is no usable training image.
    """
    folder = Path(root)
    names, left_out = list_pictures(folder / images)
    require(
        names,
        f"root must hold pictures ({' '.join(SUFFIXES)}) in {str(folder / images)!r}, got none: put the data there, "
        "link to it, or set root in the entry of the dataset",
    )
    captions, table, source = read_tables(folder, images, names, captions_file)
    of_captions = [name for _, name in files_of(captions_file or [])]
    for name in ("splits.csv", *of_captions):  # these tables may lie next to the pictures
        left_out.pop(relative_path(folder / name, folder / images), None)
    captions = captions[["image", "caption"]]
    splits, unplaced = assign_splits(
        names,
        table,
        split_names=split_names,
        fractions=fractions,
        validation_fraction=validation_fraction,
        seed=seed,
        source=source,
    )
    reasons, digests = check_pictures(folder / images, names, smallest_side, longest_side, progress)
    left_out = _without_use(splits, captions, ", ".join(of_captions)) | left_out | unplaced | reasons
    lines: dict[Any, list[str]] = captions.drop_duplicates().groupby("image")["caption"].agg(list).to_dict()
    left_out |= _equal_pictures({name: split for name, split in splits.items() if name not in left_out}, digests, lines)
    usable = {name: splits[name] for name in sorted(set(splits) - set(left_out))}
    gathered = gather(usable, [lines.get(name, []) for name in usable], dict(sorted(left_out.items())))
    return gathered._replace(images=gathered.images.assign(digest=[digests[name] for name in usable]))


def read_tables(
    root: Path, images: str, names: Sequence[str], captions_file: Files | None
) -> tuple[pd.DataFrame, pd.DataFrame | None, str]:
    """Read the tables of captions and of splits.

    Parameters
    ----------
    root : path
        Folder of the tables.
    images : str
        Folder of the pictures in `root`.
    names : list of str
        Names of the pictures, relative to that folder.
    captions_file : str, list of str, mapping, or None
        As in `read_folder`.

    Returns
    -------
    captions : DataFrame
        Table with the columns `image`, `caption`, and `file`, the name of the file that holds the caption.
    splits : DataFrame or None
        Table with the columns `image` and `split`, from splits.csv if it exists, otherwise from the files of captions.
        None if the splits are not given anywhere.
    source : str
        The names of the files that give the splits.
    """
    tables = []
    for split, name in files_of(captions_file or []):
        table = read_captions(root / name)
        find = finder(names, relative_path((root / name).parent, root / images))
        table = table.assign(image=table["image"].map(find), file=name)
        tables.append(table if split is None else table.assign(split=split))
    every = pd.concat(tables or [_classes(names)], ignore_index=True)
    captions = every.loc[every["caption"] != "", ["image", "caption", "file"]]
    if os.path.lexists(file := root / "splits.csv"):
        table = read_csv(file, "image", "split")
        return captions, table.assign(image=table["image"].map(finder(names))), "splits.csv"
    placed = every[every["split"] != ""]
    if placed.empty:
        return captions, None, ""
    return captions, placed[["image", "split"]].drop_duplicates(), " and ".join(placed["file"].unique())


def _equal_pictures(
    splits: Mapping[str, str], digests: Mapping[str, str], captions: dict[Any, list[str]]
) -> dict[str, str]:
    """Choose which one of several byte-identical pictures is kept, so that no picture is in two splits.

    The captions of the other copies are added to those of the kept picture: `captions` is changed in place. Returns a
    dictionary of the copies that are left out, each with the reason.
    """
    reasons, first_with = dict[str, str](), dict[str, str]()
    for name in sorted(splits, key=lambda name: (splits[name] == "unlabelled", name)):
        first = first_with.setdefault(digests[name], name)
        if first != name:
            more = [text for text in captions.get(name, []) if text not in captions.get(first, [])]
            captions[first] = captions.get(first, []) + more
            reasons[name] = f"same bytes as {first}{', which gets its captions, too' if more else ''}"
    return reasons


def _classes(names: Sequence[str]) -> pd.DataFrame:
    """Return a table of captions in which the caption of each picture is the top-level folder of its path."""
    for loose in [name for name in names if "/" not in name][:1]:
        raise ValueError(f"pictures must be in one folder per class below the folder 'images', got {loose!r}")
    classes = [composed(name.split("/")[0]) for name in names]
    return pd.DataFrame({"image": names, "caption": classes, "split": "", "file": ""}, dtype=str)


def _without_use(splits: Mapping[str, str], captions: pd.DataFrame, captions_file: str | None) -> dict[str, str]:
    """Return images without captions, captions without an image, and repeated captions, each with the reason."""
    captioned = set(captions["image"])
    uncaptioned = [name for name, split in splits.items() if name not in captioned and split != "unlabelled"]
    reasons = dict.fromkeys(captioned - set(splits), f"{captions_file} names an image that is not there")
    repeated = [f"{name} (repeated caption)" for name in captions["image"][captions.duplicated()]]
    return (
        reasons
        | dict.fromkeys(uncaptioned, "no caption")
        | dict.fromkeys(repeated, f"{captions_file} gives it the same caption again")
    )


def file(image: str, root: str | Path, images: str = "images", **options: Any) -> Path:
    """Return the path of the file of a photograph.

    Parameters
    ----------
    image, root, **options : as in `picture`
        See there.
    images : str
        Folder of the pictures in `root`.
    """
    return Path(root) / images / image


def picture(image: str, *, root: str | Path, longest_side: int = 320, **options: Any) -> np.ndarray:
    """Open a photograph and convert it to grey levels.

    Parameters
    ----------
    image : str
        Name of the photograph, relative to the folder of the pictures.
    root : path
        Folder that holds the folder of the pictures.
    longest_side : int, pixels
        Photographs whose longer side exceeds this length are shrunk to it.
    **options : any
        Further options of `read_folder`, of which only `images` has an effect here.

    Returns
    -------
    greys : array, shape (height, width), float32, in [0, 1]
    """
    return open_grey(file(image, root, **options), longest_side)


def thumbnail(image: str, root: str | Path, longest_side: int, **options: Any) -> np.ndarray:
    """Open a photograph in colour, for display.

    Parameters
    ----------
    image, root, **options : as in `picture`
        See there.
    longest_side : int, pixels
        Photographs whose longer side exceeds this length are shrunk to it.

    Returns
    -------
    colours : array, shape (height, width, 3), uint8
    """
    return open_colour(file(image, root, **options), longest_side)


def check_pictures(
    folder: Path, names: list[str], smallest_side: int, longest_side: int, progress: Progress | None = None
) -> tuple[dict[str, str], dict[str, str]]:
    """Check each picture by decoding it completely, so that a truncated file is found now and not an hour later.

    Parameters
    ----------
    folder : path
        Folder of the pictures.
    names : list of str
        Names of the pictures, relative to the folder.
    smallest_side : int, pixels
        Pictures whose shorter side is below this length after shrinking cannot be used.
    longest_side : int, pixels
        Pictures whose longer side exceeds this length are shrunk to it.
    progress : function or None
        Called as `progress(done, total)` after each picture.

    Returns
    -------
    reasons : dict
        For each picture that cannot be used, the reason.
    digests : dict
        For each picture, a checksum of its file, or "" if the picture cannot be decoded.
    """
    reasons, digests = {}, {}
    paths = [folder / name for name in names]
    n = 2 if len(paths) > PICTURES_PER_PROCESS else 1
    with ExitStack() as stack:
        parts = [stack.enter_context(closing(verdicts(paths[i::n], smallest_side, longest_side))) for i in range(n)]
        for done, (name, part) in enumerate(zip(names, cycle(parts), strict=False), start=1):
            reason, digests[name] = next(part)
            if reason:
                reasons[name] = reason
            if progress:
                progress(done, len(names))
    return reasons, digests


def list_pictures(folder: Path) -> tuple[list[str], dict[str, str]]:
    """List the picture files below a folder. `folders.walk` says which files are considered.

    Parameters
    ----------
    folder : path
        The folder.

    Returns
    -------
    pictures : list of str
        Sorted names of the picture files, relative to the folder.
    others : dict
        For every file or folder that is not used, the reason. Skipped files are not included.

    Raises
    ------
    MachineError
        If a folder cannot be read because of a failure of the machine.
    """
    good: list[str] = []
    other: dict[str, str] = {}
    try:
        for name, is_folder, fault in walk(folder):
            is_picture = name.lower().endswith(SUFFIXES)
            if fault:
                other[os.fsencode(name).decode("utf-8", "backslashreplace")] = fault
            elif is_folder and is_picture:
                other[name] = "a folder, not a picture file"
            elif is_picture:
                good.append(name)
            elif not is_folder:
                other[name] = f"not a picture file ({' '.join(SUFFIXES)})"
    except OSError as error:
        raise MachineError(error.filename, error.strerror) from None
    return sorted(good), other

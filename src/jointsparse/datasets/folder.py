"""The shared part of all datasets of photographs: reading a folder, checking its pictures, reading tables."""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from jointsparse.checks import require
from jointsparse.datasets.checker import verdicts
from jointsparse.datasets.pictures import MachineError, of_machine, open_colour, open_grey
from jointsparse.datasets.splits import FRACTIONS, SPLIT_NAMES, assign_splits
from jointsparse.datasets.text import read_csv

SUFFIXES = (".avif", ".bmp", ".gif", ".heic", ".heif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
PICTURES_PER_PROCESS = 200  # so few that a second process is not worth its start

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
        parts = [stack.enter_context(closing(verdicts(paths[i::n], smallest_side, longest_side))) for i in range(n)]
        for done, (name, part) in enumerate(zip(names, cycle(parts), strict=False), start=1):
            reason, digests[name] = next(part)
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
    waiting, links = [folder], list[Path]()
    seen = {str(path) for path in Path(os.path.realpath(folder)).parents}
    while waiting or links:
        path = waiting.pop() if waiting else links.pop(0)
        name = path.relative_to(folder).as_posix()
        is_picture = name.lower().endswith(SUFFIXES)
        if name.encode(errors="ignore").decode() != name:  # it is not UTF-8, and no table could hold it
            other[os.fsencode(name).decode("utf-8", "backslashreplace")] = "the name is not UTF-8 text"
            continue
        try:
            inside = sorted(path / item for item in os.listdir(path))
        except OSError as error:  # of a file, too
            if of_machine(error):
                raise MachineError(path, error.strerror) from None
            if isinstance(error, PermissionError):
                other[name] = f"cannot be read: {error.strerror}"
            elif is_picture:
                good.append(name)
            else:
                other[name] = f"not a picture file ({' '.join(SUFFIXES)})"
            continue
        if is_picture:
            other[name] = "a folder, not a picture file"
        place = os.path.realpath(path)
        if place in seen:
            other[name] = "a link to a folder that is read already or holds this one"
            continue
        seen.add(place)
        for one in inside:
            (links if one.is_symlink() else waiting).append(one)
    require(good, f"root must hold pictures ({' '.join(SUFFIXES)}) in {str(folder)!r}, got none")
    return sorted(good), other


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
    again = captions.duplicated()
    mute = [name for name, split in splits.items() if name not in captioned and split != "unlabelled"]
    reasons = dict.fromkeys(captioned - set(splits), f"{captions_file} names an image that is not there")
    reasons |= dict.fromkeys(mute, "no caption") | dict(left_out)
    for name in captions["image"][again]:
        reasons[f"{name} (repeated caption)"] = f"{captions_file} gives it the same caption again"
    first_with: dict[str, str] = {}  # by digest, so that no picture sits in two splits
    for name in sorted(set(splits) - set(reasons)):
        first = first_with.setdefault(digests[name], name) if digests else name
        if first != name:
            reasons[name] = f"same bytes as {first}"
    usable = sorted(set(splits) - set(reasons))
    if not any(splits[name] == "train" for name in usable):
        example = f", the first because: {min(reasons.items())}" if reasons else ""
        raise ValueError(
            f"the dataset must hold at least one usable training image, got none of {len(usable)} usable images "
            f"({len(reasons)} left out{example})"
        )
    images = pd.DataFrame({"image": usable, "split": [splits[name] for name in usable]}, dtype=str)
    kept = captions[~again & captions["image"].isin(usable)].sort_values("image", kind="stable")
    table = pd.DataFrame(sorted(reasons.items()), columns=["item", "reason"], dtype=str)
    return Photographs(images, kept.reset_index(drop=True), table)

"""Functions shared by all loaders of photographs in folders: list and check the pictures, and read the tables."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from jointsparse.checks import require
from jointsparse.messages import relative_path
from jointsparse.pictures import open_colour, open_grey
from jointsparse.pipeline.datasets.checker import Progress, ask
from jointsparse.pipeline.datasets.groups import joined, numbered, of_files
from jointsparse.pipeline.datasets.names import finder
from jointsparse.pipeline.datasets.near_duplicates import N_FREQUENCIES, clusters
from jointsparse.pipeline.datasets.picture_check import MachineError
from jointsparse.pipeline.datasets.samples import Samples, gather
from jointsparse.pipeline.datasets.splits import FRACTIONS, SPLIT_NAMES, assign_splits
from jointsparse.pipeline.datasets.text import read_csv
from jointsparse.pipeline.provenance.folders import walk

SUFFIXES = (".avif", ".bmp", ".gif", ".heic", ".heif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")


NO_CAPTIONS = pd.DataFrame(columns=["image", "caption"], dtype=str)


class Annotations(NamedTuple):
    """Labels and splits of photographs, as files or folders give them.

    Attributes
    ----------
    captions
        Table with the columns `image`, `caption` and, if some labels are unknown, `known`.
    listed
        The images that have captions, or of which it is known that they have no tag.
    placed
        Table with the columns `image` and `split`, or None.
    files
        The files that give the labels.
    lacking
        The reason why an image that is not listed is left out.
    beside
        The suffixes of files beside the pictures that have been read.
    groups
        The name of the group of each image, or None.
    unreadable
        The reason for each image that is left out because it could not be read.
    strata
        The labels by which splits are stratified that are drawn for groups; `captions` if it is None.
    """

    captions: pd.DataFrame
    listed: set[str]
    placed: pd.DataFrame | None = None
    files: Sequence[str] = ()
    lacking: str = "no caption"
    beside: Sequence[str] = ()
    groups: Mapping[str, str] | None = None
    unreadable: Mapping[str, str] = MappingProxyType({})
    strata: pd.DataFrame | None = None


Annotated = Callable[[Sequence[str]], Annotations]  # a function of the names of the pictures


def read_folder(
    root: str | Path,
    annotated: Annotated,
    *,
    smallest_side: int | None,
    longest_side: int = 320,
    images: str = "images",
    splits: str | None = None,
    one_per_stem: bool = False,
    group_by: Literal["folder", "burst"] | None = None,
    near_duplicates: bool = False,
    split_names: Mapping[str, str] = SPLIT_NAMES,
    fractions: Mapping[str, float] = FRACTIONS,
    validation_fraction: float = 0.2,
    seed: int = 0,
    progress: Progress | None = None,
) -> Samples:
    """Read and check a folder of photographs.

    Some pictures and captions are left out, and listed in a table with the reason: pictures that cannot be opened, are
    too small or are byte-identical to another picture, pictures without a caption or a split, and captions without a
    picture. Of several byte-identical pictures one is kept, and it gets the captions of all of them. Hidden files and
    files that operating systems leave behind are ignored, see `provenance.folders`.

    Parameters
    ----------
    root : path
        Folder that holds the folder of the pictures.
    annotated : function
        Returns the labels of the pictures with the given names.
    smallest_side : int or None, pixels
        Pictures whose shorter side is below this length after shrinking are left out. If None, no picture is opened.
    longest_side : int, pixels
        Pictures whose longer side exceeds this length are shrunk to it.
    images : str
        Folder of the pictures in `root`; "." for `root` itself. The names of pictures in tables are relative to it.
    splits : str or None
        Table in `root` with the columns image and split. It has precedence over splits that the labels come with.
    one_per_stem : bool
        If True, files in the same folder whose names differ only in their suffix are one photograph.
    group_by : "folder", "burst" or None
        Which photographs belong together, if no table gives groups: those in the same folder, or those of a burst, see
        `groups.of_files`. Splits that are drawn divide no group.
    near_duplicates : bool
        If True, find photographs that differ only in scale, compression or a narrow strip cut off at a side. They are
        in the same group.
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
    samples : Samples

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
    found = annotated(names)
    for name in filter(None, (splits, *found.files)):  # these tables may lie next to the pictures
        left_out.pop(relative_path(folder / name, folder / images), None)
    for name, suffix in product(names, found.beside):
        left_out.pop(f"{name}{suffix}", None)
        left_out.pop(f"{name.rpartition('.')[0]}{suffix}", None)
    placed, source = found.placed, " and ".join(found.files)
    if splits:
        placed, source = _splits_in(folder / splits, names), splits
    unreadable, group_of = of_files(folder / images, names, group_by) if group_by else ({}, found.groups)
    groups = None if group_of is None else numbered(group_of.get(name, "") for name in names)
    assigned = partial(
        assign_splits,
        names,
        placed,
        captions=found.captions if found.strata is None else found.strata,
        split_names=split_names,
        fractions=fractions,
        validation_fraction=validation_fraction,
        seed=seed,
        source=source,
    )
    split_of, unplaced = assigned(groups=groups)  # now, because a name of a split may be wrong, and checks take minutes
    reasons, digests, descriptors = dict[str, str](), dict(zip(names, names, strict=True)), None
    if smallest_side is not None:
        sides = smallest_side, longest_side
        reasons, digests, descriptors = check_pictures(folder / images, names, *sides, near_duplicates, progress)
    if descriptors is not None:
        copies = _copies(split_of, digests, one_per_stem=one_per_stem)
        descriptors[[name in copies for name in names]] = 0  # these are left out below
        groups = _with_near_duplicates(folder / images, descriptors, groups)
        split_of, unplaced = assigned(groups=groups)
    left_out = _without_use(split_of, found) | left_out | unplaced | dict(found.unreadable) | unreadable | reasons
    usable = {name: split for name, split in split_of.items() if name not in left_out}
    first_of = _copies(usable, digests, one_per_stem=one_per_stem)
    captions = _joined(found.captions, first_of)
    has = found.captions.groupby("image")["caption"].agg(set).to_dict()
    for name, first in first_of.items():
        more = has.get(name, set()) - has.get(first, set())
        how = "same bytes as" if digests[name] == digests[first] else "same name, but for the suffix, as"
        left_out[name] = f"{how} {first}{', which gets its captions, too' if more else ''}"
    usable = {name: usable[name] for name in sorted(usable) if name not in first_of}
    captions = captions[captions["image"].isin(usable)].sort_values("image", kind="stable").reset_index(drop=True)
    samples = gather(usable, captions, dict(sorted(left_out.items())))
    columns = {"digest": [digests[name] for name in usable]}
    columns |= {} if groups is None else {"group": pd.Series(groups, names)[[*usable]].tolist()}
    return samples._replace(images=samples.images.assign(**columns))


def _with_near_duplicates(folder: Path, descriptors: np.ndarray, groups: np.ndarray | None) -> np.ndarray | None:
    """Join the groups of near duplicates. Raises ValueError if most pictures are alike, as drawings may be."""
    near = clusters(descriptors)
    most = int(np.bincount(near).max())
    require(
        2 * most <= max(len(near), 2),
        f"near_duplicates must be false for {folder}, because {most:,} of its {len(near):,} pictures are alike, each "
        "one with another: set it in the entry of the dataset",
    )
    return joined(near, groups) if most > 1 else groups


def _splits_in(file: Path, names: Sequence[str]) -> pd.DataFrame:
    """Return the table of splits."""
    table = {name.lower(): cells for name, cells in read_csv(file).items()}
    require(
        {"image", "split"} <= set(table),
        f"{file} must begin with a header line that names the columns image,split, got {','.join(table)[:80]!r}",
    )
    images = [*map(finder(names), table["image"])]
    return pd.DataFrame({"image": images, "split": table["split"]}, dtype=str)


def _copies(splits: Mapping[str, str], digests: Mapping[str, str], *, one_per_stem: bool) -> dict[str, str]:
    """Return the photograph that is kept for each one that is left out, so that no photograph is in two splits."""
    first_with, copies = dict[str, str](), dict[str, str]()
    for name in sorted(splits, key=lambda name: (splits[name] == "unlabelled", name)):
        keys = [digests[name], f"/{name.rpartition('.')[0]}"][: 1 + one_per_stem]
        first = next((first_with[key] for key in keys if key in first_with), name)
        first_with |= {key: first for key in keys if key not in first_with}
        if first != name:
            copies[name] = first
    return copies


def _joined(captions: pd.DataFrame, first_of: Mapping[str, str]) -> pd.DataFrame:
    """Give the captions of photographs that are left out to the ones that are kept. A known label comes first."""
    moved = captions["image"].isin(first_of)
    both = pd.concat([captions[~moved], captions[moved].assign(image=captions["image"][moved].map(first_of))])
    if "known" in both:
        both = both.sort_values("known", ascending=False, kind="stable")
    return both.drop_duplicates(["image", "caption"])


def _without_use(splits: Mapping[str, str], found: Annotations) -> dict[str, str]:
    """Return images without captions, captions without an image, and repeated captions, each with the reason."""
    unlisted = [name for name, split in splits.items() if name not in found.listed and split != "unlabelled"]
    captions, source = found.captions, " and ".join(found.files)
    return (
        dict.fromkeys(found.listed - set(splits), f"{source} names an image that is not there")
        | dict.fromkeys(unlisted, found.lacking)
        | {
            f"{name} (repeated caption)": f"{source} gives it the same caption again"
            for name in captions["image"][captions.duplicated()]
        }
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
    folder: Path,
    names: Sequence[str],
    smallest_side: int,
    longest_side: int,
    near_duplicates: bool = False,
    progress: Progress | None = None,
) -> tuple[dict[str, str], dict[str, str], np.ndarray | None]:
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
    near_duplicates : bool
        If True, describe the pictures.
    progress : function or None
        Called as `progress(done, total)` after each picture.

    Returns
    -------
    reasons : dict
        For each picture that cannot be used, the reason.
    digests : dict
        For each picture, a checksum of its file, or "" if the picture cannot be decoded.
    descriptors : array, shape (n_pictures, n_entries), int8, or None
        With `near_duplicates`, the descriptors of the pictures, see `near_duplicates.clusters`.
    """
    arguments = smallest_side, longest_side, near_duplicates
    reasons, values = ask(folder, names, "check", *arguments, progress=progress)
    checked: list[tuple[str, list[int]]] = [values[name] or ("", []) for name in names]
    nothing = [0] * N_FREQUENCIES**2  # similar to no picture
    descriptors = np.array([entries or nothing for _, entries in checked], np.int8) if near_duplicates else None
    return reasons, dict(zip(names, (digest for digest, _ in checked), strict=True)), descriptors


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

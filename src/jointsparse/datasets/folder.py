"""The shared part of all datasets of photographs: reading a folder, opening pictures, checking them, reading tables."""

import csv
import os
import stat
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from PIL import Image, ImageOps, UnidentifiedImageError

from jointsparse.checks import require
from jointsparse.datasets.splits import FRACTIONS, SPLIT_NAMES, assign_splits
from jointsparse.tables import sha256

SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
# Kinds of pictures that are opened, whatever the suffix says. Pillow would hand others (EPS) to other programs.
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
MOST_PIXELS = 89_478_485  # Pillow begins to warn of a decompression bomb here: 256 MiB in colour
MOST_BYTES = 2**30  # of a picture file; MOST_PIXELS in 16-bit colour take half of it
ROWS_AT_ONCE = 100_000  # of a table, held as Python text before they become a DataFrame

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
    return gather(splits, captions, left_out | unplaced | reasons, digests)


def fitted_size(width: int, height: int, longest_side: int) -> tuple[int, int]:
    """Width and height after shrinking to at most `longest_side`. Small pictures stay as they are."""
    factor = min(1.0, longest_side / max(width, height))
    return max(1, round(width * factor)), max(1, round(height * factor))


def open_grey(path: Path, longest_side: int) -> np.ndarray:
    """A photograph as grey levels in [0, 1], float32 (height, width), upright, at most `longest_side` pixels long.

    Of several frames or pages, the first is read. Raises ValueError on more than `MOST_PIXELS` and on grey levels whose
    scale is not known. Pillow's decoders raise any error on damaged files.
    """
    # A stream, as Pillow 13 maps a named file of a turned, uncompressed TIFF into memory with width for height.
    with path.open("rb") as stream, Image.open(stream, formats=FORMATS) as file:
        require(
            file.width * file.height <= MOST_PIXELS,
            f"{file.width} x {file.height} pixels are more than {MOST_PIXELS:,}",
        )
        file.draft("L", (2 * longest_side, 2 * longest_side))  # JPEG decodes to a smaller grey picture at once
        file.load()
        _require_known_scale(file)
        upright = ImageOps.exif_transpose(file)
    grey = _as_grey(upright)
    size = fitted_size(*grey.size, longest_side)
    if size != grey.size:
        grey = grey.resize(size, Image.Resampling.BOX if grey.size[0] > 4 * size[0] else Image.Resampling.LANCZOS)
    return np.clip(np.asarray(grey, dtype=np.float32), 0.0, 1.0)


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


def _require_known_scale(file: Image.Image) -> None:
    """Raise ValueError on TIFF numbers that Pillow reads without their sign, wraps around, inverts or mixes up."""
    tags = getattr(file, "tag_v2", None)
    if tags is None:
        return
    sample_formats, bits, photometric = tags.get(339, 1), tags.get(258), tags.get(262)
    signed = file.mode != "F" and sample_formats not in (1, (1,) * len(file.getbands()))
    strange = file.mode.startswith("I;16") and bits != (16,)
    inverted = file.mode != "L" and photometric == 0 and bits != (1,)
    apart = tags.get(284) == 2 and max(bits or (1,)) > 8
    require(
        not (file.mode == "I" or signed or strange or inverted or apart),
        "TIFF levels must be of 8 or 16 bits, without a sign; other than 8 bits with 0 as black, planes together",
    )


def _as_grey(picture: Image.Image) -> Image.Image:
    """Grey levels in [0, 1] as a float picture, transparency on white, 16-bit depth kept."""
    if picture.mode.startswith("I"):
        greys = np.asarray(picture, dtype=np.float32)
        if "transparency" in picture.info:  # one grey level, of PNG
            greys = np.where(greys == picture.info["transparency"], np.float32(65535), greys)
        return Image.fromarray(greys / np.float32(65535))
    if picture.mode == "F":
        greys = np.asarray(picture)
        low, high = greys.min(), greys.max()
        # NaN is refused too.
        require(low >= 0 and high <= 1, f"floating-point grey levels must lie in [0, 1], got {low} to {high}")
        return picture
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    return Image.fromarray(np.asarray(picture.convert("L"), dtype=np.float32) / np.float32(255))


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
    check = partial(_check_picture, smallest_side=smallest_side, longest_side=longest_side)
    paths = [folder / name for name in names]
    with ThreadPoolExecutor(2) as pool:  # Pillow decodes outside the interpreter's lock
        for done, (name, (reason, digest)) in enumerate(zip(names, pool.map(check, paths), strict=True), start=1):
            digests[name] = digest
            if reason:
                reasons[name] = reason
            if progress:
                progress(done, len(names))
    return reasons, digests


def _check_picture(path: Path, smallest_side: int, longest_side: int) -> tuple[str, str]:
    """The reason why a picture cannot be used, or "", and a digest of its bytes."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
            return "not a regular file", ""
        if status.st_size == 0:
            return "the file is empty", ""
        if status.st_size > MOST_BYTES:
            return f"too large: {status.st_size:,} bytes, at most {MOST_BYTES:,} are read", ""
        digest = sha256(path)
        with Image.open(path, formats=FORMATS) as picture:
            picture.verify()  # the checksums of PNG, which decoding passes over
        height, width = open_grey(path, longest_side).shape
    except UnidentifiedImageError:
        return f"does not open as a picture: none of {', '.join(FORMATS)}", ""
    except Exception as error:  # Pillow's decoders raise any error on damaged files
        # Without the path, which differs between copies of a dataset.
        said = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return f"does not open as a picture: {' '.join(said.split())[:200]}", ""
    return too_small(width, height, smallest_side), digest


def too_small(width: int, height: int, smallest_side: int) -> str:
    """The reason why a picture of this size, in pixels, is left out, or "" if it is large enough."""
    if min(width, height) >= smallest_side:
        return ""
    return f"too small: {width} x {height} pixels, the shorter side must be at least {smallest_side}"


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
            other[name] = f"a folder that cannot be read: {error.strerror}"
            continue
        for path in (here / item for item in items):
            name = path.relative_to(folder).as_posix()
            is_picture = name.lower().endswith(SUFFIXES)
            if name.encode(errors="ignore").decode() != name:  # it is not UTF-8, and no table could hold it
                other[os.fsencode(name).decode("utf-8", "backslashreplace")] = "the name is not UTF-8 text"
            elif os.path.isdir(path):
                (links if path.is_symlink() else folders).append(path)
                if is_picture:
                    other[name] = "a folder, not a picture file"
            elif is_picture:
                good.append(name)
            else:
                other[name] = f"not a picture file ({' '.join(SUFFIXES)})"
    require(good, f"root must hold pictures ({' '.join(SUFFIXES)}) in {str(folder)!r}, got none")
    return sorted(good), other


def read_csv(path: Path, *columns: str) -> pd.DataFrame:
    """Read a UTF-8 table with a header line that holds `columns`; others are dropped. All values are text."""
    require(
        path.is_file(), f"root must hold a file {path.name} with the columns {','.join(columns)}, got none at {path}"
    )
    try:
        # The csv module, not pandas: a row with a field too many is an error there, and NUL bytes do not pass.
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, strict=True)
            header = next(rows, [])
            _require_header(header, columns, path)
            records = (_checked_row(row, header, f"{path} line {rows.line_num}") for row in rows if row)
            tables = [
                pd.DataFrame(some, columns=header, dtype=str)[list(columns)]
                for some in iter(lambda: list(islice(records, ROWS_AT_ONCE)), [])
            ]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be UTF-8 text, got byte {error.object[error.start]:#04x} in it") from None
    except csv.Error as error:
        raise ValueError(f"{path} line {rows.line_num}: {error}") from None
    return pd.concat([pd.DataFrame(columns=list(columns), dtype=str), *tables], ignore_index=True)


def _require_header(header: list[str], columns: tuple[str, ...], path: Path) -> None:
    got = f"got {','.join(header)[:80]!r}"
    require(
        set(columns) <= set(header),
        f"{path} must begin with a header line that names the columns {','.join(columns)}, {got}",
    )
    require(len(set(header)) == len(header), f"{path} must name each column once, {got}")


def _checked_row(row: list[str], header: list[str], where: str) -> list[str]:
    if len(row) != len(header) or any("\0" in field for field in row):
        raise ValueError(
            f"{where}: expected {len(header)} fields of text (a text with a comma goes in double quotes), "
            f"got {','.join(row)[:80]!r}"
        )
    return row


def gather(
    splits: Mapping[str, str],
    captions: pd.DataFrame,
    left_out: Mapping[str, str],
    digests: Mapping[str, str] | None = None,
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
    reasons = dict.fromkeys(captioned - set(splits), "captions.csv names an image that is not there") | dict(left_out)
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

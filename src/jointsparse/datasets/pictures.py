"""Opening pictures as grey levels, and checking them: the program of the processes that `checker` starts.

It imports nothing of jointsparse, so that such a process starts in a fifth of a second.
"""

import errno
import hashlib
import json
import mmap
import signal
import stat
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from PIL import ExifTags, Image, ImageFile, ImageOps, UnidentifiedImageError
from PIL.TiffImagePlugin import TiffImageFile

# Kinds of pictures that are opened, whatever the suffix says. Pillow would hand others (EPS) to other programs.
FORMATS: tuple[str, ...] = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
if find_spec("PIL._avif"):  # from Pillow 11.3 on, in most builds
    FORMATS += ("AVIF",)
if find_spec("pi_heif"):
    from pi_heif import register_heif_opener

    register_heif_opener(thumbnails=False, depth_images=False, aux_images=False)
    FORMATS += ("HEIF",)  # HEIC too. Behind AVIF, as some files of that kind begin alike
# Modes of 8 bits a level that pictures of each of these kinds have, as Pillow calls them.
MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr")
CONVERT = "save it as a JPEG, or a PNG of 8 bits a level"
# Of these decoders of Pillow.
RARE = {"bmp_rle": "a BMP in runs", "ppm": "a PNM of levels up to another number than 255"}
MOST_AT_ONCE = 2**26  # bytes of a JPEG that are held beside its pixels
MOST_PIXELS = 89_478_485  # Pillow begins to warn of a decompression bomb here: 256 MiB in colour
MOST_BYTES = 2**30  # of a picture file; MOST_PIXELS in 16-bit colour take half of it
MOST_MEMORY = 3 * 2**30  # bytes of a process that checks; a picture of MOST_PIXELS takes up to two thirds of them
BYTES_PER_PIXEL = 20  # at most, while a picture is decoded
# Errors that a file itself explains. Python has EINVAL where a damaged file sends a decoder before its beginning.
OF_FILES = {None, errno.EACCES, errno.EINVAL, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR, errno.EPERM}
GREY_OF_COLOUR = (0.299, 0.587, 0.114)  # as Pillow makes it, ITU-R 601-2
NO_PICTURE = "does not open as a picture: "


class MachineError(OSError):
    """The machine failed while a file was read, which may be in good order."""

    def __init__(self, path: str | Path, why: object) -> None:
        super().__init__(f"{path} could not be read: {why}. The file may be in good order: mend this and run again")
        self.why = str(why)


def of_machine(error: BaseException) -> bool:
    """True if an error says nothing of the file that was read: a failing disk, too many open files, no memory."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno not in OF_FILES)


def fitted_size(width: int, height: int, longest_side: int) -> tuple[int, int]:
    """Width and height after shrinking to at most `longest_side`. Small pictures stay as they are."""
    factor = min(1.0, longest_side / max(width, height))
    return max(1, round(width * factor)), max(1, round(height * factor))


def open_grey(path: Path, longest_side: int) -> np.ndarray:
    """A photograph as grey levels in [0, 1], float32 (height, width), upright, at most `longest_side` pixels long.

    Of several frames or pages, the first is read. Raises ValueError on more than `MOST_PIXELS`, on another mode than
    `MODES`, and on forms that Pillow does not surely read right. Pillow's decoders raise any error on damaged files.
    """
    return _shrunk(_as_grey(_upright(path, "L", longest_side)), longest_side)


def open_colour(path: Path, longest_side: int) -> np.ndarray:
    """A photograph for people to look at, uint8 (height, width, 3), otherwise as `open_grey` reads it."""
    return shrunk_colour(_on_white(_upright(path, "RGB", longest_side)), longest_side)


def shrunk_colour(picture: Image.Image, longest_side: int) -> np.ndarray:
    """Shrink a picture without transparency to at most `longest_side` pixels, uint8 (height, width, 3)."""
    colour = picture.convert("RGB")
    colour.thumbnail((longest_side, longest_side))
    return np.asarray(colour)


def _upright(path: Path, mode: str, longest_side: int) -> Image.Image:
    """A photograph as its file has it, but turned upright. mode: "L" or "RGB", where the file leaves a choice."""
    # A stream, as Pillow 13 maps a named file of a turned, uncompressed TIFF into memory with width for height.
    with path.open("rb") as stream, Image.open(stream, formats=FORMATS) as file:
        if file.width * file.height > MOST_PIXELS:
            raise ValueError(f"{file.width} x {file.height} pixels are more than {MOST_PIXELS:,}")
        if file.mode not in MODES or (reason := _strange_form(file, stream)):
            raise ValueError(f"{file.mode + ' levels' if file.mode not in MODES else reason}: {CONVERT}")
        file.draft(mode, (2 * longest_side, 2 * longest_side))  # JPEG decodes to a smaller picture at once
        if file.format == "JPEG":  # of arithmetic coding, a part cannot be decoded before the rest is there
            file.decodermaxblock = max(file.decodermaxblock, min(path.stat().st_size, MOST_AT_ONCE))
        file.load()
        _forget_orientation_of_xmp(file)
        return ImageOps.exif_transpose(file)


def _forget_orientation_of_xmp(file: ImageFile.ImageFile) -> None:
    """Leave the orientation of EXIF alone, or of a TIFF: by that of XMP no other program turns a picture."""
    own: Any = getattr(file, "tag_v2", None)
    if own is None:
        own = Image.Exif()
        own.load(file.info.get("exif"))
    if {"xmp", "XML:com.adobe.xmp"} & file.info.keys() and ExifTags.Base.Orientation not in own:
        file.getexif().pop(ExifTags.Base.Orientation, None)


def _strange_form(file: ImageFile.ImageFile, stream: BinaryIO) -> str:
    """The form of a picture of 8 bits that Pillow does not surely read right, or ""."""
    level = file.info.get("transparency")
    if file.format == "PNG" and getattr(file, "is_animated", False):
        return "an animated PNG"  # whose orientation may stand behind the frames
    of_other_bits = level is not None and (str(file.tile[0].args) not in ("L", "RGB") or np.max(level) > 255)
    if file.format == "PNG" and file.mode != "P" and of_other_bits:
        return "a PNG with a transparent level of other than 8 bits"
    if file.format == "GIF" and file.tile[0].extents != (0, 0, *file.size):
        return "a GIF whose first frame is smaller than its screen"  # each program fills the rest in another way
    if file.tile and (rare := RARE.get(file.tile[0].codec_name)):
        return rare
    if file.format == "AVIF":
        stream.seek(0)
        if b"clap" in stream.read(2**16).partition(b"mdat")[0]:
            return "an AVIF with a part that is to be cut out"
    if isinstance(file, TiffImageFile):
        tags, expected = file.tag_v2, _entries(stream)
        bits, unsigned = tags.get(258, (1,)), np.all(np.equal(tags.get(339, 1), 1))
        if len(tags) != expected or tags.get(262) is None:  # without these, levels may be read wrong
            return "a TIFF with entries that cannot be read, or that does not say whether 0 is white"
        if not unsigned or tags.get(284, 1) != 1 or not (set(bits) == {8} or bits == (1,)):
            return "a TIFF of other than 8 bits, with a sign, or with planes apart"
    return ""


def _entries(stream: BinaryIO) -> int:
    """The number of entries that the directory of a TIFF, or BigTIFF, says it has."""
    stream.seek(0)
    head = stream.read(16)
    order: Literal["little", "big"] = "little" if head[:2] == b"II" else "big"
    begin, width, counted = (8, 8, 8) if 43 in head[2:4] else (4, 4, 2)
    stream.seek(int.from_bytes(head[begin : begin + width], order))
    return int.from_bytes(stream.read(counted), order)


def grey_of(picture: np.ndarray, longest_side: int) -> np.ndarray:
    """A picture in memory as `open_grey` returns it from a file of the same pixels.

    picture: (height, width) or (height, width, 3), uint8, or floating-point in [0, 1]. Raises ValueError on others.
    """
    floating = picture.dtype.kind == "f"
    if not (floating or picture.dtype == np.uint8) or picture.ndim < 2 or picture.shape[2:] not in ((), (3,)):
        raise ValueError(
            "a picture must be (height, width) or (height, width, 3), uint8 or floating-point, got shape "
            f"{picture.shape} of {picture.dtype}"
        )
    if floating:
        _require_levels(picture)
        picture = (picture @ GREY_OF_COLOUR if picture.ndim == 3 else picture).astype(np.float32)
    return _shrunk(_as_grey(Image.fromarray(picture)), longest_side)


def _shrunk(grey: Image.Image, longest_side: int) -> np.ndarray:
    size = fitted_size(*grey.size, longest_side)
    if size != grey.size:
        grey = grey.resize(size, Image.Resampling.BOX if grey.size[0] > 4 * size[0] else Image.Resampling.LANCZOS)
    return np.clip(np.asarray(grey, dtype=np.float32), 0.0, 1.0)


def _as_grey(picture: Image.Image) -> Image.Image:
    """Grey levels in [0, 1] as a float picture, transparency on white."""
    if picture.mode == "F":  # a picture in memory
        return picture
    return Image.fromarray(np.asarray(_on_white(picture).convert("L"), dtype=np.float32) / np.float32(255))


def _on_white(picture: Image.Image) -> Image.Image:
    if not picture.has_transparency_data:
        return picture
    picture = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)


def _require_levels(levels: np.ndarray) -> None:
    low, high = levels.min(), levels.max()
    if not (low >= 0 and high <= 1):  # NaN is refused too
        raise ValueError(f"floating-point grey levels must lie in [0, 1], got {low} to {high}")


def check_picture(path: Path, smallest_side: int, longest_side: int) -> tuple[str, str]:
    """The reason why a picture cannot be used, or "", and a digest of its bytes.

    smallest_side: the shorter side must have so many pixels, after shrinking to `longest_side`. Raises MachineError.
    """
    n_pixels = 0
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
            return "not a regular file", ""
        if status.st_size == 0:
            return "the file is empty", ""
        if status.st_size > MOST_BYTES:
            return f"too large: {status.st_size:,} bytes, at most {MOST_BYTES:,} are read", ""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        with warnings.catch_warnings(record=True) as doubts:
            warnings.simplefilter("always")
            with Image.open(path, formats=FORMATS) as picture:
                n_pixels = picture.width * picture.height
                picture.verify()  # the checksums of PNG, which decoding passes over
            height, width = open_grey(path, longest_side).shape
        for doubt in doubts:  # in other formats, of a camera's notes that are damaged often and seldom matter
            if picture.format == "TIFF" and doubt.category is UserWarning:
                raise ValueError(str(doubt.message))
    except UnidentifiedImageError:
        lacking = path.suffix.lower() in (".heic", ".heif") and "HEIF" not in FORMATS
        return f"{NO_PICTURE}none of {', '.join(FORMATS)}{'; HEIC takes the package pi-heif' if lacking else ''}", ""
    except Exception as error:  # Pillow's decoders raise any error on damaged files
        _require_machine(path, error, n_pixels)
        if isinstance(error, MemoryError):
            return f"{NO_PICTURE}decoding takes more than {MOST_MEMORY >> 20:,} MiB of memory", ""
        # Without the path, which differs between copies of a dataset.
        said = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return f"{NO_PICTURE}{' '.join(said.split())[:200]}", ""
    return too_small(width, height, smallest_side), digest


def _require_machine(path: Path, error: Exception, n_pixels: int) -> None:
    """Raise MachineError unless a picture is to blame for an error.

    Choice: a picture is to blame for a lack of memory if this process could have had all of `MOST_MEMORY` but for our
    own limit. Decoders in C call a lack of memory damage. So at any other error there must be room for the pixels.
    """
    if of_machine(error) and not isinstance(error, MemoryError):
        raise MachineError(path, getattr(error, "strerror", None) or error)
    needed = MOST_MEMORY if isinstance(error, MemoryError) else n_pixels * BYTES_PER_PIXEL
    if not _has_room(needed):
        raise MachineError(path, f"decoding it may take {1 + (needed >> 20):,} MiB, and there is less memory")


def _has_room(n_bytes: int) -> bool:
    """True if this process could have so much more memory, but for our own limit."""
    before = _limit_memory(None)
    try:
        mmap.mmap(-1, n_bytes + 1).close()
    except OSError:
        return False
    finally:
        _limit_memory(before)
    return True


def _limit_memory(n_bytes: int | None) -> int | None:
    """Limit the memory of this process, or set the limit of before. Return the limit that it had."""
    if sys.platform != "linux":  # macOS does not keep to it, Windows has none
        return None
    import resource

    before, most = resource.getrlimit(resource.RLIMIT_AS)
    wanted = resource.RLIM_INFINITY if n_bytes is None else n_bytes
    if most != resource.RLIM_INFINITY and not 0 <= wanted <= most:
        wanted = most
    resource.setrlimit(resource.RLIMIT_AS, (wanted, most))
    return None if before == resource.RLIM_INFINITY else before


def too_small(width: int, height: int, smallest_side: int) -> str:
    """The reason why a picture of this size, in pixels, is left out, or "" if it is large enough."""
    if min(width, height) >= smallest_side:
        return ""
    return f"too small: {width} x {height} pixels, the shorter side must be at least {smallest_side}"


def main(smallest_side: int, longest_side: int, most_seconds: float) -> None:
    """Check the pictures that the standard input names, and print a line with the verdict on each."""
    _limit_memory(MOST_MEMORY)
    if sys.platform != "win32":
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which kills this process
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # if the parent is gone
    for line in sys.stdin:
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_PROF, most_seconds)  # SIGPROF ends this process, also within C code
        path = Path(json.loads(line))
        try:
            verdict = (*check_picture(path, smallest_side, longest_side), "")
        except MachineError as error:
            verdict = ("", "", error.why)
        print(json.dumps(verdict), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))

"""Opening pictures as grey levels, and checking them: the program of the processes that `checker` starts.

It imports nothing of jointsparse, so that such a process starts in a fifth of a second.
"""

import errno
import hashlib
import json
import signal
import stat
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

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


def open_grey(path: Path, longest_side: int) -> np.ndarray:
    """A photograph as grey levels in [0, 1], float32 (height, width), upright, at most `longest_side` pixels long.

    Of several frames or pages, the first is read. Raises ValueError on more than `MOST_PIXELS` and on another mode than
    `MODES`. Pillow's decoders raise any error on damaged files.
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
        if file.mode not in MODES:
            raise ValueError(f"{file.mode} levels: {CONVERT}")
        file.draft(mode, (2 * longest_side, 2 * longest_side))  # JPEG decodes to a smaller picture at once
        return ImageOps.exif_transpose(file)


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
    if not floating:
        return _shrunk(_as_grey(Image.fromarray(picture)), longest_side)
    low, high = picture.min(), picture.max()
    if not (low >= 0 and high <= 1):  # NaN is refused too
        raise ValueError(f"floating-point grey levels must lie in [0, 1], got {low} to {high}")
    grey = picture @ GREY_OF_COLOUR if picture.ndim == 3 else picture
    return _shrunk(Image.fromarray(grey.astype(np.float32)), longest_side)


def _shrunk(grey: Image.Image, longest_side: int) -> np.ndarray:
    """Shrink a picture to at most `longest_side` pixels. Smaller ones stay as they are."""
    factor = min(1.0, longest_side / max(grey.size))
    size = max(1, round(grey.width * factor)), max(1, round(grey.height * factor))
    if size != grey.size:
        grey = grey.resize(size, Image.Resampling.BOX if grey.size[0] > 4 * size[0] else Image.Resampling.LANCZOS)
    return np.clip(np.asarray(grey, dtype=np.float32), 0.0, 1.0)


def _as_grey(picture: Image.Image) -> Image.Image:
    """Grey levels in [0, 1] as a float picture, transparency on white."""
    return Image.fromarray(np.asarray(_on_white(picture).convert("L"), dtype=np.float32) / np.float32(255))


def _on_white(picture: Image.Image) -> Image.Image:
    if not picture.has_transparency_data:
        return picture
    picture = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)


def check_picture(path: Path, smallest_side: int, longest_side: int) -> tuple[str, str, int]:
    """The reason why a picture cannot be used, or "", a digest of its bytes, and bytes of memory.

    The reason holds only if this process could have had so much memory more, but for our own limit. smallest_side: the
    shorter side must have so many pixels, after shrinking to `longest_side`. Raises MachineError.
    """
    n_pixels = 0
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
            return "not a regular file", "", 0
        if not 0 < status.st_size <= MOST_BYTES:
            return f"a picture file must hold 1 to {MOST_BYTES:,} bytes, got {status.st_size:,}", "", 0
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        with warnings.catch_warnings(action="ignore"):
            with Image.open(path, formats=FORMATS) as picture:
                n_pixels = picture.width * picture.height
                picture.verify()  # the checksums of PNG, which decoding passes over
            height, width = open_grey(path, longest_side).shape
    except UnidentifiedImageError:
        lacking = path.suffix.lower() in (".heic", ".heif") and "HEIF" not in FORMATS
        hint = "; HEIC takes the package pi-heif" if lacking else ""
        return f"{NO_PICTURE}none of {', '.join(FORMATS)}{hint}", "", 0
    except MemoryError:
        return f"{NO_PICTURE}decoding takes more than {MOST_MEMORY >> 20:,} MiB of memory", "", MOST_MEMORY
    except Exception as error:  # Pillow's decoders raise any error on damaged files
        said = getattr(error, "strerror", None) or str(error) or type(error).__name__
        if of_machine(error):
            raise MachineError(path, said) from error
        # Without the path, which differs between copies of a dataset. Decoders in C call a lack of memory damage.
        return f"{NO_PICTURE}{' '.join(said.split())[:200]}", "", n_pixels * BYTES_PER_PIXEL
    too_small = f"too small: {width} x {height} pixels, the shorter side must be at least {smallest_side}"
    return "" if min(width, height) >= smallest_side else too_small, digest, 0


def main(smallest_side: int, longest_side: int, most_seconds: float) -> None:
    """Check the pictures that the standard input names, and print a line with the verdict on each."""
    if sys.platform == "linux":  # macOS does not keep to a limit of memory, Windows has none
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = MOST_MEMORY if most == resource.RLIM_INFINITY else min(MOST_MEMORY, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))
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
            verdict = ("", "", 0, error.why)
        print(json.dumps(verdict), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))

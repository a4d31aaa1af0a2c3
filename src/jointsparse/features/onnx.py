"""Features of pictures from a pretrained network in an ONNX file.

A model file may come from anyone, so `open_network` first runs it on a blank picture in a process of its own, whose
time and memory are limited. ONNX Runtime computes the features of a picture in one thread, so that the same picture
always gives the same bytes on one type of processor. On another type of processor the last digits may differ.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jointsparse.checks import require, require_extra

MAKES = "features"
PREFIX = "network"  # prefix of the features' names in files that also hold the names of the pictures
TAKES = ("model", "size", "mean", "std", "layout", "output", "tokens")
MOST_BYTES = 2**31  # largest size of a model file
MOST_MEMORY_BYTES, MOST_SECONDS = 2**32, 60  # limits for describing the first picture
USUAL_SIDE_PIXELS = 224  # size of pictures for models whose input has no fixed size
MOST_SIDE_PIXELS = 4096
# Mean and standard deviation of ImageNet's colours, in [0, 1], by which the inputs of most networks are normalised.
USUAL_MEAN, USUAL_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
LAYOUTS = ("NHWC", "NCHW")
TOKENS = ("mean", "first")
UINT8, FLOAT = "tensor(uint8)", "tensor(float)"


class Reading(NamedTuple):
    """How a network reads a picture and which of its outputs holds the features.

    Attributes
    ----------
    input, output : str
        Names of the network's input and output in the file.
    height, width : int, pixels
        Size to which each picture is resized.
    layout : {"NHWC", "NCHW"}
        Order of the input's axes: pictures (N), height (H), width (W) and colours (C).
    mean, std : tuple of 3 floats, or None
        The input is (colour - mean) / std, with colours in [0, 1]. None if the input is uint8, which takes the colours
        unchanged.
    tokens : {"mean", "first"}
        If the output has tokens: whether the features are the mean over all tokens, or the first token.
    """

    input: str
    output: str
    height: int
    width: int
    layout: str
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None
    tokens: str


def smallest_side(**options: object) -> int:
    """Return 1, because every picture is resized, whatever its size. options: the options of `Network`, ignored."""
    return 1


class Network:
    """A network that is opened in ONNX Runtime and can compute features.

    Parameters
    ----------
    path : path
        The ONNX file.
    size : int, (height, width) or None
        Size in pixels to which each picture is resized. None stands for the size that the file states, or for 224 if it
        states none.
    mean, std : sequences of 3 floats, or None
        Mean and standard deviation of the colours, for networks with floating-point input. None stands for ImageNet's.
    layout : {"NHWC", "NCHW"} or None
        Order of the input's axes. If it is None, the axis of length 3 holds the colours.
    output : str or None
        Name of the output that holds the features. None stands for the output with the most axes.
    tokens : {"mean", "first"}
        See `Reading`.

    Attributes
    ----------
    reading : Reading
        The options, in which every None is replaced by what the file states or by a default.

    Raises
    ------
    ValueError
        If the file does not hold a network that takes pictures, or if an option does not fit the network.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        size: int | Sequence[int] | None = None,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        layout: str | None = None,
        output: str | None = None,
        tokens: str = "mean",
    ) -> None:
        self.path = Path(path)
        self._session = _session(self.path)
        self.reading = _reading(self._session, self.path, size, mean, std, layout, output, tokens)

    def places(self, picture: np.ndarray) -> tuple[np.ndarray, tuple[int, int]]:
        """Return the features of each place of a picture. Their mean is the feature vector of the picture.

        Parameters
        ----------
        picture : array (height, width, 3), uint8
            The colours of a picture of the size that `reading` states.

        Returns
        -------
        features : array (n_places, n_features), float32
            Features of the places, row by row from the top left. A network without places has a single place.
        grid : (int, int)
            Numbers of rows and columns of places.

        Raises
        ------
        ValueError
            If the network fails on the picture, or if its output is not finite or has a wrong type or shape.
        """
        reading = self.reading
        values = picture if reading.mean is None else _normalised(picture, reading.mean, reading.std or ())
        values = values if reading.layout == "NHWC" else values.transpose(2, 0, 1)
        try:
            (result,) = self._session.run([reading.output], {reading.input: np.ascontiguousarray(values)[np.newaxis]})
        except Exception as error:  # ONNX Runtime raises many types of errors
            raise ValueError(f"{self.path} fails on a picture: {_sentence(error)}") from error
        features, grid = _by_place(np.asarray(result), reading)
        require(np.isfinite(features).all(), f"{self.path} must give finite features, got NaN or infinity")
        return features, grid


def _normalised(picture: np.ndarray, mean: Sequence[float], std: Sequence[float]) -> np.ndarray:
    single = picture.astype(np.float32) / np.float32(255)
    return np.asarray((single - np.asarray(mean, np.float32)) / np.asarray(std, np.float32))


def _by_place(result: np.ndarray, reading: Reading) -> tuple[np.ndarray, tuple[int, int]]:
    """Return the features of each place, (n_places, n_features), from the output for one picture, and the grid."""
    shape = result.shape
    sound = result.dtype == np.float32 and result.ndim in (2, 3, 4) and shape[0] == 1 and result.size > 0
    require(
        sound,
        f"output {reading.output!r} must be float32 of shape (1, d), (1, d, height, width) or (1, tokens, d), got "
        f"{result.dtype} {shape}",
    )
    if result.ndim == 2:
        return result, (1, 1)
    if result.ndim == 4:
        last = shape[1] == shape[2] != shape[3]  # the last axis holds the features
        rows, columns = shape[1:3] if last else shape[2:]
        return (result if last else result.transpose(0, 2, 3, 1)).reshape(rows * columns, -1), (rows, columns)
    if reading.tokens == "first":
        return result[0, :1], (1, 1)
    # Choice: if the number of tokens is a square plus one, the first token is the class token, which has no place.
    tokens = result[0, 1:] if is_square(shape[1] - 1) and not is_square(shape[1]) else result[0]
    side = round(len(tokens) ** 0.5)
    return tokens, (side, side) if is_square(len(tokens)) else (1, len(tokens))


def is_square(n: int) -> bool:
    return n > 0 and round(n**0.5) ** 2 == n


@lru_cache(maxsize=8)
def digest_of(path: Path, size: int, modified_ns: int) -> str:
    """Return the SHA-256 of a file.

    size, modified_ns: the size and the modification time of the file. They are part of the cache's key, so that a
    changed file is read again.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(path: Path) -> str:
    """Return the SHA-256 of a model file."""
    status = path.stat()
    return digest_of(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=4)
def open_network(path: Path, digest: str, **options: Any) -> Network:
    """Open a network, after a separate process has tried it on a blank picture.

    Parameters
    ----------
    path : Path
        The ONNX file.
    digest : str
        SHA-256 of the file. It is part of the cache's key, so that a changed file is opened again.
    **options : Any
        Options of `Network`, with hashable values.

    Raises
    ------
    ValueError
        If `Network` raises it, or if the first picture takes more than MOST_SECONDS or MOST_MEMORY_BYTES.
    """
    command = [sys.executable, "-m", __name__, json.dumps([str(path.absolute()), options])]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        trial = subprocess.run(
            command, capture_output=True, text=True, timeout=MOST_SECONDS, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"{path} must describe a picture within {MOST_SECONDS} s, got no features by then") from None
    said = trial.stdout.strip().splitlines()[-1:]
    if trial.returncode or not said:
        raise ValueError(
            f"{path} must describe a picture with at most {MOST_MEMORY_BYTES >> 30} GiB of memory, got the end of the "
            f"process that tried it (status {trial.returncode})"
        )
    require(said == ["done"], said[0])
    return Network(path, **options)


def _session(path: Path) -> Any:
    """Open a file in ONNX Runtime. Raise ValueError if ONNX Runtime cannot open it."""
    require_extra("Embedding", "onnxruntime", extra="embeddings")
    import onnxruntime

    require(path.is_file(), f"model must be an ONNX file, got {str(path)!r}, which is not there")
    n_bytes = path.stat().st_size
    require(0 < n_bytes <= MOST_BYTES, f"a model file must hold 1 to {MOST_BYTES:,} bytes, got {n_bytes:,} in {path}")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # no logging of errors, because they are also raised
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ValueError(f"{path} does not open as an ONNX model: {_sentence(error)}") from error


def _sentence(error: Exception) -> str:
    """Return the message of an error from ONNX Runtime on one line, without the error code."""
    text = " ".join(str(error).split())
    return text.rpartition("] : ")[2].partition(" : ")[2][:300] or text[:300]


def _reading(
    session: Any,
    path: Path,
    size: int | Sequence[int] | None,
    mean: Sequence[float] | None,
    std: Sequence[float] | None,
    layout: str | None,
    output: str | None,
    tokens: str,
) -> Reading:
    """Fill in missing options from the model file. Raise ValueError if an option contradicts the file."""
    inputs = session.get_inputs()
    require(len(inputs) == 1, f"{path} must have one input, a picture, got {[one.name for one in inputs]}")
    (entry,) = inputs
    shape = list(entry.shape)
    require(
        entry.type in (UINT8, FLOAT) and len(shape) == 4,
        f"the input of {path} must be pictures, uint8 or float with four axes, got {entry.type} {shape}",
    )
    require_options(size, mean, std, layout, tokens)
    if layout is None:
        fitting = [name for name in LAYOUTS if shape[name.index("C")] == 3]
        require(
            len(fitting) == 1,
            f"layout must be given (NHWC or NCHW), as the shape of the input of {path}, {shape}, does not tell it",
        )
        (layout,) = fitting
    n, height, width, colours = (shape[layout.index(axis)] for axis in "NHWC")
    require(
        not isinstance(n, int) or n == 1, f"{path} must take one picture at a time, or any number, got batches of {n}"
    )
    require(
        colours == 3 or not isinstance(colours, int),
        f"{path} must take pictures of three colours, got {colours} with layout {layout}",
    )
    sides = _sides(size)
    for side, fixed in zip(sides, (height, width), strict=True):
        fits = side is None or not isinstance(fixed, int) or side == fixed
        require(fits, f"size must be {height} x {width} pixels as {path} has it, got {size}")
    height, width = (
        side or (fixed if isinstance(fixed, int) and fixed > 0 else USUAL_SIDE_PIXELS)
        for side, fixed in zip(sides, (height, width), strict=True)
    )
    require(
        max(height, width) <= MOST_SIDE_PIXELS,
        f"size must be at most {MOST_SIDE_PIXELS} pixels, got {height} x {width} for {path}",
    )
    if entry.type == UINT8:
        require(mean is None and std is None, f"mean and std must be None, as {path} takes uint8 colours as they are")
        colours_mean = colours_std = None
    else:
        colours_mean, colours_std = _three(mean, "mean", USUAL_MEAN), _three(std, "std", USUAL_STD)
    return Reading(entry.name, _output(session, path, output), height, width, layout, colours_mean, colours_std, tokens)


def require_options(
    size: int | Sequence[int] | None,
    mean: Sequence[float] | None,
    std: Sequence[float] | None,
    layout: str | None,
    tokens: str,
) -> None:
    """Raise ValueError if an option is invalid, whatever the file.

    Parameters
    ----------
    size, mean, std, layout, tokens : as in `Network`
        Options of the network.
    """
    _sides(size)
    _three(mean, "mean", USUAL_MEAN)
    require(min(_three(std, "std", USUAL_STD)) > 0, f"std must be above 0, got {std}")
    require(layout in (None, *LAYOUTS), f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
    require(tokens in TOKENS, f"tokens must be one of {', '.join(TOKENS)}, got {tokens!r}")


def _output(session: Any, path: Path, name: str | None) -> str:
    """Return the name of the output that holds the features."""
    axes = {one.name: len(one.shape) for one in session.get_outputs()}
    if name is not None:
        require(name in axes, f"output must be one of {', '.join(axes)}, the outputs of {path}, got {name!r}")
        return name
    most = [one for one, n in axes.items() if n == max(axes.values())]
    require(len(most) == 1, f"output must be given, as {path} has several: {', '.join(most)}")
    return most[0]


def _sides(size: int | Sequence[int] | None) -> tuple[int | None, int | None]:
    if size is None:
        return None, None
    sides = (size, size) if isinstance(size, int) else tuple(size)
    require(
        len(sides) == 2 and all(isinstance(side, int) and side >= 1 for side in sides),
        f"size must be a number of pixels, or (height, width), got {size!r}",
    )
    return sides[0], sides[1]


def _three(values: Sequence[float] | None, name: str, usual: tuple[float, ...]) -> tuple[float, ...]:
    if values is None:
        return usual
    three = np.asarray(values, dtype=float)
    require(three.shape == (3,) and np.isfinite(three).all(), f"{name} must be three numbers, got {values!r}")
    return tuple(three.tolist())


def _try(path: str, options: dict[str, Any]) -> str:
    """Describe a blank picture with limited memory, and return "done" or an error message."""
    if sys.platform == "linux":  # other systems do not enforce this limit
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = MOST_MEMORY_BYTES if most == resource.RLIM_INFINITY else min(MOST_MEMORY_BYTES, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    try:
        network = Network(path, **options)
        network.places(np.zeros((network.reading.height, network.reading.width, 3), np.uint8))
    except (ValueError, ImportError) as error:
        return " ".join(str(error).split())
    return "done"


if __name__ == "__main__":
    print(_try(*json.loads(sys.argv[1])), flush=True)

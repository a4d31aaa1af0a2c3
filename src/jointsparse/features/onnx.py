"""Features of pictures from a pretrained network in an ONNX file, or from the built-in network.

An ONNX file may come from anyone, so `open_network` first runs it in a process of its own, whose time and memory are
limited. Later pictures have the same limits. ONNX Runtime computes the features of a picture in one thread, so that the
same picture always gives the same bytes on one type of processor. On another type of processor the last digits may
differ.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import lru_cache
from math import isqrt, prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jointsparse.checks import require, require_extra
from jointsparse.features import efficientnet, network_files

MOST_MEMORY_BYTES, MOST_SECONDS = 2**32, 60  # limits for describing a picture
MOST_FEATURES = 2**20
USUAL_SIDE_PIXELS = 224  # size of pictures for models whose input has no fixed size
MOST_SIDE_PIXELS = 4096
# Mean and standard deviation of ImageNet's colours, in [0, 1], by which the inputs of most networks are normalised.
USUAL_MEAN, USUAL_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CHANNELS = ("RGB", "BGR")
LAYOUTS = ("NHWC", "NCHW")
TOKENS = ("mean", "first")
TYPES = {
    "tensor(uint8)": np.uint8,
    "tensor(float16)": np.float16,
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
}


class Options(NamedTuple):
    """Options that say how a network reads a picture and which of its outputs holds the features; see `Embedding`."""

    size: int | Sequence[int] | None = None
    mean: Sequence[float] | None = None
    std: Sequence[float] | None = None
    scale: float | None = None
    channels: str | None = None
    layout: str | None = None
    output: str | None = None
    output_layout: str | None = None
    tokens: str | int = "mean"


class Reading(NamedTuple):
    """The options of a network, in which every None is replaced by what its files state or by a default.

    Attributes
    ----------
    input, output : str
        Names of the network's input and output in the file.
    dtype : dtype
        Type of the input.
    height, width : int, pixels
        Size to which each picture is resized.
    channels : {"RGB", "BGR"}
        Order of the colours.
    layout : {"NHWC", "NCHW"}
        Order of the input's axes: pictures (N), height (H), width (W) and colours (C).
    scale : float
        The colours are in [0, scale].
    mean, std : tuple of 3 floats, or None
        The input is (colour - mean) / std. None if the input is uint8, which takes the colours unchanged.
    output_layout : {"NHWC", "NCHW"} or None
        Order of the axes of an output with four axes. None if its shape tells.
    tokens : {"mean", "first"} or int
        If the output has tokens: whether the features are the mean over the tokens that form a grid, the first token,
        or the mean over all tokens after this number of tokens.
    prepared : bool
        Whether the file `network_files.PREPROCESSOR` is used.
    """

    input: str
    output: str
    dtype: Any
    height: int
    width: int
    channels: str
    layout: str
    scale: float
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None
    output_layout: str | None
    tokens: str | int
    prepared: bool


class Places(NamedTuple):
    """The features of a picture.

    Attributes
    ----------
    features : array (n_places, n_features), float32
        Features of the places, row by row from the top left. Their mean is the feature vector of the picture.
    grid : (int, int)
        Numbers of rows and columns of places; (1, 1) if the network has no places.
    n_tokens, n_left_out : int
        The number of tokens of the output, 0 if it has none, and how many of the first ones are not used.
    """

    features: np.ndarray
    grid: tuple[int, int]
    n_tokens: int = 0
    n_left_out: int = 0


def smallest_side(**options: object) -> int:
    """Return 1, because every picture is resized, whatever its size. options: the options of `Network`, ignored."""
    return 1


class Network:
    """A network that is opened in ONNX Runtime and can compute features.

    Parameters
    ----------
    path : path
        The ONNX file.
    options : Options
        Options of the network.

    Attributes
    ----------
    reading : Reading
        How the network reads a picture.
    blank : Places
        The features of a black picture. All pictures have as many features.

    Raises
    ------
    ValueError
        If the file does not hold a network that takes pictures, if an option does not fit the network, or if the
        network fails on a black picture.
    """

    def __init__(self, path: str | Path, options: Options) -> None:
        self.path = Path(path)
        require_options(options)
        self._session = _session(self.path)
        entry = _picture_of(self._session, self.path)
        if others := [other.name for other in self._session.get_inputs() if other.name != entry.name]:
            content, outputs = network_files.branch(self.path, entry.name)
            alone = f"an output that depends on the input {entry.name} alone"
            require(outputs, f"{path} must have {alone}, got outputs that depend on {', '.join(others)} as well")
            self._session = _session(self.path, content)
        self.reading = _reading(entry, self.path, options, _output(self._session, self.path, options.output))
        self.blank = self._describe(np.zeros((self.reading.height, self.reading.width, 3), np.uint8))

    def places(self, picture: np.ndarray) -> Places:
        """Return the features of each place of a picture.

        Parameters
        ----------
        picture : array (height, width, 3), uint8
            The colours of a picture of the size that `reading` states.

        Returns
        -------
        places : Places

        Raises
        ------
        ValueError
            If the network fails on the picture or takes too much time or memory, or if its output is not finite or has
            a wrong type or shape.
        """
        places = self._describe(picture)
        expected, n_features = self.blank.features.shape[1], places.features.shape[1]
        require(
            n_features == expected,
            f"{self.path} must give the same number of features for all pictures, got {n_features:,} for one picture "
            f"and {expected:,} for a black one",
        )
        return places

    def _describe(self, picture: np.ndarray) -> Places:
        result = self._run(_prepared(picture, self.reading)[np.newaxis])
        with np.errstate(over="ignore"):  # a number that becomes infinite is refused below
            places = _by_place(result, self.reading)
        n_features = places.features.shape[1]
        require(
            n_features <= MOST_FEATURES, f"{self.path} must give at most {MOST_FEATURES:,} features, got {n_features:,}"
        )
        require(np.isfinite(places.features).all(), f"{self.path} must give finite features, got NaN or infinity")
        return places

    def _run(self, values: np.ndarray) -> np.ndarray:
        """Return the output for the input. Raise ValueError if this takes too much time or memory."""
        from onnxruntime import RunOptions

        options = RunOptions()
        timer = threading.Timer(MOST_SECONDS, setattr, (options, "terminate", True))
        timer.daemon = True
        timer.start()
        try:
            (result,) = self._session.run([self.reading.output], {self.reading.input: values}, options)
        except Exception as error:  # ONNX Runtime raises many types of errors
            if options.terminate:
                why = f"must describe a picture within {MOST_SECONDS} s, got no features by then"
            elif any(text in str(error) for text in OUT_OF_MEMORY):
                why = f"must describe a picture with at most {MOST_MEMORY_BYTES >> 30} GiB of memory, and needs more"
            else:
                why = f"fails on a picture: {_sentence(error)}"
            raise ValueError(f"{self.path} {why}") from error
        finally:
            timer.cancel()
        return np.asarray(result)


OUT_OF_MEMORY = ("Available memory of", "Failed to allocate memory", "bad_alloc", "bad allocation")


def _prepared(picture: np.ndarray, reading: Reading) -> np.ndarray:
    """Return the network's input for a picture, without the axis of pictures."""
    values = picture
    if reading.mean is not None:
        single = picture.astype(np.float32) / np.float32(255) * np.float32(reading.scale)
        values = (single - np.asarray(reading.mean, np.float32)) / np.asarray(reading.std, np.float32)
    values = values if reading.channels == "RGB" else values[..., ::-1]
    values = values if reading.layout == "NHWC" else values.transpose(2, 0, 1)
    with np.errstate(over="ignore"):  # the network's output is then not finite, and refused
        return np.ascontiguousarray(values, reading.dtype)


def _by_place(result: np.ndarray, reading: Reading) -> Places:
    """Return the features of each place from the output for one picture."""
    shape = result.shape
    sound = result.dtype.kind == "f" and result.ndim in (2, 3, 4) and shape[0] == 1 and result.size > 0
    require(
        sound,
        f"output {reading.output!r} must be floating-point of shape (1, d), (1, d, height, width) or (1, tokens, d), "
        f"got {result.dtype} {shape}",
    )
    result = result.astype(np.float32, copy=False)
    if result.ndim == 2:
        return Places(result, (1, 1))
    if result.ndim == 4:
        last = _output_layout(shape, reading) == "NHWC"
        rows, columns = shape[1:3] if last else shape[2:]
        return Places((result if last else result.transpose(0, 2, 3, 1)).reshape(rows * columns, -1), (rows, columns))
    n = shape[1]
    if reading.tokens == "first":
        return Places(result[0, :1], (1, 1), n)
    # Choice: tokens before the largest grid are not places. Vision transformers put a class token and registers there.
    skipped = n - prod(_largest_grid(n, reading)) if reading.tokens == "mean" else int(reading.tokens)
    require(skipped < n, f"tokens must be below {n}, the number of tokens of output {reading.output!r}, got {skipped}")
    tokens = result[0, skipped:]
    grid = _largest_grid(len(tokens), reading)
    if prod(grid) < len(tokens):
        tokens, grid = tokens.mean(axis=0, keepdims=True, dtype=np.float64).astype(np.float32), (1, 1)
    return Places(tokens, grid, n, skipped)


def _largest_grid(n: int, reading: Reading) -> tuple[int, int]:
    """Return the numbers of rows and columns of the largest grid of at most n places with the picture's aspect ratio.

    The ratio may differ by less than one column. If the picture is a square, the grid is the largest square.
    """
    height, width = reading.height, reading.width
    grids = [(1, 1)]
    for rows in range(1, isqrt(n * height // width) + 2):
        grids += [(rows, columns) for columns in (rows * width // height, -(-rows * width // height)) if columns]
    return max((grid for grid in grids if prod(grid) <= n), key=prod)


def _output_layout(shape: Sequence[int], reading: Reading) -> str:
    """Return the order of the axes of an output of this shape. Raise ValueError if neither it nor an option tells it.

    The grid of places must have the aspect ratio of the picture, up to less than one row or column.
    """
    if reading.output_layout is not None:
        return reading.output_layout

    def fits(rows: int, columns: int) -> bool:
        difference = abs(rows * reading.width - columns * reading.height)
        return (rows, columns) == (1, 1) or difference < max(reading.width, reading.height)

    layouts = [layout for layout in LAYOUTS if fits(*(shape[layout.index(axis)] for axis in "HW"))]
    require(
        len(layouts) == 1,
        f"output_layout must be given (NHWC or NCHW), as the shape {shape} of output {reading.output!r} does not tell "
        "which axis holds the features",
    )
    return layouts[0]


@lru_cache(maxsize=4)
def open_network(path: Path, digest: str, options: Options) -> Network:
    """Open a network. Unless it is built in, a separate process first tries it on a black picture and on noise.

    Parameters
    ----------
    path : Path
        The ONNX file, or the name of the built-in network.
    digest : str
        Digest of the network. It is part of the cache's key, so that a changed file is opened again.
    options : Options
        Options of the network, with hashable values.

    Raises
    ------
    ValueError
        If `Network` raises it, if the trial takes more than MOST_SECONDS or MOST_MEMORY_BYTES, or if the same picture
        has other features the second time.
    """
    if not network_files.is_built_in(path):
        _try_apart(path, options)
    return Network(path, options)


def _try_apart(path: Path, options: Options) -> None:
    command = [sys.executable, "-m", __name__, json.dumps([str(path.absolute()), options._asdict()])]
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


@lru_cache(maxsize=1)
def _limit_memory() -> None:
    """Limit the memory of all networks in this process, which ONNX Runtime then takes from one allocator."""
    import onnxruntime

    memory = onnxruntime.OrtMemoryInfo(
        "Cpu", onnxruntime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, onnxruntime.OrtMemType.DEFAULT
    )
    limits = {"max_mem": MOST_MEMORY_BYTES, "arena_extend_strategy": 1}  # 1: grow by no more than is asked for
    limits |= dict.fromkeys(("initial_chunk_size_bytes", "max_dead_bytes_per_chunk"), -1)  # defaults
    onnxruntime.create_and_register_allocator(memory, onnxruntime.OrtArenaCfg(limits))


def _session(path: Path, content: bytes | None = None) -> Any:
    """Open a network in ONNX Runtime. Raise ValueError if ONNX Runtime cannot open it.

    content: a part of the network in the file, which is opened instead.
    """
    require_extra("Embedding", "onnxruntime")
    import onnxruntime

    network_files.files_of(path)  # checks sizes, and places of other files
    if network_files.is_built_in(path):
        content = efficientnet.model()
    _limit_memory()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # no logging of errors, because they are also raised
    options.add_session_config_entry("session.use_env_allocators", "1")
    options.add_session_config_entry("session.load_model_format", "ONNX")
    if content is not None:
        folder = str(path.parent.absolute())
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
    try:
        return onnxruntime.InferenceSession(content or str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ValueError(f"{path} does not open as an ONNX model: {_sentence(error)}") from error


def _sentence(error: Exception) -> str:
    """Return the message of an error from ONNX Runtime on one line, without the error code."""
    text = " ".join(str(error).split())
    return text.rpartition("] : ")[2].partition(" : ")[2][:300] or text[:300]


def _picture_of(session: Any, path: Path) -> Any:
    """Return the input that holds pictures."""
    inputs = session.get_inputs()
    pictures = [one for one in inputs if one.type in TYPES and len(one.shape) == 4]
    got = ", ".join(f"{one.name}: {one.type} {one.shape}" for one in inputs) or "no input"
    expected = "one input of pictures, uint8 or floating-point with four axes"
    require(len(pictures) == 1, f"{path} must have {expected}, got {got[:500]}")
    return pictures[0]


def _reading(entry: Any, path: Path, options: Options, output: str) -> Reading:
    """Fill in missing options from the files. Raise ValueError if an option contradicts them.

    entry: the network's input.
    """
    shape, dtype, content = list(entry.shape), np.dtype(TYPES[entry.type]), network_files.preprocessor(path)
    stated, layout = _stated(content, path), options.layout
    if layout is None:
        fitting = [name for name in LAYOUTS if shape[name.index("C")] == 3]
        require(
            len(fitting) == 1,
            f"layout must be given (NHWC or NCHW), as the shape of the input of {path}, {shape}, does not tell it",
        )
        (layout,) = fitting
    n, *sides, colours = (shape[layout.index(axis)] for axis in "NHWC")
    require(
        not isinstance(n, int) or n == 1, f"{path} must take one picture at a time, or any number, got batches of {n}"
    )
    require(
        colours == 3 or not isinstance(colours, int),
        f"{path} must take pictures of three colours, got {colours} with layout {layout}",
    )
    height, width = _size(sides, path, options, stated)
    scale, mean, std = _normalisation(dtype, path, options, stated)
    channels = options.channels or stated.channels or "RGB"
    read = entry.name, output, dtype, height, width, channels, layout, scale, mean, std
    return Reading(*read, options.output_layout, options.tokens, prepared=bool(content))


def _size(sides: Sequence[Any], path: Path, options: Options, stated: Options) -> tuple[int, int]:
    """Return the height and width of the input in pixels.

    sides: the height and width that the file states, or anything but numbers. stated: the options from `_stated`.
    """
    given = _sides(options.size)
    for side, fixed in zip(given, sides, strict=True):
        fits = side is None or not isinstance(fixed, int) or side == fixed
        require(fits, f"size must be {sides[0]} x {sides[1]} pixels as {path} has it, got {options.size}")
    height, width = (
        side or (fixed if isinstance(fixed, int) and fixed > 0 else usual or USUAL_SIDE_PIXELS)
        for side, fixed, usual in zip(given, sides, _sides(stated.size), strict=True)
    )
    require(
        max(height, width) <= MOST_SIDE_PIXELS,
        f"size must be at most {MOST_SIDE_PIXELS} pixels, got {height} x {width} for {path}",
    )
    return height, width


def _normalisation(
    dtype: Any, path: Path, options: Options, stated: Options
) -> tuple[float, tuple[float, ...] | None, tuple[float, ...] | None]:
    """Return `scale`, `mean` and `std`, see `Reading`. stated: the options from `_stated`."""
    mean, std, scale = given = options.mean, options.std, options.scale
    if dtype == np.uint8:
        unset = given == (None, None, None)
        require(unset, f"mean, std and scale must be None, as {path} takes uint8 colours as they are")
        return 1.0, None, None
    if given == (None, None, None):
        mean, std, scale = stated.mean, stated.std, stated.scale
    usual_mean, usual_std = (USUAL_MEAN, USUAL_STD) if scale in (None, 1) else ((0.0,) * 3, (1.0,) * 3)
    return 1.0 if scale is None else float(scale), _three(mean, "mean", usual_mean), _three(std, "std", usual_std)


def _stated(content: dict[str, Any], path: Path) -> Options:
    """Return the options that correspond to the content of the file `network_files.PREPROCESSOR`."""
    file = path.parent / network_files.PREPROCESSOR
    cropped = content.get("crop_size") if content.get("do_center_crop", True) else None
    size = cropped or content.get("size")
    if isinstance(size, dict):
        size = [size["height"], size["width"]] if {"height", "width"} <= {*size} else size.get("shortest_edge")
    mean, std, scale = content.get("image_mean"), content.get("image_std"), content.get("rescale_factor")
    try:
        if content.get("do_normalize") is False:
            mean, std = (0.0,) * 3, (1.0,) * 3
        scale = 255.0 if content.get("do_rescale") is False else None if scale is None else round(255 * scale, 9)
        channels = "BGR" if content.get("do_flip_channel_order") is True else None
        options = Options(size=size, mean=mean, std=std, scale=scale, channels=channels)
        require(not content.get("rescale_offset"), "rescale_offset must be false: give mean, std and scale as options")
        require_options(options)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file} does not say how pictures are prepared: {error}") from None
    return options


def require_options(options: Options) -> None:
    """Raise ValueError if an option is invalid, whatever the file."""
    scale, tokens = options.scale, options.tokens
    _sides(options.size)
    _three(options.mean, "mean", USUAL_MEAN)
    require(min(_three(options.std, "std", USUAL_STD)) > 0, f"std must be above 0, got {options.std}")
    number = isinstance(scale, int | float) and not isinstance(scale, bool) and 0 < scale < np.inf
    require(scale is None or number, f"scale must be a number above 0, the value of white, got {scale!r}")
    for name, known in (("channels", CHANNELS), ("layout", LAYOUTS), ("output_layout", LAYOUTS)):
        value = getattr(options, name)
        require(value in (None, *known), f"{name} must be one of {', '.join(known)}, got {value!r}")
    count = isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0
    expected = f"one of {', '.join(TOKENS)}, or the number of tokens to leave out"
    require(count or tokens in TOKENS, f"tokens must be {expected}, got {tokens!r}")


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
    """Describe a black picture and noise with limited memory, and return "done" or an error message."""
    if sys.platform == "linux":  # other systems do not enforce this limit
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = MOST_MEMORY_BYTES if most == resource.RLIM_INFINITY else min(MOST_MEMORY_BYTES, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    try:
        network = Network(path, Options(**options))
        size = network.reading.height, network.reading.width, 3
        noise = np.random.default_rng(0).integers(0, 256, size, dtype=np.uint8)
        first, second = (network.places(noise).features for _ in range(2))
        same = np.array_equal(first, second)
        require(same, f"{path} must give the same features for the same picture, got others the second time")
    except (ValueError, ImportError) as error:
        return " ".join(str(error).split())
    return "done"


if __name__ == "__main__":
    print(_try(*json.loads(sys.argv[1])), flush=True)

"""Models on disk, and files that are written whole or not at all.

The file of a model is read without running anything that it holds, unlike a pickle. It is a ZIP archive of what skops
writes, with one more entry: who wrote it, and a digest of each other entry. The same model makes the same bytes.

`load` looks at all of it at the door: `archive` at sizes and types, and then each class at what its objects hold.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import io
import json
import os
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import numpy as np
import scipy  # which loads scipy.sparse when it is used

from jointsparse.checks import require, require_extra, shortened, version, warn_user

FORMAT = 1  # of the file; a larger one is refused
ORIGIN, TREE = "jointsparse.json", "schema.json"
# Addresses in memory, which skops writes into its tree, and names of other entries, which it makes of them.
ADDRESSES, NAMES = re.compile(rb',\s*"__id__": \d+'), re.compile(rb'(?<="file": ")[^"]+')
WATCHED = ("jointsparse", "scikit-learn")  # whose other versions are warned of
VERSION = re.compile(r"[\w.+!-]{1,50}", re.ASCII)
ALLOWED = "estimators of jointsparse, and transformers and Pipelines of scikit-learn"
CHECK_TOL = 1e-5  # of the scores in `check_`, relative to the largest
# Types of ours that a file may hold, besides those of NumPy and SciPy that skops trusts by itself, and of `ROOMS`.
TRUSTED = (
    "jointsparse.estimators.classifier.JointSparseClassifier",
    "jointsparse.estimators.online.OnlineJointSparseClassifier",
    "jointsparse.estimators.regressor.JointSparseRegressor",
    "jointsparse.estimators.search.JointSparseClassifierCV",
    "jointsparse.estimators.search.JointSparseRegressorCV",
    "jointsparse.features.basis.Basis",
    "jointsparse.features.transformers.Daisy",
    "jointsparse.features.transformers.DenseSift",
    "jointsparse.features.transformers.SVDBasis",
    "jointsparse.features.transformers.VocabularyTree",
    "jointsparse.features.vocabulary_tree.Tree",
    "jointsparse.learning.lazy.Eager",
    "jointsparse.learning.lazy.Lazy",
    "jointsparse.learning.fit.Fit",
    "jointsparse.learning.problem.Fit",  # its path up to version 1.0.0rc1
    "jointsparse.learning.solvers.working_set.Round",
    "jointsparse.norms.l1inf.Warm",
    "scipy.sparse._csr.csr_matrix",
)


@contextmanager
def written(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside `path`, which becomes `path` when the block ends without an error.

    It has the same suffix. Its content is on disk before it is renamed, so that not even a power cut leaves a part.
    """
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    _clear_leftovers(final)
    temporary = final.with_name(f".{final.stem}.{os.getpid()}.part{final.suffix}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, final)
    except OSError as error:
        if error.errno is None:  # of a full disk NumPy says "80000 requested and 872 written"
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(final)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _clear_leftovers(final: Path) -> None:
    """Delete temporary files of processes that were killed while they wrote this file."""
    leftovers = list(final.parent.glob(f"{glob.escape(f'.{final.stem}.')}*{glob.escape(f'.part{final.suffix}')}"))
    if not leftovers:
        return
    require_extra(__name__, "psutil")
    import psutil

    for leftover in leftovers:
        process = leftover.name.removeprefix(f".{final.stem}.").removesuffix(f".part{final.suffix}")
        if process.isdecimal() and not psutil.pid_exists(int(process)):
            leftover.unlink(missing_ok=True)


def save(model: Any, path: Any) -> None:
    """Write a fitted estimator, transformer, or Pipeline of these into a file that `load` reads.

    Parameters
    ----------
    model : estimator
        Of jointsparse, or a Pipeline of scikit-learn.
    path : path
        The file. It is whole or absent, whatever happens meanwhile.

    Raises
    ------
    ValueError
        If the model is not fitted, or holds what no such file can, as a function. Or if it is larger than files that
        `load` takes.

    Examples
    --------
    >>> import tempfile
    >>> from jointsparse import JointSparseClassifier, load, save
    >>> model = JointSparseClassifier(radius=1.0).fit([[1.0], [-1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.skops")
    ...     load(f"{folder}/model.skops").predict([[2.0]])
    array(['no'], dtype='<U3')
    """
    require_extra("jointsparse.save", "skops")
    from sklearn.utils.validation import check_is_fitted  # here, as jobs that write tables have no use for it

    try:
        check_is_fitted(model)
    except (TypeError, ValueError) as error:
        raise ValueError(f"model must be a fitted estimator, got {shortened(model)}: {error}") from None
    if fault := _fault(model):
        names = [name for name, value in model.get_params().items() if _fault(value)]
        place = f" in {max(names, key=len)}" if names else ""  # the longest is the innermost
        raise ValueError(
            f"model must hold numbers, text and {ALLOWED} alone to be saved, got {fault}{place}: set such a parameter "
            "to None, or to a number"
        )
    entries = _dumped(model)
    origin = {"format": FORMAT, "versions": _versions(), "digests": _digests(entries)}
    content = _packed(entries | {ORIGIN: json.dumps(origin).encode()})
    try:
        _door()[1].require_model(_read(io.BytesIO(content)))
    except ValueError as error:
        raise ValueError(f"model must hold what load takes to be saved: {_said(error)}") from None
    with written(path) as temporary:
        temporary.write_bytes(content)


def load(path: Any) -> Any:
    """Read a model that `save` wrote.

    Nothing that the file holds is run, and no class but those of jointsparse, NumPy, SciPy and scikit-learn is made.
    What it holds is compared with what `save` writes: types, sizes and ranges of numbers, in less than 1 GB of memory.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    model : estimator

    Raises
    ------
    ValueError
        If the file is not there, damaged, newer than this version can read, or holds a foreign type. A kept model must
        also give the decisions that it gave when it was written, from the features of a few images.

    Warns
    -----
    UserWarning
        If other versions of jointsparse or scikit-learn wrote it.
    """
    require_extra("jointsparse.load", "skops")
    path = Path(path)
    require(path.is_file(), f"{path} must be a file that jointsparse.save wrote, got none")
    archive, schema = _door()
    size = path.stat().st_size
    require(size <= archive.MOST_BYTES, f"{path} must hold at most {archive.MOST_BYTES:,} bytes, got {size:,}")
    with path.open("rb") as file, warnings.catch_warnings(action="ignore"):  # of each part; one sentence says it below
        try:
            newer, versions = _origin(file)
            model = None if newer else _read(file)
            if not newer:
                schema.require_model(model)
            apart = _apart(model)
        except archive.Foreign as foreign:
            raise ValueError(f"{path} must hold {ALLOWED} alone, got {foreign}") from None
        except Exception as error:  # zipfile, zlib, NumPy and skops raise many kinds on damage
            raise ValueError(f"{path} is damaged, or no model of jointsparse: {_said(error)}") from None
    require(
        not newer,
        f"{path} was written in a newer format, by jointsparse {versions['jointsparse']}: upgrade jointsparse",
    )
    here = _versions()
    if other := [f"{name} {versions[name]} (here {here[name]})" for name in WATCHED if versions[name] != here[name]]:
        warn_user(f"{path} was written with {' and '.join(other)}: predictions may differ")
    require(
        apart <= CHECK_TOL,
        f"{path} must give the scores that it gave when it was written, got others by {apart:.2g} (relative): "
        f"another version of scipy ({scipy.__version__} here) or scikit-learn may be the reason",
    )
    return model


def _said(error: Exception) -> str:
    """What an error says, in one line, behind its kind unless it is a ValueError, or one of this package."""
    ours = type(error) is ValueError or type(error).__module__.startswith("jointsparse")
    return " ".join(f"{'' if ours else f'{type(error).__name__}: '}{error}".split())[:400]


def _skops() -> ModuleType:
    """Return the module that reads and writes models, imported where it is used: it takes a second."""
    from skops import io as skops_io

    return skops_io


def _door() -> tuple[ModuleType, ModuleType]:
    """Return the modules that look at a file before it is a model. Jobs that write tables do not depend on them."""
    return import_module("jointsparse.schema.archive"), import_module("jointsparse.schema.models")


def _versions() -> dict[str, str]:
    import sklearn

    return {"jointsparse": version(), "scikit-learn": sklearn.__version__, "numpy": np.__version__}


def _digests(entries: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(entry).hexdigest() for name, entry in entries.items()}


def _packed(entries: dict[str, bytes]) -> bytes:
    """An archive of entries, without dates, so that the same entries make the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, entry in entries.items():
            archive.writestr(zipfile.ZipInfo(name), entry)
    return buffer.getvalue()


def _dumped(value: Any) -> dict[str, bytes]:
    """The entries that skops writes for a value, without addresses and named by their digests."""
    with zipfile.ZipFile(io.BytesIO(_skops().dumps(value))) as made:
        entries = {name: made.read(name) for name in made.namelist()}
    tree, digests = ADDRESSES.sub(b"", entries.pop(TREE)), _digests(entries)
    tree = NAMES.sub(lambda name: digests[name[0].decode()].encode(), tree)
    return {TREE: tree} | {digests[name]: entry for name, entry in entries.items()}


def _fault(value: Any) -> str:
    """The reason why a value cannot be saved, or "". Raises ValueError if it is larger than what `load` takes."""
    archive, _ = _door()
    try:
        entries = _dumped(value)
        same = _dumped(_read(io.BytesIO(_packed(entries)))) == entries
        return "" if same else "what would come back changed"
    except archive.TooLarge as error:
        raise ValueError(f"model must be as small as load takes to be saved: {error}") from None
    except Exception as error:  # of skops, for what it cannot write
        return str(error) if isinstance(error, archive.Foreign) else _said(error)


def _read(file: IO[bytes]) -> Any:
    """What an archive holds, after a look at its sizes and types."""
    archive, schema = _door()
    with archive.opened(file) as entries:
        archive.require_sound(entries, frozenset(TRUSTED), schema.ROOMS)
    return _skops().load(file, trusted=list(TRUSTED))


def _origin(file: IO[bytes]) -> tuple[bool, dict[str, str]]:
    """Find out if a file is newer than this code, and who wrote it. Raises an error if its entries are others."""
    with _door()[0].opened(file) as entries:
        origin = json.loads(entries.read(ORIGIN))
        require(type(origin["format"]) is int, "its format must be a whole number, got another")
        newer, versions = origin["format"] > FORMAT, {name: origin["versions"][name] for name in _versions()}
        require(all(map(VERSION.fullmatch, versions.values())), "its versions must be numbers, got others")
        names = [name for name in entries.namelist() if name != ORIGIN]
        digests = {name: hashlib.sha256(entries.read(name)).hexdigest() for name in names if not newer}
    require(newer or origin["digests"] == digests, "its entries are not those that were written")
    return newer, versions


def _apart(model: Any) -> float:
    """How far the scores of a few images in `check_` are from those that a model was written with (relative)."""
    check: Any = getattr(model, "check_", None)
    if check is None:
        return 0.0
    with np.errstate(all="ignore"):  # what is not finite is not the same
        scores = np.asarray(model[check["first_step"] :].decision_function(check["X"]))
        require(scores.shape == check["scores"].shape, f"check_.scores must have the shape {scores.shape}")
        return float(np.abs(scores - check["scores"]).max() / np.abs(check["scores"]).max(initial=1e-300))

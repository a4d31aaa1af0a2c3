"""Models on disk, and files that are written whole or not at all.

The file of a model is read without running anything that it holds, unlike a pickle. It is a ZIP archive of what skops
writes, with one more entry: who wrote it, and a digest of each other entry. The same model makes the same bytes.
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
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import scipy  # which loads scipy.sparse when it is used

from jointsparse.checks import require, require_extra, require_sound, shortened, version, warn_user

FORMAT = 1  # of the file; a larger one is refused
ORIGIN, SCHEMA = "jointsparse.json", "schema.json"
# Addresses in memory, which skops writes into its schema, and names of other entries, which it makes of them.
ADDRESSES, NAMES = re.compile(rb',\s*"__id__": \d+'), re.compile(rb'(?<="file": ")[^"]+')
MOST_BYTES, MOST_ENTRIES = 2**31, 10_000  # of a file, and of what it unpacks to
WATCHED = ("jointsparse", "scikit-learn")  # whose other versions are warned of
CHECK_TOL = 1e-5  # of the scores in `check_`, relative to the largest
# Types of ours that a file may hold, besides those of NumPy, SciPy and scikit-learn that skops trusts by itself.
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
    "scipy.sparse._csr.csr_matrix",
)
WARM_START = re.compile(r"jointsparse\.norms\.\w+\.Warm")  # that of a norm, which may bring one


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
        If the model is not fitted, or holds what no such file can, as a function.

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
            "model must hold numbers, text and estimators of jointsparse and scikit-learn alone to be saved, got "
            f"{fault}{place}: set such a parameter to None, or to a number"
        )
    entries = _dumped(model)
    origin = {"format": FORMAT, "versions": _versions(), "digests": _digests(entries)}
    with written(path) as temporary:
        temporary.write_bytes(_packed(entries | {ORIGIN: json.dumps(origin).encode()}))


def load(path: Any) -> Any:
    """Read a model that `save` wrote.

    Nothing that the file holds is run, and no class but those of jointsparse, NumPy, SciPy and scikit-learn is made.

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
    file = Path(path)
    require(file.is_file(), f"{file} must be a file that jointsparse.save wrote, got none")
    size = file.stat().st_size
    require(size <= MOST_BYTES, f"{file} must hold at most {MOST_BYTES:,} bytes, got {size:,}")
    content = file.read_bytes()
    try:
        newer, versions = _origin(content)
    except Exception as error:  # zipfile and zlib raise many kinds on damage
        raise ValueError(f"{file} is damaged, or no model of jointsparse: {_said(error)}") from None
    require(
        not newer,
        f"{file} was written in a newer format, by jointsparse {versions['jointsparse']}: upgrade jointsparse",
    )
    with warnings.catch_warnings(action="ignore"):  # of each part of the model; one sentence says it below
        try:
            foreign = _foreign(content)
            model, apart = (None, 0.0) if foreign else _built(content)
        except Exception as error:
            raise ValueError(f"{file} is damaged, or of a newer skops: {_said(error)}") from None
    require(not foreign, f"{file} must hold estimators of jointsparse and scikit-learn alone, got {foreign}")
    here = _versions()
    if other := [f"{name} {versions[name]} (here {here[name]})" for name in WATCHED if versions[name] != here[name]]:
        warn_user(f"{file} was written with {' and '.join(other)}: predictions may differ")
    require(
        apart <= CHECK_TOL,
        f"{file} must give the scores that it gave when it was written, got others by {apart:.2g} (relative): "
        f"another version of scipy ({scipy.__version__} here) or scikit-learn may be the reason",
    )
    return model


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _skops() -> ModuleType:
    """Return the module that reads and writes models, imported where it is used: it takes a second."""
    from skops import io as skops_io

    return skops_io


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
    entries = _entries(_skops().dumps(value))
    schema, digests = ADDRESSES.sub(b"", entries.pop(SCHEMA)), _digests(entries)
    schema = NAMES.sub(lambda name: digests[name[0].decode()].encode(), schema)
    return {SCHEMA: schema} | {digests[name]: entry for name, entry in entries.items()}


def _fault(value: Any) -> str:
    """The reason why a value cannot be saved, or ""."""
    try:
        entries = _dumped(value)
        if foreign := _foreign(_packed(entries)):
            return foreign
        same = _dumped(_read(_packed(entries))) == entries
        return "" if same else "what would come back changed"
    except Exception as error:  # of skops, for what it cannot write
        return _said(error)


def _types(content: bytes) -> list[str]:
    """The types in a file of skops that it does not trust by itself, by name."""
    return sorted(set(_skops().get_untrusted_types(data=content)))


def _is_trusted(name: str) -> bool:
    return name in TRUSTED or bool(WARM_START.fullmatch(name))


def _read(content: bytes) -> Any:
    return _skops().loads(content, trusted=list(filter(_is_trusted, _types(content))))


def _foreign(content: bytes) -> str:
    """The first type in a file of skops that nobody here trusts, or ""."""
    return next((name for name in _types(content) if not _is_trusted(name)), "")


def _entries(content: bytes) -> dict[str, bytes]:
    """The entries of an archive. Raises an error if it is damaged, or would fill the memory."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        found = archive.infolist()
        n_bytes = sum(one.file_size for one in found)
        # An entry that is not compressed takes no more bytes than the file, whatever it says.
        require(
            all(one.compress_type == zipfile.ZIP_STORED for one in found)
            and n_bytes <= len(content)
            and len({one.filename for one in found}) == len(found) <= MOST_ENTRIES,
            f"it must hold at most {MOST_ENTRIES:,} entries of different names, none of them compressed, got "
            f"{n_bytes:,} bytes in {len(found):,}",
        )
        entries = {one.filename: archive.read(one) for one in found}
    for entry in entries.values():
        if entry.startswith(b"PK"):  # a sparse matrix, whose arrays are compressed
            with zipfile.ZipFile(io.BytesIO(entry)) as archive:
                n_bytes += sum(one.file_size for one in archive.infolist())
    require(n_bytes <= MOST_BYTES, f"it must unpack to at most {MOST_BYTES:,} bytes, got {n_bytes:,}")
    return entries


def _origin(content: bytes) -> tuple[bool, dict[str, str]]:
    """Find out if a file is newer than this code, and who wrote it. Raises an error if its entries are others."""
    entries = _entries(content)
    origin = json.loads(entries.pop(ORIGIN))
    newer, versions = origin["format"] > FORMAT, {name: str(origin["versions"][name]) for name in _versions()}
    require(newer or origin["digests"] == _digests(entries), "its entries are not those that were written")
    return newer, versions


def _built(content: bytes) -> tuple[Any, float]:
    """The model in a file, and how far its scores of a few images are from those it was written with (relative)."""
    from sklearn.base import BaseEstimator

    model, apart = _read(content), 0.0
    require(isinstance(model, BaseEstimator), f"it must hold an estimator, got a {type(model).__name__}")
    check: Any = getattr(model, "check_", None)
    if check is not None:
        X = check["X"]
        require(
            scipy.sparse.issparse(X) or X.dtype.kind == "f", "X of check_ must be a matrix of numbers, and no paths"
        )
        require_sound(X)
        scores = np.asarray(model[check["first_step"] :].decision_function(X))
        apart = float(np.abs(scores - check["scores"]).max() / np.abs(check["scores"]).max(initial=1e-300))
    return model, apart

"""Models on disk.

The file of a model is read without running anything that it holds, unlike a pickle. It is a ZIP archive of what skops
writes, with one more entry: who wrote it, and a digest of each other entry. The same model makes the same bytes.

`load` checks all of it: `schema.archive` sizes and types, and then `schema.models` what each object holds.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import warnings
import zipfile
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import numpy as np
import scipy  # which loads scipy.sparse when it is used

from jointsparse.checks import require, require_extra, shortened, version, warn_user
from jointsparse.schema import archive
from jointsparse.schema.models import ROOMS, require_model
from jointsparse.written import written

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


class Newer(ValueError):
    """A file is of a newer format than this version reads. The message is the version that wrote it."""


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
    from sklearn.utils.validation import check_is_fitted  # here, as it takes a second to import

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
        require_model(_read(io.BytesIO(content)))
    except ValueError as error:
        raise ValueError(f"model must hold what load takes to be saved: {_in_a_line(error)}") from None
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
    size = path.stat().st_size
    require(size <= archive.MOST_BYTES, f"{path} must hold at most {archive.MOST_BYTES:,} bytes, got {size:,}")
    with path.open("rb") as file, warnings.catch_warnings(action="ignore"):  # of each part; one sentence says it below
        try:
            versions = _versions_in(file)
            model = _read(file)
            require_model(model)
            apart = _apart(model)
        except Newer as newer:
            raise ValueError(
                f"{path} was written in a newer format, by jointsparse {newer}: upgrade jointsparse"
            ) from None
        except archive.Foreign as foreign:
            raise ValueError(f"{path} must hold {ALLOWED} alone, got {foreign}") from None
        except Exception as error:  # zipfile, zlib, NumPy and skops raise many kinds on damage
            raise ValueError(f"{path} is damaged, or no model of jointsparse: {_in_a_line(error)}") from None
    here = _versions()
    if other := [f"{name} {versions[name]} (here {here[name]})" for name in WATCHED if versions[name] != here[name]]:
        warn_user(f"{path} was written with {' and '.join(other)}: predictions may differ")
    require(
        apart <= CHECK_TOL,
        f"{path} must give the scores that it gave when it was written, got others by {apart:.2g} (relative): "
        f"another version of scipy ({scipy.__version__} here) or scikit-learn may be the reason",
    )
    return model


def _in_a_line(error: Exception) -> str:
    """What an error says, in one line, behind its kind unless it is a ValueError, or one of this package."""
    ours = type(error) is ValueError or type(error).__module__.startswith("jointsparse")
    return " ".join(f"{'' if ours else f'{type(error).__name__}: '}{error}".split())[:400]


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
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, entry in entries.items():
            packed.writestr(zipfile.ZipInfo(name), entry)
    return buffer.getvalue()


def _dumped(value: Any) -> dict[str, bytes]:
    """The entries that skops writes for a value, without addresses and named by their digests."""
    with zipfile.ZipFile(io.BytesIO(_skops().dumps(value))) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    tree, digests = ADDRESSES.sub(b"", entries.pop(TREE)), _digests(entries)
    tree = NAMES.sub(lambda name: digests[name[0].decode()].encode(), tree)
    return {TREE: tree} | {digests[name]: entry for name, entry in entries.items()}


def _fault(value: Any) -> str:
    """The reason why a value cannot be saved, or "". Raises ValueError if it is larger than what `load` takes."""
    try:
        entries = _dumped(value)
        same = _dumped(_read(io.BytesIO(_packed(entries)))) == entries
        return "" if same else "what would come back changed"
    except archive.TooLarge as error:
        raise ValueError(f"model must be as small as load takes to be saved: {error}") from None
    except Exception as error:  # of skops, for what it cannot write
        return str(error) if isinstance(error, archive.Foreign) else _in_a_line(error)


def _read(file: IO[bytes]) -> Any:
    """What an archive holds, after a look at its sizes and types."""
    with archive.opened(file) as entries:
        archive.require_sound(entries, frozenset(TRUSTED), ROOMS)
    return _skops().load(file, trusted=list(TRUSTED))


def _versions_in(file: IO[bytes]) -> dict[str, str]:
    """The versions that wrote a file. Raises `Newer`, or ValueError if its entries are not those that were written."""
    with archive.opened(file) as entries:
        origin = json.loads(entries.read(ORIGIN))
        versions = {name: origin["versions"][name] for name in _versions()}
        require(all(map(VERSION.fullmatch, versions.values())), "its versions must be numbers, got others")
        require(type(origin["format"]) is int, "its format must be a whole number, got another")
        if origin["format"] > FORMAT:
            raise Newer(versions["jointsparse"])
        names = [name for name in entries.namelist() if name != ORIGIN]
        digests = {name: hashlib.sha256(entries.read(name)).hexdigest() for name in names}
    require(origin["digests"] == digests, "its entries are not those that were written")
    return versions


def _apart(model: Any) -> float:
    """How far the scores of a few images in `check_` are from those that a model was written with (relative)."""
    check: Any = getattr(model, "check_", None)
    if check is None:
        return 0.0
    with np.errstate(all="ignore"):  # what is not finite is not the same
        scores = np.asarray(model[check["first_step"] :].decision_function(check["X"]))
        require(scores.shape == check["scores"].shape, f"check_.scores must have the shape {scores.shape}")
        return float(np.abs(scores - check["scores"]).max() / np.abs(check["scores"]).max(initial=1e-300))

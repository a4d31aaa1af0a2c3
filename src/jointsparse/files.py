"""Save fitted models to files, and load them.

Unlike a pickle, a model file is read without running code from it. It is a ZIP archive of the entries that skops
writes and one more entry, which holds the versions that wrote the file and a digest of every other entry. Saving the
same model twice gives the same bytes.

`load` checks the whole file: `schema.archive` checks sizes and types, then `schema.models` checks the content of every
object.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath
from types import ModuleType
from typing import IO, Any

import numpy as np
import scipy  # scipy.sparse is loaded on first use

from jointsparse.checks import require, require_extra, shortened, version, warn_user
from jointsparse.schema import archive
from jointsparse.schema.models import ROOMS, require_model
from jointsparse.written import written

FORMAT = 1  # version of the file format; `load` rejects higher versions
ORIGIN, TREE = "jointsparse.json", "schema.json"
# Memory addresses that skops writes into its tree, and names of other entries, which skops derives from addresses.
ADDRESSES, NAMES = re.compile(rb',\s*"__id__": \d+'), re.compile(rb'(?<="file": ")[^"]+')
WATCHED = ("jointsparse", "scikit-learn")  # `load` warns if another version of these packages wrote the file
VERSION = re.compile(r"[\w.+!-]{1,50}", re.ASCII)
ALLOWED = "estimators of jointsparse, and transformers and Pipelines of scikit-learn"
CHECK_TOL = 1e-5  # tolerance of the scores in `check_`, relative to the largest score
# Types that a file may hold, besides the NumPy and SciPy types that skops trusts by default and the types in `ROOMS`.
TRUSTED = (
    "jointsparse.estimators.classifier.JointSparseClassifier",
    "jointsparse.estimators.online.OnlineJointSparseClassifier",
    "jointsparse.estimators.regressor.JointSparseRegressor",
    "jointsparse.estimators.search.JointSparseClassifierCV",
    "jointsparse.estimators.search.JointSparseRegressorCV",
    "jointsparse.features.basis.Basis",
    "jointsparse.features.embedding.Embedding",
    "jointsparse.features.transformers.DenseSift",
    "jointsparse.features.transformers.SVDBasis",
    "jointsparse.features.transformers.VocabularyTree",
    "jointsparse.features.vocabulary_tree.Tree",
    "jointsparse.learning.lazy.Eager",
    "jointsparse.learning.lazy.Lazy",
    "jointsparse.learning.fit.Fit",
    "jointsparse.learning.solvers.working_set.Round",
    "jointsparse.norms.l1inf.Warm",
    "scipy.sparse._csr.csr_matrix",
)


class Newer(ValueError):
    """Error for a file in a newer format than this version can read. Its message is the version that wrote the file."""


def save(model: Any, path: Any) -> None:
    """Save a fitted estimator or transformer, or a Pipeline of them, to a file that `load` can read.

    Parameters
    ----------
    model : estimator
        Fitted estimator or transformer of jointsparse, or a Pipeline of scikit-learn.
    path : path
        File to write. It is written atomically: even after a crash it is either complete or absent.

    Raises
    ------
    ValueError
        If the model is not fitted, holds an object that cannot be saved, such as a function, or is larger than `load`
        accepts.

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
    from sklearn.utils.validation import check_is_fitted  # imported here, because importing it takes a second

    try:
        check_is_fitted(model)
    except (TypeError, ValueError) as error:
        raise ValueError(f"model must be a fitted estimator, got {shortened(model)}: {error}") from None
    if fault := _fault(model):
        names = [name for name, value in model.get_params().items() if _fault(value)]
        place = f" in {max(names, key=len)}" if names else ""  # the longest name is the innermost parameter
        raise ValueError(
            f"model must hold only numbers, text and {ALLOWED} to be saved, got {fault}{place}: set such a parameter "
            "to None, or to a number"
        )
    entries = _dumped(model)
    origin = {"format": FORMAT, "versions": _versions(), "digests": _digests(entries)}
    content = _packed(entries | {ORIGIN: json.dumps(origin).encode()})
    try:
        require_model(_read(io.BytesIO(content)))
    except ValueError as error:
        raise ValueError(f"model cannot be saved, because load would reject the file: {_in_a_line(error)}") from None
    with written(path) as temporary:
        temporary.write_bytes(content)


def load(path: Any, *, network: Any = None) -> Any:
    """Load a model that `save` wrote.

    No code in the file is run, and only classes of jointsparse, NumPy, SciPy and scikit-learn are instantiated. The
    types, sizes and ranges of all values are checked against what `save` writes. Loading needs less than 1 GB of
    memory.

    Parameters
    ----------
    path : path
        File to read.
    network : path or None
        ONNX file of the network that describes the model's pictures (`features.Embedding`). If None, it is expected in
        the folder of the model, under its name. The folder that is stored in the model is ignored, so that a model
        cannot name any file of this machine.

    Returns
    -------
    model : estimator

    Raises
    ------
    ValueError
        If the file is missing or damaged, was written in a newer format than this version can read, or holds a type
        that is not allowed. Also if a network is given and the model has none, or if the model has an attribute
        `check_`, which holds the features and scores of a few images, but does not reproduce these scores.

    Warns
    -----
    UserWarning
        If another version of jointsparse or scikit-learn wrote the file.

    Examples
    --------
    >>> import tempfile
    >>> from jointsparse import JointSparseClassifier, load, save
    >>> model = JointSparseClassifier(radius=1.0).fit([[1.0], [-1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.skops")
    ...     loaded = load(f"{folder}/model.skops")
    >>> loaded.classes_
    array(['no', 'yes'], dtype='<U3')
    """
    require_extra("jointsparse.load", "skops")
    path = Path(path)
    require(path.is_file(), f"{path} must be a file that jointsparse.save wrote, got none")
    size = path.stat().st_size
    require(size <= archive.MOST_BYTES, f"{path} must hold at most {archive.MOST_BYTES:,} bytes, got {size:,}")
    # Warnings about single objects are silenced, because one warning about the whole file follows below.
    with path.open("rb") as file, warnings.catch_warnings(action="ignore"):
        try:
            versions = _versions_in(file)
            model = _read(file)
            require_model(model)
            embeddings = [part for part in _parts(model) if type(part).__name__ == "Embedding"]
            for embedding in embeddings:
                # A file that was saved on Windows is also found on other systems.
                embedding.model = str(network or path.parent / PureWindowsPath(embedding.model).name)
            apart = _apart(model)
        except Newer as newer:
            raise ValueError(
                f"{path} was written in a newer format, by jointsparse {newer}: upgrade jointsparse"
            ) from None
        except archive.Foreign as foreign:
            raise ValueError(f"{path} must hold only {ALLOWED}, got {foreign}") from None
        except Exception as error:  # zipfile, zlib, NumPy and skops raise many kinds of errors on damaged files
            raise ValueError(f"{path} is damaged, or no model of jointsparse: {_in_a_line(error)}") from None
    require(network is None or embeddings, f"network must be None, as {path} holds no network's features")
    here = _versions()
    if other := [f"{name} {versions[name]} (here {here[name]})" for name in WATCHED if versions[name] != here[name]]:
        warn_user(f"{path} was written with {' and '.join(other)}: predictions may differ")
    require(
        apart <= CHECK_TOL,
        f"{path} must give the scores that it gave when it was written, got a relative difference of {apart:.2g}: "
        f"another version of scipy ({scipy.__version__} here) or scikit-learn may be the reason",
    )
    return model


def _in_a_line(error: Exception) -> str:
    """Return an error's message on one line, after its type unless this is ValueError or defined in jointsparse."""
    ours = type(error) is ValueError or type(error).__module__.startswith("jointsparse")
    return " ".join(f"{'' if ours else f'{type(error).__name__}: '}{error}".split())[:400]


def _skops() -> ModuleType:
    """Import `skops.io` on first use, because importing it takes a second."""
    from skops import io as skops_io

    return skops_io


def _versions() -> dict[str, str]:
    import sklearn

    return {"jointsparse": version(), "scikit-learn": sklearn.__version__, "numpy": np.__version__}


def _digests(entries: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(entry).hexdigest() for name, entry in entries.items()}


def _packed(entries: dict[str, bytes]) -> bytes:
    """Return a ZIP archive of these entries without their dates, so that equal entries always give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, entry in entries.items():
            packed.writestr(zipfile.ZipInfo(name), entry)
    return buffer.getvalue()


def _dumped(value: Any) -> dict[str, bytes]:
    """Return the entries that skops writes for a value, renamed to their digests and cleared of memory addresses."""
    with zipfile.ZipFile(io.BytesIO(_skops().dumps(value))) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    tree, digests = ADDRESSES.sub(b"", entries.pop(TREE)), _digests(entries)
    tree = NAMES.sub(lambda name: digests[name[0].decode()].encode(), tree)
    return {TREE: tree} | {digests[name]: entry for name, entry in entries.items()}


def _fault(value: Any) -> str:
    """Return why a value cannot be saved, or "" if it can. Raise ValueError if it is larger than `load` accepts."""
    try:
        entries = _dumped(value)
        same = _dumped(_read(io.BytesIO(_packed(entries)))) == entries
        return "" if same else "a value that would come back changed"
    except archive.TooLarge as error:
        raise ValueError(f"model is too large to be saved: {error}") from None
    except Exception as error:  # skops raises many kinds for objects that it cannot write
        return str(error) if isinstance(error, archive.Foreign) else _in_a_line(error)


def _read(file: IO[bytes]) -> Any:
    """Check the sizes and types in an archive, and return the object that it holds."""
    with archive.opened(file) as entries:
        archive.require_sound(entries, frozenset(TRUSTED), ROOMS)
    return _skops().load(file, trusted=list(TRUSTED))


def _parts(value: Any) -> Iterator[Any]:
    """Yield a value and everything in it: items of containers, and attributes of estimators."""
    from sklearn.base import BaseEstimator

    yield value
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for part in vars(value).values() if isinstance(value, BaseEstimator) else inside:
        yield from _parts(part)


def _versions_in(file: IO[bytes]) -> dict[str, str]:
    """Return the versions of the packages that wrote a file.

    Raises `Newer` if the format of the file is too new, and ValueError if entries were changed.
    """
    with archive.opened(file) as entries:
        origin = json.loads(entries.read(ORIGIN))
        versions = {name: origin["versions"][name] for name in _versions()}
        require(all(map(VERSION.fullmatch, versions.values())), "its versions must be version numbers")
        require(type(origin["format"]) is int, "its format must be a whole number")
        if origin["format"] > FORMAT:
            raise Newer(versions["jointsparse"])
        names = [name for name in entries.namelist() if name != ORIGIN]
        digests = {name: hashlib.sha256(entries.read(name)).hexdigest() for name in names}
    require(origin["digests"] == digests, "its entries are not those that were written")
    return versions


def _apart(model: Any) -> float:
    """Return the largest relative difference between the scores in `check_` and those that the model computes now."""
    check: Any = getattr(model, "check_", None)
    if check is None:
        return 0.0
    with np.errstate(all="ignore"):  # a difference that is not finite is rejected by `load`
        scores = np.asarray(model[check["first_step"] :].decision_function(check["X"]))
        require(scores.shape == check["scores"].shape, f"check_.scores must have the shape {scores.shape}")
        return float(np.abs(scores - check["scores"]).max() / np.abs(check["scores"]).max(initial=1e-300))

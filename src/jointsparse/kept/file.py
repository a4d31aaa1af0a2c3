"""The file of a model. It is read without running anything that it holds, unlike a pickle.

A ZIP archive that skops writes, with one more entry: who wrote it, and a digest of each other entry.
"""

import hashlib
import io
import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.utils.validation import check_is_fitted

from jointsparse.checks import require, require_extra, shortened, version, warn_user

require_extra(__name__, "pandas", "skops")
from skops import io as skops_io  # noqa: E402

from jointsparse.provenance.tables import written  # noqa: E402

FORMAT = 1  # of the file; a larger one is refused
ORIGIN = "jointsparse.json"
MOST_BYTES, MOST_ENTRIES = 2**31, 10_000  # of a file, and of what it unpacks to
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
    "jointsparse.learning.problem.Fit",
    "jointsparse.learning.solvers.working_set.Round",
    "jointsparse.norms.l1inf.Warm",
    "scipy.sparse._csr.csr_matrix",
)


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
    try:
        check_is_fitted(model)
    except (TypeError, ValueError) as error:
        raise ValueError(f"model must be a fitted estimator, got {shortened(model)}: {error}") from None
    try:
        content = skops_io.dumps(model)
        foreign = _foreign(content)
    except Exception as error:  # of skops, for what it cannot write
        raise ValueError(f"model must hold numbers, text and estimators alone to be saved: {_said(error)}") from error
    require(
        not foreign,
        f"model must hold numbers, text and estimators of jointsparse and scikit-learn alone to be saved, got "
        f"{foreign}: save the best_estimator_ of a search, and set callback and scoring to None",
    )
    digests = {name: hashlib.sha256(entry).hexdigest() for name, entry in _entries(content).items()}
    with written(path) as temporary:
        temporary.write_bytes(content)
        with zipfile.ZipFile(temporary, "a") as archive:
            archive.writestr(ORIGIN, json.dumps({"format": FORMAT, "versions": _versions(), "digests": digests}))


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
        f"{file} was written in a newer format, by jointsparse {versions.get('jointsparse')}: upgrade jointsparse, which "
        f"is {version()} here",
    )
    with warnings.catch_warnings(action="ignore"):  # of each part of the model; one sentence says it below
        try:
            foreign = _foreign(content)
            model = None if foreign else skops_io.loads(content, trusted=list(TRUSTED))
        except Exception as error:
            raise ValueError(f"{file} is damaged, or of a newer skops: {_said(error)}") from None
    require(not foreign, f"{file} must hold estimators of jointsparse and scikit-learn alone, got {foreign}")
    other = [f"{name} {was}" for name, was in versions.items() if was != _versions().get(name)]
    if other:
        warn_user(f"{file} was written with {', '.join(other)}, and other versions are here: predictions may differ")
    _check(model, file)
    return model


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _versions() -> dict[str, str]:
    return {"jointsparse": version(), "scikit-learn": sklearn.__version__, "numpy": np.__version__}


def _foreign(content: bytes) -> str:
    """The first type in a file of skops that nobody here trusts, or ""."""
    return next(iter(sorted(set(skops_io.get_untrusted_types(data=content)) - set(TRUSTED))), "")


def _entries(content: bytes) -> dict[str, bytes]:
    """The entries of an archive. Raises an error if it is damaged or unpacks to too much."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        found = archive.infolist()
        n_bytes = sum(one.file_size for one in found)
        require(
            n_bytes <= MOST_BYTES and len({one.filename for one in found}) == len(found) <= MOST_ENTRIES,
            f"it must hold at most {MOST_BYTES:,} bytes in {MOST_ENTRIES:,} entries of different names, got "
            f"{n_bytes:,} in {len(found):,}",
        )
        return {one.filename: archive.read(one) for one in found}


def _origin(content: bytes) -> tuple[bool, dict[str, str]]:
    """Find out if a file is newer than this code, and who wrote it. Raises an error on other entries than were written."""
    entries = _entries(content)
    origin = json.loads(entries.pop(ORIGIN))
    newer, versions = origin["format"] > FORMAT, dict(origin["versions"])
    if not newer:
        digests = {name: hashlib.sha256(entry).hexdigest() for name, entry in entries.items()}
        require(origin["digests"] == digests, "its entries are not those that were written")
    return newer, versions


def _check(model: Any, file: Path) -> None:
    """Compute again the scores of the few images that a kept model comes with."""
    if check := getattr(model, "check_", None):
        scores = np.asarray(model[check["first_step"] :].decision_function(check["X"]))
        apart = np.abs(scores - check["scores"]).max() / np.abs(check["scores"]).max(initial=1e-300)
        require(
            apart <= CHECK_TOL,
            f"{file} must give the scores that it gave when it was written, got others by {apart:.2g} (relative): "
            f"another version of scipy ({scipy.__version__} here) or scikit-learn may be the reason",
        )

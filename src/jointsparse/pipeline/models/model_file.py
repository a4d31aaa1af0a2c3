"""Save the model of a run to a file, and load it.

A model file is a ZIP archive of a card (`card.json`), lists of names (`names.json`) and arrays (`<name>.npy`), none of
them compressed. Loading it runs no code from it: the model is rebuilt from the card and the arrays by constructors that
check what they are given. The sizes that the file states are compared with the bytes that are there before any array is
allocated. Saving the same model twice gives the same bytes.
"""

import io
import json
import math
import struct
import zipfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import IO, Any

import numpy as np
import scipy
from pydantic import ValidationError
from scipy import sparse
from sklearn.pipeline import Pipeline

from jointsparse.checks import require, require_array, require_sound
from jointsparse.estimators.classifier import JointSparseClassifier
from jointsparse.features.basis import Basis
from jointsparse.features.embedding import Embedding
from jointsparse.features.network_files import with_digest
from jointsparse.features.transformers import DenseSift, SVDBasis, VocabularyTree
from jointsparse.features.vocabulary_tree import Tree
from jointsparse.messages import printable, warn_user
from jointsparse.pipeline.models.card import Card, Features, Given, Names, Network, Stated, Versions, VisualWords
from jointsparse.written import written

FORMAT = 1  # `load` rejects higher numbers
# Limit for the size of a file. Python and its packages take 350 MB, reading takes twice the size of the file, and
# computing with the model at most three times: together less than 1 GB.
MOST_BYTES = 200_000_000
MOST_BYTES_OF_CARD, MOST_BYTES_OF_NAMES = 2**22, 2**24
MOST_ENTRIES, BYTES_OF_ENTRY = 32, 200  # limits: number of entries, and bytes per entry in the directory
MOST_BYTES_OF_PICTURE = 400_000_000  # limit for the memory that a model needs to describe a picture
LARGEST_SCORE = 1e15  # Choice: squares of scores are finite in single precision
CHECK_TOL = 1e-5  # tolerance of the scores in `check_`, relative to the largest score
MOST_CHECKED = 1000  # largest number of images in `check_`
EXTRACTORS = {"dense_sift": DenseSift}
# End of the directory: signature, disks, numbers of entries, length and offset of the directory, length of a comment.
END = struct.Struct("<4s4H2LH")
LOCATOR_BYTES, LOCATOR_MARK = 20, b"PK\6\7"  # record before the end if there are more than 65,535 entries or 4 GiB


class Newer(ValueError):
    """Error for a file in a newer format than this version can read. Its message is the version that wrote the file."""


def described(steps: list[tuple[str, Any]]) -> Features:
    """Return the part of the card that describes the steps from pictures to features. steps: as in `assembled`."""
    if not steps:
        return Given()
    first = steps[0][1]
    if isinstance(first, Embedding):
        options = {name: value for name, value in first.get_params().items() if name != "model"}
        return Network(
            file=Path(first.model).name,
            digest=first.digest_,
            size=first.size_,
            grid=first.grid_,
            n_features=first.n_features_,
            options=json.loads(json.dumps(options)),  # tuples become lists
        )
    (extractor,) = (name for name, kind in EXTRACTORS.items() if type(first) is kind)
    options, words = first.options | {"longest_side": first.longest_side}, steps[1][1]
    return VisualWords(
        extractor=extractor,
        options=json.loads(json.dumps(options)),
        weighting=words.weighting,
        normalise=words.normalise,
    )


def assembled(
    card: Card,
    steps: list[tuple[str, Any]],
    basis: SVDBasis | None,
    classifier: JointSparseClassifier,
    *,
    names: Names,
    known_scores: np.ndarray,
    known_labels: np.ndarray,
    X: Any,
    scores: np.ndarray | None = None,
) -> Pipeline:
    """Return a model as a Pipeline with the attributes that `annotator` lists.

    Parameters
    ----------
    card : Card
        The card.
    steps : list of (name, transformer)
        The steps from pictures to features: none, "describe", or "describe" and "words".
    basis : SVDBasis or None
        Transformer of these features, if there is one.
    classifier : JointSparseClassifier
        The classifier.
    names : Names
        Names of the known images and of the input features.
    known_scores, known_labels : arrays, (n_known, n_words)
        See `final.Final`.
    X : array or csr_matrix, (n_checked, n_features)
        Features of a few images, from which the scores of the model can be checked.
    scores : array, (n_checked, n_words), or None
        The scores of these images; computed if None.

    Raises
    ------
    ValueError
        If the parts do not fit together, or if an array holds invalid numbers.
    """
    n_words, n_in = len(card.words), classifier.n_features_in_
    if basis is not None:
        require(len(basis.factors_) == n_in, f"the basis must have {n_in} columns, got {len(basis.factors_)}")
        n_in = basis.n_features_in_
    if steps:
        n_out = steps[-1][1]._n_features_out
        require(n_out == n_in, f"pictures must have {n_in} features, got {n_out}")
    require(len(set(card.words)) == n_words, "the words must be different, got a word twice")
    require(len(card.thresholds) == n_words, f"there must be {n_words} thresholds, got {len(card.thresholds)}")
    for name, values in card.statistics.items():
        require(len(values) == n_words + 1, f"statistics.{name} must have {n_words + 1} numbers, got {len(values)}")
    n_known, columns = card.known_images, names.columns
    require(len(names.known) == n_known, f"{n_known:,} known images must have a name, got {len(names.known):,} names")
    fits = len(columns) in (0, 0 if steps else n_in) and len(set(columns)) == len(columns)
    require(fits, f"columns must name each of {n_in} features once, or be empty, got {len(columns)} names")
    require_scores = partial(require_array, least=-LARGEST_SCORE, most=LARGEST_SCORE)
    require_scores(known_scores, "known_scores", (n_known, n_words))
    require_array(known_labels, "known_labels", (n_known, n_words), dtypes=(np.int8,), least=-1, most=1)
    both = (known_labels == 1).any(axis=0) & (known_labels == 0).any(axis=0)
    require(both.all(), "known_labels must have an image with and an image without each word, got a word without one")
    n_checked = X.shape[0]
    require(1 <= n_checked <= MOST_CHECKED, f"from 1 to {MOST_CHECKED} images must be checked, got {n_checked:,}")
    if sparse.issparse(X):
        require_sound(X)
        require(X.shape[1] == n_in, f"check_X must have {n_in} columns, got {X.shape[1]}")
        require_array(X.data, "check_X", (X.nnz,))
    else:
        require_array(X, "check_X", (n_checked, n_in))
    chain = [*steps, *([("basis", basis)] if basis is not None else []), ("classifier", classifier)]
    model = Pipeline(chain)
    model.card_, model.known_names_, model.columns_ = card, names.known, columns
    model.known_scores_, model.known_labels_ = known_scores, known_labels
    if scores is None:
        scores = np.asarray(model[len(steps) :].decision_function(X))
    require_scores(scores, "check_scores", (n_checked, n_words))
    model.check_ = {"first_step": len(steps), "X": X, "scores": scores}
    return model


def save(model: Pipeline, path: str | Path) -> None:
    """Save a model to a file that `load` can read.

    Parameters
    ----------
    model : Pipeline
        A model from `assembled`.
    path : path
        File to write. It is written atomically: even after a crash it is either complete or absent.

    Raises
    ------
    ValueError
        If `load` would reject the file, because the model is too large or holds invalid numbers.
    """
    content = packed(model)
    try:
        require(len(content) <= MOST_BYTES, f"it must take at most {MOST_BYTES:,} bytes, got {len(content):,}")
        _read(io.BytesIO(content), Path(), None)
    except ValueError as error:
        raise ValueError(f"model cannot be saved, because load would reject the file: {_in_a_line(error)}") from None
    with written(path) as temporary:
        temporary.write_bytes(content)


def packed(model: Pipeline) -> bytes:
    """Return the content of a model file. Equal models give equal bytes."""
    classifier, steps, X = model[-1], model.named_steps, model.check_["X"]
    arrays = {
        "coef": classifier.coef_,
        "intercept": classifier.intercept_,
        "calibration": classifier.calibration_,
        "known_scores": model.known_scores_,
        "known_labels": model.known_labels_,
        "check_scores": model.check_["scores"],
    }
    if sparse.issparse(X):
        arrays |= {f"check_{part}": getattr(X, part) for part in ("data", "indices", "indptr")}
    else:
        arrays["check_X"] = X
    if "words" in steps:
        arrays |= {f"tree_{name}": array for name, array in steps["words"].tree_._asdict().items()}
        arrays |= {} if steps["words"].idf_ is None else {"tree_idf": steps["words"].idf_}
    if "basis" in steps:
        basis = steps["basis"]
        arrays |= {f"basis_{name}": array for name, array in basis.basis_._asdict().items()}
        arrays |= {"basis_factors": basis.factors_, "basis_columns": basis.columns_}
    names = Names(known=model.known_names_, columns=model.columns_)
    texts = {"card.json": model.card_.model_dump_json(indent=1), "names.json": names.model_dump_json()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:  # without dates
        for name, text in texts.items():
            archive.writestr(zipfile.ZipInfo(name), text)
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as entry:
                np.lib.format.write_array(entry, np.asarray(array, order="C"), version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def load(path: str | Path, *, network: str | Path | None = None) -> Pipeline:
    """Load a model that a run has saved.

    No code in the file is run. Types, sizes and ranges of all values are checked, and loading needs less than 1 GB of
    memory, so the file may come from anyone.

    Parameters
    ----------
    path : path
        File to read, such as model.jointsparse.
    network : path or None
        ONNX file of the network that describes the model's pictures. If None, the built-in network is recognised by its
        digest, and another network is expected in the folder of the model, under its name.

    Returns
    -------
    model : Pipeline
        Fitted Pipeline of scikit-learn, with `decision_function` and `predict_proba`. It takes pictures as `DenseSift`
        and `Embedding` do, or rows of features, and its attribute `card_` describes it.

    Raises
    ------
    ValueError
        If the file is missing or damaged, was written in a newer format than this version can read, or if the model
        does not reproduce the scores of a few images that the file holds. Also if a network is given and the model has
        none.

    Warns
    -----
    UserWarning
        If another version of jointsparse or scikit-learn wrote the file.

    Examples
    --------
    >>> from jointsparse.pipeline import load
    >>> model = load("model.jointsparse")  # doctest: +SKIP
    >>> model.predict_proba(["a.jpg", "b.jpg"])  # doctest: +SKIP
    """
    path = Path(path)
    saved = "a run saves its model as model.jointsparse, in the folder of the dataset"
    require(path.is_file(), f"there is no model file {path}: {saved}")
    size = path.stat().st_size
    require(size <= MOST_BYTES, f"{path} must hold at most {MOST_BYTES:,} bytes, got {size:,}")
    with path.open("rb") as file:
        require(file.read(2) == b"PK", f"{path} is not a model file: {saved}")
        try:
            model = _read(file, path.parent, network)
            apart = _apart(model)
        except Newer as newer:
            said = f"{path} was written in a newer format, by jointsparse {newer}: upgrade jointsparse"
            raise ValueError(said) from None
        except Exception as error:  # zipfile, NumPy, pydantic and SciPy raise many kinds of errors on damaged files
            raise ValueError(f"{path} is damaged, or no model of jointsparse: {_in_a_line(error)}") from None
    has_network = isinstance(model.card_.features, Network)
    require(network is None or has_network, f"network must be None, as {path} holds no network's features")
    here, there = Versions.here(), model.card_.versions
    watched = {"jointsparse": "jointsparse", "scikit_learn": "scikit-learn"}
    other = [
        f"{package} {getattr(there, name)} (here {getattr(here, name)})"
        for name, package in watched.items()
        if getattr(there, name) != getattr(here, name)
    ]
    if other:
        warn_user(f"{path} was written with {' and '.join(other)}: predictions may differ")
    require(
        apart <= CHECK_TOL,
        f"{path} must give the scores that it gave when it was written, got a relative difference of {apart:.2g}: "
        f"another version of scipy ({scipy.__version__} here) or scikit-learn may be the reason",
    )
    return model


def _in_a_line(error: Exception) -> str:
    """Return an error's message on one printable line, after its type unless this is ValueError or ours."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        message = f"{'.'.join(map(str, first['loc'])) or 'a JSON file'}: {first['msg']}"
    else:
        ours = type(error) is ValueError or type(error).__module__.startswith("jointsparse")
        message = f"{'' if ours else f'{type(error).__name__}: '}{error}"
    return printable(" ".join(message.split())[:400])


def _opened(file: IO[bytes]) -> zipfile.ZipFile:
    """Open an archive. Raise ValueError if it could fill the memory, or if an entry is compressed or occurs twice."""
    length = file.seek(0, 2)
    file.seek(max(length - LOCATOR_BYTES - END.size, 0))
    tail = file.read()
    require(len(tail) >= END.size, f"it must be an archive, got {length} bytes")
    mark, *_, directory_bytes, _, comment = END.unpack(tail[-END.size :])
    small = directory_bytes <= MOST_ENTRIES * BYTES_OF_ENTRY and not comment and not tail.startswith(LOCATOR_MARK)
    require(mark == b"PK\5\6" and small, f"it must end with a directory of at most {MOST_ENTRIES} entries")
    archive = zipfile.ZipFile(file)
    entries = archive.infolist()
    n_bytes, names = sum(entry.file_size for entry in entries), {entry.filename for entry in entries}
    stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
    sound = stored and n_bytes <= length and len(names) == len(entries)  # overlapping entries exceed the length
    require(sound, "its entries must have different names, not be compressed and not overlap")
    return archive


def _json(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Return the text of a JSON entry after checking its size."""
    n_bytes = archive.getinfo(name).file_size
    require(n_bytes <= most, f"{name} must have at most {most:,} bytes, got {n_bytes:,}")
    return archive.read(name)


def _array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """Read an array. Its header is checked first: it must not state more or fewer bytes than there are."""
    n_bytes = archive.getinfo(name).file_size
    with archive.open(name) as entry:
        require(np.lib.format.read_magic(entry) == (1, 0), f"{name} must be an array of format 1.0")
        shape, _, dtype = np.lib.format.read_array_header_1_0(entry)
        stated = entry.tell() + math.prod(shape) * dtype.itemsize
        sound = dtype.kind in "bif" and stated == n_bytes and min(shape, default=1) >= 0
        require(
            sound, f"{name} must hold numbers and be as long as stated, got {dtype} of {shape} in {n_bytes:,} bytes"
        )
    with archive.open(name) as entry:
        return np.lib.format.read_array(entry, allow_pickle=False)


def _read(file: IO[bytes], folder: Path, network: str | Path | None) -> Pipeline:
    """Read an archive, and rebuild the model in it. folder: where its network is expected, if `network` is None."""
    with _opened(file) as archive:
        text = _json(archive, "card.json", MOST_BYTES_OF_CARD)
        stated = Stated.model_validate_json(text)
        if stated.format > FORMAT:
            raise Newer(stated.versions.get("jointsparse", "of another version"))
        card = Card.model_validate_json(text)
        names = Names.model_validate_json(_json(archive, "names.json", MOST_BYTES_OF_NAMES))
        files = [name for name in archive.namelist() if not name.endswith(".json")]
        arrays = {name.removesuffix(".npy"): _array(archive, name) for name in files}
    steps = _steps(card.features, arrays, folder, network)
    basis = None
    if card.power is not None:
        vectors: Any = (_taken(arrays, f"basis_{name}") for name in Basis._fields)
        factors, columns = _taken(arrays, "basis_factors"), _taken(arrays, "basis_columns")
        basis = SVDBasis.from_basis(Basis(*vectors), factors=factors, columns=columns, power=card.power)
    classifier = JointSparseClassifier.from_coef(
        _taken(arrays, "coef"),
        _taken(arrays, "intercept"),
        card.words,
        calibration=_taken(arrays, "calibration"),
        gap=card.gap,
        norm=card.norm,
        radius=card.radius,
        loss=card.loss,
    )
    if "check_X" in arrays:
        X: Any = _taken(arrays, "check_X")
    else:
        parts = tuple(_taken(arrays, f"check_{name}") for name in ("data", "indices", "indptr"))
        n_in = classifier.n_features_in_ if basis is None else basis.n_features_in_
        X = sparse.csr_matrix(parts, shape=(len(parts[2]) - 1, n_in))
    model = assembled(
        card,
        steps,
        basis,
        classifier,
        names=names,
        known_scores=_taken(arrays, "known_scores"),
        known_labels=_taken(arrays, "known_labels"),
        X=X,
        scores=_taken(arrays, "check_scores"),
    )
    require(not arrays, f"it must hold only the arrays of its model, got {', '.join(arrays)} as well")
    return model


def _steps(
    features: Given | VisualWords | Network, arrays: dict[str, np.ndarray], folder: Path, network: str | Path | None
) -> list[tuple[str, Any]]:
    """Return the steps from pictures to features. The arrays that they use are taken out of `arrays`."""
    if isinstance(features, Given):
        return []
    options: Mapping[str, Any] = features.options
    if isinstance(features, Network):
        file = PureWindowsPath(features.file).name  # a model may come from Windows, and must not name any other folder
        embedding = Embedding.from_digest(
            str(network or with_digest(features.digest) or folder / file),
            digest=features.digest,
            shape=features.size,
            grid=features.grid,
            n_features=features.n_features,
            **options,
        )
        return [("describe", embedding)]
    require(features.extractor in EXTRACTORS, f"extractor must be one of {', '.join(EXTRACTORS)}")
    describe = EXTRACTORS[features.extractor](**options)
    describe.require_options()
    n_bytes = describe.bytes_of_picture()
    require(
        n_bytes <= MOST_BYTES_OF_PICTURE,
        f"describing a picture must take at most {MOST_BYTES_OF_PICTURE:,} bytes, got {n_bytes:,}: see longest_side, "
        "step and patch_sizes",
    )
    tree = Tree(*(_taken(arrays, f"tree_{name}") for name in Tree._fields))
    length = tree.centres.shape[-1]
    require(
        length == describe.extractor.LENGTH, f"descriptors must have {describe.extractor.LENGTH} numbers, got {length}"
    )
    weighting = {"weighting": features.weighting, "normalise": features.normalise}
    words = VocabularyTree.from_tree(tree, arrays.pop("tree_idf", None), **weighting)
    return [("describe", describe), ("words", words)]


def _taken(arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    """Take an array out of the arrays of a file. Raise ValueError if it is not there."""
    require(name in arrays, f"it must hold an array {name}, got none")
    return arrays.pop(name)


def _apart(model: Pipeline) -> float:
    """Return the largest relative difference between the scores in `check_` and those that the model computes now."""
    check = model.check_
    with np.errstate(all="ignore"):  # a difference that is not finite is rejected by `load`
        scores = np.asarray(model[check["first_step"] :].decision_function(check["X"]))
        return float(np.abs(scores - check["scores"]).max() / np.abs(check["scores"]).max(initial=1e-300))

"""The annotator: a pipeline from pictures to the probability of each word, built from the results of a run.

The annotator is a scikit-learn Pipeline with these additional attributes:

- ``card_``: a description in text and numbers, see `card.Card`;
- ``known_scores_``, ``known_labels_``: scores and labels of the known images, see `final.Final`. New pictures are
  ranked among these scores;
- ``known_names_``: names of the known images, list of str;
- ``columns_``: names of the input features, list of str, which is empty if the features have no names;
- ``check_``: features and scores of a few images, from which `load` checks that the model still gives the same scores.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike, cpu_count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.metrics import precision_recall_curve
from sklearn.pipeline import Pipeline

from jointsparse.checks import require, require_extra
from jointsparse.estimators.classifier import JointSparseClassifier
from jointsparse.features import transformers
from jointsparse.features.basis import Basis, factors
from jointsparse.features.explain import is_of_pictures
from jointsparse.features.vocabulary_tree import Tree
from jointsparse.messages import shortened
from jointsparse.metrics import nearest
from jointsparse.pipeline.models.card import Card, Names, Versions
from jointsparse.pipeline.models.final import Final
from jointsparse.pipeline.models.model_file import EXTRACTORS, assembled, described
from jointsparse.pipeline.models.probabilities import probabilities

require_extra(__name__, "pandas", "PIL")
import pandas as pd  # noqa: E402

from jointsparse.pipeline.datasets.arrays import read_features  # noqa: E402
from jointsparse.pipeline.datasets.folder import SUFFIXES, check_pictures, list_pictures  # noqa: E402
from jointsparse.pipeline.provenance.tables import blocks_of  # noqa: E402

AT_ONCE, BYTES_AT_ONCE = 64, 200_000_000  # pictures processed in parallel, and the memory that they may take together
CHECKED = 5  # number of images whose scores are computed again when a model is loaded
# Tolerance for the recomputed score of a known picture, as a fraction of the largest score of a word. The last digits
# of products depend on the processor and on how many pictures are scored together.
SCORE_TOL = 1e-5
FEWEST = 5  # number of known pictures above a threshold that are needed to state a precision
PRECISIONS = (0.5, 0.7, 0.9)  # rows of `at_precisions`
OF_FIT = ("norm", "word", "radius", "power", "gap")  # columns of the final table that are no statistics of words
ALIKE = 3  # number of similar known pictures listed for each picture


def of_pictures(
    *,
    extractor: str,
    options: Mapping[str, Any],
    longest_side: int,
    tree: Tree,
    weighting: Mapping[str, Any],
    idf: np.ndarray | None = None,
) -> list[tuple[str, Any]]:
    """Return the first steps of the annotator's pipeline, which turn pictures into histograms of visual words.

    Parameters
    ----------
    extractor : str
        A name in `features.FEATURES`.
    options : mapping
        Options of the extractor.
    longest_side : int, pixels
        Pictures whose longer side exceeds this length are shrunk to it.
    tree : Tree
        The vocabulary.
    weighting : mapping
        The options `weighting` and `normalise` of `VocabularyTree`.
    idf : array (n_words,) or None
        Inverse document frequencies for the weighting "tf-idf".
    """
    describe = EXTRACTORS[extractor](**options, longest_side=longest_side)
    return [("describe", describe), ("words", transformers.VocabularyTree.from_tree(tree, idf, **weighting))]


def annotator(
    final: Final,
    table: pd.DataFrame,
    X: Any,
    *,
    names: Sequence[str],
    steps: Sequence[tuple[str, Any]] = (),
    basis: Basis | None = None,
    columns: Sequence[str] = (),
    **origin: Any,
) -> Pipeline:
    """Build the annotator from a final fit. Basis vectors (columns of the basis) that the fit does not use are dropped.

    Parameters
    ----------
    final : Final
        The fit.
    table : table
        Test scores of the words, from `final.table`.
    X : array or csr_matrix, (n_images, n_features)
        Features of images, as the first matrix step takes them. `check_` holds the first few.
    names : list of str, (n_known,)
        Names of the images on which the model was fitted.
    steps : list of (name, transformer)
        The steps that `of_pictures` returns; empty if the annotator takes features as input.
    basis : Basis or None
        The basis in which the features are expressed; None if they are used as they are.
    columns : list of str
        Names of the input features, and perhaps of further features that no sample has; empty if they have no names.
    **origin : Any
        Origin of the model: the fields `dataset`, `study`, `seed` and `raw` of `card.Card`.
    """
    model, svd = final.model, None
    n_features, used = model.coef_.shape[1], model.coef_.any(axis=0)
    coef, n_in = model.coef_, n_features
    if basis is not None:
        columns_of_basis, coef, n_in = np.flatnonzero(used), np.ascontiguousarray(coef[:, used]), len(basis.mean)
        svd = transformers.SVDBasis.from_basis(
            basis.columns(columns_of_basis),
            factors=factors(basis.singular_values, [final.power])[final.power][used],
            columns=columns_of_basis,
            power=final.power,
        )
    fit: dict[str, Any] = {"norm": model.norm, "loss": model.loss, "radius": model.radius_}
    words, known_scores = [str(word) for word in model.classes_], final.scores.astype(np.float32)
    card = Card(
        versions=Versions.here(),
        **origin,
        **fit,
        words=words,
        gap=model.duality_gap_,
        power=None if basis is None else float(final.power),
        known_images=len(final.labels),
        n_features=(int(used.sum()), n_features),
        features=described(list(steps)),
        thresholds=limits(known_scores, final.labels).tolist(),
        statistics={
            name: [None if value != value else value for value in table[name].tolist()]
            for name in table.columns
            if name not in OF_FIT
        },
    )
    return assembled(
        card,
        list(steps),
        svd,
        JointSparseClassifier.from_coef(
            coef, model.intercept_, words, calibration=model.calibration_, gap=model.duality_gap_, **fit
        ),
        names=Names(known=[str(name) for name in names], columns=list(columns)[:n_in]),
        known_scores=known_scores,
        known_labels=final.labels.astype(np.int8),
        X=X[:CHECKED],
    )


def pictures_below(paths: Sequence[str | PathLike[str]]) -> tuple[list[Path], dict[str, str]]:
    """Return the pictures among the given files and folders, and the files that cannot be read, with reasons.

    Files in the folders that are not pictures are ignored. Raises ValueError if a path does not exist or if there are
    no pictures.
    """
    pictures, left_out = dict[Path, None](), dict[str, str]()
    for path in map(Path, paths):
        require(path.exists(), f"pictures must be existing files or folders, got {str(path)!r}")
        names, other = list_pictures(path) if path.is_dir() else ([""], {})
        pictures |= dict.fromkeys(path / name for name in names)
        left_out |= {f"{path}/{name}": why for name, why in other.items() if not why.startswith("not a picture file")}
    require(pictures, f"there must be a picture ({' '.join(SUFFIXES)}) in {shortened(list(paths))}, got none")
    return list(pictures), left_out


def decisions(model: Pipeline, paths: Sequence[Path]) -> Iterator[tuple[Path, np.ndarray]]:
    """Yield each picture with its scores (n_words,), in the order of the paths. Pictures are read in small batches."""
    describe, rest = model[0], model[1:]
    at_once = min(max(BYTES_AT_ONCE // describe.bytes_of_picture(), 1), AT_ONCE)
    with ThreadPoolExecutor(min(at_once, cpu_count() or 1)) as pool:  # decoders and kernels release the GIL
        for start in range(0, len(paths), at_once):
            some = paths[start : start + at_once]
            descriptors = list(pool.map(lambda path: describe.transform([path])[0], some))
            yield from zip(some, _decided(rest, descriptors), strict=True)


def _decided(model: Pipeline, X: Any) -> np.ndarray:
    """Return the scores that a model computes. Raises ValueError if any of them is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.asarray(model.decision_function(X))
    require(
        np.isfinite(scores).all(),
        "the scores of the model must be finite, got infinite or undefined scores: its numbers are too large",
    )
    return scores


class Annotations(NamedTuple):
    """The words predicted for pictures, the scores of all words, and the most similar known pictures.

    Attributes
    ----------
    table
        A row for each listed pair of a picture and a word, with the columns

        - `image`, `word`, `probability`;
        - `rank`: the rank of the score among the scores of the known pictures, 1 if none of them is larger;
        - `of`: the number of known pictures;
        - `above`: True if the score reaches the threshold of the word.
    scores : array (n_pictures, n_words)
        The scores of the pictures that can be used, in the order of `alike`.
    alike : dict
        For each picture, the `ALIKE` known pictures whose scores are nearest to its own. Distances are measured in
        units of each word's standard deviation.
    left_out : dict
        For each picture that cannot be used, the reason.
    """

    table: pd.DataFrame
    scores: np.ndarray
    alike: dict[str, list[str]]
    left_out: dict[str, str]


def annotate(
    model: Pipeline,
    paths: Sequence[Path],
    *,
    n_words: int = 5,
    precision: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Annotations:
    """Predict the words of pictures.

    Parameters
    ----------
    model : Pipeline
        A model from `annotator`.
    paths : list of Path
        Paths of the pictures. As in training, the pictures are checked in a separate process.
    n_words : int, at least 1
        Number of words to list for each picture, the most probable first.
    precision : float, above 0 and at most 1, or None
        If given, list every word whose score reaches the word's lowest threshold with at least this precision on the
        known pictures, see `thresholds`.
    progress : function or None
        Called as `progress(done, total)`, twice for each picture: after it is checked and after its words are
        predicted.

    Returns
    -------
    Annotations

    Raises
    ------
    ValueError
        If the model does not take pictures, or if a parameter is outside its range.
    """
    require(
        is_of_pictures(model) and hasattr(model, "known_scores_"),
        f"the model must be a model of pictures that a run has saved, got {type(model).__name__}",
    )
    describe, names = model[0], [str(path) for path in paths]
    tell = progress or (lambda done, total: None)
    reasons, _, _ = check_pictures(
        Path(),
        names,
        describe.smallest_side(),
        describe.longest_side,
        progress=lambda done, total: tell(done, 2 * total),
    )
    usable, alike = [path for path in paths if str(path) not in reasons], dict[str, list[str]]()
    scores = np.empty((len(usable), len(model.card_.words)), np.float32)

    def decided() -> Iterator[tuple[str, np.ndarray]]:
        for done, (path, score) in enumerate(decisions(model, usable), start=1):
            yield str(path), score
            scores[done - 1] = score
            alike[str(path)] = [model.known_names_[i] for i in nearest(model.known_scores_, score, ALIKE)]
            tell(len(names) + done, 2 * len(names))

    return Annotations(_listed(model, decided(), n_words, precision), scores, alike, reasons)


def annotate_rows(
    model: Pipeline, paths: Sequence[str | PathLike[str]], *, n_words: int = 5, precision: float | None = None
) -> pd.DataFrame:
    """Predict the labels of the rows of tables or arrays.

    If the model's features have names, the columns of a table are matched by name, in any order.

    Parameters
    ----------
    model : Pipeline
        A model from `annotator` without steps for pictures.
    paths : list of path
        Files that the loader `arrays` accepts as features.
    n_words, precision : as in `annotate`
        See there.

    Returns
    -------
    table
        See `Annotations`, with the columns `row` and `label` instead of `image` and `word`. Rows are numbered from 1,
        with the file in front if there are several files.
    """
    saved = hasattr(model, "known_scores_")
    require(saved, f"the model must be one that a run has saved, got {type(model).__name__}")
    n_features, decided = model.check_["X"].shape[1], list[tuple[str, np.ndarray]]()
    for path in map(Path, paths):
        require(path.is_file(), f"tables must be existing files, got {str(path)!r}")
        X, _ = read_features(path, columns=model.columns_)
        require(X.shape[1] == n_features, f"{path} must have {n_features} features like the model, got {X.shape[1]}")
        file = f"{path} " if len(paths) > 1 else ""
        scores = [_decided(model, block) for block in ([X] if sparse.issparse(X) else blocks_of(X, np.float32))]
        decided += [(f"{file}row {i}", score) for i, score in enumerate(np.concatenate(scores), start=1)]
    names = {"image": "row", "word": "label"}
    return _listed(model, decided, n_words, precision).rename(columns=names)


def _listed(
    model: Pipeline, decided: Iterable[tuple[str, np.ndarray]], n_words: int, precision: float | None
) -> pd.DataFrame:
    """Return the table in `Annotations` for pairs that consist of a picture's name and its scores (n_words,)."""
    require(n_words >= 1, f"words must be at least 1, got {n_words}")
    require(precision is None or 0 < precision <= 1, f"precision must be above 0 and at most 1, got {precision}")
    known, at_least, slack = model.known_scores_, thresholds(model, precision), _slack(model)
    words, rows = model.card_.words, list[tuple[Any, ...]]()
    for name, score in decided:
        (p,) = probabilities(model, score[np.newaxis])
        reached = score + slack
        order, above = np.argsort(-p, kind="stable"), reached >= at_least
        for k in order[:n_words] if precision is None else order[above[order]]:
            rank = 1 + int(np.count_nonzero(known[:, k] > reached[k]))
            rows.append((name, words[k], p[k], rank, len(known), bool(above[k])))
    return pd.DataFrame(rows, columns=["image", "word", "probability", "rank", "of", "above"])


def assigned(model: Pipeline, scores: np.ndarray, precision: float | None = None) -> np.ndarray:
    """Return whether each of the scores (n_pictures, n_words) reaches the threshold of its word.

    precision: as in `annotate`.
    """
    return np.asarray(scores + _slack(model) >= thresholds(model, precision))


def _slack(model: Pipeline) -> np.ndarray:
    """Return a tolerance for each word. Otherwise, rounding could change the rank of a known picture."""
    known = model.known_scores_
    return np.asarray(SCORE_TOL * np.maximum(known.max(axis=0), -known.min(axis=0)))


def thresholds(model: Pipeline, precision: float | None = None) -> np.ndarray:
    """Return the threshold of each word, as an array (n_words,): a word is assigned to a picture from this score on.

    model: a model from `annotator`. precision: as in `limits`.
    """
    if precision is None:
        return np.array(model.card_.thresholds)
    return limits(model.known_scores_, model.known_labels_, precision)


def limits(scores: np.ndarray, labels: np.ndarray, precision: float | None = None) -> np.ndarray:
    """Return a threshold for each word, (n_words,).

    Parameters
    ----------
    scores, labels : arrays, (n_known, n_words)
        Held-out scores of the known pictures, and which picture has which word, see `final.Final`.
    precision : float or None
        Smallest fraction of the known pictures above the threshold that must have the word. The threshold is the lowest
        one that has this precision and at least `FEWEST` known pictures above it; it is infinite if no threshold does.
        If None, the threshold maximises F1, the harmonic mean of precision and recall.
    """
    limits = np.full(scores.shape[1], np.inf)
    for k in range(len(limits)):
        known = labels[:, k] >= 0
        p, recall, at = precision_recall_curve(labels[known, k], scores[known, k])
        p, recall = p[:-1], recall[:-1]  # the last point belongs to no threshold
        if precision is None:
            limits[k] = at[np.argmax(2 * p * recall / np.maximum(p + recall, 1e-12))]
        else:
            # recall * positives / precision is the number of pictures above the threshold; 0.5 allows for rounding.
            enough = recall * (labels[:, k] == 1).sum() / np.maximum(p, 1e-12) >= FEWEST - 0.5
            limits[k] = at[(p >= precision) & enough].min(initial=np.inf)
    return limits


def at_precisions(model: Pipeline, scores: np.ndarray, labels: np.ndarray) -> pd.DataFrame:
    """Count the words that are assigned to test pictures at several required precisions.

    Parameters
    ----------
    model : Pipeline
        A model from `annotator`.
    scores : array, (n_test, n_words)
        Scores of the model on test pictures.
    labels : array, (n_test, n_words)
        Which test picture has which word: 1 or True, 0 or False, -1 if unknown.

    Returns
    -------
    table
        A row for each of `PRECISIONS`, with the columns

        - `precision`: the required precision on the known pictures;
        - `words`: the number of words for which some threshold reaches this precision;
        - `pictures`: the number of test pictures to which at least one word is assigned;
        - `of`: the number of test pictures;
        - `said`: the number of words assigned to all test pictures together;
        - `right`: the fraction of correct words among the assigned words with known labels, NaN if there are none.
    """
    rows = []
    for precision in PRECISIONS:
        limits = thresholds(model, precision)
        said = scores >= limits
        assigned = labels[said & (labels >= 0)]
        right = float((assigned == 1).mean()) if assigned.size else np.nan
        n_words, n_pictures = np.isfinite(limits).sum(), said.any(axis=1).sum()
        rows.append((precision, int(n_words), int(n_pictures), len(scores), int(said.sum()), right))
    return pd.DataFrame(rows, columns=["precision", "words", "pictures", "of", "said", "right"])

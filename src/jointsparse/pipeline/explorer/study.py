"""The data of a study that the page shows: the fits of its median run with the largest training sets."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy  # which loads scipy.sparse when it is used

from jointsparse.checks import Misfit, require
from jointsparse.metrics import by_rank
from jointsparse.pipeline import sweep
from jointsparse.pipeline.explorer.answers import Answers, Feature, Path
from jointsparse.pipeline.explorer.words import number
from jointsparse.pipeline.figures.style import label
from jointsparse.pipeline.scores.learnt import by_size
from jointsparse.pipeline.scores.scored_fits import ScoredFits
from jointsparse.pipeline.sweep import Sweep

MOST_FEATURES = 48  # most rows of the map of weights
RESPONDERS = 6  # number of test images that are shown for a feature's largest values, and again for its smallest


class Study(NamedTuple):
    """A study as the page shows it.

    Attributes
    ----------
    name : str
        Name of the study.
    tables : mapping
        The tables of the study, by name. The page reads `means`, `differences`, `sparsity` and `warnings`.
    figures : mapping
        Captions of the study's figures. The keys are the files of the figures, relative to the page.
    answers : Answers or None
        The answers of the study's fits for the test images; None for a study that learns no words.
    """

    name: str
    tables: Mapping[str, pd.DataFrame]
    figures: Mapping[str, str]
    answers: Answers | None = None


def study_answers(
    name: str,
    words: list[str],
    X: Any,
    test_images: Sequence[int],
    scores: ScoredFits,
    tables: Mapping[str, pd.DataFrame],
    sweeps: Mapping[str, Sweep],
    *,
    names: Sequence[str] = (),
) -> Answers:
    """Gather the answers that the fits of a study give for the test images.

    Parameters
    ----------
    name : str
        Name of the study.
    words : list of str
        Names of the words.
    X : matrix
        Features of the test images.
    test_images : list of int
        See `Answers`.
    scores : ScoredFits
        The scores of all chosen fits.
    tables : mapping
        The tables `chosen`, `means`, `by_word`, `words_learnt` and `sparsity`.
    sweeps : mapping
        The fits of the median run with the largest training sets, by method.
    names : list of str
        Names of the features; empty if they have none.
    """
    require(
        X.shape[0] == len(scores.labels),
        f"features must have a row for each of {len(scores.labels)} test images, got {X.shape[0]}",
        Misfit,
    )
    require(
        not names or len(names) >= X.shape[1],
        f"vocabulary must name each of {X.shape[1]} features, got {len(names)} names",
    )
    run, n = median_run(tables["chosen"]), int(scores.n.max())
    shown = np.flatnonzero((scores.run == run) & (scores.n == n))

    def rows(table: str, method: str) -> pd.DataFrame:
        own = tables[table]
        return own[(own["run"] == run) & (own["n"] == n) & (own["method"] == method)]

    auc = tables["means"][tables["means"]["n"] == n].set_index("method")["auc_weighted"]
    best = str(auc[list(sweeps)].idxmax())
    ranked = [_precision_by_word(scores, n, str(method), words) for method in scores.method[shown]]
    return Answers(
        about={
            "name": name,
            "by": f"the method {label(best)} of the study {name}",
            "with_maps": False,
            "n": n,
            "run": run,
            "runs": int(tables["chosen"]["run"].nunique()),
            "means": {"auc": number(auc[best])},
        },
        best=best,
        words=words,
        validation_words=scores.validation_words[shown[0]],
        X=X,
        names=names,
        test_images=test_images,
        labels=scores.labels,
        scores={str(scores.method[fit]): scores.score[fit] for fit in shown},
        learnt=tables["words_learnt"]
        .merge(pd.concat(ranked), on=["word", "method"], how="left")
        .assign(weight=lambda table: table["positives"]),
        by_size=by_size(tables["by_word"], dict(zip(words, (scores.labels >= 0).sum(axis=0), strict=True))),
        paths={
            method: _path(fits, rows("sparsity", method), rows("chosen", method), X, names)
            for method, fits in sweeps.items()
        },
    )


def median_run(chosen: pd.DataFrame) -> int:
    """Return the run in which the first method uses the median number of features with the largest training sets.

    If the number of runs is even, the lower of the two middle runs is returned. chosen: see
    `scores.evaluation.Evaluation`.

    >>> chosen = pd.DataFrame({"run": [1, 2, 3, 4, 1], "features": [1, 5, 2, 9, 0], "n": 9})
    >>> median_run(chosen.assign(method=[*4 * ["hinge-l1inf"], "svm-l2"]))
    3
    """
    rows = chosen[(chosen["n"] == chosen["n"].max()) & (chosen["method"] == chosen["method"].iloc[0])]
    return int(rows.sort_values("features", kind="stable")["run"].iloc[(len(rows) - 1) // 2])


def _precision_by_word(scores: ScoredFits, n: int, method: str, words: list[str]) -> pd.DataFrame:
    """Return the means of the results of `metrics.by_rank` for each word.

    The mean is over the runs in which the word did not help to choose the radius, or over all runs if it always did.
    """
    fits = (scores.n == n) & (scores.method == method)
    chose, once = scores.validation_words[fits], np.ones((1, len(scores.labels)), np.int32)
    counted = ~chose | chose.all(axis=0)
    numbers = np.array([by_rank(score, scores.labels, once)[:, 0] for score in scores.score[fits]])
    first, precision = np.average(numbers, axis=0, weights=np.broadcast_to(counted[:, np.newaxis], numbers.shape))
    return pd.DataFrame({"method": method, "word": words, "first": first, "precision": precision})


def _path(fits: Sweep, rows: pd.DataFrame, chosen: pd.DataFrame, X: Any, names: Sequence[str]) -> Path:
    """Return the path of fits at the chosen power of the singular values."""
    pairs = sweep.best_pairs(fits)
    require(
        len(rows) == len(pairs) and np.allclose(rows["radius"], fits.radius[pairs]),
        "the table sparsity must have a row for each fit of the path",
        Misfit,
    )
    same_power = (rows["power"] == chosen["power"].iloc[0]).to_numpy()
    rows, W = rows[same_power], fits.W[same_power]
    place = int(np.flatnonzero(rows["radius"] == chosen["radius"].iloc[0])[0])
    return Path(
        W=W,
        chosen=place,
        radius=[float(f"{radius:.4g}") for radius in rows["radius"]],
        auc=[float(f"{auc:.4g}") for auc in rows["auc_weighted"]],
        n_features=W.shape[1],
        features=_features(W[place], X, names),
    )


def _features(W: np.ndarray, X: Any, names: Sequence[str]) -> list[Feature]:
    """Return the features with the largest non-zero weights, largest first. W: (n_features, n_words)."""
    largest = np.abs(W).max(axis=1)
    places = np.argsort(-largest, kind="stable")[:MOST_FEATURES]
    places = places[largest[places] > 0]
    values = X[:, places]
    values = values.toarray() if scipy.sparse.issparse(values) else values
    features = []
    for place, column in zip(places.tolist(), values.T, strict=True):
        order = np.argsort(column, kind="stable")
        high = [int(i) for i in order[::-1][:RESPONDERS] if column[i] > 0]
        low = [int(i) for i in order[:RESPONDERS] if column[i] < 0]
        features.append(Feature(place, names[place] if names else f"feature {place}", high, low))
    return features

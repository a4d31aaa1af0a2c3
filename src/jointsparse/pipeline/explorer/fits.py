"""The chosen fits of a study's median run at its largest size, with the paths of radii that they were chosen from."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from jointsparse.checks import Misfit, require
from jointsparse.metrics import by_rank
from jointsparse.pipeline import sweep
from jointsparse.pipeline.scores.scored_fits import ScoredFits
from jointsparse.pipeline.sweep import Sweep


class Path(NamedTuple):
    """The fits of one method, by increasing radius. W: (n_radii, n_features, n_words). chosen: index of the chosen one.

    rows: their rows of the table sparsity.
    """

    W: np.ndarray
    chosen: int
    rows: pd.DataFrame


class Fits(NamedTuple):
    """The fits of a study that the page shows.

    Attributes
    ----------
    run, n : int
        The run, see `median_run`, and its largest number of positives.
    words : list of str, (n_words,)
        Columns of all matrices.
    validation_words : bool array, (n_words,)
        The words that chose the radii.
    X : matrix, (n_test_images, n_features)
        Features of the test images, dense or CSR.
    labels : bool array, (n_test_images, n_words)
        Which test image has which word.
    scores : dict of arrays, (n_test_images, n_words)
        The chosen fit's scores, by method.
    by_rank : dict of arrays, (2, n_words)
        Numbers of `metrics.by_rank`, by method: means over the runs in which a word did not choose the radius, or over
        all.
    paths : dict of Path
        By method.
    """

    run: int
    n: int
    words: list[str]
    validation_words: np.ndarray
    X: Any
    labels: np.ndarray
    scores: dict[str, np.ndarray]
    by_rank: dict[str, np.ndarray]
    paths: dict[str, Path]

    def W(self, method: str) -> np.ndarray:
        """The chosen W of a method, (n_features, n_words)."""
        path = self.paths[method]
        return path.W[path.chosen]


def fits_of(
    words: list[str],
    X: Any,
    scores: ScoredFits,
    chosen: pd.DataFrame,
    sparsity: pd.DataFrame,
    sweeps: Mapping[str, Sweep],
) -> Fits:
    """Gather what the page shows of a study's fits.

    Parameters
    ----------
    words : list of str
        Names of the words.
    X : matrix
        Features of the test images.
    scores : ScoredFits
        Of all chosen fits.
    chosen, sparsity : tables
        See `scores.evaluation.Evaluation`.
    sweeps : dict of Sweep
        The fits of the run that is shown at the largest size, by method.
    """
    require(
        X.shape[0] == len(scores.labels),
        f"features must have a row for each of {len(scores.labels)} test images, got {X.shape[0]}",
        Misfit,
    )
    run, n = median_run(chosen), int(scores.n.max())
    shown = np.flatnonzero((scores.run == run) & (scores.n == n))

    def rows_of(table: pd.DataFrame, method: str) -> pd.DataFrame:
        return table[(table["run"] == run) & (table["n"] == n) & (table["method"] == method)]

    return Fits(
        run,
        n,
        words,
        scores.validation_words[shown[0]],
        X,
        scores.labels,
        {str(scores.method[i]): scores.score[i] for i in shown},
        {
            str(method): _over_runs(scores, (scores.n == n) & (scores.method == method))
            for method in scores.method[shown]
        },
        {method: _path(one, rows_of(sparsity, method), rows_of(chosen, method)) for method, one in sweeps.items()},
    )


def median_run(chosen: pd.DataFrame) -> int:
    """The run in which the first method uses the median number of features at the largest size.

    chosen: see `scores.evaluation.Evaluation`. Of an even number of runs it is the lower median.

    >>> chosen = pd.DataFrame({"run": [1, 2, 3, 4, 1], "features": [1, 5, 2, 9, 0], "n": 9})
    >>> median_run(chosen.assign(method=[*4 * ["hinge-l1inf"], "svm-l2"]))
    3
    """
    rows = chosen[(chosen["n"] == chosen["n"].max()) & (chosen["method"] == chosen["method"].iloc[0])]
    return int(rows.sort_values("features", kind="stable")["run"].iloc[(len(rows) - 1) // 2])


def _over_runs(scores: ScoredFits, fits: np.ndarray) -> np.ndarray:
    """Means over some fits of the precision of the first images and the average precision, (2, n_words)."""
    chose, once = scores.validation_words[fits], np.ones((1, len(scores.labels)), np.int32)
    counted = ~chose | chose.all(axis=0)
    numbers = np.array([by_rank(score, scores.labels, once)[:, 0] for score in scores.score[fits]])
    return np.average(numbers, axis=0, weights=np.broadcast_to(counted[:, np.newaxis], numbers.shape))


def _path(fits: Sweep, rows: pd.DataFrame, chosen: pd.DataFrame) -> Path:
    """The fits with the power of the singular values that validation has chosen."""
    pairs = sweep.best_pairs(fits)
    require(
        len(rows) == len(pairs) and np.allclose(rows["radius"], fits.radius[pairs]),
        "the table sparsity must have a row for each fit of the path",
        Misfit,
    )
    same = (rows["power"] == chosen["power"].iloc[0]).to_numpy()
    place = np.flatnonzero((rows["radius"] == chosen["radius"].iloc[0]).to_numpy()[same])[0]
    return Path(fits.W[same], int(place), rows[same])

"""Choose a pair (eta0, radius) from each sweep, test the chosen fits, and make the tables of results.

Source: Quattoni et al. 2009, sec. 6.2; EER: 2008 report, sec. 5.2.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jointsparse.arrays import fingerprint, select
from jointsparse.checks import Misfit, require, require_extra
from jointsparse.learning import radii
from jointsparse.pipeline import sweep
from jointsparse.pipeline.flag import Flag, Kind, write_cell
from jointsparse.pipeline.scores.flags import GAP
from jointsparse.pipeline.scores.scored_fits import COMPARED, ScoredFits
from jointsparse.pipeline.sweep import Sweep
from jointsparse.pipeline.tasks import Tasks

require_extra(__name__, "pandas")
import pandas as pd  # noqa: E402

SAME_DIRECTION = 1e-3  # Choice: normalised weights within this relative distance count as the same classifiers

Matrix = Any  # dense or CSR


class TrainedSweep(NamedTuple):
    """A sweep to evaluate, with its run, training-set size, method, number of samples and validation words."""

    run: int
    n: int
    method: str
    n_samples: int
    sweep: Sweep
    validation_words: np.ndarray

    @property
    def key(self) -> dict[str, Any]:
        """The columns, with their values, that identify the rows of this sweep in a table."""
        return {"run": self.run, "n": self.n, "n_samples": self.n_samples, "method": self.method}


def average(by_task: np.ndarray, positives: np.ndarray, tasks: np.ndarray) -> tuple[float, float]:
    """Return the plain mean of a metric over some tasks, and the paper's mean, in which every positive weighs the same.

    by_task: AUC or EER per task. positives: number of positives per task. tasks: mask of the tasks to average. All
    three have the shape (n_tasks,).

    >>> average(np.array([0.5, 0.9, 0.1]), np.array([10, 30, 5]), np.array([True, True, False]))
    (0.7, 0.8)
    """
    chosen = by_task[tasks]
    return float(chosen.mean()), float(np.average(chosen, weights=positives[tasks]))


def trained_sweep(run: int, n: int, method: str, tasks: Tasks, fits: Sweep) -> TrainedSweep:
    """Return a sweep with the validation words of its run and the number of samples in its training sets.

    Parameters
    ----------
    run, n : int
        The number of the run, and the number of positives in each training set.
    method : str
        Loss and norm, such as "hinge-l1inf".
    tasks : Tasks
        All training sets of the run.
    fits : Sweep
        The fits on the training sets of size n.

    Raises
    ------
    Misfit
        If the sweep was learnt from other labels or by another method.
    """
    Y = tasks.training_sets(n)
    require(
        fits.learnt_from[1:].tolist() == [fingerprint(Y), method],
        f"the fits of {method}, run {run}, n {n}, must be learnt by that method from the training sets of that run",
        Misfit,
    )
    return TrainedSweep(run, n, method, int(np.count_nonzero(Y)), fits, tasks.validation_words)


class Evaluation(NamedTuple):
    """The tables of a study, and the test scores of its chosen fits.

    Attributes
    ----------
    chosen : table
        A row for each run, n and method, which describes the chosen pair (eta0, radius). Its columns include

        - `power`: see `Sweep`;
        - `objective`: the training objective, as a fraction of its value at W = 0;
        - `gap`: the certified relative duality gap;
        - `features`: the fraction of the features in use;
        - `validation`: the metric on the validation words;
        - `auc`, `eer`: test averages over the words that are not validation words. Columns with the suffix `_all` hold
          averages over all words, and columns with the suffix `_weighted` hold the paper's mean, see `average`;
        - `warning`: flags that say that a grid is too narrow, a gap is above 5 %, some tasks did not converge, the
          validation score is no better than chance, or scores are tied or undefined;
        - `note`: a flag if hardly any training loss is left, so that the solution is not unique.
    by_word : table
        A row for each run, n, method and word. `n_features` is the number of features that the word uses, and `warning`
        has flags for tied or undefined scores.
    sparsity : table
        A row for each run, n, method, power and radius, which describes the fit with the best eta0. `chosen` is True
        for the radius that validation chooses for its power, and `warning` has a flag for a gap above 5 %.
    convergence : table
        The objective of one method at every iteration, for each run, n and radius. Each eta0 is the best one for its
        radius.
    weights : table
        The non-zero weights of the chosen fits of the first run at one size, and the shape of W in the columns
        `n_features` and `n_words`.
    scores : ScoredFits
        The test scores of the chosen fits.
    """

    chosen: pd.DataFrame
    by_word: pd.DataFrame
    sparsity: pd.DataFrame
    convergence: pd.DataFrame
    weights: pd.DataFrame
    scores: ScoredFits


class SplitImages(NamedTuple):
    """The features X (n_images, n_features) and labels (n_images, n_words) of the images in a split."""

    X: Any
    labels: np.ndarray


def choose(
    trained: TrainedSweep, on_validation: SplitImages, metric: str, selection: str
) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
    """Choose eta0 by the training objective, then radius and power by a metric on the validation words.

    The function has no access to test images.

    Parameters
    ----------
    trained : TrainedSweep
        The fits to choose from.
    on_validation : SplitImages
        The validation images.
    metric : str
        "auc" or "eer".
    selection : str
        See `radii.choose_radius`.

    Returns
    -------
    pairs : array, (n_radii,)
        Index of the pair (eta0, radius) with the best eta0 for each radius, in the order of the radii in `Sweep.W`.
    validation : array, (n_radii,)
        Mean of the metric over the validation words for each of these pairs.
    best : int
        Index of the chosen radius in `pairs`.
    chosen_by_power : array, (n_powers,)
        Index in `pairs` of the radius chosen for each power.
    """
    best_eta0 = sweep.best_pairs(trained.sweep)
    by_word = np.array([_metric_by_word(W, on_validation, trained.validation_words, metric) for W in trained.sweep.W])
    chosen = sweep.choose_fit(_sign(metric) * by_word, trained.sweep.power[best_eta0], selection=selection)
    return best_eta0, by_word.mean(axis=1), *chosen


def _sign(metric: str) -> int:
    """Return 1 if larger values of the metric are better, otherwise -1."""
    return 1 if COMPARED[metric].higher_is_better else -1


def _metric_by_word(W: np.ndarray, on_validation: SplitImages, words: np.ndarray, metric: str) -> np.ndarray:
    """Compute the metric of each word in a mask. The result is an array (n_words,)."""
    return COMPARED[metric](on_validation.X @ W[:, words], on_validation.labels[:, words])


def validation_score(
    X: Matrix, labels: np.ndarray, split: np.ndarray, validation_words: np.ndarray, *, metric: str
) -> Callable[[np.ndarray], float]:
    """Return a function that scores W on the validation words and images. Larger scores are better.

    Parameters
    ----------
    X, labels, split, metric : as in `evaluate`
        See there.
    validation_words : bool array, (n_words,)
        Mask of the validation words.
    """
    on_validation = _images_of_split(X, labels, split == "validation")
    return lambda W: _sign(metric) * float(_metric_by_word(W, on_validation, validation_words, metric).mean())


def evaluate(
    sweeps: Iterable[TrainedSweep],
    X: Matrix,
    labels: np.ndarray,
    split: np.ndarray,
    words: Sequence[str],
    *,
    converging_method: str,
    metric: str,
    selection: str,
    at_size: int,
) -> Evaluation:
    """Choose eta0 by the training objective and the radius by a metric on validation words, then test the chosen fits.

    Test images are used only after the choice.

    Parameters
    ----------
    sweeps : iterable of TrainedSweep
        One sweep for each run, n and method. Only one sweep is held in memory at a time.
    X : matrix, (n_images, n_features)
        Features of all images, dense or CSR.
    labels : array, (n_images, n_words)
        Which image has which word, see `words.choose_words`.
    split : text array, (n_images,)
        "train", "validation", "test" or "unlabelled".
    words : list of str, (n_words,)
        Names of the words.
    converging_method : str
        Method whose objectives the table `convergence` lists.
    metric : str
        "auc" or "eer".
    selection : str
        See `radii.choose_radius`.
    at_size : int
        The n for which the table `weights` lists the fits of the first run.

    Returns
    -------
    Evaluation

    Raises
    ------
    Misfit
        If the fits, the features and the labels do not belong together.
    """
    on_validation, on_test = (_images_of_split(X, labels, split == name) for name in ("validation", "test"))
    features = fingerprint(X)
    evaluated: list[Evaluation] = []
    for trained in sweeps:
        _require_own(trained, labels.shape[1], features)
        first_run = evaluated[0].scores.run[0] if evaluated else trained.run
        evaluated.append(
            _evaluate_one(
                trained,
                on_validation,
                on_test,
                words,
                metric,
                selection,
                with_convergence=trained.method == converging_method,
                with_weights=(trained.run, trained.n) == (first_run, at_size),
            )
        )
    return _joined(evaluated)


def _evaluate_one(
    trained: TrainedSweep,
    on_validation: SplitImages,
    on_test: SplitImages,
    words: Sequence[str],
    metric: str,
    selection: str,
    *,
    with_convergence: bool,
    with_weights: bool,
) -> Evaluation:
    """Choose the best pair (eta0, radius) of a sweep and test it. Tables that were not requested are empty."""
    best_eta0, validation, best, chosen_by_power = choose(trained, on_validation, metric, selection)
    relative = trained.sweep.objective[best_eta0] / trained.sweep.objective[best_eta0, :1]
    tested = [
        _test(trained, pair, W, np.nanmin(objective), value, on_test)
        for pair, W, objective, value in zip(best_eta0, trained.sweep.W, relative, validation, strict=True)
    ]
    rows = [row for row, _, _ in tested]
    curves = [_convergence(row, curve) for row, curve in zip(rows, relative, strict=True)] if with_convergence else []
    (row, by_word, scores), W = tested[best], trained.sweep.W[best]
    score_warnings = _score_warnings(scores)
    warning_and_note = _warning_and_note(trained.sweep, best_eta0[best], score_warnings, validation[best], metric)
    fields = (trained.run, trained.n, trained.n_samples, trained.method, trained.validation_words, scores)
    return Evaluation(
        chosen=pd.DataFrame([row | warning_and_note]),
        by_word=_by_word(trained, words, (on_test.labels == 1).sum(axis=0), W, by_word, score_warnings),
        sparsity=pd.DataFrame(rows).assign(
            chosen=np.isin(np.arange(len(rows)), chosen_by_power),
            warning=[write_cell([_gap_flag(gap)]) for gap in trained.sweep.gap[best_eta0]],
        ),
        convergence=pd.concat(curves) if curves else pd.DataFrame(),
        weights=_weights(trained.run, trained.n, trained.method, W if with_weights else np.zeros((0, 0))),
        scores=ScoredFits._make([*(np.array([field]) for field in fields), on_test.labels]),
    )


def _joined(evaluated: Sequence[Evaluation]) -> Evaluation:
    """Join the tables and scores of several sweeps, all of which were evaluated on the same test labels."""
    *tables, scores = zip(*evaluated, strict=True)
    *fields, labels = zip(*scores, strict=True)
    # Empty tables are skipped, because they would change the types of columns.
    joined = [pd.concat([table for table in parts if len(table)] or parts[:1], ignore_index=True) for parts in tables]
    return Evaluation._make([*joined, ScoredFits._make([*map(np.concatenate, fields), labels[0]])])


def _images_of_split(X: Matrix, labels: np.ndarray, chosen: np.ndarray) -> SplitImages:
    return SplitImages(select(X, chosen), select(labels, chosen, "labels"))


def _require_own(trained: TrainedSweep, n_words: int, features: str) -> None:
    """Raise Misfit unless the fits were learnt from these features and have weights for this number of words."""
    fits = trained.sweep
    which = f"the fits of {trained.method}, run {trained.run}, n {trained.n},"
    require(fits.learnt_from[0] == features, f"{which} must be learnt from the features to be tested", Misfit)
    require(fits.W.shape[2:] == (n_words,), f"{which} must have {n_words} words, got shape {fits.W.shape}", Misfit)


def _test(
    trained: TrainedSweep, pair: int, W: np.ndarray, objective: float, validation: float, on_test: SplitImages
) -> tuple[dict[str, Any], dict[str, np.ndarray], np.ndarray]:
    """Return the row of a fit in the table `Evaluation.sparsity`, its AUC and EER by word, and its test scores."""
    scores = on_test.X @ W
    row = trained.key | {
        "radius": trained.sweep.radius[pair],
        "eta0": trained.sweep.eta0[pair],
        "power": trained.sweep.power[pair],
        "objective": objective,
        "gap": trained.sweep.gap[pair],
        "features": float(W.any(axis=1).mean()),
        "validation": validation,
    }
    by_word = {name: function(scores, on_test.labels) for name, function in COMPARED.items()}
    positives = (on_test.labels == 1).sum(axis=0)
    for name, values in by_word.items():
        for suffix, words in (("", ~trained.validation_words), ("_all", np.ones_like(trained.validation_words))):
            plain, weighted = average(values, positives, words)
            row |= {f"{name}{suffix}": plain, f"{name}{suffix}_weighted": weighted}
    return row, by_word, scores


def _convergence(row: dict[str, Any], objective: np.ndarray) -> pd.DataFrame:
    """Return a fit's rows in `Evaluation.convergence`. objective: its value at each iteration, relative to W = 0."""
    iterations = np.flatnonzero(~np.isnan(objective))
    columns = ("run", "n", "n_samples", "method", "radius", "eta0")
    return pd.DataFrame(
        {name: row[name] for name in columns}
        | {"iteration": iterations, "objective": objective[iterations], "gap": row["gap"]}
    )


def _by_word(
    trained: TrainedSweep,
    words: Sequence[str],
    positives: np.ndarray,
    W: np.ndarray,
    by_word: dict[str, np.ndarray],
    score_warnings: Sequence[str],
) -> pd.DataFrame:
    """Return the rows that describe a chosen fit in the table `Evaluation.by_word`."""
    columns = {
        "word": list(words),
        "validation_word": trained.validation_words,
        "positives": positives,
        "n_features": np.count_nonzero(W, axis=0),
        **by_word,
        "warning": list(score_warnings),
    }
    return pd.DataFrame(trained.key | columns)


def _weights(run: int, n: int, method: str, W: np.ndarray) -> pd.DataFrame:
    """Return a table with one row for each non-zero weight in W (n_features, n_words)."""
    feature, word = np.nonzero(W)
    return pd.DataFrame(
        {"run": run, "n": n, "method": method}
        | {"feature": feature, "word": word, "weight": W[feature, word]}
        | {"n_features": W.shape[0], "n_words": W.shape[1]}
    )


def _score_warnings(scores: np.ndarray) -> list[str]:
    """Return for each word a warning if its scores are tied or undefined, otherwise "".

    If all scores of a word are equal, its AUC and EER are 0.5 whatever the labels are. If scores are undefined, AUC and
    EER are missing.
    """
    tied, undefined = (scores == scores[:1]).all(axis=0), np.isnan(scores).any(axis=0)
    return np.select([undefined, tied], [Kind.UNDEFINED, Kind.TIED], "").tolist()


def _gap_flag(gap: float) -> Flag | None:
    return Flag(Kind.CERTIFIED_GAP, float(np.round(100 * gap)), "%") if gap > GAP else None


def _edge_of_radii(fits: Sweep, pair: int) -> Flag | None:
    """Return a flag if a chosen radius is at an edge of its grid and radii beyond the edge could be better.

    Radii beyond the edge cannot be better if hardly any loss is left at the edge, or if the neighbouring radius gives
    the same W up to a factor.
    """
    with_power = fits.power == fits.power[pair]
    edge = sweep.at_edge("radius", fits.radius[pair], fits.radius[with_power])
    if edge is None or radii.is_loss_gone(np.nanmin(fits.objective[pair]), fits.objective[pair, 0]):
        return None
    W = fits.W[fits.power[sweep.best_pairs(fits)] == fits.power[pair]]
    ends = W[:2] if fits.radius[pair] == fits.radius[with_power].min() else W[-2:]
    smaller, larger = (W / (np.linalg.norm(W, axis=0) + np.finfo(W.dtype).tiny) for W in ends)
    return None if np.linalg.norm(smaller - larger) <= SAME_DIRECTION * np.linalg.norm(smaller) else edge


def _not_unique(fits: Sweep, pair: int) -> Flag | None:
    """Return a flag if the fit has hardly any loss left, so that many W are equally good; otherwise None."""
    nothing_left = np.nanmin(fits.objective, axis=1) <= radii.NOTHING_LEFT * fits.objective[:, 0]
    alike = nothing_left & (fits.power == fits.power[pair])
    return Flag(Kind.NOT_UNIQUE, float(fits.radius[alike].min())) if nothing_left[pair] else None


def _warning_and_note(
    fits: Sweep, pair: int, score_warnings: Sequence[str], validation: float, metric: str
) -> dict[str, str]:
    """Return the values of the columns `warning` and `note` for a chosen pair (eta0, radius), see `Evaluation`."""
    flags = [_edge_of_radii(fits, pair)]
    if not fits.gap[pair] <= GAP:  # if the gap is certified, no other step size could be much better
        flags += [sweep.at_edge("eta0", fits.eta0[pair], fits.eta0), _gap_flag(fits.gap[pair])]
    if fits.unconverged[pair]:
        flags.append(Flag(Kind.NOT_CONVERGED, int(fits.unconverged[pair])))
    if _sign(metric) * (validation - 0.5) <= 0:  # chance level is 0.5 for AUC and EER
        flags.append(Flag(Kind.NO_BETTER))
    for kind, of_words in ((Kind.TIED, Kind.WORDS_TIED), (Kind.UNDEFINED, Kind.WORDS_UNDEFINED)):
        if kind in score_warnings:
            flags.append(Flag(of_words, score_warnings.count(kind)))
    return {"warning": write_cell(flags), "note": write_cell([_not_unique(fits, pair)])}

"""Choose the best pair of each sweep, test it, and make the tables of that; likewise for paths of radii.

Source: Quattoni et al. 2009, sec. 6.2; EER: 2008 report, sec. 5.2.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from jointsparse.checks import Misfit, fingerprint, select
from jointsparse.learning import sweep
from jointsparse.learning.tasks import training_sets
from jointsparse.scores.flags import GAP
from jointsparse.scores.metrics import METRICS, SIGN, average, require_labels, require_metric, require_words

# Warnings: AUC and EER of tied scores are one half, whatever the word; those of undefined ones are missing.
TIED = "the same score for all test images"
UNDEFINED = "scores that are not numbers"


class TrainedSweep(NamedTuple):
    """One sweep to evaluate: where it comes from, its arrays (see `sweep.run`), and its run's validation words."""

    run: int
    n: int
    method: str
    n_samples: int
    arrays: dict[str, np.ndarray]
    validation_words: np.ndarray


def trained_sweep(
    run: int, n: int, method: str, tasks: dict[str, np.ndarray], arrays: dict[str, np.ndarray]
) -> TrainedSweep:
    """A sweep with what its run's tasks say of it: tasks holds Y, sizes and validation_words (see `tasks.draw`).

    Raises Misfit where the sweep was learnt from other labels than these, or by another method.
    """
    Y = training_sets(tasks, n)
    if "learnt_from" in arrays and arrays["learnt_from"][1:].tolist() != [fingerprint(Y), method]:
        raise Misfit(
            f"the fits of {method}, run {run}, n {n}, must be learnt by it, from the training sets of that run"
        )
    return TrainedSweep(run, n, method, int(np.count_nonzero(Y)), arrays, tasks["validation_words"])


class Evaluation(NamedTuple):
    """The tables of a study, and the test scores of every chosen fit as {"run method n": (n_test_images, n_words)}.

    chosen: one row per run, n and method: the chosen pair, its objective relative to W = 0, its gap (how far its
    objective may be from the optimum, as a fraction of it), its fraction of features, the metric on the validation
    words, its averages of AUC and EER over test images: of the words not used for validation, and _all words; plain
    and _weighted (see `average`); and a warning: a chosen value at the edge of its grid, a gap above 5 %, tasks that
    did not converge, words whose test scores are all the same.
    by_word: one row per run, n, method and word, with a warning of such scores. sparsity: one row per run, n, method
    and radius at its best eta0.
    convergence: the objective of one method at every iteration, per run, n and radius at its best eta0.
    weights: the non-zero weights of the chosen fits of the first run at one size, and W's shape: n_features, n_words.
    """

    chosen: pd.DataFrame
    by_word: pd.DataFrame
    sparsity: pd.DataFrame
    convergence: pd.DataFrame
    weights: pd.DataFrame
    scores: dict[str, np.ndarray]


def choose(
    one: TrainedSweep, X: np.ndarray | sparse.csr_matrix, labels: np.ndarray, metric: str
) -> tuple[np.ndarray, np.ndarray, int]:
    """Choose eta0 by training objective and the radius by a metric on the validation words.

    X: (n_validation_images, n_features), labels: (n_validation_images, n_words) bool; of validation images only.
    Returns the pair of each radius in increasing order (n_radii,), its mean of the metric over the validation words
    (n_radii,), and which of these radii is the best.
    """
    best_eta0 = sweep.choose_eta0(one.arrays)
    validation = _validation(one, X, labels, metric)
    return best_eta0, validation, sweep.choose_parameter(SIGN[metric] * validation)


def _validation(one: TrainedSweep, X: np.ndarray | sparse.csr_matrix, labels: np.ndarray, metric: str) -> np.ndarray:
    """The mean of the metric over the validation words, for each radius."""
    words = one.validation_words
    return np.array([METRICS[metric](X @ W[:, words], labels[:, words]).mean() for W in one.arrays["W"]])


def evaluate(
    sweeps: Iterable[TrainedSweep],
    X: np.ndarray | sparse.csr_matrix,
    labels: np.ndarray,
    split: np.ndarray,
    words: Sequence[str],
    *,
    converging_method: str,
    metric: str = "auc",
    at_size: int | None = None,
) -> Evaluation:
    """Choose eta0 by training objective and the radius by a metric on the validation words, then test.

    X: (n_images, n_features), dense or CSR. labels: (n_images, n_words) bool. split: (n_images,). words: their names.
    converging_method: the method whose objective at every iteration is wanted. metric: "auc" or "eer".
    at_size: the n whose weights are wanted, of the first sweep's run; None: of none.
    Test images enter only after the choice is made. Raises ValueError if no sweep of the first run is at_size, and
    Misfit where arrays do not belong together.
    """
    require_metric(metric)
    require_labels(labels, len(words))
    on_validation, on_test = (_part(X, labels, split == part) for part in ("validation", "test"))
    features = fingerprint(X)
    positives = on_test[1].sum(axis=0)
    chosen_rows, word_rows, sparsity_rows, convergence_rows = [], [], [], []
    weights: list[pd.DataFrame] = []
    scores: dict[str, np.ndarray] = {}
    first_run = None
    for one in sweeps:
        first_run = one.run if first_run is None else first_run
        _check_fits(one, X.shape[1], labels.shape[1], features)
        best_eta0, validation, chosen = choose(one, *on_validation, metric)
        for i, (p, W) in enumerate(zip(best_eta0, one.arrays["W"], strict=True)):
            objective = one.arrays["objective"][p] / one.arrays["objective"][p, 0]
            row, by_word, test_scores = _tested(one, p, W, np.nanmin(objective), validation[i], *on_test)
            sparsity_rows.append(row)
            if one.method == converging_method:
                convergence_rows += [
                    _key(one)
                    | {"radius": row["radius"], "eta0": row["eta0"], "iteration": t, "objective": value}
                    | {"gap": row["gap"]}
                    for t, value in enumerate(objective)
                    if not np.isnan(value)
                ]
            if i == chosen:
                of_scores = _of_scores(test_scores)
                chosen_rows.append(row | {"warning": _warning(one.arrays, p, of_scores)})
                scores[f"{one.run} {one.method} {one.n}"] = test_scores
                word_rows += [
                    _key(one)
                    | {"word": word, "validation_word": bool(one.validation_words[k]), "positives": int(positives[k])}
                    | {name: values[k] for name, values in by_word.items()}
                    | {"warning": of_scores[k]}
                    for k, word in enumerate(words)
                ]
                if (one.run, one.n) == (first_run, at_size):
                    weights.append(_weights(one.run, one.n, one.method, W))
    if at_size is not None and not weights:
        raise ValueError(f"at_size must be one of the sizes of run {first_run}, got {at_size}")
    return Evaluation(
        chosen=pd.DataFrame(chosen_rows),
        by_word=pd.DataFrame(word_rows),
        sparsity=pd.DataFrame(sparsity_rows),
        convergence=pd.DataFrame(convergence_rows),
        weights=pd.concat(weights, ignore_index=True) if weights else _weights(0, 0, "", np.zeros((0, 0))),
        scores=scores,
    )


def path_table(
    paths: Iterable[TrainedSweep],
    X: np.ndarray | sparse.csr_matrix,
    labels: np.ndarray,
    split: np.ndarray,
    *,
    metric: str = "auc",
) -> pd.DataFrame:
    """The rows of `Evaluation.sparsity` for every radius of some paths, whose arrays are those of `sweep.path`.

    X, labels, split, metric: as in `evaluate`. Nothing is chosen, and eta0 is empty. warning: of gaps above 5 %.
    """
    require_metric(metric)
    require_labels(labels)
    on_validation, on_test = (_part(X, labels, split == part) for part in ("validation", "test"))
    features = fingerprint(X)
    rows = []
    for one in paths:
        _check_fits(one, X.shape[1], labels.shape[1], features)
        objective = one.arrays["objective"] / one.arrays["at_zero"]
        validation = _validation(one, *on_validation, metric)
        for p, W in enumerate(one.arrays["W"]):
            row, _, _ = _tested(one, p, W, objective[p], validation[p], *on_test)
            rows.append(row | {"warning": _of_gap(one.arrays["gap"][p])})
    return pd.DataFrame(rows)


def _part(X: np.ndarray | sparse.csr_matrix, labels: np.ndarray, chosen: np.ndarray) -> tuple[Any, np.ndarray]:
    return select(X, chosen), select(labels, chosen, "labels")


def _check_fits(one: TrainedSweep, n_features: int, n_words: int, features: str) -> None:
    """Raise Misfit where fits have not the shapes of what they are tested on, or were learnt from other features."""
    which = f"the fits of {one.method}, run {one.run}, n {one.n},"
    n_pairs = one.arrays["radius"].shape[:1]
    for name in ("radius", "eta0", "gap", "objective", "unconverged", "W", "at_zero"):
        array = one.arrays.get(name, np.zeros(n_pairs))
        if array.dtype.kind not in "fi" or (name not in ("W", "at_zero") and array.shape[:1] != n_pairs):
            raise Misfit(f"{which} must have a number {name} for each pair, got {array.dtype} {array.shape}")
        if name in ("radius", "eta0", "gap", "unconverged") and array.ndim != 1:
            raise Misfit(f"{which} must have one {name} for each pair, got shape {array.shape}")
    expected = (len(np.unique(one.arrays["radius"])), n_features, n_words)
    if one.arrays["W"].shape != expected:
        raise Misfit(f"{which} must have shape {expected} (radii, features, words), got {one.arrays['W'].shape}")
    require_words(one.validation_words, n_words)
    if "learnt_from" in one.arrays and one.arrays["learnt_from"][0] != features:
        raise Misfit(f"{which} were learnt from other features than these")


def _tested(
    one: TrainedSweep,
    pair: int,
    W: np.ndarray,
    objective: float,
    validation: float,
    X: np.ndarray | sparse.csr_matrix,
    labels: np.ndarray,
) -> tuple[dict[str, Any], dict[str, np.ndarray], np.ndarray]:
    """A pair's row of `Evaluation.sparsity`, its AUC and EER by word, and its scores, all on the test images X."""
    scores = X @ W
    row = _key(one) | {
        "radius": one.arrays["radius"][pair],
        "eta0": one.arrays["eta0"][pair] if "eta0" in one.arrays else np.nan,
        "objective": objective,
        "gap": one.arrays["gap"][pair],
        "features": float(W.any(axis=1).mean()),
        "validation": validation,
    }
    by_word = {name: function(scores, labels) for name, function in METRICS.items()}
    for name, values in by_word.items():
        for suffix, tasks in (("", ~one.validation_words), ("_all", np.ones_like(one.validation_words))):
            plain, weighted = average(values, labels.sum(axis=0), tasks)
            row |= {f"{name}{suffix}": plain, f"{name}{suffix}_weighted": weighted}
    return row, by_word, scores


def _key(one: TrainedSweep) -> dict[str, Any]:
    return {"run": one.run, "n": one.n, "n_samples": one.n_samples, "method": one.method}


def _weights(run: int, n: int, method: str, W: np.ndarray) -> pd.DataFrame:
    """The non-zero weights of W (n_features, n_words) as rows."""
    feature, word = np.nonzero(W)
    return pd.DataFrame(
        {"run": run, "n": n, "method": method, "feature": feature, "word": word, "weight": W[feature, word]}
        | {"n_features": W.shape[0], "n_words": W.shape[1]}
    )


def _of_scores(scores: np.ndarray) -> list[str]:
    """What a reader should know of the scores (n_images, n_words), for each word."""
    tied, undefined = (scores == scores[:1]).all(axis=0), np.isnan(scores).any(axis=0)
    return np.select([undefined, tied], [UNDEFINED, TIED], "").tolist()


def _of_gap(gap: float) -> str:
    return f"certified gap {gap:.0%}" if gap > GAP else ""


def _warning(arrays: dict[str, np.ndarray], pair: int, of_scores: Sequence[str]) -> str:
    """What a reader should know of a chosen pair: a grid too narrow, a fit not finished, scores that say nothing."""
    warnings = [sweep.at_edge(name, arrays[name][pair], arrays[name]) for name in ("radius", "eta0")]
    warnings.append(_of_gap(arrays["gap"][pair]))
    unconverged = arrays.get("unconverged", np.zeros(pair + 1, dtype=int))[pair]
    if unconverged:
        warnings.append(f"{unconverged} tasks not converged")
    for kind in (TIED, UNDEFINED):
        if kind in of_scores:
            warnings.append(f"{of_scores.count(kind)} words with {kind}")
    return "; ".join(filter(None, warnings))

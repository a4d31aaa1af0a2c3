"""How good a ranking is, and whether one is better than another: AUC, EER, tests, and the tables made of them.

Source: Quattoni et al. 2009, sec. 6.1; EER: 2008 report, sec. 5.2.
"""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numba import njit
from scipy import sparse
from scipy.stats import binom, rankdata, t

from jointsparse import papers, sweep
from jointsparse.checks import Misfit, fingerprint, select, training_sets
from jointsparse.thresholds import GAP


def auc(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Area under the ROC curve of each task: the fraction of (positive, negative) pairs that are ranked rightly.

    scores: (n_samples, n_tasks). labels: the same shape, bool. A task without positives or negatives gets NaN.
    Source: Quattoni et al. 2009, eq. 20.

    >>> auc(np.array([[0.1], [0.4], [0.35], [0.8]]), np.array([[False], [False], [True], [True]]))
    array([0.75])
    """
    # Choice: a tie counts one half, as usual for AUC; the paper's strict inequality would count it as wrong.
    ranks = rankdata(scores, axis=0)
    positives = labels.sum(axis=0)
    negatives = len(labels) - positives
    rank_sums = np.where(labels, ranks, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (rank_sums - positives * (positives + 1) / 2) / (positives * negatives)


@njit(cache=True, nogil=True)
def _weighted_auc_eer(
    order: np.ndarray, last: np.ndarray, labels: np.ndarray, counts: np.ndarray, auc: np.ndarray, eer: np.ndarray
) -> None:
    """Fill auc and eer (n_resamples,) of one task, where image i counts counts[b, i] times in resample b.

    order, last: see `_ranked`. labels: (n_images,) 0 or 1, in that order.
    """
    for b in range(len(counts)):
        positives, negatives = 0, 0
        for i in range(len(order)):
            positives += counts[b, order[i]] * labels[i]
            negatives += counts[b, order[i]] * (1 - labels[i])
        if positives == 0 or negatives == 0:
            auc[b] = eer[b] = np.nan
            continue
        # below: positives * negatives times (false negative rate - false positive rate); EER is where it meets 0.
        twice_area, above, below = 0, 0, positives * negatives
        tied_positives, tied_negatives = 0, 0
        for i in range(len(order)):
            tied_positives += counts[b, order[i]] * labels[i]
            tied_negatives += counts[b, order[i]] * (1 - labels[i])
            if last[i]:
                twice_area += tied_positives * (2 * (negatives - above) - tied_negatives)
                if below > 0:
                    step = tied_negatives * positives + tied_positives * negatives
                    if step >= below:
                        eer[b] = (above + tied_negatives * (below / step)) / negatives
                    below -= step
                above += tied_negatives
                tied_positives, tied_negatives = 0, 0
        auc[b] = twice_area / (2 * positives * negatives)


def _ranked(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The samples by decreasing score (n_samples,), and which of them is the last of those with its score."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    return order, np.append(ranked[1:] != ranked[:-1], True)


def _resampled(scores: np.ndarray, labels: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """AUC and EER, (2, n_resamples, n_tasks), where sample i counts counts[b, i] times in resample b; else as `auc`."""
    by_metric = np.full((2, labels.shape[1], len(counts)), np.nan)
    for k in range(labels.shape[1]):
        if not np.isnan(scores[:, k]).any():
            order, last = _ranked(scores[:, k])
            _weighted_auc_eer(order, last, labels[order, k].astype(np.int64), counts, *by_metric[:, k])
    return by_metric.swapaxes(1, 2)


def eer(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Equal error rate of each task: where the fractions of positives rejected and of negatives accepted are the same.

    A threshold is moved from the largest score down; between two thresholds that tell samples apart both fractions are
    interpolated linearly, and tied scores are accepted together.

    scores: (n_samples, n_tasks). labels: the same shape, bool. A task without positives or negatives gets NaN.
    Source: Quattoni et al. 2008 report, sec. 5.2.

    >>> eer(np.array([[0.1], [0.4], [0.35], [0.8]]), np.array([[False], [False], [True], [True]]))
    array([0.5])
    """
    # Choice: linear interpolation on the ROC curve; the report does not say how it reads the rate off.
    return _resampled(scores, labels, np.ones((1, len(scores)), np.int32))[1, 0]


METRICS = {"auc": auc, "eer": eer}
SIGN = {"auc": 1, "eer": -1}  # -1: smaller is better

# Warnings: AUC and EER of tied scores are one half, whatever the word; those of undefined ones are missing.
TIED = "the same score for all test images"
UNDEFINED = "scores that are not numbers"


def average(by_task: np.ndarray, positives: np.ndarray, tasks: np.ndarray) -> tuple[float, float]:
    """The plain mean of a metric over some tasks, and the paper's mean in which every positive weighs the same.

    by_task: (n_tasks,) AUC or EER. positives: (n_tasks,) their numbers of positives. tasks: (n_tasks,) bool.
    """
    chosen = by_task[tasks]
    return float(chosen.mean()), float(np.average(chosen, weights=positives[tasks]))


class SignTest(NamedTuple):
    """Pairs that f ranks rightly and g wrongly (wins), the reverse (losses), and the one-sided exact p-values.

    p: for "f is better"; p_reverse: for "g is better". Each is an array with one entry per pairing.
    """

    wins: np.ndarray
    losses: np.ndarray
    p: np.ndarray
    p_reverse: np.ndarray


def sign_test(
    f: np.ndarray, g: np.ndarray, labels: np.ndarray, *, n_pairings: int, rng: np.random.Generator
) -> SignTest:
    """Does f rank positives above negatives more often than g? Sign tests over random pairs, pooled over tasks.

    Each positive of a task is paired with a distinct negative of the same task (the smaller side decides how many
    pairs there are). Of the pairs that exactly one of f and g ranks rightly, wins ~ Bin(wins + losses, ½) if f and g
    are equally good; ties count for neither. The pairing is random, so n_pairings of them are tested.

    f, g: (n_samples, n_tasks) scores. labels: the same shape, bool.
    """
    wins = np.zeros(n_pairings, dtype=int)
    losses = np.zeros(n_pairings, dtype=int)
    for k in range(labels.shape[1]):
        positives, negatives = np.flatnonzero(labels[:, k]), np.flatnonzero(~labels[:, k])
        n_pairs = min(len(positives), len(negatives))
        left = rng.permuted(np.tile(positives, (n_pairings, 1)), axis=1)[:, :n_pairs]
        right = rng.permuted(np.tile(negatives, (n_pairings, 1)), axis=1)[:, :n_pairs]
        f_sign = np.sign(f[left, k] - f[right, k])
        g_sign = np.sign(g[left, k] - g[right, k])
        wins += ((f_sign > 0) & (g_sign < 0)).sum(axis=1)
        losses += ((f_sign < 0) & (g_sign > 0)).sum(axis=1)
    n = wins + losses
    return SignTest(wins, losses, binom.sf(wins - 1, n, 0.5), binom.sf(losses - 1, n, 0.5))


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's step-down correction of p-values for the number of tests.

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    corrected = np.empty(len(p))
    corrected[order] = stepped
    return corrected


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
    _check_metric(metric)
    _check_labels(labels, len(words))
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
                    | {"parameter": row["parameter"], "eta0": row["eta0"], "iteration": t, "objective": value}
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
    _check_metric(metric)
    _check_labels(labels)
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


def _check_metric(metric: str) -> None:
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}")


def _check_labels(labels: np.ndarray, n_words: int | None = None) -> None:
    if labels.ndim != 2 or labels.dtype != bool or labels.shape[1] != (n_words or labels.shape[1]):
        raise Misfit(f"labels must be bool with a column for each word, got {labels.dtype} with shape {labels.shape}")


def _check_words(validation_words: np.ndarray, n_words: int) -> None:
    if validation_words.shape != (n_words,) or validation_words.dtype != bool:
        got = f"{validation_words.dtype} {validation_words.shape}"
        raise Misfit(f"validation_words must be bool, one for each of {n_words} words, got {got}")


def _part(X: np.ndarray | sparse.csr_matrix, labels: np.ndarray, chosen: np.ndarray) -> tuple[Any, np.ndarray]:
    return select(X, chosen), select(labels, chosen, "labels")


def _check_fits(one: TrainedSweep, n_features: int, n_words: int, features: str) -> None:
    """Raise Misfit where fits have not the shapes of what they are tested on, or were learnt from other features."""
    which = f"the fits of {one.method}, run {one.run}, n {one.n},"
    n_pairs = one.arrays["parameter"].shape[:1]
    for name in ("parameter", "eta0", "gap", "objective", "unconverged", "W", "at_zero"):
        array = one.arrays.get(name, np.zeros(n_pairs))
        if array.dtype.kind not in "fi" or (name not in ("W", "at_zero") and array.shape[:1] != n_pairs):
            raise Misfit(f"{which} must have a number {name} for each pair, got {array.dtype} {array.shape}")
        if name in ("parameter", "eta0", "gap", "unconverged") and array.ndim != 1:
            raise Misfit(f"{which} must have one {name} for each pair, got shape {array.shape}")
    expected = (len(np.unique(one.arrays["parameter"])), n_features, n_words)
    if one.arrays["W"].shape != expected:
        raise Misfit(f"{which} must have shape {expected} (radii, features, words), got {one.arrays['W'].shape}")
    _check_words(one.validation_words, n_words)
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
        "parameter": one.arrays["parameter"][pair],
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
    warnings = [sweep.at_edge(name, arrays[name][pair], arrays[name]) for name in ("parameter", "eta0")]
    warnings.append(_of_gap(arrays["gap"][pair]))
    unconverged = arrays.get("unconverged", np.zeros(pair + 1, dtype=int))[pair]
    if unconverged:
        warnings.append(f"{unconverged} tasks not converged")
    for kind in (TIED, UNDEFINED):
        if kind in of_scores:
            warnings.append(f"{of_scores.count(kind)} words with {kind}")
    return "; ".join(filter(None, warnings))


def significance(
    scores: dict[str, np.ndarray],
    labels: np.ndarray,
    validation_words: dict[int, np.ndarray],
    *,
    n_samples: dict[int, int],
    methods: Sequence[str],
    n_pairings: int,
    seed: int,
) -> pd.DataFrame:
    """Sign tests of the first method against each other one, for every run and size.

    scores: test scores by "run method n" (see `Evaluation`). labels: (n_test_images, n_words) bool. validation_words:
    per run, bool; these are left out in the rows with words = "test words" and kept in those with "all words".
    n_samples: per n. p, wins, losses: of the first pairing drawn from seed; p_median: over all n_pairings; p_holm,
    p_reverse_holm: corrected for all comparisons of the table with the same words, run and direction. paper: Quattoni
    et al. 2009, Table 1.

    Pooled pairs share images across words, so the test is not exact; and a median of p-values is not a p-value.
    Raises Misfit where scores are missing or not of these images and words.
    """
    _check_scores(scores, labels, validation_words, n_samples, methods)
    first, others = methods[0], methods[1:]
    tables = []
    for run, in_validation in validation_words.items():
        for label, words in (("test words", ~in_validation), ("all words", np.ones_like(in_validation))):
            rows = []
            for n in n_samples:
                for other in others:
                    f, g = (scores[f"{run} {method} {n}"][:, words] for method in (first, other))
                    tested = sign_test(f, g, labels[:, words], n_pairings=n_pairings, rng=np.random.default_rng(seed))
                    rows.append(
                        {"run": run, "n": n, "n_samples": n_samples[n], "words": label, "method": first}
                        | {"against": other, "wins": tested.wins[0], "losses": tested.losses[0], "p": tested.p[0]}
                        | {"p_median": np.median(tested.p), "p_reverse": tested.p_reverse[0]}
                        | {"p_reverse_median": np.median(tested.p_reverse)}
                    )
            table = pd.DataFrame(rows)
            table["p_holm"] = holm(table["p"].to_numpy())
            table["p_reverse_holm"] = holm(table["p_reverse"].to_numpy())
            tables.append(table)
    table = pd.concat(tables, ignore_index=True)
    reported = papers.TABLE_1.set_index("n")
    table["paper"] = [
        reported[norm].get(n) if (norm := against.split("-")[1]) in reported else None
        for n, against in zip(table["n"], table["against"], strict=True)
    ]
    return table


def differences(
    scores: dict[str, np.ndarray],
    labels: np.ndarray,
    validation_words: dict[int, np.ndarray],
    *,
    n_samples: dict[int, int],
    methods: Sequence[str],
    n_resamples: int,
    seed: int,
) -> pd.DataFrame:
    """How much the first method differs from each other one, in AUC and EER, with 95 % intervals.

    scores, labels, validation_words, n_samples: as in `significance`. difference: method minus against, of the plain
    mean over words (words: "test words" or "all words"), averaged over runs; runs: how many. low, high: how far the
    difference moves when test images are drawn anew n_resamples times, with replacement and the same for all methods,
    words and runs (percentiles), and how far runs are apart (t interval of their mean), added in squares. A word that
    such a draw leaves without positives or negatives is left out of its mean. The words are taken as given: intervals
    say nothing of other words, and with a single run nothing of other training sets.
    """
    _check_scores(scores, labels, validation_words, n_samples, methods)
    images = _resample(len(labels), n_resamples, np.random.default_rng(seed))
    rows = []
    for n in n_samples:
        means = {
            method: np.stack(
                [
                    _means_over_words(_resampled(scores[f"{run} {method} {n}"], labels, images), in_validation)
                    for run, in_validation in validation_words.items()
                ]
            )
            for method in methods
        }
        for other in methods[1:]:
            by_run = means[methods[0]] - means[other]
            for i, metric in enumerate(METRICS):
                for j, words in enumerate(("test words", "all words")):
                    difference, low, high = _interval(by_run[:, i, j])
                    rows.append(
                        {"metric": metric, "n": n, "n_samples": n_samples[n], "words": words, "method": methods[0]}
                        | {"against": other, "difference": difference, "low": low, "high": high, "runs": len(by_run)}
                    )
    return pd.DataFrame(rows).sort_values("metric", kind="stable", ignore_index=True)


def _check_scores(
    scores: dict[str, np.ndarray],
    labels: np.ndarray,
    validation_words: dict[int, np.ndarray],
    n_samples: dict[int, int],
    methods: Sequence[str],
) -> None:
    """Raise Misfit where scores are missing, or not of these images and words."""
    _check_labels(labels)
    for run, method, n in product(validation_words, methods, n_samples):
        name = f"{run} {method} {n}"
        if name not in scores:
            raise Misfit(f"there must be scores of {method}, run {run}, n {n}, got those of {', '.join(scores)}")
        if scores[name].shape != labels.shape or scores[name].dtype.kind != "f":
            got = f"{scores[name].dtype} {scores[name].shape}"
            raise Misfit(f"scores of {method}, run {run}, n {n}, must be numbers of shape {labels.shape}, got {got}")
    for in_validation in validation_words.values():
        _check_words(in_validation, labels.shape[1])


def _interval(by_run: np.ndarray) -> tuple[float, float, float]:
    """The mean over runs and its interval. by_run: (n_runs, 1 + n_resamples), the first column of all images."""
    n_runs = len(by_run)
    mean, resampled = by_run[:, 0].mean(), by_run[:, 1:].mean(axis=0)
    resampled = resampled[~np.isnan(resampled)]
    if not len(resampled):
        return float(mean), np.nan, np.nan
    below, above = mean - np.quantile(resampled, 0.025), np.quantile(resampled, 0.975) - mean
    # Choice: runs are few, and resampling them as well would make them look closer to each other than they are.
    of_runs = t.ppf(0.975, n_runs - 1) * by_run[:, 0].std(ddof=1) / np.sqrt(n_runs) if n_runs > 1 else 0.0
    return float(mean), float(mean - np.hypot(below, of_runs)), float(mean + np.hypot(above, of_runs))


def _resample(n: int, n_resamples: int, rng: np.random.Generator) -> np.ndarray:
    """How often each of n things is drawn, (1 + n_resamples, n): once each in the first row, then with replacement."""
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=n_resamples)
    return np.concatenate([np.ones((1, n)), drawn]).astype(np.int32)


def _means_over_words(by_word: np.ndarray, in_validation: np.ndarray) -> np.ndarray:
    """Means over test words and over all words, NaNs left out: (2, n_resamples, n_words) to (2, 2, n_resamples)."""
    means = []
    for words in (~in_validation, np.ones_like(in_validation)):
        defined = ~np.isnan(by_word[..., words])
        with np.errstate(invalid="ignore"):
            means.append(np.where(defined, by_word[..., words], 0.0).sum(axis=-1) / defined.sum(axis=-1))
    return np.stack(means, axis=1)

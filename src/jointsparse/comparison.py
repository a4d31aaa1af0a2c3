"""How good a ranking is, and whether one is better than another: AUC, sign tests, and the tables made of them.

Source: Quattoni et al. 2009, sec. 6.1.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binom, rankdata

from jointsparse import papers, sweep


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


def average_auc(by_task: np.ndarray, positives: np.ndarray, tasks: np.ndarray) -> tuple[float, float]:
    """The plain mean of the AUCs of some tasks, and the paper's mean in which every positive weighs the same.

    by_task: (n_tasks,) AUC. positives: (n_tasks,) their numbers of positives. tasks: (n_tasks,) bool.
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
    """A sweep with what its run's tasks say of it: tasks holds Y, sizes and validation_words (see `tasks.draw`)."""
    Y = tasks["Y"][list(tasks["sizes"]).index(n)]
    return TrainedSweep(run, n, method, int(np.count_nonzero(Y)), arrays, tasks["validation_words"])


class Evaluation(NamedTuple):
    """The tables of a study, and the test scores of every chosen fit as {"run method n": (n_test_images, n_words)}.

    auc: one row per run, n and method: the chosen pair, its averages of AUC, its fraction of features, and its gap: how
    far its objective may be from the optimum, as a fraction of it.
    auc_by_word: one row per run, n, method and word. sparsity: one row per run, n, method and radius at its best eta0.
    convergence: the objective of the first method at every iteration, per run, n and radius at its best eta0.
    """

    auc: pd.DataFrame
    auc_by_word: pd.DataFrame
    sparsity: pd.DataFrame
    convergence: pd.DataFrame
    scores: dict[str, np.ndarray]


def evaluate(
    sweeps: Iterable[TrainedSweep],
    X: np.ndarray,
    labels: np.ndarray,
    split: np.ndarray,
    words: Sequence[str],
    *,
    converging_method: str,
) -> Evaluation:
    """Choose eta0 by training objective and the radius by validation AUC over the validation words, then test.

    X: (n_images, n_features). labels: (n_images, n_words) bool. split: (n_images,). words: their names.
    converging_method: the method whose objective at every iteration is wanted.
    Test images enter only after the choice is made.
    """
    validation, test = split == "validation", split == "test"
    positives = labels[test].sum(axis=0)
    chosen_rows, word_rows, sparsity_rows, convergence_rows = [], [], [], []
    scores = {}
    for one in sweeps:
        key = {"run": one.run, "n": one.n, "n_samples": one.n_samples, "method": one.method}
        arrays, chosen_on = one.arrays, one.validation_words
        best_eta0 = sweep.choose_eta0(arrays)
        validation_auc = np.array(
            [
                auc(X[validation] @ arrays["W"][p][:, chosen_on], labels[validation][:, chosen_on]).mean()
                for p in best_eta0
            ]
        )
        chosen = sweep.choose_parameter(validation_auc)
        for i, p in enumerate(best_eta0):
            W, objective = arrays["W"][p], arrays["objective"][p]
            test_scores = X[test] @ W
            by_word = auc(test_scores, labels[test])
            point = {
                "parameter": arrays["parameter"][p],
                "eta0": arrays["eta0"][p],
                "objective": np.nanmin(objective) / objective[0],
                "gap": arrays["gap"][p],
                "features": float(W.any(axis=1).mean()),
                "validation_auc": validation_auc[i],
            }
            point["auc"], point["auc_weighted"] = average_auc(by_word, positives, ~chosen_on)
            point["auc_all"], point["auc_all_weighted"] = average_auc(by_word, positives, np.ones_like(chosen_on))
            sparsity_rows.append(key | point)
            if one.method == converging_method:
                convergence_rows += [
                    key
                    | {"parameter": point["parameter"], "eta0": point["eta0"], "iteration": t, "objective": value}
                    | {"gap": point["gap"]}
                    for t, value in enumerate(objective / objective[0])
                    if not np.isnan(value)
                ]
            if i == chosen:
                chosen_rows.append(key | point | {"warning": _warning(arrays, p)})
                scores[f"{one.run} {one.method} {one.n}"] = test_scores
                word_rows += [
                    key | {"word": word, "validation_word": bool(is_v), "positives": int(n_pos), "auc": value}
                    for word, is_v, n_pos, value in zip(words, chosen_on, positives, by_word, strict=True)
                ]
    return Evaluation(
        auc=pd.DataFrame(chosen_rows),
        auc_by_word=pd.DataFrame(word_rows),
        sparsity=pd.DataFrame(sparsity_rows),
        convergence=pd.DataFrame(convergence_rows),
        scores=scores,
    )


def _warning(arrays: dict[str, np.ndarray], pair: int) -> str:
    """What a reader should know of a chosen pair: a grid too narrow, a fit not finished."""
    warnings = []
    for name in ("parameter", "eta0"):
        values, value = np.unique(arrays[name]), arrays[name][pair]
        if len(values) > 1 and value in (values[0], values[-1]):
            warnings.append(f"{name} at the {'lower' if value == values[0] else 'upper'} edge of its grid")
    if arrays["gap"][pair] > sweep.GAP:
        warnings.append(f"certified gap {arrays['gap'][pair]:.0%}")
    unconverged = arrays.get("unconverged", np.zeros(pair + 1, dtype=int))[pair]
    if unconverged:
        warnings.append(f"{unconverged} tasks not converged")
    return "; ".join(warnings)


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
    """
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

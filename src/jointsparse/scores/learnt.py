"""The table that people read first: how well each word was learnt."""

import numpy as np
import pandas as pd
from scipy import special

from jointsparse.checks import require
from jointsparse.scores.many import auc_interval, holm


def over_runs(by_word: pd.DataFrame, n_images: int) -> pd.DataFrame:
    """Average AUC and features of each word, method and n over the runs in which the word did not choose the radius.

    by_word, n_images: see `words_learnt`. Words that chose it in every run keep all of them: validation_word is True.
    """
    keys = ["word", "method", "n"]
    chose = by_word.groupby(keys)["validation_word"].transform("all")
    groups = by_word[chose | ~by_word["validation_word"]].groupby(keys, sort=False)
    table = groups.agg(
        positives=("positives", "first"),
        auc=("auc", "mean"),
        spread=("auc", "std"),
        runs=("run", "nunique"),
        features=("features", "mean"),
        validation_word=("validation_word", "first"),
    ).reset_index()
    auc, spread, runs, positives = (table[name].to_numpy() for name in ("auc", "spread", "runs", "positives"))
    low, high = auc_interval(auc, spread, runs, positives, n_images - positives)
    return table.drop(columns="spread").assign(low=low, high=high)


def words_learnt(by_word: pd.DataFrame, n_images: int) -> pd.DataFrame:
    """Tell how well each word is recognised with the largest training sets, and whether better than by chance.

    Parameters
    ----------
    by_word : table
        See `evaluation.Evaluation`.
    n_images : int
        Test images.

    Returns
    -------
    table
        One row per word and method, words with the highest AUC first. positives: test images with the word. auc: mean
        over the runs in which the word did not choose the radius; runs: how many. low, high: its 95 % interval, see
        `many.auc_interval`. validation_word: True for a word that chose the radius in every run, so that its AUC may be
        too high. p: one-sided, of a ranking as good by chance, from the Mann-Whitney statistic's variance in a single
        run (runs share test images, so their mean varies less). p_holm: for all words of a method. features: in use for
        this word, mean over runs. best: True for the method with the highest AUC of a word, on the same test images.

    >>> rows = pd.DataFrame({"run": 1, "n": 5, "method": "hinge-l1", "word": ["cat", "dog"], "positives": 10})
    >>> table = words_learnt(rows.assign(auc=[0.9, 0.5], features=3, validation_word=False), 30)
    >>> table[["word", "auc", "p", "best"]].round(4).to_numpy().tolist()
    [['cat', 0.9, 0.0002, True], ['dog', 0.5, 0.5, True]]
    """
    require(len(by_word), "by_word must have rows, got none")
    rows = by_word[by_word["n"] == by_word["n"].max()]
    table = over_runs(rows, n_images)
    pairs = (table["positives"] * (n_images - table["positives"])).replace(0, np.nan)
    deviations = (table["auc"] - 0.5) / np.sqrt((n_images + 1) / (12 * pairs))
    p = pd.Series(special.ndtr(-deviations), table.index).fillna(1.0)  # of words that cannot be tested, too
    table = table.assign(p=p)
    table["p_holm"] = table.groupby("method")["p"].transform(lambda of_method: holm(of_method.to_numpy()))
    known = table["auc"].fillna(-1.0)
    table["best"] = table.index.isin(known.groupby(table["word"]).idxmax())
    place = {word: i for i, word in enumerate(dict.fromkeys(rows["word"]))}
    order = {"highest": -known.groupby(table["word"]).transform("max"), "place": table["word"].map(place)}
    columns = ["word", "positives", "n", "method", "auc", "low", "high", "runs", "validation_word", "p", "p_holm"]
    ordered = table.assign(**order).sort_values(["highest", "place"], kind="stable", ignore_index=True)
    return ordered[[*columns, "features", "best"]]

"""The table that people read first: how well each word was learnt."""

import numpy as np
import pandas as pd
from scipy import special

from jointsparse.checks import require
from jointsparse.scores.many import FEWEST_RUNS, half_width, holm


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
        over runs; low, high: its 95 % t interval, of `FEWEST_RUNS` runs or more. p: one-sided, of a ranking as good by
        chance, from the Mann-Whitney statistic's variance in a single run (runs share test images, so their mean varies
        less). p_holm: for all words of a method. features: in use for this word, mean over runs. best: True for the
        method with the highest AUC of a word, on the same test images.

    >>> rows = pd.DataFrame({"run": 1, "n": 5, "method": "hinge-l1", "word": ["cat", "dog"], "positives": 10})
    >>> table = words_learnt(rows.assign(auc=[0.9, 0.5], features=3), 30)
    >>> table[["word", "auc", "p", "best"]].round(4).to_numpy().tolist()
    [['cat', 0.9, 0.0002, True], ['dog', 0.5, 0.5, True]]
    """
    require(len(by_word), "by_word must have rows, got none")
    rows = by_word[by_word["n"] == by_word["n"].max()]
    groups = rows.groupby(["word", "method"], sort=False)
    table = groups.agg(
        n=("n", "first"),
        positives=("positives", "first"),
        auc=("auc", "mean"),
        spread=("auc", "std"),
        runs=("run", "nunique"),
        features=("features", "mean"),
    ).reset_index()
    half = half_width(table.pop("spread"), table["runs"].where(table["runs"] >= FEWEST_RUNS))
    pairs = (table["positives"] * (n_images - table["positives"])).replace(0, np.nan)
    deviations = (table["auc"] - 0.5) / np.sqrt((n_images + 1) / (12 * pairs))
    p = pd.Series(special.ndtr(-deviations), table.index).fillna(1.0)  # of words that cannot be tested, too
    table = table.assign(low=table["auc"] - half, high=table["auc"] + half, p=p)
    table["p_holm"] = table.groupby("method")["p"].transform(lambda of_method: holm(of_method.to_numpy()))
    known = table["auc"].fillna(-1.0)
    table["best"] = table.index.isin(known.groupby(table["word"]).idxmax())
    place = {word: i for i, word in enumerate(dict.fromkeys(rows["word"]))}
    order = {"highest": -known.groupby(table["word"]).transform("max"), "place": table["word"].map(place)}
    columns = ["word", "positives", "n", "method", "auc", "low", "high", "runs", "p", "p_holm", "features", "best"]
    return table.assign(**order).sort_values(["highest", "place"], kind="stable", ignore_index=True)[columns]

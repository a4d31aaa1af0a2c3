"""The table that people read first: how well each word was learnt."""

from collections.abc import Mapping

import numpy as np
from scipy import special

from jointsparse.checks import require, require_extra
from jointsparse.metrics import as_trials, by_chance, holm, interval

require_extra(__name__, "pandas")
import pandas as pd  # noqa: E402

LENT = 4  # Choice: degrees of freedom that other words lend each word, as many as five runs have


def words_learnt(by_word: pd.DataFrame, n_images: int | Mapping[str, int]) -> pd.DataFrame:
    """Tell how well each word is recognised with the largest training sets, and whether better than by chance.

    Parameters
    ----------
    by_word : table
        See `evaluation.Evaluation`.
    n_images : int or mapping
        Test images, or by word those whose label is known.

    Returns
    -------
    table
        One row per word and method, words with the highest AUC first. Columns as of `by_size`, and three more.
        p: see `metrics.by_chance`. Runs share test images, so their mean varies less than that of a single run. p_holm:
        for all words of a method. best: True for the method with the highest AUC of a word, on the same test images.

    >>> rows = pd.DataFrame({"run": 1, "n": 5, "method": "hinge-l1", "word": ["cat", "dog"], "positives": 10})
    >>> table = words_learnt(rows.assign(validation_word=False, auc=[0.9, 0.5], n_features=3), 30)
    >>> table[["word", "auc", "p", "best"]].round(4).to_numpy().tolist()
    [['cat', 0.9, 0.0002, True], ['dog', 0.5, 0.5, True]]
    """
    require(len(by_word), "by_word must have rows, got none")
    rows = by_word[by_word["n"] == by_word["n"].max()]
    table = by_size(rows, n_images)
    table["p"] = by_chance(table["auc"].to_numpy(), table["positives"].to_numpy(), _of_words(table, n_images))
    table["p_holm"] = table.groupby("method")["p"].transform(lambda of_method: holm(of_method.to_numpy()))
    known = table["auc"].fillna(-1.0)
    table["best"] = table.index.isin(known.groupby(table["word"]).idxmax())
    order = {
        "highest": -known.groupby(table["word"]).transform("max"),
        "place": table["word"].map(pd.Index(rows["word"].unique()).get_loc),
    }
    return table.assign(**order).sort_values([*order], kind="stable", ignore_index=True).drop(columns=[*order])


def _of_words(table: pd.DataFrame, n_images: int | Mapping[str, int]) -> np.ndarray:
    """Numbers of test images, one for each row of a table."""
    return np.asarray(table["word"].map(n_images) if isinstance(n_images, Mapping) else np.full(len(table), n_images))


def by_size(by_word: pd.DataFrame, n_images: int | Mapping[str, int]) -> pd.DataFrame:
    """Join the runs of each word, method and size.

    by_word, n_images: see `words_learnt`. runs: how many, without those in which the word chose the radius.
    validation_word: True for a word that chose it in every run, which keeps them all. auc, n_features (in use for the
    word): mean over these runs. low, high: ends of the 95 % interval of auc, see `_interval`. positives: test images
    with the word.
    """
    keys = ["word", "method", "n"]
    always = by_word.groupby(keys)["validation_word"].transform("all")
    return (
        by_word[always | ~by_word["validation_word"]]
        .groupby(keys, sort=False)
        .agg(
            validation_word=("validation_word", "first"),
            positives=("positives", "first"),
            runs=("auc", "count"),
            n_features=("n_features", "mean"),
            auc=("auc", "mean"),
            spread=("auc", "std"),
        )
        .reset_index()
        .pipe(lambda table: _interval(table, _of_words(table, n_images)))
    )


def _interval(table: pd.DataFrame, n_images: np.ndarray) -> pd.DataFrame:
    """Add low and high to the table of `by_size`: the 95 % interval for new test images and new training sets.

    Both parts are joined on the logit scale, as the root of their summed squares, so the ends lie between 0 and 1.
    Runs share test images, so that part stays as it is however many runs there are. The part of training sets rests
    on the runs of the word, and on the other words of its method and size. These count as up to `LENT` more runs. A
    study of a single run says nothing of other training sets: its intervals are for the AUC of these fits.

    Sources: test images: see `metrics.as_trials`. Variances that words lend each other: Smyth 2004 (Stat. Appl. Genet.
    Mol. Biol. 3, art. 3).
    """
    runs = table["runs"]
    right, wrong = as_trials(table["auc"], table["positives"], n_images)
    slope = (right + wrong) ** 2 / (right * wrong)  # of the logit
    own = pd.DataFrame(
        {"squares": (runs - 1) * (slope * table.pop("spread")) ** 2, "degrees": runs - 1},
    ).where(runs > 1, 0.0)
    others = own.groupby([table["method"], table["n"]]).transform("sum") - own
    degrees = own["degrees"] + others["degrees"].clip(upper=LENT)
    lent = LENT * others["squares"] / others["degrees"].clip(lower=LENT)
    over_runs = special.stdtrit(degrees, 0.975) * np.sqrt((own["squares"] + lent) / degrees / runs)
    return table.assign(**dict(zip(("low", "high"), interval(right, wrong, over_runs.fillna(0.0)), strict=True)))

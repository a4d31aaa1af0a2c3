"""Make the main table of a study, which says how well each word was learnt."""

from collections.abc import Mapping

import numpy as np
from scipy import special

from jointsparse.checks import require, require_extra
from jointsparse.metrics import as_trials, by_chance, holm, interval

require_extra(__name__, "pandas")
import pandas as pd  # noqa: E402

LENT = 4  # Choice: prior degrees of freedom that a word gets from the other words, as many as there are in five runs


def words_learnt(by_word: pd.DataFrame, n_images: int | Mapping[str, int]) -> pd.DataFrame:
    """Return how well each word is recognised with the largest training sets, and test the AUC against chance.

    Parameters
    ----------
    by_word : table
        See `evaluation.Evaluation`.
    n_images : int or mapping
        Number of test images, or for each word the number of test images whose label is known.

    Returns
    -------
    table
        A row for each word and method, words with the highest AUC first, with the columns of `by_size` and

        - `p`: see `metrics.by_chance`. The AUC is a mean over runs, which share their test images. The test treats it
          as the AUC of a single run, although the mean varies less;
        - `p_holm`: `p` corrected for all words of a method;
        - `best`: True for the method with the highest AUC for the word on these test images.

    >>> words = {"word": ["owl", "cat", "dog"], "positives": [0, 10, 10], "auc": [np.nan, 0.9, 0.5]}
    >>> rows = pd.DataFrame({"run": 1, "n": 5, "method": "hinge-l1", "validation_word": False, "n_features": 3} | words)
    >>> words_learnt(rows, 30)[["word", "auc", "p", "best"]].round(4).to_numpy().tolist()
    [['cat', 0.9, 0.0002, True], ['dog', 0.5, 0.5, True], ['owl', nan, 1.0, True]]
    """
    require(len(by_word), "by_word must have rows, got none")
    rows = by_word[by_word["n"] == by_word["n"].max()]
    table = by_size(rows, n_images)
    table["p"] = by_chance(table["auc"].to_numpy(), table["positives"].to_numpy(), _of_words(table, n_images))
    table["p_holm"] = table.groupby("method")["p"].transform(lambda p: holm(p.to_numpy()))
    known = table["auc"].fillna(-1.0)
    table["best"] = table.index.isin(known.groupby(table["word"]).idxmax())
    order = {
        "highest": -known.groupby(table["word"]).transform("max"),
        "place": table["word"].map(pd.Index(rows["word"].unique()).get_loc),
    }
    return table.assign(**order).sort_values([*order], kind="stable", ignore_index=True).drop(columns=[*order])


def _of_words(table: pd.DataFrame, n_images: int | Mapping[str, int]) -> np.ndarray:
    """Return for each row of a table how many test images have a known label for the row's word."""
    return np.asarray(table["word"].map(n_images) if isinstance(n_images, Mapping) else np.full(len(table), n_images))


def by_size(by_word: pd.DataFrame, n_images: int | Mapping[str, int]) -> pd.DataFrame:
    """Average the results of each word, method and size over the runs.

    Runs in which the word was a validation word, and so helped to choose the radius, are left out. If the word was a
    validation word in every run, no run is left out.

    Parameters
    ----------
    by_word, n_images : as in `words_learnt`
        See there.

    Returns
    -------
    table
        A row for each word, method and n, with the columns

        - `validation_word`: True if the word was a validation word in every run;
        - `positives`: the number of test images with the word;
        - `runs`: the number of runs that are averaged;
        - `auc`, `n_features`: means over these runs;
        - `low`, `high`: the ends of the 95 % interval of `auc`, see `_interval`.
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
    """Add the columns `low` and `high`: a 95 % interval for new test images and new training sets.

    The two parts of the interval are combined in quadrature on the logit scale, so the ends are between 0 and 1. The
    part for new test images does not shrink with more runs, because all runs share their test images. The part for new
    training sets uses the word's variance between runs, moderated by the variance of the other words with the same
    method and size, which counts as up to `LENT` additional degrees of freedom. A study with a single run has no
    information about other training sets, so its intervals hold only for the AUC of its own fits.

    Sources: for test images see `metrics.as_trials`; moderated variances: Smyth 2004 (Stat. Appl. Genet. Mol. Biol. 3,
    art. 3).
    """
    runs = table["runs"]
    right, wrong = as_trials(table["auc"], table["positives"], n_images)
    slope = (right + wrong) ** 2 / (right * wrong)  # derivative of the logit
    own = pd.DataFrame(
        {"squares": (runs - 1) * (slope * table.pop("spread")) ** 2, "degrees": runs - 1},
    ).where(runs > 1, 0.0)
    others = own.groupby([table["method"], table["n"]]).transform("sum") - own
    degrees = own["degrees"] + others["degrees"].clip(upper=LENT)
    lent = LENT * others["squares"] / others["degrees"].clip(lower=LENT)
    over_runs = special.stdtrit(degrees, 0.975) * np.sqrt((own["squares"] + lent) / degrees / runs)
    return table.assign(**dict(zip(("low", "high"), interval(right, wrong, over_runs.fillna(0.0)), strict=True)))

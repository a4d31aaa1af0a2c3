"""The sentences of pages about a saved model, and about a comparison of methods."""

import numpy as np
import pandas as pd

from jointsparse.pipeline.figures.style import label, percent

SHOWN_WORDS = 3  # how many of the best words, and of the unrecognised words, a sentence names
RARE = 0.75  # Choice: words are called rarer if their median number of images is below this fraction of the others'
CHANCE = 0.05  # Choice: the level of significance, after Holm's correction
ALL_FEATURES = "l2"  # the norm that uses every feature
ALIKE = 0.01  # Choice: mean AUCs that differ by at most this much are called level


def some(count: int, plural: str) -> str:
    """Format a count followed by its noun, which is in the singular if the count is 1.

    >>> some(1, "words"), some(1, "classes"), some(1200, "images")
    ('1 word', '1 class', '1,200 images')
    """
    return f"{count:,} {plural if count != 1 else one_of(plural)}"


def one_of(plural: str) -> str:
    """Return the singular of a plural noun, such as "class" for "classes"."""
    return plural.removesuffix("es" if plural.endswith("sses") else "s")


def one_digit(value: float) -> str:
    """Format a positive number with one decimal place. Halves are rounded up, as in the page's script.

    >>> one_digit(6.25)
    '6.3'
    """
    return f"{value + 1e-9:.1f}"


def recognised(words: pd.DataFrame, labels: str, first: int) -> str:
    """Say which words a model recognises better than chance, and how many of them it recognises well.

    Parameters
    ----------
    words : DataFrame
        See `kept.Kept`.
    labels : str
        The plural noun for what is learnt, such as "words".
    first : int
        Number of highest-ranked images that are counted.
    """
    table = words.sort_values(["precision_at_10", "auc"], ascending=False, kind="stable")
    is_recognised, half = table["p_holm"] <= CHANCE, (first + 1) // 2
    best, others = table["word"][is_recognised].tolist(), table["word"][~is_recognised].tolist()[::-1]
    said = [f"The kept model recognises {len(best)} of {some(len(table), labels)} better than chance"]
    if best:
        n_well = int((first * table["precision_at_10"][is_recognised] >= half - 1e-9).sum())
        several = "all" if n_well == len(best) > 1 else f"{n_well:,}"
        said[0] += f"; for {several} of them, at least {half} of the {first} highest-ranked are right"
        said.append(f"Best: {', '.join(best[:SHOWN_WORDS])}")
    if others:
        more = len(others) - SHOWN_WORDS
        said.append(f"Not recognised: {', '.join(others[:SHOWN_WORDS])}{f' and {more} more' if more > 0 else ''}")
    return " ".join(f"{part}." for part in said)


def on_average(means: pd.Series, first: int, n_test: int, things: str) -> str:
    """Say how well a model recognises words on average.

    Parameters
    ----------
    means : Series
        The means of the statistics over the words, see `metrics.STATISTICS`.
    first : int
        Number of highest-ranked images that are counted.
    n_test : int
        Number of test images.
    things : str
        The plural noun for the samples, such as "images".
    """
    return (
        f"On average {one_digit(first * means['precision_at_10'])} of the {first} highest-ranked {things} are right "
        f"(mean AUC {means['auc']:.3f} on {n_test:,} test {things})."
    )


def why_not(words: pd.DataFrame, things: str = "images", labels: str = "words") -> str:
    """Say whether the unrecognised words are rarer than the recognised words.

    The result is an empty string if all words are recognised, or none.

    Parameters
    ----------
    words : DataFrame
        See `kept.Kept`.
    things : str
        The plural noun for the samples, such as "images".
    labels : str
        The plural noun for what is learnt, such as "words".
    """
    is_recognised = words["p_holm"] <= CHANCE
    if is_recognised.all() or not is_recognised.any():
        return ""
    rare, rest = (words.loc[rows, "positives"].median() for rows in (~is_recognised, is_recognised))
    why = "rarer than" if rare < RARE * rest else "more frequent than" if rare * RARE > rest else "about as frequent as"
    return (
        f"The {labels} that are not recognised are {why} the others: the median is {rare:,g} test {things} against "
        f"{rest:,g}."
    )


def how_many_taken(n_taken: int, n_learnable: int, labels: str = "words") -> str:
    """Say how many of the learnable words the model learns; return an empty string if it learns all of them.

    >>> how_many_taken(40, 374, "labels"), how_many_taken(3, 3)
    ('The model learns the 40 most frequent of 374 labels; to learn all, set n_words to 374.', '')
    """
    if n_taken >= n_learnable:
        return ""
    said = f"The model learns the {n_taken:,} most frequent of {n_learnable:,} {labels}"
    return f"{said}; to learn all, set n_words to {n_learnable}."


def against_all_features(norms: pd.DataFrame) -> str:
    """Compare the saved model with the l2 fit in a sentence that gives the features in use and the mean AUC of both.

    norms: the table of `models.final.norms`.
    """
    (kept,) = norms[norms["kept"]].to_dict("records")
    name, n_features = label(kept["norm"]), f"{kept['of']:,} features"
    uses = f"all {n_features}" if kept["features"] == kept["of"] else f"{kept['features']:,} of {n_features}"
    for other in norms[(norms["norm"] == ALL_FEATURES) & ~norms["kept"]].to_dict("records"):
        lead = kept["auc"] - other["auc"]
        where = "level with" if abs(lead) <= ALIKE else "ahead of" if lead > 0 else "behind"
        ends = f" (95 % interval {other['auc_low']:.3f} to {other['auc_high']:.3f})"
        return (
            f"The kept model, {name}, uses {uses} and is {where} {ALL_FEATURES}, which uses "
            f"{'all of them' if other['features'] == other['of'] else format(other['features'], ',')}: its mean AUC is "
            f"{kept['auc']:.3f}, that of {ALL_FEATURES} is {other['auc']:.3f}"
            f"{ends if np.isfinite(other['auc_low']) else ''}."
        )
    return f"The kept model, {name}, uses {uses}."


def how_stable(stability: pd.DataFrame, things: str = "images") -> str:
    """Say how many features are chosen in most random halves; return an empty string if there is no table.

    stability: the table of `models.stability.stability`. things: the plural noun for the samples.
    """
    if stability.empty:
        return ""
    halves, used = stability["halves"], stability["used"]
    of, threshold, bound = stability[["of", "threshold", "bound"]].to_numpy(float)[0]
    often = halves >= round(threshold * of)
    said = (
        f"{(often & used).sum():,} of the {used.sum():,} features of the kept model were chosen in at least "
        f"{threshold * of:.0f} of {of:.0f} random halves of the training and validation {things}."
    )
    if bound >= often.sum():
        chosen = f"{halves.sum() / of:,.0f} of {len(halves):,} features"
        return f"{said} On average a half chooses {chosen}, too many for a useful bound on the false choices."
    return (
        f"{said} Of the {often.sum():,} features that were chosen so often, at most {one_digit(bound)} are expected to "
        "be false, if no irrelevant feature is chosen more often than the average feature."
    )


def comparison(means: pd.DataFrame) -> str:
    """Say how the first method of a study compares with the best other method, with the largest training sets.

    means: the table of `scores.runs.means`.
    """
    largest = means[means["n"] == means["n"].max()].set_index("method")
    first, auc = largest.index[0], largest["auc_weighted"]
    n, used = largest["n"].iloc[0], percent(largest.loc[first, "features"], " ")
    said = (
        f"With {n:,} positives for each label, {label(first)} has a mean AUC of {auc[first]:.3f} and uses {used} of "
        "the features"
    )
    if len(largest) == 1:
        return f"{said}."
    others = auc.drop(first)
    lead, other = auc[first] - others.max(), label(str(others.idxmax()))
    where = f"{abs(lead):.3f} {'ahead of' if lead > 0 else 'behind'}"
    where = f"level (within {ALIKE}) with" if abs(lead) <= ALIKE else where
    return f"{said}; it is {where} the best other method, {other}."

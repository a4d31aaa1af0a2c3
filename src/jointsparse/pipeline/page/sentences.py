"""The sentences of pages about a saved model, and about a comparison of methods."""

from collections.abc import Sequence

import pandas as pd

from jointsparse.pipeline.figures.style import label, percent

SHOWN_WORDS = 3  # how many of the best words, and of the unrecognised words, a sentence names
CHANCE = 0.05  # Choice: the level of significance, after Holm's correction
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


def recognised(verdicts: Sequence[str], labels: str) -> str:
    """Say how many words a model recognises. verdicts: see `words.verdict`. labels: the plural noun for what is learnt.

    >>> recognised(["recognised", "few"], "tags")
    'The model recognises 1 of 2 tags'
    """
    return f"The model recognises {verdicts.count('recognised'):,} of {some(len(verdicts), labels)}"


def best(words: pd.DataFrame, verdicts: Sequence[str], first: int, things: str) -> list[str]:
    """Say how many words are recognised well, and name the best words and those that are not recognised.

    Parameters
    ----------
    words : DataFrame
        See `kept.Kept`.
    verdicts : list of str
        Whether each word is recognised, see `words.verdict`.
    first : int
        Number of most probable images that are counted.
    things : str
        The plural noun for the samples, such as "images".
    """
    table = words.assign(verdict=verdicts).sort_values(["precision_at_10", "auc"], ascending=False, kind="stable")
    named = {verdict: table["word"][table["verdict"] == verdict].tolist() for verdict in ("recognised", "not", "few")}
    half, said = (first + 1) // 2, []
    if known := named["recognised"]:
        n_well = int((first * table["precision_at_10"][table["verdict"] == "recognised"] >= half - 1e-9).sum())
        several = "all" if n_well == len(known) > 1 else f"{n_well:,}"
        said = [f"For {several} of them, at least {half} of the {first} most probable test {things} are right."]
        said += [f"Recognised best: {', '.join(known[:SHOWN_WORDS])}."]
    titles = {"not": "Not recognised better than chance", "few": f"Too few test {things} to tell"}
    for verdict, title in titles.items():
        if others := named[verdict][::-1]:
            more = f" and {len(others) - SHOWN_WORDS} more" if len(others) > SHOWN_WORDS else ""
            said.append(f"{title}: {', '.join(others[:SHOWN_WORDS])}{more}.")
    return said


def how_many_taken(n_taken: int, n_learnable: int, n_words: int, labels: str = "words") -> str:
    """Say how many of the learnable words the model learns; return an empty string if it learns all of them.

    Parameters
    ----------
    n_taken, n_learnable : int
        Number of words that the model learns, and of those that it could learn.
    n_words : int
        The value of the setting with which it would learn all of them.
    labels : str
        The plural noun for what is learnt.

    >>> how_many_taken(40, 374, 390, "labels"), how_many_taken(3, 3, 3)
    ('The model learns the 40 most frequent of 374 labels; to learn all, set n_words to 390.', '')
    """
    if n_taken >= n_learnable:
        return ""
    said = f"The model learns the {n_taken:,} most frequent of {n_learnable:,} {labels}"
    return f"{said}; to learn all, set n_words to {n_words}."


def what_sparsity_costs(norms: pd.DataFrame) -> str:
    """Say how many features the saved model uses, and what the fits with other norms use and score instead.

    norms: the table of `models.final.norms`.
    """
    (kept,) = norms[norms["kept"]].to_dict("records")
    uses = f"all {kept['of']:,}" if kept["features"] == kept["of"] else f"{kept['features']:,} of {kept['of']:,}"
    said = (
        f"The kept model has the norm {label(kept['norm'])}, uses {uses} features and has a mean AUC of "
        f"{three_digits(kept['auc'])}."
    )
    others = norms[~norms["kept"]].sort_values("features", kind="stable").to_dict("records")
    costs = [
        f"{label(row['norm'])}: {row['features']:,} features, AUC {'−' if row['auc'] < kept['auc'] else '+'}"
        f"{three_digits(abs(row['auc'] - kept['auc']))}"
        for row in others
    ]
    return f"{said} The other norms: {'; '.join(costs)}." if costs else said


def three_digits(value: float) -> str:
    """Format an AUC, or a difference between two, with three digits and without the zero in front.

    >>> three_digits(0.9451), three_digits(1.0)
    ('.945', '1.000')
    """
    return f"{value + 1e-9:.3f}".removeprefix("0")


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

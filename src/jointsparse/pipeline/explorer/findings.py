"""The findings of a run: a few sentences, a table of methods, and warnings in plain words."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from jointsparse.metrics import FIRST
from jointsparse.pipeline.figures.style import label
from jointsparse.pipeline.flag import TOO_FEW, Kind
from jointsparse.pipeline.scores.flags import GAP

if TYPE_CHECKING:
    from jointsparse.pipeline.explorer.study import Study

SHOWN_WORDS = 3  # how many of the best words, and of the unrecognised words, a sentence names
RARE = 0.75  # Choice: words are called rarer if their median number of images is below this fraction of the others'
CHANCE = 0.05  # Choice: the level of significance, after Holm's correction
ALL_FEATURES = "l2"  # the norm that uses every feature
LEVEL = 0.01  # Choice: mean AUCs that differ by at most this much count as level
WRONG, NOTE = "wrong", "note"  # severities: a result on the page is wrong, or there is merely something to note
# The page's wording of each verdict on claims. Verdicts without an entry are shown unchanged.
ANSWERS = {"holds": "as claimed", "does not hold": "not as claimed", "demonstration": "not judged on such data"}


class Meaning(NamedTuple):
    """The text that explains flags of some kinds, and says what to do about them. severity: `WRONG` or `NOTE`."""

    severity: str
    text: str
    kinds: Collection[str]


# Ordered by decreasing severity.
MEANINGS = (
    Meaning(
        WRONG,
        "Some {labels} have scores that are not numbers, so their rows mean nothing.",
        {Kind.UNDEFINED, Kind.WORDS_UNDEFINED},
    ),
    Meaning(
        WRONG,
        f"The objective of some fits may be more than {100 * GAP:g} % above its minimum: they need more iterations.",
        {Kind.CERTIFIED_GAP},
    ),
    Meaning(
        WRONG,
        "The optimum that methods are compared with is not exact: computing it needs more iterations.",
        {Kind.CERTIFIED_ONLY_TO},
    ),
    Meaning(
        WRONG,
        "LinearSVC stopped before it converged on some {labels}: raise max_iter or lower C.",
        {Kind.NOT_CONVERGED},
    ),
    Meaning(WRONG, "Some {things} occur in more than one split, so the test results are too good.", {Kind.REPEATED}),
    Meaning(
        WRONG,
        "Some groups or near duplicates of {things} are in more than one split, as the data give the splits, so the "
        "results may be too good.",
        {Kind.TORN},
    ),
    Meaning(NOTE, "Some {labels} occur on too few {things} to be learnt and tested, and are left out.", TOO_FEW),
    Meaning(
        NOTE,
        "Some {labels} occur in one group of training {things} only, so they cannot be validated, and are left out.",
        {Kind.ONE_GROUP},
    ),
    Meaning(
        NOTE,
        "Some {labels} have the same score on all test {things}: nothing was learnt about them.",
        {Kind.TIED, Kind.WORDS_TIED},
    ),
    Meaning(
        NOTE,
        "Some chosen fits rank the validation {things} no better than chance, so their test results say little.",
        {Kind.NO_BETTER},
    ),
    Meaning(
        NOTE,
        "Validation chose the largest initial step size of the grid: a larger value may do better.",
        {Kind.ETA0_UPPER},
    ),
    Meaning(
        NOTE,
        "Validation chose the smallest initial step size of the grid: a smaller value may do better.",
        {Kind.ETA0_LOWER},
    ),
    Meaning(
        NOTE, "Validation chose the largest radius or C of the grid: a larger value may do better.", {Kind.RADIUS_UPPER}
    ),
    Meaning(
        NOTE,
        "Validation chose the smallest radius or C of the grid: a smaller value may do better.",
        {Kind.RADIUS_LOWER},
    ),
    Meaning(NOTE, "In some {things} all features are zero.", {Kind.EMPTY}),
    Meaning(
        NOTE,
        "Nearly all training {things} have one of the {labels}, so there is little to learn about it.",
        {Kind.NEARLY_ALL},
    ),
    Meaning(
        NOTE, "Some {labels} have fewer training {things} than the study asks for; all of them are used.", {Kind.CAPPED}
    ),
    Meaning(
        NOTE,
        "Some fits are perfect on their training {things}, and so are other weights: more {things} would help.",
        {Kind.NOT_UNIQUE},
    ),
    Meaning(
        NOTE,
        "Some methods did not reduce the objective: try other step sizes.",
        {Kind.NO_LOWER},
    ),
    Meaning(NOTE, "Some features are constant over all training {things}, which does no harm.", {Kind.CONSTANT}),
)
OTHER = Meaning(WRONG, "Other warnings.", ())


def percent(fraction: float) -> str:
    """Format a fraction as a percentage with two significant digits.

    >>> percent(0.0345), percent(1.0)
    ('3.5 %', '100 %')
    """
    return f"{100 * fraction:.2g} %" if fraction < 0.0995 else f"{100 * fraction:.0f} %"


def some(count: int, plural: str) -> str:
    """Format a count followed by its noun, which is in the singular if the count is 1.

    >>> some(1, "words"), some(1, "classes"), some(1200, "images")
    ('1 word', '1 class', '1,200 images')
    """
    return f"{count:,} {plural if count != 1 else one_of(plural)}"


def one_of(plural: str) -> str:
    """Return the singular of a plural noun, such as "class" for "classes"."""
    return plural.removesuffix("es" if plural.endswith("sses") else "s")


def methods_table(means: pd.DataFrame, differences: pd.DataFrame | None = None) -> list[dict[str, Any]]:
    """Return the table of methods: a row for each method, with a cell for each size of the training sets.

    Parameters
    ----------
    means : DataFrame
        The table of `scores.runs.means`. Its mean AUC leaves out the words that chose the radius, and gives each
        positive image the same weight.
    differences : DataFrame, optional
        The differences between the first method and each other method, see `scores.comparison.differences`.

    Returns
    -------
    list of dict
        The rows, each with these keys:

        - method, label: the name of the method, and its label for readers.
        - cells: for each size, the mean AUC, the half-width of its interval over runs, and the percentage of the
          features in use.
        - lead: a string that says by how much the first method is ahead of this method with the largest training sets.
          It is empty if there is no difference to report.
    """
    auc, features = means["auc_weighted"], means["features"].map(percent)
    best = auc == means.groupby("n")["auc_weighted"].transform("max")
    table = means.assign(auc=auc, half=means["high"] - auc, features=features, best=best)
    leads = {} if differences is None else _leads(differences)
    return [
        {
            "method": method,
            "label": label(str(method)),
            "cells": cells.to_dict("records"),
            "lead": leads.get(method, ""),
        }
        for method, cells in table.groupby("method", sort=False)
    ]


def _leads(differences: pd.DataFrame) -> dict[Any, str]:
    """Format the first method's lead over each of the others, with its interval, for the largest training sets."""
    wanted = "metric == 'auc' and words == 'test words' and average == 'by positives' and n == n.max()"
    said = {}
    for row in differences.query(wanted).to_dict("records"):
        ends = [f"{row[end]:+.3f}".replace("-", "−") for end in ("difference", "low", "high")]
        interval = f" ({ends[1]} to {ends[2]})" if np.isfinite(row["low"]) else ""
        said[row["against"]] = f"{ends[0]}{interval}"
    return said


def sentence(learnt: pd.DataFrame, labels: str = "words", *, by: str = "the kept model", n_test: int = FIRST) -> str:
    """Say which words a method recognises better than chance, and how many of them it recognises well.

    Parameters
    ----------
    learnt : DataFrame
        The rows of `answers.Answers.learnt` for the method, with an additional column `right`: the number of
        highest-ranked images that have the word.
    labels : str
        The plural noun for what is learnt, such as "words".
    by : str
        The subject of the sentence, such as "the kept model".
    n_test : int
        Number of test images.
    """
    counted, first = _counted(learnt), min(FIRST, n_test)
    recognised, half = counted["p_holm"] <= CHANCE, (first + 1) // 2
    best, others = counted["word"][recognised].tolist(), counted["word"][~recognised].tolist()[::-1]
    said = [f"{by[:1].upper()}{by[1:]} recognises {len(best)} of {some(len(counted), labels)} better than chance"]
    if best:
        n_well = int((counted["right"][recognised] >= half - 1e-9).sum())
        several = "all" if n_well == len(best) > 1 else f"{n_well:,}"
        said[0] += f"; for {several} of them, at least {half} of the {first} highest-ranked are right"
        said.append(f"Best: {', '.join(best[:SHOWN_WORDS])}")
    if others:
        more = len(others) - SHOWN_WORDS
        said.append(f"Not recognised: {', '.join(others[:SHOWN_WORDS])}{f' and {more} more' if more > 0 else ''}")
    return " ".join(f"{part}." for part in said)


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
        where = "level with" if abs(lead) <= LEVEL else "ahead of" if lead > 0 else "behind"
        ends = f" (95 % interval {other['auc_low']:.3f} to {other['auc_high']:.3f})"
        return (
            f"The kept model, {name}, uses {uses} and is {where} {ALL_FEATURES}, which uses "
            f"{'all of them' if other['features'] == other['of'] else format(other['features'], ',')}: its mean AUC is "
            f"{kept['auc']:.3f}, that of {ALL_FEATURES} is {other['auc']:.3f}"
            f"{ends if np.isfinite(other['auc_low']) else ''}."
        )
    return f"The kept model, {name}, uses {uses}."


def demonstrates(studies: Sequence[Study], labels: str, things: str, *, shown: bool) -> str:
    """Return a sentence that says what the studies of a demonstration show.

    Parameters
    ----------
    studies : list of Study
        The studies.
    labels, things : str
        The plural nouns for what is learnt, such as "words", and for the samples, such as "images".
    shown : bool
        Whether the page shows any words. If it does not, the sentence is made from the caption of the first figure.
    """
    if shown:
        return f"It demonstrates how {labels} are learnt from {things}."
    captions = [caption for study in studies for caption in study.figures.values()]
    return f"It demonstrates a figure of the papers: {captions[0][:1].lower()}{captions[0][1:]}" if captions else ""


def share_of_features(norms: pd.DataFrame) -> str:
    """Return the percentage of the features that the saved model uses, as a string. norms: see `models.final.norms`."""
    (kept,) = norms[norms["kept"]].to_dict("records")
    return percent(kept["features"] / kept["of"])


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


def norms_table(norms: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return a row for each norm of the final fits, with the norm's label and the half-width of the AUC's interval.

    norms: see `models.final.norms`.
    """
    table = norms.assign(label=norms["norm"].map(label), half=(norms["auc_high"] - norms["auc_low"]) / 2)
    return list(table.to_dict("records"))


def how_sure(
    learnt: pd.DataFrame,
    method: str,
    means: pd.DataFrame | None,
    *,
    auc: float,
    n_test: int,
    things: str = "images",
) -> str:
    """Say how well words are recognised on average, and compare the method with the best other method.

    Parameters
    ----------
    learnt : DataFrame
        See `sentence`.
    method : str
        The method whose results are in `learnt`. If `means` has no results of this method, the first method in `means`
        is compared with the others instead.
    means : DataFrame or None
        The table of `scores.runs.means`. None if no study compares methods.
    auc : float
        The mean AUC of the method, as the tables on the page show it.
    n_test : int
        Number of test images.
    things : str
        The plural noun for the samples, such as "images".
    """
    said = (
        f"On average {one_digit(average(learnt, 'right'))} of the {min(FIRST, n_test)} highest-ranked {things} are "
        f"right (mean AUC {auc:.3f} on {n_test:,} test {things})."
    )
    if means is None:
        return said
    compared = means[means["n"] == means["n"].max()].set_index("method")["auc_weighted"]
    if len(compared) == 1:
        return said
    method = method if method in compared else str(compared.index[0])
    others = compared.drop(method)
    lead, other = compared[method] - others.max(), label(str(others.idxmax()))
    where = f"{abs(lead):.3f} {'ahead of' if lead > 0 else 'behind'}"
    where = f"level (within {LEVEL}) with" if abs(lead) <= LEVEL else where
    return f"{said} In the comparison of methods, {label(method)} is {where} the best other method, {other}."


def one_digit(value: float) -> str:
    """Format a positive number with one decimal place. Halves are rounded up, as in the page's script.

    >>> one_digit(6.25)
    '6.3'
    """
    return f"{value + 1e-9:.1f}"


def average(learnt: pd.DataFrame, column: str) -> float:
    """Return the weighted average of a column over the words. learnt: see `sentence`."""
    counted = _counted(learnt).dropna(subset=[column])
    return float((counted[column] * counted["weight"]).sum() / max(counted["weight"].sum(), 1))


def hold(verdicts: Mapping[str, int]) -> str:
    """Say how often each verdict on the papers' claims occurs.

    verdicts: the number of times that each verdict occurs, see `papers.page.counts`.

    >>> hold({"holds": 1, "level": 0, "undecided": 5, "demonstration": 2})
    "Of 8 numbers that the papers' claims are about, 1 is as claimed, 5 are undecided, 2 are not judged on such data."
    """
    total = sum(verdicts.values())
    if not total:
        return "No claim of the papers is judged on these data."
    said = [f"{n} {'is' if n == 1 else 'are'} {ANSWERS.get(verdict, verdict)}" for verdict, n in verdicts.items() if n]
    return f"Of {some(total, 'numbers')} that the papers' claims are about, {', '.join(said)}."


def why_not(learnt: pd.DataFrame, things: str = "images", labels: str = "words") -> str:
    """Say whether the unrecognised words are rarer than the recognised words.

    The result is an empty string if all words are recognised, or none.

    Parameters
    ----------
    learnt : DataFrame
        See `sentence`.
    things : str
        The plural noun for the samples, such as "images".
    labels : str
        The plural noun for what is learnt, such as "words".
    """
    counted = _counted(learnt)
    recognised = counted["p_holm"] <= CHANCE
    if recognised.all() or not recognised.any():
        return ""
    rare, rest = (counted.loc[rows, "positives"].median() for rows in (~recognised, recognised))
    why = "rarer than" if rare < RARE * rest else "more frequent than" if rare * RARE > rest else "about as frequent as"
    return (
        f"The {labels} that are not recognised are {why} the others: the median is {rare:,g} test {things} against "
        f"{rest:,g}."
    )


def _counted(learnt: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `learnt`, best words first. Words that chose the radius are left out, unless all words did."""
    rows = learnt.sort_values(["right", "auc"], ascending=False, kind="stable")
    chose = rows["validation_word"]
    return rows if chose.all() else rows[~chose]


def warnings_of(
    gathered: Mapping[str, pd.DataFrame], things: str = "images", labels: str = "words"
) -> list[dict[str, Any]]:
    """Put the warnings of all studies into plain words. Warnings that a result is wrong come first.

    Warnings about data that are left out are omitted, because the page lists these data elsewhere.

    Parameters
    ----------
    gathered : mapping
        For each study, by name, the table that `scores.warning_table.gather` returns.
    things : str
        The plural noun for the samples, such as "images".
    labels : str
        The plural noun for what is learnt, such as "words".

    Returns
    -------
    list of dict
        For each warning, its severity, its text, and its details, which name the tables and rows that it is about.
    """
    details: dict[str, list[str]] = {}
    for study, table in gathered.items():
        table = table[table["table"] != "left_out"]
        without_run = table["table"].str.replace(r"_run\d+$", "", regex=True)
        for (name, warning), rows in table.groupby([without_run, "warning"], sort=False):
            kind = str(warning).partition(": ")[0]
            text = next((meaning for meaning in MEANINGS if kind in meaning.kinds), OTHER).text
            first = rows.iloc[0]["first"]
            where = f"; first: {_in_words(first)}" if isinstance(first, str) and first else ""
            of_runs = f" of {len(rows)} runs" if len(rows) > 1 else ""
            counts = f"{rows['rows'].sum():,} of {some(int(rows['of'].sum()), 'rows')}"
            details.setdefault(text, []).append(f"{study}: {warning}, in {counts} of the table {name}{of_runs}{where}")
    shown = [
        {"severity": severity, "text": text.format(things=things, labels=labels), "details": details[text]}
        for severity, text, _ in (*MEANINGS, OTHER)
        if text in details
    ]
    return sorted(shown, key=lambda warning: warning["severity"] != WRONG)


def _in_words(keys: str) -> str:
    """Write the keys that identify a row of a table in plain words; see `scores.warning_table.gather`.

    >>> _in_words("run=1, n=10, method=hinge-l1inf, radius=30.0")
    'run 1, n 10, l1,∞, radius 30'
    """
    keys = re.sub(r"\bmethod=([\w-]+)", lambda found: label(found[1]), keys)
    return re.sub(r"\b(run|n|radius)=(\d+)(\.0\b)?", r"\1 \2", keys)


def left_out(table: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return each reason why data are left out, with the number of items left out and the first of these items."""
    reasons = table.groupby("reason", sort=False)["item"].agg(count="size", first="first").reset_index()
    return list(reasons.sort_values("count", ascending=False, kind="stable").to_dict("records"))

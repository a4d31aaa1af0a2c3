"""Findings of a run for people who read one screen: a sentence, a table of methods, and warnings in plain words."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from jointsparse.metrics import FIRST
from jointsparse.pipeline.flag import LEFT_OUT, Kind
from jointsparse.pipeline.scores.flags import GAP

NORMS = {"l1inf": "l1,∞", "l12": "l1,2"}  # others are called as they are
SHOWN_WORDS = 3  # with the highest AUC, and with the lowest
RARE = 0.75  # Choice: times the test images of other words
CHANCE = 0.05  # Choice: of p-values after Holm's correction
ALL_FEATURES = "l2"  # the norm that leaves no feature out
LEVEL = 0.01  # Choice: mean AUCs that differ by no more are level
WRONG, NOTE = "wrong", "note"  # a number is not what it says, or a remark that no number suffers from
ANSWERS = {"holds": "yes", "does not hold": "no", "demonstration": "not judged on such data"}  # else the verdict


class Meaning(NamedTuple):
    """What some kinds of flags mean to a reader, and what to do. severity: `WRONG` or `NOTE`."""

    severity: str
    text: str
    kinds: Collection[str]


# The worst first.
MEANINGS = (
    Meaning(
        WRONG,
        "Some {labels} have scores that are not numbers: their rows mean nothing.",
        {Kind.UNDEFINED, Kind.WORDS_UNDEFINED},
    ),
    Meaning(
        WRONG,
        f"Some fits may be more than {100 * GAP:g} % away from their optimum: they need more steps.",
        {Kind.CERTIFIED_GAP},
    ),
    Meaning(
        WRONG,
        "An optimum that others are compared with is not exact: it needs more steps.",
        {Kind.CERTIFIED_ONLY_TO},
    ),
    Meaning(
        WRONG,
        "LinearSVC stopped early on some {labels}: raise max_iter or lower C.",
        {Kind.NOT_CONVERGED},
    ),
    Meaning(WRONG, "Some {things} repeat in other splits: tests look better than they are.", {Kind.REPEATED}),
    Meaning(NOTE, "Some {labels} are on too few {things} to be learnt and tested: they are left out.", LEFT_OUT),
    Meaning(
        NOTE,
        "Some {labels} have the same score for all test {things}: nothing was learnt of them.",
        {Kind.TIED, Kind.WORDS_TIED},
    ),
    Meaning(
        NOTE,
        "Some chosen fits rank the validation {things} no better than chance: their tests say little.",
        {Kind.NO_BETTER},
    ),
    Meaning(NOTE, "The largest first step was chosen: a larger one may do better.", {Kind.ETA0_UPPER}),
    Meaning(NOTE, "The smallest first step was chosen: a smaller one may do better.", {Kind.ETA0_LOWER}),
    Meaning(NOTE, "The largest strength that was tried was chosen: a larger one may do better.", {Kind.RADIUS_UPPER}),
    Meaning(NOTE, "The smallest strength that was tried was chosen: a smaller one may do better.", {Kind.RADIUS_LOWER}),
    Meaning(NOTE, "Some {things} have no feature at all.", {Kind.EMPTY}),
    Meaning(
        NOTE,
        "Nearly all training {things} have one of the {labels}: there is little to learn of it.",
        {Kind.NEARLY_ALL},
    ),
    Meaning(NOTE, "Some {labels} have fewer training {things} than asked for: they got all.", {Kind.CAPPED}),
    Meaning(
        NOTE,
        "Some fits are perfect on their training {things}, as many others would be: more {things} would tell more.",
        {Kind.NOT_UNIQUE},
    ),
    Meaning(
        NOTE,
        "Some methods have not come below the objective they began with: try other steps.",
        {Kind.NO_LOWER},
    ),
    Meaning(NOTE, "Some features are the same in all training {things}: they do no harm.", {Kind.CONSTANT}),
)
OTHER = Meaning(WRONG, "Other warnings.", ())


def label(method: str) -> str:
    """Name that people use for a method of a study, or a norm.

    >>> label("hinge-l1inf"), label("logistic-l12"), label("svm-l2")
    ('l1,∞', 'l1,2 (logistic)', 'linear SVM')
    """
    if method == "svm-l2":
        return "linear SVM"
    loss, _, norm = method.rpartition("-")
    name = NORMS.get(norm, norm)
    return name if loss in ("", "hinge") else f"{name} ({loss})"


def percent(fraction: float) -> str:
    """A fraction in per cent, to two digits.

    >>> percent(0.0345), percent(1.0)
    ('3.5 %', '100 %')
    """
    return f"{100 * fraction:.2g} %" if fraction < 0.0995 else f"{100 * fraction:.0f} %"


def some(count: int, plural: str) -> str:
    """So many of some things, in English.

    >>> some(1, "words"), some(1, "classes"), some(1200, "images")
    ('1 word', '1 class', '1,200 images')
    """
    return f"{count:,} {plural if count != 1 else one_of(plural)}"


def one_of(plural: str) -> str:
    """The singular of a plural, such as "topic" or "class"."""
    return plural.removesuffix("es" if plural.endswith("sses") else "s")


def methods_table(means: pd.DataFrame, differences: pd.DataFrame | None = None) -> list[dict[str, Any]]:
    """A row for each method, with a cell for each size: AUC with its half width over runs, and the share of features.

    means: see `scores.runs.means`. In the average of the AUC each positive weighs the same, over words that were not
    used for validation. differences: the leads of the first method, if there are others. lead: in words, that of the
    first method over another with the largest training sets; nothing if there is none.
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
    """The lead over each other method with the largest training sets, and its interval."""
    wanted = "metric == 'auc' and words == 'test words' and average == 'by positives' and n == n.max()"
    said = {}
    for row in differences.query(wanted).to_dict("records"):
        ends = [f"{row[end]:+.3f}".replace("-", "−") for end in ("difference", "low", "high")]
        interval = f" ({ends[1]} to {ends[2]})" if np.isfinite(row["low"]) else ""
        said[row["against"]] = f"{ends[0]}{interval}"
    return said


def sentence(learnt: pd.DataFrame, labels: str = "words", *, n_test: int = FIRST) -> str:
    """Say in one sentence which words a method recognises better than chance, and how many of them well.

    learnt: the rows of the method, see `answers.Answers`, and right: how many of the first test images have the word.
    labels: the name of what is learnt. n_test: test images.
    """
    counted, first = _counted(learnt), min(FIRST, n_test)
    recognised, half = counted["p_holm"] <= CHANCE, (first + 1) // 2
    best, others = counted["word"][recognised].tolist(), counted["word"][~recognised].tolist()[::-1]
    n_well, more = int((counted["right"][recognised] >= half).sum()), len(others) - SHOWN_WORDS
    parts = [f"{len(best)} of {some(len(counted), labels)} can be recognised better than by chance"]
    if best:
        several = {len(best): "all", 1: "1", 0: "none"}.get(n_well, f"{n_well:,}")
        parts[0] += f", {several} of them with at least {half} of the first {first} right"
        parts.append(f"best: {', '.join(best[:SHOWN_WORDS])}")
    parts += [f"not: {', '.join(others[:SHOWN_WORDS])}{f' and {more} more' if more > 0 else ''}"] if others else []
    return f"{'; '.join(parts)}."


def how_many_taken(n_taken: int, n_learnable: int, labels: str = "words") -> str:
    """Say how many of the words that could be learnt were taken; nothing if all were.

    >>> how_many_taken(40, 374, "labels"), how_many_taken(3, 3)
    ('The 40 most frequent of 374 labels were taken: n_words: 374 takes all.', '')
    """
    if n_taken >= n_learnable:
        return ""
    said = f"The {n_taken:,} most frequent of {n_learnable:,} {labels} were taken"
    return f"{said}: n_words: {n_learnable} takes all."


def against_all_features(norms: pd.DataFrame) -> str:
    """Say what the norm that is kept gives with its features, and what l2 gives with all of them.

    norms: see `models.final.norms`.
    """
    (kept,) = norms[norms["kept"]].to_dict("records")
    used = "all" if kept["features"] == kept["of"] else f"{kept['features']:,} of"
    said = f"The kept model, {label(kept['norm'])}, uses {used} {kept['of']:,} features."
    for other in norms[(norms["norm"] == ALL_FEATURES) & ~norms["kept"]].to_dict("records"):
        ends = f" ({other['auc_low']:.3f} to {other['auc_high']:.3f})" if np.isfinite(other["auc_low"]) else ""
        used = f"{'all' if other['features'] == other['of'] else 'only'} {other['features']:,}"
        said += f" With {used}, {ALL_FEATURES} would give a mean AUC of {other['auc']:.3f}{ends}"
        said += f" instead of {kept['auc']:.3f}."
    return said


def norms_table(norms: pd.DataFrame) -> list[dict[Any, Any]]:
    """A row for each norm of the final fits, with its name for people and half the width of its interval.

    norms: see `models.final.norms`.
    """
    table = norms.assign(label=norms["norm"].map(label), half=(norms["auc_high"] - norms["auc_low"]) / 2)
    return list(table.to_dict("records"))


def how_sure(
    learnt: pd.DataFrame, method: str, means: pd.DataFrame | None, *, n_test: int, things: str = "images"
) -> str:
    """Say how well words are recognised on average, and how far the best other method is with the most training images.

    Parameters
    ----------
    learnt : table
        As of `sentence`.
    method : str
        Its method. If `means` has no numbers of it, their first method is compared with the others.
    means : table or None
        See `scores.runs.means`. None where no study compares methods.
    n_test : int
        Test images.
    things : str
        The name of what has labels.

    Returns
    -------
    str
        Two sentences, or one where there are no other methods.
    """
    said = (
        f"On average {one_digit(average(learnt, 'right'))} "
        f"of the first {min(FIRST, n_test)} {things} are right "
        f"(mean AUC {average(learnt, 'auc'):.3f} on {n_test:,} test {things})."
    )
    if means is None:
        return said
    auc = means[means["n"] == means["n"].max()].set_index("method")["auc_weighted"]
    if len(auc) == 1:
        return said
    method = method if method in auc else str(auc.index[0])
    others = auc.drop(method)
    lead, other = auc[method] - others.max(), label(str(others.idxmax()))
    where = f"{abs(lead):.3f} {'ahead of' if lead > 0 else 'behind'}"
    where = f"level (within {LEVEL}) with" if abs(lead) <= LEVEL else where
    return f"{said} Where methods are compared, {label(method)} is {where} the best other one, {other}."


def one_digit(value: float) -> str:
    """A number above 0 to one digit, a half rounded up as the page's script does.

    >>> one_digit(6.25)
    '6.3'
    """
    return f"{value + 1e-9:.1f}"


def average(learnt: pd.DataFrame, column: str) -> float:
    """Average a column over the words, by their weights. learnt: as of `sentence`."""
    counted = _counted(learnt).dropna(subset=[column])
    return float((counted[column] * counted["weight"]).sum() / max(counted["weight"].sum(), 1))


def hold(verdicts: Mapping[str, int]) -> str:
    """Say in one sentence whether the papers' findings hold. verdicts: how many claims have each.

    >>> hold({"holds": 1, "level": 0, "undecided": 5, "demonstration": 2})
    "Do the papers' findings hold here? 1 yes, 5 undecided, 2 not judged on such data."
    """
    said = [f"{n} {ANSWERS.get(verdict, verdict)}" for verdict, n in verdicts.items() if n]
    return f"Do the papers' findings hold here? {', '.join(said) or 'None was asked about'}."


def why_not(learnt: pd.DataFrame, things: str = "images", labels: str = "words") -> str:
    """Say what words have in common that a method does not recognise; nothing if it recognises all, or none.

    Parameters
    ----------
    learnt : table
        As of `sentence`.
    things : str
        The name of what has labels.
    labels : str
        The name of what is learnt.

    Returns
    -------
    str
        A sentence.
    """
    counted = _counted(learnt)
    recognised = counted["p_holm"] <= CHANCE
    if recognised.all() or not recognised.any():
        return ""
    rare, rest = counted.loc[~recognised, "positives"].median(), counted.loc[recognised, "positives"].median()
    why = "rarer" if rare < RARE * rest else "not much rarer"
    return (
        f"{labels.capitalize()} that are not recognised are {why} than the others: "
        f"{some(int(rare), f'test {things}')} against {rest:.0f} (medians)."
    )


def _counted(learnt: pd.DataFrame) -> pd.DataFrame:
    """The words, the best first, without those that chose the radius; all words if all did."""
    rows = learnt.sort_values(["right", "auc"], ascending=False, kind="stable")
    chose = rows["validation_word"]
    return rows if chose.all() else rows[~chose]


def warnings_of(
    gathered: Mapping[str, pd.DataFrame], things: str = "images", labels: str = "words"
) -> list[dict[str, Any]]:
    """Warnings of all studies in plain words, those that make a number wrong first. What is left out is told elsewhere.

    gathered: the table of `scores.warning_table.gather`, by study. things: what has labels. labels: what is learnt.
    Returns severity, text, details: what the tables say, for each.
    """
    details: dict[str, list[str]] = {}
    for study, table in gathered.items():
        table = table[table["table"] != "left_out"]
        of_runs = table["table"].str.replace(r"_run\d+$", "", regex=True)
        for (name, warning), rows in table.groupby([of_runs, "warning"], sort=False):
            row, kind = rows.iloc[0], str(warning).partition(": ")[0]
            text = next((meaning for meaning in MEANINGS if kind in meaning.kinds), OTHER).text
            first = f", first {row['first']}" if isinstance(row["first"], str) and row["first"] else ""
            runs = f" of {len(rows)} runs" if len(rows) > 1 else ""
            detail = f"{study}, {name}{runs}: {warning} ({rows['rows'].sum()} of {rows['of'].sum()} rows{first})"
            details.setdefault(text, []).append(detail)
    shown = [
        {"severity": severity, "text": text.format(things=things, labels=labels), "details": details[text]}
        for severity, text, _ in (*MEANINGS, OTHER)
        if text in details
    ]
    return sorted(shown, key=lambda warning: warning["severity"] != WRONG)


def left_out(table: pd.DataFrame) -> list[dict[Any, Any]]:
    """Count the data that are not used: each reason, how often, and the first item."""
    reasons = table.groupby("reason", sort=False)["item"].agg(count="size", first="first").reset_index()
    return list(reasons.sort_values("count", ascending=False, kind="stable").to_dict("records"))

"""Findings of a run for people who read one screen: a sentence, a table of methods, and warnings in plain words."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from jointsparse.learning.flag import EDGE, read_cell
from jointsparse.scores.evaluation import NO_BETTER, TIED, UNDEFINED
from jointsparse.scores.flags import GAP

NORMS = {"l1inf": "l1,∞", "l12": "l1,2"}  # others are called as they are
SHOWN_WORDS = 5  # with the highest AUC, and with the lowest
RARE = 0.75  # Choice: times the test images of other words
CHANCE = 0.05  # Choice: of p-values after Holm's correction
# What warnings mean and what to do, the worst first. A text goes with each kind of flag that contains the key.
PLAIN = {
    UNDEFINED: "Some words have scores that are not numbers: their rows mean nothing.",
    TIED: "Some words have the same score for every test image: nothing was learnt of them.",
    NO_BETTER: "Some chosen fits rank the validation images no better than chance: their tests say little.",
    "certified gap": f"Some fits may be more than {100 * GAP:g} % away from their optimum: raise n_iter.",
    "optimum certified only to": "An optimum that others are compared with is not exact: raise n_iter.",
    "tasks not converged": "LinearSVC stopped early on some words: raise max_iter or lower C.",
    f"eta0 at the upper {EDGE}": "The largest first step was chosen: add larger values to eta0.",
    f"eta0 at the lower {EDGE}": "The smallest first step was chosen: add smaller values to eta0.",
    f"upper {EDGE}": "The largest value of a grid was chosen: a larger one may do better.",
    f"lower {EDGE}": "The smallest value of a grid was chosen: a smaller one may do better.",
    "in another split": "Images with the same features are in several splits: tests look better than they are.",
    "without any feature": "Some images have no feature at all.",
    "training images with it": "Nearly all training images have one of the words: there is little to learn of it.",
    "fewer images than asked for": "Some words have fewer training images than asked for: they got all of them.",
    "not used": "Some of the data were left out, each with its reason below.",
    "not unique": "Some fits explain their training images whole, as many others would: more images would tell more.",
    "no lower than the first": "Some methods have not come below the objective they began with: try other steps.",
    "the same in all training": "Some features are the same in all training images: they do no harm.",
}


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


def methods_table(means: pd.DataFrame) -> list[dict[str, Any]]:
    """A row for each method, with a cell for each size: AUC with its half width over runs, and the share of features.

    means: see `scores.many.means`. In the average of the AUC each positive weighs the same, over words that were not
    used for validation.
    """
    auc, features = means["auc_weighted"], means["features"].map(percent)
    best = auc == means.groupby("n")["auc_weighted"].transform("max")
    table = means.assign(auc=auc, half=means["high"] - auc, features=features, best=best)
    by_method = table.groupby("method", sort=False)
    return [
        {"method": method, "label": label(str(method)), "cells": cells.to_dict("records")}
        for method, cells in by_method
    ]


def sentence(tables: Mapping[str, pd.DataFrame], things: str = "images", study: str = "") -> str:
    """Say in one sentence what a study of words has found.

    tables: means, words_learnt, and differences where there are several methods. things: what has words. study: its
    name if it shall be said.
    """
    learnt, n = tables["words_learnt"], tables["means"]["n"].max()
    means = tables["means"].query("n == @n").set_index("method")
    first = means.index[0]
    own, chose = _counted(learnt, first)
    known = int((own["p_holm"] <= CHANCE).sum())
    found = (
        f"{f'{study}: w' if study else 'W'}ith {n} positive {things} a word, "
        f"{label(first)} recognises {known} of {len(own)} test words{chose} better than chance, "
        f"best “{own['word'].iloc[0]}”, with a mean AUC of {means['auc_weighted'].iloc[0]:.3f} and "
        f"{percent(means['features'].iloc[0])} of the features"
    )
    if len(means) == 1:
        return f"{found}."
    wanted = "metric == 'auc' and words == 'test words' and average == 'by positives' and n == @n"
    leads = tables["differences"].query(wanted).to_dict("records")
    return f"{found}; {', '.join(_lead(row, means['features']) for row in leads)}."


def best_and_worst(learnt: pd.DataFrame, method: str, things: str = "images") -> str:
    """Name the words that a method recognises best and worst, and what those have in common that it does not recognise.

    learnt: the table words_learnt. things: what has words.
    """
    own, _ = _counted(learnt, method)
    named = [f"{word} ({auc:.2f})" for word, auc in zip(own["word"], own["auc"], strict=True)]
    lowest = named[max(len(named) - SHOWN_WORDS, SHOWN_WORDS) :][::-1]
    said = f"Highest AUC: {', '.join(named[:SHOWN_WORDS])}." + (f" Lowest: {', '.join(lowest)}." if lowest else "")
    known = own["p_holm"] <= CHANCE
    if known.all():
        return said
    said = f"{said} Not told from chance: {(~known).sum()} words"
    rare, rest = own.loc[~known, "positives"].median(), own.loc[known, "positives"].median()
    if not known.any():
        return f"{said}, with {rare:.0f} test {things} that have them (median)."
    why = "They are rarer" if rare < RARE * rest else "They are not much rarer"
    return f"{said}. {why} than the others: {rare:.0f} test {things} have them, and {rest:.0f} the others (medians)."


def _counted(learnt: pd.DataFrame, method: str) -> tuple[pd.DataFrame, str]:
    """The rows of a method by decreasing AUC, without words that chose the radius; all rows and a remark if all did."""
    own = learnt[learnt["method"] == method].sort_values("auc", ascending=False, kind="stable")
    chose = own["validation_word"]
    return (own, " (each of which chose the radius)") if chose.all() else (own[~chose], "")


def beside(studies: Mapping[str, pd.DataFrame]) -> str:
    """Say how far the first method of each study is from the best of its others. studies: their tables means."""
    said = []
    for study, means in studies.items():
        n = means["n"].max()
        auc = means[means["n"] == n].set_index("method")["auc_weighted"]
        if len(auc) > 1:
            lead, other = auc.iloc[0] - auc.iloc[1:].max(), label(str(auc.iloc[1:].idxmax()))
            where = "ahead of" if lead >= 0 else "behind"
            said.append(f"{study} (n = {n}): {label(str(auc.index[0]))} {abs(lead):.3f} {where} {other}")
    return f"In other studies: {'; '.join(said)}." if said else ""


def _lead(row: Mapping[Any, Any], features: pd.Series) -> str:
    """The lead over another method, with its interval and the features that the other uses."""
    ends = [row["difference"], row["low"], row["high"]]
    where = "ahead of"
    if ends[0] < 0:
        ends, where = [-ends[0], -ends[2], -ends[1]], "behind"
    by, low, high = (f"{end:.3f}".replace("-", "−") for end in ends)
    interval = f" ({low} to {high})" if np.isfinite(row["low"]) else ""
    return f"{by}{interval} {where} {label(row['against'])} with {percent(features[row['against']])}"


def warnings_of(gathered: Mapping[str, pd.DataFrame], things: str = "images") -> list[dict[str, Any]]:
    """Warnings of all studies in plain words, the worst first.

    gathered: the table of `scores.flags.gather`, by study. things: what has words. Returns text, details: what the
    tables say, for each.
    """
    found: dict[str, list[str]] = {}
    for study, table in gathered.items():
        of_runs = table["table"].str.replace(r"_run\d+$", "", regex=True)
        for (name, warning), rows in table.groupby([of_runs, "warning"], sort=False):
            kind, row = read_cell(warning)[0].kind, rows.iloc[0]
            key = next((key for key in PLAIN if key in kind), "")
            first = f", first {row['first']}" if isinstance(row["first"], str) and row["first"] else ""
            runs = f" of {len(rows)} runs" if len(rows) > 1 else ""
            detail = f"{name}{runs}: {warning} ({rows['rows'].sum()} of {rows['of'].sum()} rows{first})"
            found.setdefault(key, []).append(detail if name == "left_out" else f"{study}, {detail}")
    order = [*PLAIN, ""]
    texts = {key: text.replace("images", things).replace("Images", things.capitalize()) for key, text in PLAIN.items()}
    return [
        {"text": texts.get(key, "Other warnings."), "details": list(dict.fromkeys(found[key]))}
        for key in sorted(found, key=order.index)
    ]


def left_out(table: pd.DataFrame) -> list[dict[Any, Any]]:
    """Count the data that are not used: each reason, how often, and the first item."""
    reasons = table.groupby("reason", sort=False)["item"].agg(count="size", first="first").reset_index()
    return list(reasons.sort_values("count", ascending=False, kind="stable").to_dict("records"))

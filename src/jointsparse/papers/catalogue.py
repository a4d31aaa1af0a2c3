"""Every figure by name, with its table and the function that draws it.

Where `quattoni` has a figure of the same name as `study`, it lays the paper's numbers over that one, if asked to.
"""

from importlib.resources import as_file, files
from typing import Any

import pandas as pd
from matplotlib import style
from matplotlib.figure import Figure

from jointsparse.checks import require
from jointsparse.figures import study
from jointsparse.figures.style import Drawing
from jointsparse.papers.duchi import figures as duchi
from jointsparse.papers.quattoni import figures as quattoni

FIGURES = {
    "convergence": Drawing("convergence", quattoni.convergence, beside_paper=True),
    "auc": Drawing("chosen", quattoni.auc, "differences", beside_paper=True),
    "auc_by_size": Drawing("chosen", study.auc, "differences"),
    "eer": Drawing("chosen", quattoni.eer, "differences", beside_paper=True),
    "eer_by_word": Drawing("by_word", quattoni.eer_by_word, beside_paper=True),
    "sparsity": Drawing("sparsity", quattoni.sparsity, beside_paper=True),
    "auc_by_features": Drawing("sparsity", study.auc_by_features),
    "auc_by_power": Drawing("sparsity", study.auc_by_power),
    "significance": Drawing("significance", quattoni.significance, beside_paper=True),
    "weights": Drawing("weights", quattoni.weights, beside_paper=True),
    "test_error": Drawing("recovery", quattoni.test_error),
    "error_by_arm": Drawing("recovery", quattoni.error_by_arm),
    "selection": Drawing("recovery", quattoni.selection),
    "selection_by_validation": Drawing("recovery", quattoni.selection_by_validation),
    "cost": Drawing("cost", quattoni.cost),
    "projection": Drawing("projection", duchi.projection),
    "race": Drawing("race_seconds", duchi.race),
    "exponentiated": Drawing("exponentiated_seconds", duchi.exponentiated),
    "exponentiated_gradients": Drawing("exponentiated_seconds", duchi.exponentiated_gradients),
    "digits": Drawing("digits_seconds", duchi.exponentiated),
    "digits_gradients": Drawing("digits_seconds", duchi.exponentiated_gradients),
    "online": Drawing("online", duchi.online),
}


def draw(name: str, table: pd.DataFrame, *, beside: pd.DataFrame | None = None, beside_paper: bool = True) -> Figure:
    """Draw a figure of FIGURES.

    Parameters
    ----------
    name : str
        Its name.
    table : DataFrame
        Its table, with rows.
    beside : DataFrame, optional
        The second table of a figure that has one.
    beside_paper : bool
        False for other data than the papers' experiments are repeated on: no number of theirs is drawn.

    Raises
    ------
    ValueError
        For another name, and for a table without rows or a needed column.
    """
    require(name in FIGURES, f"figures knows {', '.join(FIGURES)}; got {name!r}")
    require(len(table), f"figure {name}: expected a table {FIGURES[name].table} with rows, got none")
    with as_file(files("jointsparse.figures") / "jointsparse.mplstyle") as sheet, style.context(str(sheet)):
        try:
            options: dict[str, Any] = {"beside_paper": beside_paper} if FIGURES[name].beside_paper else {}
            options |= {"beside": beside} if FIGURES[name].beside else {}
            return FIGURES[name].function(table, **options)
        except KeyError as missing:
            got = ", ".join(map(str, table))
            raise ValueError(f"figure {name}: the table {FIGURES[name].table} lacks {missing}, got {got}") from None

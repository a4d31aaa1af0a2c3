"""All figures by name, each with the table that it shows and the function that draws it.

The functions in the module `study` draw figures that suit any study. For such a figure, the entry in the catalogue also
says which figure of a paper it reproduces, and which values the paper states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from jointsparse.checks import require
from jointsparse.pipeline.figures import study
from jointsparse.pipeline.figures.style import SHEET, Drawing
from jointsparse.pipeline.papers.duchi import figures as duchi
from jointsparse.pipeline.papers.quattoni import figures as quattoni
from jointsparse.pipeline.papers.quattoni.numbers import FIGURE_4, REPORT_SIZE, TABLE_1

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Q09, Q08 = "Quattoni et al. 2009", "Quattoni et al. 2008"

# fmt: off
FIGURES = {
    "convergence": Drawing(
        "convergence", quattoni.convergence,
        stated={"source": "\n(paper: Fig. 2, radius 0.1, 1, 10, 100, 63,408 samples)"},
    ),
    "auc": Drawing(
        "chosen", study.auc, "differences", f"{Q09}, Fig. 3",
        {"source": " (paper: Fig. 3)"},
    ),
    "auc_by_size": Drawing("chosen", study.auc, "differences"),
    "eer": Drawing(
        "chosen", study.eer, "differences", f"{Q08}, Fig. 3 left",
        {"source": "\n(paper: report, Fig. 3 left, l1,∞ < l1 < l2)"},
    ),
    "eer_by_word": Drawing(
        "by_word", quattoni.eer_by_word, stated={"source": f"\n(paper: report, Fig. 3 right, n = {REPORT_SIZE})"}
    ),
    "sparsity": Drawing(
        "sparsity", study.auc_by_features, "", f"{Q09}, Fig. 4",
        {"stated": FIGURE_4, "source": " (paper: Fig. 4, Reuters)"},
    ),
    "auc_by_features": Drawing("sparsity", study.auc_by_features),
    "auc_by_power": Drawing("sparsity", study.auc_by_power),
    "significance": Drawing(
        "significance", quattoni.significance,
        stated={"reported": TABLE_1, "source": "\n(paper: Table 1, Reuters photographs)"},
    ),
    "weights": Drawing("weights", study.weights, "", f"{Q08}, Fig. 4", {"source": " (paper: report, Fig. 4)"}),
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
# fmt: on


def draw(name: str, table: pd.DataFrame, *, beside: pd.DataFrame | None = None, beside_paper: bool) -> Figure:
    """Draw a figure of FIGURES.

    Parameters
    ----------
    name : str
        Name of the figure.
    table : DataFrame
        The table that the figure shows. It must have at least one row.
    beside : DataFrame, optional
        The second table, for a figure that shows two tables.
    beside_paper : bool
        Whether to draw the values that the paper states. Set it to False for datasets that differ from the paper's.

    Raises
    ------
    ValueError
        If the name is unknown, or the table has no rows or lacks a column.
    """
    from matplotlib import style

    require(name in FIGURES, f"a figure must be one of {', '.join(FIGURES)}, got {name!r}")
    drawing = FIGURES[name]
    require(len(table), f"figure {name}: the table {drawing.table} must have rows, got none")
    with style.context(SHEET):
        try:
            stated, more = drawing.stated if beside_paper else {}, {"beside": beside} if drawing.beside else {}
            return drawing.function(table, **stated, **more)
        except KeyError as missing:
            got = ", ".join(map(str, table))
            raise ValueError(
                f"figure {name}: the table {drawing.table} must have the column {missing}, got {got}"
            ) from None

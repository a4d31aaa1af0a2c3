"""The list of the datasets of a run: the model of each dataset, and the results of its studies."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from jointsparse.pipeline.page import sentences
from jointsparse.pipeline.page.frame import render
from jointsparse.pipeline.page.warnings import warnings_of


class StudyResults(NamedTuple):
    """The results of a study that the list shows. All files are relative to the list.

    Attributes
    ----------
    name : str
        Name of the study.
    figures : mapping
        Captions of the study's figures, by file.
    tables : mapping
        Files of the study's tables, by name.
    claims : str
        A sentence with the verdicts on the claims that the study tests; empty if it tests none.
    means, warned : DataFrame or None
        The tables `means` and `warnings` of the study, if it has them.
    """

    name: str
    figures: Mapping[str, str]
    tables: Mapping[str, str]
    claims: str
    means: pd.DataFrame | None
    warned: pd.DataFrame | None

    @property
    def finding(self) -> str:
        """A sentence that says what the study has found."""
        return self.claims if self.means is None else sentences.comparison(self.means)

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """The warnings of the study, see `warnings_of`."""
        return [] if self.warned is None else warnings_of(self.warned, "samples", "labels")


def index(datasets: Sequence[Mapping[str, Any]], claims: str) -> str:
    """Return the page that lists the datasets of a run, as HTML.

    Parameters
    ----------
    datasets : list of mapping
        For each dataset its name, `dataset`; its `note`; `demonstration`, whether its results are no evidence for a
        method; a list of `StudyResults`, `studies`; and `model`, the findings of the page of its saved model, see
        `model.Page`, or None if it has none.
    claims : str
        The page with all claims, relative to the list; empty if the run tests none.
    """
    return render("index.html.jinja", datasets=datasets, claims=claims, data=None)

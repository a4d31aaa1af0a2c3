"""Outputs that Snakemake's report shows."""

from pathlib import Path
from typing import Any

from snakemake.io import report

LABELS = {"{dataset}": "dataset", "{datasets}": "dataset", "{study}": "study"}  # by wildcard


def in_report(file: str, category: str, shows: str, caption: str = "", **labels: str) -> Any:
    """Mark an output as part of Snakemake's report.

    Parameters
    ----------
    file : str
        The output, with wildcards.
    category : str
        The part of the report.
    shows : str
        What the output is. The report shows this text in the output's row, next to its dataset and study.
    caption : str
        Name, without suffix, of the file in `workflow/report` with the caption; by default, the name of the output.
    **labels : str
        Further columns of the output's row, by name.
    """
    row = {label: wildcard for wildcard, label in LABELS.items() if wildcard in file} | labels | {"shows": shows}
    return report(file, caption=f"../report/{caption or Path(file).stem}.rst", category=category, labels=row)

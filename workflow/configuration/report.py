"""Outputs that Snakemake's report shows."""

from pathlib import Path
from typing import Any

from snakemake.io import report

WILDCARDS = ("{dataset}", "{datasets}", "{study}")


def in_report(file: str, category: str, shows: str, caption: str = "") -> Any:
    """Mark an output as part of Snakemake's report.

    Parameters
    ----------
    file : str
        The output, with wildcards.
    category : str
        The part of the report.
    shows : str
        What the output is. The report lists the output by its dataset, its study and this text. They form a single
        label, because with several labels the report tries to pair the outputs, and fails if an output has no partner.
    caption : str
        Name, without suffix, of the file in `workflow/report` with the caption; by default, the name of the output.
    """
    result = f"{', '.join(wildcard for wildcard in WILDCARDS if wildcard in file)}: {shows}"
    caption = f"../report/{caption or Path(file).stem}.rst"
    return report(file, caption=caption, category=category, labels={"result": result})

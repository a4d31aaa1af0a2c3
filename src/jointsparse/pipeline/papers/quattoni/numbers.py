"""Results that the papers report. Figures show them next to ours."""

from collections.abc import Iterable

import pandas as pd

# Quattoni et al. 2009, Table 1: p-values of one-sided sign tests of hinge-l1inf against l2 and l1, Reuters photographs.
TABLE_1 = pd.DataFrame(
    {
        "n": [40, 80, 160, 320, 640],
        "n_samples": [4_800, 9_600, 19_200, 38_400, 63_408],
        "l2": [0.0042, 0.0002, 0.00001, 0.35, 0.001],
        "l1": [0.00001, 0.009, 0.00001, 0.36, 0.46],
    }
)

# Quattoni et al. 2009, sec. 6.2 on Fig. 4: method, fraction of features used, average AUC, Reuters photographs.
FIGURE_4 = [("hinge-l1inf", 0.30, 0.66), ("hinge-l1", 0.95, 0.65)]

REPORT_SIZE = 30  # positives per task in figures that show a single size, as in Fig. 3 right of the report


def report_size(sizes: Iterable[int]) -> int:
    """Return the training size of single-size figures: the first size that is at least 30, or else the largest size.

    >>> report_size([15, 40, 80]), report_size([10, 20])
    (40, 20)
    """
    ordered = sorted(sizes)
    return next((n for n in ordered if n >= REPORT_SIZE), ordered[-1])

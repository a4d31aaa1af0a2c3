"""Numbers that the papers report, to stand beside ours."""

import pandas as pd

# Quattoni et al. 2009, Table 1: one-sided sign tests of hinge-l1inf on the Reuters photographs.
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

# Quattoni et al. 2009, Fig. 3: the range of its AUC axis, which all its curves stay within.
FIGURE_3_AUC_RANGE = (0.64, 0.73)

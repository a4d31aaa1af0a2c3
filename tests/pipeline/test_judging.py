"""The rule that turns numbers and intervals into verdicts.

The estimates themselves are those of docs/results/verdicts.csv; see `test_results`.
"""

import numpy as np
import pandas as pd
import pytest

from jointsparse.pipeline.papers import shapes
from jointsparse.pipeline.papers.judging import ABOVE, BELOW, Claim, Estimate, conclude, decide, judged, rows_with

CLAIM = Claim("It is so.", "A paper", "sec. 1", "one", shapes.mean, "value of {method}", "value")


@pytest.mark.parametrize(
    ("low", "high", "least", "most", "verdict"),
    [
        (0.0, 1.0, 0.0, 1.0, "holds"),
        (0.2, 0.3, 0.0, 1.0, "holds"),
        (-0.1, 0.5, 0.0, 1.0, "undecided"),
        (-0.1, 1.5, 0.0, 1.0, "undecided"),
        (0.9, 1.1, 0.0, 1.0, "undecided"),
        (1.1, 1.2, 0.0, 1.0, "does not hold"),
        (1.0, 1.2, 0.0, 1.0, "undecided"),
        (-0.2, 0.0, 0.0, 1.0, "undecided"),
        (-0.2, -0.1, 0.0, 1.0, "does not hold"),
        (np.nan, np.nan, 0.0, 1.0, "undecided"),
        # Exactly 0 is at least 0, but neither above nor below it.
        (0.0, 0.0, 0.0, np.inf, "holds"),
        (0.0, 0.0, ABOVE, np.inf, "does not hold"),
        (0.0, 0.0, -np.inf, BELOW, "does not hold"),
    ],
)
def test_the_rule(low, high, least, most, verdict):
    assert decide(low, high, least, most) == verdict


@pytest.mark.parametrize(
    ("number", "half", "verdict"),
    [
        (0.0, 0.005, "level"),
        (0.004, 0.005, "level"),
        (0.004, 0.007, "undecided"),
        (0.004, 0.001, "holds"),
        (-0.004, 0.005, "level"),
        (-0.004, 0.007, "undecided"),
        (-0.004, 0.001, "does not hold"),
    ],
)
def test_methods_are_level_if_the_whole_interval_is_near_0(number, half, verdict):
    estimate = Estimate(number, number - half, number + half, "an interval", 4, half)
    got = conclude(CLAIM._replace(least=ABOVE, level=0.01), estimate, {"method": "a"})
    assert (got.verdict, "would decide it" in got.number_means) == (verdict, verdict == "undecided")
    assert conclude(CLAIM._replace(least=ABOVE), estimate, {"method": "a"}).verdict == (
        "undecided" if verdict == "level" else verdict
    )


@pytest.mark.parametrize(
    ("number", "over_runs", "note"),
    [
        # 0.01^2 = 0.008^2 + 0.006^2, of which more runs reduce the second.
        (0.009, 0.006, "; about 11 runs would decide it"),
        (0.0081, 0.006, "; about 112 runs would decide it"),
        (0.008001, 0.006, "; more than 1,000 runs would decide it"),
        (0.0079, 0.006, "; no number of runs would decide it"),
        (-0.009, 0.006, "; about 11 runs would decide it"),
        (0.009, np.nan, "; more of them would decide it"),
        (0.02, 0.006, "an interval"),
    ],
)
def test_an_undecided_row_says_how_many_runs_would_decide_it(number, over_runs, note):
    # Only the half of the interval on the side of the nearer limit matters.
    estimate = Estimate(number, number - 0.01, number + 0.02, "an interval", 4, over_runs, "more of them")
    got = conclude(CLAIM._replace(least=ABOVE), estimate, {"method": ("a", "b")})
    assert got.number_means.startswith("value of a or b; an interval")
    assert got.number_means.endswith(note)


POSITIVE, BELOW_1, ABOVE_1 = {"least": ABOVE}, {"most": 1.0}, {"least": 1.0}
LESS_THAN_0 = Estimate(-0.0045, -0.0085, -0.0005, "", 9)  # p-value 0.02
# Ratios, with a p-value of 0.0075. Without logarithms, or with the other end, it would be 0.0105, 0.0049 or larger.
MORE_THAN_1, LESS_THAN_1 = (Estimate(*ends, "", 4, of_logs=True) for ends in ((2.0, 1.25, 9.0), (0.5, 1 / 9, 0.8)))
RIGHT = [Estimate(*ends, "", 4) for ends in ((1.0, 0.9, 1.1), (0.5, 0.4, 0.6), (2.0, 1.5, 2.5))]


@pytest.mark.parametrize(
    ("wrong", "right", "limits", "n_right", "verdict"),
    [
        (LESS_THAN_0, RIGHT[0], POSITIVE, 0, "does not hold"),
        (LESS_THAN_0, RIGHT[0], POSITIVE | {"level": 0.005}, 4, "undecided"),
        (LESS_THAN_0, RIGHT[0], POSITIVE | {"level": 0.01}, 4, "level"),
        (MORE_THAN_1, RIGHT[1], BELOW_1, 5, "does not hold"),
        (MORE_THAN_1, RIGHT[1], BELOW_1, 6, "undecided"),
        (LESS_THAN_1, RIGHT[2], ABOVE_1, 5, "does not hold"),
        (LESS_THAN_1, RIGHT[2], ABOVE_1, 6, "undecided"),
    ],
)
def test_a_claim_does_not_hold_only_after_holms_correction_over_its_rows(wrong, right, limits, n_right, verdict):
    def shape(claim, tables, where):
        return [conclude(claim, right if where["n"] else wrong, where)]

    claim = CLAIM._replace(shape=shape, where={"method": "a"}, each={"n": tuple(range(1 + n_right))}, **limits)
    first, *others = judged(claim, {"one": pd.DataFrame({"method": ["a"]})})
    assert [first.verdict, *(other.verdict for other in others)] == [verdict] + ["holds"] * n_right
    note = f"after Holm's correction over {1 + n_right} rows"
    assert (note in first.number_means) == (verdict != "does not hold")


ROWS = pd.DataFrame({"method": ["a", "b", "c"], "n": [2, 1, 1], "x": [10.0, 20.0, 30.0], "y": [1, 4, 3]})


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"n": 1, "method": ("a", "c")}, ["c"]),
        ({"x": pd.Interval(10, 30, closed="left")}, ["a", "b"]),
        ({"x": pd.Interval(10, 30, closed="both")}, ["a", "b", "c"]),
        ({"x / y": 10}, ["a", "c"]),
    ],
)
def test_rows_are_selected_by_values_ranges_and_expressions(where, expected):
    assert list(rows_with({"one": ROWS}, "one", **where)["method"]) == expected

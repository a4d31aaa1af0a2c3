"""The rule that turns numbers and intervals into verdicts, and the estimates it takes."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from jointsparse.papers.judging import (
    ABOVE,
    BELOW,
    Estimate,
    Judgement,
    NotTested,
    conclude,
    decide,
    describe,
    each,
    geometric_mean_over,
    log_log,
    mean_over,
    only_after_holm,
    rows_with,
    slope_of,
    warned,
    withhold,
    without_small,
)


@pytest.mark.parametrize(
    "low, high, least, most, verdict",
    [
        (0.0, 1.0, 0.0, 1.0, "holds"),
        (0.2, 0.3, 0.0, 1.0, "holds"),
        (-0.1, 0.5, 0.0, 1.0, "undecided"),
        (-0.1, 1.5, 0.0, 1.0, "undecided"),
        (0.9, 1.1, 0.0, 1.0, "undecided"),
        (1.1, 1.2, 0.0, 1.0, "does not hold"),
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


def test_t_interval_is_scipys():
    values = np.random.default_rng(0).normal(size=7)
    expected = stats.t.interval(0.95, 6, values.mean(), stats.sem(values))
    got = mean_over(pd.Series([*values, np.nan]))
    assert got.number == pytest.approx(values.mean())
    assert (got.low, got.high) == pytest.approx(expected)


def test_slope_interval_is_scipys():
    rng = np.random.default_rng(0)
    x = np.array([10.0, 20, 40, 80, 200])
    y = 3 * x**1.5 * np.exp(rng.normal(0, 0.1, 5))
    expected = stats.linregress(np.log(x), np.log(y))
    line = log_log(x, y)
    half = stats.t.ppf(0.975, 3) * expected.stderr
    assert line[:3] == pytest.approx((expected.slope, expected.slope - half, expected.slope + half))
    residual = np.log(y) - expected.slope * np.log(x) - expected.intercept
    assert line.scatter == pytest.approx(stats.t.ppf(0.975, 3) * np.sqrt(2 * (residual**2).sum() / 3))


@pytest.mark.parametrize("x, y", [([1, 2], [0, 1]), ([2, 2], [1, 1]), ([1, 2], [1, np.nan]), ([0, 1], [1, 1])])
def test_no_slope_through_what_has_no_logarithm(x, y):
    with pytest.raises(NotTested, match="slope"):
        log_log(np.array(x, dtype=float), np.array(y, dtype=float))


def test_slope_of_groups_is_that_of_a_regression_with_their_intercepts():
    rng = np.random.default_rng(1)
    x = np.tile([10.0, 100, 1000], 2)
    group = np.repeat(["a", "b"], 3)
    y = np.where(group == "a", 1.0, 50.0) * x**0.3 * np.exp(rng.normal(0, 0.1, 6))
    design = np.column_stack([np.log(x), group == "a", group == "b"]).astype(float)
    expected, residual, _, _ = np.linalg.lstsq(design, np.log(y))
    half = stats.t.ppf(0.975, 3) * np.sqrt(residual[0] / 3 * np.linalg.inv(design.T @ design)[0, 0])
    got = slope_of(x, y, group)
    assert got[:3] == pytest.approx((expected[0], expected[0] - half, expected[0] + half))
    assert got.origin == "log-log slope over 6 sizes, 95 % t interval"
    with pytest.raises(NotTested, match="a slope needs two sizes, got 1"):
        slope_of(x[[0, 4]], y[[0, 4]], group[[0, 4]])


def test_geometric_mean_is_that_of_logarithms():
    ratios = pd.Series([2.0, 3.0, 8.0, 4.0, 4.0, np.nan])
    expected = np.exp(mean_over(np.log(ratios))[:3])
    got = geometric_mean_over(ratios, "size")
    assert got[:3] == pytest.approx(tuple(expected))
    assert got.number == pytest.approx(768 ** (1 / 5))
    assert got.origin == "geometric mean and 95 % t interval over 5 sizes"
    for wrong in (0.0, -1.0, np.inf):
        with pytest.raises(NotTested, match="needs positive, finite numbers"):
            geometric_mean_over(pd.Series([wrong, 1.0]))


@pytest.mark.parametrize(
    "number, half, verdict",
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
    judged = conclude(estimate, "a difference", "", least=ABOVE, level=0.01)
    assert judged.verdict == verdict
    assert ("would decide it" in judged.number_means) == (verdict == "undecided")
    without = conclude(estimate, "a difference", "", least=ABOVE).verdict
    assert without == ("undecided" if verdict == "level" else verdict)


@pytest.mark.parametrize("level, verdict", [(0.01, "level"), (0.005, "undecided")])
def test_what_holms_correction_leaves_open_may_be_level(level, verdict):
    """Five rows, the worst with a p-value of 0.02, of which 0.1 is left."""
    rows = [
        conclude(Estimate(d, d - 0.004, d + 0.004, "", 9), "", "", least=ABOVE, level=level)
        for d in [-0.0045] + [1] * 4
    ]
    assert rows[0].verdict == "does not hold"
    corrected = only_after_holm(rows)
    assert [one.verdict for one in corrected] == [verdict] + ["holds"] * 4
    assert "after Holm's correction over 5 rows" in corrected[0].number_means


@pytest.mark.parametrize("given, expected", [("holds", "undecided"), ("does not hold", "does not hold")])
def test_a_verdict_that_a_bound_may_not_give_is_withheld(given, expected):
    judgement = Judgement(1.0, 0.9, 1.1, given, "a number", "n=40")
    got = withhold(judgement, "holds")
    assert got.verdict == expected and ("as it is a bound" in got.number_means) == (expected == "undecided")
    assert withhold(judgement, "does not hold", "because").number_means.endswith("; because") == (given == expected)


def test_rows_of_several_values_are_selected_and_described():
    tables = {"one": pd.DataFrame({"method": ["a", "b", "c"], "n": [1, 1, 1]})}
    assert list(rows_with(tables, "one", n=1, method=("a", "c"))["method"]) == ["a", "c"]
    with pytest.raises(NotTested, match="table one has no row with n=1, method=d or e"):
        rows_with(tables, "one", n=1, method=("d", "e"))
    assert describe(n=1, method=("d", "e")) == "n=1, method=d or e"


def test_each_combination_is_judged_and_what_one_lacks_is_its_own():
    def judge_one(tables, n, against):
        if (n, against) == (2, "a"):
            raise NotTested("nothing there")
        return Judgement(n, n, n, "holds", against, "", n)

    judged = each(judge_one, {}, n=[1, 2], against=["a", "b"])
    assert [(one.n, one.verdict, one.number_means) for one in judged] == [
        (1, "holds", "a"),
        (1, "holds", "b"),
        (2, "not tested", "nothing there"),
        (2, "holds", "b"),
    ]
    assert judged[2].rows == "n=2, against=a"


def test_small_sizes_are_left_out_where_three_others_are_left():
    rows = pd.DataFrame({"x": [1, 10, 20, 30]})
    selector, large = without_small(rows, "part=a", 10)
    assert (selector, list(large["x"])) == ("part=a, x>=10", [10, 20, 30])
    assert without_small(rows, "part=a", 20)[1] is rows


def test_warnings_are_counted():
    fits = pd.DataFrame({"warning": ["at the edge", "", np.nan, None]})
    assert warned(fits, "edges") == "; 1 of 4 fits carry a warning (edges)"
    assert warned(fits[1:], "edges") == ""

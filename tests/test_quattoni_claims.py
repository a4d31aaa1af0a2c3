"""Verdicts on the claims of Quattoni et al., on hand-made tables whose answers are known."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from jointsparse import tables
from jointsparse.papers import claims

RUNS = np.arange(1, 5)
WIGGLE = np.array([-1.0, 1.0, -2.0, 2.0])  # of the runs about their mean, 0
JOINT, L1, L2, SVM = "hinge-l1inf", "hinge-l1", "hinge-l2", "svm-l2"


def verdicts(name, found):
    return list(claims.judge(found, [name])["verdict"])


def half_width(noise):
    """Of the t interval over the runs of a mean of noise * WIGGLE."""
    return stats.t.ppf(0.975, 3) * noise * np.sqrt(10 / 3 / 4)


def by_run(rows, noise=0.0, runs=RUNS, **values):
    """Each row once per run; values: column -> one number per row, to which noise * WIGGLE is added."""
    made = [
        dict(row, run=run)
        | {column: numbers[i] + (noise * WIGGLE[j] if i == 0 else 0) for column, numbers in values.items()}
        for i, row in enumerate(rows)
        for j, run in enumerate(runs)
    ]
    return pd.DataFrame(made)


def recovery(n=40, noise=0.0, rule="true", runs=RUNS, **values):
    """Rows of the three methods at one size; values: column -> (l1inf, l1, l2). The noise is that of l1inf."""
    methods = [{"n": n, "method": m, "radius_rule": rule, "solver": "subgradient"} for m in (JOINT, L1, L2)]
    return by_run(methods, noise, runs, **values)


def differences(rows, metric="auc"):
    """rows: (n, n_samples, against, difference, half width of its interval)."""
    made = [
        {"metric": metric, "n": n, "n_samples": n_samples, "words": words, "method": JOINT, "against": against}
        | {"difference": value if words == "test words" else -9.0, "low": value - half, "high": value + half, "runs": 5}
        for n, n_samples, against, value, half in rows
        for words in ("test words", "all words")
    ]
    return {"differences": pd.DataFrame(made)}


def test_an_empty_table_is_no_table():
    assert verdicts("feature-sharing", {"weights": pd.DataFrame(columns=["method", "feature", "weight"])}) == [
        "not tested"
    ]


def test_a_table_without_a_column_is_an_error():
    with pytest.raises(ValueError, match=r"table recovery must have the columns test_error, got .*n, method"):
        claims.judge({"recovery": recovery(recall=(1, 1, 1))}, ["synthetic-error-order"])


# The synthetic experiment


@pytest.mark.parametrize(
    "l1inf, noise, expected",
    [
        (0.10, 0.01, ["holds", "holds"]),
        (0.25, 0.01, ["does not hold", "holds"]),
        (0.19, 0.01, ["undecided", "holds"]),
        (0.20, 0.0, ["does not hold", "holds"]),
    ],
)
def test_synthetic_error_order(l1inf, noise, expected):
    table = recovery(noise=noise, test_error=(l1inf, 0.20, 0.40))
    judged = claims.judge({"recovery": table}, ["synthetic-error-order"])
    assert list(judged["verdict"]) == expected
    assert list(judged["n"]) == [40, 40]
    np.testing.assert_allclose(judged["number"], [l1inf - 0.20, l1inf - 0.40])
    np.testing.assert_allclose(judged["high"] - judged["number"], half_width(noise), atol=1e-12)
    expected_rows = "solver=subgradient, radius_rule=true, n=40, method=hinge-l1inf, against=hinge-l1"
    assert judged["rows"].iloc[0] == expected_rows
    assert judged["table"].iloc[0] == "recovery"


def test_errors_are_paired_by_run():
    # The runs differ by much more than the methods do.
    table = recovery(test_error=(0.10, 0.12, 0.13))
    table["test_error"] += 0.05 * table["run"] + 0.001 * np.sin(np.arange(len(table)))
    assert verdicts("synthetic-error-order", {"recovery": table.sample(frac=1, random_state=0)}) == ["holds", "holds"]


def test_other_solvers_and_rules_do_not_enter():
    table = recovery(noise=0.01, test_error=(0.1, 0.2, 0.4))
    other = table.assign(solver="pdhg", test_error=0.9)
    validated = table.assign(radius_rule="validated", test_error=0.9)
    expected = claims.judge({"recovery": table}, ["synthetic-error-order"])
    got = claims.judge({"recovery": pd.concat([other, table, validated])}, ["synthetic-error-order"])
    pd.testing.assert_frame_equal(got, expected)


def test_error_order_by_validation_reads_validated_radii():
    true = recovery(noise=0.001, test_error=(0.1, 0.2, 0.4))
    validated = recovery(noise=0.001, rule="validated", test_error=(0.3, 0.2, 0.4))
    other_solver = validated.assign(solver="pdhg", test_error=0.9)
    both = {"recovery": pd.concat([true, other_solver, validated])}
    judged = claims.judge(both, ["error-order-by-validation"])
    assert list(judged["verdict"]) == ["does not hold", "holds"]
    np.testing.assert_allclose(judged["number"], [0.1, -0.1])
    expected = "solver=subgradient, radius_rule=validated, n=40, method=hinge-l1inf, against=hinge-l1"
    assert judged["rows"][0] == expected
    assert verdicts("synthetic-error-order", both) == ["holds", "holds"]
    assert verdicts("error-order-by-validation", {"recovery": true}) == ["not tested"]


def test_one_run_decides_nothing():
    table = recovery(runs=[1], test_error=(0.1, 0.2, 0.4), precision=(0.9, 0.3, 0.1), recall=(1, 1, 1))
    judged = claims.judge({"recovery": table}, ["synthetic-error-order", "selection-precision", "selection-recall"])
    assert set(judged["verdict"]) == {"undecided"}
    assert judged["number"].notna().all()
    assert judged["low"].isna().all()
    assert judged["number_means"].str.endswith("one run, no interval").all()


def test_a_size_that_lacks_a_method_is_not_tested_there():
    small, large = (recovery(n=n, test_error=(0.1, 0.2, 0.4)) for n in (10, 20))
    table = pd.concat([small[small["method"] != L1], large])
    judged = claims.judge({"recovery": table}, ["synthetic-error-order"])
    assert list(judged["n"]) == [10, 10, 20, 20]
    assert list(judged["verdict"]) == ["not tested", "holds", "holds", "holds"]
    assert "no row with" in judged["number_means"].iloc[0]
    assert "method=hinge-l1" in judged["number_means"].iloc[0]


def test_twice_the_same_run_is_an_error():
    table = recovery(test_error=(0.1, 0.2, 0.4))
    with pytest.raises(ValueError, match="expected one row per run to read test_error from, got 8 for 4"):
        claims.judge({"recovery": pd.concat([table, table])}, ["synthetic-error-order"])


@pytest.mark.parametrize(
    "precision, recall, verdict",
    [
        ((0.9, 0.5, 0.1), (0.96, 1.0, 1.0), "holds"),
        ((0.4, 0.5, 0.1), (1.0, 1.0, 1.0), "does not hold"),
        ((0.51, 0.5, 0.1), (1.0, 0.8, 1.0), "undecided"),
        ((0.9, 0.5, 0.1), (0.90, 1.0, 1.0), "not tested"),
    ],
)
def test_selection_precision(precision, recall, verdict):
    table = recovery(precision=precision, recall=recall)
    table.loc[table["method"] == JOINT, "precision"] += 0.02 * WIGGLE
    assert verdicts("selection-precision", {"recovery": table}) == [verdict]


def test_perfect_precision_of_both_is_not_tested():
    perfect, better = (recovery(n=n, precision=(1, l1, 0.1), recall=(1, 1, 1)) for n, l1 in ((10, 1), (20, 0.9)))
    judged = claims.judge({"recovery": pd.concat([perfect, better])}, ["selection-precision"])
    assert list(judged["verdict"]) == ["not tested", "holds"]
    assert list(judged["n"]) == [10, 20]
    assert judged["number_means"][0].startswith("both are perfect")
    perfect.loc[(perfect["method"] == L1) & (perfect["run"] == 1), "precision"] = 0.9
    assert verdicts("selection-precision", {"recovery": perfect}) == ["undecided"]
    perfect["precision"] = perfect["precision"].replace(0.9, np.nan)  # a run without any feature is not perfect
    assert verdicts("selection-precision", {"recovery": perfect}) == ["does not hold"]


def test_precision_of_no_feature_is_left_out():
    table = recovery(precision=(0.9, 0.5, 0.1), recall=(1, 1, 1))
    table.loc[table.index[0], "precision"] = np.nan
    judged = claims.judge({"recovery": table}, ["selection-precision"])
    assert list(judged["verdict"]) == ["holds"]
    assert "over 3 runs" in judged["number_means"][0]
    table["precision"] = np.nan
    assert verdicts("selection-precision", {"recovery": table}) == ["not tested"]


@pytest.mark.parametrize(
    "at_10, verdict", [(0.95, "holds"), (0.85, "does not hold"), (0.91, "undecided"), (0.90, "undecided")]
)
def test_selection_recall_is_that_of_the_worst_size(at_10, verdict):
    table = pd.concat([recovery(n=10, noise=0.01, recall=(at_10, 0.97, 1)), recovery(n=20, recall=(0.99, 0.96, 1))])
    judged = claims.judge({"recovery": table}, ["selection-recall"])
    assert list(judged["verdict"]) == [verdict, "holds"]
    assert list(judged["n"]) == [10, 20]
    np.testing.assert_allclose(judged["number"], [at_10, 0.96])
    assert judged["rows"][0].endswith("the worst of n=10, 20")


@pytest.mark.parametrize(
    "change, noise, verdict",
    [
        (0.01, 0.001, "holds"),
        (-0.01, 0.001, "holds"),
        (0.03, 0.001, "does not hold"),
        (-0.03, 0.001, "does not hold"),
        (0.01, 0.02, "undecided"),
    ],
)
def test_radius_by_validation(change, noise, verdict):
    true = recovery(test_error=(0.1, 0.2, 0.4))
    validated = recovery(noise=noise, rule="validated", test_error=(0.1 + change, 0.2, 0.4))
    judged = claims.judge({"recovery": pd.concat([true, validated])}, ["radius-by-validation"])
    assert list(judged["verdict"]) == [verdict, "holds", "holds"]
    np.testing.assert_allclose(judged["number"], [change, 0, 0], atol=1e-12)


def test_the_worst_size_is_one_that_decides_less_even_if_its_mean_is_smaller():
    true = [recovery(n=n, test_error=(0.1, 0.2, 0.4)) for n in (10, 20)]
    validated = [
        recovery(n=n, noise=noise, rule="validated", test_error=(error, 0.2, 0.4))
        for n, noise, error in ((10, 0.02, 0.105), (20, 0.0, 0.115))
    ]
    judged = claims.judge({"recovery": pd.concat(true + validated)}, ["radius-by-validation"])
    assert judged["verdict"][0] == "undecided"
    assert judged["n"][0] == 10


def test_radius_by_validation_needs_validated_rows():
    table = recovery(test_error=(0.1, 0.2, 0.4))
    judged = claims.judge({"recovery": table}, ["radius-by-validation"])
    assert list(judged["verdict"]) == ["not tested"] * 3
    assert "radius_rule=validated" in judged["number_means"][0]


@pytest.mark.parametrize(
    "iterations, verdict",
    [
        ([50, 51, 49, 50, 50], "holds"),
        ([160, 80, 40, 20, 10], "holds"),
        ([10, 20, 40, 80, 160], "does not hold"),
        ([20, 45, 25, 60, 40], "undecided"),
        ([0, 0, 0, 0, 0], "holds"),
        ([10, 10, 10, None, 10], "not tested"),
        ([None, 80, 40, 20, 10], "holds"),  # the first took longer than any
        ([None, 10, 20, 40, 80], "undecided"),  # with it, the exponent would be smaller
    ],
)
def test_iterations_independent_of_samples(iterations, verdict):
    sizes = (10, 20, 40, 80, 160)
    table = pd.concat([recovery(n=n, gap=(0, 0, 0)) for n in sizes])
    table["iterations"] = table["n"].map(dict(zip(sizes, iterations, strict=True))).astype("Int64")
    table.loc[table["method"] != JOINT, "iterations"] = 1
    judged = claims.judge({"recovery": table}, ["iterations-independent-of-samples"])
    assert list(judged["verdict"]) == [verdict]
    if verdict == "not tested":
        assert judged["number_means"][0].startswith("at n=80 most runs")


def test_runs_that_never_come_near_count_as_the_slowest():
    tables = [recovery(n=n, iterations=(20, 20, 20)) for n in (10, 20, 40)]
    for table in tables:
        table.loc[table.index[0], "iterations"] = np.nan  # one of four
    judged = claims.judge({"recovery": pd.concat(tables)}, ["iterations-independent-of-samples"])
    assert judged["number"][0] == pytest.approx(0, abs=1e-12)
    assert judged["verdict"][0] == "holds"


# Image annotation, stories and scenes


def test_auc_order_below_20000_samples():
    table = differences(
        [
            (40, 4_800, L1, 0.02, 0.01),
            (40, 4_800, SVM, 0.005, 0.01),
            (40, 4_800, L2, -0.5, 0.01),
            (80, 19_999, L1, -0.02, 0.01),
            (160, 20_000, L1, -0.02, 0.01),
        ]
    )
    judged = claims.judge(table, ["auc-order"])
    assert list(judged["n"]) == [40, 40, 80, 80]
    assert list(judged["verdict"]) == ["holds", "undecided", "does not hold", "not tested"]
    np.testing.assert_allclose(judged[["number", "low", "high"]].iloc[0], [0.02, 0.01, 0.03])
    assert judged["rows"][1] == "metric=auc, words=test words, n=40, method=hinge-l1inf, against=svm-l2"
    assert judged["number_means"][3] == "there is no row with against=svm-l2 or hinge-l2"


def test_hinge_l2_stands_for_svm_l2_where_there_is_none():
    judged = claims.judge(differences([(40, 100, L1, 0.1, 0.01), (40, 100, L2, 0.1, 0.01)]), ["auc-order"])
    assert list(judged["verdict"]) == ["holds", "holds"]
    assert judged["rows"][1].endswith("against=hinge-l2")


def test_differences_without_interval_are_undecided():
    table = differences([(40, 100, L1, 0.1, np.nan), (40, 100, SVM, 0.1, np.nan)])
    assert verdicts("auc-order", table) == ["undecided", "undecided"]


def test_twice_the_same_difference_is_an_error():
    with pytest.raises(ValueError, match=r"expected one row of differences with .*against=hinge-l1, got 2"):
        claims.judge(differences([(40, 100, L1, 0.1, 0.01)] * 2), ["auc-order"])


@pytest.mark.parametrize(
    "value, half, verdict",
    [
        (0.0, 0.01, "holds"),
        (0.005, 0.01, "undecided"),
        (0.0, 0.02, "undecided"),
        (0.03, 0.01, "does not hold"),
        (-0.03, 0.01, "does not hold"),
    ],
)
def test_auc_level_when_large(value, half, verdict):
    table = differences([(40, 4_800, L1, 0.5, 0.01), (640, 63_408, L1, value, half), (640, 63_408, SVM, value, half)])
    judged = claims.judge(table, ["auc-level-when-large"])
    assert list(judged["verdict"]) == [verdict, verdict]
    assert list(judged["n"]) == [640, 640]


def test_small_or_large_sizes_may_be_missing():
    small, large = differences([(40, 100, L1, 0.1, 0.01)]), differences([(40, 30_000, L1, 0.1, 0.01)])
    assert verdicts("auc-level-when-large", small) == ["not tested"]
    assert verdicts("auc-order", large) == ["not tested"]


def test_the_interval_of_a_difference_says_where_it_comes_from():
    judged = claims.judge(differences([(40, 100, L1, 0.1, 0.01)]), ["scene-order"])
    assert judged["number_means"][0].endswith("bootstrap over test images joined with the t interval over 5 runs")
    one = {"differences": differences([(40, 100, L1, 0.1, 0.01)])["differences"].assign(runs=1)}
    assert claims.judge(one, ["scene-order"])["number_means"][0].endswith("bootstrap over test images, one run")


def test_warnings_of_the_fits_are_counted():
    table = differences([(40, 100, L1, 0.1, 0.01), (80, 200, L1, 0.1, 0.01), (160, 300, L1, 0.1, 0.01)])
    fits = pd.concat([chosen(n, eer=(0, 0, 0)) for n in (40, 80)])
    fits.loc[(fits["n"] == 40) & (fits["run"] <= 2) & (fits["method"] != L2), "warning"] = "certified gap 7%"
    judged = claims.judge(table | {"chosen": fits}, ["scene-order"])
    plain = claims.judge(table, ["scene-order"])
    told = "; 4 of 12 fits carry a warning (grid edge, gap above 5 %, tasks not converged, or words with tied scores)"
    assert list(judged["number_means"]) == [plain["number_means"][0] + told, *plain["number_means"][1:]]
    pd.testing.assert_frame_equal(judged.drop(columns="number_means"), plain.drop(columns="number_means"))
    # Empty fields of a file.
    read = fits.assign(warning=fits["warning"].replace("", np.nan))
    pd.testing.assert_frame_equal(claims.judge(table | {"chosen": read}, ["scene-order"]), judged)
    clean = fits.assign(warning=np.nan)
    pd.testing.assert_frame_equal(claims.judge(table | {"chosen": clean}, ["scene-order"]), plain)


def test_warnings_of_all_sizes_count_where_a_row_has_none():
    fits = pd.concat([chosen(n, warned=n == 40, eer=(0, 0, 0)) for n in (40, 80)])
    found = weights([(3, 0), (3, 1)], [(1, 0)]) | {"chosen": fits}
    judged = claims.judge(found, ["feature-sharing"])
    assert "; 12 of 24 fits carry a warning (" in judged["number_means"][0]
    found["weights"] = found["weights"].assign(run=1, n=80)
    assert "warning" not in claims.judge(found, ["feature-sharing"])["number_means"][0]


def test_claims_about_chosen_fits_read_the_table_of_them():
    of_fits = {name for name, claim in claims.CLAIMS.items() if claim.of_fits}
    assert of_fits == {
        *("auc-order", "auc-level-when-large", "scene-order", "eer-order", "l1-over-l2", "eer-most-topics"),
        *("joint-sparsity", "feature-sharing", "auc-significant"),
    }
    for name in of_fits:
        assert "chosen" in claims.CLAIMS[name].tables


def test_what_is_not_tested_has_no_warning():
    fits = chosen(60, warned=True, eer=(0.1, 0.2, 0.3))
    judged = claims.judge({"chosen": fits[fits["method"] != L2]}, ["l1-over-l2"])
    assert judged["number_means"][0].startswith("there is no row with ")
    assert "warning" not in judged["number_means"][0]


def test_scene_order_has_every_size():
    table = differences([(10, 300, L1, 0.02, 0.01), (20, 30_000, L1, -0.02, 0.01), (40, 40_000, L1, 0.0, 0.01)])
    assert verdicts("scene-order", table) == ["holds", "does not hold", "undecided"]


def significance(p, reverse=(1.0, 1.0), n=40, n_samples=4_800, runs=(1,)):
    """p, reverse: Holm-corrected p-values against l1 and svm-l2."""
    rows = [
        {"run": run, "n": n, "n_samples": n_samples, "words": "test words", "method": JOINT, "against": against}
        | {"p_holm": value, "p_reverse_holm": of_reverse}
        for run in runs
        for against, value, of_reverse in zip((L1, SVM, L2), (*p, 1.0), (*reverse, 0.0), strict=True)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    "p, reverse, verdict",
    [
        (0.04, 1.0, "holds"),
        (0.05, 1.0, "undecided"),
        (0.6, 0.05, "undecided"),
        (0.6, np.nan, "undecided"),
        (np.nan, 1.0, "undecided"),
        (1.0, 0.04, "does not hold"),
    ],
)
def test_auc_significant(p, reverse, verdict):
    judged = claims.judge({"significance": significance((0.001, p), (1.0, reverse))}, ["auc-significant"])
    assert list(judged["verdict"]) == ["holds", verdict]
    assert list(judged["n"]) == [40, 40]
    assert judged["number"][0] == 0.001
    assert judged["number"][1] == (1 if np.isnan(p) else p)
    assert judged["low"].isna().all()
    assert judged["rows"][1] == "words=test words, n=40, method=hinge-l1inf, against=svm-l2"
    better = "in 1 of 1 runs svm-l2 is significantly better"
    assert (better in judged["number_means"][1]) == (verdict == "does not hold")


def test_auc_significant_asks_every_run_at_each_size_and_no_large_one():
    good = significance((0.01, 0.02), runs=(1, 2))
    large = significance((0.9, 0.9), (0.01, 0.01), n=640, n_samples=20_000)
    weak = significance((0.01, 0.2), runs=(3,))
    reverse = significance((1.0, 0.03), (0.01, 1.0), n=80, n_samples=9_600)
    found = {"significance": pd.concat([good, large])}
    assert verdicts("auc-significant", found) == ["holds", "holds"]
    judged = claims.judge({"significance": pd.concat([good, large, weak, reverse])}, ["auc-significant"])
    assert list(judged["n"]) == [40, 40, 80, 80]
    assert list(judged["verdict"]) == ["holds", "undecided", "does not hold", "holds"]
    np.testing.assert_allclose(judged["number"], [0.01, 0.2, 1.0, 0.03])
    assert judged["number_means"][0].startswith("largest p-value of 3 one-sided sign tests")
    assert verdicts("auc-significant", {"significance": large}) == ["not tested"]
    alone = good[good["against"] == L1]
    assert verdicts("auc-significant", {"significance": alone}) == ["holds", "not tested"]


def path(l1inf, l1, noise=0.0, runs=RUNS):
    """l1inf, l1: (features, test auc) of their fits, or (features, test auc, auc on the validation words)."""
    fits = [(JOINT, *fit) for fit in l1inf] + [(L1, *fit) for fit in l1]
    return pd.DataFrame(
        [
            {"run": run, "n": 40, "method": method, "features": features, "validation": (auc, *validation)[-1]}
            | {"auc": auc + (noise * WIGGLE[i] if method == JOINT else 0)}
            for i, run in enumerate(runs)
            for method, features, auc, *validation in fits
        ]
    )


@pytest.mark.parametrize(
    "auc, noise, verdict", [(0.66, 0.001, "holds"), (0.60, 0.001, "does not hold"), (0.62, 0.01, "undecided")]
)
def test_auc_at_30_percent(auc, noise, verdict):
    table = path([(0.1, 0.55), (0.3, auc), (0.5, 0.9)], [(0.2, 0.61), (0.25, 0.5), (0.9, 0.8)], noise)
    judged = claims.judge({"path": table}, ["auc-at-30-percent"])
    assert list(judged["verdict"]) == [verdict]
    assert judged["number"][0] == pytest.approx(auc - 0.61)
    assert judged["table"][0] == "path"


def test_validation_words_choose_among_fits_with_few_features():
    l1inf = [(0.1, 0.7, 0.5), (0.2, 0.6, 0.8), (0.25, 0.9, 0.8), (0.3, 0.8, np.nan), (0.9, 0.95, 0.99)]
    l1 = [(0.1, 0.5, 0.9), (0.2, 0.65, 0.1), (0.7, 0.6, 0.2)]
    judged = claims.judge({"path": path(l1inf, l1)}, ["auc-at-30-percent", "features-to-match"])
    # Of two that are as good, the first: 0.6, not 0.9; l1's 0.5, not 0.65.
    np.testing.assert_allclose(judged["number"], [0.1, 0.2])
    shuffled = path([fit for fit in l1inf if fit[0] != 0.25], l1).sample(frac=1, random_state=0)
    judged = claims.judge({"path": shuffled}, ["auc-at-30-percent", "features-to-match"])
    np.testing.assert_allclose(judged["number"], [0.1, 0.2])


def test_the_path_of_one_run_is_undecided_and_sparsity_stands_for_none():
    table = path([(0.3, 0.66)], [(0.2, 0.5)], runs=[1])
    judged = claims.judge({"sparsity": table}, ["auc-at-30-percent"])
    assert list(judged["verdict"]) == ["undecided"]
    assert judged["number"][0] == pytest.approx(0.16)
    assert judged["table"][0] == "sparsity"


def test_no_fit_with_few_features_is_not_tested():
    table = path([(0.4, 0.66)], [(0.2, 0.5)])
    assert verdicts("auc-at-30-percent", {"path": table}) == ["not tested"]
    assert verdicts("features-to-match", {"path": table}) == ["not tested"]


@pytest.mark.parametrize(
    "l1, noise, number, verdict",
    [
        ([(0.2, 0.5), (0.7, 0.66), (0.95, 0.8)], 0.0, 0.7, "holds"),
        ([(0.2, 0.5), (0.95, 0.65)], 0.0, 0.95, "holds"),
        ([(0.2, 0.5), (0.4, 0.66), (0.95, 0.7)], 0.0, 0.4, "does not hold"),
        ([(0.2, 0.5), (0.4, 0.66), (0.95, 0.7)], 0.01, 0.675, "undecided"),
        ([(0.2, 0.5), (0.5, 0.6)], 0.0, 0.5, "undecided"),  # a lower bound below the threshold says nothing
    ],
)
def test_features_to_match(l1, noise, number, verdict):
    judged = claims.judge({"path": path([(0.3, 0.66), (0.6, 0.9)], l1, noise)}, ["features-to-match"])
    assert list(judged["verdict"]) == [verdict]
    assert judged["number"][0] == pytest.approx(number)
    assert judged["high"][0] <= 1


def test_features_to_match_says_where_l1_never_gets_there():
    table = path([(0.3, 0.66)], [(0.8, 0.6), (0.9, 0.66)], 0.01)  # in two runs, the joint method's is above 0.66
    judged = claims.judge({"path": table}, ["features-to-match"])
    assert "in 2 of 4 runs hinge-l1 never reaches it: the most features that it used count" in judged["number_means"][0]
    assert judged["number"][0] == pytest.approx(0.9)
    reached = claims.judge({"path": path([(0.3, 0.6)], [(0.8, 0.66)])}, ["features-to-match"])
    assert "never" not in reached["number_means"][0]


def test_the_interval_of_a_fraction_ends_at_1():
    table = path([(0.3, 0.66)], [(0.7, 0.66), (1.0, 0.7)], 0.01)
    judged = claims.judge({"path": table}, ["features-to-match"])
    numbers = np.array([0.7, 1, 0.7, 1])
    half = stats.t.ppf(0.975, 3) * stats.sem(numbers)
    np.testing.assert_allclose(judged[["number", "low", "high"]].iloc[0].astype(float), [0.85, 0.85 - half, 1])


def test_features_to_match_of_a_run_without_either_is_left_out():
    table = path([(0.3, 0.66)], [(0.7, 0.66)])
    table = table[~((table["run"] == 1) & (table["method"] == L1))]
    table.loc[(table["run"] == 2) & (table["method"] == JOINT), "features"] = 0.4
    judged = claims.judge({"path": table}, ["features-to-match"])
    assert "over 2 runs" in judged["number_means"][0]
    assert list(judged["verdict"]) == ["holds"]


def convergence(fits, eta0=1.0, last=200, method=JOINT):
    """fits: radius -> (objective after the last iteration, gap), for two runs and, to be ignored, a smaller size."""
    rows = [
        {"run": run, "n": n, "method": method, "radius": radius, "eta0": eta0, "iteration": iteration}
        | {"objective": objective if iteration else 1.0, "gap": gap if n == 80 else 0.9}
        for run in (1, 2)
        for n in (40, 80)
        for radius, (objective, gap) in fits.items()
        for iteration in (0, last)
    ]
    return pd.DataFrame(rows)


def chosen_radius(radius):
    return pd.DataFrame([{"run": run, "n": n, "method": JOINT, "radius": radius} for run in (1, 2) for n in (40, 80)])


@pytest.mark.parametrize(
    "fits, expected",
    [
        ({1.0: (0.8, 0.01), 10.0: (0.5, 0.05)}, ["holds", "holds"]),
        ({1.0: (0.8, 0.01), 10.0: (0.5, 0.06)}, ["undecided", "holds"]),
        # The larger radius has the larger objective, 0.9 where the smaller reaches 0.8: it is at least 1/9 away.
        ({1.0: (0.8, 0.01), 10.0: (0.9, 0.5)}, ["does not hold", "holds"]),
        ({1.0: (0.8, 0.2), 10.0: (0.5, 0.01)}, ["undecided", "undecided"]),
    ],
)
def test_convergence_200(fits, expected):
    found = {"convergence": convergence(fits), "chosen": chosen_radius(1.0)}
    judged = claims.judge(found, ["convergence-200"])
    assert list(judged["verdict"]) == expected
    assert list(judged["n"]) == [80, 80]
    assert judged["number"][0] == max(gap for _, gap in fits.values())
    assert judged["number"][1] == fits[1.0][1]
    assert judged["number_means"].str.contains(": at most this (fraction); ", regex=False).all()
    if expected[0] == "does not hold":
        assert judged["low"][0] == pytest.approx(1 / 9)


def test_convergence_of_the_chosen_radius_may_not_hold():
    fits = {1.0: (0.8, 0.01), 10.0: (0.9, 0.5)}
    judged = claims.judge({"convergence": convergence(fits), "chosen": chosen_radius(10.0)}, ["convergence-200"])
    assert list(judged["verdict"]) == ["does not hold", "does not hold"]


def test_convergence_is_of_200_steps_of_the_subgradient_method():
    fits = {1.0: (0.8, 0.01)}
    for table in (convergence(fits, eta0=np.nan), convergence(fits, last=201), convergence(fits, method=L1)):
        assert verdicts("convergence-200", {"convergence": table, "chosen": chosen_radius(1.0)}) == ["not tested"]
    assert verdicts("convergence-200", {"convergence": convergence(fits)}) == ["holds", "not tested"]
    found = {"convergence": convergence(fits), "chosen": chosen_radius(7.0)}
    assert verdicts("convergence-200", found) == ["holds", "not tested"]


def chosen(n=30, noise=0.0, runs=RUNS, warned=False, **values):
    """Rows of the three methods at one size; values: column -> (l1inf, l1, l2). The noise is that of l1inf."""
    warning = "eta0 at the upper edge of its grid" if warned else ""
    return by_run([{"n": n, "method": m, "warning": warning} for m in (JOINT, L1, L2)], noise, runs, **values)


def test_eer_order_reads_differences_where_they_are():
    table = differences([(30, 100, L1, -0.02, 0.01), (30, 100, L2, 0.02, 0.01), (60, 200, L1, 0.0, 0.01)], metric="eer")
    judged = claims.judge(table, ["eer-order"])
    assert list(judged["verdict"]) == ["holds", "does not hold", "undecided", "not tested"]
    assert set(judged["table"]) == {"differences"}


def test_eer_order_and_l1_over_l2_read_runs_else():
    table = pd.concat([chosen(30, 0.01, eer=(0.2, 0.25, 0.22)), chosen(60, 0.0, eer=(0.3, 0.25, 0.3))])
    judged = claims.judge({"chosen": table}, ["eer-order"])
    assert list(judged["verdict"]) == ["holds", "undecided", "does not hold", "does not hold"]
    assert set(judged["table"]) == {"chosen"}
    np.testing.assert_allclose(judged["number"], [-0.05, -0.02, 0.05, 0], atol=1e-12)
    assert verdicts("l1-over-l2", {"chosen": table}) == ["does not hold", "holds"]


def test_l1_over_l2_may_be_undecided_or_not_tested():
    assert verdicts("l1-over-l2", {"chosen": chosen(runs=[1], eer=(0.2, 0.2, 0.3))}) == ["undecided"]
    table = chosen(eer=(0.2, 0.2, 0.3))
    assert verdicts("l1-over-l2", {"chosen": table[table["method"] != L2]}) == ["not tested"]


def by_word(n_best, n_topics=30, sizes=(15, 30, 60)):
    """l1inf is best on n_best topics at n = 30 and on none elsewhere; on validation words it is always the worst."""
    rows = [
        {"run": run, "n": n, "method": method, "word": f"topic {t}", "validation_word": t >= n_topics}
        | {"eer": 0.2 if method != JOINT else (0.1 if t < n_best and n == 30 else 0.3)}
        for run in RUNS
        for n in sizes
        for method in (JOINT, L1, L2)
        for t in range(n_topics + 10)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    "n_best, verdict", [(30, "holds"), (29, "holds"), (25, "undecided"), (20, "undecided"), (10, "does not hold")]
)
def test_eer_most_topics(n_best, verdict):
    judged = claims.judge({"by_word": by_word(n_best)}, ["eer-most-topics"])
    assert list(judged["verdict"]) == [verdict]
    assert judged["number"][0] == pytest.approx(n_best / 30)
    assert judged["n"][0] == 30


def test_eer_most_topics_is_about_means_over_runs_and_ties_do_not_count():
    table = by_word(30)
    won = (table["word"] == "topic 0") & (table["method"] == JOINT) & (table["n"] == 30)
    table.loc[won & (table["run"] == 1), "eer"] = 0.9  # now 0.3 on average
    table.loc[(table["word"] == "topic 1") & (table["method"] == JOINT) & (table["n"] == 30), "eer"] = 0.2
    table.loc[table["word"] == "topic 2", "eer"] = np.nan
    judged = claims.judge({"by_word": table}, ["eer-most-topics"])
    assert judged["number"][0] == pytest.approx(27 / 29)


def test_eer_most_topics_elsewhere_than_at_30():
    judged = claims.judge({"by_word": by_word(30, sizes=(10, 40, 80))}, ["eer-most-topics"])
    assert judged["n"][0] == 40
    judged = claims.judge({"by_word": by_word(30, sizes=(10, 20))}, ["eer-most-topics"])
    assert judged["n"][0] == 20
    assert judged["verdict"][0] == "does not hold"


def test_eer_most_topics_needs_the_methods_and_numbers():
    table = by_word(30)
    assert verdicts("eer-most-topics", {"by_word": table[table["method"] != L1]}) == ["not tested"]
    assert verdicts("eer-most-topics", {"by_word": table.assign(eer=np.nan)}) == ["not tested"]
    assert verdicts("eer-most-topics", {"by_word": table[table["validation_word"]]}) == ["not tested"]


@pytest.mark.parametrize(
    "l1inf, noise, runs, verdict",
    [
        (0.3, 0.01, RUNS, "holds"),
        (0.95, 0.01, RUNS, "does not hold"),
        (0.88, 0.05, RUNS, "undecided"),
        (0.3, 0.0, [1], "holds"),
        (0.9, 0.0, [1], "does not hold"),
    ],
)
def test_joint_sparsity_is_counted(l1inf, noise, runs, verdict):
    table = pd.concat([chosen(30, noise, runs, features=(l1inf, 0.9, 1)), chosen(60, features=(1, 0.1, 1))])
    judged = claims.judge({"chosen": table}, ["joint-sparsity"])
    assert list(judged["verdict"]) == [verdict]
    assert judged["n"][0] == 30


def test_joint_sparsity_needs_both_methods():
    table = chosen(features=(0.3, 0.9, 1))
    assert verdicts("joint-sparsity", {"chosen": table[table["method"] != L1]}) == ["not tested"]


def weights(l1inf, l1):
    """l1inf, l1: (feature, word) of the weights."""
    rows = [(JOINT, *place) for place in l1inf] + [(L1, *place) for place in l1]
    return {"weights": pd.DataFrame(rows, columns=["method", "feature", "word"]).assign(weight=-0.5)}


def test_feature_sharing():
    shared, single = [(3, 0), (3, 1), (3, 2), (8, 1)], [(1, 0), (2, 1), (3, 2)]
    judged = claims.judge(weights(shared, single), ["feature-sharing"])
    assert list(judged["verdict"]) == ["holds"]
    assert judged["number"][0] == pytest.approx(4 / 2 - 1)
    assert verdicts("feature-sharing", weights(single, shared)) == ["does not hold"]
    assert verdicts("feature-sharing", weights(single, single)) == ["does not hold"]
    assert verdicts("feature-sharing", weights([], single)) == ["not tested"]
    assert judged["n"].isna().all()
    assert judged["rows"][0] == "method=hinge-l1inf, against=hinge-l1"


def test_feature_sharing_and_joint_sparsity_speak_of_the_same_size():
    table = weights([(3, 0), (3, 1)], [(1, 0)])["weights"].assign(run=1)
    for sizes in ((15, 30, 60), (10, 40, 80), (10, 20)):
        fits = pd.concat([chosen(n, features=(0.3, 0.9, 1)) for n in sizes])
        n = next((n for n in sizes if n >= 30), sizes[-1])
        judged = claims.judge({"weights": table.assign(n=n), "chosen": fits}, ["joint-sparsity", "feature-sharing"])
        assert list(judged["n"]) == [n, n]
        assert judged["rows"][1] == f"n={n}, method=hinge-l1inf, against=hinge-l1"
        assert list(judged["verdict"]) == ["holds", "holds"]


# Measured seconds


def cost(part, x, seconds, **more):
    return pd.DataFrame({"part": part, "x": x, "seconds": seconds, "repeats": 7} | more)


SIZES = np.array([1e4, 4e4, 1e5, 4e5, 1e6, 4e6])
NOISE = np.exp(0.02 * np.array([1, -1, 2, -2, 1, -1]))
SCATTER = NOISE**20


@pytest.mark.parametrize(
    "exponent, noise, verdict",
    [(1.0, NOISE, "holds"), (0.5, NOISE, "holds"), (1.5, NOISE, "does not hold"), (1.1, SCATTER, "undecided")],
)
def test_cost_linear_in_samples(exponent, noise, verdict):
    table = cost("training samples", SIZES[::-1], (1e-6 * SIZES**exponent * noise)[::-1], method="subgradient")
    judged = claims.judge({"cost": table}, ["cost-linear-in-samples"])
    assert list(judged["verdict"]) == [verdict]
    assert judged["number"][0] == pytest.approx(exponent, abs=0.15)
    assert judged["timed"].all()
    assert judged["rows"][0] == "part=training samples, method=subgradient, x>=160"


def test_cost_in_samples_leaves_out_small_sizes_where_enough_others_are_left():
    x = np.array([10, 20, 40, 160, 320, 640])
    seconds = np.where(x < 160, 1.0, x**1.5)
    judged = claims.judge({"cost": cost("training samples", x, seconds)}, ["cost-linear-in-samples"])
    assert judged["number"][0] == pytest.approx(1.5)
    assert "over 3 sizes" in judged["number_means"][0]
    judged = claims.judge({"cost": cost("training samples", x[:5], seconds[:5])}, ["cost-linear-in-samples"])
    assert "over 5 sizes" in judged["number_means"][0]
    assert judged["rows"][0] == "part=training samples"


def test_projection_n_log_n_has_a_row_per_method():
    tables = [
        cost("projection size", SIZES, 1e-8 * SIZES * np.log(SIZES) * NOISE, method="newton"),
        cost("projection size", SIZES, 1e-8 * SIZES**1.5, method="sort"),
        cost("projection size", SIZES, 1e-8 * SIZES * np.log(SIZES) * SCATTER, method="other"),
        cost("training samples", SIZES, SIZES),
    ]
    judged = claims.judge({"cost": pd.concat(tables)}, ["projection-n-log-n"])
    assert list(judged["verdict"]) == ["holds", "does not hold", "undecided"]
    assert judged["rows"][1] == "part=projection size, method=sort"
    judged = claims.judge({"cost": tables[0].drop(columns="method")}, ["projection-n-log-n"])
    assert list(judged["verdict"]) == ["holds"]


def test_two_sizes_have_a_slope_without_interval():
    table = cost("projection size", SIZES[:2], SIZES[:2])
    assert verdicts("projection-n-log-n", {"cost": table}) == ["undecided"]
    assert verdicts("projection-n-log-n", {"cost": table.iloc[:1]}) == ["not tested"]
    assert verdicts("projection-n-log-n", {"cost": cost("projection size", [1, 2], [1, 2])}) == ["not tested"]
    assert verdicts("projection-n-log-n", {"cost": table.assign(seconds=0.0)}) == ["not tested"]


@pytest.mark.parametrize(
    "seconds, verdict",
    [
        (1e-6 * SIZES * NOISE, "holds"),
        (1e-9 * SIZES**1.5 * NOISE, "holds"),
        (0.1 * NOISE, "does not hold"),
        (SIZES**0.4 * SCATTER, "undecided"),
    ],
)
def test_projection_non_zero_rows(seconds, verdict):
    judged = claims.judge({"cost": cost("projection rows", SIZES, seconds)}, ["projection-non-zero-rows"])
    assert list(judged["verdict"]) == [verdict]
    assert judged["number"][0] == pytest.approx(seconds[0] / seconds[-1])
    assert judged["number_means"][0].startswith("seconds with 10000 non-zero rows over seconds with 4e+06;")


# Tables on disk


def test_verdicts_survive_csv(tmp_path):
    found = {
        "recovery": recovery(noise=0.01, test_error=(0.1, 0.2, 0.4), recall=(1, 1, 1), precision=(0.9, 0.5, 0.1)),
        "by_word": by_word(29),
        "weights": weights([(3, 0), (3, 1)], [(1, 0)])["weights"],
    }
    found["recovery"]["iterations"] = pd.array([None] * 12, dtype="Int64")
    found["recovery"] = pd.concat([found["recovery"], found["recovery"].assign(radius_rule="validated")])
    names = ["synthetic-error-order", "iterations-independent-of-samples", "eer-most-topics", "feature-sharing"]
    expected = claims.judge(found, names)
    read = {}
    for name, table in found.items():
        tables.write_table(table, tmp_path / f"{name}.csv")
        read[name] = tables.read_table(tmp_path / f"{name}.csv")
    pd.testing.assert_frame_equal(claims.judge(read, names), expected)
    tables.write_table(expected, tmp_path / "claims.csv")
    assert tables.read_table(tmp_path / "claims.csv")["timed"].dtype == bool

"""Online learning on sparse text, beside slow twins that keep whole vectors. No test looks at a duration."""

import numpy as np
import pandas as pd
import pytest
from conftest import make_samples
from scipy import sparse

from jointsparse.learning.entropic import Entropic, step_sizes
from jointsparse.norms import l1
from jointsparse.papers.duchi import online

COLUMNS = ["method", "radius", "schedule", "eta0", "examples", "loss", "error", "non_zero", "seconds", "warning"]
GRIDS = {"radius": [2.0, 10.0], "eta0": [1.0, 4.0, 16.0], "entropic_eta0": [0.3, 1.0, 3.0]}


def draw(n_examples=60, n_features=80, seed=0):
    """Sparse rows whose labels a few features tell."""
    rng = np.random.default_rng(seed)
    X = sparse.random(n_examples, n_features, density=0.15, format="csr", rng=rng)
    w = np.where(np.arange(n_features) % 5 == 0, rng.normal(size=n_features), 0.0)
    return X, np.where(X @ w > 0, 1.0, -1.0)


def pass_over(X, y, **options):
    return online.one_pass(X, y, **GRIDS | {"n_records": 4, "rng": np.random.default_rng(7)} | options)


def dense_pass(X, y, step, toarray, sizes):
    """Losses, errors and non-zero weights of a pass, by steps(gradient, eta) of a whole vector."""
    losses, errors, used = [], [], []
    for x, label, eta in zip(X.toarray(), y, sizes, strict=True):
        margin = label * (x @ toarray())
        losses.append(np.log1p(np.exp(-margin)))
        errors.append(0.5 if margin == 0 else float(margin < 0))
        step(-label / (1 + np.exp(margin)) * x, eta)
        used.append(np.count_nonzero(np.abs(toarray()) > 1e-14))
    return losses, errors, used


def test_as_a_pass_with_whole_vectors():
    X, y = draw()
    order, n = np.random.default_rng(7).permutation(len(y)), X.shape[1]
    for (method, radius), rows in pass_over(X, y).groupby(["method", "radius"]):
        schedule, eta0 = rows["schedule"].iloc[0], rows["eta0"].iloc[0]
        if method == "tree":
            w = np.zeros(n)

            def step(g, eta, w=w, radius=radius):
                w[:] = l1.project(w - eta * g, radius)

            sizes = eta0 / np.sqrt(np.arange(1, len(y) + 1))
            twin = dense_pass(X[order], y[order], step, lambda w=w: w, sizes)
        else:
            point = Entropic(n, radius)
            sizes = step_sizes(schedule, eta0=eta0, n=n, n_iter=len(y))
            twin = dense_pass(X[order], y[order], point.step, point.toarray, sizes)
        losses, errors, used = (np.array(values) for values in twin)
        at = rows["examples"].to_numpy()
        assert at.tolist() == [15, 30, 45, 60]
        np.testing.assert_allclose(rows["loss"], losses.cumsum()[at - 1] / at, rtol=1e-10)
        np.testing.assert_allclose(rows["error"], errors.cumsum()[at - 1] / at)
        np.testing.assert_allclose(rows["non_zero"], used[at - 1] / n)


def test_a_table_row_for_each_record_and_the_same_twice():
    X, y = draw()
    table = pass_over(X, y)
    assert list(table) == COLUMNS
    assert table.groupby(["method", "radius"]).size().to_dict() == {
        (method, radius): 4 for method in ("tree", "entropic") for radius in (2.0, 10.0)
    }
    assert table.groupby(["method", "radius"])["seconds"].apply(lambda s: s.is_monotonic_increasing).all()
    again = pass_over(X, y)
    pd.testing.assert_frame_equal(table.drop(columns="seconds"), again.drop(columns="seconds"))


def test_the_best_step_sizes_are_kept():
    X, y = draw()
    last = pass_over(X, y).groupby(["method", "radius"]).last()
    alone = []
    for schedule in ("constant", "1/sqrt(t)", "1/t"):
        for eta0, entropic_eta0 in zip(GRIDS["eta0"], GRIDS["entropic_eta0"], strict=True):
            options = {"eta0": [eta0], "entropic_eta0": [entropic_eta0], "schedules": [schedule]}
            alone.append(pass_over(X, y, **options).groupby(["method", "radius"]).last())
    least = pd.concat(alone).groupby(["method", "radius"])["loss"].min()
    pd.testing.assert_series_equal(last["loss"], least)
    assert (pd.concat(alone)["warning"] == "").all()  # a grid of one has no edge


def test_a_value_at_an_edge_of_its_grid_is_told():
    X, y = draw()
    table = pass_over(X, y, radius=[5.0], eta0=[1e-6, 1e-5], entropic_eta0=[100.0, 1000.0], schedules=["constant"])
    told = table.groupby("method")["warning"].unique().to_dict()
    assert told["tree"].tolist() == ["eta0 at the upper edge of its grid"]
    assert told["entropic"].tolist() == ["eta0 at the lower edge of its grid"]


def test_step_sizes_that_overflow_are_left_out():
    X, y = draw()
    table = pass_over(X, y, eta0=[1e300, 1.0], entropic_eta0=[1.0, 1e300])
    assert table["eta0"].eq(1.0).all()
    for name, method in (("eta0", "tree"), ("entropic_eta0", "entropic")):
        with pytest.raises(ValueError, match=f"{method} diverged with each eta0 at radius 2: choose smaller ones"):
            pass_over(X, y, **{name: [1e300]})


def test_a_pass_may_end_early():
    X, y = draw()
    options = {"radius": [2.0], "eta0": [4.0], "entropic_eta0": [1.0], "schedules": ["1/t"]}
    whole, part = pass_over(X, y, **options), pass_over(X, y, n_examples=30, **options)
    assert part["examples"].tolist() == [7, 15, 22, 30] * 2
    of_whole, of_part = (table[table["examples"].isin([15, 30])].reset_index(drop=True) for table in (whole, part))
    pd.testing.assert_frame_equal(of_whole.drop(columns="seconds"), of_part.drop(columns="seconds"))


def test_a_repetition_learns_the_samples_with_a_label_against_the_others():
    X, y = draw()
    n_test = 10
    options = GRIDS | {"n_records": 4}
    data = make_samples(X, np.where(y > 0, "grain", ""), n_test)
    got = online.run(data, rng=np.random.default_rng(7), **options)
    expected = pass_over(X[:-n_test], y[:-n_test]).assign(label="grain")
    pd.testing.assert_frame_equal(got.drop(columns="seconds"), expected.drop(columns="seconds"))
    with pytest.raises(ValueError, match="'tea'"):
        online.run(data, label="tea", rng=np.random.default_rng(7), **options)


def test_more_records_than_examples():
    X, y = draw(n_examples=5)
    table = pass_over(X, y, n_records=20)
    assert table[table["method"] == "tree"]["examples"].tolist() == [1, 2, 3, 4, 5] * 2


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"radius": []}, "radius must be a list of at least one number, got none"),
        ({"radius": [0.0]}, "radius must be above 0 and finite, got 0.0"),
        ({"entropic_eta0": [1.0, np.inf]}, "entropic_eta0 must be above 0 and finite"),
        ({"schedules": []}, "schedules must list some of constant, 1/sqrt(t), 1/t, got none"),
        ({"schedules": ["1/t^2"]}, "schedule must be one of constant, 1/sqrt(t), 1/t, got '1/t^2'"),
        ({"n_examples": 0}, "n_examples must be a whole number of at least 1, got 0"),
        ({"n_records": 0}, "n_records must be a whole number of at least 1, got 0"),
    ],
)
def test_unfit_options_of_a_pass_are_refused(option, said):
    with pytest.raises(ValueError) as caught:
        pass_over(*draw(), **option)
    assert said in str(caught.value)


def test_labels_must_be_signs():
    X, y = draw()
    with pytest.raises(ValueError, match=r"y must hold -1 and \+1, got 0"):
        pass_over(X, np.maximum(y, 0.0))

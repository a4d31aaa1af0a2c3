"""Online learning on sparse text, beside slow twins that keep whole vectors. No test looks at a duration."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from samples import labelled_samples

from jointsparse.norms import l1
from jointsparse.pipeline.papers.duchi import descent, online
from jointsparse.pipeline.papers.duchi.entropic import SCHEDULES, Entropic, step_sizes

OPTIONS = {"radius": [2.0, 10.0], "eta0": [1.0, 4.0, 16.0], "entropic_eta0": [0.3, 1.0, 3.0], "n_records": 4}
X, Y, DATA = labelled_samples(70, 80, n_test=10)
ORDER = np.random.default_rng(7).permutation(60)


def table_of(data=DATA, **options):
    table = online.run(data, label="grain", rng=np.random.default_rng(7), **OPTIONS | options)
    return table.drop(columns="seconds")


@pytest.fixture(scope="module")
def table():
    return table_of()


def test_as_a_pass_with_whole_vectors(table):
    for (method, radius), rows in table.groupby(["method", "radius"]):
        schedule, eta0 = rows["schedule"].iloc[0], rows["eta0"].iloc[0]
        point, sizes = (
            descent.Projected(np.zeros(80), radius, l1.project),
            descent.sizes_of("projection", schedule, eta0, n=80, n_iter=60),
        )
        if method == "entropic":
            point, sizes = Entropic(80, radius), step_sizes(schedule, eta0=eta0, n=80, n_iter=60)
        margins, used = [], []
        for x, label, eta in zip(X[ORDER].toarray(), Y[ORDER], sizes, strict=True):
            margins.append(label * (x @ point.toarray()))
            point.step(-label / (1 + np.exp(margins[-1])) * x, eta)
            used.append(np.count_nonzero(np.abs(point.toarray()) > 1e-14))
        at, margins = rows["examples"].to_numpy(), np.array(margins)
        errors = np.where(margins == 0, 0.5, margins < 0)
        assert at.tolist() == [15, 30, 45, 60]
        np.testing.assert_allclose(rows["loss"], np.log1p(np.exp(-margins)).cumsum()[at - 1] / at, rtol=1e-10)
        np.testing.assert_allclose(rows["error"], errors.cumsum()[at - 1] / at)
        np.testing.assert_allclose(rows["non_zero"], np.array(used)[at - 1] / 80)


def test_a_table_row_for_each_record_and_the_same_twice(table):
    again = online.run(DATA, label="grain", rng=np.random.default_rng(7), **OPTIONS)
    assert list(again) == [*online.COLUMNS, "label"]
    assert set(again["label"]) == {"grain"}
    runs = again.groupby(["method", "radius"])
    assert set(runs.groups) == {(method, radius) for method in ("tree", "entropic") for radius in (2.0, 10.0)}
    assert (runs.size() == 4).all()
    assert runs["seconds"].apply(lambda s: s.is_monotonic_increasing).all()
    pd.testing.assert_frame_equal(table, again.drop(columns="seconds"))


def test_the_best_step_sizes_are_kept(table):
    single = product(SCHEDULES, zip(OPTIONS["eta0"], OPTIONS["entropic_eta0"], strict=True))
    alone = pd.concat(table_of(eta0=[a], entropic_eta0=[b], schedules=[schedule]) for schedule, (a, b) in single)
    last = alone[alone["examples"] == 60].groupby(["method", "radius"])
    pd.testing.assert_series_equal(table.groupby(["method", "radius"])["loss"].last(), last["loss"].min())
    assert (alone["warning"] == "").all()  # a grid of one has no edge
    edges = table_of(radius=[5.0], eta0=[1e-6, 1e-5], entropic_eta0=[1.0, 1e5], schedules=["constant"])
    assert edges["warning"].drop_duplicates().tolist() == [
        f"eta0 at the {end} edge of its grid" for end in ("upper", "lower")
    ]


@pytest.mark.parametrize(("name", "method"), [("eta0", "tree"), ("entropic_eta0", "entropic")])
def test_step_sizes_that_overflow_are_left_out(name, method):
    table = table_of(**{name: [1e300, 1.0]})
    assert table.loc[table["method"] == method, "eta0"].eq(1.0).all()


def test_a_pass_may_end_early_and_have_more_records_than_examples():
    options = {"radius": [2.0], "eta0": [4.0], "entropic_eta0": [1.0], "schedules": ["1/t"]}
    whole, part = table_of(**options), table_of(n_examples=30, **options)
    assert part["examples"].tolist() == [7, 15, 22, 30] * 2
    of_whole, of_part = (table[table["examples"].isin([15, 30])].reset_index(drop=True) for table in (whole, part))
    pd.testing.assert_frame_equal(of_whole, of_part)
    few = table_of(labelled_samples(15, n_test=10)[2], n_records=20, **options)
    assert few["examples"].tolist() == [1, 2, 3, 4, 5] * 2

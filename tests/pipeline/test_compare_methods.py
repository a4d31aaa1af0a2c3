"""Methods are compared by sign tests, and by differences with intervals over test images and runs."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from small_experiments import COMPARISONS, FOLDER, study

from jointsparse.checks import Misfit
from jointsparse.pipeline.scores import comparison


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_give_the_committed_tables(name):
    pd.testing.assert_frame_equal(COMPARISONS[name](), pd.read_csv(FOLDER / f"{name}.csv"), rtol=1e-9)


def test_words_without_positives_give_no_difference_and_no_warning():
    table = comparison.differences(study(n_runs=5)._replace(labels=np.zeros((30, 5), bool)), n_resamples=12, seed=7)
    assert table[["difference", "low", "high"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("methods", "message"),  # methods of the 18 scores of `study`
    [
        (["hinge-l1inf"] * 6 + ["hinge-l1"] * 12, "the scores of hinge-l1, run 1, n 40 are missing"),
        (["hinge-l1"] * 18, "at least two methods, got"),
    ],
)
@pytest.mark.parametrize(
    "compare", [partial(comparison.sign_tests, n_pairings=2), partial(comparison.differences, n_resamples=2)]
)
def test_incomplete_scores_are_refused(methods, message, compare):
    with pytest.raises(Misfit, match=message):
        compare(study()._replace(method=np.array(methods)), seed=0)

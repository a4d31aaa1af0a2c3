"""Compare exponentiated and projected gradient on sparse text: objective, test error and sparsity at each step.

    minimise 1/m sum_i log(1 + exp(-y_i x_i . w))  subject to ||w||_1 <= radius.

Source: Duchi, Shalev-Shwartz, Singer, Chandra (ICML 2008), sec. 7 and Fig. 6. `digits` compares them on digits.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from jointsparse.pipeline import tasks
from jointsparse.pipeline.datasets.samples import Samples
from jointsparse.pipeline.papers.duchi.comparison import Comparison, certified_columns, halved, train_forms
from jointsparse.pipeline.papers.duchi.descent import descend
from jointsparse.pipeline.papers.duchi.line_search import line_search
from jointsparse.pipeline.papers.duchi.objective import Objective
from jointsparse.pipeline.papers.duchi.steps import Vector
from jointsparse.pipeline.words import one_label


def run(
    data: Samples,
    *,
    radius: Sequence[float],
    label: str | None = None,
    optimum_n_iter: int = 2000,
    rng: np.random.Generator,
    **options: Any,
) -> pd.DataFrame:
    """Do one repetition: learn one label against all others, on nine tenths of the training samples.

    Parameters
    ----------
    data : Samples
    radius : sequence of float, above 0
        The paper's z.
    label : str, optional
        The label to learn. By default, this is the most frequent label.
    optimum_n_iter : int, at least 1
        Number of steps of the line search that computes a lower bound of the optimum.
    rng : numpy.random.Generator
        Draws the training samples and the samples of each step.
    **options : Any
        Options of `comparison.train_forms`.

    Returns
    -------
    DataFrame
        The table of `comparison.train_forms`, with an additional column `label`.
    """
    label, signs = one_label(data.images, data.captions, label)
    X, y, X_test, y_test = halved(data, signs)
    kept = tasks.thinned(np.ones(len(y), bool), rng)
    objective = Objective(X[kept], y[kept], loss="logistic")

    def test_error(w: Vector) -> float:
        """Return the fraction of test samples whose score has the wrong sign. A score of 0 counts as half an error."""
        scores = X_test @ w
        return float(np.where(scores == 0, 0.5, scores * y_test < 0).mean())

    def comparison(radius: float) -> Comparison:
        certify = partial(objective.certify_in_ball, radius=radius)
        bounds = [certify(state.details)[1] for state in line_search(objective, radius, n_iter=optimum_n_iter)]
        at_zero = objective.value(np.zeros(objective.n_samples))
        return Comparison(certified_columns(objective, certify, test_error=test_error), at_zero, max(0.0, *bounds))

    comparisons = {z: comparison(z) for z in radius}
    table = train_forms(
        partial(descend, objective),
        comparisons,
        n_samples=objective.n_samples,
        records_each="batch 100%",
        rng=rng,
        **options,
    )
    return table.assign(label=label)

"""The list of tags to check: labels that may be wrong or missing, among all samples with known labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from jointsparse.checks import require_extra
from jointsparse.estimators.issues import worst
from jointsparse.estimators.ranking import Truth
from jointsparse.pipeline.models.probabilities import are_exclusive, given_labels

require_extra(__name__, "pandas")
import pandas as pd  # noqa: E402

MOST = 1000  # Choice: rows of each kind, which take a person an hour at four seconds per row


def tags_to_check(
    model: Pipeline, scores: Any, labels: np.ndarray, *, names: Sequence[str], decided: pd.DataFrame | None = None
) -> pd.DataFrame:
    """List the labels that the model finds most improbable, as `label_issues` does.

    The probabilities of training and validation samples come from their held-out scores, which `annotator` saves with
    the model. The model has not learnt from the test samples and predicts their probabilities itself. If all labels are
    known and hardly any sample has two words, the words are taken as classes that exclude each other.

    Parameters
    ----------
    model : Pipeline
        A model from `annotator`.
    scores, labels : arrays, (n_test, n_words)
        Scores of the model on test samples; and which test sample has which word: 1 or True, 0 or False, -1 if unknown.
    names : list of str, (n_test,)
        Names of the test samples.
    decided : table or None
        Labels that a person has decided, which are not listed: names of samples in the column `sample`, words in the
        column `tag`, see `words.as_words`, and in `has` whether the sample has the word. A class that a sample has
        decides all others.

    Returns
    -------
    table
        At most `MOST` labels of each kind, the most improbable first. The columns are

        - `sample`, `tag`;
        - `kind`: "wrong" if the sample has the tag, "missing" if it is known not to have it;
        - `probability`: the probability that the sample has the tag;
        - `rank`: the number of the row, which counts from 1.
    """
    words, samples = np.array(model.card_.words, object), np.array([*model.known_names_, *names], object)
    truth = np.concatenate([model.known_labels_, labels]).astype(np.int8)
    exclusive, open_labels = are_exclusive(truth), truth.copy()
    p = given_labels(model, np.concatenate([model.known_scores_, scores]), truth, exclusive=exclusive)
    if decided is not None:
        rows, columns = pd.Index(samples).get_indexer(decided["sample"]), pd.Index(words).get_indexer(decided["tag"])
        is_here = (rows >= 0) & (columns >= 0)
        open_labels[rows[is_here], columns[is_here]] = -1
        if exclusive:
            open_labels[rows[(rows >= 0) & decided["has"].to_numpy()]] = -1  # also if the class has not been learnt
    issues = worst(p, Truth(words, open_labels, is_vector=False), max_issues=MOST)
    table = pd.DataFrame({"sample": samples[issues.sample], "tag": issues.task, "kind": issues.kind})
    return table.assign(probability=issues.probability, rank=np.arange(1, len(table) + 1))

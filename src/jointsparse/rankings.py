"""Kernels of the statistics and tests in `metrics`."""

import numpy as np

from jointsparse.compiled import njit


@njit(nogil=True)
def write_auc_eer(
    order: np.ndarray, last: np.ndarray, labels: np.ndarray, counts: np.ndarray, auc: np.ndarray, eer: np.ndarray
) -> None:
    """Write the AUC and EER of one task in all resamples to `auc` and `eer`, (n_resamples,).

    order: indices of the samples by decreasing score. last: whether each is the last sample with its score. labels: 0
    or 1, sorted like `order`. Sample i occurs counts[b, i] times in resample b.
    """
    for b in range(len(counts)):
        positives, negatives = 0, 0
        for i in range(len(order)):
            positives += counts[b, order[i]] * labels[i]
            negatives += counts[b, order[i]] * (1 - labels[i])
        if positives == 0 or negatives == 0:
            auc[b] = eer[b] = np.nan
            continue
        # `below` is positives * negatives * (false negative rate - false positive rate). It reaches 0 at the EER.
        twice_area, above, below = 0, 0, positives * negatives
        tied_positives, tied_negatives = 0, 0
        for i in range(len(order)):
            tied_positives += counts[b, order[i]] * labels[i]
            tied_negatives += counts[b, order[i]] * (1 - labels[i])
            if last[i]:
                twice_area += tied_positives * (2 * (negatives - above) - tied_negatives)
                if below > 0:
                    step = tied_negatives * positives + tied_positives * negatives
                    if step >= below:
                        eer[b] = (above + tied_negatives * (below / step)) / negatives
                    below -= step
                above += tied_negatives
                tied_positives, tied_negatives = 0, 0
        auc[b] = twice_area / (2 * positives * negatives)


@njit
def shuffled(many: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Draw entries of the array `many` without replacement, one sample per row p of `steps`.

    This is a partial Fisher-Yates shuffle, whose step j swaps entry j with entry j + steps[p, j]. It changes `many`.
    """
    drawn = np.empty(steps.shape, many.dtype)
    for p in range(steps.shape[0]):
        for j in range(steps.shape[1]):
            k = j + steps[p, j]
            many[j], many[k] = many[k], many[j]
            drawn[p, j] = many[j]
    return drawn

"""Measure coverage and mean width of the 95 % intervals for words' AUCs on simulated scores.

    python benchmarks/intervals.py [--draws 1000]

`pipeline.scores.learnt.by_size` computes the intervals. Scores are normal: N(0, 1) for negatives and N(d + e, 1) for
positives, where d is chosen to give the expected AUC. All runs share their test images, but e ~ N(0, spread²) differs
from run to run, as training sets do. Ten draws form a study of ten words, whose variance estimates are pooled. With a
single run, the true AUC is the AUC of the run's fit.
"""

import argparse
from itertools import product

import numpy as np
import pandas as pd
from scipy import special

from jointsparse.metrics import auc
from jointsparse.pipeline.scores.learnt import by_size

WORDS = 10
RUNS, POSITIVES, EXPECTED = (1, 2, 3, 5, 10), (10, 30, 100), (0.6, 0.8, 0.95)
SPREADS = {"0": (0.0,), "0.2": (0.2,), "0.5": (0.5,), "0.05, 0.2 or 0.35": (0.05, 0.2, 0.35)}


def cell(n_runs: int, positives: int, expected: float, spreads: tuple[float, ...], draws: int) -> tuple[float, float]:
    """Return the fraction of intervals that contain the true AUC, and the mean width of the intervals."""
    rng = np.random.default_rng(0)
    spread = rng.choice(spreads, size=draws)
    moved = special.ndtri(expected) * np.sqrt(2 + spread**2) + spread * rng.normal(size=(n_runs, draws))
    scores = rng.normal(size=(3 * positives, draws))
    labels = np.tile(np.arange(len(scores))[:, np.newaxis] < positives, draws)
    method, word = divmod(np.tile(np.arange(draws), n_runs), WORDS)
    rows = pd.DataFrame({"word": word, "method": method, "n": 1, "validation_word": False, "positives": positives})
    table = by_size(
        rows.assign(auc=np.concatenate([auc(scores + labels * by, labels) for by in moved]), features=0), len(scores)
    )
    true = expected if n_runs > 1 else special.ndtr(moved[0] / np.sqrt(2))
    inside = (table["low"] <= true) & (true <= table["high"])
    return float(inside.mean()), float((table["high"] - table["low"]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    print("coverage (mean width) by spread of training sets:", *SPREADS, sep=" | ")
    for n_runs, positives, expected in product(RUNS, POSITIVES, EXPECTED):
        cells = [cell(n_runs, positives, expected, spreads, draws) for spreads in SPREADS.values()]
        texts = [f"{coverage:.3f} ({width:.3f})" for coverage, width in cells]
        print(f"runs {n_runs}, positives {positives}, AUC {expected:g}", *texts, sep=" | ", flush=True)


if __name__ == "__main__":
    main()

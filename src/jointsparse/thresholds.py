"""Limits of ours, apart from what computes and what draws, so that both may use them without knowing each other."""

# Choice: the papers say nothing of words that nearly every image has.
NEARLY_ALL = 0.9  # words that at least this fraction of the training images has carry a warning
# Choice: the papers certify nothing. A fraction of the optimum, see `problem.Fit`.
GAP = 0.05  # fits whose objective may be further from the optimum than this are marked in tables and figures

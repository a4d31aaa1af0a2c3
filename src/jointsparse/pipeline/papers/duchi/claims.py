"""Claims of Duchi et al. about projections onto the l1 ball and the methods that use them, in the order of the paper.

Source: Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
ICML 2008.
"""

import numpy as np
import pandas as pd

from jointsparse.checks import require
from jointsparse.pipeline.papers.judging import (
    BELOW,
    COMPETITIVE,
    DOES_NOT_HOLD,
    EVERY,
    LESS,
    MORE,
    NEARLY_FLAT_SLOPE,
    Claim,
    Judgement,
    NotTested,
    Tables,
    Where,
    at_least,
    conclude,
    describe,
    geometric_mean_over,
    mean_over,
    rows_with,
)
from jointsparse.pipeline.papers.shapes import (
    ACCURACY,
    costs_to_accuracy,
    difference_after,
    ratio,
    ratio_after,
    slope,
    sooner,
    until,
)

PAPER = "Duchi et al. 2008"

# Why some statements of the paper have no verdict.
NOT_JUDGED = (
    'Duchi et al., sec. 7, call interior-point methods "infeasible or very slow" without a number; the claim '
    "interior-point-quadratic tests how their cost grows.",
    "Duchi et al., sec. 7, report error rates of online learning, but our copy of the paper breaks off where it "
    "describes Fig. 7; that projections converge faster is also stated in sec. 1, and tested.",
)


def gain(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Geometric mean over runs of the cost ratio of two methods at the largest size, divided by their cost ratio at the
    smallest size.
    """
    sizes = rows_with(tables, claim.table, "n", problem=where["problem"])["n"]
    small, large = int(sizes.min()), int(sizes.max())
    require(small < large, f"table {claim.table} has only one size with {describe(where)}, n={small}", NotTested)
    costs = [costs_to_accuracy(claim, tables, where | {"n": n}) for n in (large, small)]
    never = pd.concat(costs)[["bound", "bound_of_other"]].any(axis=None)
    require(not never, f"a method does not reach {ACCURACY:g} in every run with n={small} or n={large}", NotTested)
    ratios = costs[0]["ratio"] / costs[1]["ratio"]
    judgement = conclude(claim, geometric_mean_over(ratios), where | {"n": (small, large)}, small=small, large=large)
    return [judgement._replace(n=large)]


def exponent_of_iteration(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Mean over runs of the exponent with which the seconds per iteration grow from the smallest to the largest
    size.
    """
    rows = rows_with(tables, claim.table, "run", "n", "step", "seconds", **where)
    small, large = int(rows["n"].min()), int(rows["n"].max())
    last = rows.groupby(["n", "run"])[["seconds", "step"]].max()
    step_seconds = last["seconds"] / last["step"]
    exponents = np.log(step_seconds[large] / step_seconds[small]) / np.log(large / small)
    judgement = conclude(claim, mean_over(exponents), where | {"n": (small, large)}, small=small, large=large)
    return [judgement._replace(n=large)]


def slowdown(claim: Claim, tables: Tables, where: Where) -> list[Judgement]:
    """Geometric mean ratio over runs. If a run never reaches the digit, all of its steps are counted. This gives a
    lower bound, which cannot contradict the claim.
    """
    runs = {column: where[column] for column in ("problem", "n", "method")}
    rows, digit = rows_with(tables, claim.table, "run", "step", "suboptimality", **runs), where["digit"]
    before, after = (until(rows, "step", 10.0**-digits) for digits in (digit - 1, digit))
    before, after = before[~before["bound"]], after[~before["bound"]]
    missing = f"{where['method']} never reaches a suboptimality of {10.0 ** (1 - digit):g}"
    require(len(before), missing, NotTested)
    # Choice: "slow down" means compared with the mean of the digits before. Linear convergence takes equally many steps
    # for each digit.
    ratios = np.maximum(after["spent"] - before["spent"], 1) / (before["spent"] / (digit - 1))
    judgement = conclude(claim, geometric_mean_over(ratios), where)
    note = f"; reached in {(~after['bound']).sum()} of {len(after)} runs; in the other runs, all steps count"
    return [judgement.withheld(DOES_NOT_HOLD).adding(note) if after["bound"].any() else judgement]


# The claims

DIMENSION, UPDATES = {"part": "dimension"}, {"part": "touched", "method": "tree"}
LARGE = {"x": at_least(10_000)}  # Choice: with fewer entries, the fixed cost of a call flattens the slope of timings.
MANY = at_least(1_000_000)  # Choice: count of non-zero weights; the paper's bigrams have 1,946,684 dimensions.
SPARSE = pd.Interval(
    0, 0.012, closed="both"
)  # fraction of all features, as for the unigrams of the stochastic runs in sec. 7
# Choice: about the "on average one-thousand non-zero features" of an example, sec. 1.
ABOUT_1000 = pd.Interval(300, 3_000, closed="both")
PROJECTIONS = ("pivot", "newton")  # the method of the paper's Fig. 2, and our default method
BATCH, SINGLE_OR_FEW = ("batch 25%", "batch 100%"), ("stochastic 1", "stochastic 100")
# Paper: the coordinate descent that it uses (Friedman et al. 2007) is for least squares.
TO_INTERIOR = {"method": ("batch", "stochastic", "line-search"), "against": "interior-point"}
TO_COORDINATE = TO_INTERIOR | {"against": "coordinate-descent", "problem": "squared"}
STOCHASTIC = {"method": "stochastic", "against": "interior-point"}
OVER_ENTROPIC = {"method": "projection", "against": "entropic"}
EACH_SIZE = {"problem": (EVERY,), "n": (EVERY,)}
EACH_FORM = {"form": (EVERY,), "radius": (EVERY,)}

READ = "number of entries or nodes that a counting copy of the algorithm reads"
K_AND_N = "/ (k log n), with k changed and n non-zero entries"
UNTIL = f"until a suboptimality of {ACCURACY:g} (fraction of the objective at w = 0)"
OF_BEST = UNTIL + ": the smallest of {method} (without the search for radius and eta0) divided by that of {against}"
OBJECTIVE = "objective of {method} minus objective of {against} after the same number of "

# fmt: off
CLAIMS: dict[str, Claim] = {
    # Sec. 5 and 6: cost of projections and of sparse updates
    "l1-projection-linear": Claim(
        "Projecting a vector onto the l1 ball takes a number of operations linear in its dimension.",
        PAPER, "abstract; sec. 5, Fig. 2", "operations", slope,
        f"exponent of the dimension x in the {READ} / x", "operations / x",
        where=DIMENSION | {"method": "pivot"}, most=NEARLY_FLAT_SLOPE,
    ),
    "l1-projection-linear-seconds": Claim(
        "Projecting a vector onto the l1 ball takes time linear in its dimension.",
        PAPER, "abstract; sec. 5, Fig. 2", "projection", slope,
        "exponent of the dimension x in the measured CPU seconds / x", "seconds / x",
        where=DIMENSION | LARGE, each={"method": PROJECTIONS}, most=NEARLY_FLAT_SLOPE,
    ),
    "l1-sort-n-log-n": Claim(
        "Projecting a vector of n entries onto the l1 ball by sorting takes O(n log n) time.",
        PAPER, "sec. 1 and 3, Fig. 1", "projection", slope,
        "exponent of the dimension x in the measured CPU seconds / (x log x)", "seconds / (x * log(x))",
        where=DIMENSION | LARGE | {"method": "sort"}, most=NEARLY_FLAT_SLOPE,
    ),
    "l1-projection-as-cheap-as-l2": Claim(
        "Gradient steps with projection onto the l1 ball are almost as fast as steps with projection onto the l2 ball: "
        "they take at most 2 times as long (our threshold).",
        PAPER, "sec. 1", "projection", ratio,
        "seconds of a least-squares gradient step with projection, divided by the seconds with an l2 projection, for "
        "{x:,.0f} features and samples", "seconds",
        where={"part": "gradient step", "against": "l2"}, each={"method": PROJECTIONS}, most=COMPETITIVE,
    ),
    "sparse-update-k-log-n": Claim(
        "With n non-zero weights, changing k entries and projecting again visits O(k log n) nodes of the tree.",
        PAPER, "abstract; sec. 6, Fig. 3", "operations", slope,
        f"exponent of k in the {READ} {K_AND_N}", "operations / (x * log(n + 1))",
        where=UPDATES, group="n", most=NEARLY_FLAT_SLOPE,
    ).and_also(x="n", group="x", means=f"exponent of n in the {READ} {K_AND_N}"),
    "sparse-update-k-log-n-seconds": Claim(
        "With n non-zero weights, changing k entries and projecting again takes O(k log n) time.",
        PAPER, "abstract; sec. 6, Fig. 3", "projection", slope,
        f"exponent of k in the measured CPU seconds {K_AND_N}", "seconds / (x * log(n + 1))",
        # Choice: with fewer touched entries, the fixed cost of a call flattens the slope.
        where=UPDATES | {"x": at_least(30)}, group="n", most=NEARLY_FLAT_SLOPE,
    ).and_also(x="n", group="x", means=f"exponent of n in the measured CPU seconds {K_AND_N}"),
    "tree-beats-full": Claim(
        "With 1,000,000 non-zero weights, of which about 1,000 change, the tree is faster than the algorithm of Fig. "
        "2, which projects all weights.",
        PAPER, 'sec. 6: "using the algorithm verbatim could be prohibitively expensive in applications where the '
        'dimension is high yet the number of features which are on in each example is small"', "projection", ratio,
        "seconds of an update by the projection {method}, divided by those by the tree ({n:.3g} non-zero weights)",
        "seconds",
        where={"part": "touched", "n": 1_000_000, "x": ABOUT_1000, "method": "verbatim", "against": "tree"}, least=MORE,
    ),
    # Sec. 7, Fig. 4 and 5: suboptimality from step to step
    "first-digits": Claim(
        "Projected gradient methods reach a suboptimality of 0.01 sooner than an interior-point method.",
        PAPER, "sec. 7, Fig. 4 and 5", "race_seconds", sooner, f"measured CPU seconds {OF_BEST}", "seconds",
        where=TO_INTERIOR, each=EACH_SIZE, most=LESS,
    ),
    "first-digits-flops": Claim(
        "Projected gradient methods reach a suboptimality of 0.01 with fewer floating-point operations than an "
        "interior-point method.",
        PAPER, "sec. 7, Fig. 4 and 5", "race", sooner, f"counted operations {OF_BEST}", "flops",
        where=TO_INTERIOR, each=EACH_SIZE, most=LESS,
    ),
    "first-digits-competitive": Claim(
        "Projected gradient methods are competitive with coordinate descent for least squares: they reach a "
        "suboptimality of 0.01 in at most 2 times its time (our thresholds).",
        PAPER, "sec. 7, Fig. 4", "race_seconds", sooner, f"measured CPU seconds {OF_BEST}", "seconds",
        where=TO_COORDINATE, each=EACH_SIZE, most=COMPETITIVE,
    ),
    "first-digits-competitive-flops": Claim(
        "Projected gradient methods are competitive with coordinate descent for least squares: they reach a "
        "suboptimality of 0.01 with at most 2 times its floating-point operations (our thresholds).",
        PAPER, "sec. 7, Fig. 4", "race", sooner, f"counted operations {OF_BEST}", "flops",
        where=TO_COORDINATE, each=EACH_SIZE, most=COMPETITIVE,
    ),
    "stochastic-over-interior-point": Claim(
        "Stochastic projected gradient reaches a suboptimality of 0.01 with fewer floating-point operations than an "
        "interior-point method.",
        PAPER, "abstract; sec. 7, Fig. 4 and 5", "race", sooner, f"counted operations {OF_BEST}", "flops",
        where=STOCHASTIC, each=EACH_SIZE, most=LESS,
    ),
    "stochastic-over-interior-point-seconds": Claim(
        "Stochastic projected gradient reaches a suboptimality of 0.01 in less time than an interior-point method.",
        PAPER, "abstract; sec. 7, Fig. 4 and 5", "race_seconds", sooner, f"measured CPU seconds {OF_BEST}", "seconds",
        where=STOCHASTIC, each=EACH_SIZE, most=LESS,
    ),
    "stochastic-gains-with-dimension": Claim(
        "The advantage of stochastic projected gradient over an interior-point method grows with the dimension.",
        PAPER, "sec. 7, Fig. 4 and 5", "race", gain,
        f"operations of {{method}} divided by those of {{against}}, {UNTIL}; this ratio with n={{large}} divided by "
        "the ratio with n={small}", "flops", where=STOCHASTIC, each={"problem": (EVERY,)}, most=LESS,
    ),
    "interior-point-quadratic": Claim(
        "The cost of an interior-point method grows at least quadratically with the dimension (here with as many "
        "samples as features).",
        PAPER, "sec. 7, Fig. 4 and 5", "race_seconds", exponent_of_iteration,
        "exponent of the dimension in the seconds per iteration, from n={small} to n={large}", "seconds / step",
        where={"method": "interior-point"}, each={"problem": (EVERY,)},
        least=2,  # the paper says "quadratic dependence on the dimension"
    ),
    "slows-down": Claim(
        "Projected gradient methods slow down beyond a suboptimality of 0.01.",
        PAPER, "sec. 7, Fig. 4 and 5", "race", slowdown,
        "steps for digit {digit} of the suboptimality (fraction of the objective at w = 0), divided by the mean number "
        "of steps for the digits before", "step",
        where={"method": TO_INTERIOR["method"]},
        each=EACH_SIZE | {"method": (EVERY,), "digit": (3, 4)},  # Choice: the digits after the accuracy 1e-2.
        least=MORE,
    ),
    # Sec. 7, Fig. 6 and 7: against exponentiated gradient
    "projection-over-entropic": Claim(
        "With batches, projected gradient has a lower objective than exponentiated gradient after the same number of "
        "gradients.",
        PAPER, "sec. 1; sec. 7, Fig. 7", "exponentiated", difference_after, OBJECTIVE + "single-sample gradients",
        "objective", x="gradients", where=OVER_ENTROPIC | {"form": BATCH}, each=EACH_FORM, most=BELOW, on_fits=True,
    ).and_also(table="digits"),
    "projection-sooner": Claim(
        "With batches, projected gradient has a lower objective than exponentiated gradient after the same time.",
        PAPER, "sec. 7, Fig. 6 left", "exponentiated_seconds", difference_after, OBJECTIVE + "CPU seconds",
        "objective", x="seconds", where=OVER_ENTROPIC | {"form": BATCH}, each=EACH_FORM, most=BELOW, on_fits=True,
    ),
    "entropic-sooner-stochastic": Claim(
        "With one or a few sparse samples in each step, exponentiated gradient has a lower objective than projected "
        "gradient after the same time.",
        PAPER, "sec. 7, Fig. 6 right", "exponentiated_seconds", difference_after, OBJECTIVE + "CPU seconds",
        "objective", x="seconds", where={"method": "entropic", "against": "projection", "form": SINGLE_OR_FEW},
        each=EACH_FORM, most=BELOW, on_fits=True,
    ),
    "projection-sparser": Claim(
        "Projected gradient has fewer non-zero weights than exponentiated gradient.",
        PAPER, "sec. 1", "exponentiated", ratio_after,
        "non-zero weights of {method} divided by those of {against} after the same number of single-sample gradients",
        "non_zero", x="gradients", where=OVER_ENTROPIC, each=EACH_FORM, most=LESS, on_fits=True,
    ).and_also(table="digits"),
    "entropic-cheaper-when-sparse": Claim(
        "For very sparse gradients, a step of exponentiated gradient is cheaper than a step with projection.",
        PAPER, "sec. 7, Fig. 6 right", "projection", ratio,
        "seconds of a lazy step of exponentiated gradient, divided by the seconds of an update by the tree ({x:.0f} of "
        "{n:.3g} features change)", "seconds",
        where={"part": "touched", "n": MANY, "x": ABOUT_1000, "x / n": SPARSE, "method": "entropic", "against": "tree"},
        each={"n": (EVERY,)}, most=LESS,
    ),
    # Sec. 7: online
    "online-loss": Claim(
        "In online learning, projected gradient has a lower cumulative loss, and so a lower regret, than exponentiated "
        "gradient.",
        PAPER, "abstract; sec. 1 and 7", "online", difference_after,
        "mean log loss of the {method} over the pass minus mean log loss of {against}; each example is predicted "
        "before the step that learns from it",
        "loss", x="examples", where={"method": "tree", "against": "entropic"}, each={"radius": (EVERY,)},
        most=BELOW, on_fits=True,
    ),
    "online-sparser": Claim(
        "In online learning, projected gradient has fewer non-zero weights than exponentiated gradient.",
        PAPER, 'abstract: "high degrees of sparsity"',  # it gives no number
         "online", ratio_after,
        "non-zero weights of the {method} after the pass, divided by those of {against}, which has one for each "
        "feature that has occurred",
        "non_zero", x="examples", where={"method": "tree", "against": "entropic"}, each={"radius": (EVERY,)},
        most=LESS, on_fits=True,
    ),
}
# fmt: on

# The sections of the page of claims, each with its claims.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Sections 5 and 6: cost of projections and of sparse updates": (
        "l1-projection-linear",
        "l1-projection-linear-seconds",
        "l1-sort-n-log-n",
        "l1-projection-as-cheap-as-l2",
        "sparse-update-k-log-n",
        "sparse-update-k-log-n-seconds",
        "tree-beats-full",
    ),
    "Section 7, Figures 4 and 5: projected gradient, interior points and coordinate descent": (
        "first-digits",
        "first-digits-flops",
        "first-digits-competitive",
        "first-digits-competitive-flops",
        "stochastic-over-interior-point",
        "stochastic-over-interior-point-seconds",
        "stochastic-gains-with-dimension",
        "interior-point-quadratic",
        "slows-down",
    ),
    "Section 7, Figures 6 and 7: projected and exponentiated gradient": (
        "projection-over-entropic",
        "projection-sooner",
        "entropic-sooner-stochastic",
        "projection-sparser",
        "entropic-cheaper-when-sparse",
    ),
    "Section 7: online learning": ("online-loss", "online-sparser"),
}

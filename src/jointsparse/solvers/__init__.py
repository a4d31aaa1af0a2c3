"""The room of solvers: modules whose `fit` trains W over a loss and a norm, both given as modules.

Every solver takes all (eta0, radius) pairs of a grid together, so the data are read once per iteration.
"""

from jointsparse.solvers import subgradient

SOLVERS = {"subgradient": subgradient}

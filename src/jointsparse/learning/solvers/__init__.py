"""The room of solvers: modules whose `fit` trains W over a loss and a norm, both given as modules.

Every solver takes many pairs, (eta0, radius) or just radii, together, so the data are read once per iteration.
"""

from jointsparse.learning.solvers import pdhg, subgradient

SOLVERS = {"pdhg": pdhg, "subgradient": subgradient}

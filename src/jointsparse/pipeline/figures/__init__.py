"""Figures, each of which is drawn from a table, and the look of each method, which is the same in all figures."""

from jointsparse.checks import require_extra

require_extra(__name__, "pandas", "matplotlib")

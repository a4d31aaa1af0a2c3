"""Figures, each drawn from a table, and the look that a method has in all figures."""

from jointsparse.checks import require_extra

require_extra(__name__, "pandas", "matplotlib")

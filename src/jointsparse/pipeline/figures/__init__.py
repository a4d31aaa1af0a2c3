"""Figures of tables, and the look that a method has in all of them."""

from jointsparse.checks import require_extra

require_extra(__name__, "pandas", "matplotlib")

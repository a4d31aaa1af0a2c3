"""Figures of tables, and the look of each method in all figures."""

from jointsparse.checks import require_extra

require_extra(__name__, "pandas", "matplotlib")

"""From weights to tables: metrics, evaluation of sweeps and paths, comparisons, warnings."""

from jointsparse.checks import require_extra

require_extra(__name__, "pandas")

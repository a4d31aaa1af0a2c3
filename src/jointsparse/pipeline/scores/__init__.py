"""From weights to tables: metrics, evaluation of sweeps and paths, comparisons, warnings."""

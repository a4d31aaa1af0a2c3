"""From weights to tables: evaluation of sweeps and paths, comparisons of methods, means over runs, warnings."""

"""Tables of results: evaluation of sweeps and paths, comparisons of methods, means over runs, and warnings."""

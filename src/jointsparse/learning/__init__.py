"""Training: problems, losses, regularisers, solvers, certificates and paths of radii."""

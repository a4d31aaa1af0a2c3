"""From samples and labels to weights: problems, losses, solvers, certificates, and paths of radii."""

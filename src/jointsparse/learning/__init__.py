"""From samples and labels to weights: tasks, losses, solvers, grids and paths."""

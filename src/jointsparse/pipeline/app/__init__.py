"""The command line, and what jobs set before they start."""

"""Jointly sparse multi-task learning: projections, training, and the experiments of Quattoni et al. (2009)."""

__version__ = "0.1.0"

"""Experiments of Quattoni, Carreras, Collins, Darrell, ICML 2009, and of its technical report (2008) and poster."""

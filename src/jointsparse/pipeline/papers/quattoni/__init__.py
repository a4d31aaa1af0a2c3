"""Quattoni, Carreras, Collins, Darrell, ICML 2009, with its technical report (2008) and poster."""

"""Experiments of Duchi, Shalev-Shwartz, Singer, Chandra, ICML 2008."""

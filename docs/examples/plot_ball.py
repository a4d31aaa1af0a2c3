"""
The ball
========

A first picture.
"""

import matplotlib.pyplot as plt

plt.plot([0, 1])

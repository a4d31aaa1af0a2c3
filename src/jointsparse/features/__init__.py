"""The room of local extractors. An extractor is a module with

- ``describe(picture, **options)``: descriptors (n_descriptors, LENGTH), uint8, of a grey picture (height, width) in
  [0, 1], float32;
- ``smallest_side(**options)``: the smallest side in pixels with which a picture has a descriptor of every scale;
- ``LENGTH``: the number of numbers in a descriptor.

``options`` are the entries of the feature's block in config.yaml. The vocabulary tree, which turns descriptors into
histograms, stands beside the room.
"""

from importlib import import_module

FEATURES = {name: import_module(f"{__name__}.{name}") for name in ("daisy", "dense_sift")}

"""The room of local extractors. An extractor is a module with

- ``describe(picture, **options)``: descriptors (n_descriptors, LENGTH), uint8, of a grey picture (height, width) in
  [0, 1], float32;
- ``smallest_side(**options)``: the side in pixels from which every picture has at least one descriptor of every scale;
- ``LENGTH``: how many numbers a descriptor has.

``options`` are the entries of the feature's block in config.yaml. The vocabulary tree, which turns descriptors into
histograms, stands beside the room.
"""

from jointsparse.features import dense_sift

FEATURES = {"dense_sift": dense_sift}

"""The room of local extractors. An extractor is a module with

- ``describe(picture, **options)``: descriptors (n_descriptors, LENGTH), uint8, of a grey picture (height, width) in
  [0, 1], float32;
- ``patches(height, width, **options)``: top, left and side in pixels of each descriptor's patch, (n_descriptors, 3);
- ``smallest_side(**options)``: the smallest side in pixels with which a picture has a descriptor of every scale;
- ``TAKES``: the names of the options;
- ``LENGTH``: the number of numbers in a descriptor.

``options`` are the entries of the feature's block in config.yaml. Beside the room stand the vocabulary tree, which
turns descriptors into histograms, the evidence of each patch for a score, and `explain`, which makes maps of pictures
from it. So do `DenseSift`, `Daisy`, `VocabularyTree` and `SVDBasis`, transformers of scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jointsparse.features.transformers import Daisy, DenseSift, SVDBasis, VocabularyTree

__all__ = ["FEATURES", "Daisy", "DenseSift", "SVDBasis", "VocabularyTree"]

FEATURES = {name: import_module(f"{__name__}.{name}") for name in ("daisy", "dense_sift")}


def __getattr__(name: str) -> object:
    """A transformer, imported when it is first asked for: scikit-learn takes a second."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.transformers"), name)

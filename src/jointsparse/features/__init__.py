"""Features of pictures: local descriptors, a vocabulary tree that makes visual words of them, and bases of features.

`DenseSift`, `Daisy`, `VocabularyTree` and `SVDBasis` are transformers of scikit-learn. `evidence` says what each patch
of a picture adds to a score, and `explain` makes maps of it. An extractor of descriptors is a module of this room with

- ``describe(picture, **options)``: descriptors (n_descriptors, LENGTH), uint8, of a grey picture (height, width) in
  [0, 1], float32;
- ``patches(height, width, **options)``: top, left and side in pixels of each descriptor's patch, (n_descriptors, 3);
- ``smallest_side(**options)``: the smallest side in pixels with which a picture has a descriptor of every scale;
- ``TAKES``: the names of the options;
- ``LENGTH``: the number of numbers in a descriptor.

``options`` are the entries of the feature's block in config.yaml.
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

"""Features of pictures: local descriptors, a vocabulary tree that quantises them into visual words, and SVD bases.

`DenseSift`, `VocabularyTree`, `Embedding` and `SVDBasis` are scikit-learn transformers. `evidence` computes how much
each patch of a picture adds to a score, and `explain` returns heat maps. An extractor is a module of this package with

- ``smallest_side(**options)``: the smallest side in pixels for which a picture can be described.

An extractor of local descriptors also has

- ``describe(picture, **options)``: the descriptors, uint8 (n_descriptors, LENGTH), of a grey picture given as float32
  (height, width) in [0, 1];
- ``patches(height, width, **options)``: top, left and side in pixels of each descriptor's patch, (n_descriptors, 3);
- ``LENGTH``: the length of a descriptor.

``options`` are the entries of the feature's block in config.yaml.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jointsparse.features.embedding import Embedding
    from jointsparse.features.transformers import DenseSift, SVDBasis, VocabularyTree

__all__ = ["FEATURES", "DenseSift", "Embedding", "SVDBasis", "VocabularyTree"]

FEATURES = {name: import_module(f"{__name__}.{name}") for name in ("dense_sift", "onnx")}


def __getattr__(name: str) -> object:
    """Import a transformer on first access, because importing scikit-learn takes a second."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'embedding' if name == 'Embedding' else 'transformers'}"), name)

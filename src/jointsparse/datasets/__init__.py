"""The room of datasets of captioned photographs. A dataset is a module with two functions:

- ``read(**options) -> Photographs``: the usable images with their split, the captions, and what was left out and why;
- ``picture(image, **options)``: one image as grey levels in [0, 1], shape (height, width), float32.

``options`` are the entries of the dataset's block in config.yaml. Only this room opens raw files.
"""

from jointsparse.datasets import collage, photos, scenes

DATASETS = {"collage": collage, "photos": photos, "scenes": scenes}

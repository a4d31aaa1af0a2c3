"""The room of datasets: photographs, tables and text from files, and data that are drawn or come with a package.

A dataset of captioned photographs is a module with three functions:

- ``read(**options) -> Photographs``: the usable images with their split, the captions, and the rest with reasons;
- ``picture(image, **options)``: one image as grey levels in [0, 1], shape (height, width), float32;
- ``thumbnail(image, longest_side, **options)``: one image in colour, shape (height, width, 3), uint8;
- ``file(image, **options)``, where images are files: the path of one.

A dataset whose features are given has ``read(**options) -> Samples``: similar tables, and a matrix. A page shows its
features as ``SHOWS`` declares: as the "pixels" of square pictures, row by row, by the "names" that
``feature_names(**options)`` returns, or as "nothing". If options name files in its folder ``root``, ``FILES`` lists
these options. Then ``ONLY_WITH`` and ``ONLY_WITHOUT`` name for an option the other one with which, or without which,
it counts. ``synthetic`` draws tasks with known weights instead.

Each module declares

- ``OFFERS``: "pictures", "samples", or "drawn" if its studies draw their own tasks;
- ``LABELS``: the plural of what its labels are called, such as "words" or "topics";
- ``TAKES``: the names of its options, and ``NEEDS``: those without a default.

``options`` are the entries of the dataset's block in config.yaml. Only this room opens raw files.
"""

from jointsparse.checks import require_extra

require_extra(__name__, "pandas", "PIL", "skimage")

DATASETS = {
    "arrays": "jointsparse.pipeline.datasets.arrays",
    "collage": "jointsparse.pipeline.datasets.collage",
    "digits": "jointsparse.pipeline.datasets.digits",
    "documents": "jointsparse.pipeline.datasets.documents",
    "idx": "jointsparse.pipeline.datasets.idx",
    "libsvm": "jointsparse.pipeline.datasets.libsvm",
    "photos": "jointsparse.pipeline.datasets.photos",
    "scenes": "jointsparse.pipeline.datasets.scenes",
    "synthetic": "jointsparse.pipeline.datasets.synthetic",
}

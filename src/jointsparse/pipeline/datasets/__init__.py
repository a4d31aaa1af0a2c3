"""Dataset loaders: photographs, tables and text from files, generated data, and data that come with a package.

A loader obeys its options, whose defaults are fixed and documented, and decides nothing from the content of files: that
is what `app.columns` and `app.layouts` do for the command `init`, which writes the options.

A loader is a module with the function ``read(**options) -> Samples``, which returns the usable images or samples with
their splits, the captions or labels, a table of everything that was left out, with reasons, and the feature matrix if
the dataset comes with features. A loader of photographs also has these functions:

- ``picture(image, **options)``: one image as grey levels in [0, 1], shape (height, width), float32;
- ``thumbnail(image, longest_side, **options)``: one image in colour, shape (height, width, 3), uint8;
- ``file(image, **options)``: the path of one image; only if images are files.

A loader declares how the results page shows features: ``SHOWS`` is "pixels" if the features are the pixels of
a square picture, row by row, "names" if ``feature_names(**options)`` returns names of the features, or "nothing". A
loader of photographs has ``SHOWS = "pictures"``. The loader ``synthetic`` draws tasks with known weights instead.

Each module declares ``LABELS``: what its labels are called, in the plural, such as "words" or "topics". ``options`` are
the entries that the dataset has under ``options`` in config.yaml; a class in `settings.datasets` lists them. No other
package opens raw files.
"""

from jointsparse.checks import require_extra

require_extra(__name__, "pandas", "PIL", "skimage")

DATASETS = {
    "arrays": "jointsparse.pipeline.datasets.arrays",
    "collage": "jointsparse.pipeline.datasets.collage",
    "digits": "jointsparse.pipeline.datasets.digits",
    "documents": "jointsparse.pipeline.datasets.documents",
    "idx": "jointsparse.pipeline.datasets.idx",
    "keywords": "jointsparse.pipeline.datasets.keywords",
    "libsvm": "jointsparse.pipeline.datasets.libsvm",
    "photos": "jointsparse.pipeline.datasets.photos",
    "scenes": "jointsparse.pipeline.datasets.scenes",
    "synthetic": "jointsparse.pipeline.datasets.synthetic",
    "tagged": "jointsparse.pipeline.datasets.tagged",
}

"""A loop over the sizes of the training sets, shared by the scripts that train models."""

from functools import partial

from job import parts

from jointsparse.features.basis import factors
from jointsparse.pipeline.provenance.tables import read_arrays, read_features, read_record
from jointsparse.pipeline.sweep import in_powers
from jointsparse.pipeline.tasks import Tasks


def fits_of_sizes(given, params, train, progress):
    """Return the fits for each size. `train(X, Y=labels, progress=progress)` must return the fits for a single size."""
    X = read_features(given.features, params.vocabulary)
    tasks = read_record(Tasks, given.tasks)
    scales = {}
    if given.basis:
        scales = factors(*read_arrays(given.basis, "singular_values").values(), params.powers)
    return {
        n: in_powers(X, scales, partial(train, Y=tasks.training_sets(n), progress=part))
        for n, part in parts(tasks.each_size(), progress)
    }

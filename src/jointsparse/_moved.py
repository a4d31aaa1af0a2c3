"""Old paths of what has moved. They import with a DeprecationWarning until version 2."""

import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

# By old path, the modules that hold its names now; the first one that has a name is where it is defined.
MOVED = {
    "kept.explain": ("features.explain",),
    "kept.file": ("files",),
    "learning.entropic": ("pipeline.papers.duchi.entropic",),
    "learning.flag": ("pipeline.flag",),
    "learning.problem": ("learning.regulariser", "learning.certificate", "learning.fit"),
    "learning.scales": ("learning.radii",),
    "learning.svm": ("pipeline.svm",),
    "learning.sweep": ("learning.radii", "pipeline.sweep"),
    "learning.tasks": ("pipeline.tasks",),
    "norms.l1_sparse": ("learning.l1_sparse",),
    "scores.many": ("metrics", "pipeline.scores.runs"),
    "scores.metrics": ("metrics", "pipeline.scores.scored_fits", "pipeline.scores.evaluation"),
    "scores.sign_test": ("metrics",),
    "datasets.pictures": ("pictures", "pipeline.datasets.picture_check"),
}
# Packages that were beside the library, by their old names, and what they are called in the pipeline.
ROOMS = {name: name for name in ("app", "datasets", "explorer", "figures", "papers", "provenance", "scores")}
ROOMS["kept"] = "models"


def places_of(old: str) -> tuple[str, ...]:
    """Return the modules that hold the names of an old path, without the package's name; none for any other path."""
    room, dot, inside = old.partition(".")
    return MOVED.get(old, (f"pipeline.{ROOMS[room]}{dot}{inside}",) if room in ROOMS else ())


def moved(module: str, name: str) -> object:
    """Return what a module held under this name, and warn that it has moved.

    Raises AttributeError, as a module does, for a name that it never held.
    """
    unknown = AttributeError(f"module {module!r} has no attribute {name!r}")
    if name.startswith("__"):  # Python asks for __path__ and others, and those of another module would be wrong
        raise unknown
    for place in places_of(module.removeprefix("jointsparse.")):
        if name in vars(found := import_module(f"jointsparse.{place}")):
            message = f"{module}.{name} has moved: import it from jointsparse.{place}"
            warnings.warn(message, DeprecationWarning, stacklevel=3)
            return vars(found)[name]
    raise unknown


def spec_of(name: str) -> ModuleSpec | None:
    """Return how to make the module of an old path, and None for any other name, as the import system asks for."""
    places = places_of(name.removeprefix("jointsparse."))
    found = find_spec(f"jointsparse.{places[0]}") if places else None
    is_package = found is not None and found.submodule_search_locations is not None
    return ModuleSpec(name, OldModule, is_package=is_package) if found else None  # type: ignore[arg-type]


class OldModule:
    """Makes the module of an old path, which takes each name from where it is now."""

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """Leave it to Python to make an empty module."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Let a module take its names from where they are now."""
        module.__getattr__ = lambda name: moved(module.__name__, name)  # type: ignore[method-assign]

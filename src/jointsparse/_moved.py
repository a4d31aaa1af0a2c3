"""Old paths of modules that have moved. Importing from an old path works until version 2, with a DeprecationWarning."""

import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

# Maps an old path to the modules that now hold its names. A name is taken from the first module that has it.
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
# Packages that have moved into `pipeline`. Maps the old name to the name inside `pipeline`.
ROOMS = {name: name for name in ("app", "datasets", "explorer", "figures", "papers", "provenance", "scores")}
ROOMS["kept"] = "models"


def places_of(old: str) -> tuple[str, ...]:
    """Return the modules that now hold the names of an old path, without "jointsparse.", or () for any other path."""
    room, dot, inside = old.partition(".")
    return MOVED.get(old, (f"pipeline.{ROOMS[room]}{dot}{inside}",) if room in ROOMS else ())


def moved(module: str, name: str) -> object:
    """Return the object that an old module held under `name`, and warn that it has moved.

    Raises AttributeError if the old module never held this name.
    """
    unknown = AttributeError(f"module {module!r} has no attribute {name!r}")
    if name.startswith("__"):  # Python asks for __path__ and the like; the new module's values would be wrong here
        raise unknown
    for place in places_of(module.removeprefix("jointsparse.")):
        if name in vars(new := import_module(f"jointsparse.{place}")):
            message = f"{module}.{name} has moved: import it from jointsparse.{place}"
            warnings.warn(message, DeprecationWarning, stacklevel=3)
            return vars(new)[name]
    raise unknown


def spec_of(name: str) -> ModuleSpec | None:
    """Return the spec of the module at an old path, or None for any other name, as the import system expects."""
    places = places_of(name.removeprefix("jointsparse."))
    new = find_spec(f"jointsparse.{places[0]}") if places else None
    is_package = new is not None and new.submodule_search_locations is not None
    return ModuleSpec(name, OldModule, is_package=is_package) if new else None  # type: ignore[arg-type]


class OldModule:
    """Loader for a module at an old path, which looks up every name in the module that holds it now."""

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """Return None, so that Python creates an empty module."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Make the module look up its names in the modules that hold them now."""
        module.__getattr__ = lambda name: moved(module.__name__, name)  # type: ignore[method-assign]

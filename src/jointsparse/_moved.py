"""Old paths of what has moved. They import with a DeprecationWarning until version 2."""

import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

# By old path, the modules that hold its names now; the first one that has a name is where it is defined.
MOVED = {
    "jointsparse.app.blas": ("jointsparse.pipeline.app.blas",),
    "jointsparse.kept.annotator": ("jointsparse.pipeline.models.annotator",),
    "jointsparse.kept.explain": ("jointsparse.features.explain",),
    "jointsparse.kept.file": ("jointsparse.files",),
    "jointsparse.kept.final": ("jointsparse.pipeline.models.final",),
    "jointsparse.learning.entropic": ("jointsparse.pipeline.papers.duchi.entropic",),
    "jointsparse.learning.flag": ("jointsparse.pipeline.flag",),
    "jointsparse.learning.problem": (
        "jointsparse.learning.regulariser",
        "jointsparse.learning.certificate",
        "jointsparse.learning.fit",
    ),
    "jointsparse.learning.scales": ("jointsparse.learning.radii",),
    "jointsparse.learning.svm": ("jointsparse.pipeline.svm",),
    "jointsparse.learning.sweep": ("jointsparse.learning.radii", "jointsparse.pipeline.sweep"),
    "jointsparse.learning.tasks": ("jointsparse.pipeline.tasks",),
    "jointsparse.norms.l1_sparse": ("jointsparse.learning.l1_sparse",),
    "jointsparse.scores.comparison": ("jointsparse.pipeline.scores.comparison",),
    "jointsparse.scores.evaluation": ("jointsparse.pipeline.scores.evaluation",),
    "jointsparse.scores.flags": ("jointsparse.pipeline.scores.flags",),
    "jointsparse.scores.learnt": ("jointsparse.pipeline.scores.learnt",),
    "jointsparse.scores.many": ("jointsparse.metrics", "jointsparse.pipeline.scores.runs"),
    "jointsparse.scores.metrics": ("jointsparse.metrics", "jointsparse.pipeline.scores.evaluation"),
    "jointsparse.scores.sign_test": ("jointsparse.metrics",),
}
PACKAGES = {"jointsparse.app", "jointsparse.kept", "jointsparse.scores"}  # of old paths alone


def moved(module: str, name: str) -> object:
    """Return what a module held under this name, and warn that it has moved.

    Raises AttributeError, as a module does, for a name that it never held.
    """
    for place in MOVED[module] if not name.startswith("__") else ():
        if name in vars(found := import_module(place)):
            message = f"{module}.{name} has moved: import it from {place}"
            warnings.warn(message, DeprecationWarning, stacklevel=3)
            return vars(found)[name]
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


class OldPaths:
    """Finds and makes the modules of old paths, which take each name from where it is now."""

    @classmethod
    def find_spec(cls, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        known = name in MOVED or name in PACKAGES
        return ModuleSpec(name, cls, is_package=name in PACKAGES) if known else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """Leave it to Python to make an empty module."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        old = module.__name__
        if old in MOVED:
            module.__getattr__ = lambda name: moved(old, name)  # type: ignore[method-assign]

"""The pipeline, which turns raw files into tables, figures, pages and models, for the papers or for your own data.

The pipeline imports the library, but the library does not import the pipeline, except that `jointsparse.__main__`
starts the command. The pipeline needs the optional dependencies: ``pip install 'jointsparse[pipeline]'``.

`load` loads a model that a run has saved.
"""

from importlib import import_module

from jointsparse.registry import ROOMS, Room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jointsparse.pipeline.models.model_file import load

__all__ = ["load"]

ROOMS["datasets"] = Room("jointsparse.pipeline.datasets", "loader")
ROOMS["experiments"] = Room("jointsparse.pipeline.papers", "kind")


def __getattr__(name: str) -> object:
    """Import `load` on first access, because importing scikit-learn takes two seconds."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.models.model_file"), name)

"""Plug-ins by name: `pick("norms", "l1inf")` is the module `jointsparse.norms.l1inf`."""

from importlib import import_module
from types import ModuleType

# What a name of each room is called where it is given.
PARAMETERS = {
    "datasets": "loader",
    "experiments": "kind",
    "features": "extractor",
    "losses": "loss",
    "norms": "norm",
    "solvers": "solver",
}
# The dictionaries of plug-ins, and the packages that hold them. Some hold names of modules, which cost time to import.
ROOMS = {
    "datasets": "jointsparse.datasets",
    "experiments": "jointsparse.papers",
    "features": "jointsparse.features",
    "losses": "jointsparse.learning.losses",
    "norms": "jointsparse.norms",
    "solvers": "jointsparse.learning.solvers",
}


def room(name: str) -> dict[str, ModuleType | str]:
    """The dictionary of a room: `room("norms")` is `jointsparse.norms.NORMS`."""
    return getattr(import_module(ROOMS[name]), name.upper())


def pick(room_name: str, name: str) -> ModuleType:
    """The plug-in `name` of a room, a key of ROOMS.

    Raises ValueError naming the plug-ins that exist.

    >>> pick("norms", "l1inf").__name__
    'jointsparse.norms.l1inf'
    """
    plug_ins = room(room_name)
    if not isinstance(name, str) or name not in plug_ins:
        raise ValueError(f"{PARAMETERS[room_name]} must be one of {', '.join(sorted(plug_ins))}, got {name!r}")
    found = plug_ins[name]
    return import_module(found) if isinstance(found, str) else found

"""Plug-ins by name: `pick("norms", "l1inf")` is the module `jointsparse.norms.l1inf`."""

from importlib import import_module
from types import ModuleType
from typing import NamedTuple


class Room(NamedTuple):
    """A package whose dictionary of plug-ins is named after the room, and the parameter that takes a plug-in's name."""

    package: str
    parameter: str


# By name. `jointsparse.pipeline` adds its own rooms when it is imported.
ROOMS = {
    "features": Room("jointsparse.features", "extractor"),
    "losses": Room("jointsparse.learning.losses", "loss"),
    "norms": Room("jointsparse.norms", "norm"),
    "solvers": Room("jointsparse.learning.solvers", "solver"),
}


def room(name: str) -> dict[str, ModuleType | str]:
    """Return the dictionary of a room: `room("norms")` is `jointsparse.norms.NORMS`.

    Its values are modules, or names of modules where importing all of them would take long.
    """
    return getattr(import_module(ROOMS[name].package), name.upper())


def pick(room_name: str, name: str) -> ModuleType:
    """Return the plug-in `name` of a room, a key of ROOMS.

    Raises ValueError with the names of the plug-ins that exist.

    >>> pick("norms", "l1inf").__name__
    'jointsparse.norms.l1inf'
    """
    plug_ins = room(room_name)
    if not isinstance(name, str) or name not in plug_ins:
        raise ValueError(f"{ROOMS[room_name].parameter} must be one of {', '.join(sorted(plug_ins))}, got {name!r}")
    found = plug_ins[name]
    return import_module(found) if isinstance(found, str) else found

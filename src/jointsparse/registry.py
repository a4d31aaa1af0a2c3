"""Lookup of plug-ins by name: `pick("norms", "l1inf")` returns the module `jointsparse.norms.l1inf`."""

from importlib import import_module
from types import ModuleType
from typing import NamedTuple


class Room(NamedTuple):
    """A package that holds a dictionary of plug-ins, and the name of the parameter that selects one of them."""

    package: str
    parameter: str


# A room's name in capitals is the name of its package's dictionary. `jointsparse.pipeline` adds its own rooms when it
# is imported.
ROOMS = {
    "features": Room("jointsparse.features", "extractor"),
    "losses": Room("jointsparse.learning.losses", "loss"),
    "norms": Room("jointsparse.norms", "norm"),
    "solvers": Room("jointsparse.learning.solvers", "solver"),
}


def room(name: str) -> dict[str, ModuleType | str]:
    """Return the dictionary of plug-ins in a room: `room("norms")` returns `jointsparse.norms.NORMS`.

    Its values are modules, or names of modules where importing all of them would be slow.
    """
    return getattr(import_module(ROOMS[name].package), name.upper())


def pick(room_name: str, name: str) -> ModuleType:
    """Return the plug-in `name` of the room `room_name`, which is a key of `ROOMS`.

    Raises ValueError if the room has no plug-in of this name. The message lists the existing plug-ins.

    >>> pick("norms", "l1inf").__name__
    'jointsparse.norms.l1inf'
    """
    plug_ins = room(room_name)
    if not isinstance(name, str) or name not in plug_ins:
        known = ", ".join(sorted(plug_ins))
        raise ValueError(f"{ROOMS[room_name].parameter} must be one of {known}, got {name!r}")
    plug_in = plug_ins[name]
    return import_module(plug_in) if isinstance(plug_in, str) else plug_in

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
# The removed plug-ins of each room, each with the last version of jointsparse that has it.
REMOVED = {"features": {"daisy": "1.0.0rc1"}}


def room(name: str) -> dict[str, ModuleType | str]:
    """Return the dictionary of plug-ins in a room: `room("norms")` returns `jointsparse.norms.NORMS`.

    Its values are modules, or names of modules where importing all of them would be slow.
    """
    return getattr(import_module(ROOMS[name].package), name.upper())


def removal_of(room_name: str, name: object) -> str | None:
    """Return a sentence that names the last version with a removed plug-in, or None if `name` is not a removed one.

    >>> removal_of("features", "daisy")
    'the extractor daisy was removed: jointsparse 1.0.0rc1 is the last version that has it'
    """
    for removed, last in REMOVED.get(room_name, {}).items():
        if name == removed:
            parameter = ROOMS[room_name].parameter
            return f"the {parameter} {removed} was removed: jointsparse {last} is the last version that has it"
    return None


def pick(room_name: str, name: str) -> ModuleType:
    """Return the plug-in `name` of the room `room_name`, which is a key of `ROOMS`.

    Raises ValueError if the room has no plug-in of this name. The message lists the existing plug-ins, or says that the
    plug-in was removed.

    >>> pick("norms", "l1inf").__name__
    'jointsparse.norms.l1inf'
    """
    plug_ins = room(room_name)
    if not isinstance(name, str) or name not in plug_ins:
        known = ", ".join(sorted(plug_ins))
        message = f"{ROOMS[room_name].parameter} must be one of {known}, got {name!r}"
        raise ValueError(removal_of(room_name, name) or message)
    plug_in = plug_ins[name]
    return import_module(plug_in) if isinstance(plug_in, str) else plug_in

"""Plug-ins by name: `pick("norms", "l1inf")` is the module `jointsparse.norms.l1inf`."""

from importlib import import_module
from types import ModuleType


def room(name: str) -> dict[str, ModuleType]:
    """The dictionary of a room: `room("norms")` is `jointsparse.norms.NORMS`."""
    plug_ins: dict[str, ModuleType] = getattr(import_module(f"jointsparse.{name}"), name.upper())
    return plug_ins


def pick(room_name: str, name: str) -> ModuleType:
    """The plug-in `name` of a room ("norms", "losses", "solvers", "features", "datasets").

    Raises ValueError naming the plug-ins that exist.

    >>> pick("norms", "l1inf").__name__
    'jointsparse.norms.l1inf'
    """
    plug_ins = room(room_name)
    if name not in plug_ins:
        raise ValueError(f"{room_name} knows {', '.join(sorted(plug_ins))}; got {name!r}")
    return plug_ins[name]

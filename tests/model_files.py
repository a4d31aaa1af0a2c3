"""Model files as one who knows how `save` does writes them: they hold anything, and their digests are right."""

import json
import warnings
from pathlib import Path

from jointsparse import files
from jointsparse.files import load

MODELS = Path(__file__).with_name("models")


def model_of(name):
    """A model that an older version has written."""
    with warnings.catch_warnings(action="ignore"):
        return load(MODELS / f"{name}.skops")


def write_entries(path, entries, **origin):
    known = {"format": files.FORMAT, "versions": files._versions(), "digests": files._digests(entries)}
    path.write_bytes(files._packed(entries | {files.ORIGIN: json.dumps(known | origin).encode()}))


def write_model(path, model):
    write_entries(path, files._dumped(model))


def part_of(model, where):
    """The part of a model at the end of names with dots between them: steps, attributes and keys of dictionaries."""
    for name in where.split(".") if where else ():
        steps = getattr(model, "named_steps", {})
        model = steps[name] if name in steps else model[name] if isinstance(model, dict) else getattr(model, name)
    return model


def put(model, where, value):
    """Set an attribute, an item or a field. value: or a function of the old value."""
    above, _, name = where.rpartition(".")
    part = part_of(model, above)
    old = part.get(name) if isinstance(part, dict) else getattr(part, name, None)
    new = value(old) if callable(value) else value
    if hasattr(part, "_replace"):
        put(model, above, part._replace(**{name: new}))
    elif isinstance(part, dict):
        part[name] = new
    else:
        vars(part)[name] = new

"""One line for a mistake in config.yaml, from the errors that pydantic finds."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import reduce
from operator import getitem
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import ValidationError

from jointsparse.pipeline.settings.config import Config
from jointsparse.pipeline.settings.datasets import Final
from jointsparse.pipeline.settings.values import TAGS, Block, SettingError, joined, one_of, shown, tags_of

DECIDING = [(tag,) for tag in TAGS]

EXPECTED = {  # by the type of pydantic's error
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a finite number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "text",
    "invalid_key": "text",
    "list_type": "a list",
    "dict_type": "a block of keys",
    "model_type": "a block of keys",
    "model_attributes_type": "a block of keys",
    "greater_than": "greater than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "string_too_short": "a text that is not empty",
    "string_pattern_mismatch": "named with 1 to 100 letters, digits, - and _",
    "too_short": "a {what_it_is} with {min_length} or more entries",
    "too_long": "a list with at most {max_length} entries",
    "expected": "{what}",
}


Place = tuple[str | int, ...]


def explained(error: ValidationError, config: Any) -> SettingError:
    """Return the first mistake. Of several, it is the one nearest to the top level, at a key that decides on others.

    All alternatives of a value are named: a number or auto, for example.
    """
    mistakes = [(_place(one, config), one) for one in error.errors(include_url=False)]
    first = min((place for place, _ in mistakes), key=lambda place: (len(place), place[-1:] not in DECIDING))
    for kind, sentence in SENTENCES.items():
        for place, one in mistakes:
            if place == first and one["type"] == kind:
                return sentence(one, place, config)
    inside = [place for place, one in mistakes if place[: len(first)] == first and not (_is_of_key(one))]
    of_keys = any(place == first and _is_of_key(one) for place, one in mistakes)
    place = first if of_keys else max(inside, key=len)  # of several types, the mistake inside a list or block
    alternatives = [one for there, one in mistakes if there == place and _is_of_key(one) == of_keys]
    of_right_type = [one for one in alternatives if not one["type"].endswith(("_type", "_from_float"))]
    if any(one["type"] != "literal_error" for one in of_right_type):
        alternatives = of_right_type
    value, of_key = alternatives[0]["input"], _is_of_key(alternatives[0])
    key = next((part for part in reversed(place) if isinstance(part, str)), "the configuration")
    expected, got = joined(one for each in alternatives for one in _expectations(each)), shown(value)
    numeric = any(one["type"].startswith(("int", "float")) for one in alternatives)
    if numeric and isinstance(value, str) and re.search("[0-9]", value):
        got += ", which YAML reads as text"  # 1e-3 is text, and 1.0e-3 a number
    elif isinstance(value, int | float) and any(one["type"] == "string_type" for one in alternatives):
        got += ", which is text only in quotes"  # the dataset 2024
    return SettingError(f"{'a key of ' * of_key}{key} must be {expected}, got {got}", _text(place))


def _expectations(error: Any) -> list[str]:
    """Return what was expected, from one of pydantic's errors: a description or several words."""
    if error["type"] == "literal_error":
        return [one.strip("'") for one in re.split(", | or ", error["ctx"]["expected"])]
    context = {
        key: f"{value:.15g}" if isinstance(value, float) else value for key, value in error.get("ctx", {}).items()
    }
    what = "list" if isinstance(error["input"], list) else "block"
    return [EXPECTED[error["type"]].format(**context, what_it_is=what)]


def _sentence(error: Any, place: Place, _: Any) -> SettingError:
    return SettingError(error["ctx"]["said"], _text((*place, *error["ctx"]["at"])))


def _missing(error: Any, place: Place, _: Any) -> SettingError:
    return SettingError(f"the key {error['loc'][-1]!r} is missing", _text(place))


def _missing_tag(error: Any, place: Place, config: Any) -> SettingError:
    known = {name for block in blocks_at(place, config) for name in block.model_fields}
    unknown = [key for key in error["input"] if key not in known]  # perhaps the tag, or like, is misspelt
    said = _unknown(unknown[0], place, config) if unknown else f"the key {error['ctx']['discriminator']} is missing"
    return SettingError(said, _text(place))


def _unknown_tag(error: Any, place: Place, _: Any) -> SettingError:
    key = error["ctx"]["discriminator"].strip("'")
    got = error["input"][key]  # the error itself has it as text
    known = sorted(error["ctx"]["expected_tags"].replace("'", "").split(", "))
    return SettingError(f"{key} must be {one_of(known, got)}, got {shown(got)}", _text((*place, key)))


def _unknown_key(error: Any, place: Place, config: Any) -> SettingError:
    return SettingError(_unknown(error["loc"][-1], place, config), _text(place))


SENTENCES = {  # for types of pydantic's errors that are not about what a value must be, the most helpful type first
    "extra_forbidden": _unknown_key,  # before the missing key that it may be meant for
    "sentence": _sentence,
    "missing": _missing,
    "union_tag_not_found": _missing_tag,
    "union_tag_invalid": _unknown_tag,
}


def _is_of_key(error: Any) -> bool:
    return error["type"] == "invalid_key" or error["loc"][-1:] == ("[key]",)


def _place(error: Any, config: Any) -> Place:
    """Return the place of an error in the configuration, without the names of types that pydantic adds.

    An unknown or missing key, and a key that is not allowed, is a mistake of its block.
    """
    place: list[str | int] = []
    entered = is_key = False
    for part in error["loc"]:
        is_key = part in config if isinstance(config, Mapping) else isinstance(config, list) and isinstance(part, int)
        if entered and part in [config[tag] for tag in TAGS if tag in config]:
            entered = False  # the name of the type that a tag has chosen
        elif is_key:
            place.append(part)
            config = config[part]
            entered = isinstance(config, Mapping)
    is_null = is_key and error["type"] == "missing"  # a key that null has removed
    return tuple(place[:-1] if is_null or error["type"] == "extra_forbidden" or _is_of_key(error) else place)


def _unknown(key: Any, place: Place, config: Any) -> str:
    """Return a sentence about an unknown key of the block at a place: with a similar key, or the names that have it."""
    here = blocks_at(place, config)
    names = {name for block in here for name in block.model_fields} - {"settings"}
    inherits = Final in here or (place[:1] == ("studies",) and len(place) == 2)
    known = sorted(names | {"like"} if inherits else names)
    similar = get_close_matches(str(key), known, n=1)
    listed = f"the keys here are {', '.join(known)}" if known else "no keys are known here"
    if similar:
        return f"unknown key {shown(key)} (did you mean {similar[0]}?); {listed}"
    block = reduce(getitem, place, config)
    for tag in TAGS:
        others = {name for other in blocks_at(place, None) if key in other.model_fields for name in tags_of(other, tag)}
        if tag in block and others:
            return f"{key} has no effect with {tag}: {block[tag]}; it is for {tag}: {joined(sorted(others))}"
    return f"unknown key {shown(key)}; {listed}"


def blocks_at(place: Place, config: Any) -> list[type[Block]]:
    """Return the classes of the block at a place; for all names of a loader, solver and so on if `config` is None."""
    found: list[Any] = [Config]
    for part in place:
        block_types = [one for one in found if isinstance(one, type) and issubclass(one, Block)]
        inside = [one.model_fields[part].annotation for one in block_types if part in one.model_fields]
        inside += [get_args(one)[-1] for one in found if get_origin(one) in (dict, list)]
        config = config[part] if config is not None else None
        found = [one for annotation in inside for one in _alternatives(annotation) if _has_tags(one, config)]
    blocks = [one for one in found if isinstance(one, type) and issubclass(one, Block)]
    return [*blocks, Final] if place[-1:] == ("settings",) else blocks


def _alternatives(annotation: Any) -> list[Any]:
    """Return the types of which a value may have one: the parts of a union, without what is noted beside a type."""
    if get_origin(annotation) is Annotated:
        return _alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [one for part in get_args(annotation) for one in _alternatives(part)]
    return [annotation]


def _has_tags(one: Any, config: Any) -> bool:
    if not (isinstance(config, Mapping) and isinstance(one, type) and issubclass(one, Block)):
        return True
    return all(config[tag] in tags_of(one, tag) for tag in TAGS if tag in config and tags_of(one, tag))


def _text(place: Place) -> str:
    """Return a place as users write it. The block of a study in `final` is not written there."""
    parts = [
        part for before, part in zip((None, *place), place, strict=False) if (before, part) != ("final", "settings")
    ]
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)

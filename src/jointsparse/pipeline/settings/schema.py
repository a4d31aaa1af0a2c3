"""The JSON Schema of config.yaml, with which editors complete and check it."""

from copy import deepcopy
from typing import Any

from jointsparse.pipeline.settings.config import Config
from jointsparse.pipeline.settings.inheritance import OF_FINAL
from jointsparse.pipeline.settings.studies import EXPERIMENTS, Certified, Similarities, Subgradient, WordStudy

URI = "https://json-schema.org/draft/2020-12/schema"
STUDIES = [WordStudy.__name__, *(study.__name__ for study in EXPERIMENTS.values())]
LIKE = "A study from which this study inherits all values that it does not give."
LIKE_OF_FINAL = "A study that gives the settings but does not run."


def of_classes() -> dict[str, Any]:
    """Return the JSON Schema of the classes, with the key `like` and without `Final.settings`; see `written_out`."""
    whole = Config.model_json_schema()
    blocks = {name: block["properties"] for name, block in whole["$defs"].items()}
    for study in STUDIES:
        blocks[study] |= {"like": _text(LIKE)}
    del blocks["Final"]["settings"], whole["$defs"]["Final"]["required"]
    blocks["Final"] |= {"like": _text(LIKE_OF_FINAL)}
    return whole


def _text(description: str) -> dict[str, str]:
    return {"description": description, "type": "string"}


def schema() -> dict[str, Any]:
    """Return the JSON Schema of config.yaml as users write it.

    It is generated from the classes, which describe a configuration in which everything is written out. A user's blocks
    may leave out every key that they inherit, and null removes an inherited value.
    """
    from jointsparse.pipeline.papers.catalogue import FIGURES  # imported here because they load pandas
    from jointsparse.pipeline.papers.verdicts import CLAIMS

    whole = of_classes()
    blocks = {name: block["properties"] for name, block in whole["$defs"].items()}
    for study in STUDIES:
        blocks[study]["figures"]["items"] = {"enum": [*FIGURES]}
        blocks[study]["claims"]["items"] = {"enum": [*CLAIMS]}
    for block in (Certified, Subgradient, Similarities):
        blocks[block.__name__] |= {key: {"anyOf": []} for key in block.REPLACED}  # nothing but null
    blocks["Final"] |= {key: deepcopy(value) for key, value in blocks["WordStudy"].items() if key not in OF_FINAL}
    return {"$schema": URI, "title": "config.yaml"} | _as_users_write(whole)


def _as_users_write(part: Any) -> Any:
    """Change a part of the schema so that all keys may be missing or null, and tags, too: a block fits any class."""
    if isinstance(part, list):
        for inside in part:
            _as_users_write(inside)
    if not isinstance(part, dict):
        return part
    part.pop("required", None)
    part.pop("title", None)
    if part.pop("discriminator", None):
        part["anyOf"] = part.pop("oneOf")
    for inside in part.values():
        _as_users_write(inside)
    for key in ("properties", "patternProperties"):
        if isinstance(part.get(key), dict):
            part[key] = {name: _or_null(value) for name, value in part[key].items()}
    if "patternProperties" in part:
        part["additionalProperties"] = False
    if isinstance(part.get("additionalProperties"), dict):
        part["additionalProperties"] = _or_null(part["additionalProperties"])
    return part


def _or_null(value: dict[str, Any]) -> dict[str, Any]:
    noted: dict[str, Any] = {key: value.pop(key) for key in ("description", "default") if key in value}
    return {**noted, "anyOf": [*(value["anyOf"] if value.keys() == {"anyOf"} else [value]), {"type": "null"}]}

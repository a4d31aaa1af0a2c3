"""Write the page of all keys of config.yaml at each build, from the classes of settings."""

from pathlib import Path
from typing import Any

from jointsparse.pipeline.settings.schema import of_classes

HEAD = """# Keys of config.yaml

All keys with their types and defaults, as the classes in {py:mod}`jointsparse.pipeline.settings` state them. A key
without a default must be given, or inherited: from the study named by `like`, from the study of the same name, or from
the block `features`. The file `config.yaml` that comes with the workflow explains its values line by line.
"""
BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "greater than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}
TYPES = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text", "null": "null"}


def write_settings(folder: Path) -> None:
    """Write settings.md: a section with a table for each block."""
    whole = of_classes()
    sections = [_section("config.yaml", whole), *(_section(name, block) for name, block in whole["$defs"].items())]
    (folder / "settings.md").write_text("\n".join([HEAD, *sections]))


def _section(name: str, block: dict[str, Any]) -> str:
    rows = [
        f"| `{key}` | {_type(value)} | {_default(key, value, block)} | {_text(value)} |"
        for key, value in block["properties"].items()
    ]
    return "\n".join([f"## {name}", "", block["description"], "", *TABLE, *rows, ""])


TABLE = ["| key | value | default | what it sets |", "|---|---|---|---|"]


def _default(key: str, value: dict[str, Any], block: dict[str, Any]) -> str:
    if key in block.get("required", ()):
        return ""
    default = value.get("default")
    return (
        "none"
        if default in (None, "", {}, [])
        else f"`{str(default).lower() if isinstance(default, bool) else default}`"
    )


def _text(value: dict[str, Any]) -> str:
    return " ".join(value.get("description", "").replace("<", "&lt;").split())


def _type(value: dict[str, Any]) -> str:
    """Return a few words about the values that a part of the schema allows."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if several := value.get("anyOf") or value.get("oneOf"):
        return " or ".join(_type(one) for one in several if one.get("type") != "null")
    if "const" in value or "enum" in value:
        return " or ".join(f"`{one}`" for one in value.get("enum", [value.get("const")]))
    if value["type"] == "array":
        return f"list of {_type(value['items'])}"
    if value["type"] == "object":
        inside = [*value.get("patternProperties", {}).values(), value.get("additionalProperties")]
        return f"block of names, each with {_type(next(one for one in inside if one))}"
    bounds = [f"{said} {value[key]:,.16g}" for key, said in BOUNDS.items() if key in value]
    return f"{TYPES[value['type']]}{' ' * bool(bounds)}{', '.join(bounds)}"

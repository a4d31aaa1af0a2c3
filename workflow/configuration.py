"""config.yaml: checked against its schema with one clear line per mistake, merged, and turned into file lists."""

import ast
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from jointsparse.registry import pick, room


class ConfigError(ValueError):
    """A value in config.yaml that must be changed."""


def check(config: dict[str, Any], schema_file: Path) -> None:
    """Raise ConfigError with one line on the first mistake: what was expected, what came, and where."""
    schema = yaml.safe_load(schema_file.read_text())
    _check_schema(config, schema, "")
    dataset_entry(config, config["dataset"])
    _known("features", config["features"]["extractor"], "features.extractor")
    for name, block in config["studies"].items():
        _check_study(block, f"studies.{name}")
    for name, entry in config["datasets"].items():
        _known("datasets", entry["loader"], f"datasets.{name}.loader")
        for study in entry.get("studies", {}):
            where = f"datasets.{name}.studies.{study}"
            block = study_block(config, name, study)
            _check_schema(block, {"$ref": "#/$defs/study", "$defs": schema["$defs"]}, where)
            _check_study(block, where)


def _check_schema(block: dict[str, Any], schema: dict[str, Any], where: str) -> None:
    """Raise ConfigError on the first value that the schema refuses or that is not finite."""
    errors = sorted(
        jsonschema.Draft202012Validator(schema).iter_errors(block), key=lambda error: [str(part) for part in error.path]
    )
    if errors:
        raise ConfigError(_sentence(errors[0], where))
    for path, value in _numbers(block, where):
        if not math.isfinite(value):
            raise ConfigError(f"{path.rpartition('.')[2]} must be finite, got {value} (config.yaml: {path})")


def _numbers(block: Any, where: str) -> Iterator[tuple[str, float]]:
    """Every floating-point number of a block with its path."""
    if isinstance(block, dict):
        for key, value in block.items():
            yield from _numbers(value, f"{where}.{key}".lstrip("."))
    elif isinstance(block, list):
        for i, value in enumerate(block):
            yield from _numbers(value, f"{where}[{i}]")
    elif isinstance(block, float):
        yield where, block


def _check_study(block: dict[str, Any], where: str) -> None:
    """Raise ConfigError where a study names a plug-in that does not exist, or asks for more than there is."""
    _known("solvers", block["training"]["solver"], f"{where}.training.solver")
    for method in block["methods"]:
        loss, dash, norm = method.partition("-")
        if not dash:
            raise ConfigError(f"a method must be named loss-norm, got {method!r} (config.yaml: {where}.methods)")
        if method != "svm-l2":
            _known("losses", loss, f"{where}.methods")
            _known("norms", norm, f"{where}.methods")
    words = block["words"]
    if words["n_validation_words"] >= words["n_words"]:
        raise ConfigError(
            f"n_validation_words must be less than n_words = {words['n_words']}, "
            f"got {words['n_validation_words']} (config.yaml: {where}.words)"
        )


def _known(room_name: str, plug_in: str, where: str) -> None:
    try:
        pick(room_name, plug_in)
    except ValueError as error:
        raise ConfigError(f"{error} (config.yaml: {where})") from None


def _sentence(error: jsonschema.ValidationError, inside: str) -> str:
    """One line for one schema error: where, what the key is for, what came."""
    where = inside + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.path)
    place = f"(config.yaml: {where.lstrip('.') or 'top level'})"
    if error.validator == "additionalProperties":
        known = set(error.schema.get("properties", {}))
        unknown = sorted(set(error.instance) - known)
        return f"unknown key {unknown[0]!r}; the keys here are {', '.join(sorted(known))} {place}"
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return f"the key {missing[0]!r} is missing {place}"
    got = repr(error.instance)
    expected = {
        "type": f"of type {error.validator_value}",
        "minLength": "not empty",
        "minimum": f"at least {error.validator_value}",
        "maximum": f"at most {error.validator_value}",
        "exclusiveMinimum": f"greater than {error.validator_value}",
        "exclusiveMaximum": f"less than {error.validator_value}",
        "enum": f"one of {error.validator_value}",
        "minItems": f"a list of at least {error.validator_value}",
        "uniqueItems": "a list without repetitions",
    }.get(error.validator, error.message)
    key = next((part for part in reversed(error.path) if isinstance(part, str)), "the configuration")
    return f"{key} must be {expected}, got {got[:80]} {place}"


def merged(block: dict[str, Any], replacing: dict[str, Any]) -> dict[str, Any]:
    """A block with some values replaced; blocks inside are merged, everything else is taken whole."""
    result = dict(block)
    for key, value in replacing.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


def dataset_entry(config: dict[str, Any], name: str) -> dict[str, Any]:
    """A dataset's entry, its options and studies filled in where it has none."""
    if name not in config["datasets"]:
        raise ConfigError(
            f"dataset must be one of {', '.join(config['datasets'])}, got {name!r} (config.yaml: dataset)"
        )
    return {"options": {}, "studies": {}} | config["datasets"][name]


def study_block(config: dict[str, Any], dataset: str, study: str) -> dict[str, Any]:
    """A study's block, with what a dataset's entry replaces in it."""
    if study not in config["studies"]:
        raise ConfigError(f"study must be one of {', '.join(config['studies'])}, got {study!r} (config.yaml: studies)")
    return merged(config["studies"][study], dataset_entry(config, dataset)["studies"].get(study, {}))


def names_of(room_name: str) -> list[str]:
    """The plug-ins that exist."""
    return sorted(room(room_name))


def raw_files(config: dict[str, Any], dataset: str) -> list[str]:
    """What a dataset is read from: its folder of images and the tables beside it; nothing for a composed one."""
    options = dataset_entry(config, dataset)["options"]
    if "root" not in options:
        return []
    root = Path(options["root"])
    if not (root / "images").is_dir():
        raise ConfigError(
            f"root must be a folder that holds a folder 'images', got {str(root)!r}: put the data there, link it, or "
            f"name another (config.yaml: datasets.{dataset}.options.root)"
        )
    return [str(root / "images"), *map(str, sorted(root.glob("*.csv")))]


def library_files(package: Path, *files: str) -> list[str]:
    """Paths of library files ("sweep", "norms/l1inf") and of all files of the library that these import in turn.

    The dictionaries of the rooms are not followed: which plug-in a stage uses is said by the rule.
    """
    todo, found = list(files), set()
    while todo:
        file = todo.pop()
        path = package / f"{file}.py"
        if file not in found and path.exists():
            found.add(file)
            todo += _imported(path)
    return [str(package / f"{file}.py") for file in sorted(found)]


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name.removeprefix("jointsparse.").replace(".", "/") for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "jointsparse":
            base = node.module.removeprefix("jointsparse").removeprefix(".").replace(".", "/")
            yield from [base, *(f"{base}/{name.name}".lstrip("/") for name in node.names)]

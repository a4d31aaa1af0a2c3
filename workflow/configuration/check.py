"""config.yaml against its schema, and what a schema cannot say: one clear line per mistake."""

import math
import re
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from textwrap import shorten
from typing import Any

import jsonschema
import yaml

from configuration.file import LARGEST, ConfigError, one_of, place
from configuration.studies import (
    WORDS,
    chosen_datasets,
    dataset_entry,
    kinds_for,
    makers_of,
    names_of,
    offers,
    study_block,
    tables_of,
)
from jointsparse.datasets.folder import read_folder
from jointsparse.datasets.splits import require_fractions
from jointsparse.learning import sweep
from jointsparse.papers.catalogue import FIGURES
from jointsparse.papers.claims import CLAIMS
from jointsparse.registry import pick

TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a block of keys",
}


def _is_integer(_: jsonschema.TypeChecker, value: Any) -> bool:
    """Whole numbers count, file names and array sizes are made of them; 10.0 is none."""
    return isinstance(value, int) and not isinstance(value, bool)


MARKUP = re.compile("</|<!")  # Snakemake's report copies settings into its page unescaped

# Folders of the results beside those of datasets, and of a dataset beside those of its studies.
DATASET_NAMES = {"claims"}

STUDY_NAMES = {"descriptors", "logs", "timings", "vocabularies"}

Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


def check(config: dict[str, Any], schema_file: Path) -> None:
    """Raise ConfigError with one line on the first mistake: what was expected, what came, and where."""
    schema = yaml.safe_load(schema_file.read_text())
    _check_schema(config, schema, "")
    for name in chosen_datasets(config):
        dataset_entry(config, name)
    for names, taken in ((config["datasets"], DATASET_NAMES), (config["studies"], STUDY_NAMES)):
        for name in taken & set(names):
            raise ConfigError(f"{name!r} is a folder of the results: choose another name {place(name)}")
    _known("extractor", "features", config["features"]["extractor"], "features.extractor")
    for name, block in config["studies"].items():
        _check_study(config, block, schema, f"studies.{name}")
    for name, entry in config["datasets"].items():
        _check_loader(entry["loader"], entry.get("options", {}), f"datasets.{name}")
        for study in entry["studies"]:
            where = f"datasets.{name}.studies.{study}"
            if study not in config["studies"]:
                raise ConfigError(one_of("a study", config["studies"], study, f"datasets.{name}.studies"))
            block = study_block(config, name, study)
            _check_study(config, block, schema, where)
            _check_kind(block, entry["loader"], where)


def _check_schema(block: dict[str, Any], schema: dict[str, Any], where: str) -> None:
    """Raise ConfigError on the first key that is no text, and value that the schema refuses or that is not finite."""
    for path, key in _keys(block, where):
        if not isinstance(key, str):
            raise ConfigError(f"a key must be text, got {key!r}: put it in quotes {place(path)}")
    errors = sorted(Validator(schema).iter_errors(block), key=lambda error: [str(part) for part in error.path])
    if errors:
        raise ConfigError(_sentence(errors[0], where))
    for path, value in _values(block, where):
        key = path.rpartition(".")[2].partition("[")[0]
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(f"{key} must be finite, got {value} {place(path)}")
        if isinstance(value, int) and abs(value) >= LARGEST:
            raise ConfigError(f"{key} must be below {LARGEST}, got some 1e{int(math.log10(abs(value)))} {place(path)}")
        if isinstance(value, str) and MARKUP.search(value):
            raise ConfigError(f"{key} must not hold </ or <!, which ends a report's script {place(path)}")


def _keys(block: Any, where: str) -> Iterator[tuple[str, Any]]:
    """Every key of a block and of the blocks inside, with the path of the block it stands in."""
    if isinstance(block, dict):
        for key, value in block.items():
            yield where, key
            yield from _keys(value, f"{where}.{key}".lstrip("."))


def _values(block: Any, where: str) -> Iterator[tuple[str, Any]]:
    """Every value of a block that is neither a block nor a list, with its path."""
    if isinstance(block, dict):
        for key, value in block.items():
            yield from _values(value, f"{where}.{key}".lstrip("."))
    elif isinstance(block, list):
        for i, value in enumerate(block):
            yield from _values(value, f"{where}[{i}]")
    else:
        yield where, block


def _check_loader(loader: str, options: dict[str, Any], where: str) -> None:
    """Raise ConfigError where a loader does not exist, lacks an option or has no such option."""
    _known("loader", "datasets", loader, f"{where}.loader")
    read = getattr(pick("datasets", loader), "read", lambda: None)  # synthetic tasks are drawn by their study
    sides = {"smallest_side": 1, "longest_side": 1} if offers(loader) == "pictures" else {}
    try:
        call = signature(read).bind(**options, **sides)
        if "options" in call.arguments:  # photos and scenes pass these on
            signature(read_folder).bind("root", None, **call.arguments["options"])
    except TypeError as error:
        raise ConfigError(f"options must fit the loader {loader}: {error} {place(f'{where}.options')}") from None
    try:
        require_fractions(options.get("fractions", {"train": 1}))
    except ValueError as error:
        raise ConfigError(f"{error} {place(f'{where}.options.fractions')}") from None


def _check_study(config: dict[str, Any], block: dict[str, Any], schema: dict[str, Any], where: str) -> None:
    """Raise ConfigError where a study does not fit its kind, names what does not exist or contradicts itself."""
    _check_schema(block, schema["properties"]["studies"]["additionalProperties"], where)
    kinds = [WORDS, *names_of("experiments")]
    if block["kind"] not in kinds:
        raise ConfigError(one_of("kind", kinds, block["kind"], f"{where}.kind"))
    if "kind" not in schema["$defs"].get(block["kind"], {}).get("properties", {}):
        raise ConfigError(f"the kind {block['kind']!r} has no block in $defs of config.schema.yaml {place(where)}")
    _check_schema(block, {"$ref": f"#/$defs/{block['kind']}", "$defs": schema["$defs"]}, where)
    if block["kind"] == WORDS:
        _check_words_study(config, block, where)
    made = tables_of(block)
    figures = {name: {figure.table} for name, figure in FIGURES.items()}
    claims = {name: {claim.tables[0], claim.instead} - {""} for name, claim in CLAIMS.items()}
    for key, tables in (("figures", figures), ("claims", claims)):
        for i, name in enumerate(block[key]):
            at = f"{where}.{key}[{i}]"
            if name not in tables:
                raise ConfigError(one_of(key, tables, name, at))
            if not tables[name] & set(made):
                needed = " or ".join(f"{table!r}{_what_makes(table)}" for table in sorted(tables[name]))
                raise ConfigError(f"{name} needs the table {needed}, which this study lacks {place(at)}")


def _what_makes(table: str) -> str:
    """Kind or key that makes a table that not every study has, in brackets."""
    if table == "path":
        return " (the key 'path' makes it)"
    if table in ("differences", "significance"):
        return " (it takes two methods)"
    kinds = makers_of(table)
    return f" (kind: {' or '.join(kinds)} makes it)" if kinds else ""


def _check_words_study(config: dict[str, Any], block: dict[str, Any], where: str) -> None:
    solver = block["training"]["solver"]
    _known("solver", "solvers", solver, f"{where}.training.solver")
    takes = pick("solvers", solver).TAKES
    if "tol" in block["training"] and not pick("solvers", solver).STOPS_AT_TOL:
        raise ConfigError(
            f"tol is not for the solver {solver}, which does all its iterations {place(f'{where}.training.tol')}"
        )
    for method in block["methods"]:
        at = f"{where}.methods.{method}"
        loss, dash, norm = method.partition("-")
        if not dash:
            raise ConfigError(f"a method must be named loss-norm or svm-l2, got {method!r} {place(at)}")
        if method != "svm-l2":
            _known("loss", "losses", loss, at)
            _known("norm", "norms", norm, at)
            if "eta0" in takes and "eta0" not in block["methods"][method]:
                raise ConfigError(f"the key 'eta0' is missing, which the solver {solver} needs {place(at)}")
    n_words, n_validation_words = block["words"]["n_words"], block["words"]["n_validation_words"]
    if n_validation_words >= n_words:
        raise ConfigError(
            f"n_validation_words must be less than n_words = {n_words}, got {n_validation_words} "
            f"{place(f'{where}.words.n_validation_words')}"
        )
    if block.get("basis") and block.get("similarities"):
        raise ConfigError(f"a study must have a basis or similarities, got both (set one to null) {place(where)}")
    if "vocabulary" in block and block["vocabulary"] not in config["features"]["vocabularies"]:
        known = config["features"]["vocabularies"]
        raise ConfigError(one_of("vocabulary", known, block["vocabulary"], f"{where}.vocabulary"))
    if block.get("at_size", block["sizes"][0]) not in block["sizes"]:
        raise ConfigError(one_of("at_size", map(str, block["sizes"]), block["at_size"], f"{where}.at_size"))
    for i, method in enumerate((block.get("path") or {}).get("methods", [])):
        trained = [name for name in block["methods"] if name != "svm-l2"]
        if method not in trained:
            raise ConfigError(one_of("methods", trained, method, f"{where}.path.methods[{i}]"))
        ends = {key: block["path"][key] for key in ("n_radii", "lowest", "highest")}
        try:
            sweep.spaced(block["methods"][method]["radius"], **ends)
        except ValueError as error:
            raise ConfigError(f"{error} {place(f'{where}.path')}") from None


def _check_kind(block: dict[str, Any], loader: str, where: str) -> None:
    """Raise ConfigError where a dataset cannot serve a study."""
    served = kinds_for(loader)
    if block["kind"] not in served:
        raise ConfigError(
            f"kind must be {' or '.join(served)} for the loader {loader}, got {block['kind']!r} {place(where)}"
        )
    if offers(loader) == "pictures" and "vocabulary" not in block:
        raise ConfigError(f"the key 'vocabulary' is missing, which pictures need {place(where)}")


def _known(key: str, room_name: str, plug_in: str, where: str) -> None:
    """Raise ConfigError where a room has no such plug-in."""
    if plug_in not in names_of(room_name):
        raise ConfigError(one_of(key, names_of(room_name), plug_in, where))


def _sentence(error: jsonschema.ValidationError, inside: str) -> str:
    """One line for one schema error: what was expected, what came, where."""
    where = inside + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.path)
    if error.validator == "additionalProperties":
        known = set(error.schema.get("properties", {}))
        unknown = sorted(set(error.instance) - known)
        return f"unknown key {unknown[0]!r}; the keys here are {', '.join(sorted(known))} {place(where)}"
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return f"the key {missing[0]!r} is missing {place(where)}"
    key = next((part for part in reversed(error.path) if isinstance(part, str)), "the configuration")
    if error.validator == "enum":
        return one_of(key, error.validator_value, error.instance, where)
    expected = {
        "type": " or ".join(TYPES[kind] for kind in _types(error) if kind in TYPES),
        "minLength": "not empty",
        "minimum": f"at least {error.validator_value}",
        "maximum": f"at most {error.validator_value}",
        "exclusiveMinimum": f"greater than {error.validator_value}",
        "exclusiveMaximum": f"less than {error.validator_value}",
        "minItems": f"a list of at least {error.validator_value}",
        "minProperties": f"a block of at least {error.validator_value} entry",
        "uniqueItems": "a list without repetitions",
        "anyOf": "a whole number of at least 1 or full",
        "pattern": "named with letters, digits, - and _",
    }.get(error.validator, error.message)
    got = "nothing" if error.instance is None else shorten(repr(error.instance), 80, placeholder=" …")
    if error.validator == "type" and isinstance(error.instance, str):
        got += ", which YAML reads as text"  # as it does 1e-3, but not 1.0e-3
    return f"{key} must be {expected}, got {got} {place(where)}"


def _types(error: jsonschema.ValidationError) -> list[str]:
    """The types that a value may have, where that is what is wrong."""
    if error.validator != "type":
        return []
    return error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]

"""config.yaml against its schema, and what a schema cannot say: one clear line per mistake."""

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import shorten
from typing import Any

import jsonschema
import yaml

from configuration.file import ConfigError, one_of, place, require, require_known
from configuration.studies import (
    AUTO,
    WORDS,
    chosen_datasets,
    dataset_entry,
    features_block,
    full_block,
    kinds_for,
    makers_of,
    names_of,
    offers,
    study_block,
    tables_of,
)
from jointsparse.datasets.splits import require_fractions
from jointsparse.papers.catalogue import FIGURES
from jointsparse.papers.verdicts import CLAIMS
from jointsparse.registry import pick

SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the compiled one where there is one

TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a block of keys",
}
EXPECTED = {  # by keyword of the schema, whose value takes the place of {}
    "minLength": "not empty",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "greater than {}",
    "exclusiveMaximum": "less than {}",
    "minItems": "a list of at least {}",
    "minProperties": "a block of at least {} entry",
    "uniqueItems": "a list without repetitions",
    "const": "{}",
    "pattern": "named with 1 to 100 letters, digits, - and _",
}
MARKUP = re.compile("</|<!")  # Snakemake's report copies settings into its page unescaped

# Folders of the results beside those of datasets, and of a dataset beside those of its studies.
DATASET_NAMES = {"claims", "kernels", "logs", "records", "timings"}
STUDY_NAMES = {"descriptors", "logs", "records", "timings", "vocabularies"}


def _is_integer(_: jsonschema.TypeChecker, value: Any) -> bool:
    """True for a whole number that is written as one: file names and array sizes are made of it."""
    return isinstance(value, int) and not isinstance(value, bool)


Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


def check(config: dict[str, Any], schema_file: Path) -> None:
    """Raise ConfigError with one line on the first mistake: what was expected, what came, and where."""
    schema = SafeLoader(schema_file.read_text(encoding="utf-8")).get_single_data()
    _check_schema(config, schema, "")
    for name in chosen_datasets(config):
        dataset_entry(config, name)
    _check_folders(config["datasets"], DATASET_NAMES, "datasets")
    _check_folders(config["studies"], STUDY_NAMES, "studies")
    _check_folders(config["features"]["vocabularies"], set(), "features.vocabularies")
    require_known("extractor", names_of("features"), config["features"]["extractor"], "features.extractor")
    for name in config["studies"]:
        _check_study(config, full_block(config, name), schema, f"studies.{name}")
    for name, entry in config["datasets"].items():
        _check_loader(entry["loader"], entry.get("options", {}), f"datasets.{name}")
        if "features" in entry:
            where, features = f"datasets.{name}.features", features_block(config, name)
            _check_schema(features, schema["properties"]["features"] | {"$defs": schema["$defs"]}, where)
            require_known("extractor", names_of("features"), features["extractor"], f"{where}.extractor")
        for study in entry["studies"]:
            where = f"datasets.{name}.studies.{study}"
            require_known("a study", config["studies"], study, f"datasets.{name}.studies")
            block = study_block(config, name, study)
            _check_study(config | {"features": features_block(config, name)}, block, schema, where)
            _check_kind(block, entry["loader"], where)


def _check_folders(names: Iterable[str], taken: set[str], where: str) -> None:
    """Raise ConfigError if two names are one folder of the results on a disk that takes upper and lower case as one."""
    folders = set(taken)
    for name in names:
        said = f"{name!r} is a folder of the results already, in upper or lower case: choose another name"
        require(name.casefold() not in folders, said, f"{where}.{name}")
        folders.add(name.casefold())


def _check_schema(block: dict[str, Any], schema: dict[str, Any], where: str) -> None:
    """Raise ConfigError on the first key that is not text, and on the first value that is refused."""
    inside = list(_walk(block, where))
    for path, value in inside:
        for key in value if isinstance(value, dict) else ():
            require(isinstance(key, str), f"a key must be text, got {key!r}: put it in quotes", path)
    errors = sorted(Validator(schema).iter_errors(block), key=lambda error: [str(part) for part in error.path])
    if errors:
        raise ConfigError(_sentence(errors[0], where))
    for path, value in inside:
        key = path.rpartition(".")[2].partition("[")[0]
        if isinstance(value, float):
            require(math.isfinite(value), f"{key} must be finite, got {value}", path)
        if isinstance(value, str):
            require(not MARKUP.search(value), f"{key} must not hold </ or <!, which ends a report's script", path)


def _walk(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """A value and all values inside it, blocks and lists included, each with its path."""
    yield path, value
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from _walk(inside, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list):
        for i, inside in enumerate(value):
            yield from _walk(inside, f"{path}[{i}]")


def _check_loader(loader: str, options: dict[str, Any], where: str) -> None:
    """Raise ConfigError if a loader does not exist, lacks an option or does not take one."""
    require_known("loader", names_of("datasets"), loader, f"{where}.loader")
    plug_in = pick("datasets", loader)
    takes = ", ".join(sorted(plug_in.TAKES)) or "none"
    for option, value in options.items():
        require(
            option in plug_in.TAKES,
            f"the loader {loader} has no option {option!r}; its options are {takes}",
            f"{where}.options",
        )
        require(
            not (isinstance(value, str) and set("{}") & set(value)),
            f"{option} must be without braces, which Snakemake takes for wildcards, got {value!r}: rename or link it",
            f"{where}.options.{option}",
        )
    for option in plug_in.NEEDS:
        require(
            option in options,
            f"the option {option!r} is missing, which the loader {loader} needs",
            f"{where}.options",
        )
    try:
        require_fractions(options.get("fractions", {"train": 1}))
    except ValueError as error:
        raise ConfigError(f"{error} {place(f'{where}.options.fractions')}") from None


def _check_study(config: dict[str, Any], block: dict[str, Any], schema: dict[str, Any], where: str) -> None:
    """Raise ConfigError if a study does not fit its kind, names something unknown or contradicts itself."""
    _check_schema(block, schema["properties"]["studies"]["additionalProperties"], where)
    kind, kinds = block["kind"], [WORDS, *names_of("experiments")]
    require_known("kind", kinds, kind, f"{where}.kind")
    require(
        kind in schema["$defs"]["kinds"],
        f"the kind {kind!r} has no block in $defs/kinds of config.schema.yaml",
        where,
    )
    _check_schema(block, {"$ref": f"#/$defs/kinds/{kind}", "$defs": schema["$defs"]}, where)
    if kind == WORDS:
        _check_words_study(config, block, where)
    made = set(tables_of(block))
    figures = {name: {figure.table} for name, figure in FIGURES.items()}
    claims = {name: {part.table for part in (claim, *claim.more)} for name, claim in CLAIMS.items()}
    for key, tables in (("figures", figures), ("claims", claims)):
        for i, name in enumerate(block[key]):
            at = f"{where}.{key}[{i}]"
            require_known(key, tables, name, at)
            needed = " or ".join(f"{table!r}{_what_makes(table)}" for table in sorted(tables[name]))
            require(tables[name] & made, f"{name} needs the table {needed}, which this study lacks", at)


def _what_makes(table: str) -> str:
    """The kind or key that makes a table, in brackets; nothing for a table that every study has."""
    if table in ("differences", "significance"):
        return " (it takes two methods)"
    kinds = makers_of(table)
    return f" (kind: {' or '.join(kinds)} makes it)" if kinds else ""


def _check_words_study(config: dict[str, Any], block: dict[str, Any], where: str) -> None:
    """Raise ConfigError if a study of words names something unknown or contradicts itself."""
    _check_methods(block, where)
    n_words, n_validation_words = block["words"]["n_words"], block["words"]["n_validation_words"]
    most = "auto where n_words is" if n_words == AUTO else f"less than n_words = {n_words}"
    require(
        n_validation_words == AUTO or (n_words != AUTO and n_validation_words < n_words),
        f"n_validation_words must be {most}, got {n_validation_words}",
        f"{where}.words.n_validation_words",
    )
    require(
        not (block.get("basis") and block.get("similarities")),
        "a study must have a basis or similarities, got both (set one to null)",
        where,
    )
    if "vocabulary" in block:
        require_known("vocabulary", config["features"]["vocabularies"], block["vocabulary"], f"{where}.vocabulary")
    if block["sizes"] != AUTO:
        require_known("at_size", block["sizes"], block.get("at_size", block["sizes"][0]), f"{where}.at_size")


def _check_methods(block: dict[str, Any], where: str) -> None:
    """Raise ConfigError if methods, their grids or their path do not fit the solver."""
    name = block["training"]["solver"]
    require_known("solver", names_of("solvers"), name, f"{where}.training.solver")
    solver = pick("solvers", name)
    require(
        solver.STOPS_AT_TOL or "tol" not in block["training"],
        f"tol is not for the solver {name}, which does all its iterations",
        f"{where}.training.tol",
    )
    require(
        "eta0" in solver.TAKES or "eta0_unit" not in block["training"],
        f"eta0_unit is not for the solver {name}, which takes no eta0",
        f"{where}.training.eta0_unit",
    )
    trained = {method: grid for method, grid in block["methods"].items() if method != "svm-l2"}
    for method, grid in trained.items():
        at = f"{where}.methods.{method}"
        loss, dash, norm = method.partition("-")
        require(dash, f"a method must be named loss-norm or svm-l2, got {method!r}", at)
        require_known("loss", names_of("losses"), loss, at)
        require_known("norm", names_of("norms"), norm, at)
        for key in solver.TAKES:
            require(key in grid, f"the key {key!r} is missing, which the solver {name} needs", at)
        if grid["radius"] == AUTO:
            require(
                "tol" in block["training"],
                f"radius: {AUTO} needs a solver that stops at a gap, and tol",
                f"{at}.radius",
            )


def _check_kind(block: dict[str, Any], loader: str, where: str) -> None:
    """Raise ConfigError if a dataset cannot serve a study."""
    kind, served = block["kind"], kinds_for(loader)
    require(kind in served, f"kind must be {' or '.join(served)} for the loader {loader}, got {kind!r}", where)
    require(
        "vocabulary" in block or offers(loader) != "pictures",
        "the key 'vocabulary' is missing, which pictures need",
        where,
    )


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
    got = "nothing" if error.instance is None else shorten(repr(error.instance), 80, placeholder=" …")
    if error.validator == "type" and isinstance(error.instance, str):
        got += ", which YAML reads as text"  # as it does 1e-3, but not 1.0e-3
    return f"{key} must be {_expected(error)}, got {got} {place(where)}"


def _expected(error: jsonschema.ValidationError) -> str:
    """The demand of a schema, in words."""
    asked = error.validator_value
    if error.validator == "anyOf":
        return " or ".join(map(_expected, error.context))
    if error.validator == "type":
        types = [asked] if isinstance(asked, str) else asked
        return " or ".join(TYPES[one] for one in types if one in TYPES)
    expected = EXPECTED.get(error.validator)
    return expected.format(asked) if expected else str(error.message)

"""Checks of config.yaml, by its schema and beyond what a schema can express. Each mistake is reported in one line."""

import math
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from textwrap import shorten
from typing import Any

import jsonschema
import yaml

from configuration.file import one_of, require, require_known
from configuration.studies import (
    AUTO,
    OF_FINAL,
    WORDS,
    chosen_datasets,
    datasets_of,
    final_norms,
    full_block,
    names_of,
    tables_of,
    without,
)
from jointsparse.pipeline.papers.catalogue import FIGURES
from jointsparse.pipeline.papers.verdicts import CLAIMS
from jointsparse.registry import pick

MARKUP = re.compile("</|<!")  # Snakemake's report copies settings into its page unescaped
TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a finite number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a block of keys",
}
EXPECTED = {  # by schema keyword; {} is replaced by the keyword's value
    "minLength": "a text that is not empty",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "greater than {}",
    "exclusiveMaximum": "less than {}",
    "minItems": "a list with {} or more entries",
    "minProperties": "a block with {} or more entries",
    "uniqueItems": "a list without duplicates",
    "const": "{}",
    "pattern": "named with 1 to 100 letters, digits, - and _",
    "markup": "free of </ and <!, which would end a script in the report",
}
MIN_LENGTH = 3  # the default of words.min_length, accepted even where it has no effect
# Names that datasets and studies must not have, because results/ or the folder of a dataset has folders of these names.
TAKEN = {"claims", "descriptors", "embeddings", "final", "histograms", "logs", "records", "timings"}


def check(config: dict[str, Any], schema_file: Path) -> None:
    """Raise ConfigError for the first mistake, in one line that says what was expected, what was given, and where."""
    schema = _schema(schema_file)
    _check_schema(schema, "#", config, "")
    for name in chosen_datasets(config):
        require_known("dataset", config["datasets"], name, "dataset")
    _check_folders(config["datasets"], "datasets")
    _check_folders(config["studies"], "studies")
    _check_folders(config["features"]["vocabularies"], "features.vocabularies")
    _check_extractor(config["features"], config["features"]["extractor"], "features")
    for name in config["studies"]:
        block, where = full_block(config, name), f"studies.{name}"
        _check_study(schema, block, config["features"], where)
        _check_nulls(schema, f"#/$defs/kinds/{block['kind']}", block, config["studies"][name], where)
        _check_idle(config["studies"][name], _idle_in_study(block), where)
    for name, own in config["datasets"].items():
        _check_final(own, f"datasets.{name}.final")
    for name, entry in datasets_of(config).items():
        own, where = config["datasets"][name], f"datasets.{name}"
        _check_options(entry["loader"], entry["options"], f"{where}.options")
        _check_schema(schema, "#/properties/features", entry["features"], f"{where}.features")
        _check_nulls(schema, "#/properties/features", entry["features"], own.get("features", {}), f"{where}.features")
        _check_extractor(own.get("features", {}), entry["features"]["extractor"], f"{where}.features")
        for study, block in entry["studies"].items():
            where = f"datasets.{name}.studies.{study}"
            _check_study(schema, block, entry["features"], where)
            replacing = own.get("studies", {}).get(study, {})
            _check_nulls(schema, f"#/$defs/kinds/{block['kind']}", block, replacing, where)
            _check_kind(block, entry["loader"], where)
        for block in entry["settings"].values():
            where = f"datasets.{name}.final"
            _check_study(schema, block, entry["features"], where)
            replacing = without(own.get("final", {}), *OF_FINAL)
            _check_nulls(schema, f"#/$defs/kinds/{block['kind']}", block, replacing, where)
            _check_kind(block, entry["loader"], where)
        _check_idle(own, _idle_in_dataset(entry), f"datasets.{name}")
        if "final" in entry:
            _check_learns(entry, own.get("final", {}), f"datasets.{name}.final")
    _check_compare(config)


def _check_final(own: dict[str, Any], where: str) -> None:
    """Raise ConfigError if a block `final` contains `study` and also keys that have no effect together with it."""
    final = own.get("final", {})
    idle = [key for key in final if key not in OF_FINAL or key == "like"] if "study" in final else []
    advice = "write it into the study, or replace study by like, which takes the settings without running the study"
    require(not idle, f"{''.join(idle[:1])} has no effect beside study: {advice}", where)


def _check_learns(entry: dict[str, Any], own: dict[str, Any], where: str) -> None:
    """Raise ConfigError unless a final fit can use the study that is named in the block `final`."""
    study = entry["final"]["study"]
    able = [
        name
        for name, block in (entry["studies"] | entry["settings"]).items()
        if block["kind"] == WORDS and not block.get("similarities")
    ]
    if "study" in own:
        known = ", ".join(able) or "the dataset's studies of words, and there are none"
        advice = f"write like: {study} to take only its settings"
        require(study in able, f"study must be one of {known}, got {study!r}: {advice}", f"{where}.study")
    require(study in able, f"like must be a study of words without similarities, got {study!r}", f"{where}.like")
    norm = final_norms(entry)[0]
    selects = entry["final"]["norm"] == AUTO or pick("norms", norm).SPARSE
    said = f"stability has no effect with the norm {norm}, which uses all features: save a model with another norm"
    require(selects or "stability" not in entry["final"], said, f"{where}.stability")


def _check_compare(config: dict[str, Any]) -> None:
    """Raise ConfigError if `compare` is set but adds no study to the studies of the chosen datasets."""
    more, run = datasets_of(config | {"compare": False}), chosen_datasets(config)
    require(
        not config.get("compare") or any(more[name]["settings"] for name in run),
        f"compare adds the study named by final.like, and {', '.join(run)} has none: take compare away",
        "compare",
    )


def _check_kind(block: dict[str, Any], loader: str, where: str) -> None:
    kind, offered = block["kind"], pick("datasets", loader).OFFERS
    served = [
        *([WORDS] if offered != "drawn" else []),
        *(name for name in names_of("experiments") if offered == pick("experiments", name).SERVES),
    ]
    require(kind in served, f"kind must be {' or '.join(served)} for the loader {loader}, got {kind!r}", where)
    has_vocabulary = "vocabulary" in block or offered != "pictures"
    require(has_vocabulary, "the key 'vocabulary' is missing; studies of pictures need it", where)


def _check_folders(names: Iterable[str], where: str) -> None:
    """Raise ConfigError if two names would share a results folder on a file system that ignores case."""
    folders = [name.casefold() for name in (*names, *TAKEN)]
    for name in reversed(list(names)):
        require(
            folders.count(name.casefold()) == 1,
            f"{name!r} is already the name of a results folder, apart from upper and lower case: choose another name",
            f"{where}.{name}",
        )


def _check_extractor(own: dict[str, Any], extractor: str, where: str) -> None:
    """Raise ConfigError if a block `features`, given as `own`, has options that its extractor does not take."""
    takes = pick("features", extractor).TAKES
    for option in own.get("options", {}):
        require(
            option in takes,
            f"the extractor {extractor} has no option {option!r}; its options are {', '.join(sorted(takes))}",
            f"{where}.options",
        )


def _check_idle(own: dict[str, Any], idle: Iterable[tuple[str, str]], where: str) -> None:
    """Raise ConfigError if a block itself contains a setting without effect. Inherited settings are accepted.

    idle: for each setting without effect, its path in the block, and the change that would give it an effect.
    """
    for path, advice in idle:
        value: Any = own
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        require(value is None, f"{path.rpartition('.')[2]} has no effect here: {advice}", f"{where}.{path}")


def _idle_in_dataset(entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the settings without effect in a dataset's entry, each with the change that would give it an effect."""
    offered = pick("datasets", entry["loader"]).OFFERS
    if offered != "pictures":
        for_pictures = f"it is for datasets of pictures, and the loader {entry['loader']} reads none"
        yield from ((key, for_pictures) for key in ("features", "shards"))
        yield from ((f"studies.{study}.vocabulary", for_pictures) for study in entry["studies"])
        yield "final.vocabulary", for_pictures
    if offered == "drawn":
        yield "most_samples", f"studies of the loader {entry['loader']} draw their own samples"
    used = {block.get("vocabulary") for kind in ("studies", "settings") for block in entry[kind].values()}
    for name in entry["features"]["vocabularies"]:
        if name not in used:
            yield f"features.vocabularies.{name}", f"no study of this dataset has vocabulary: {name}"
    for block in entry["settings"].values():
        yield from ((f"final.{path}", advice) for path, advice in _idle_in_study(block))
    for study, block in entry["studies"].items():
        yield from ((f"studies.{study}.{path}", advice) for path, advice in _idle_in_study(block))
        methods = block["methods"].keys() if block["kind"] == WORDS else ()
        if methods == {"svm-l2"}:
            yield f"studies.{study}.training", "it is for methods named loss-norm, and this study has only svm-l2"
        if len(methods) == 1:
            for key in block["tests"]:
                if key != "n_resamples" or entry.get("final", {}).get("study") != study:  # a final fit resamples, too
                    yield f"studies.{study}.tests.{key}", "it compares methods, and this study has only one"


def _idle_in_study(block: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the optional settings without effect in a study, each with the change that would give it an effect."""
    if block["kind"] == WORDS:
        norms = [norm for norm in names_of("norms") if pick("norms", norm).SPARSE]
        on_paths = {
            method.rpartition("-")[2] for method, grid in block["methods"].items() if grid.get("radius") == AUTO
        }
        if not on_paths.intersection(norms):
            advice = f"it is for radius: {AUTO} with a norm that leaves features out ({', '.join(norms)})"
            yield "training.sparsest", advice
        if not block["words"].get("split_captions", True) and block["words"].get("min_length") != MIN_LENGTH:
            yield "words.min_length", "labels may have any length unless split_captions is true"


def _check_options(loader: str, options: dict[str, Any], where: str) -> None:
    plug_in = pick("datasets", loader)
    for option, value in options.items():
        takes = ", ".join(sorted(plug_in.TAKES)) or "none"
        require(
            option in plug_in.TAKES, f"the loader {loader} has no option {option!r}; its options are {takes}", where
        )
        require(
            not (isinstance(value, str) and set("{}") & set(value)),
            f"{option} must not contain braces, which Snakemake reads as wildcards, got {value!r}: "
            "rename the file or link to it",
            f"{where}.{option}",
        )
    if plug_in.OFFERS == "samples" and "root" in plug_in.TAKES:
        for option, other in plug_in.ONLY_WITH.items():
            holds = option not in options or other in options
            require(holds, f"{option} has no effect without {other}: give both or neither", f"{where}.{option}")
        for option, other in plug_in.ONLY_WITHOUT.items():
            holds = option not in options or other not in options
            require(holds, f"{option} has no effect beside {other}: remove one of them", f"{where}.{option}")
    for option in plug_in.NEEDS:
        require(option in options, f"the option {option!r} is missing; the loader {loader} needs it", where)
    require(
        math.isclose(sum(options.get("fractions", {"train": 1}).values()), 1),
        f"fractions must add up to 1, got {options.get('fractions')}",
        f"{where}.fractions",
    )


def _check_study(schema: Any, block: dict[str, Any], features: dict[str, Any], where: str) -> None:
    """Raise ConfigError if a study does not fit its kind, uses an unknown name or contradicts itself."""
    _check_schema(schema, "#/$defs/study", block, where)
    _check_schema(schema, f"#/$defs/kinds/{block['kind']}", block, where)
    if block["kind"] == WORDS:
        _check_words(block, features["vocabularies"], where)
        _check_methods(block, where)
    needed = {
        "figures": {name: {figure.table} for name, figure in FIGURES.items()},
        "claims": {name: {part.table for part in (claim, *claim.more)} for name, claim in CLAIMS.items()},
    }
    makers = {
        **dict.fromkeys(("differences", "significance"), "requires two methods"),
        **{table: f"kind: {kind}" for kind in names_of("experiments") for table in pick("experiments", kind).TABLES},
    }
    for key in ("figures", "claims"):
        for i, name in enumerate(block[key]):
            tables = " or ".join(
                f"{table!r} ({makers.get(table, 'kind: words')})" for table in sorted(needed[key][name])
            )
            require(
                needed[key][name] & tables_of(block).keys(),
                f"{name} needs the table {tables}, which this study does not have",
                f"{where}.{key}[{i}]",
            )


def _check_words(block: dict[str, Any], vocabularies: Iterable[str], where: str) -> None:
    """Raise ConfigError if a study's settings for its words, features or sizes contradict each other."""
    n_words, n_validation_words = block["words"]["n_words"], block["words"]["n_validation_words"]
    most = "auto if n_words is auto" if n_words == AUTO else f"less than n_words = {n_words}"
    require(
        n_validation_words == AUTO or (n_words != AUTO and n_validation_words < n_words),
        f"n_validation_words must be {most}, got {n_validation_words}",
        f"{where}.words.n_validation_words",
    )
    require(
        not (block.get("basis") and block.get("similarities")),
        "a study may have a basis or similarities, not both: set one of them to null",
        where,
    )
    similarities = block.get("similarities") or {}
    require(
        "gamma" not in similarities or similarities["measure"] == "rbf",
        f"gamma is an option of measure: rbf, got measure: {similarities.get('measure')} (remove gamma)",
        f"{where}.similarities.gamma",
    )
    if "vocabulary" in block:
        require_known("vocabulary", vocabularies, block["vocabulary"], f"{where}.vocabulary")
    if "at_size" in block and isinstance(block["sizes"], list):
        require_known("at_size", block["sizes"], block["at_size"], f"{where}.at_size")


def _check_methods(block: dict[str, Any], where: str) -> None:
    """Raise ConfigError if methods and their grids do not fit the solver or `radius: auto`."""
    name, training, at = block["training"]["solver"], block["training"], f"{where}.training"
    solver = pick("solvers", name)
    require(
        solver.STOPS_AT_TOL or "tol" not in training,
        f"the solver {name} does not take tol, because it always does n_iter iterations",
        f"{at}.tol",
    )
    require(
        "eta0" in solver.TAKES or "eta0_unit" not in training,
        f"the solver {name} does not take eta0_unit, because it has no step size eta0",
        f"{at}.eta0_unit",
    )
    trained = {method: grid for method, grid in block["methods"].items() if method != "svm-l2"}
    for method, grid in trained.items():
        at = f"{where}.methods.{method}"
        loss, dash, norm = method.partition("-")
        require(dash, f"a method must be named loss-norm or svm-l2, got {method!r}", at)
        require_known("loss", names_of("losses"), loss, at)
        require_known("norm", names_of("norms"), norm, at)
        for key in solver.TAKES:
            require(key in grid, f"the key {key!r} is missing; the solver {name} needs it", at)
        require(
            grid["radius"] != AUTO or "tol" in training,
            f"radius: {AUTO} needs tol and a solver that stops at a duality gap",
            f"{at}.radius",
        )
        takers = " or ".join(name for name in names_of("solvers") if "eta0" in pick("solvers", name).TAKES)
        user = f"the solver {name}" if grid["radius"] != AUTO else f"radius: {AUTO}"
        require(
            "eta0" not in grid or ("eta0" in solver.TAKES and grid["radius"] != AUTO),
            f"eta0 is not used with {user}: remove it, or give a list of radii and solver: {takers}",
            f"{at}.eta0",
        )


# The schema


def _known(_: Any, what: str, got: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    """Implement the schema keyword `known`: the value must be the name of a plug-in, kind, figure or claim."""
    others = {"kinds": [WORDS, *names_of("experiments")], "figures": [*FIGURES], "claims": [*CLAIMS]}
    names = others[what] if what in others else names_of(what)
    if got not in names:
        yield jsonschema.ValidationError("", validator="enum", validator_value=names)


def _type(validator: Any, types: Any, value: Any, schema: Any) -> Iterator[jsonschema.ValidationError]:
    """Implement the schema keyword `type`, and refuse strings that contain markup."""
    if isinstance(value, str) and MARKUP.search(value):
        yield jsonschema.ValidationError("", validator="markup", validator_value=None)
    yield from jsonschema.Draft202012Validator.VALIDATORS["type"](validator, types, value, schema)


TYPE_CHECKER = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many(
    {
        # 10.0 is not accepted as an integer, because file names and array sizes are made from the value.
        "integer": lambda _, value: isinstance(value, int) and not isinstance(value, bool),
        "number": lambda _, value: (
            isinstance(value, int | float) and not isinstance(value, bool) and -math.inf < value < math.inf
        ),
    }
)
Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator, {"known": _known, "type": _type}, type_checker=TYPE_CHECKER
)


@cache
def _schema(file: Path) -> Any:
    """Return a validator for the schema in a file."""
    # Use PyYAML's compiled loader if it is installed.
    keys = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(file.read_text(encoding="utf-8")).get_single_data()
    return Validator(keys | {"$schema": None})  # without the URI, which would make jsonschema ignore our keywords


def _check_schema(schema: Any, part: str, block: Any, where: str) -> None:
    _raise_first(schema.evolve(schema={"$ref": part}).iter_errors(block), where)


def _check_nulls(schema: Any, part: str, block: dict[str, Any], own: dict[str, Any], where: str) -> None:
    """Raise ConfigError if a null in the block `own`, from which `block` was merged, is for an unknown key."""
    errors = schema.evolve(schema={"$ref": part}).iter_errors(_with_nulls(block, without(own, "like")))
    _raise_first((error for error in errors if error.validator == "additionalProperties"), where)


def _with_nulls(block: Any, own: dict[str, Any]) -> dict[str, Any]:
    """Return a block with the nulls of another block, which may be nested."""
    block = block if isinstance(block, dict) else {}
    nested = {key: _with_nulls(block.get(key), value) for key, value in own.items() if isinstance(value, dict)}
    return block | nested | {key: None for key, value in own.items() if value is None}


def _raise_first(errors: Iterable[Any], where: str) -> None:
    """Raise ConfigError for the first error in the order of the paths, if there is an error."""
    for error in sorted(errors, key=lambda error: [str(part) for part in error.path])[:1]:
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.path)
        require(False, _sentence(error), where + path)


def _sentence(error: Any) -> str:
    """Return a sentence that says what is wrong. error: a ValidationError, any attribute of which may be unset."""
    if error.validator == "additionalProperties":
        known = sorted(error.schema.get("properties", {}))
        unknown = next(key for key in error.instance if key not in known)
        return f"unknown key {unknown!r}; the keys here are {', '.join(known)}"
    if error.validator == "required":
        return f"the key {next(key for key in error.validator_value if key not in error.instance)!r} is missing"
    key = next((part for part in reversed(error.path) if isinstance(part, str)), "the configuration")
    key = f"a key of {key}" if "propertyNames" in error.schema_path else key
    got = "nothing" if error.instance is None else shorten(repr(error.instance), 80, placeholder=" …")
    if error.validator == "type" and isinstance(error.instance, str):
        got += ", which YAML reads as text"  # YAML reads 1e-3 as text, and 1.0e-3 as a number
    return f"{key} must be {_expected(error)}, got {got}"


def _expected(error: Any) -> str:
    asked = error.validator_value
    if error.validator == "anyOf":
        return " or ".join(map(_expected, error.context))
    if error.validator == "type":
        return " or ".join(TYPES[name] for name in ([asked] if isinstance(asked, str) else asked) if name in TYPES)
    if error.validator == "enum":
        return one_of(asked, error.instance)
    return EXPECTED[error.validator].format(asked)

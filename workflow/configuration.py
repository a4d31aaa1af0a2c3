"""config.yaml: checked against its schema with one clear line per mistake, merged, and turned into file lists."""

import ast
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from inspect import signature
from pathlib import Path
from textwrap import shorten
from typing import Any

import jsonschema
import yaml

from jointsparse import sweep
from jointsparse.claims import CLAIMS
from jointsparse.datasets.photographs import read_folder, require_fractions
from jointsparse.plots import FIGURES
from jointsparse.registry import pick, room

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


# What nobody writes by hand, and what Snakemake needs hours or all memory for.
MOST_CHARACTERS = 1_000_000
DEEPEST = 50
LARGEST = 2**63
MARKUP = re.compile("</|<!")  # Snakemake's report copies settings into its page unescaped

# Folders of the results beside those of datasets, and of a dataset beside those of its studies.
DATASET_NAMES = {"claims"}
STUDY_NAMES = {"descriptors", "logs", "timings", "vocabularies"}

# The tables of studies of each kind but words, and the kinds of studies that each kind of dataset serves.
TABLES = {
    "recovery": ["recovery"],
    "cost": ["cost"],
    "projection": ["projection"],
    "descent": ["descent", "descent_seconds"],
    "exponentiated": ["exponentiated", "exponentiated_seconds"],
    "kernels": ["exponentiated", "exponentiated_seconds"],
    "online": ["online", "online_seconds", "updates"],
}
SERVED = {
    "pictures": ["words"],
    "samples": ["words", "exponentiated", "kernels", "online"],
    "drawn": ["recovery", "cost", "projection", "descent"],
}
# Tables whose rows may carry a warning, besides those of tasks.
WARNED = ("features", "words", "chosen", "by_word", "path", "recovery", "descent", "exponentiated", "online")

# What makes a table that not every study has.
NEEDS = defaultdict(str, path=" (the key 'path' makes it)")
for made in {name for names in TABLES.values() for name in names}:
    NEEDS[made] = f" (kind: {' or '.join(kind for kind in TABLES if made in TABLES[kind])} makes it)"
NEEDS |= dict.fromkeys(("differences", "significance"), " (it takes two methods)")

Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


class ConfigError(ValueError):
    """A value in config.yaml that must be changed."""


def check_file(path: Path) -> None:
    """Raise ConfigError with one line where a file is no plain YAML, or YAML that would be read as something else.

    That is, before Snakemake reads it: a key given twice, of which the last would win; numbers that YAML takes for
    octal or for minutes; aliases and deep nesting, which can stand for more than any memory holds; dates, tags and
    templates (`__use_yte__`), which run code.
    """

    def refuse(what: str, line: int) -> ConfigError:
        return ConfigError(f"{what} ({path.name}, line {line + 1})")

    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n")
        raise refuse(f"the file must be UTF-8 text, got byte {error.object[error.start]:#04x}", line) from None
    if len(text) > MOST_CHARACTERS:
        raise refuse(f"the file must have at most {MOST_CHARACTERS:,} characters, got {len(text):,}", 0)
    blocks: list[set[str] | None] = []  # the keys so far of each block that is open, None of a list
    is_key: list[bool] = []  # whether the next item of it is a key
    documents = 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            line = event.start_mark.line
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise refuse("the file must hold one YAML document, got a second", line)
            if isinstance(event, yaml.AliasEvent):
                raise refuse(f"aliases are not read: write the value again, got *{event.anchor}", line)
            if isinstance(event, yaml.CollectionEndEvent):
                blocks.pop()
                is_key.pop()
            if not isinstance(event, yaml.NodeEvent):
                continue
            if event.tag is not None:
                raise refuse(f"tags are not read, got {event.tag}", line)
            expects_key = bool(blocks) and blocks[-1] is not None and is_key[-1]
            if blocks:
                is_key[-1] = not is_key[-1]
            if isinstance(event, yaml.CollectionStartEvent):
                if expects_key:
                    raise refuse("a key must be text, got a list or block", line)
                if len(blocks) == DEEPEST:
                    raise refuse(f"blocks and lists must be nested at most {DEEPEST} deep", line)
                blocks.append(set() if isinstance(event, yaml.MappingStartEvent) else None)
                is_key.append(True)
                continue
            wrong = _misread(event)
            if wrong:
                raise refuse(wrong, line)
            keys = blocks[-1] if expects_key else None
            if keys is not None:
                if event.value in keys:
                    raise refuse(f"the key {event.value!r} stands twice in one block", line)
                if event.value == "__use_yte__":
                    raise refuse("templates (__use_yte__) are not read", line)
                keys.add(event.value)
    except yaml.MarkedYAMLError as error:
        problem = f"{error.context or ''} {error.problem or ''}"
        place = error.problem_mark or error.context_mark
        raise refuse(f"the file is no YAML: {problem.strip()}", place.line if place else 0) from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n")
        raise refuse(f"the file is no YAML: it holds the character {error.character:#04x}", line) from None


def _misread(scalar: yaml.ScalarEvent) -> str:
    """Why a value would not be what it looks like; nothing if it would."""
    value = scalar.value
    try:
        value.encode()
    except UnicodeEncodeError:
        return "text must be UTF-8, got half a character"
    if scalar.style is None:  # not in quotes
        kind = _RESOLVER.resolve(yaml.ScalarNode, value, (True, False)).rpartition(":")[2]
        number = value.replace("_", "").lstrip("+-")
        if kind == "int" and (number.strip("0123456789") or (number[0] == "0" and number != "0")):
            return f"{value} is not what it seems to YAML: write it as a decimal number, or in quotes as text"
        if kind == "int" and len(number) > len(str(LARGEST)):
            return f"numbers must be below {LARGEST}, got one of {len(number)} digits"
        if (kind == "float" and ":" in value) or kind in ("timestamp", "merge", "value"):
            return f"{shorten(value, 40)} is not what it seems to YAML: put it in quotes"
    return ""


_RESOLVER = yaml.resolver.Resolver()


def check(config: dict[str, Any], schema_file: Path) -> None:
    """Raise ConfigError with one line on the first mistake: what was expected, what came, and where."""
    schema = yaml.safe_load(schema_file.read_text())
    _check_schema(config, schema, "")
    for name in chosen_datasets(config):
        dataset_entry(config, name)
    for names, taken in ((config["datasets"], DATASET_NAMES), (config["studies"], STUDY_NAMES)):
        for name in taken & set(names):
            raise ConfigError(f"{name!r} is a folder of the results: choose another name {_place(name)}")
    _known("extractor", "features", config["features"]["extractor"], "features.extractor")
    for name, block in config["studies"].items():
        _check_study(config, block, schema, f"studies.{name}")
    for name, entry in config["datasets"].items():
        _check_loader(entry["loader"], entry.get("options", {}), f"datasets.{name}")
        for study in entry["studies"]:
            where = f"datasets.{name}.studies.{study}"
            if study not in config["studies"]:
                raise ConfigError(_one_of("a study", config["studies"], study, f"datasets.{name}.studies"))
            block = study_block(config, name, study)
            _check_study(config, block, schema, where)
            _check_kind(block, entry["loader"], where)


def _check_schema(block: dict[str, Any], schema: dict[str, Any], where: str) -> None:
    """Raise ConfigError on the first key that is no text, and value that the schema refuses or that is not finite."""
    for path, key in _keys(block, where):
        if not isinstance(key, str):
            raise ConfigError(f"a key must be text, got {key!r}: put it in quotes {_place(path)}")
    errors = sorted(Validator(schema).iter_errors(block), key=lambda error: [str(part) for part in error.path])
    if errors:
        raise ConfigError(_sentence(errors[0], where))
    for path, value in _values(block, where):
        key = path.rpartition(".")[2].partition("[")[0]
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(f"{key} must be finite, got {value} {_place(path)}")
        if isinstance(value, int) and abs(value) >= LARGEST:
            raise ConfigError(f"{key} must be below {LARGEST}, got some 1e{int(math.log10(abs(value)))} {_place(path)}")
        if isinstance(value, str) and MARKUP.search(value):
            raise ConfigError(f"{key} must not hold </ or <!, which ends a report's script {_place(path)}")


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
        raise ConfigError(f"options must fit the loader {loader}: {error} {_place(f'{where}.options')}") from None
    try:
        require_fractions(options.get("fractions", {"train": 1}))
    except ValueError as error:
        raise ConfigError(f"{error} {_place(f'{where}.options.fractions')}") from None


def _check_study(config: dict[str, Any], block: dict[str, Any], schema: dict[str, Any], where: str) -> None:
    """Raise ConfigError where a study does not fit its kind, names what does not exist or contradicts itself."""
    _check_schema(block, schema["properties"]["studies"]["additionalProperties"], where)
    _check_schema(block, {"$ref": f"#/$defs/{block['kind']}", "$defs": schema["$defs"]}, where)
    if block["kind"] == "words":
        _check_words_study(config, block, where)
    figures = {name: figure.table for name, figure in FIGURES.items()}
    claims = {name: claim.tables[0] for name, claim in CLAIMS.items()}
    for key, table in (("figures", figures), ("claims", claims)):
        for i, name in enumerate(block[key]):
            place = f"{where}.{key}[{i}]"
            if name not in table:
                raise ConfigError(_one_of(key, table, name, place))
            if table[name] not in tables_of(block):
                needed = f"{table[name]!r}, which this study lacks{NEEDS[table[name]]}"
                raise ConfigError(f"{name} needs the table {needed} {_place(place)}")


def warned_tables(block: dict[str, Any]) -> list[str]:
    """The names of a study's tables whose rows may carry a warning."""
    return [name for name in tables_of(block) if name in WARNED or name.startswith("tasks_run")]


def tables_of(block: dict[str, Any]) -> list[str]:
    """The names of a study's tables."""
    names = ["claims"] if block["claims"] else []
    if block["kind"] != "words":
        own = TABLES[block["kind"]]
        return own + (["warnings"] if own[0] in WARNED else []) + names
    names += ["features", "repeated", "warnings", "words", "chosen", "by_word", "convergence", "sparsity", "weights"]
    names += [f"tasks_run{run}" for run in range(1, block["runs"] + 1)]
    names += ["significance", "differences"] if len(block["methods"]) > 1 else []
    return names + (["path"] if block.get("path") else [])


def folder_of(table: str, block: dict[str, Any]) -> str:
    """The folder of a study's table: `tables` holds what is bit-identical, `timings` what rests on measured seconds."""
    if table == "claims":
        return "timings" if any(CLAIMS[name].timed for name in block["claims"]) else "tables"
    return "timings" if table in ("cost", "projection", "updates") or table.endswith("_seconds") else "tables"


def _check_words_study(config: dict[str, Any], block: dict[str, Any], where: str) -> None:
    solver = block["training"]["solver"]
    _known("solver", "solvers", solver, f"{where}.training.solver")
    takes = signature(pick("solvers", solver).fit).parameters
    if "tol" in block["training"] and "tol" not in takes:
        raise ConfigError(
            f"tol is not for the solver {solver}, which does all its iterations {_place(f'{where}.training.tol')}"
        )
    for method in block["methods"]:
        place = f"{where}.methods.{method}"
        loss, dash, norm = method.partition("-")
        if not dash:
            raise ConfigError(f"a method must be named loss-norm or svm-l2, got {method!r} {_place(place)}")
        if method != "svm-l2":
            _known("loss", "losses", loss, place)
            _known("norm", "norms", norm, place)
            if "eta0" in takes and "eta0" not in block["methods"][method]:
                raise ConfigError(f"the key 'eta0' is missing, which the solver {solver} needs {_place(place)}")
    n_words, n_validation_words = block["words"]["n_words"], block["words"]["n_validation_words"]
    if n_validation_words >= n_words:
        raise ConfigError(
            f"n_validation_words must be less than n_words = {n_words}, got {n_validation_words} "
            f"{_place(f'{where}.words.n_validation_words')}"
        )
    if block.get("basis") and block.get("similarities"):
        raise ConfigError(f"a study must have a basis or similarities, got both (set one to null) {_place(where)}")
    if "vocabulary" in block and block["vocabulary"] not in config["features"]["vocabularies"]:
        known = config["features"]["vocabularies"]
        raise ConfigError(_one_of("vocabulary", known, block["vocabulary"], f"{where}.vocabulary"))
    if block.get("at_size", block["sizes"][0]) not in block["sizes"]:
        raise ConfigError(_one_of("at_size", map(str, block["sizes"]), block["at_size"], f"{where}.at_size"))
    for i, method in enumerate((block.get("path") or {}).get("methods", [])):
        trained = [name for name in block["methods"] if name != "svm-l2"]
        if method not in trained:
            raise ConfigError(_one_of("methods", trained, method, f"{where}.path.methods[{i}]"))
        ends = {key: block["path"][key] for key in ("n_radii", "lowest", "highest")}
        try:
            sweep.spaced(block["methods"][method]["radius"], **ends)
        except ValueError as error:
            raise ConfigError(f"{error} {_place(f'{where}.path')}") from None


def _check_kind(block: dict[str, Any], loader: str, where: str) -> None:
    """Raise ConfigError where a dataset cannot serve a study."""
    served = SERVED[offers(loader)]
    if block["kind"] not in served:
        raise ConfigError(
            f"kind must be {' or '.join(served)} for the loader {loader}, got {block['kind']!r} {_place(where)}"
        )
    if offers(loader) == "pictures" and "vocabulary" not in block:
        raise ConfigError(f"the key 'vocabulary' is missing, which pictures need {_place(where)}")


def _known(key: str, room_name: str, plug_in: str, where: str) -> None:
    """Raise ConfigError where a room has no such plug-in."""
    if plug_in not in names_of(room_name):
        raise ConfigError(_one_of(key, names_of(room_name), plug_in, where))


def _one_of(key: str, known: Iterable[str], got: Any, where: str) -> str:
    """One line for an unknown name."""
    return f"{key} must be one of {', '.join(known)}, got {got!r} {_place(where)}"


def _place(where: str) -> str:
    return f"(config.yaml: {where.lstrip('.') or 'top level'})"


def _sentence(error: jsonschema.ValidationError, inside: str) -> str:
    """One line for one schema error: what was expected, what came, where."""
    where = inside + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.path)
    if error.validator == "additionalProperties":
        known = set(error.schema.get("properties", {}))
        unknown = sorted(set(error.instance) - known)
        return f"unknown key {unknown[0]!r}; the keys here are {', '.join(sorted(known))} {_place(where)}"
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return f"the key {missing[0]!r} is missing {_place(where)}"
    key = next((part for part in reversed(error.path) if isinstance(part, str)), "the configuration")
    if error.validator == "enum":
        return _one_of(key, error.validator_value, error.instance, where)
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
    return f"{key} must be {expected}, got {got} {_place(where)}"


def _types(error: jsonschema.ValidationError) -> list[str]:
    """The types that a value may have, where that is what is wrong."""
    if error.validator != "type":
        return []
    return error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]


def merged(block: dict[str, Any], replacing: dict[str, Any]) -> dict[str, Any]:
    """A block with some values replaced; blocks inside are merged, everything else is taken whole."""
    result = dict(block)
    for key, value in replacing.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


def dataset_entry(config: dict[str, Any], name: str) -> dict[str, Any]:
    """A dataset's entry, its options and shards filled in where it has none."""
    if name not in config["datasets"]:
        raise ConfigError(_one_of("dataset", config["datasets"], name, "dataset"))
    return {"options": {}, "shards": 1} | config["datasets"][name]


def chosen_datasets(config: dict[str, Any]) -> list[str]:
    """The datasets to run."""
    return [config["dataset"]] if isinstance(config["dataset"], str) else config["dataset"]


def offers(loader: str) -> str:
    """What a dataset consists of: pictures, samples whose features are given, or drawn, where studies draw them."""
    module = pick("datasets", loader)
    return "pictures" if hasattr(module, "picture") else "samples" if hasattr(module, "read") else "drawn"


def study_block(config: dict[str, Any], dataset: str, study: str) -> dict[str, Any]:
    """A study's block, with what a dataset's entry replaces in it."""
    if study not in config["studies"]:
        raise ConfigError(_one_of("study", config["studies"], study, "studies"))
    return merged(config["studies"][study], dataset_entry(config, dataset)["studies"].get(study, {}))


def settings_of(config: dict[str, Any], datasets: list[str]) -> dict[str, Any]:
    """The part of the configuration that a run on these datasets uses."""
    studies = {study for name in datasets for study in dataset_entry(config, name)["studies"]}
    return {
        "dataset": datasets,
        "seed": config["seed"],
        "features": config["features"],
        "datasets": {name: config["datasets"][name] for name in datasets},
        "studies": {name: block for name, block in config["studies"].items() if name in studies},
    }


def names_of(room_name: str) -> list[str]:
    """The plug-ins that exist."""
    return sorted(room(room_name))


def raw_files(config: dict[str, Any], dataset: str) -> list[str]:
    """What a dataset is read from: the files in its root and, of pictures, their folder; nothing if it is composed."""
    entry = dataset_entry(config, dataset)
    if "root" not in entry["options"]:
        return []
    root = Path(entry["options"]["root"])
    where = _place(f"datasets.{dataset}.options.root")
    if offers(entry["loader"]) != "pictures":
        files = pick("datasets", entry["loader"]).FILES
        named = [root / entry["options"][key] for key in files if key in entry["options"]]
        for path in named:
            if not path.is_file():
                raise ConfigError(f"root must be a folder that holds {path.name!r}, got {str(root)!r} {where}")
        return [str(path) for path in named]
    if not (root / "images").is_dir():
        raise ConfigError(
            f"root must be a folder that holds a folder 'images', got {str(root)!r}: put the data there, link it, or "
            f"name another {where}"
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
        if file not in found and (file in files or path.exists()):
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

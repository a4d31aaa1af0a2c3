"""config.yaml: the shipped file passes, and each mistake is one line: what was expected, what came, and where."""

import copy
import inspect
import re
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
import yaml
from configuration import studies as of_config
from configuration.check import check
from configuration.file import ConfigError, check_file

from jointsparse.datasets.folder import read_folder
from jointsparse.papers.catalogue import FIGURES
from jointsparse.papers.verdicts import CLAIMS
from jointsparse.registry import ROOMS, pick, room

ROOT = Path(__file__).parents[1]
SHIPPED = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
SCHEMA = ROOT / "workflow" / "config.schema.yaml"
KEYS = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
ANNOTATION = ("studies", "annotation")
SWEEP = ("studies", "annotation-sweep")
OVERRIDE = ("datasets", "collage", "studies", "annotation")
GRID = {"eta0": [1], "radius": [1]}
PHOTOS = {"loader": "scenes", "studies": {"annotation": {}}}
SIMILARITIES = {"measure": "cosine", "n_prototypes": 9}
RANK = "a whole number or full or auto"


def others_than(*names):
    return ", ".join(name for name in SHIPPED["studies"] if name not in names)


KINDS = ("words", *of_config.names_of("experiments"))
TREE = ("features", "vocabularies", "tree")


def known(room):
    return ", ".join(of_config.names_of(room))


@pytest.fixture
def config():
    return copy.deepcopy(SHIPPED)


def put(config, path, value):
    *above, key = path
    for name in above:
        config = config.setdefault(name, {})
    config[key] = value


def message(config):
    with pytest.raises(ConfigError) as caught:
        check(config, SCHEMA)
    return str(caught.value)


def test_the_shipped_config_passes_and_is_left_as_it_is(config):
    check(config, SCHEMA)
    assert config == SHIPPED


@pytest.mark.parametrize("name", [*SHIPPED["datasets"], ["scene15", "synthetic"]])
def test_every_shipped_dataset_may_be_chosen(config, name):
    check(config | {"dataset": name}, SCHEMA)


def keys_of(schema, path=""):
    """Every key that a schema offers, as (path, its own schema)."""
    for key, inside in schema.get("properties", {}).items():
        yield f"{path}.{key}", inside
        yield from keys_of(inside, f"{path}.{key}")
    for part in ("additionalProperties", "items"):
        if isinstance(schema.get(part), dict):
            yield from keys_of(schema[part], f"{path}.*")


def keys_of_all():
    """Every key of the schema, those of studies and of shared blocks included."""
    shared = [keys_of(block, f".{name}") for part in KEYS["$defs"].values() for name, block in part.items()]
    return dict(keys_of(KEYS)) | {key: inside for keys in shared for key, inside in keys}


def test_every_key_of_the_schema_is_described():
    keys = keys_of_all()
    assert {".seed", ".words.basis.rank", ".datasets.*.options.split_names.test"} <= set(keys)
    assert [key for key, inside in keys.items() if not ("description" in inside or "$ref" in inside)] == []


def test_every_block_of_the_schema_refuses_unknown_keys():
    blocks = keys_of_all() | KEYS["$defs"]["kinds"] | {"": KEYS, ".studies": {}}  # studies are checked by kind
    open_blocks = [
        key for key, block in blocks.items() if "properties" in block and "additionalProperties" not in block
    ]
    assert open_blocks == []


def numbers_of(schema):
    """Every number that a schema speaks of, as its own schema."""
    inside = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    if isinstance(schema, dict) and schema.get("type") in ("integer", "number"):
        yield schema
    for part in inside:
        yield from numbers_of(part)


def test_every_number_of_the_schema_has_a_smallest_and_a_largest_value():
    numbers = list(numbers_of(KEYS))
    assert len(numbers) > 25
    ends = ("inimum", "aximum")
    assert [one for one in numbers if not all(any(end in key for key in one) for end in ends)] == []


def test_every_seed_is_one_that_scikit_learn_takes():
    seeds = [inside for key, inside in keys_of_all().items() if key.endswith(".seed")]
    assert len(seeds) == 2
    assert {inside["$ref"] for inside in seeds} == {"#/$defs/values/seed"}
    assert KEYS["$defs"]["values"]["seed"]["maximum"] == 2**32 - 1


def test_every_kind_of_study_has_a_block_in_the_schema():
    assert set(KEYS["$defs"]["kinds"]) == set(KINDS)


# path, value, what the message says was expected and came, and the place it names (the path, where None)
BAD_VALUES = [
    # typing errors in keys
    (("datset",), "collage", "unknown key 'datset'; the keys here are dataset, datasets, ", "top level"),
    ((*ANNOTATION, "basis", "rnak"), 9, "unknown key 'rnak'; the keys here are centred,", "studies.annotation.basis"),
    ((*OVERRIDE, "szes"), [9], "unknown key 'szes'; the keys here are at_size,", "datasets.collage.studies.annotation"),
    (
        (*OVERRIDE, "basis", "rnak"),
        9,
        "unknown key 'rnak'; the keys here are centred, fitted_on, power, rank",
        "datasets.collage.studies.annotation.basis",
    ),
    (("datasets", "flickr8k", "options", "rot"), "x", "unknown key 'rot'", "datasets.flickr8k.options"),
    (("datasets", "my photos"), PHOTOS, "named with 1 to 100 letters, digits, - and _", "datasets"),
    (("datasets", "mine\n"), PHOTOS, "named with 1 to 100 letters, digits, - and _, got 'mine\\n'", "datasets"),
    (("datasets", 101 * "a"), PHOTOS, "named with 1 to 100 letters, digits, - and _, got", "datasets"),
    (("datasets", 2009), PHOTOS, "a key must be text, got 2009: put it in", "datasets"),
    ((True,), 1, "a key must be text, got True: put it in quotes", "top level"),  # yes: and on: in YAML
    # of a dataset that is not run
    (("datasets", "scene15", "studies", "annotation", "basis", "rank"), 0, "at least 1 or full or auto, got 0", None),
    # names that do not exist
    (("dataset",), "flickr", "got 'flickr'", None),
    (("datasets", "collage", "loader"), "foto", f"loader must be one of {known('datasets')}, got 'foto'", None),
    (("features", "extractor"), "surf", f"extractor must be one of {known('features')}, got 'surf'", None),
    ((*TREE, "weighting"), "tfidf", "must be one of count, sqrt, tf-idf, got 'tfidf'", None),
    ((*ANNOTATION, "training", "solver"), "adam", f"solver must be one of {known('solvers')}, got 'adam'", None),
    ((*ANNOTATION, "methods", "hinge-l3"), GRID, f"norm must be one of {known('norms')}, got 'l3'", None),
    ((*ANNOTATION, "methods", "hing-l1"), GRID, f"loss must be one of {known('losses')}, got 'hing'", None),
    ((*ANNOTATION, "methods", "hinge"), GRID, "a method must be named loss-norm or svm-l2, got 'hinge'", None),
    ((*OVERRIDE, "methods", "hinge-l3"), GRID, f"norm must be one of {known('norms')}, got 'l3'", None),
    ((*ANNOTATION, "figures"), ["roc"], f"figures must be one of {', '.join(FIGURES)}, got 'roc'", "[0]"),
    ((*ANNOTATION, "claims"), ["best"], f"claims must be one of {', '.join(CLAIMS)}, got 'best'", "[0]"),
    ((*ANNOTATION, "kind"), "world", f"kind must be one of {', '.join(KINDS)}, got 'world'", None),
    ((*ANNOTATION, "vocabulary"), "bush", "vocabulary must be one of tree, words3000, got 'bush'", None),
    (("studies", "stories", "at_size"), 31, "at_size must be one of 15, 30, 60, 120, 240, got 31", None),
    ((*SWEEP, "like"), "text-2", f"like must be one of {others_than('annotation-sweep')}, got 'text-2'", None),
    (("studies", "text", "like"), "text", f"like must be one of {others_than('text')}, got 'text'", None),
    (
        (*ANNOTATION, "like"),
        "annotation-whitened",
        f"like must be one of {others_than('annotation', 'annotation-whitened')}, got 'annotation'",
        "studies.annotation-whitened.like",
    ),
    (
        ("datasets", "flickr8k-daisy", "features", "extractor"),
        "orb",
        "extractor must be one of daisy, dense_sift",
        None,
    ),
    (("datasets", "flickr8k-daisy", "features", "step"), 3, "unknown key 'step'", "datasets.flickr8k-daisy.features"),
    ((*ANNOTATION, "basis", "power"), -1, "power must be at least 0, got -1", None),
    ((*ANNOTATION, "basis", "power"), [1, -1], "power must be at least 0, got -1", "[1]"),
    (
        ("datasets", "collage", "studies", "anotation"),
        {},
        f"a study must be one of {', '.join(SHIPPED['studies'])}, got 'anotation'",
        "datasets.collage.studies",
    ),
    # test images fit nothing
    ((*ANNOTATION, "basis", "fitted_on"), ["train", "test"], "one of train, validation, unlabelled, got 'test'", "[1]"),
    ((*TREE, "fitted_on"), ["test"], "one of train, validation, unlabelled, got 'test'", "[0]"),
    ((*OVERRIDE, "basis", "fitted_on"), ["test"], "one of train, validation, unlabelled, got 'test'", "[0]"),
    # numbers out of range
    ((*ANNOTATION, "methods", "hinge-l1", "radius"), [1, -3.0], "radius must be at least 0, got -3.0", "[1]"),
    ((*ANNOTATION, "methods", "hinge-l1", "eta0"), [-1], "eta0 must be greater than 0, got -1", "[0]"),
    ((*ANNOTATION, "methods", "hinge-l1", "eta0"), [0], "eta0 must be greater than 0, got 0", "[0]"),
    ((*ANNOTATION, "methods", "svm-l2", "C"), [0], "C must be greater than 0, got 0", "[0]"),
    ((*ANNOTATION, "basis", "rank"), 0, "at least 1 or full or auto, got 0", None),
    ((*OVERRIDE, "basis", "rank"), 0, "at least 1 or full or auto, got 0", None),
    (("datasets", "scene15", "options", "validation_fraction"), 1, "must be less than 1, got 1", None),
    (("seed",), -1, "seed must be at least 0, got -1", None),
    (("seed",), 2**32, "seed must be at most 4294967295, got 4294967296", None),
    ((*ANNOTATION, "runs"), 2**32, "runs must be at most 1000, got 4294967296", None),
    ((*OVERRIDE, "basis", "rank"), 2**40, "rank must be at most 2147483647 or full or auto, got 1099511627776", None),
    ((*ANNOTATION, "methods", "hinge-l1", "radius"), [1e300], "radius must be at most 1000000000000000.0, got", "[0]"),
    ((*ANNOTATION, "methods", "hinge-l1", "radius"), [float("nan")], "radius must be finite, got nan", "[0]"),
    ((*ANNOTATION, "methods", "hinge-l1", "eta0"), [float("inf")], "eta0 must be finite, got inf", "[0]"),
    ((*OVERRIDE, "methods", "hinge-l1", "radius"), [float("inf")], "radius must be finite, got inf", "[0]"),
    ((*ANNOTATION, "words", "n_validation_words"), 40, "must be less than n_words = 40, got 40", None),
    (
        (*OVERRIDE, "words", "n_words"),
        10,
        "n_validation_words must be less than n_words = 10, got 10",
        "datasets.collage.studies.annotation.words.n_validation_words",
    ),
    (
        (*ANNOTATION, "words", "n_words"),
        "auto",
        "n_validation_words must be auto where n_words is, got 10",
        "studies.annotation.words.n_validation_words",
    ),
    ((*ANNOTATION, "words", "n_words"), "all", "n_words must be a whole number or auto, got 'all'", None),
    ((*ANNOTATION, "words", "n_words"), 1, "n_words must be at least 2 or auto, got 1", None),
    ((*ANNOTATION, "words", "n_validation_words"), "many", "must be a whole number or auto, got 'many'", None),
    ((*ANNOTATION, "sizes"), "all", "sizes must be auto, got 'all'", None),
    (("features", "options", "step"), 2**63, "step must be at most 100000, got 9223372036854775808", None),
    (("datasets", "collage", "options", "fractions", "train"), 2**63, "train must be at most 1, got 922", None),
    (("features", "options", "step"), -(10**400), "step must be at least 1, got …", None),
    # values of another type
    ((*ANNOTATION, "basis", "rank"), "ten", f"rank must be {RANK}, got 'ten'", None),
    ((*ANNOTATION, "methods", "hinge-l1", "eta0"), ["1e-3"], "eta0 must be a number, got '1e-3', which YAML", "[0]"),
    ((*ANNOTATION, "basis", "rank"), 10.0, f"rank must be {RANK}, got 10.0", None),
    ((*ANNOTATION, "basis", "rank"), float("nan"), "rank must be finite, got nan", None),
    (("seed",), True, "seed must be a whole number, got True", None),
    ((*ANNOTATION, "basis", "centred"), 1, "centred must be true or false, got 1", None),
    ((*ANNOTATION, "methods", "hinge-l1", "radius"), 3, "radius must be a list, got 3", None),
    (("dataset",), 5, "dataset must be text or a list, got 5", None),
    (("dataset",), [], "dataset must be a list of at least 1, got []", None),
    (("dataset",), ["collage", "collage"], "dataset must be a list without repetitions, got", None),
    (("datasets",), None, "datasets must be a block of keys, got nothing", None),
    (("datasets", "collage"), None, "collage must be a block of keys, got nothing", None),
    (("datasets", "collage", "options"), None, "options must be a block of keys, got nothing", None),
    (OVERRIDE, None, "annotation must be a block of keys, got nothing", None),
    ((*OVERRIDE, "basis"), 5, "basis must be a block of keys, got 5", None),
    ((*ANNOTATION, "words"), ["man"], "words must be a block of keys, got ['man']", None),
    # lists and blocks of a wrong length
    ((*ANNOTATION, "methods", "hinge-l1", "radius"), [], "radius must be a list of at least 1, got []", None),
    ((*ANNOTATION, "sizes"), [], "sizes must be a list of at least 1, got []", None),
    ((*ANNOTATION, "sizes"), [40, 40], "sizes must be a list without repetitions, got [40, 40]", None),
    ((*ANNOTATION, "methods"), {}, "methods must be a block of at least 1 entry, got {}", None),
    (("datasets",), {}, "datasets must be a block of at least 1 entry, got {}", None),
    (
        ("studies", "stories", "methods"),
        {"hinge-l1": GRID},
        "eer-order needs the table 'differences' (it takes two methods), which this study lacks",
        "studies.stories.claims[0]",
    ),
    ((*SWEEP, "training", "tol"), 0.1, "tol is not for the solver subgradient", None),
    (("studies", "text", "methods", "hinge-l1", "radius"), "all", "radius must be auto, got 'all'", None),
    (
        (*SWEEP, "methods", "hinge-l1", "radius"),
        "auto",
        "radius: auto needs a solver that stops at a gap, and tol",
        None,
    ),
    (
        ("studies", "text", "training", "eta0_unit"),
        "relative",
        "eta0_unit is not for the solver working_set, which takes no eta0",
        None,
    ),
    (
        (*SWEEP, "methods"),
        {"hinge-l1": {"radius": [1]}},
        "the key 'eta0' is missing, which the solver subgradient needs",
        "studies.annotation-sweep.methods.hinge-l1inf",
    ),
    (("datasets", "flickr8k", "options", "root"), "", "root must be not empty, got ''", None),
    (
        ("datasets", "flickr8k", "options", "root"),
        "data/{x}",
        "root must be without braces, which Snakemake takes for wildcards, got 'data/{x}': rename or link it",
        None,
    ),
    # text that would end a script of the report
    (
        ("datasets", "collage", "note"),
        "</script><script>alert(1)</script>",
        "note must not hold </ or <!, which ends a report's script",
        None,
    ),
    # what does not go together
    (
        (*ANNOTATION, "similarities"),
        SIMILARITIES,
        "a basis or similarities, got both (set one to null)",
        "studies.annotation",
    ),
    (
        ("datasets", "collage", "studies", "recovery"),
        {},
        "kind must be words for the loader collage, got 'recovery'",
        None,
    ),
    (
        ("datasets", "synthetic", "studies", "text"),
        {},
        f"kind must be {' or '.join(of_config.kinds_for('synthetic'))} for the loader synthetic, got 'words'",
        None,
    ),
    (
        ("datasets", "documents", "studies", "race"),
        {},
        f"kind must be {' or '.join(of_config.kinds_for('documents'))} for the loader documents, got 'race'",
        None,
    ),
    (("datasets", "collage", "studies", "text"), {}, "the key 'vocabulary' is missing, which pictures need", None),
    (
        (*ANNOTATION, "figures"),
        ["cost"],
        "cost needs the table 'cost' (kind: cost makes it), which this study lacks",
        "[0]",
    ),
    (("studies", "recovery", "claims"), ["auc-order"], "auc-order needs the table", "[0]"),
    (
        ("studies", "recovery", "claims"),
        ["projection-over-entropic"],
        "needs the table 'digits' (kind: digits makes it) or 'exponentiated' (kind: exponentiated makes it), which",
        "[0]",
    ),
    (
        (*OVERRIDE, "kind"),
        "word",
        f"kind must be one of {', '.join(KINDS)}, got 'word'",
        None,
    ),
    ((*OVERRIDE, "kind"), None, "the key 'kind' is missing", ".".join(OVERRIDE)),
    # folders of the results
    (("datasets", "claims"), PHOTOS, "'claims' is a folder of the results already, in upper or lower case", None),
    (("datasets", "Claims"), PHOTOS, "'Claims' is a folder of the results already, in upper or lower case", None),
    (("datasets", "Flickr8k"), PHOTOS, "'Flickr8k' is a folder of the results already, in upper or", None),
    (("studies", "Text"), SHIPPED["studies"]["text"], "'Text' is a folder of the results already, in upper or", None),
    (("features", "vocabularies", "Tree"), SHIPPED["features"]["vocabularies"]["tree"], "'Tree' is a folder of", None),
    # options of another loader
    (
        ("datasets", "flickr8k", "options", "n_images"),
        5,
        "the loader photos has no option 'n_images'; its options are captions, fractions, root, seed, split_names, val",
        "datasets.flickr8k.options",
    ),
    (("datasets", "flickr8k", "options"), {}, "the option 'root' is missing, which the loader photos needs", None),
    (
        ("datasets", "collage", "options", "root"),
        "x",
        "the loader collage has no option 'root'; its options are fractions, n_images, seed",
        "datasets.collage.options",
    ),
    (
        ("datasets", "synthetic", "options"),
        {"seed": 1},
        "the loader synthetic has no option 'seed'; its options are none",
        None,
    ),
]


@pytest.mark.parametrize(("path", "value", "said", "place"), BAD_VALUES)
def test_a_bad_value_is_one_line_with_its_place(config, path, value, said, place):
    put(config, path, value)
    got = message(config)
    where = ".".join(map(str, path))
    expected = {None: where, "[0]": f"{where}[0]", "[1]": f"{where}[1]"}.get(place, place)
    assert said in got
    assert got.endswith(f" (config.yaml: {expected})")
    assert "\n" not in got and len(got.replace(", ".join(CLAIMS), "")) < 400


@pytest.mark.parametrize(
    "path",
    [
        ("dataset",),
        ("datasets", "collage", "loader"),
        ("datasets", "collage", "studies"),
        (*TREE, "depth"),
        (*ANNOTATION, "kind"),
        (*ANNOTATION, "sizes"),
        (*ANNOTATION, "methods", "hinge-l1", "radius"),
        (*ANNOTATION, "words", "n_words"),
    ],
)
def test_a_missing_key_is_named_with_the_block_it_belongs_in(config, path):
    *above, key = path
    del reduce(getitem, above, config)[key]
    place = ".".join(above) or "top level"
    assert message(config) == f"the key {key!r} is missing (config.yaml: {place})"


@pytest.mark.parametrize(
    ("whole", "got"), [([1, 2], "[1, 2]"), (None, "nothing"), ("text", "'text', which YAML reads as text")]
)
def test_a_config_that_is_no_block_is_refused(whole, got):
    assert message(whole) == f"the configuration must be a block of keys, got {got} (config.yaml: top level)"


def test_a_long_value_is_cut_short(config):
    config["features"]["options"]["patch_sizes"] = [16] * 1000
    assert len(message(config)) < 200
    assert " … (config.yaml: features.options.patch_sizes)" in message(config)


def test_one_method_is_enough_without_sign_tests(config):
    few = {"methods": {"logistic-l12": GRID}, "figures": ["auc"], "claims": []}
    config["studies"]["scenes"] |= few
    datasets = {"collage": config["datasets"]["collage"] | {"studies": {"scenes": {}}}}
    check(config | {"dataset": "collage", "datasets": datasets}, SCHEMA)


@pytest.mark.parametrize(
    ("study", "values"),
    [
        (
            "annotation",
            {"sizes": "auto", "basis": {"rank": "auto"}, "words": {"n_words": "auto", "n_validation_words": "auto"}},
        ),
        ("annotation", {"words": {"n_validation_words": "auto"}}),
        ("stories", {"sizes": "auto", "at_size": 7}),
    ],
)
def test_numbers_may_be_left_to_the_data(config, study, values):
    config["datasets"]["flickr8k"]["studies"][study] = values
    check(config, SCHEMA)


# The file, before Snakemake reads it

BOMB = "".join(f"{chr(i + 1)}: &{chr(i + 1)} {{x: *{chr(i)}, y: *{chr(i)}}}\n" for i in range(ord("a"), ord("y")))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a: 1\nb: 2\na: 3\n", "the key 'a' stands twice in one block (config.yaml, line 3)"),
        (b"a: {b: 1, b: 2}\n", "the key 'b' stands twice in one block (config.yaml, line 1)"),
        (b'{"a": 1, "a": 2}', "the key 'a' stands twice in one block (config.yaml, line 1)"),
        (
            b"a: &a {x: 1}\n" + BOMB.encode(),
            "aliases are not read: write the value again, got *a (config.yaml, line 2)",
        ),
        (b"a: &a [*a]\n", "aliases are not read: write the value again, got *a (config.yaml, line 1)"),
        (b"[" * 100_000, "blocks and lists must be nested at most 50 deep (config.yaml, line 1)"),
        (b"a: 010\n", "010 is not what it seems to YAML: write it as a decimal number, or in quotes as text"),
        (b"a: 0x10\n", "0x10 is not what it seems to YAML: write it as a decimal number, or in quotes as text"),
        (b"a: 1:30\n", "1:30 is not what it seems to YAML: write it as a decimal number, or in quotes as text"),
        (b"a: 1:30.5\n", "1:30.5 is not what it seems to YAML: put it in quotes"),
        (b"a: 2009-01-01\n", "2009-01-01 is not what it seems to YAML: put it in quotes"),
        (b"a: " + b"9" * 400, "numbers must be below 9223372036854775808, got one of 400 digits (config.yaml, line 1)"),
        (b"a: 1\n<<: {b: 1}\n", "<< is not what it seems to YAML: put it in quotes (config.yaml, line 2)"),
        (b"a: !!python/name:os.system x\n", "tags are not read, got tag:yaml.org,2002:python/name:os.system"),
        (b"__use_yte__: true\n", "templates (__use_yte__) are not read (config.yaml, line 1)"),
        (b"a: 1\n? [b]\n: 2\n", "a key must be text, got a list or block (config.yaml, line 2)"),
        (
            b"a: 1\n---\nb: 1\n",
            "the file is no YAML: expected a single document in the stream but found another document (config.yaml, li",
        ),
        (b"a: 1\n\tb: 2\n", "the file is no YAML: while scanning for the next token found character '\\t' that cannot"),
        (b"a: [1\n", "the file is no YAML: while parsing a flow sequence expected ',' or ']'"),
        (b"a: \0\n", "the file is no YAML: it holds the character 0x00 (config.yaml, line 1)"),
        (b"a: 1\n# caf\xe9\n", "the file must be UTF-8 text, got byte 0xe9 (config.yaml, line 2)"),
        ("a: 1".encode("utf-16"), "the file must be UTF-8 text, got byte 0xff (config.yaml, line 1)"),
        (b'a: "\\ud800"\n', "text must be UTF-8, got half a character (config.yaml, line 1)"),
        (b"#" * 1_000_001, "the file must have at most 1,000,000 characters, got 1,000,001 (config.yaml, line 1)"),
    ],
)
def test_a_file_that_would_be_misread_is_one_line(tmp_path, content, said):
    file = tmp_path / "config.yaml"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=rf"\A(?={re.escape(said)})[^\n]{{10,300}}\(config\.yaml, line \d+\)\Z"):
        check_file(file)


@pytest.mark.parametrize("file", ["config.yaml", "tests/config.yaml", "profiles/default/config.yaml"])
def test_the_shipped_files_are_plain_yaml(file):
    check_file(ROOT / file)


@pytest.mark.parametrize(
    "content", ["\ufeffa: 1\n", '{"a": [1, "b"]}', "a: '010'\nb: -3\nc: 1.0e-3\nd: 1_000\n", "# nothing\n"]
)
def test_plain_yaml_and_json_are_read(tmp_path, content):
    (tmp_path / "config.yaml").write_text(content, encoding="utf-8")
    check_file(tmp_path / "config.yaml")


# Blocks


@pytest.mark.parametrize(
    ("block", "replacing", "expected"),
    [
        ({"a": {"b": 1, "c": [1, 2]}, "d": 4}, {"a": {"c": [9]}, "e": 5}, {"a": {"b": 1, "c": [9]}, "d": 4, "e": 5}),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, {"a": {"b": 2}}),
        ({"a": {"b": 1}}, {}, {"a": {"b": 1}}),
        ({"a": {"b": 1, "c": 2}, "d": None}, {"a": {"b": None}, "e": None}, {"a": {"c": 2}, "d": None}),
        ({"a": 1, "b": {"c": 2}}, {"a": {"c": 3}, "b": 4}, {"a": {"c": 3}, "b": 4}),
    ],
)
def test_merging_replaces_values_inside_blocks_and_leaves_both_blocks_alone(block, replacing, expected):
    before = copy.deepcopy((block, replacing))
    assert of_config.merged(block, replacing) == expected
    assert (block, replacing) == before


def test_a_dataset_entry_is_filled_in():
    got = of_config.dataset_entry({"datasets": {"x": PHOTOS}}, "x")
    assert got == PHOTOS | {"shards": 1, "options": {}}


def test_a_study_holds_what_its_dataset_replaces(config):
    got = of_config.study_block(config, "collage", "annotation")
    assert got["basis"] == config["studies"]["annotation"]["basis"] | {"rank": 300}
    assert got["sizes"] == [10, 20, 40, 80]
    assert got["methods"].keys() == config["studies"]["annotation"]["methods"].keys()
    assert got["methods"]["svm-l2"]["max_iter"] == config["studies"]["annotation"]["methods"]["svm-l2"]["max_iter"]


def test_a_study_like_another_has_its_values_also_those_that_a_dataset_replaces_there(config):
    parent, own = (of_config.study_block(config, "collage", name) for name in ("annotation", "annotation-sweep"))
    assert "like" not in own and "tol" not in own["training"] and "svm-l2" not in own["methods"]
    assert own["training"] == {"solver": "subgradient", "n_iter": 200, "normalisation": "sum", "intercept": False}
    assert (own["sizes"], own["basis"], own["runs"]) == (parent["sizes"], parent["basis"], 1)
    replaced = {"annotation": {"runs": 7, "sizes": [2]}, "annotation-sweep": {"sizes": [3]}}
    config["datasets"]["collage"]["studies"] = replaced
    got = of_config.study_block(config, "collage", "annotation-sweep")
    assert (got["runs"], got["sizes"]) == (1, [3])


def test_a_study_is_itself_where_its_dataset_replaces_nothing(config):
    assert of_config.study_block(config, "flickr8k", "annotation") == config["studies"]["annotation"]


@pytest.mark.parametrize(
    ("look_up", "said"),
    [
        (lambda config: of_config.dataset_entry(config, "x"), r"^dataset must be one of .*collage.*, got 'x'"),
        (
            lambda config: of_config.study_block(config, "collage", "x"),
            r"^study must be one of .*stories.*, got 'x'",
        ),
    ],
)
def test_an_unknown_name_lists_the_known(config, look_up, said):
    with pytest.raises(ConfigError, match=said):
        look_up(config)


def test_a_kind_without_a_block_in_the_schema_is_named(config, monkeypatch):
    monkeypatch.setitem(room("experiments"), "grid", "jointsparse.papers.duchi.race")
    config["studies"]["race"]["kind"] = "grid"
    with pytest.raises(ConfigError, match=r"^the kind 'grid' has no block in \$defs/kinds of config.schema.yaml"):
        check(config, SCHEMA)


def test_tables_that_may_carry_warnings_are_tables_of_the_study(config):
    for dataset, entry in config["datasets"].items():
        for study in entry["studies"]:
            block = of_config.study_block(config, dataset, study)
            warned, tables = of_config.warned_tables(block), of_config.tables_of(block)
            assert set(warned) < set(tables)
            assert ("warnings" in tables) == bool(warned)
    annotation = of_config.study_block(config, "collage", "annotation")
    assert of_config.warned_tables(annotation) == [
        *("odd_features", "words", "chosen", "by_word", "tasks_run1", "tasks_run2")
    ]


def test_settings_of_a_run_are_those_that_it_uses(config):
    settings = of_config.settings_of(config, ["documents", "synthetic"])
    assert settings["dataset"] == ["documents", "synthetic"] and settings["seed"] == config["seed"]
    assert set(settings["datasets"]) == {"documents", "synthetic"}
    used = {study for name in ("documents", "synthetic") for study in config["datasets"][name]["studies"]}
    assert set(settings["studies"]) == used
    assert of_config.merged(config, settings) == config | {"dataset": ["documents", "synthetic"]}


@pytest.mark.parametrize("kind", of_config.names_of("experiments"))
def test_an_experiment_declares_its_datasets_tables_and_warnings(kind):
    experiment = pick("experiments", kind)
    assert experiment.SERVES in ("samples", "drawn")
    assert set(experiment.WARNS) <= set(experiment.TABLES)
    own, *others = experiment.TABLES.items()
    assert own in ((kind, "tables"), (kind, "timings"))
    assert others in ([], [(f"{kind}_seconds", "timings")])
    assert of_config.is_measured(kind) == (own[1] == "timings") and not (others and of_config.is_measured(kind))
    folders = {table: of_config.folder_of(table, {"kind": kind}) for table in experiment.TABLES}
    assert folders == experiment.TABLES
    assert of_config.makers_of(kind) == [kind]


@pytest.mark.parametrize("loader", of_config.names_of("datasets"))
def test_a_dataset_is_served_by_the_kinds_that_declare_it(loader):
    offered = of_config.offers(loader)
    expected = [kind for kind in KINDS[1:] if offered == pick("experiments", kind).SERVES]
    assert of_config.kinds_for(loader) == ["words"] * (offered != "drawn") + expected


@pytest.mark.parametrize("loader", of_config.names_of("datasets"))
def test_a_dataset_declares_the_options_of_its_read(loader):
    plug_in = pick("datasets", loader)
    parameters = {}
    if plug_in.OFFERS != "drawn":
        parameters = dict(inspect.signature(plug_in.read).parameters)
    if parameters.pop("options", None):  # handed on
        handed_on = inspect.signature(read_folder).parameters.items()
        parameters |= {name: one for name, one in handed_on if one.kind == one.KEYWORD_ONLY}
    for given_by_the_rule in ("smallest_side", "longest_side", "progress"):
        parameters.pop(given_by_the_rule, None)
    assert set(plug_in.TAKES) == set(parameters) and len(set(plug_in.TAKES)) == len(plug_in.TAKES)
    assert set(plug_in.NEEDS) == {name for name, one in parameters.items() if one.default is one.empty}


@pytest.mark.parametrize("name", ROOMS)
def test_names_of_a_room_are_sorted(name):
    assert of_config.names_of(name) == sorted(room(name))


# Files


def test_raw_files_are_the_images_and_the_tables(config, album):
    (album / "notes.csv").write_text("not read")
    options = config["datasets"]["flickr8k"]["options"]
    options["root"] = str(album)
    expected = [str(album / name) for name in ("images", "captions.csv", "splits.csv")]  # the last may come to be
    assert of_config.raw_files(config, "flickr8k") == expected
    options["captions"] = "words.txt"
    assert of_config.raw_files(config, "flickr8k")[1] == str(album / "words.txt")


def test_a_composed_dataset_has_no_raw_files(config):
    for name in ("collage", "documents", "synthetic"):
        assert of_config.raw_files(config, name) == []


def test_raw_files_of_samples_are_those_named(config, tmp_path):
    options = config["datasets"]["reuters21578"]["options"]
    options["root"] = str(tmp_path)
    for name in (options["train"], options["test"], options["vocabulary"], "other"):
        (tmp_path / name).touch()
    with pytest.raises(ConfigError, match=r"^root must be a folder that holds 'topics.txt', got '"):
        of_config.raw_files(config, "reuters21578")
    (tmp_path / "topics.txt").touch()
    expected = [str(tmp_path / name) for name in (options["train"], options["test"], "topics.txt", "vocabulary.txt")]
    assert of_config.raw_files(config, "reuters21578") == expected


@pytest.mark.parametrize("folder", [".", "images", "a" * 300])
def test_a_root_without_images_is_one_line(config, tmp_path, folder):
    (tmp_path / "images").touch()  # a file, not a folder
    root = str(tmp_path / folder)
    config["datasets"]["flickr8k"]["options"]["root"] = root
    with pytest.raises(ConfigError) as caught:
        of_config.raw_files(config, "flickr8k")
    assert str(caught.value) == (
        f"root must be a folder that holds a folder 'images', got {root!r}: put the data there, link it, or name "
        "another (config.yaml: datasets.flickr8k.options.root)"
    )

"""Checks of config.yaml: the shipped file passes, and each mistake is one line with expected value, value and place."""

import copy
import inspect
import re
from pathlib import Path

import pytest
import yaml
from configuration import studies as config_studies
from configuration.check import check
from configuration.file import ConfigError, check_file
from runs import with_bare

from jointsparse.features import dense_sift
from jointsparse.features.embedding import Embedding
from jointsparse.norms import NORMS
from jointsparse.pipeline.datasets.folder import read_folder
from jointsparse.pipeline.papers.catalogue import FIGURES
from jointsparse.pipeline.papers.verdicts import CLAIMS
from jointsparse.registry import pick

ROOT = Path(__file__).parents[2]
SHIPPED = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
SCHEMA = ROOT / "workflow" / "config.schema.yaml"
KEYS = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
ANNOTATION = ("studies", "annotation")
SWEEP = ("studies", "annotation-sweep")
OVERRIDE = ("datasets", "collage", "studies", "annotation")
TREE = ("features", "vocabularies", "tree")
FLICKR = ("datasets", "flickr8k", "options")
RADIUS = (*ANNOTATION, "methods", "hinge-l1", "radius")
ETA0_OF_AUTO = (*ANNOTATION, "methods", "hinge-l1", "eta0")
GRID = {"radius": [1]}
LEAVING_OUT = [name for name, norm in sorted(NORMS.items()) if norm.SPARSE]
IDLE, OF_PICTURES = (
    "has no effect here: it is for",
    "has no effect here: it is for datasets of pictures, and the loader",
)
ONE_METHOD, NOTHING_SHOWN = {"hinge-l1": None, "hinge-l2": None}, {"figures": [], "claims": []}
PHOTOS = {"loader": "scenes", "studies": {"annotation": {}}}
RANK = "a whole number or full or auto"
OF_DAISY = "the extractor daisy was removed: jointsparse 1.0.0rc1 is the last version that has it"
KINDS = ("words", *config_studies.names_of("experiments"))
MISSING = object()


def others_than(*names):
    return ", ".join(name for name in SHIPPED["studies"] if name not in names)


def known(room):
    return ", ".join(config_studies.names_of(room))


def served(what):
    return " or ".join(kind for kind in KINDS[1:] if what == pick("experiments", kind).SERVES)


@pytest.fixture
def config():
    return copy.deepcopy(SHIPPED)


# The schema


@pytest.mark.parametrize("name", [SHIPPED["dataset"], *SHIPPED["datasets"]])
def test_the_shipped_config_passes_with_every_dataset_and_is_left_as_it_is(config, name):
    config["dataset"] = name
    check(config, SCHEMA)
    assert config == SHIPPED | {"dataset": name}


def schemas(inside, path=""):
    """Yield a schema and all schemas and lists inside it, with their paths."""
    yield path, inside
    for key, part in inside.items() if isinstance(inside, dict) else ():
        yield from schemas(part, f"{path}/{key}")


INSIDE = {path: part for path, part in schemas(KEYS) if isinstance(part, dict)}


def test_every_key_of_the_schema_is_described_and_every_block_refuses_unknown_keys():
    keys = [f"{path}/{key}" for path, part in INSIDE.items() if path.endswith("/properties") for key in part]
    assert len(keys) > 150 and "/$defs/kinds/words/properties/basis/properties/rank" in keys
    assert [key for key in keys if not INSIDE[key].keys() & {"description", "$ref"}] == []
    open_blocks = {path for path, part in INSIDE.items() if "properties" in part and "additionalProperties" not in part}
    # The keys of a study's block, and of final, are checked by the study's kind, and options by the loader.
    assert {path.removesuffix("/properties") for path in open_blocks} == {
        "/properties/datasets/additionalProperties/properties/options",
        "/properties/datasets/additionalProperties/properties/final",
        "/properties/studies/additionalProperties",
        "/$defs/study",
    }
    assert INSIDE["/$defs/kinds"].keys() == set(KINDS)


def test_every_number_of_the_schema_has_a_smallest_and_a_largest_value():
    numbers = [str(sorted(part)) for part in INSIDE.values() if part.get("type") in ("integer", "number")]
    assert len(numbers) > 25
    assert [keys for keys in numbers if not ("inimum" in keys and "aximum" in keys)] == []


# The path of a value, the value, a part of the message, and the place that it names (None for the path, or its end).
FINAL, OWN = ("datasets", "flickr8k", "final"), "own-words, own-classes, own-labels"
REFUSED = [
    # misspelt keys
    (("datset",), "collage", "unknown key 'datset'; the keys here are compare, dataset, datasets, ", "top level"),
    ((*ANNOTATION, "basis", "rnak"), 9, "unknown key 'rnak'; the keys here are centred,", "studies.annotation.basis"),
    ((*OVERRIDE, "like"), "text", "unknown key 'like'; the keys", "datasets.collage.studies.annotation"),
    ((*OVERRIDE, "szes"), [9], "unknown key 'szes'; the keys here are at_size,", "datasets.collage.studies.annotation"),
    (
        (*OVERRIDE, "basis", "rnak"),
        9,
        "unknown key 'rnak'; the keys here are centred, fitted_on, power, rank",
        "datasets.collage.studies.annotation.basis",
    ),
    (("datasets", "flickr8k", "options", "rot"), "x", "photos has no option 'rot'; its", "datasets.flickr8k.options"),
    (("datasets", "my photos"), PHOTOS, "named with 1 to 100 letters, digits, - and _", "datasets"),
    (("datasets", "mine\n"), PHOTOS, "named with 1 to 100 letters, digits, - and _, got 'mine\\n'", "datasets"),
    (("datasets", 101 * "a"), PHOTOS, "named with 1 to 100 letters, digits, - and _, got", "datasets"),
    (("datasets", 2009), PHOTOS, "a key of datasets must be text, got 2009", "datasets"),
    (
        (True,),
        1,
        "unknown key True; the keys here are compare, dataset, datasets, ",
        "top level",
    ),  # yes: and on: in YAML
    # in a dataset that is not run
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
    ((*ANNOTATION, "claims"), ["auc-oder"], f"claims must be one of {len(CLAIMS)} names, of which the most", "[0]"),
    ((*ANNOTATION, "claims"), ["auc-oder"], "similar are auc-order, ", "[0]"),
    # null removes only keys that exist
    ((*ANNOTATION, "studies"), None, "unknown key 'studies'; the keys here are at_size,", "studies.annotation"),
    ((*ANNOTATION, "words", "n_wrods"), None, "unknown key 'n_wrods'; the keys here are", "studies.annotation.words"),
    ((*OVERRIDE, "figure"), None, "unknown key 'figure'; the keys here are at_size,", ".".join(OVERRIDE)),
    (FINAL, {"wrds": None}, "unknown key 'wrds'; the keys here are at_size,", "datasets.flickr8k.final"),
    (("datasets", "flickr8k", "features", "stp"), None, "unknown key 'stp'; the keys", "datasets.flickr8k.features"),
    ((*ANNOTATION, "kind"), "world", f"kind must be one of {', '.join(KINDS)}, got 'world'", None),
    ((*ANNOTATION, "vocabulary"), "bush", "vocabulary must be one of tree, words3000, got 'bush'", None),
    (("studies", "stories", "at_size"), 31, "at_size must be one of 15, 30, 60, 120, 240, got 31", None),
    ((*SWEEP, "like"), "text-2", f"like must be one of {others_than('annotation-sweep')}, got 'text-2'", None),
    (("studies", "text", "like"), "text", f"like must be one of {others_than('text')}, got 'text'", None),
    (
        (*ANNOTATION, "like"),
        "annotation-power-chosen",
        f"like must be one of {others_than('annotation', 'annotation-power-chosen')}, got 'annotation'",
        "studies.annotation-power-chosen.like",
    ),
    (
        ("datasets", "flickr8k-tf-idf", "features", "extractor"),
        "orb",
        f"extractor must be one of {known('features')}, got 'orb'",
        None,
    ),
    (("features", "extractor"), "daisy", OF_DAISY, None),
    (("datasets", "flickr8k", "features"), {"extractor": "daisy"}, OF_DAISY, "datasets.flickr8k.features.extractor"),
    (("datasets", "flickr8k-tf-idf", "features", "step"), 3, "unknown key 'step'", "datasets.flickr8k-tf-idf.features"),
    ((*ANNOTATION, "basis", "power"), -1, "power must be at least 0, got -1", None),
    ((*ANNOTATION, "basis", "power"), [1, -1], "power must be at least 0, got -1", "[1]"),
    (
        ("datasets", "collage", "studies", "anotation"),
        {},
        f"a study must be one of {', '.join(SHIPPED['studies'])}, got 'anotation'",
        "datasets.collage.studies",
    ),
    # test images must not be fitted on
    ((*ANNOTATION, "basis", "fitted_on"), ["train", "test"], "one of train, validation, unlabelled, got 'test'", "[1]"),
    (("features", "sample", "fitted_on"), ["test"], "one of train, validation, unlabelled, got 'test'", "[0]"),
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
    (("seed",), 2**32, "seed must be at most 4294967295, got 4294967296", None),  # scikit-learn takes no larger one
    (("datasets", "collage", "options", "seed"), 2**32, "seed must be at most 4294967295, got 4294967296", None),
    ((*ANNOTATION, "runs"), 2**32, "runs must be at most 1000, got 4294967296", None),
    ((*OVERRIDE, "basis", "rank"), 2**40, "rank must be at most 2147483647 or full or auto, got 1099511627776", None),
    ((*ANNOTATION, "methods", "hinge-l1", "radius"), [1e300], "radius must be at most 1000000000000000.0, got", "[0]"),
    ((*ANNOTATION, "methods", "hinge-l1", "radius"), [float("nan")], "radius must be a finite number, got nan", "[0]"),
    ((*ANNOTATION, "methods", "hinge-l1", "eta0"), [float("inf")], "eta0 must be a finite number, got inf", "[0]"),
    ((*OVERRIDE, "methods", "hinge-l1", "radius"), [float("inf")], "radius must be a finite number, got inf", "[0]"),
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
        "n_validation_words must be auto if n_words is auto, got 10",
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
    (
        (*ANNOTATION, "methods", "hinge-l1", "eta0"),
        ["1e-3"],
        "eta0 must be a finite number, got '1e-3', which YAML",
        "[0]",
    ),
    ((*ANNOTATION, "basis", "rank"), 10.0, f"rank must be {RANK}, got 10.0", None),
    ((*ANNOTATION, "basis", "rank"), float("nan"), f"rank must be {RANK}, got nan", None),
    (("seed",), True, "seed must be a whole number, got True", None),
    ((*ANNOTATION, "basis", "centred"), 1, "centred must be true or false, got 1", None),
    ((*ANNOTATION, "methods", "hinge-l1", "radius"), 3, "radius must be a list, got 3", None),
    (("dataset",), 5, "dataset must be text or a list, got 5", None),
    (("dataset",), [], "dataset must be a list with 1 or more entries, got []", None),
    (("dataset",), ["collage", "collage"], "dataset must be a list without duplicates, got", None),
    (("datasets",), None, "datasets must be a block of keys, got nothing", None),
    (("datasets", "collage"), None, "collage must be a block of keys, got nothing", None),
    (("datasets", "collage", "options"), None, "options must be a block of keys, got nothing", None),
    (OVERRIDE, None, "annotation must be a block of keys, got nothing", None),
    ((*OVERRIDE, "basis"), 5, "basis must be a block of keys, got 5", None),
    ((*ANNOTATION, "words"), ["man"], "words must be a block of keys, got ['man']", None),
    # lists and blocks of a wrong length
    ((*ANNOTATION, "methods", "hinge-l1", "radius"), [], "radius must be a list with 1 or more entries, got []", None),
    ((*ANNOTATION, "sizes"), [], "sizes must be a list with 1 or more entries, got []", None),
    ((*ANNOTATION, "sizes"), [40, 40], "sizes must be a list without duplicates, got [40, 40]", None),
    ((*ANNOTATION, "methods"), {}, "methods must be a block with 1 or more entries, got {}", None),
    (("datasets",), {}, "datasets must be a block with 1 or more entries, got {}", None),
    (
        ("studies", "stories", "methods"),
        {"hinge-l1": GRID},
        "eer-order needs the table 'differences' (requires two methods), which this study does not have",
        "studies.stories.claims[0]",
    ),
    ((*SWEEP, "training", "tol"), 0.1, "the solver subgradient does not take tol", None),
    (("studies", "text", "methods", "hinge-l1", "radius"), "all", "radius must be auto, got 'all'", None),
    (
        (*SWEEP, "methods", "hinge-l1", "radius"),
        "auto",
        "radius: auto needs tol and a solver that stops at a duality gap",
        None,
    ),
    (
        ("studies", "text", "training", "eta0_unit"),
        "relative",
        "the solver working_set does not take eta0_unit, because it has no step size eta0",
        None,
    ),
    (
        (*SWEEP, "methods"),
        {"hinge-l1": {"radius": [1]}},
        "the key 'eta0' is missing; the solver subgradient needs it",
        "studies.annotation-sweep.methods.hinge-l1inf",
    ),
    (("datasets", "flickr8k", "options", "root"), "", "root must be a text that is not empty, got ''", None),
    (
        ("datasets", "flickr8k", "options", "root"),
        "data/{x}",
        "root must not contain braces, which Snakemake reads as wildcards, got 'data/{x}': rename the file",
        None,
    ),
    # final fits
    (FINAL, {"wrds": {}}, "unknown key 'wrds'; the keys here are at_size, basis,", "datasets.flickr8k.final"),
    (FINAL, {"norm": "l3"}, f"norm must be auto or one of {known('norms')}, got 'l3'", "datasets.flickr8k.final.norm"),
    (
        FINAL,
        {"like": "stories"},
        f"like must be one of {OWN}, annotation-whitened-600, annotation-embedding,",
        "datasets.flickr8k.final.like",
    ),
    (
        FINAL,
        {"like": "recovery"},
        "kind must be words for the loader photos, got 'recovery'",
        "datasets.flickr8k.final",
    ),
    (
        ("datasets", "scene15", "final"),
        {"like": "stories", "basis": None, "similarities": {"measure": "cosine", "n_prototypes": 9}},
        "like must be a study of words without similarities, got 'stories'",
        "datasets.scene15.final.like",
    ),
    (
        FINAL,
        {"study": "scenes"},
        "study must be one of annotation, annotation-sweep, annotation-power-chosen, annotation-whitened-200, "
        "annotation-whitened-1000, direct, stories, got 'scenes': write like: scenes to take only its settings",
        "datasets.flickr8k.final.study",
    ),
    (
        FINAL,
        {"study": "annotation", "words": {}},
        "words has no effect beside study: write it into the study, or replace study by like, which takes the",
        "datasets.flickr8k.final",
    ),
    (
        ("datasets", "reuters21578", "final"),
        {"vocabulary": "tree"},
        f"vocabulary {OF_PICTURES} libsvm reads none",
        "datasets.reuters21578.final.vocabulary",
    ),
    (FINAL, {"stability": 0}, "stability must be at least 1, got 0", "datasets.flickr8k.final.stability"),
    (
        FINAL,
        {"stability": 25, "norm": ["l2", "l1"]},
        "stability has no effect with the norm l2, which uses all features: save a model with another norm",
        "datasets.flickr8k.final.stability",
    ),
    (FINAL, {"sizes": {"auto": 9}}, "auto must be at most 4, got 9", "datasets.flickr8k.final.sizes.auto"),
    (("compare",), True, "compare adds the study named by final.like, and collage", "compare"),
    (("datasets", "mine"), {"loader": "synthetic"}, "the key 'studies' is missing; the loader synthetic", None),
    # text that would end a script of the report
    (
        ("datasets", "collage", "note"),
        "</script><script>alert(1)</script>",
        "note must be free of </ and <!, which would end a script in the report, got '</script><script>",
        None,
    ),
    # contradictions
    (
        (*ANNOTATION, "similarities"),
        {"measure": "cosine", "n_prototypes": 9},
        "a basis or similarities, not both: set one of them to null",
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
        f"kind must be {served('drawn')} for the loader synthetic, got 'words'",
        None,
    ),
    (
        ("datasets", "documents", "studies", "race"),
        {},
        f"kind must be words or {served('samples')} for the loader documents, got 'race'",
        None,
    ),
    (
        ("datasets", "collage", "studies", "text"),
        {},
        "the key 'vocabulary' is missing; studies of pictures need it",
        None,
    ),
    (
        (*ANNOTATION, "figures"),
        ["cost"],
        "cost needs the table 'cost' (kind: cost), which this study does not have",
        "[0]",
    ),
    (("studies", "recovery", "claims"), ["auc-order"], "auc-order needs the table", "[0]"),
    (
        ("studies", "recovery", "claims"),
        ["projection-over-entropic"],
        "needs the table 'digits' (kind: digits) or 'exponentiated' (kind: exponentiated), which",
        "[0]",
    ),
    (
        (*OVERRIDE, "kind"),
        "word",
        f"kind must be one of {', '.join(KINDS)}, got 'word'",
        None,
    ),
    ((*OVERRIDE, "kind"), None, "the key 'kind' is missing", ".".join(OVERRIDE)),
    # settings without effect
    (ETA0_OF_AUTO, [1], "eta0 is not used with radius: auto: remove it, or give a list of radii and solver", None),
    (
        (*SWEEP, "training", "solver"),
        "pdhg",
        "eta0 is not used with the solver pdhg: remove it, or give a list of radii and solver: subgradient",
        "studies.annotation-sweep.methods.hinge-l1inf.eta0",
    ),
    ((*SWEEP, "training", "sparsest"), 0.5, f"sparsest {IDLE} radius: auto with a norm that leaves features out", None),
    (
        ("datasets", "collage", "studies", "annotation-sweep"),
        {"training": {"sparsest": 0.5}},
        f"sparsest {IDLE} radius: auto with a norm that leaves features out ({', '.join(LEAVING_OUT)})",
        "datasets.collage.studies.annotation-sweep.training.sparsest",
    ),
    (
        ("studies", "text", "words", "min_length"),
        5,
        "min_length has no effect here: labels may have any length",
        None,
    ),
    (
        ("studies", "scenes", "similarities", "gamma"),
        1,
        "gamma is an option of measure: rbf, got measure: inters",
        None,
    ),
    (("datasets", "documents", "features"), {"keep": []}, f"features {OF_PICTURES}", None),
    (("datasets", "documents", "shards"), 2, f"shards {OF_PICTURES}", None),
    (("datasets", "documents", "studies", "text", "vocabulary"), "tree", f"vocabulary {OF_PICTURES}", None),
    (
        ("datasets", "synthetic", "most_samples"),
        9,
        "most_samples has no effect here: studies of the loader synth",
        None,
    ),
    (
        ("datasets", "scene15", "features"),
        {"vocabularies": {"words3000": {"depth": 2}}},
        "words3000 has no effect here: no study of this dataset has vocabulary: words3000",
        "datasets.scene15.features.vocabularies.words3000",
    ),
    (
        ("datasets", "documents", "studies", "text"),
        {
            "methods": ONE_METHOD | {"hinge-l1inf": None, "svm-l2": {"C": [1]}},
            "training": {"tol": 0.1},
            **NOTHING_SHOWN,
        },
        f"training {IDLE} methods named loss-norm, and this study has only svm-l2",
        "datasets.documents.studies.text.training",
    ),
    (
        ("datasets", "reuters21578", "studies", "text"),
        {"methods": ONE_METHOD, "tests": {"n_resamples": 50, "n_pairings": 5}, **NOTHING_SHOWN},
        "n_pairings has no effect here: it compares methods, and this study has only one",  # and a final fit
        "datasets.reuters21578.studies.text.tests.n_pairings",
    ),
    (("datasets", "mnist", "options", "seed"), 1, "seed has no effect without validation_fraction: give both", None),
    (
        ("datasets", "reuters21578", "options", "fractions"),
        {"train": 1},
        "fractions has no effect beside test: remove one of them",
        None,
    ),
    (("datasets", "collage", "options", "fractions"), {"train": 0.5}, "fractions must add up to 1, got {'tr", None),
    # names of results folders
    (("datasets", "claims"), PHOTOS, "'claims' is already the name of a results folder", None),
    (("datasets", "Claims"), PHOTOS, "'Claims' is already the name of a results folder", None),
    (("datasets", "Flickr8k"), PHOTOS, "'Flickr8k' is already the name of a results folder, apart", None),
    (
        ("studies", "Text"),
        SHIPPED["studies"]["text"],
        "'Text' is already the name of a results folder, apart from",
        None,
    ),
    (("features", "vocabularies", "Tree"), SHIPPED["features"]["vocabularies"]["tree"], "'Tree' is already the", None),
    # options of another loader
    (
        ("datasets", "flickr8k", "options", "n_images"),
        5,
        "the loader photos has no option 'n_images'; its options are caption, captions, fractions, images, o",
        "datasets.flickr8k.options",
    ),
    (("datasets", "flickr8k", "options"), {}, "the option 'root' is missing; the loader photos needs it", None),
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
    # missing keys
    (("dataset",), MISSING, "the key 'dataset' is missing", "top level"),
    (("datasets", "collage", "loader"), MISSING, "the key 'loader' is missing", "datasets.collage"),
    (
        ("datasets", "collage", "studies"),
        MISSING,
        "study must be one of the dataset's studies of words, and there are none, got 'annotation': write like: ",
        "datasets.collage.final.study",
    ),
    ((*TREE, "depth"), MISSING, "the key 'depth' is missing", ".".join(TREE)),
    ((*ANNOTATION, "kind"), MISSING, "the key 'kind' is missing", "studies.annotation"),
    ((*ANNOTATION, "sizes"), MISSING, "the key 'sizes' is missing", "studies.annotation"),
    (RADIUS, MISSING, "the key 'radius' is missing", "studies.annotation.methods.hinge-l1"),
    ((*ANNOTATION, "words", "n_words"), MISSING, "the key 'n_words' is missing", "studies.annotation.words"),
    # the whole
    ((), [1, 2], "the configuration must be a block of keys, got [1, 2]", "top level"),
    ((), None, "the configuration must be a block of keys, got nothing", "top level"),
    ((), "text", "the configuration must be a block of keys, got 'text', which YAML reads as text", "top level"),
    (("features", "options", "patch_sizes"), [16] * 1000, "without duplicates, got [16, 16, 16, ", None),
]


@pytest.mark.parametrize(("path", "value", "said", "place"), REFUSED)
def test_a_mistake_is_one_line_with_its_place(config, path, value, said, place):
    block, where = config, ".".join(map(str, path))
    for name in path[:-1]:
        block = block.setdefault(name, {})
    if value is MISSING:
        del block[path[-1]]
    elif path:
        block[path[-1]] = value
    else:
        config = value
    with pytest.raises(ConfigError) as caught:
        check(config, SCHEMA)
    got = str(caught.value)
    expected = {None: where, "[0]": f"{where}[0]", "[1]": f"{where}[1]"}.get(place, place)
    assert said in got
    assert got.endswith(f" (config.yaml: {expected})")
    assert "\n" not in got and len(got) < 700


@with_bare
@pytest.mark.parametrize("place", ["features", "datasets.flickr8k.features"])
def test_an_extractor_takes_only_its_own_options(config, place):
    block = config if place == "features" else config["datasets"]["flickr8k"]
    block["features"] = block.get("features", {}) | {"extractor": "bare", "options": {"step": 4, "clip": 0.1}}
    said = f"the extractor bare has no option 'clip'; its options are step (config.yaml: {place}.options)"
    with pytest.raises(ConfigError, match=rf"\A{re.escape(said)}\Z"):
        check(config, SCHEMA)


@pytest.mark.parametrize(
    ("study", "values"),
    [
        ("annotation", {"sizes": "auto", "words": {"n_words": "auto", "n_validation_words": "auto"}}),
        ("annotation", {"basis": {"rank": "auto"}, "words": {"n_validation_words": "auto"}}),
        ("stories", {"sizes": "auto", "at_size": 7}),
        ("stories", {"methods": {"hinge-l1": None, "hinge-l2": None}, "claims": [], "figures": []}),  # one method
        ("scenes", {"methods": {"logistic-l12": GRID}}),
    ],
)
def test_numbers_may_be_auto_and_methods_may_be_replaced(config, study, values):
    config["datasets"]["flickr8k"]["studies"][study] = values
    check(config, SCHEMA)


def test_a_null_removes_a_key_of_the_block_that_it_overrides(config):
    config["studies"]["annotation"]["methods"]["svm-l2"] = None
    check(config, SCHEMA)
    assert [*config_studies.full_block(config, "annotation")["methods"]] == ["hinge-l1inf", "hinge-l1", "hinge-l2"]


# The file, before Snakemake reads it

BOMB = "".join(f"{chr(i + 1)}: &{chr(i + 1)} {{x: *{chr(i)}, y: *{chr(i)}}}\n" for i in range(ord("a"), ord("y")))
SEEMS = "is not read as it looks: put it in quotes, or write a decimal number"


@pytest.mark.parametrize(
    ("content", "said", "line"),
    [
        (b"a: 1\nb: 2\na: 3\n", "the key 'a' occurs twice in one block", 3),
        (b"a: {b: 1, b: 2}\n", "the key 'b' occurs twice in one block", 1),
        (b'{"a": 1, "a": 2}', "the key 'a' occurs twice in one block", 1),
        (b"a: &a {x: 1}\n" + BOMB.encode(), "aliases are not allowed: repeat the value instead, got *a", 2),
        (b"a: &a [*a]\n", "aliases are not allowed: repeat the value instead, got *a", 1),
        (b"[" * 100_000, "blocks and lists may be nested at most 50 deep", 1),
        (b"a: 010\n", f"'010' {SEEMS}", 1),
        (b"a: 0x10\n", f"'0x10' {SEEMS}", 1),
        (b"a: 1:30\n", f"'1:30' {SEEMS}", 1),
        (b"a: 1:30.5\n", f"'1:30.5' {SEEMS}", 1),
        (b"a: 2009-01-01\n", f"'2009-01-01' {SEEMS}", 1),
        (b"a: " + b"9" * 5000, f"'{40 * '9'}' {SEEMS}", 1),
        (b"a: 1\n<<: {b: 1}\n", f"'<<' {SEEMS}", 2),
        (b'a: "\\ud800"\n', f"'\\ud800' {SEEMS}", 1),
        (b"a: !!python/name:os.system x\n", "tags are not allowed, got tag:yaml.org,2002:python/name:os.system", 1),
        (b"__use_yte__: true\n", "templates (__use_yte__) are not allowed", 1),
        (b"a: 1\n? [b]\n: 2\n", "a key must be text, got a list or block", 2),
        (b"a: 1\n---\nb: 1\n", "the file is not YAML: expected a single document in the stream but found another", 2),
        (b"a: 1\n\tb: 2\n", "the file is not YAML: while scanning for the next token found character '\\t'", 2),
        (b"a: [1\n", "the file is not YAML: while parsing a flow sequence expected ',' or ']'", 2),
        (b"a: \0\n", "the file is not YAML: it contains the character 0x00", 1),
        (b"a: 1\n# caf\xe9\n", "the file must be UTF-8 text, got byte 0xe9", 2),
        ("a: 1".encode("utf-16"), "the file must be UTF-8 text, got byte 0xff", 1),
        (b"#" * 1_000_001, "the file may have at most 1,000,000 bytes, got 1,000,001", 1),
    ],
)
def test_a_file_that_would_be_misread_gives_an_error_of_one_line(tmp_path, content, said, line):
    file = tmp_path / "config.yaml"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=rf"\A{re.escape(said)}[^\n]{{,150}} \(config\.yaml, line {line}\)\Z"):
        check_file(file)


PLAIN = ["\ufeffa: 1\n", '{"a": [1, "b"]}', "a: '010'\nb: -3\nc: 1.0e-3\nd: 1_000\ne: null\nf: yes\n", "# nothing\n"]
FILES = [ROOT / "config.yaml", ROOT / "tests" / "pipeline" / "config.yaml", *(ROOT / "profiles").glob("*/config.yaml")]


@pytest.mark.parametrize("text", [*PLAIN, *(file.read_text(encoding="utf-8") for file in FILES)])
def test_plain_yaml_and_json_are_read(tmp_path, text):
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
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
        ({}, {"a": {"b": None, "c": {"d": None}}}, {"a": {"c": {}}}),
    ],
)
def test_merging_replaces_values_inside_blocks_and_leaves_both_blocks_alone(block, replacing, expected):
    before = copy.deepcopy((block, replacing))
    assert config_studies.merged(block, replacing) == expected
    assert (block, replacing) == before


def test_a_dataset_is_filled_in_and_overrides_its_studies_and_the_studies_that_they_are_like():
    sqrt, tf_idf, methods = {"weighting": "sqrt"}, {"weighting": "tf-idf"}, {"l1": {"radius": [1]}, "svm": {}}
    features = {"extractor": "bare", "vocabularies": {"a": sqrt, "b": sqrt}}
    parent = {"runs": 5, "sizes": [1], "methods": methods}
    studies = {"parent": parent, "own": {"like": "parent", "runs": 1, "methods": {"svm": None}}}
    replaced = {"parent": {"runs": 7, "sizes": [2], "methods": {"l1": {"radius": [9]}}}, "own": {"sizes": [3]}}
    mine = {"loader": "photos", "shards": 4, "studies": replaced, "features": {"vocabularies": {"a": tf_idf}}}
    datasets = {"mine": mine, "plain": {"loader": "photos", "studies": {"parent": {}}}}
    got = config_studies.datasets_of({"features": features, "studies": studies, "datasets": datasets})
    expected = {
        "loader": "photos",
        "options": {},
        "shards": "auto",
        "features": features,
        "studies": {"parent": parent},
        "settings": {},
    }
    assert got["plain"] == expected
    assert got["mine"]["features"] == {"extractor": "bare", "vocabularies": {"a": tf_idf, "b": sqrt}}
    assert (got["mine"]["shards"], got["mine"]["studies"]["own"]) == (
        4,
        {"runs": 1, "sizes": [3], "methods": {"l1": {"radius": [9]}}},
    )
    assert got["mine"]["studies"]["parent"] == {"runs": 7, "sizes": [2], "methods": methods | {"l1": {"radius": [9]}}}


def test_every_study_has_a_table_of_warnings_unless_it_only_measures_seconds(config):
    for block in (
        block for entry in config_studies.datasets_of(config).values() for block in entry["studies"].values()
    ):
        assert ("warnings" in config_studies.tables_of(block)) == (block["kind"] not in ("cost", "projection"))


@pytest.mark.parametrize(
    ("loader", "study"),
    [("photos", "own-words"), ("scenes", "own-classes"), ("arrays", "own-labels"), ("libsvm", "own-labels")],
)
def test_data_with_neither_studies_nor_final_have_final_fits_that_depend_on_the_loader(config, loader, study):
    options = dict.fromkeys(("root", *pick("datasets", loader).NEEDS), "a")
    config |= {"dataset": "mine", "datasets": config["datasets"] | {"mine": {"loader": loader, "options": options}}}
    check(config, SCHEMA)
    entry = config_studies.datasets_of(config)["mine"]
    assert (entry["final"], entry["studies"]) == ({"study": study, "norm": "auto"}, {})
    (block,) = entry["settings"].values()
    assert [method.partition("-")[0] for method in block["methods"]] == ["logistic"] * 4
    assert (block["words"]["n_words"], block["runs"], block["sizes"]) == ("auto", 2, {"auto": 3})
    compared = config_studies.datasets_of(config | {"compare": True})["mine"]
    assert compared == entry | {"studies": entry["settings"], "settings": {}}
    glance = config_studies.glance("mine", entry)
    assert glance["note"].startswith("A quick run: the final fit on at most 500 samples. Run")
    assert (glance["final"], glance["studies"], [*glance["settings"]]) == (entry["final"], {}, [study])


@pytest.mark.parametrize(
    ("final", "norms", "n_words"),
    [
        ({"norm": "l1"}, ["l1"], "auto"),
        ({"norm": ["l2", "l1"], "words": {"n_words": 374}}, ["l2", "l1"], 374),
        ({"like": "stories"}, ["l1", "l12", "l1inf", "l2"], 40),
    ],
)
def test_final_fits_may_override_norms_and_values_of_the_study_that_they_are_like(config, final, norms, n_words):
    config["datasets"]["flickr8k"]["final"] = final
    del config["datasets"]["flickr8k"]["studies"]["stories"]
    check(config, SCHEMA)
    entry = config_studies.datasets_of(config)["flickr8k"]
    assert (config_studies.final_norms(entry), [*entry["settings"]]) == (norms, [final.get("like", "own-words")])
    assert entry["settings"][entry["final"]["study"]]["words"]["n_words"] == n_words
    assert entry["studies"].keys() == config["datasets"]["flickr8k"]["studies"].keys()


def test_the_settings_of_a_run_are_only_the_settings_that_it_uses(config):
    names = ["documents", "synthetic"]
    settings = config_studies.settings_of(config, config_studies.datasets_of(config), names)
    assert (settings["dataset"], settings["seed"], [*settings["datasets"]]) == (names, config["seed"], names)
    assert set(settings["studies"]) == {study for name in names for study in config["datasets"][name]["studies"]}
    assert config_studies.merged(config, settings) == config | {"dataset": names}


@pytest.mark.parametrize("name", ["collage", "scene15", "reuters21578"])
def test_a_quick_run_has_one_run_at_one_size_of_one_study_and_says_so(config, name):
    entry = config_studies.datasets_of(config)[name]
    glance = config_studies.glance(name, entry)
    (block,) = glance["studies"].values()
    assert (block["runs"], block["sizes"], glance["most_samples"]) == (1, [10], 500)
    assert glance["note"].startswith("A quick run: one run at one size on at most 500 samples.") and glance[
        "note"
    ].endswith(entry.get("note", "use all samples."))
    with pytest.raises(ConfigError, match="quick is for datasets with a final fit, got 'synthetic'"):
        config_studies.glance("synthetic", config_studies.datasets_of(config)["synthetic"])


@pytest.mark.parametrize("kind", KINDS[1:])
def test_an_experiment_declares_its_datasets_and_tables(kind):
    experiment = pick("experiments", kind)
    assert experiment.SERVES in ("samples", "drawn")
    (name, folder), *others = experiment.TABLES.items()
    assert (name, folder) in ((kind, "tables"), (kind, "timings"))
    assert others in [[]] if folder == "timings" else ([], [(f"{kind}_seconds", "timings")])


@pytest.mark.parametrize("loader", config_studies.names_of("datasets"))
def test_a_dataset_declares_the_options_of_its_read(loader):
    plug_in = pick("datasets", loader)
    parameters = {} if plug_in.OFFERS == "drawn" else dict(inspect.signature(plug_in.read).parameters)
    if parameters.pop("options", None):  # passed on to read_folder
        passed_on = inspect.signature(read_folder).parameters.items()
        parameters |= {name: value for name, value in passed_on if value.kind == value.KEYWORD_ONLY}
    from_rule = {"smallest_side", "longest_side", "progress", "of_rule"}
    defaults = {name: value.default for name, value in parameters.items() if name not in from_rule}
    assert sorted(plug_in.TAKES) == sorted(defaults)
    assert set(plug_in.NEEDS) == {name for name, default in defaults.items() if default is inspect.Parameter.empty}
    if plug_in.OFFERS == "samples" and "root" in plug_in.TAKES:
        assert {*plug_in.ONLY_WITH, *plug_in.ONLY_WITHOUT} < set(plug_in.TAKES)


@pytest.mark.parametrize(("extractor", "function"), [("dense_sift", dense_sift.describe), ("onnx", Embedding.__init__)])
def test_an_extractor_declares_the_options_of_the_function_that_describes(extractor, function):
    assert [*inspect.signature(function).parameters][1:] == [*pick("features", extractor).TAKES]
    assert {"dense_sift", "onnx"} == {*config_studies.names_of("features")}


@pytest.mark.parametrize(
    ("room", "path"),
    [
        ("datasets", "/properties/datasets/additionalProperties/properties/options/properties"),
        ("features", "/properties/features/properties/options/properties"),
    ],
)
def test_the_schema_describes_exactly_the_options_of_all_plug_ins(room, path):
    assert {*INSIDE[path]} == {option for name in config_studies.names_of(room) for option in pick(room, name).TAKES}


# Raw files

IDX = ("train_images", "train_labels", "test_images", "test_labels")


@pytest.mark.parametrize("here", ["images", "images/run", "link"])
def test_a_run_inside_the_folder_of_its_pictures_is_refused(tmp_path, monkeypatch, here):
    (tmp_path / "images" / "run").mkdir(parents=True)
    (tmp_path / "link").symlink_to("images/run")
    monkeypatch.chdir(tmp_path / here)
    entry = {"loader": "photos", "options": {"root": str(tmp_path)}}
    with pytest.raises(ConfigError, match=r"^results must not be .* of the pictures, .*/images: run"):
        config_studies.raw_files("mine", entry)


@pytest.mark.parametrize(
    ("dataset", "options", "there", "expected"),
    [
        ("collage", {}, [], []),
        ("synthetic", {}, [], []),
        (
            "flickr8k",
            {},
            ["images/", "notes.csv"],
            ["images", "captions.csv", "splits.csv"],
        ),  # captions.csv may be added later
        ("flickr8k", {"captions": "words.txt"}, ["images/"], ["images", "words.txt", "splits.csv"]),
        ("scene15", {}, ["images/"], ["images", "splits.csv"]),
        ("mnist", dict(zip(IDX, "abcd", strict=True)), [*"abcde"], [*"abcd"]),
        ("flickr8k", {}, ["images"], "a folder 'images'"),  # images is a file
        ("flickr8k", {"root": "a" * 300}, [], "a folder 'images'"),
        ("reuters21578", {"train": "a", "test": "b"}, ["a", "b", "vocabulary.txt"], "'topics.txt'"),
    ],
)
def test_raw_files_are_the_files_that_a_dataset_is_read_from_and_a_missing_file_is_an_error_of_one_line(
    config, tmp_path, dataset, options, there, expected
):
    entry = config_studies.datasets_of(config)[dataset]
    root = str(tmp_path / options.get("root", ""))
    entry["options"] |= options | ({"root": root} if "root" in entry["options"] else {})
    for name in there:
        (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).touch()
    if isinstance(expected, str):
        with pytest.raises(ConfigError) as caught:
            config_studies.raw_files(dataset, entry)
        said = f"root must be a folder with {expected}, got {root!r}: put the data there, link it"
        assert str(caught.value) == f"{said}, or change root (config.yaml: datasets.{dataset}.options.root)"
    else:
        assert config_studies.raw_files(dataset, entry) == [str(tmp_path / name) for name in expected]


def test_pictures_are_counted_once_if_a_link_leads_back_to_their_folder(tmp_path, monkeypatch):
    images = tmp_path / "images"
    images.mkdir()
    (images / "all").symlink_to(".")
    for i in range(60):
        (images / f"{i}.jpg").touch()
    entry = {"loader": "photos", "shards": "auto", "options": {"root": str(tmp_path)}}
    monkeypatch.setattr(config_studies, "MOST_OF_SHARD", 25)
    assert config_studies.n_shards("mine", entry) == 4  # the next power of two above 60 / 25

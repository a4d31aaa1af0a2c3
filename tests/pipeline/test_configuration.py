"""The settings: config.yaml is read, a mistake is one line with its place, what blocks inherit is written out."""

import copy
import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml
from albums import lay
from code_hashes import PACKAGE, PLUG_INS, plug_in_file
from plan import Plan
from raw import Found

from jointsparse.pipeline.app.plain_yaml import load_file
from jointsparse.pipeline.settings import SettingError, read, studies
from jointsparse.pipeline.settings.datasets import LOADERS
from jointsparse.pipeline.settings.inheritance import merged, written_out
from jointsparse.pipeline.settings.schema import schema
from jointsparse.registry import pick, room

ROOT = Path(__file__).parents[2]
SMALL = Path(__file__).with_name("config.yaml")
SHIPPED = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))


def plan_of(config):
    plan = Plan(read(config), Found(fresh=True, environment={}))
    plan.require_shown()
    return plan


@pytest.mark.parametrize("name", [SHIPPED["dataset"], *SHIPPED["datasets"]])
def test_the_shipped_config_is_read_with_every_dataset_and_is_left_as_it_is(name):
    config = changed(SHIPPED, "dataset", name)
    assert plan_of(config).chosen == (name if isinstance(name, list) else [name])
    assert config == SHIPPED | {"dataset": name}


# Mistakes

A, SWEEP, OF_COLLAGE = "studies.annotation", "studies.annotation-sweep", "datasets.collage.studies.annotation"
FLICKR, FINAL = "datasets.flickr8k", "datasets.flickr8k.final"
RADIUS, ETA0 = f"{A}.methods.hinge-l1.radius", f"{A}.methods.hinge-l1.eta0"
GRID, ONE_METHOD = {"radius": [1]}, {"hinge-l1": None, "hinge-l2": None}
NOTHING_SHOWN = {"figures": [], "claims": []}
PHOTOS = {"loader": "scenes", "options": {"root": "x"}, "studies": {"annotation": {}}}
COSINE = {"measure": "cosine", "n_prototypes": 9}
OTHERS = "one of annotation, own-words, own-classes, own-labels, annotation-"
ABSENT = object()
UP = ".."  # as a place: the block of the key

# The path of a key, its value, a part of the message, and the place that it names (by default, or with an end: the key)
REFUSED = [
    # unknown keys
    (
        "datset",
        "collage",
        "unknown key 'datset' (did you mean dataset?); the keys here are compare, dataset",
        "top level",
    ),
    (f"{A}.basis.rnak", 9, "(did you mean rank?); the keys here are centred, fitted_on, power, rank", UP),
    (f"{OF_COLLAGE}.like", "text", "unknown key 'like'; the keys here are at_size, ", UP),
    (f"{FLICKR}.options.rot", "x", "unknown key 'rot' (did you mean root?); the keys here are caption, captions, ", UP),
    ("datasets.synthetic.options.seed", 1, "unknown key 'seed'; no keys are known here", UP),
    (FINAL, {"norms": "auto"}, "unknown key 'norms' (did you mean norm?)", None),
    ("datasets.my photos", PHOTOS, "a key of datasets must be named with 1 to 100 letters, digits, - and _", UP),
    ("datasets.mine\n", PHOTOS, "named with 1 to 100 letters, digits, - and _, got 'mine\\n'", UP),
    (f"datasets.{101 * 'a'}", PHOTOS, "named with 1 to 100 letters, digits, - and _, got 'aaa", UP),
    (("datasets", 2009), PHOTOS, "a key of datasets must be text, got 2009", "datasets"),
    ((True,), 1, "a key of the configuration must be text, got True", "top level"),  # yes: and on: in YAML
    # null removes only keys that exist
    (f"{A}.studies", None, "unknown key 'studies'", UP),
    (f"{A}.words.n_wrods", None, "unknown key 'n_wrods' (did you mean n_words?)", UP),
    # keys that have no effect because of another key
    (
        f"{SWEEP}.training.tol",
        0.1,
        "tol has no effect with solver: subgradient; it is for solver: pdhg or working_set",
        UP,
    ),
    (
        "datasets.collage.studies.annotation-sweep.training",
        {"sparsest": 0.5},
        "sparsest has no effect with solver",
        None,
    ),
    (
        "studies.scenes.similarities",
        COSINE | {"gamma": 1},
        "gamma has no effect with measure: cosine; it is for measure: rbf",
        None,
    ),
    (
        "datasets.documents.features",
        {"keep": []},
        "features has no effect with loader: documents; it is for loader: c",
        UP,
    ),
    ("datasets.reuters21578.final", {"vocabulary": "tree"}, "vocabulary is for datasets of pictures", ".vocabulary"),
    (ETA0, [1], "eta0 is not used with radius: auto: remove it, or give a list of radii and solver", None),
    (
        f"{SWEEP}.training.solver",
        "pdhg",
        "eta0 is not used with the solver pdhg: remove it, or give a list of radii",
        f"{SWEEP}.methods.hinge-l1inf.eta0",
    ),
    ("studies.text.words.min_length", 5, "min_length has no effect here: labels may have any length unless", None),
    (
        "datasets.collage.studies.annotation",
        {"methods": {"hinge-l1": GRID, "hinge-l1inf": GRID}, "training": {"sparsest": 0.5}},
        "sparsest has no effect here: it is for radius: auto with a norm that leaves features out (l1, l12, l1inf)",
        ".training.sparsest",
    ),
    (
        "datasets.scene15.features",
        {"vocabularies": {"words3000": {"depth": 2}}},
        "words3000 has no effect here: no study of this dataset has vocabulary: words3000",
        ".vocabularies.words3000",
    ),
    (
        "datasets.documents.studies.text",
        {"methods": ONE_METHOD | {"hinge-l1inf": None, "svm-l2": {"C": [1]}}, "training": {"tol": 0.1}} | NOTHING_SHOWN,
        "training has no effect here: it is for methods named loss-norm, and this study has only svm-l2",
        ".training",
    ),
    (
        "datasets.reuters21578.studies.text",  # a final fit resamples, too
        {"methods": ONE_METHOD, "tests": {"n_resamples": 50, "n_pairings": 5}} | NOTHING_SHOWN,
        "n_pairings has no effect here: it compares methods, and this study has only one",
        ".tests.n_pairings",
    ),
    (
        "datasets.reuters21578.studies.text-whitened-600",
        {"methods": ONE_METHOD, "tests": {"n_resamples": 50}} | NOTHING_SHOWN,
        "n_resamples has no effect here: it compares methods, and this study has only one",
        ".tests.n_resamples",
    ),
    ("datasets.mnist.options.seed", 1, "seed has no effect without validation_fraction: give both or neither", None),
    (
        "datasets.flickr8k.options.split_names",
        {"train": "a", "validation": "a"},
        "split_names must be a block whose values differ, got",
        None,
    ),
    ("datasets.reuters21578.options.fractions", {"train": 1}, "fractions has no effect beside test: remove one", None),
    (
        "datasets.mine",
        {"loader": "tagged", "options": {"root": "x", "labels": "l", "tags": "t", "group": "g", "group_by": "folder"}},
        "group_by has no effect beside group: remove one",
        "datasets.mine.options.group_by",
    ),
    (
        "datasets.mine",
        {"loader": "tagged", "options": {"root": "x", "labels": "l", "tags": "t", "split": "s", "splits": "m"}},
        "split has no effect beside splits: remove one",
        "datasets.mine.options.split",
    ),
    (FINAL, {"study": "annotation", "words": {}}, "words has no effect beside study: write it into the study", None),
    (FINAL, {"stability": 25, "norm": ["l2", "l1"]}, "stability has no effect with the norm l2", ".stability"),
    ("compare", True, "compare adds the study named by final.like, and there is none for collage", None),
    # names that do not exist
    ("dataset", "flickr", "dataset must be one of mnist, reuters21578, ", None),
    ("datasets.collage.loader", "foto", f"loader must be one of {', '.join(sorted(LOADERS))}, got 'foto'", None),
    ("features.extractor", "surf", "extractor must be one of dense_sift, onnx, got 'surf'", None),
    ("features.vocabularies.tree.weighting", "tfidf", "weighting must be count, sqrt or tf-idf, got 'tfidf'", None),
    (f"{A}.training.solver", "adam", "solver must be one of pdhg, subgradient, working_set, got 'adam'", None),
    (f"{A}.methods.hinge-l3", GRID, "norm must be one of l1, l12, l1inf, l2, got 'l3'", None),
    (f"{A}.methods.hing-l1", GRID, "loss must be one of hinge, logistic, squared, got 'hing'", None),
    (f"{A}.methods.hinge", GRID, "a method must be named loss-norm or svm-l2, got 'hinge'", None),
    (f"{A}.methods.hinge-l1", {"C": [1]}, "C is for svm-l2, and other methods have the key radius", ".C"),
    (f"{A}.kind", "world", "kind must be one of cost, digits, exponentiated, online, operations, projection, ", None),
    ("features.extractor", None, "extractor must be one of dense_sift, onnx, got nothing", None),
    (
        f"{FLICKR}.options.captions",
        {"train": "a.csv", "tset": "b.csv"},
        "a key of captions must be train, validation, test or unlabelled, got 'tset'",
        None,
    ),
    (f"{A}.vocabulary", "bush", "vocabulary must be one of tree, words3000, got 'bush'", None),
    ("studies.stories.at_size", 31, "at_size must be one of 15, 30, 60, 120, 240, got 31", None),
    (f"{SWEEP}.like", "text-2", f"like must be {OTHERS}", None),
    (
        f"{A}.like",
        "annotation-power-chosen",
        "like must be one of own-words, own-classes, own-labels, annotation-sweep, ",
        "studies.annotation-power-chosen.like",
    ),
    ("datasets.collage.studies.anotation", {}, f"a study must be {OTHERS}", UP),
    (FINAL, {"norm": "l3"}, "norm must be auto, l1, l12, l1inf, l2 or a list, got 'l3'", ".norm"),
    (
        FINAL,
        {"like": "stories"},
        "stories is a study of this dataset, so the final fit can use it: write study: stories",
        ".like",
    ),
    ("datasets.documents.final", {"like": "own-label"}, f"like must be {OTHERS}", ".like"),
    (FINAL, {"study": "scenes"}, "got 'scenes': write like: scenes to take only its settings", ".study"),
    (
        "datasets.collage.studies",
        ABSENT,
        "study must be one of the dataset's studies of words",
        "datasets.collage.final.study",
    ),
    # figures and claims
    (f"{A}.figures", ["roc"], "figures must be one of convergence, auc, auc_by_size, eer, ", "[0]"),
    (f"{A}.claims", ["auc-oder"], "names, of which the most similar are auc-order, ", "[0]"),
    (f"{A}.figures", ["cost"], "cost needs the table 'cost' (kind: cost), which this study does not have", "[0]"),
    (
        "studies.recovery.claims",
        ["projection-over-entropic"],
        "needs the table 'digits' (kind: digits) or 'exponentiated' (kind: exponentiated), which",
        "[0]",
    ),
    (
        "studies.stories.methods",
        {"hinge-l1": {"radius": "auto"}},
        "eer-order needs the table 'differences' (requires two methods), which this study does not have",
        "studies.stories.claims[0]",
    ),
    # kinds of studies and datasets
    ("datasets.collage.studies.recovery", {}, "kind must be words for the loader collage, got 'recovery'", None),
    (FINAL, {"like": "recovery"}, "kind must be words for the loader photos, got 'recovery'", None),
    ("datasets.collage.studies.text", {}, "the key 'vocabulary' is missing; studies of pictures need it", None),
    (f"{A}.similarities", COSINE, "a basis or similarities, not both: set one of them to null", UP),
    (
        "datasets.scene15.final",
        {"like": "stories", "basis": None, "similarities": COSINE},
        "like must be a study of words without similarities, got 'stories'",
        ".like",
    ),
    # test images must not be fitted on
    (f"{A}.basis.fitted_on", ["train", "test"], "fitted_on must be train, validation or unlabelled, got 'test'", "[1]"),
    # numbers out of range
    (f"{A}.basis.power", [1, -1], "power must be at least 0, got -1", "[1]"),
    (ETA0, [0], "eta0 must be greater than 0, got 0", "[0]"),
    (f"{A}.basis.rank", 0, "rank must be at least 1, full or auto, got 0", None),
    ("datasets.scene15.options.validation_fraction", 1, "validation_fraction must be less than 1, got 1", None),
    ("seed", -1, "seed must be at least 0, got -1", None),
    ("seed", 2**32, "seed must be at most 4294967295, got 4294967296", None),  # scikit-learn takes no larger one
    (RADIUS, [1e300], "radius must be at most 1e+15, got 1e+300", "[0]"),
    (RADIUS, [float("nan")], "radius must be a finite number, got nan", "[0]"),
    (f"{A}.words.n_validation_words", 40, "n_validation_words must be less than n_words = 40, got 40", None),
    (f"{OF_COLLAGE}.words", {"n_words": 10}, "must be less than n_words = 10, got 10", ".n_validation_words"),
    (
        f"{A}.words",
        {"n_words": "auto", "n_validation_words": 1},
        "auto if n_words is auto, got 1",
        ".n_validation_words",
    ),
    ("features.options.step", -(10**400), "step must be at least 1, got -1000", None),
    (
        "datasets.collage.options.fractions",
        {"train": 1, "test": 0.1},
        "must be numbers that add up to 1, got {'tr",
        None,
    ),
    (
        "datasets.collage.options.fractions",
        {"train": 0.5},
        "fractions must be numbers that add up to 1, got {'tr",
        None,
    ),
    # values of another type
    (f"{A}.basis.rank", 10.0, "rank must be a whole number, full or auto, got 10.0", None),
    (ETA0, ["1e-3"], "eta0 must be a finite number, got '1e-3', which YAML reads as text", "[0]"),
    ("seed", True, "seed must be a whole number, got True", None),
    (f"{A}.basis.centred", 1, "centred must be true or false, got 1", None),
    (f"{A}.sizes", "all", "sizes must be a list, a block of keys or auto, got 'all'", None),
    (RADIUS, 3, "radius must be a list or auto, got 3", None),
    ("dataset", 5, "dataset must be text or a list, got 5", None),
    (OF_COLLAGE, None, "annotation must be a block of keys, got nothing", None),
    ((), [1, 2], "the configuration must be a block of keys, got [1, 2]", "top level"),
    ((), None, "the configuration must be a block of keys, got nothing", "top level"),
    # lists, blocks and texts that are empty, repeat themselves, or have forbidden parts
    ("dataset", [], "dataset must be a list with 1 or more entries, got []", None),
    ("dataset", ["collage", "collage"], "dataset must be a list without duplicates, got", None),
    (RADIUS, [], "radius must be a list with 1 or more entries or auto, got []", None),
    (f"{A}.sizes", [40, 40], "sizes must be a list without duplicates or auto, got [40, 40]", None),
    (f"{A}.methods", {}, "methods must be a block with 1 or more entries, got {}", None),
    ("features.options.patch_sizes", [16] * 1000, "without duplicates, got [16, 16, 16, ", None),
    (f"{FLICKR}.options.root", "", "root must be a text that is not empty, got ''", None),
    (f"{FLICKR}.options.root", "data/{x}", "root must be free of braces, which Snakemake reads as wildcards", None),
    ("datasets.collage.note", "</script><script>", "note must be free of </ and <!, which would end a script", None),
    # names of results folders
    ("datasets.Claims", PHOTOS, "'Claims' is already the name of a results folder", None),
    ("datasets.Flickr8k", PHOTOS, "'Flickr8k' is already the name of a results folder, apart from upper", None),
    ("studies.Text", SHIPPED["studies"]["text"], "'Text' is already the name of a results folder", None),
    # missing keys
    ("dataset", 2024, "dataset must be text or a list, got 2024, which is text only in quotes", None),
    ("dataset", ABSENT, "the key 'dataset' is missing", "top level"),
    (f"{FLICKR}.options", {}, "the key 'root' is missing", None),
    ("studies.mine", {"lik": "text"}, "unknown key 'lik' (did you mean like?)", None),
    ("datasets.mine", {"loadr": "scenes"}, "unknown key 'loadr' (did you mean loader?)", None),
    (f"{A}.kind", ABSENT, "the key 'kind' is missing", UP),
    (f"{A}.methods.svm-l2", GRID, "the key 'C' is missing; svm-l2 needs it", None),
    (f"{SWEEP}.methods.hinge-l1.eta0", ABSENT, "the key 'eta0' is missing; the solver subgradient needs it", UP),
    (
        f"{SWEEP}.methods.hinge-l1.radius",
        "auto",
        "radius: auto needs tol and a solver that stops at a duality gap",
        None,
    ),
]


def changed(config, path, value):
    *blocks, key = path.split(".") if isinstance(path, str) else path
    inside = config = copy.deepcopy(config)
    for name in blocks:
        inside = inside.setdefault(name, {})
    if value is ABSENT:
        del inside[key]
    else:
        inside[key] = value
    return config


LONGEST = 820  # characters of a message with names of any length: ten lines of a terminal


@pytest.mark.parametrize(("path", "value", "said", "place"), REFUSED)
def test_a_mistake_is_one_line_with_its_place(path, value, said, place):
    with pytest.raises(SettingError) as caught:
        plan_of(changed(SHIPPED, path, value) if path else value)
    where, got = path if isinstance(path, str) else ".".join(map(str, path)), str(caught.value)
    if place == UP:
        place = where.rpartition(".")[0]
    elif place is None or place[0] in ".[":
        place = where + (place or "")
    assert said in got and got.endswith(f" (config.yaml: {place})")
    assert "\n" not in got and len(got) <= LONGEST


ODD = [None, 0.5, True, "a\nb", [[]], {3: 1}, {"a\nb": {}}, {3000 * "y": {"like": 3000 * "q"}}]
FEW = SHIPPED | {
    "dataset": "mine",
    "studies": {name: SHIPPED["studies"][name] for name in ("annotation", "annotation-sweep", "own-words", "race")},
    "datasets": {
        "mine": {"loader": "photos", "options": {"root": "x"}, "final": {"like": "annotation", "runs": 1}},
        "other": {"loader": "collage", "studies": {"annotation-sweep": {"runs": 2}}},
        "drawn": {"loader": "synthetic", "studies": {"race": {}}},
    },
}


def all_paths(value, *path):
    yield path
    for key in value if isinstance(value, dict) else range(len(value) if isinstance(value, list) else 0):
        yield from all_paths(value[key], *path, key)


def test_whatever_a_value_is_reading_ends_with_settings_or_one_line():
    lines = set()
    for path in all_paths(FEW):
        for value in ODD:
            try:
                read(changed(FEW, path, copy.deepcopy(value)) if path else value)
            except SettingError as error:
                lines.add(str(error))
    assert len(lines) > 300, "the values meet most checks"
    assert not [line for line in lines if not line.isprintable() or len(line) > LONGEST]


# The schema, and the plug-ins


def test_the_schema_in_the_project_is_that_of_the_classes():
    assert json.loads((ROOT / "config" / "schema.json").read_text(encoding="utf-8")) == schema()


def test_the_schema_accepts_configs_as_users_write_them_and_rejects_mistakes():
    fits = jsonschema.Draft202012Validator(schema())
    fits.validate(yaml.safe_load(SMALL.read_text(encoding="utf-8")))
    fits.validate(changed(SHIPPED, f"{SWEEP}.training.tol", None))
    wrong = {f"{A}.basis.rnak": 9, f"{A}.figures": ["roc"], "seed": -1, f"{SWEEP}.training.tol": 0.1}
    assert not [path for path, value in wrong.items() if fits.is_valid(changed(SHIPPED, path, value))]


@pytest.mark.parametrize("name", PLUG_INS)
def test_settings_know_exactly_the_registered_plug_ins_and_their_files(name):
    assert {*PLUG_INS[name]} == {*room(name)}
    for plug_in in PLUG_INS[name]:
        assert Path(pick(name, plug_in).__file__) == PACKAGE / plug_in_file(name, plug_in)


def test_settings_know_what_norms_and_solvers_can_do():
    assert tuple(name for name in studies.NORMS if pick("norms", name).SPARSE) == studies.SPARSE_NORMS
    solvers = {solver: pick("solvers", solver) for solver in studies.SOLVERS}
    for block, can in ((studies.Certified, "STOPS_AT_TOL"), (studies.Subgradient, "TAKES")):
        assert [*studies.tags_of(block, "solver")] == [name for name, solver in solvers.items() if getattr(solver, can)]


# Inheritance


@pytest.mark.parametrize(
    ("block", "over", "expected"),
    [
        ({"a": {"b": 1, "c": [1, 2]}, "d": 4}, {"a": {"c": [9]}, "e": 5}, {"a": {"b": 1, "c": [9]}, "d": 4, "e": 5}),
        ({"a": {"b": 1, "c": 2}, "d": 4}, {"a": {"b": None}, "d": None}, {"a": {"c": 2}}),
        ({"a": 1, "b": {"c": 2}}, {"a": {"c": 3}, "b": 4}, {"a": {"c": 3}, "b": 4}),
        ({}, {"a": {"b": None}}, {"a": {"b": None}}),  # refused later if unknown
        *(
            (
                {"x": {tag: "one", "of one": 1}},
                {"x": {tag: other, "of two": 2}},
                {"x": {tag: other, **kept, "of two": 2}},
            )
            for tag in ("loader", "solver")
            for other, kept in (("two", {}), ("one", {"of one": 1}))
        ),
    ],
)
def test_merging_replaces_values_inside_blocks_and_starts_a_block_of_another_kind_empty(block, over, expected):
    before = copy.deepcopy((block, over))
    assert (merged(block, over), (block, over)) == (expected, before)


def test_a_dataset_overrides_features_its_studies_and_the_studies_that_they_are_like():
    parent = {"runs": 5, "sizes": [1], "methods": {"l1": {"radius": [1]}, "svm": {}}}
    config = {
        "features": {"extractor": "bare", "vocabularies": {"a": {"weighting": "sqrt"}, "b": {"weighting": "sqrt"}}},
        "studies": {"parent": parent, "own": {"like": "parent", "runs": 1, "methods": {"svm": None}}},
        "datasets": {
            "mine": {
                "loader": "photos",
                "shards": 4,
                "studies": {
                    "parent": {"runs": 7, "sizes": [2], "methods": {"l1": {"radius": [9]}}},
                    "own": {"sizes": [3]},
                },
                "features": {"vocabularies": {"a": {"weighting": "tf-idf"}}},
            },
            "plain": {"loader": "documents", "studies": {"parent": {}}},
        },
    }
    assert written_out(config) == {
        "features": config["features"],
        "studies": {"parent": parent, "own": {"runs": 1, "sizes": [1], "methods": {"l1": {"radius": [1]}}}},
        "datasets": {
            "mine": {
                "loader": "photos",
                "shards": 4,
                "studies": {
                    "parent": {"runs": 7, "sizes": [2], "methods": {"l1": {"radius": [9]}, "svm": {}}},
                    "own": {"runs": 1, "sizes": [3], "methods": {"l1": {"radius": [9]}}},
                },
                "features": {
                    "extractor": "bare",
                    "vocabularies": {"a": {"weighting": "tf-idf"}, "b": {"weighting": "sqrt"}},
                },
            },
            "plain": {"loader": "documents", "studies": {"parent": parent}},
        },
    }


@pytest.mark.parametrize(
    ("loader", "options", "study"),
    [
        ("photos", {}, "own-words"),
        ("arrays", {"features": "a", "labels": "b"}, "own-labels"),
    ],
)
def test_data_with_neither_studies_nor_final_have_final_fits_that_depend_on_the_loader(loader, options, study):
    mine = {"loader": loader, "options": {"root": "x"} | options}
    config = merged(SHIPPED, {"dataset": ["collage", "mine"], "datasets": {"mine": mine}})
    mine, compared = (read(config | {"compare": compare}).datasets["mine"] for compare in (False, True))
    assert (mine.studies, mine.final.study, mine.final.norms) == ({}, study, ["l1", "l12", "l1inf", "l2"])
    block = mine.blocks[study]
    assert [*block.methods] == [f"logistic-{norm}" for norm in ("l1inf", "l12", "l1", "l2")]
    assert (block.words.n_words, block.runs, block.sizes.auto) == ("auto", 2, 3)
    assert (compared.studies, compared.final.settings) == ({study: block}, None)


@pytest.mark.parametrize(
    ("final", "norms", "n_words"),
    [
        ({"norm": "l1"}, ["l1"], "auto"),
        ({"norm": ["l2", "l1"], "words": {"n_words": 374}}, ["l2", "l1"], 374),
        ({"like": "stories"}, ["l1", "l12", "l1inf", "l2"], 40),
    ],
)
def test_final_fits_may_override_values_of_the_study_that_they_are_like(final, norms, n_words):
    config = changed(changed(SHIPPED, FINAL, final), f"{FLICKR}.studies.stories", ABSENT)
    dataset = read(config).datasets["flickr8k"]
    assert (dataset.final.norms, dataset.final.study) == (norms, final.get("like", "own-words"))
    assert dataset.final.settings.words.n_words == n_words
    assert dataset.studies.keys() == config["datasets"]["flickr8k"]["studies"].keys()


@pytest.mark.parametrize(
    "path",
    [f"{A}.methods.svm-l2", f"{A}.training.sparsest", "studies.recovery.weights"],
)
def test_a_null_leaves_a_value_of_a_study_to_its_default_even_where_nothing_is_inherited(path):
    assert read(changed(SHIPPED, path, None)) == read(changed(SHIPPED, path, ABSENT))


# The file, before Snakemake reads it

BOMB = "".join(f"{chr(i + 1)}: &{chr(i + 1)} {{x: *{chr(i)}, y: *{chr(i)}}}\n" for i in range(ord("a"), ord("y")))
SEEMS = "is not read as it looks: put it in quotes, or write a decimal number"


@pytest.mark.parametrize(
    ("content", "said", "line"),
    [
        (b"a: 1\nb: 2\na: 3\n", "the key 'a' occurs twice in one block", 3),
        (b"a: &a {x: 1}\n" + BOMB.encode(), "aliases are not allowed: repeat the value instead, got *a", 2),
        (b"a: &a [*a]\n", "aliases are not allowed: repeat the value instead, got *a", 1),
        (b"[" * 100_000, "blocks and lists may be nested at most 50 deep", 1),
        (b"a: 010\n", f"'010' {SEEMS}", 1),
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
        (b"a: \0\n", "the file is not YAML: it contains the character 0x00", 1),
        (b"a: 1\n# caf\xe9\n", "the file must be UTF-8 text, got byte 0xe9", 2),
        (b"#" * 1_000_001, "the file may have at most 1,000,000 bytes, got 1,000,001", 1),
    ],
)
def test_a_file_that_would_be_misread_gives_an_error_of_one_line(tmp_path, content, said, line):
    file = tmp_path / "config.yaml"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=rf"\A{re.escape(said)}[^\n]{{,150}} \(config\.yaml, line {line}\)\Z"):
        load_file(file)


PLAIN = "\ufeffa: 1\n", '{"a": [1, "b"]}', "a: '010'\nb: -3\nc: 1.0e-3\nd: 1_000\ne: null\nf: yes\n", "# nothing\n"


def test_plain_yaml_and_json_are_read(tmp_path):
    lay(tmp_path, {f"{i}.yaml": text for i, text in enumerate(PLAIN)})
    for file in (*tmp_path.iterdir(), ROOT / "config.yaml", SMALL, *(ROOT / "profiles").glob("*/config.yaml")):
        assert load_file(file) == yaml.safe_load(file.read_bytes())

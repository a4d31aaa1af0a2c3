"""Every setting of config.yaml either changes a job or is refused with one sentence that says why it has no effect."""

import copy
import json
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from common import run_python
from configuration import studies as config_studies
from configuration.check import Validator, check
from configuration.file import ConfigError
from miniature import jobs
from runs import with_bare

from jointsparse.pipeline.datasets.splits import SPLITS
from jointsparse.pipeline.papers.catalogue import FIGURES
from jointsparse.pipeline.papers.verdicts import CLAIMS
from jointsparse.registry import pick

ROOT = Path(__file__).parents[2]
SHIPPED = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
SCHEMA = ROOT / "workflow" / "config.schema.yaml"
KEYS = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))

# The leaves of the schema


def resolved(schema):
    """Return a schema with its references resolved."""
    while "$ref" in schema:
        place = KEYS
        for key in schema["$ref"].removeprefix("#/").split("/"):
            place = place[key]
        schema = place | {key: value for key, value in schema.items() if key != "$ref"}
    return schema


def leaves(schema, *path):
    """Yield the path and the schema of each setting in a block; * stands for a name that users choose."""
    schema = resolved(schema)
    others = schema.get("additionalProperties")
    inside = schema.get("properties", {}) | ({"*": others} if isinstance(others, dict) else {})
    for key, one in inside.items():
        yield from leaves(one, *path, key)
    if not inside or "null" in schema.get("type", ()):
        yield path, schema


OF_ROOT = dict(leaves(KEYS))
OF_KINDS = {kind: dict(leaves(block)) for kind, block in KEYS["$defs"]["kinds"].items()}
BLOCKS = {("features",), ("studies", "*")}  # blocks that a dataset overrides, whose keys are elsewhere in the schema
OF_DATASET = {path[2:]: one for path, one in OF_ROOT.items() if path[:2] == ("datasets", "*")}
OF_DATASET |= {path: one for path, one in OF_ROOT.items() if path[0] == "features"}
OF_DATASET = {path: one for path, one in OF_DATASET.items() if path not in BLOCKS}
ALONE = {
    ("dataset",),
    ("seed",),
    ("quick",),
    ("compare",),
    ("studies", "*", "like"),
}  # settings that no dataset overrides

# Small datasets for each loader, with studies of each kind


def like(study, methods, **values):
    block = config_studies.full_block(SHIPPED, study)
    few = {"runs": 1, "sizes": [10, 20, 40], "at_size": 10, "selection": "best"}
    shown = {"figures": ["auc"], "claims": ["joint-sparsity"]}
    return config_studies.merged(block | {"methods": methods}, few | shown | values)


AUTO, RADII, GRID, C = {"radius": "auto"}, {"radius": [1, 2]}, {"radius": [1, 2], "eta0": [1, 2]}, {"C": [1, 2]}
LISTS = {"training": {"sparsest": None}}
STUDIES = {kind: SHIPPED["studies"][kind] for kind in config_studies.names_of("experiments")} | {
    "paths": like("annotation", {"hinge-l1inf": AUTO, "svm-l2": C}),
    "similarities": like("scenes", {"hinge-l1": AUTO, "hinge-l2": RADII}, similarities={"measure": "rbf"}),
    "steps": like("annotation-sweep", {"hinge-l1inf": GRID, "svm-l2": C}, vocabulary=None, basis=None, **LISTS),
    "labels": like("text", {"hinge-l1": RADII}, **LISTS),
    "dense": like("text", {"hinge-l2": AUTO, "squared-l1": RADII}, **LISTS),
    "svm": like("text", {"svm-l2": C}, **LISTS),
    "pictures": like("annotation", {"svm-l2": C}, basis=None, **LISTS),
    "settings": like("annotation", {"svm-l2": C}, **LISTS),
    "other": like("annotation", {"svm-l2": C}, **LISTS),
}
FEATURES = config_studies.merged(SHIPPED["features"], {"options": {"clip": 0.3}})
FOLDERS = dict.fromkeys(("photos", "scenes", "tagged", "keywords"), "pictures")
FOLDERS |= dict.fromkeys(("arrays", "idx", "libsvm"), "samples")


def entry_of(loader, study, **more):
    plug_in = pick("datasets", loader)
    options = {key: FOLDERS[loader] if key == "root" else key for key in plug_in.NEEDS}
    shards = {"shards": 2} if plug_in.OFFERS == "pictures" else {}
    return {"loader": loader, "options": options, "studies": {f"of-{study}": {}}} | shards | more


ENTRIES = [
    entry_of("collage", "paths", final={"study": "of-paths", "norm": "l1inf"}),
    entry_of("collage", "similarities"),
    entry_of("documents", "svm", final={"study": "of-svm", "norm": "l1"}, studies={"of-svm": {}, "of-labels": {}}),
    *(entry_of("documents", study) for study in ("labels", "steps", "dense", "exponentiated", "online")),
    *(entry_of("synthetic", study) for study in ("recovery", "cost", "operations", "projection", "race")),
    entry_of("photos", "pictures", features={"extractor": "bare"}, final={"like": "of-settings", "norm": "l1"}),
    entry_of("scenes", "pictures", features={"extractor": "onnx", "options": {"model": "samples/other"}}),
    *(entry_of(loader, "pictures", features={"extractor": "bare"}) for loader in ("tagged", "keywords")),
    *(entry_of(loader, "svm") for loader in ("arrays", "idx", "libsvm")),
    entry_of("digits", "digits"),
]


def lay(folder):
    """Create files and folders with all names that options have, or are changed to.

    The content of a file is its name, as the name of a producer in an ONNX file.
    """
    files = ["other", *(name for loader in ("arrays", "idx", "libsvm") for name in pick("datasets", loader).FILES)]
    for path in [*(f"samples/{one}" for name in files for one in (name, f"{name}2")), "pictures/images/a.png"]:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"\x12{chr(len(path))}{path}")
    (folder / "pictures" / "other").symlink_to("images")
    for name in ("samples", "pictures"):
        (folder / f"{name}2").symlink_to(name)


# Changes of a setting

BASE = "w-any"  # the dataset whose settings are changed
VALUES = {  # for settings whose allowed values depend on other settings
    ("studies", "*", "vocabulary"): ["words3000"],
    ("studies", "*", "at_size"): [20],
    ("final", "study"): ["of-labels"],
    ("final", "like"): ["of-other"],
    **{("features", "options", colours): [[0.1, 0.2, 0.3]] for colours in ("mean", "std")},
    **{("options", "fractions", one): [dict.fromkeys(SPLITS, 0.2) | {one: 0.4}] for one in SPLITS},
}
POOL = (1, 2, 3, 0.5, 0.2, True, False, "other")  # tried if neither the schema nor the current value suggests values
VALID = Validator(KEYS | {"$schema": None})


def config_of(entry):
    names = [*entry["studies"], *(["of-settings", "of-other"] if "like" in entry.get("final", {}) else [])]
    studies = {name: STUDIES[name.removeprefix("of-")] for name in names}
    config = {"dataset": BASE, "seed": 1, "datasets": {BASE: entry}, "features": FEATURES, "studies": studies}
    return copy.deepcopy(config)


def at(block, path):
    for key in path:
        block = block.get(key) if isinstance(block, dict) else None
    return block


def changed(config, path, value):
    """Return a configuration with another value at a path."""
    block = config = copy.deepcopy(config)
    for key in path[:-1]:
        block[key] = block.get(key) or {}
        block = block[key]
    block[path[-1]] = value
    return config


def words_in(schema):
    """Yield the words that a schema allows."""
    schema, known = resolved(schema), {"kinds": OF_KINDS, "figures": FIGURES, "claims": CLAIMS}
    if "known" in schema:
        yield from known.get(schema["known"]) or config_studies.names_of(schema["known"])
    yield from schema.get("enum", [schema["const"]] if "const" in schema else [])
    for one in [*schema.get("anyOf", ()), *(schema[key] for key in ("then", "else", "items") if key in schema)]:
        yield from words_in(one)


def others(schema, now):
    """Return other values that a schema allows, one of each type."""
    listed = now if isinstance(now, list) else []
    one = listed[-1] if listed else now
    near = [one + 1, one / 2] if type(one) in (int, float) else [f"{one}2"] if isinstance(one, str) else []
    single = [*near, *words_in(schema), *POOL]
    tried = [*single, listed[:-1], *([*listed, one] for one in single), *([None] if now else [])]
    valid = [one for one in tried if VALID.evolve(schema=schema).is_valid(one) and (type(one), one) != (type(now), now)]
    return [*{type(one): one for one in reversed(valid)}.values()]


def paths_of(leaf, block):
    """Return the paths of a leaf in a block, where * is each name that the schema does not list."""
    paths = [()]
    for key in leaf:
        keys = {
            path: [one for one in at(block, path) or () if one != "svm-l2"] if key == "*" else [key] for path in paths
        }
        paths = [(*path, key) for path in paths for key in keys[path]]
    return [path[:2] if path[:2] == ("options", "fractions") else path for path in paths]


def changes_of(entry, seen):
    """Yield each setting of a dataset's entry and of its first study: its leaf in the schema, its path, other values.

    seen: loaders and studies whose settings have been changed before.
    """
    full = config_studies.datasets_of(config_of(entry))[BASE]
    study, block = next(iter(full["studies"].items()))
    every = {} if entry["loader"] in seen else OF_DATASET
    if study not in seen:
        every = every | {("studies", study, *path): one for path, one in OF_KINDS[block["kind"]].items()}
    seen |= {entry["loader"], study}
    for leaf, schema in every.items():
        for path in paths_of(leaf, full):
            now = at(full, path)
            # The optional keys of a block are leaves.
            if "const" not in schema and (now or "properties" not in schema):
                leaf = tuple("*" if key == study else key for key in leaf)
                yield leaf, path, VALUES.get(leaf) or others(schema, now)


def refusal(config):
    try:
        check(config, SCHEMA)
    except ConfigError as error:
        return str(error)


@with_bare
def print_jobs(*overlays):
    """Print the values from which each dataset's jobs are made, except for jobs that only write settings."""
    by_dataset = defaultdict(list)
    for rule, rule_jobs in ((rule, group) for overlay in overlays for rule, group in jobs(ROOT, ".", overlay).items()):
        for job in rule_jobs:
            if rule == "judge_claims":
                for one in job.params.studies:
                    by_dataset[one["dataset"]].append([rule, one])
            elif hasattr(job.wildcards, "dataset"):
                given = [file for file in job.input if not file.startswith("results/claims/")]
                by_dataset[job.wildcards.dataset].append([rule, dict(job.wildcards.items()), given, [*job.params]])
    print(
        json.dumps({name: sorted(json.dumps(one).replace(name, BASE) for one in of) for name, of in by_dataset.items()})
    )


class Change(NamedTuple):
    """A changed setting: its leaf in the schema, the sentence that refuses it, and the names of old and new dataset."""

    leaf: tuple
    path: tuple
    value: object
    refusal: str | None
    base: str
    name: str


@pytest.fixture(scope="module")
@with_bare
def walk(tmp_path_factory):
    """Return every change, and the jobs of each dataset."""
    folder, entries, changes, seen, tried = tmp_path_factory.mktemp("walk"), {}, [], set(), set()
    lay(folder)
    for entry in ENTRIES:
        config, base = config_of(entry), f"w-{len(entries):03}"
        assert refusal(config) is None
        entries[base] = entry
        for leaf, path, values in changes_of(entry, seen):
            assert values, f"no other value is known for {leaf}"
            for value in values:
                new, name = changed(config, ("datasets", BASE, *path), value), f"w-{len(entries):03}"
                change = Change(leaf, path, value, refusal(new), base, name)
                kind = leaf, type(value), pick("datasets", entry["loader"]).OFFERS
                if change.refusal is None and kind in tried:
                    continue  # a dataset of this kind was already planned with a value of this type
                changes.append(change)
                if change.refusal is None:
                    tried.add(kind)
                    entries[name] = new["datasets"][BASE]
    # A results folder is named after all datasets, and may have at most 255 characters.
    parts = [[*entries][start : start + 40] for start in range(0, len(entries), 40)]
    overlays = [{"dataset": names, "datasets": {name: entries[name] for name in names}} for names in parts]
    overlays += [{"dataset": ["w-seed"], "datasets": {"w-seed": ENTRIES[0]}, "seed": 2}]
    overlays += [{"dataset": ["w-glance"], "datasets": {"w-glance": ENTRIES[0]}, "quick": True}]
    (alike,) = [entry for entry in ENTRIES if "like" in entry.get("final", {})]
    for name, compare in (("w-alone", False), ("w-compare", True)):
        overlays += [{"dataset": [name], "datasets": {name: alike}, "compare": compare}]
    shared = {"features": FEATURES, "studies": {f"of-{name}": block for name, block in STUDIES.items()}}
    for i, overlay in enumerate(overlays):
        (folder / f"{i}.json").write_text(json.dumps(overlay | shared))
    code = "import sys; from test_settings import print_jobs; print_jobs(*sys.argv[1:])"
    made = run_python("-c", code, *(f"{i}.json" for i in range(len(overlays))), cwd=folder)
    return changes, json.loads(made)


def test_the_walk_knows_each_block_of_the_schema():
    of_dataset = {(*([] if path[0] == "features" else ["datasets", "*"]), *path) for path in OF_DATASET}
    assert OF_ROOT.keys() == of_dataset | {("datasets", "*", *path) for path in BLOCKS} | ALONE
    assert {entry["loader"] for entry in ENTRIES} == {*config_studies.names_of("datasets")}
    assert {block["kind"] for block in STUDIES.values()} == {*OF_KINDS}


def test_each_setting_changes_a_job_or_is_refused_in_a_sentence(walk):
    changes, made = walk
    accepted = [one for one in changes if one.refusal is None]
    assert [(one.path, one.value) for one in accepted if made[one.name] == made[one.base]] == []
    assert [one.refusal for one in changes if one.refusal and "\n" in one.refusal] == []
    never = {one.leaf for one in changes} - {one.leaf for one in accepted}
    assert never == {("loader",)}  # other loaders have other options


def test_the_seed_a_quick_run_and_a_comparison_change_jobs(walk):
    made = walk[1]
    assert made["w-seed"] != made["w-000"]
    assert made["w-glance-quick"] and "w-glance" not in made
    assert len(made["w-compare"]) > len(made["w-alone"])

"""Every setting of config.yaml changes the jobs of the rules that use it, and of no other rule.

The walk plans small datasets of each loader with studies of each kind, changes one setting at a time, and compares the
jobs of the changed dataset rule by rule.
"""

import copy
import json
from collections import defaultdict
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import Annotated, NamedTuple, get_args

import pytest
import yaml
from common import run_python
from miniature import jobs
from plan import Plan
from pydantic import ConfigDict, TypeAdapter, ValidationError
from raw import Found

from jointsparse.pipeline.settings import Config, SettingError, read
from jointsparse.pipeline.settings.datasets import LOADERS, FilesOptions, Pictures
from jointsparse.pipeline.settings.inheritance import merged, study_of
from jointsparse.pipeline.settings.studies import EXPERIMENTS
from jointsparse.pipeline.settings.values import TAGS, Block

ROOT = Path(__file__).parents[2]
SHIPPED = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))

# For each rule, the settings that change its jobs. A setting is named after the class and the field that define it, and
# * stands for any text. A setting changes the rule with each value and in each dataset that has jobs of the rule, or
# only with some values or in some datasets if it ends with ?. A minus sign excludes a setting.

PHOTOS = "Drawn.* CollageOptions.* FolderOptions.* PhotosOptions.* ScenesOptions.* TaggedOptions.* KeywordsOptions.* "
PHOTOS += "MeaningOptions.* DrawnSplits.* NamedSplits.*"
SAMPLES = "Drawn.* DocumentsOptions.* FilesOptions.* MeaningOptions.* ArraysOptions.* LibsvmOptions.* IdxOptions.* "
SAMPLES += "DrawnSplits.* NamedSplits.*"
PIXELS = "Drawn.seed FolderOptions.root FolderOptions.images"
DESCRIBED = f"{PIXELS} DenseSift.* VisualWords.longest_side features"
BASIS = "WordStudy.basis Basis.power WordStudy.vocabulary"
PARAMS = {  # rules whose jobs get other params
    "read_images": f"{PHOTOS} DenseSift.* Onnx.* *.longest_side Learnable.most_samples quick seed? features?",
    "read_samples": f"{SAMPLES} Learnable.most_samples seed?",
    "describe": DESCRIBED,
    "grow_vocabularies": f"{DESCRIBED} VisualWords.keep Sample.* Vocabulary.[!n]* WordStudy.vocabulary seed",
    "encode": f"{DESCRIBED} Vocabulary.weighting Vocabulary.normalise WordStudy.vocabulary",
    "embed": "Onnx.*",
    "correct_labels": "Learnable.corrections? Learnable.most_samples? quick",
    "set_aside": "WordStudy.set_aside? seed",
    "fit_basis": "Basis.rank Basis.centred Basis.fitted_on WordStudy.vocabulary seed quick",
    "fit_similarities": "*Similarities.* SimilaritiesBase.* WordStudy.vocabulary seed",
    "choose_words": "Words.[!n]* Words.n_words WordStudy.sizes? quick",
    "draw_tasks": "Words.n_* WordStudy.sizes AutoSizes.auto WordStudy.negatives_per_positive seed quick",
    "train_path": f"{BASIS} Certified.* WordStudy.metric",
    "train_sweep": f"{BASIS} Certified.[!s]* Certified.solver Subgradient.* Method.eta0 Method.radius?",
    "train_svm": f"{BASIS} Svm.* seed",
    "evaluate": "WordStudy.methods WordStudy.runs WordStudy.metric WordStudy.selection WordStudy.at_size "
    "WordStudy.vocabulary",
    "inspect_features": "WordStudy.vocabulary",
    "compare_methods": "Tests.* seed",
    "fit_final": f"{BASIS} Tests.n_resamples seed",
    "keep_model": f"{PHOTOS} DenseSift.* VisualWords.longest_side features? {SAMPLES} Onnx.* "
    "Vocabulary.weighting Vocabulary.normalise WordStudy.vocabulary "
    "Words.split_captions? Words.join_inflections? Final.study Final.like Final.norm seed",
    "count_selections": "Final.stability? WordStudy.vocabulary seed",
    "repeat_recovery": "Repeated.runs Recovery.* RecoveryTasks.* seed",
    "repeat_operations": "Repeated.runs Operations.* seed",
    "repeat_race": "Repeated.runs Race.* seed",
    "repeat_exponentiated": "Repeated.runs Entropic.* EntropicByForm.* Exponentiated.* seed",
    "repeat_digits": "Repeated.runs Entropic.* EntropicByForm.* DigitsStudy.* seed",
    "repeat_online": "Repeated.runs Entropic.* Online.* seed",
    "measure": "Cost.* Projection.* seed",
    "judge_claims": "Study.claims? Dataset.note Dataset.demonstration seed",
    "draw_figures": "Study.figures? Dataset.beside_paper",
    "write_page": f"{PHOTOS} {SAMPLES} *.longest_side Onnx.model Words.[!n]*? WordStudy.sizes? WordStudy.vocabulary "
    "Dataset.note features? quick",
    "write_configs": "* features? -Dataset.note -Final.like -compare",
    "write_manifest": "* features?",
}
FILES = {  # rules that get more or fewer jobs, or whose jobs get other files
    "correct_labels": "Learnable.corrections?",
    "set_aside": "WordStudy.set_aside?",
    "describe": "Pictures.shards VisualWords.keep",
    "encode": "Pictures.shards",
    "fit_basis": "Pictures.shards WordStudy.set_aside WordStudy.basis Final.like",
    "fit_similarities": "WordStudy.set_aside? WordStudy.similarities",
    "choose_words": "WordStudy.set_aside? Final.like Learnable.corrections?",
    "draw_tasks": "WordStudy.set_aside? WordStudy.runs compare",
    "train_path": "WordStudy.set_aside? WordStudy.basis WordStudy.similarities Basis.power WordStudy.runs "
    "Method.radius",
    "train_sweep": "WordStudy.basis WordStudy.similarities Basis.power WordStudy.runs? Method.radius?",
    "train_svm": "WordStudy.basis WordStudy.similarities Basis.power WordStudy.runs WordStudy.methods compare",
    "evaluate": "WordStudy.set_aside? WordStudy.basis WordStudy.similarities WordStudy.runs WordStudy.methods "
    "Method.radius? Learnable.corrections? compare",
    "compare_methods": "WordStudy.set_aside? WordStudy.methods?",
    "fit_final": "WordStudy.set_aside WordStudy.basis Final.study Final.like Final.norm Learnable.final",
    "keep_model": "Pictures.shards WordStudy.set_aside WordStudy.basis Final.study Final.like Final.norm "
    "Learnable.final Learnable.corrections?",
    "count_selections": "WordStudy.set_aside WordStudy.basis Final.stability? Learnable.final",
    "inspect_features": "Pictures.shards WordStudy.set_aside? WordStudy.basis WordStudy.similarities Final.like",
    "judge_claims": "Study.claims? quick compare",
    "draw_figures": "WordStudy.methods? Study.figures? quick compare",
    "write_page": "Pictures.shards WordStudy.set_aside? Final.study Final.like Final.stability? Learnable.final "
    "Learnable.corrections?",
    "write_configs": "Final.like",
    "write_manifest": "Learnable.corrections? WordStudy.runs? WordStudy.methods? Final.like Final.norm "
    "Final.stability? Learnable.final compare",
}
RECORDS = {"write_configs", "write_manifest"}  # these rules hold all settings

# Small datasets for each loader, with studies of each kind


def like(study, methods, **values):
    """Return a study of config.yaml with other methods, and with few fits."""
    block = study_of(SHIPPED["studies"], study) | {"methods": methods}
    few = {"runs": 1, "sizes": [10, 20, 40], "at_size": 10, "figures": ["auc"], "claims": ["joint-sparsity"]}
    return merged(merged(block, few), values)


AUTO, RADII, GRID, C = {"radius": "auto"}, {"radius": [1, 2]}, {"radius": [1, 2], "eta0": [1, 2]}, {"C": [1, 2]}
THREE = {"hinge-l1": AUTO, "hinge-l2": RADII, "svm-l2": C}
RBF = {"measure": "rbf", "n_prototypes": 10}
AUTO_SIZES = {"sizes": {"auto": 2}}
NO_PATH = {"training": {"sparsest": None}}
STUDIES = {kind: SHIPPED["studies"][kind] for kind in EXPERIMENTS} | {
    "paths": like("annotation", {"hinge-l1inf": AUTO, "hinge-l1": RADII, "svm-l2": C}),
    "similarities": like("scenes", THREE, set_aside={"test": 5}),
    "rbf": like("scenes", THREE, similarities=RBF),
    "steps": like("annotation-sweep", {"hinge-l1inf": GRID, "svm-l2": C}, vocabulary=None, basis=None, **AUTO_SIZES),
    "labels": like("text", {"hinge-l1": RADII}, **NO_PATH),
    "svm": like("text", {"svm-l2": C}, **NO_PATH),
    "network": like("annotation-embedding", {"hinge-l1": AUTO}),
    "settings": like("annotation", {"svm-l2": C}, **NO_PATH),
    "other": like("annotation", {"svm-l2": C}, **NO_PATH),
}
FEATURES = SHIPPED["features"]
ROOTS = {
    "tagged": "pictures",
    "keywords": "pictures",
    "photos": "pictures",
    "scenes": "pictures",
    "arrays": "samples",
    "idx": "samples",
    "libsvm": "samples",
}


def entry_of(loader, *studies, **more):
    fields = LOADERS[loader].model_fields["options"].annotation.model_fields
    needed = {key: ROOTS[loader] if key == "root" else key for key, field in fields.items() if field.is_required()}
    shards = {"shards": 2} if issubclass(LOADERS[loader], Pictures) else {}
    studies = {"studies": {study: {} for study in studies}}
    return {"loader": loader} | studies | shards | more | {"options": needed | more.get("options", {})}


FINAL, LIKE = {"study": "svm", "norm": "l1"}, {"like": "settings", "norm": "l1"}
PATHS = {"study": "paths", "norm": "l1", "stability": 2}
KEPT = {"keep": ["descriptors"]}
NETWORK = {"extractor": "onnx", "options": {"model": "samples/other"}}
ENTRIES = [  # the settings of each dataset and of its first study are changed
    entry_of("collage", "paths", features=KEPT, corrections="samples/other", final=PATHS),
    entry_of("photos", features=KEPT, final=LIKE),
    entry_of("scenes", features=KEPT, final=LIKE),
    entry_of("keywords", features=KEPT, final=LIKE),
    entry_of("tagged", features=KEPT, final=LIKE),
    entry_of("tagged", features=KEPT, options={"tags": "other"}, final=LIKE),
    entry_of("scenes", features=NETWORK, final={"like": "network", "norm": "l1"}),
    entry_of("collage", "similarities", most_samples=9),
    entry_of("collage", "rbf"),
    entry_of("documents", "svm", "labels", final=FINAL),
    *(entry_of("documents", study) for study in ("labels", "steps", "exponentiated", "online")),
    *(entry_of("synthetic", study) for study in ("recovery", "cost", "operations", "projection", "race")),
    *(entry_of(loader, "svm", final=FINAL) for loader in ("arrays", "idx", "libsvm")),
    entry_of("arrays", "svm", options={"split": "other"}, final=FINAL, most_samples=9),
    entry_of("arrays", "svm", options={"tags": "other"}, final=FINAL),
    entry_of("idx", "svm", options={"validation_fraction": 0.2}, final=FINAL),
    entry_of("libsvm", "svm", options={"test": "test"}, final=FINAL),
    entry_of("digits", "digits"),
]


def lay(folder):
    """Create files and folders with all names that options have, or are changed to.

    The content of a file is its name, as the name of a producer in an ONNX file.
    """
    options = [dataset.model_fields["options"].annotation for dataset in LOADERS.values()]
    files = ["other", *(name for one in options if issubclass(one, FilesOptions) for name in one.FILES)]
    for path in [*(f"samples/{one}" for name in files for one in (name, f"{name}2")), "pictures/images/a.png", "other"]:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"\x12{chr(len(path))}{path}")
    for link, target in (("pictures/images2", "images"), ("pictures2", "pictures"), ("samples2", "samples")):
        (folder / link).symlink_to(target)


# Changes of a setting

BASE = "w-any"  # the dataset whose settings are changed
SPLITS = [{"train": 0.4, "validation": 0.3, "test": 0.3}, {"train": 1}, {"train": "other"}]
POOL = [1, 2, 3, 0.5, 0.2, True, False, "other", [0.1, 0.2, 0.3], *SPLITS, {"auto": 2}]  # tried for every setting
VALUES = {  # for settings whose allowed values depend on other settings
    "Basis.power": [0.5, 0, [0.5, 1]],
    "Final.study": ["labels", "other"],
    "LibsvmOptions.index_base": [0],
    "VisualWords.keep": [["vocabularies"]],
    "WordStudy.at_size": [20],
    "WordStudy.methods": [{"svm-l2": None}],
    "WordStudy.set_aside": [{"train": 1}, {"test": None}],
    "WordStudy.vocabulary": ["words3000"],
}


def leaves(block, *path):
    """Yield each setting in a block: the class that defines it, its path, its field, and its value."""
    for key, field in type(block).model_fields.items():
        value = getattr(block, key)
        inside = {(key, name): one for name, one in value.items()} if isinstance(value, dict) else {(key,): value}
        blocks = {place: one for place, one in inside.items() if isinstance(one, Block)}
        optional = type(None) in get_args(field.annotation)
        if key not in ("studies", "settings") and (not blocks or optional or key == "methods"):
            owner = next(one for one in type(block).__mro__ if key in one.__annotations__)
            yield f"{owner.__name__}.{key}", (*path, key), field, value
        for place, one in blocks.items():
            yield from leaves(one, *path, *place)


def words_in(annotation):
    """Yield the words that a type allows."""
    for one in get_args(annotation):
        yield from words_in(one) if get_args(one) else [one]


def near(now):
    return [now + 1, now / 2] if type(now) in (int, float) else [f"{now}2"] if isinstance(now, str) else []


def others(field, now):
    """Return other allowed values of a setting, one of each type."""
    listed = now if isinstance(now, list) else []
    single = [*near(listed[-1] if listed else now), *words_in(field.annotation), *POOL]
    inside = [{**now, key: one} for key in now for one in near(now[key])] if isinstance(now, dict) else []
    tried = [*single, *inside, listed[:-1], *([*listed, one] for one in single), *([None] if now is not None else [])]
    allowed = TypeAdapter(Annotated[field.annotation, *field.metadata, None], config=ConfigDict(strict=True))
    values = {}
    for value in tried:
        try:
            allowed.validate_python(value)
        except ValidationError:
            continue
        if value != now:
            values.setdefault(type(value), value)
    return [*values.values()]


def config_of(entry):
    return {"dataset": BASE, "seed": 1, "datasets": {BASE: entry}, "features": FEATURES, "studies": STUDIES}


def changed(entry, path, value):
    """Return a dataset's entry with another value at a path."""
    block = entry = copy.deepcopy(entry)
    for key in path[:-1]:
        block[key] = block.get(key) or {}
        block = block[key]
    block[path[-1]] = value
    return entry


def changes_of(entry):
    """Yield each setting of a dataset and of its first study: its name, its path, another value, and the new entry."""
    dataset = read(config_of(entry)).datasets[BASE]
    for setting, path, field, now in leaves(dataset):
        if path[0] == "studies" and path[1] != next(iter(entry["studies"])):
            continue
        for value in VALUES.get(setting) or others(field, now):
            if isinstance(value, dict) and any(value[key] is None and key not in now for key in value):
                continue  # null removes nothing
            place, new = path, value
            if path[-1] in TAGS:  # without its other keys, the block would start empty
                block = dataset
                for key in path[:-1]:
                    block = block[key] if isinstance(block, dict) else getattr(block, key)
                place, new = path[:-1], block.given() | {path[-1]: value}
            if path[:2] == ("final", "settings"):
                place = ("final", *place[2:])
            elif path == ("final", "study") and dataset.final.settings:
                setting, place = "Final.like", ("final", "like")
            yield setting, path, value, changed(entry, place, new)


def refusal(entry):
    try:
        Plan(read(config_of(entry)), Found(fresh=True, environment={})).require_shown()
    except SettingError as error:
        return str(error)


def print_jobs(*overlays):
    """Print the jobs of each overlay by dataset and rule: for each job, digests of its params and of its files."""

    def note(dataset, rule, job, params, files):
        texts = [json.dumps(part).replace(dataset, BASE) for part in (job, params, files)]
        texts = [text.replace(dataset.removesuffix("-quick"), BASE) for text in texts]
        planned[dataset][rule][texts[0]] = [sha256(text.encode()).hexdigest() for text in texts[1:]]

    plans = []
    for overlay in overlays:
        planned = defaultdict(lambda: defaultdict(dict))
        for rule, rule_jobs in jobs(ROOT, ".", overlay).items():
            for job in rule_jobs:
                params = {key: value for key, value in job.params.items() if key != "where"}
                if rule == "judge_claims":
                    for study in params["studies"]:
                        note(study["dataset"], rule, study["study"], {**study, "tables": []}, study["tables"])
                elif rule == "write_configs":
                    for file, settings in zip(job.output, params["settings"], strict=True):
                        note(file.split("/")[1], rule, file, settings, [])
                elif rule == "write_manifest":
                    for dataset, settings in params["settings"]["datasets"].items():
                        tables = [file for file in job.input if file.startswith(f"results/{dataset}/")]
                        note(dataset, rule, "", [params["settings"]["seed"], settings], tables)
                elif hasattr(job.wildcards, "dataset"):
                    given = [file for file in job.input if not file.startswith("results/claims/")]
                    note(job.wildcards.dataset, rule, [*job.wildcards.items()], params, [given, *job.output])
        plans.append(planned)
    print(json.dumps(plans))


class Change(NamedTuple):
    """A changed setting: its name, its path, its new value, the message that refuses it, and the changed dataset.

    Datasets are named by the number of a plan and their name in the plan.
    """

    setting: str
    path: tuple[str, ...]
    value: object
    refusal: str | None
    before: tuple[int, str]
    after: tuple[int, str]

    def __str__(self):
        return f"{self.setting}: {self.value!r:.60} in {ENTRIES[int(self.before[1][2:])]['loader']}"


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    """Return every change, and the plans."""
    folder, changes, seen, new = tmp_path_factory.mktemp("walk"), [], set(), {}
    lay(folder)
    bases = {f"w-{i:03}": entry for i, entry in enumerate(ENTRIES)}
    for base, entry in bases.items():
        assert refusal(entry) is None
        for setting, path, value, other in changes_of(entry):
            study = STUDIES[path[1]].get("methods", path[1]) if path[0] == "studies" else path[0] == "final"
            tried = value if setting in VALUES else type(value)
            key = repr((LOADERS[entry["loader"]].__base__, study, setting, tried))
            said, name = refusal(other), f"w-{len(bases) + len(new):03}"
            if said is None and key in seen:
                continue  # a dataset of this kind with the same methods was already planned with a value of this type
            changes.append(Change(setting, path, value, said, (0, base), (1 + len(new) // 40, name)))
            if said is None:
                seen.add(key)
                new[name] = other
    # A results folder is named after all datasets, and may have at most 255 characters.
    parts = [[*new][start : start + 40] for start in range(0, len(new), 40)]
    plans = [(bases, {}), *(({name: new[name] for name in names}, {}) for names in parts)]
    plans += [(bases, {"seed": 2}), (bases, {"features": FEATURES | {"longest_side": 200}})]
    plans += [({"w-000": bases["w-000"]}, {"quick": True}), ({"w-001": bases["w-001"]}, {"compare": True})]
    for i, (entries, values) in enumerate(plans):
        for key, value in values.items():
            names = {name: f"{name}-quick" if key == "quick" else name for name in entries}
            changes += [Change(key, (key,), value, None, (0, old), (i, name)) for old, name in names.items()]
        overlay = {"dataset": [*entries], "datasets": entries, "features": FEATURES, "studies": STUDIES} | values
        (folder / f"{i}.json").write_text(json.dumps(overlay))
    code = "import sys; from test_walk import print_jobs; print_jobs(*sys.argv[1:])"
    return changes, json.loads(run_python("-c", code, *(f"{i}.json" for i in range(len(plans))), cwd=folder))


def effects(before, after):
    """Return the rules with a job whose params differ, and those with other jobs or a job whose files differ."""
    found = set()
    for rule in before.keys() | after.keys():
        old, new = before.get(rule, {}), after.get(rule, {})
        both = [(old[job], new[job]) for job in old.keys() & new.keys()]
        if any(one[0] != other[0] for one, other in both):
            found.add(("params", rule))
        if old.keys() != new.keys() or any(one[1] != other[1] for one, other in both):
            found.add(("files", rule))
    return found


def stated(settings, *, sometimes):
    """Return the effects that the tables state for all values, or for some: each as a setting, a part and a rule."""
    effects = set()
    for part, table in (("params", PARAMS), ("files", FILES)):
        for rule, patterns in table.items():
            for pattern in patterns.split():
                named = {(one, part, rule) for one in settings if fnmatchcase(one, pattern.strip("-?"))}
                assert named, f"no setting is named {pattern}"
                if pattern.startswith("-"):
                    effects -= named
                elif pattern.endswith("?") == sometimes:
                    effects |= named
    return effects


BLOCKS = {"features", "options", "sample", "vocabularies", "studies", "settings", "words", "training", "tests", "tasks"}


def subclasses(block):
    return [block, *(inside for one in block.__subclasses__() for inside in subclasses(one))]


def test_the_walk_changes_each_field_of_each_class(walk):
    fields = {(one, key) for one in subclasses(Block) for key in one.__annotations__ if key in one.model_fields}
    changed = {change.setting for change in walk[0] if not change.refusal}
    others = {key for one, key in fields if f"{one.__name__}.{key}" not in changed and one is not Config}
    assert others == BLOCKS | {*TAGS}


def test_a_setting_without_effect_is_refused_in_a_line(walk):
    assert [one.refusal for one in walk[0] if one.refusal and "\n" in one.refusal] == []


def test_each_setting_changes_the_rules_that_use_it_and_no_other(walk):
    changes, plans = walk
    accepted = [change for change in changes if not change.refusal]
    settings = {change.setting for change in accepted}
    sometimes = stated(settings, sometimes=True)
    always = stated(settings, sometimes=False) - sometimes
    wrong, seen = [], set()
    for change in accepted:
        before, after = (plans[i][name] for i, name in (change.before, change.after))
        found = {(change.setting, *effect) for effect in effects(before, after)}
        due = {one for one in always if one[0] == change.setting and one[2] in before.keys() | after.keys()}
        wrong += [f"{change} changes the {part} of {rule}" for _, part, rule in sorted(found - always - sometimes)]
        wrong += [f"{change} must change the {part} of {rule}" for _, part, rule in sorted(due - found)]
        if change.path[0] != "final" and change.setting != "features" and {rule for _, _, rule in found} <= RECORDS:
            wrong.append(f"{change} changes no job")  # in `final`, some settings have an effect only with `compare`
        seen |= found
    never = sorted((always | sometimes) - seen)
    wrong += [f"{setting} never changes the {part} of {rule}" for setting, part, rule in never]
    assert not wrong, "\n".join(wrong)


def test_every_rule_has_settings(walk):
    rules = {rule for plan in walk[1] for planned in plan.values() for rule in planned}
    assert rules == PARAMS.keys()

"""Every setting of config.yaml changes the jobs of the rules that use it, and of no other rule.

The walk plans the datasets in walk.yaml, changes one setting at a time, and compares the jobs of the changed dataset
rule by rule.
"""

import fnmatch
import json
from collections import defaultdict
from hashlib import sha256
from pathlib import Path

import pytest
import yaml
from common import run_python
from miniature import BASE, jobs

from jointsparse.pipeline.settings import Config
from jointsparse.pipeline.settings.datasets import LOADERS, FilesOptions
from jointsparse.pipeline.settings.inheritance import merged
from jointsparse.pipeline.settings.values import TAGS, Block

WALK = yaml.safe_load((Path(__file__).parent / "walk.yaml").read_text())
N_AT_ONCE = 50  # a results folder is named after all datasets of a run, and may have at most 255 characters

# For each rule, the settings that change the params of its jobs, and those that give it more or fewer jobs or give its
# jobs other files. A setting is named after the class and the field that define it, or is quick, seed, features or
# compare of the whole run; * stands for any text, and [!n] for any letter but n. A setting changes the rule in each
# dataset that has jobs of the rule, or only in some datasets if it ends with ?.

PHOTOS = "Drawn.* CollageOptions.* FolderOptions.* PhotosOptions.* ScenesOptions.* TaggedOptions.* KeywordsOptions.* "
PHOTOS += "MeaningOptions.* DrawnSplits.* NamedSplits.*"
SAMPLES = "Drawn.* DocumentsOptions.* FilesOptions.* MeaningOptions.* ArraysOptions.* LibsvmOptions.* IdxOptions.* "
SAMPLES += "DrawnSplits.* NamedSplits.*"
DESCRIBED = "Drawn.seed FolderOptions.root FolderOptions.images DenseSift.* VisualWords.longest_side features"
BASIS = "WordStudy.basis Basis.power WordStudy.vocabulary"
RULES = {
    "read_images": (
        f"{PHOTOS} DenseSift.* Onnx.* *.longest_side Learnable.most_samples quick seed? features?",
        "",
    ),
    "read_samples": (
        f"{SAMPLES} Learnable.most_samples seed?",
        "",
    ),
    "describe": (
        DESCRIBED,
        "Pictures.shards VisualWords.keep",
    ),
    "grow_vocabularies": (
        f"{DESCRIBED} VisualWords.keep Sample.* Vocabulary.[!n]* WordStudy.vocabulary seed",
        "",
    ),
    "encode": (
        f"{DESCRIBED} Vocabulary.weighting Vocabulary.normalise WordStudy.vocabulary",
        "Pictures.shards",
    ),
    "embed": (
        "Onnx.*",
        "",
    ),
    "correct_labels": (
        "Learnable.corrections? Learnable.most_samples? quick",
        "Learnable.corrections?",
    ),
    "set_aside": (
        "WordStudy.set_aside? seed",
        "WordStudy.set_aside?",
    ),
    "fit_basis": (
        "Basis.rank Basis.centred Basis.fitted_on WordStudy.vocabulary seed quick",
        "Pictures.shards WordStudy.set_aside WordStudy.basis Final.like",
    ),
    "fit_similarities": (
        "*Similarities.* SimilaritiesBase.* WordStudy.vocabulary seed",
        "WordStudy.set_aside? WordStudy.similarities",
    ),
    "choose_words": (
        "Words.[!n]* Words.n_words WordStudy.sizes? quick",
        "WordStudy.set_aside? Final.like Learnable.corrections?",
    ),
    "draw_tasks": (
        "Words.n_* WordStudy.sizes AutoSizes.auto WordStudy.negatives_per_positive seed quick",
        "WordStudy.set_aside? WordStudy.runs compare",
    ),
    "train_path": (
        f"{BASIS} Certified.* WordStudy.metric",
        "WordStudy.set_aside? WordStudy.basis WordStudy.similarities Basis.power WordStudy.runs Method.radius",
    ),
    "train_sweep": (
        f"{BASIS} Certified.[!s]* Certified.solver Subgradient.* Method.eta0 Method.radius?",
        "WordStudy.basis WordStudy.similarities Basis.power WordStudy.runs? Method.radius?",
    ),
    "train_svm": (
        f"{BASIS} Svm.* seed",
        "WordStudy.basis WordStudy.similarities Basis.power WordStudy.runs WordStudy.methods compare",
    ),
    "evaluate": (
        "WordStudy.methods WordStudy.runs WordStudy.metric WordStudy.selection WordStudy.at_size WordStudy.vocabulary",
        "WordStudy.set_aside? WordStudy.basis WordStudy.similarities WordStudy.runs WordStudy.methods "
        "Method.radius? Learnable.corrections? compare",
    ),
    "inspect_features": (
        "WordStudy.vocabulary",
        "Pictures.shards WordStudy.set_aside? WordStudy.basis WordStudy.similarities Final.like",
    ),
    "compare_methods": (
        "Tests.* seed",
        "WordStudy.set_aside? WordStudy.methods?",
    ),
    "fit_final": (
        f"{BASIS} Tests.n_resamples seed",
        "WordStudy.set_aside WordStudy.basis Final.study Final.like Final.norm Learnable.final",
    ),
    "keep_model": (
        f"{PHOTOS} DenseSift.* VisualWords.longest_side features? {SAMPLES} Onnx.* "
        "Vocabulary.weighting Vocabulary.normalise WordStudy.vocabulary "
        "Words.split_captions? Words.join_inflections? Final.study Final.like Final.norm seed",
        "Pictures.shards WordStudy.set_aside WordStudy.basis Final.study Final.like Final.norm "
        "Learnable.final Learnable.corrections?",
    ),
    "count_selections": (
        "Final.stability? WordStudy.vocabulary seed",
        "WordStudy.set_aside WordStudy.basis Final.stability? Learnable.final",
    ),
    "repeat_recovery": (
        "Repeated.runs Recovery.* RecoveryTasks.* seed",
        "",
    ),
    "repeat_operations": (
        "Repeated.runs Operations.* seed",
        "",
    ),
    "repeat_race": (
        "Repeated.runs Race.* seed",
        "",
    ),
    "repeat_exponentiated": (
        "Repeated.runs Entropic.* EntropicByForm.* Exponentiated.* seed",
        "",
    ),
    "repeat_digits": (
        "Repeated.runs Entropic.* EntropicByForm.* DigitsStudy.* seed",
        "",
    ),
    "repeat_online": (
        "Repeated.runs Entropic.* Online.* seed",
        "",
    ),
    "measure": (
        "Cost.* Projection.* seed",
        "",
    ),
    "judge_claims": (
        "Study.claims? Dataset.note Dataset.demonstration seed",
        "Study.claims? quick compare",
    ),
    "draw_figures": (
        "Study.figures? Dataset.beside_paper",
        "WordStudy.methods? Study.figures? quick compare",
    ),
    "write_page": (
        f"{PHOTOS} {SAMPLES} *.longest_side Onnx.model Words.[!n]*? WordStudy.sizes? WordStudy.vocabulary "
        "Dataset.note features? quick",
        "Pictures.shards WordStudy.set_aside? Final.study Final.like Final.stability? Learnable.final "
        "Learnable.corrections?",
    ),
}


def lay(folder):
    """Create the raw files of all datasets, also those with changed names.

    The content of a file is its name, as the name of a producer in an ONNX file.
    """
    (folder / "raw" / "images").mkdir(parents=True)
    options = [dataset.model_fields["options"].annotation for dataset in LOADERS.values()]
    names = {"other", *(name for one in options if issubclass(one, FilesOptions) for name in one.FILES)}
    for path in ["images/a.png", *names, *(f"{name}2" for name in names)]:
        (folder / "raw" / path).write_text(f"\x12{chr(len(path))}{path}")
    (folder / "raw" / "images2").symlink_to("images")
    (folder / "raw2").symlink_to("raw")


def print_jobs(*overlays):
    """Print the jobs of each overlay by dataset and rule: for each job, digests of its params and of its files."""
    for overlay in overlays:
        planned = defaultdict(lambda: defaultdict(dict))

        def note(dataset, rule, job, *parts, planned=planned):
            texts = [json.dumps(part).replace("-quick", "").replace(dataset[:4], "any") for part in (job, *parts)]
            planned[dataset[:4]][rule][texts[0]] = [sha256(text.encode()).hexdigest() for text in texts[1:]]

        for rule, rule_jobs in jobs(BASE, ".", overlay).items():
            for job in rule_jobs:
                params = {key: value for key, value in job.params.items() if key != "where"}
                for study in params["studies"] if rule == "judge_claims" else []:
                    note(study["dataset"], rule, study["study"], study | {"tables": []}, study["tables"])
                if hasattr(job.wildcards, "dataset"):
                    given = [file for file in job.input if not file.startswith("results/claims/")]
                    note(job.wildcards.dataset, rule, [*job.wildcards.items()], params, [given, *job.output])
        print(json.dumps(planned))


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    """Return each changed setting with the jobs of its dataset before and after the change, by rule."""
    folder, changes, new = tmp_path_factory.mktemp("walk"), [], {}
    lay(folder)
    bases = {f"w{i:03}": dataset["entry"] for i, dataset in enumerate(WALK["datasets"])}
    for name, dataset in zip(bases, WALK["datasets"], strict=True):
        for setting, overlay in dataset["changes"]:
            changes.append((setting, name, f"w{len(bases) + len(new):03}"))
            new[changes[-1][-1]] = merged(dataset["entry"], overlay)
    parts = [[*new.items()][start : start + N_AT_ONCE] for start in range(0, len(new), N_AT_ONCE)]
    plans = [{}, *({"datasets": dict(part)} for part in parts), {"seed": 2}, {"features": {"longest_side": 200}}]
    plans += [{"datasets": {"w000": bases["w000"]}, "quick": True}]
    plans += [{"datasets": {"w001": bases["w001"]}, "compare": True}]
    for i, plan in enumerate(plans):
        plan = {"seed": 1, "datasets": bases, "studies": WALK["studies"]} | plan
        (folder / f"{i}.json").write_text(json.dumps(plan | {"dataset": [*plan["datasets"]]}))
    code = "import sys; from test_walk import print_jobs; print_jobs(*sys.argv[1:])"
    printed = run_python("-c", code, *(f"{i}.json" for i in range(len(plans))), cwd=folder).splitlines()
    before, *after = map(json.loads, printed)
    changed = {name: by_rule for plan in after[: len(parts)] for name, by_rule in plan.items()}
    of_run = zip(("seed", "features", "quick", "compare"), after[len(parts) :], strict=True)
    return [(setting, before[old], changed[name]) for setting, old, name in changes] + [
        (key, before[name], plan[name]) for key, plan in of_run for name in plan
    ]


def effects(before, after):
    """Yield the rules with a job whose params differ, and those with other jobs or a job whose files differ."""
    for rule in before.keys() | after.keys():
        old, new = before.get(rule, {}), after.get(rule, {})
        both = [(old[job], new[job]) for job in old.keys() & new.keys()]
        if any(one[0] != other[0] for one, other in both):
            yield "params", rule
        if old.keys() != new.keys() or any(one[1] != other[1] for one, other in both):
            yield "files", rule


def stated(settings, *, sometimes):
    """Return the effects that the table states for all datasets, or for some: each as a setting, a part and a rule."""
    return {
        (setting, part, rule)
        for rule, parts in RULES.items()
        for part, patterns in zip(("params", "files"), parts, strict=True)
        for pattern in patterns.split()
        for setting in fnmatch.filter(settings, pattern.removesuffix("?"))
        if pattern.endswith("?") == sometimes
    }


def test_each_setting_changes_the_rules_that_use_it_and_no_other(walk):
    settings = {setting for setting, *_ in walk}
    sometimes = stated(settings, sometimes=True)
    always = stated(settings, sometimes=False) - sometimes
    wrong, seen = set(), set()
    for setting, before, after in walk:
        found = {(setting, *effect) for effect in effects(before, after)}
        due = {one for one in always if one[0] == setting and one[2] in before.keys() | after.keys()}
        wrong |= {("changes", *one) for one in found - always - sometimes} | {
            ("must change", *one) for one in due - found
        }
        seen |= found
    wrong |= {("never changes", *one) for one in (always | sometimes) - seen}
    assert sorted(wrong) == []


# Fields that hold other blocks, or choose the class of their block
BLOCKS = {"features", "options", "sample", "vocabularies", "studies", "settings", "words", "training", "tests", "tasks"}


def classes(block):
    return [block, *(inside for one in block.__subclasses__() for inside in classes(one))]


def test_the_walk_changes_each_field_of_each_class_and_meets_each_rule(walk):
    fields = {(one, key) for one in classes(Block) for key in one.__annotations__ if key in one.model_fields}
    changed = {setting for setting, *_ in walk}
    others = {key for one, key in fields if f"{one.__name__}.{key}" not in changed and one is not Config}
    assert others == BLOCKS | {*TAGS}
    assert {rule for _, before, after in walk for rule in before | after} == RULES.keys()

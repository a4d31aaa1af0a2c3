"""Datasets and studies of the configuration: their blocks, their tables, and the files that they are read from."""

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from configuration.file import require, require_known
from jointsparse.registry import pick, room

AUTO = "auto"  # in the place of radii, sizes, and numbers of words and features: the data choose
NOTHING: Mapping[str, Any] = MappingProxyType({})
WORDS = "words"  # the kind of studies whose tasks are words, classes or topics; every other kind is an experiment
# Tables of such a study whose rows may carry a warning, besides those of its tasks.
WARNED = ("odd_features", "words", "chosen", "by_word")


def experiment(block: dict[str, Any]) -> ModuleType | None:
    """The plug-in of a study's kind; None for words."""
    return None if block["kind"] == WORDS else pick("experiments", block["kind"])


def kinds_for(loader: str) -> list[str]:
    """The kinds of studies that a dataset of this loader serves."""
    offered = offers(loader)
    served = [kind for kind in names_of("experiments") if offered == pick("experiments", kind).SERVES]
    return served if offered == "drawn" else [WORDS, *served]


def makers_of(table: str) -> list[str]:
    """The kinds of studies, other than words, that make a table."""
    return [kind for kind in names_of("experiments") if table in pick("experiments", kind).TABLES]


def is_measured(kind: str) -> bool:
    """True if a study of this kind is measured once and not repeated."""
    return pick("experiments", kind).TABLES[kind] == "timings"


def warned_tables(block: dict[str, Any]) -> list[str]:
    """The names of a study's tables whose rows may carry a warning."""
    own = experiment(block)
    if own:
        return list(own.WARNS)
    return [name for name in tables_of(block) if name in WARNED or name.startswith("tasks_run")]


def tables_of(block: dict[str, Any]) -> list[str]:
    """The names of a study's tables."""
    own = experiment(block)
    if own:
        return [*own.TABLES, *(["warnings"] if own.WARNS else [])]
    return [
        *("odd_features", "repeated", "warnings", "words"),
        *("chosen", "words_learnt", "by_word", "convergence", "sparsity", "weights"),
        *(f"tasks_run{run}" for run in range(1, block["runs"] + 1)),
        *(("significance", "differences") if len(block["methods"]) > 1 else ()),
    ]


def folder_of(table: str, block: dict[str, Any]) -> str:
    """The folder of a study's table: `tables` if it is the same on each run, `timings` if it rests on seconds."""
    own = experiment(block)
    return own.TABLES.get(table, "tables") if own else "tables"


def merged(block: dict[str, Any], replacing: dict[str, Any]) -> dict[str, Any]:
    """A block with some values replaced. Blocks inside are merged, null takes a key away, other values are whole."""
    result = dict(block)
    for key, value in replacing.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return {key: value for key, value in result.items() if value is not None or key not in replacing}


def dataset_entry(config: dict[str, Any], name: str) -> dict[str, Any]:
    """A dataset's entry, with default options and shards."""
    require_known("dataset", config["datasets"], name, "dataset")
    return {"options": {}, "shards": 1} | config["datasets"][name]


def features_block(config: dict[str, Any], dataset: str) -> dict[str, Any]:
    """The block `features`, with the values that a dataset replaces."""
    return merged(config["features"], dataset_entry(config, dataset).get("features", {}))


def chosen_datasets(config: dict[str, Any]) -> list[str]:
    """The datasets to run."""
    return [config["dataset"]] if isinstance(config["dataset"], str) else config["dataset"]


def offers(loader: str) -> str:
    """The content of a dataset: pictures, samples whose features are given, or tasks that each study draws."""
    return str(pick("datasets", loader).OFFERS)


def study_block(config: dict[str, Any], dataset: str, study: str) -> dict[str, Any]:
    """A study's block, with the values that a dataset's entry replaces, here and in the study that it is like."""
    return full_block(config, study, dataset_entry(config, dataset)["studies"])


def full_block(config: dict[str, Any], study: str, replacing: Mapping[str, Any] = NOTHING) -> dict[str, Any]:
    """A study's block with that of the study that it is like. replacing: values by study, which it or both may have."""
    require_known("study", config["studies"], study, "studies")
    names = [study]
    while "like" in config["studies"][names[0]]:
        like, where = config["studies"][names[0]]["like"], f"studies.{names[0]}.like"
        require_known("like", [name for name in config["studies"] if name not in names], like, where)
        names.insert(0, like)
    block: dict[str, Any] = {}
    for name in names:
        own = {key: value for key, value in config["studies"][name].items() if key != "like"}
        block = merged(merged(block, own), replacing.get(name, {}))
    return block


def settings_of(config: dict[str, Any], datasets: list[str]) -> dict[str, Any]:
    """The part of the configuration that a run on these datasets uses."""
    studies = {study for name in datasets for study in dataset_entry(config, name)["studies"]}
    return {
        "dataset": datasets,
        "seed": config["seed"],
        "features": config["features"],
        "datasets": {name: config["datasets"][name] for name in datasets},
        "studies": {name: full_block(config, name) for name in config["studies"] if name in studies},
    }


def names_of(room_name: str) -> list[str]:
    """The names of a room's plug-ins."""
    return sorted(room(room_name))


def raw_files(config: dict[str, Any], dataset: str) -> list[str]:
    """The files that a dataset is read from, and the folder of its pictures; none if it is composed.

    Files that need not be there are among them, so that a new one is seen.
    """
    entry = dataset_entry(config, dataset)
    if "root" not in entry["options"]:
        return []
    root, plug_in = Path(entry["options"]["root"]), pick("datasets", entry["loader"])
    where = f"datasets.{dataset}.options.root"
    if plug_in.OFFERS == "pictures":
        require(
            os.path.isdir(root / "images"),  # Path.is_dir fails on names that are too long
            f"root must be a folder that holds a folder 'images', got {str(root)!r}: put the data there, link it, "
            "or name another",
            where,
        )
        captions = [entry["options"].get("captions", "captions.csv")] if "captions" in plug_in.TAKES else []
        return [str(root / name) for name in ("images", *captions, "splits.csv")]
    named = [root / entry["options"][key] for key in plug_in.FILES if key in entry["options"]]
    for path in named:
        require(os.path.isfile(path), f"root must be a folder that holds {path.name!r}, got {str(root)!r}", where)
    return [str(path) for path in named]

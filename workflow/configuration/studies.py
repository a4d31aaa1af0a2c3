"""Datasets and studies of the configuration: their blocks, their tables, and the files that they are read from."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from configuration.file import require, require_known
from jointsparse.pipeline.datasets.names import files_of
from jointsparse.pipeline.provenance.records import files_below
from jointsparse.pipeline.tasks import AUTO_SIZES
from jointsparse.registry import pick, room

if TYPE_CHECKING:
    from jointsparse.pipeline.figures.style import Drawing

AUTO = "auto"  # in the place of radii, sizes, and numbers of words and features: the data choose
WORDS = "words"  # the kind of studies whose tasks are words, classes or topics; every other kind is an experiment
MOST_OF_SHARD = 2000  # pictures, where their number decides the number of shards
FEW_SAMPLES = 500  # Choice: of a glance; with more it takes longer than a minute
# Tables of such a study whose rows may carry a warning, besides those of its tasks.
WARNED = ("odd_features", "words", "chosen", "by_word")


def chosen_datasets(config: dict[str, Any]) -> list[str]:
    """The datasets to run."""
    return [config["dataset"]] if isinstance(config["dataset"], str) else config["dataset"]


def datasets_of(config: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Every dataset's entry in full: with defaults, its own `features`, and the whole blocks of its studies."""
    return {
        name: {"options": {}, "shards": AUTO}
        | entry
        | {
            "features": merged(config["features"], entry.get("features", {})),
            "studies": {study: full_block(config, study, entry["studies"], name) for study in entry["studies"]},
        }
        for name, entry in config["datasets"].items()
    }


def glance(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    """An entry in full for a quick look at its data: few samples, one study of words with one run at one size."""
    require("final" in entry, f"quick is for datasets with a final fit, got {name!r}", f"datasets.{name}")
    study = entry["final"]["study"]
    block, sizes = entry["studies"][study], AUTO_SIZES[:1]
    few = {"runs": 1, "sizes": [min(sizes if block["sizes"] == AUTO else [*sizes, *block["sizes"]])], "set_aside": {}}
    few |= {"words": block["words"] | {"n_words": AUTO, "n_validation_words": AUTO}, "figures": [], "claims": []}
    few |= {"basis": block["basis"] | {"rank": AUTO}} if block.get("basis") else {}
    note = f"A glance: one run at one size with at most {FEW_SAMPLES} samples; run without quick for all."
    own = {"most_samples": FEW_SAMPLES, "shards": 2, "note": f"{note} {entry.get('note', '')}".strip()}
    norm = final_norms(entry)[0]
    return entry | own | {"final": {"study": study, "norm": norm}, "studies": {study: block | few}}


def full_block(
    config: dict[str, Any], study: str, replacing: Mapping[str, Any] | None = None, dataset: str = ""
) -> dict[str, Any]:
    """A study's block with that of the study that it is like.

    replacing: values by study, which it or both may have. dataset: the one that has these.
    """
    require_known("a study", config["studies"], study, f"datasets.{dataset}.studies")
    names = [study]
    while "like" in config["studies"][names[0]]:
        like, where = config["studies"][names[0]]["like"], f"studies.{names[0]}.like"
        require_known("like", [name for name in config["studies"] if name not in names], like, where)
        names.insert(0, like)
    block: dict[str, Any] = {}
    for name in names:
        own = {key: value for key, value in config["studies"][name].items() if key != "like"}
        block = merged(merged(block, own), (replacing or {}).get(name, {}))
    return block


def merged(block: dict[str, Any], replacing: dict[str, Any]) -> dict[str, Any]:
    """A block with some values replaced. Blocks inside are merged, null takes a key away, other values are whole."""
    result = dict(block)
    for key, value in replacing.items():
        replaced = result.get(key)
        if isinstance(value, dict):
            value = merged(replaced if isinstance(replaced, dict) else {}, value)
        result[key] = value
    return {key: value for key, value in result.items() if value is not None or key not in replacing}


def only(block: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Return these keys of a block, in this order."""
    return {key: block[key] for key in keys}


def without(block: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Return a block without some of its keys."""
    return {key: value for key, value in block.items() if key not in keys}


def with_own_options(features: dict[str, Any], takes: Sequence[str]) -> dict[str, Any]:
    """A block `features` with those options alone that its extractor takes.

    A dataset that names another extractor still has the options of the block at the top level.
    """
    return features | {"options": {key: value for key, value in features["options"].items() if key in takes}}


def settings_of(config: dict[str, Any], datasets: list[str]) -> dict[str, Any]:
    """The part of the configuration that a run on these datasets uses."""
    entries = {name: config["datasets"][name] for name in datasets}
    used = {study for entry in entries.values() for study in entry["studies"]}
    studies = {name: full_block(config, name) for name in config["studies"] if name in used}
    own = {"dataset": datasets, "seed": config["seed"], "features": config["features"]}
    return own | {"datasets": entries, "studies": studies}


def names_of(room_name: str) -> list[str]:
    """The names of a room's plug-ins."""
    return sorted(room(room_name))


def tables_of(block: dict[str, Any]) -> dict[str, str]:
    """A study's tables, and the folder of each: `tables` if it is the same on each run, `timings` if it has seconds."""
    if block["kind"] != WORDS:
        own = pick("experiments", block["kind"])
        return own.TABLES | ({"warnings": "tables"} if own.WARNS else {})
    names = [
        *("odd_features", "repeated", "warnings", "words"),
        *("chosen", "means", "words_learnt", "by_word", "convergence", "sparsity", "weights"),
        *(f"tasks_run{run}" for run in range(1, block["runs"] + 1)),
    ]
    return dict.fromkeys(names + ["significance", "differences"] * (len(block["methods"]) > 1), "tables")


def drawing(figure: str) -> Drawing:
    """Return how a figure is drawn, and from which tables."""
    from jointsparse.pipeline.papers.catalogue import FIGURES  # it imports matplotlib, for half a second

    return FIGURES[figure]


def final_norms(entry: dict[str, Any]) -> list[str]:
    """The norms of a dataset's final fits, the first of which is kept."""
    norms = entry.get("final", {"norm": []})["norm"]
    return norms if isinstance(norms, list) else [norms]


def warned_tables(block: dict[str, Any]) -> list[str]:
    """The names of a study's tables whose rows may carry a warning."""
    if block["kind"] != WORDS:
        return list(pick("experiments", block["kind"]).WARNS)
    return [name for name in tables_of(block) if name in WARNED or name.startswith("tasks_run")]


def n_shards(name: str, entry: dict[str, Any]) -> int:
    """The number of shards of a dataset of pictures. auto: a power of two, which more pictures rarely change."""
    if entry["shards"] != AUTO:
        return int(entry["shards"])
    options, folders = entry["options"], raw_files(name, entry)[:1]
    n = sum(1 for folder in folders for _ in files_below(folder))
    return 2 ** max(math.ceil(math.log2((n or options.get("n_images", 1)) / MOST_OF_SHARD)), 0)


def _files(option: Any) -> list[str]:
    """The files that an option names, by split or not."""
    return [file for _, file in files_of(option)]


def raw_files(name: str, entry: dict[str, Any]) -> list[str]:
    """The files that a dataset is read from, and the folder of its pictures; none if it is composed.

    Files that need not be there are among them, so that a new one is seen.
    """
    options, plug_in, where = entry["options"], pick("datasets", entry["loader"]), f"datasets.{name}.options.root"
    if "root" not in options:
        return []
    root = Path(options["root"])
    if plug_in.OFFERS == "pictures":
        captions = _files(options.get("captions", "captions.csv")) * ("captions" in plug_in.TAKES)
        images = options.get("images", "images")
        files, required = [images, *captions, "splits.csv"], {f"a folder {images!r}": os.path.isdir(root / images)}
    else:
        files = [file for key in plug_in.FILES for file in _files(options.get(key, []))]
        required = {repr(file): os.path.isfile(root / file) for file in files}  # Path's own fails on too long names
    for file, is_there in required.items():
        said = (
            f"root must be a folder that holds {file}, got {str(root)!r}: put the data there, link it, or name another"
        )
        require(is_there, said, where)
    return [str(root / file) for file in files]

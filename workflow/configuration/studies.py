"""The datasets and studies in the configuration: their blocks, their tables and the files from which they are read."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from configuration.file import require, require_known
from jointsparse.pipeline.datasets.names import files_of
from jointsparse.pipeline.provenance.records import files_below
from jointsparse.pipeline.tasks import AUTO_SIZES, SMALLEST_SIZE
from jointsparse.registry import pick, room

if TYPE_CHECKING:
    from jointsparse.pipeline.figures.style import Drawing

AUTO = "auto"  # as the value of radius, sizes, rank or a number of words: chosen from the data
WORDS = "words"  # the kind of the studies whose tasks are words, classes or topics; every other kind is an experiment
MOST_OF_SHARD = 2000  # most pictures in a shard, if the number of shards is chosen automatically
OF_FINAL = ("study", "like", "norm", "stability")  # keys of a block `final` that are not values of its study
FEW_SAMPLES = 500  # Choice: number of samples in a quick run, which then takes a minute


def chosen_datasets(config: dict[str, Any]) -> list[str]:
    """Return the names of the datasets to run."""
    return [config["dataset"]] if isinstance(config["dataset"], str) else config["dataset"]


def datasets_of(config: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the full entry of every dataset, with all defaults and with the complete blocks of its studies.

    The key `settings` of an entry holds the block of a study that is not run and only gives the final fits their
    settings. With `compare: true`, this study is run, too. A dataset whose entry has neither `studies` nor `final` gets
    the final fits described in `own_study`.
    """
    datasets = {}
    for name, entry in config["datasets"].items():
        replaced, settings = entry.get("studies", {}), dict[str, dict[str, Any]]()
        studies = {study: full_block(config, study, replaced, name) for study in replaced}
        if final := final_of(name, entry):
            if like := final.get("like"):
                where = f"datasets.{name}.final.like"
                require_known("like", [study for study in config["studies"] if study not in studies], like, where)
                settings = {like: full_block(config, like, {like: without(final, *OF_FINAL)}, name)}
            own = {key: value for key, value in final.items() if key in OF_FINAL and value is not None}
            final = without(own, "like") | {"study": like or final["study"]}
        if config.get("compare"):
            studies, settings = studies | settings, {}
        full = {"options": {}, "shards": AUTO} | entry | ({"final": final} if final else {})
        full |= {"features": merged(config["features"], entry.get("features", {}))}
        datasets[name] = full | {"studies": studies, "settings": settings}
    return datasets


def final_of(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Return a dataset's block `final` with its defaults, or an empty block for a dataset that has only studies."""
    if "studies" in entry and "final" not in entry:
        return {}
    final = {"norm": AUTO} | entry.get("final", {})
    return final if "study" in final else {"like": own_study(name, entry["loader"])} | final


def own_study(name: str, loader: str) -> str:
    """Return the study from which final fits on a user's own data take their settings, depending on the loader."""
    plug_in = pick("datasets", loader)
    require(
        plug_in.OFFERS != "drawn",
        f"the key 'studies' is missing; the loader {loader} needs it, because it offers no data for a final fit",
        f"datasets.{name}",
    )
    if plug_in.OFFERS == "samples":
        return "own-labels"
    return "own-words" if plug_in.LABELS == "words" else "own-classes"


def glance(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Return a full entry reduced for a quick run: few samples, and at most one study with one run at one size."""
    require("final" in entry, f"quick is for datasets with a final fit, got {name!r}", f"datasets.{name}")
    study, norm = entry["final"]["study"], final_norms(entry)[0]
    kind = "studies" if study in entry["studies"] else "settings"
    block, sizes = entry[kind][study], AUTO_SIZES[:1]
    few = {"runs": 1, "sizes": [min([*sizes, *sizes_of(block)])], "set_aside": {}}
    few |= {"words": block["words"] | {"n_words": AUTO, "n_validation_words": AUTO}, "figures": [], "claims": []}
    few |= {"basis": block["basis"] | {"rank": AUTO}} if block.get("basis") else {}
    what = "one run at one size on" if kind == "studies" else "the final fit on"
    note = f"A quick run: {what} at most {FEW_SAMPLES} samples. Run without quick to use all samples."
    own = {"most_samples": FEW_SAMPLES, "shards": 2, "note": f"{note} {entry.get('note', '')}".strip()}
    final = entry["final"] | {"norm": AUTO if entry["final"]["norm"] == AUTO else norm}
    return entry | own | {"final": final, "studies": {}, "settings": {}} | {kind: {study: block | few}}


def sizes_of(block: dict[str, Any]) -> list[int]:
    """Return the sizes of a study's training sets, or all sizes that may be chosen from the data."""
    sizes = block["sizes"]
    if isinstance(sizes, dict):
        return [SMALLEST_SIZE, *AUTO_SIZES]
    return list(AUTO_SIZES) if sizes == AUTO else list(sizes)


def full_block(
    config: dict[str, Any], study: str, replacing: Mapping[str, Any] | None = None, dataset: str = ""
) -> dict[str, Any]:
    """Return a study's complete block, including the values inherited from the study named by its key `like`.

    replacing: for each study, values that override its own or inherited values. dataset: the dataset in which these
    values are given.
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
    """Return a block with some values replaced. Nested blocks are merged, lists are replaced, null removes a key."""
    result = dict(block)
    for key, value in replacing.items():
        replaced = result.get(key)
        if isinstance(value, dict):
            value = merged(replaced if isinstance(replaced, dict) else {}, value)
        result[key] = value
    return {key: value for key, value in result.items() if value is not None or key not in replacing}


def only(block: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Return the block with only these keys, in this order."""
    return {key: block[key] for key in keys}


def without(block: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Return the block without these keys."""
    return {key: value for key, value in block.items() if key not in keys}


def with_own_options(features: dict[str, Any], takes: Sequence[str]) -> dict[str, Any]:
    """Return a block `features` with only the options that its extractor takes.

    Otherwise, a dataset with another extractor would inherit options that are meant for the extractor named at the top
    level.
    """
    return features | {"options": {key: value for key, value in features["options"].items() if key in takes}}


def settings_of(config: dict[str, Any], full: Mapping[str, dict[str, Any]], datasets: list[str]) -> dict[str, Any]:
    """Return the part of the configuration that is used by a run on these datasets. full: see `datasets_of`."""
    entries = {name: config["datasets"][name] for name in datasets}
    used = {study for name in datasets for kind in ("studies", "settings") for study in full[name][kind]}
    studies = {name: full_block(config, name) for name in config["studies"] if name in used}
    own = {"dataset": datasets, "seed": config["seed"], "features": config["features"]}
    return own | {"datasets": entries, "studies": studies}


def names_of(room_name: str) -> list[str]:
    """Return the sorted names of the plug-ins in a room."""
    return sorted(room(room_name))


def tables_of(block: dict[str, Any]) -> dict[str, str]:
    """Map the tables of a study to their folders: `timings` for measured times, and `tables` for all other tables."""
    if block["kind"] != WORDS:
        own = pick("experiments", block["kind"])
        return own.TABLES | ({} if own.TABLES[block["kind"]] == "timings" else {"warnings": "tables"})
    names = [
        *("odd_features", "repeated", "warnings", "words"),
        *("chosen", "means", "words_learnt", "by_word", "convergence", "sparsity", "weights"),
        *(f"tasks_run{run}" for run in range(1, block["runs"] + 1)),
    ]
    return dict.fromkeys(names + ["significance", "differences"] * (len(block["methods"]) > 1), "tables")


def drawing(figure: str) -> Drawing:
    """Return the entry that says how a figure is drawn, and from which tables."""
    from jointsparse.pipeline.papers.catalogue import FIGURES  # imported here because it loads pandas

    return FIGURES[figure]


def final_norms(entry: dict[str, Any]) -> list[str]:
    """Return the norms of a dataset's final fits.

    The fit of the first norm is saved. If `norm` is `auto`, cross-validation chooses the fit that is saved.
    """
    norms = entry.get("final", {"norm": []})["norm"]
    if norms == AUTO:
        return names_of("norms")
    return norms if isinstance(norms, list) else [norms]


def n_shards(name: str, entry: dict[str, Any]) -> int:
    """Return the number of shards of a dataset of pictures; for `auto`, it is a power of two and rarely changes."""
    if entry["shards"] != AUTO:
        return int(entry["shards"])
    options, folders = entry["options"], raw_files(name, entry)[:1]
    n = sum(1 for folder in folders for _ in files_below(folder))
    return 2 ** max(math.ceil(math.log2((n or options.get("n_images", 1)) / MOST_OF_SHARD)), 0)


def _files(option: Any) -> list[str]:
    """Return the files that are given by an option, which may be a single file or a mapping from splits to files."""
    return [file for _, file in files_of(option)]


def raw_files(name: str, entry: dict[str, Any]) -> list[str]:
    """Return the files from which a dataset is read, and the folder of its pictures; none without the option `root`.

    Optional files are listed even if they do not exist, so that a new file is noticed.
    """
    options, plug_in, where = entry["options"], pick("datasets", entry["loader"]), f"datasets.{name}.options.root"
    if "root" not in options:
        return []
    root = Path(options["root"])
    if plug_in.OFFERS == "pictures":
        captions = [file for key in plug_in.FILES for file in _files(options.get(key, "captions.csv"))]
        captions = [file for file in captions if not file.startswith("*.")]  # files beside the pictures
        images = options.get("images", "images")
        files, required = [images, *captions, "splits.csv"], {f"a folder {images!r}": os.path.isdir(root / images)}
        said = f"results must not be written into the folder of the pictures, {root / images}: run in another folder"
        require(not Path.cwd().is_relative_to(os.path.realpath(root / images)), said, where)
    else:
        files = [file for key in plug_in.FILES for file in _files(options.get(key, []))]
        required = {repr(file): os.path.isfile(root / file) for file in files}  # Path.is_file raises for long names
    for file, is_there in required.items():
        said = f"root must be a folder with {file}, got {str(root)!r}: put the data there, link it, or change root"
        require(is_there, said, where)
    return [str(root / file) for file in files]

"""Write out what datasets and studies inherit."""

from collections.abc import Iterable, Mapping
from typing import Any

from jointsparse.pipeline.settings.datasets import LOADERS, Dataset, Learnable, Pictures
from jointsparse.pipeline.settings.values import TAGS, SettingError, one_of, shown

OF_FINAL = ("study", "like", "norm", "stability")  # keys of a block `final` that are not values of its study


def written_out(config: Any) -> Any:
    """Return config.yaml with everything written out that datasets and studies inherit.

    A study inherits from the study named by its key `like`. A dataset lists its studies with the values that it
    overrides, also in the studies from which they inherit, and it overrides values of the block `features`. A dataset
    whose entry has neither `studies` nor `final` gets final fits with the settings of its loader's `OWN_STUDY`.
    """
    if not (
        isinstance(config, Mapping) and all(isinstance(config.get(key), Mapping) for key in ("datasets", "studies"))
    ):
        return config
    blocks = config["studies"]
    studies = {name: study_of(blocks, name) if isinstance(blocks[name], Mapping) else blocks[name] for name in blocks}
    datasets = {
        name: _dataset_of(config, name) if isinstance(entry, Mapping) else entry
        for name, entry in config["datasets"].items()
    }
    full = {**config, "studies": studies, "datasets": datasets}
    if config.get("compare") is True:
        chosen = config.get("dataset")
        _run_studies_of_finals(datasets, chosen if isinstance(chosen, list) else [chosen])
    return full


def _run_studies_of_finals(datasets: Mapping[str, Any], chosen: list[Any]) -> None:
    """Move the studies that only give the final fits their settings to the studies of their datasets."""
    finals = {name: entry.get("final") for name, entry in datasets.items() if isinstance(entry, Mapping)}
    unrun = [name for name, own in finals.items() if isinstance(own, Mapping) and {"study", "settings"} <= own.keys()]
    if all(name in [*datasets] and name not in unrun for name in chosen):
        said = f"compare adds the study named by final.like, and there is none for {', '.join(map(str, chosen))}"
        raise SettingError(f"{said}: take compare away", "compare")
    for name in unrun:
        entry, final = datasets[name], datasets[name]["final"]
        block, studies = final.pop("settings"), entry.get("studies", {})
        entry["studies"] = {**studies, final["study"]: block} if isinstance(studies, Mapping) else studies


def _dataset_of(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the entry of a dataset, written out. Blocks of a wrong type are left as they are."""
    full = dict(config["datasets"][name])
    loader = LOADERS.get(full["loader"], Dataset) if isinstance(full.get("loader"), str) else Dataset
    inherited, own = config.get("features"), full.get("features", {})
    if issubclass(loader, Pictures) and isinstance(inherited, Mapping) and isinstance(own, Mapping):
        full["features"] = merged(inherited, own)
    studies = full.get("studies", {})
    if isinstance(studies, Mapping):
        replaced = {study: block for study, block in studies.items() if isinstance(block, Mapping)}
        for study in studies:
            _require_known("a study", config["studies"], study, f"datasets.{name}.studies")
        of_blocks = {study: study_of(config["studies"], study, replaced) for study in replaced}
        full |= {"studies": {**studies, **of_blocks}} if studies else {}
    final = full.get("final", {})
    if issubclass(loader, Learnable) and isinstance(final, Mapping) and ("final" in full or "studies" not in full):
        others = studies if isinstance(studies, Mapping) else {}
        full["final"] = _final_of(config["studies"], final, others, loader, f"datasets.{name}.final")
    return full


def _final_of(
    blocks: Mapping[str, Any], final: Mapping[str, Any], studies: Mapping[str, Any], loader: type[Dataset], where: str
) -> dict[str, Any]:
    """Return a block `final`, written out. studies: the studies of its dataset."""
    own = {key: final[key] for key in OF_FINAL if final.get(key) is not None}
    values = {key: value for key, value in final.items() if key not in OF_FINAL}
    if "study" in own:
        for key in [*values, *(["like"] if "like" in own else [])]:
            advice = (
                "write it into the study, or replace study by like, which takes the settings without running the study"
            )
            raise SettingError(f"{key} has no effect beside study: {advice}", where)
        return own
    like = own.pop("like", loader.OWN_STUDY)
    if like in [*studies]:
        said = f"{like} is a study of this dataset, so the final fit can use it: write study: {like}"
        raise SettingError(said, f"{where}.like" if "like" in final else where)
    _require_known("like", blocks, like, f"{where}.like")
    return {"study": like, **own, "settings": study_of(blocks, like, {like: values})}


def study_of(blocks: Mapping[str, Any], name: str, replacing: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a study, written out. replacing: for some studies, values that override own or inherited values."""
    block: dict[str, Any] = {}
    for study in reversed(inheriting(blocks, name)):
        own = blocks[study] if isinstance(blocks[study], Mapping) else {}
        own = {key: value for key, value in own.items() if key != "like"}
        block = merged(merged(block, own), (replacing or {}).get(study, {}))
    return block


def inheriting(blocks: Mapping[str, Any], name: str) -> list[str]:
    """Return the name of a study, of the study from which it inherits, and so on."""
    names = [name]
    while isinstance(blocks[names[-1]], Mapping) and "like" in blocks[names[-1]]:
        known = [study for study in blocks if study not in names]
        _require_known("like", known, like := blocks[names[-1]]["like"], f"studies.{names[-1]}.like")
        names.append(like)
    return names


def merged(block: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return a block with some values replaced. Nested blocks are merged, lists are replaced, null removes a key.

    If the new values name another solver, extractor, measure or kind, the old values of the block do not fit it, and
    only the new values are returned.
    """
    anew = any(key in block and over.get(key, block[key]) != block[key] for key in TAGS)
    result = {} if anew else dict(block)
    for key, value in over.items():
        if value is None and key in block:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            old = result.get(key)
            result[key] = merged(old if isinstance(old, Mapping) else {}, value)
        else:
            result[key] = value
    return result


def places(config: Mapping[str, Any], dataset: str, study: str, where: str) -> list[str]:
    """Return the places in config.yaml that may set a value of a study, for a message about the value.

    Parameters
    ----------
    config : mapping
        The content of config.yaml.
    dataset, study : str
        Names of the dataset and of its study.
    where : str
        The place of the value in the study, such as "studies.text.basis".
    """
    names = inheriting(config["studies"], study)
    replaced = config["datasets"].get(dataset, {}).get("studies", {})
    places = [where.replace(f"studies.{study}", f"studies.{name}") for name in names]
    overrides = [f"studies.{name}" for name in names if replaced.get(name)]
    overrides += ["final"] * replaced.keys().isdisjoint(names)  # final gives the dataset the settings of the study
    return [*places, *(f"datasets.{dataset}.{place}" for place in overrides)]


def _require_known(key: str, known: Iterable[str], got: object, where: str) -> None:
    known = list(known)
    if got not in known:
        raise SettingError(f"{key} must be {one_of(known, got)}, got {shown(got)}", where)

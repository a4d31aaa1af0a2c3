"""Add a person's decisions about labels to the corrections of a dataset, and write them beside the photographs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from jointsparse.checks import require
from jointsparse.messages import shortened
from jointsparse.pipeline.app.config import overwrite, require_writable, with_corrections
from jointsparse.pipeline.app.plain_yaml import load_file
from jointsparse.pipeline.datasets import corrections
from jointsparse.pipeline.datasets.sidecars import Update, confirm, reject
from jointsparse.pipeline.provenance.tables import read_table
from jointsparse.pipeline.settings import Config, read
from jointsparse.pipeline.settings.datasets import FolderOptions, Learnable
from jointsparse.pipeline.settings.inheritance import merged
from jointsparse.pipeline.settings.studies import WordStudy
from jointsparse.pipeline.words import in_no_caption

SHOWN = 3  # samples or tags that an error names
LABEL = ["sample", "tag"]


class Corrected(NamedTuple):
    """What `correct` has done.

    Attributes
    ----------
    dataset
        Name of the dataset.
    file
        Its table of corrections.
    n
        Number of decisions that were given.
    n_new, n_changed
        Number of those about labels that the table did not decide, and decided otherwise.
    n_unseen, unseen
        Number of decisions about tags that no sample has yet, and these tags.
    names_file
        Whether config.yaml now names the table, and did not before.
    n_samples
        Number of samples with decisions.
    update
        The sidecars of the photographs, or None if none was asked for.
    again
        Arguments of `jointsparse run` that learns from the decisions.
    """

    dataset: str
    file: str
    n: int
    n_new: int
    n_changed: int
    n_unseen: int
    unseen: list[str]
    names_file: bool
    n_samples: int
    update: Update | None
    again: str


def correct(
    file: Path, config: Path, workflow: Path, *, dataset: str | None = None, xmp: bool = False, dry_run: bool = False
) -> Corrected:
    """Add the decisions in a table to the corrections of a dataset, which the next run applies.

    Parameters
    ----------
    file : path
        The table, see `corrections.read`.
    config : path
        The config.yaml of the current folder. If it does not name the dataset's table of corrections yet, the table is
        `<dataset>-corrections.csv`, and the key is added.
    workflow : path
        The folder of the workflow. The file overrides values of its config.yaml.
    dataset : str or None
        The dataset; by default the one that a run would use.
    xmp : bool
        If True, also write the decisions into XMP sidecars beside the photographs, see `sidecars`.
    dry_run : bool
        If True, write nothing.

    Raises
    ------
    ValueError
        If the table is not one of decisions, if the last run did not have one of its samples, if no sample has a tag
        that one is said not to have, if a file is missing or read-only, or if the dataset has no labels to correct.
        Nothing is written then.
    """
    name, entry, again = _chosen(_settings(config, workflow), dataset)
    options = entry.options if isinstance(entry.options, FolderOptions) else None
    require(options or not xmp, f"--xmp is for photographs, and {name} has none: leave it out")
    images, captions = _last_runs(name, again)
    decided = corrections.read(file, images)
    require(len(decided), f"{file} must hold at least one decision, got only a header")
    table = Path(entry.corrections or f"{name}-corrections.csv")
    gone = f"config.yaml names the corrections {table}, which are not there: put this file back, or remove the key"
    require(not entry.corrections or os.path.lexists(table), gone)
    before = corrections.read(table, images, whole=True) if os.path.lexists(table) else decided[:0]
    _require_samples(file, name, decided, {*images, *before["sample"]})
    unseen = in_no_caption(decided["tag"], [*captions, *before["tag"]], **_forms(entry))
    _require_tags(file, name, decided, unseen)
    n_new = len(decided) - len(decided.merge(before, on=LABEL))
    n_changed = len(decided) - n_new - len(decided.merge(before, on=[*LABEL, "has"]))
    every = pd.concat([before, decided], ignore_index=True).groupby(LABEL, sort=False).last().reset_index()
    new_config = None if entry.corrections else with_corrections(config, name, str(table))
    _write(every[before.columns] if n_new + n_changed else None, table, new_config, config, dry_run)
    photographs = Path(options.root) / options.images if options and xmp else None
    update = _written_beside(photographs, decided, dry_run) if photographs else None
    return Corrected(
        dataset=name,
        file=str(table),
        n=len(decided),
        n_new=n_new,
        n_changed=n_changed,
        n_unseen=int(decided["tag"].isin(unseen.keys()).sum()),
        unseen=[*unseen],
        names_file=new_config is not None,
        n_samples=decided["sample"].nunique(),
        update=update,
        again=again,
    )


def _chosen(settings: Config, dataset: str | None) -> tuple[str, Learnable, str]:
    """Return the name and entry of the dataset to correct, and the arguments of `jointsparse run` that choose it."""
    name = dataset or (settings.chosen[0] if len(settings.chosen) == 1 else "")
    require(name, f"config.yaml runs several datasets, {', '.join(settings.chosen)}: choose one with --dataset")
    require(name in settings.datasets, f"config.yaml has no dataset {shortened(name)}: choose another with --dataset")
    entry = settings.datasets[name]
    if not isinstance(entry, Learnable):
        raise ValueError(f"the dataset {name} draws its own tasks, and has no labels to correct")
    return name, entry, "" if settings.chosen == [name] else f" --dataset {name}"


def _write(every: pd.DataFrame | None, table: Path, new_config: bytes | None, config: Path, dry_run: bool) -> None:
    """Write the table of corrections and config.yaml, each unless it is None, if both are writable."""
    for changed in [table] * (every is not None) + [config] * (new_config is not None):
        require_writable(changed)
    if every is not None and not dry_run:
        corrections.write(every, table.resolve())
    if new_config is not None and not dry_run:
        overwrite(config, new_config)


def _settings(config: Path, workflow: Path) -> Config:
    """Return the settings of the current folder, which override those of the workflow."""
    require(config.is_file(), f"this folder has no {config}: write one with jointsparse init FOLDER")
    shipped, own = (load_file(file) or {} for file in (workflow / "config.yaml", config))
    return read(merged(shipped, own))


def _last_runs(name: str, again: str) -> tuple[list[str], list[str]]:
    """Return the samples and captions of the last run and the last quick run. Raises ValueError without a run."""
    folders = (Path("results", name), Path("results", f"{name}-quick"))
    files = [[folder / f"{kind}.parquet" for kind in ("images", "captions")] for folder in folders]
    tables = [[read_table(file) for file in pair] for pair in files if all(map(Path.is_file, pair))]
    said = f"correct compares with a run of {name}, and there was none: start one with jointsparse run{again}"
    require(tables, said)
    images, captions = (pd.concat(each) for each in zip(*tables, strict=True))
    return images["image"].unique().tolist(), captions["caption"].unique().tolist()


def _forms(entry: Learnable) -> dict[str, bool]:
    """Return the options that determine which tags name the same word."""
    study = entry.blocks.get(entry.final.study) if entry.final else next(iter(entry.blocks.values()), None)
    words = study.words if isinstance(study, WordStudy) else None
    return {key: getattr(words, key, False) for key in ("split_captions", "join_inflections")}


def _require_samples(file: Path, name: str, decided: pd.DataFrame, known: set[str]) -> None:
    """Raise ValueError if neither the last run nor the last quick run had the sample of a decision.

    known: the samples of these runs and of the dataset's table. The latter have been samples: `keywords` leaves a
    photograph out whose last tag is removed from its sidecar.
    """
    unknown = [sample for sample in decided["sample"].unique() if sample not in known]
    shown = ", ".join(map(shortened, unknown[:SHOWN])) + ", …" * (len(unknown) > SHOWN)
    require(
        not unknown,
        f"{file} must decide about samples of {name}, but {len(unknown):,} of the samples "
        f"{'was' if len(unknown) == 1 else 'were'} not in the last run: {shown}. Remove these rows, or choose "
        "another dataset with --dataset",
    )


def _require_tags(file: Path, name: str, decided: pd.DataFrame, unseen: Mapping[str, list[str]]) -> None:
    """Raise ValueError if a sample is said not to have a tag that no sample has. unseen: these tags, and similar ones.

    A tag that another decision gives to a sample is there.
    """
    given = {*decided["tag"][decided["has"]]}
    unknown = {tag: similar for tag, similar in unseen.items() if tag not in given}
    shown = [
        shortened(tag) + f" (similar: {', '.join(map(shortened, similar))})" * bool(similar)
        for tag, similar in [*unknown.items()][:SHOWN]
    ]
    require(
        not unknown,
        f"{file} says that samples of {name} do not have a tag, but no sample has it: {', '.join(shown)}"
        f"{', …' * (len(unknown) > SHOWN)}. Correct the tag, or remove these rows",
    )


def _written_beside(photographs: Path, decided: pd.DataFrame, dry_run: bool) -> Update:
    """Write decisions into the sidecars of photographs. photographs: their folder."""
    tags: dict[bool, dict[Path, list[str]]] = {True: {}, False: {}}
    left_out = dict[str, str]()
    for sample, tag, has in decided.to_numpy().tolist():
        path = photographs / sample
        if path.is_file():
            tags[has].setdefault(path, []).append(tag)
        else:
            left_out[str(path)] = "the photograph is not there any more"
    accepted = confirm(tags[True], [photographs], dry_run=dry_run)
    rejected = reject(tags[False], [photographs], dry_run=dry_run)
    return Update(accepted.changes + rejected.changes, left_out | accepted.left_out | rejected.left_out)

"""Add a person's decisions about labels to the corrections of a dataset, and write them beside the photographs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import yaml

from jointsparse.checks import require
from jointsparse.messages import shortened
from jointsparse.pipeline.app.config import with_corrections
from jointsparse.pipeline.app.plain_yaml import check_file
from jointsparse.pipeline.datasets import corrections
from jointsparse.pipeline.datasets.sidecars import Update, confirm, reject
from jointsparse.pipeline.provenance.tables import read_table
from jointsparse.pipeline.settings import Config, read
from jointsparse.pipeline.settings.datasets import FolderOptions, Learnable
from jointsparse.pipeline.settings.inheritance import merged
from jointsparse.written import written

SHOWN = 3  # samples that an error names


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
    n_new
        Number of those that the table did not have.
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
        If the table is not one of decisions, if the last run did not have one of its samples, or if the dataset has no
        labels to correct. Nothing is written then.
    """
    settings = _settings(config, workflow)
    name = dataset or (settings.chosen[0] if len(settings.chosen) == 1 else "")
    require(name, f"config.yaml runs several datasets, {', '.join(settings.chosen)}: choose one with --dataset")
    require(name in settings.datasets, f"config.yaml has no dataset {shortened(name)}: choose another with --dataset")
    entry, decided = settings.datasets[name], corrections.read(file)
    if not isinstance(entry, Learnable):
        raise ValueError(f"the dataset {name} draws its own tasks, and has no labels to correct")
    require(len(decided), f"{file} must hold at least one decision, got only a header")
    options = entry.options if isinstance(entry.options, FolderOptions) else None
    require(options or not xmp, f"--xmp is for photographs, and {name} has none: leave it out")
    table = entry.corrections or f"{name}-corrections.csv"
    before = corrections.read(table) if os.path.lexists(table) else decided[:0]
    _require_known(file, name, decided[~decided["sample"].isin(before["sample"])], xmp)
    text = None if entry.corrections else with_corrections(config, name, table)
    n_new = len(decided) - len(decided.merge(before))
    if n_new and not dry_run:
        every = pd.concat([before, decided], ignore_index=True)
        corrections.write(every.groupby(["sample", "tag"], sort=False)["has"].last().reset_index(), table)
    if text and not dry_run:
        with written(config.resolve()) as temporary:
            temporary.write_bytes(text)
    photographs = Path(options.root) / options.images if options and xmp else None
    update = _written_beside(photographs, decided, dry_run) if photographs else None
    again = "" if settings.chosen == [name] else f" --dataset {name}"
    return Corrected(name, table, len(decided), n_new, text is not None, decided["sample"].nunique(), update, again)


def _settings(config: Path, workflow: Path) -> Config:
    """Return the settings of the current folder, which override those of the workflow."""
    require(config.is_file(), f"this folder has no {config}: write one with jointsparse init FOLDER")
    check_file(config)
    shipped, own = (yaml.safe_load(file.read_bytes()) or {} for file in (workflow / "config.yaml", config))
    return read(merged(shipped, own))


def _require_known(file: Path, name: str, decided: pd.DataFrame, xmp: bool) -> None:
    """Raise ValueError if neither the last run nor the last quick run had the sample of a decision.

    decided: the decisions about samples of which the dataset's table has none yet. Others have been samples: `keywords`
    leaves a photograph out whose last tag is removed from its sidecar.
    """
    files = (Path("results") / results / "images.parquet" for results in (name, f"{name}-quick"))
    tables = [read_table(file, "image")["image"] for file in files if file.is_file()]
    require(tables or not xmp, f"--xmp needs the results of {name}, and there are none: start with jointsparse run")
    if tables:
        unknown = [*decided["sample"][~decided["sample"].isin(pd.concat(tables))].unique()]
        shown = ", ".join(map(shortened, unknown[:SHOWN])) + ", …" * (len(unknown) > SHOWN)
        require(
            not unknown,
            f"{file} must decide about samples of {name}, but {len(unknown):,} of the samples "
            f"{'was' if len(unknown) == 1 else 'were'} not in the last run: {shown}. Remove these rows, or choose "
            "another dataset with --dataset",
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

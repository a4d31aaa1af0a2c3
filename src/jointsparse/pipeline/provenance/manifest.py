"""The manifest of a run: the versions and settings that the run used, and checksums of all raw files and tables.

The manifest gathers the records of all jobs. It holds no times, so the same code on the same kind of machine writes the
same manifest, byte for byte. The paths in it are relative to the folder of the run, which contains the folder
`results`. The manifest itself is the file `results/claims/<dataset>/manifest.json`.
"""

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any

from annotated_types import MinLen
from pydantic import BaseModel, ValidationError

from jointsparse.checks import require
from jointsparse.messages import printable
from jointsparse.pipeline.provenance import records
from jointsparse.pipeline.provenance.records import LARGEST_RAW, Checksums, Several


class Manifest(BaseModel, strict=True):
    """The form of a manifest; see `make`."""

    made_with: dict[str, list[str]]
    settings: Any
    inputs: dict[str, dict[str, str]]
    tables: Annotated[dict[str, str], MinLen(1)]


def make(tables: Iterable[str | Path], raw: Mapping[str, Checksums], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest of the given tables.

    Parameters
    ----------
    tables : paths
        CSV files, each of which has a record.
    raw : mapping
        For each dataset, the checksums of its raw files and folders as returned by `records.checksums`.
    settings : mapping
        The settings that the tables were made with, as JSON values.

    Returns
    -------
    manifest : dict
        The manifest has the keys

        - `made_with`: the versions and machine properties with which the tables were made. Each value is a list, which
          has several items if jobs used different versions or machines;
        - `settings`: the given settings;
        - `inputs`: for each dataset, the SHA-256 checksums of its raw files;
        - `tables`: the SHA-256 checksum of each table.

    Raises
    ------
    Damaged
        If a table has no record or does not match its record.
    ValueError
        If the raw files have changed since the tables were made.
    """
    known = records.read_inputs(tables)
    for name, digests in known["raw"].items():
        if digests != [records.digest(raw[name])]:
            raise ValueError(
                f"the tables must be made from the present raw files of the dataset {name}, which have changed: run "
                "again"
            )
    return {"made_with": known["made_with"], "settings": settings, "inputs": raw, "tables": known["files"]}


def verify(path: str | Path) -> tuple[int, list[str], list[str]]:
    """Check the files that a manifest lists against its checksums, and all results against their records.

    Parameters
    ----------
    path : path
        The manifest, which lists the raw files and the tables to check.

    Returns
    -------
    checked : int
        Number of files that were checked.
    differences : list of str
        A line for each file that has changed, is missing or cannot be read.
    notes : list of str
        A line for each version or machine property that is different on this machine or differed between jobs.

    Raises
    ------
    ValueError
        If the file is not a manifest.
    """
    manifest, root = read(path), root_of(path)
    raw = Checksums()
    for files in manifest["inputs"].values():
        raw |= _below(root, files)
    results = recorded(Path(root, "results")) | _below(root, manifest["tables"])
    now = {name: [value] for name, value in records.environment(whole=True).items()}
    notes = _notes_on_versions(manifest["made_with"], now, "{} when made, {} here")
    faults = different(raw, largest=LARGEST_RAW) | different(results)
    return len(raw) + len(results), [f"{fault}: {printable(name)}" for name, fault in faults.items()], notes


def _below(root: str, checksums: Checksums) -> Checksums:
    """Return the checksums with `root` put in front of each path."""
    return {str(Path(root, name)): checksum for name, checksum in checksums.items()}


def recorded(results: Path) -> Checksums:
    """Return the recorded checksums of all results below a folder, including results that have been deleted."""
    files = (record.parent.parent / record.stem for record in results.rglob("records/*.json"))
    known = {str(file): records.read(file) for file in files}
    return {name: record["sha256"] for name, record in known.items() if "sha256" in record}


def deleted(results: Path, targets: Iterable[str]) -> list[str]:
    """Return the deleted results of the jobs that made the targets, and of all earlier jobs, according to records."""
    known = {name: records.read(name) for name in recorded(results)}
    todo, visited = [name for name in targets if name in known], set[str]()
    while todo:
        if (name := todo.pop()) not in visited:
            visited.add(name)
            todo += [file for file in known[name]["files"] if file in known]
    jobs = {known[name]["job"] for name in visited}
    return sorted(name for name, record in known.items() if record["job"] in jobs and not os.path.lexists(name))


def different(expected: Checksums, cache: str | Path | None = None, largest: float = math.inf) -> dict[str, str]:
    """Return a dictionary of the files that do not have the expected checksum, each with the reason.

    `cache` and `largest` are passed to `records.checksums`.
    """
    here = records.checksums(expected, cache, largest)
    wrong = [name for name in sorted(expected) if here.get(name) != expected[name]]
    return {name: "differs" if here.get(name) else "missing or not readable" for name in wrong}


def compare(path: str | Path, other: str | Path) -> tuple[int, list[str], list[str]]:
    """Compare the tables of two manifests by their checksums.

    Returns the number of tables, their differences, and notes, like `verify`. The notes say whether settings or inputs
    differ, and which versions differ.
    """
    first, second = read(path), read(other)
    ours, theirs = first["tables"], second["tables"]
    differences = [f"only in {path if name in ours else other}: {name}" for name in sorted(ours.keys() ^ theirs.keys())]
    differences += [f"differs: {name}" for name in sorted(ours.keys() & theirs.keys()) if ours[name] != theirs[name]]
    notes = [f"the {kind} differ" for kind in ("settings", "inputs") if first[kind] != second[kind]]
    notes += _notes_on_versions(first["made_with"], second["made_with"], "{} in the first, {} in the other")
    return len(ours.keys() | theirs.keys()), differences, notes


def _notes_on_versions(first: Several, second: Several, words: str) -> list[str]:
    """Return a note for each version or machine property that differs between two manifests or has several values."""
    notes = []
    for name, values in sorted(first.items()):
        values_of_second = second.get(name, ["none"])
        if values != values_of_second or len(values) > 1:
            mixed = " (a mixture)" if len(values) > 1 or len(values_of_second) > 1 else ""
            notes.append(f"{name}: {words.format(' and '.join(values), ' and '.join(values_of_second))}{mixed}")
    return notes


def root_of(path: str | Path) -> str:
    """Return the folder of the run that wrote a manifest. The paths in the manifest are relative to this folder."""
    return os.path.normpath(Path(path, *[os.pardir] * 4))


def read(path: str | Path) -> dict[str, Any]:
    """Read a manifest. Raises ValueError if the file is not a manifest."""
    written = "a run writes its manifest as manifest.json, in the folder of its claims"
    require(Path(path).is_file(), f"there is no manifest {path}: {written}")
    try:
        manifest: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        Manifest.model_validate(manifest)
    except ValidationError as error:
        first = error.errors()[0]
        why = f"{'.'.join(map(str, first['loc'])) or 'the whole'}: {first['msg']}"
        # The reason may repeat the whole file.
        why = shorten(why, 200, placeholder=" …")
        raise ValueError(f"{path} is not a manifest, or is damaged ({why}): {written}") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is not a manifest, or is damaged: {written}") from None
    return manifest

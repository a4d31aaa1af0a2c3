"""The manifest of results: what they were made with, and checksums of every raw file and of every table.

It gathers the records that the jobs have left. The same results of the same code on the same kind of machine have the
same manifest, byte by byte. It holds no times, and names are relative to the folder of the run, which holds `results`,
with the manifest two folders below.
"""

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any

from jointsparse.checks import printable
from jointsparse.pipeline.provenance import records
from jointsparse.pipeline.provenance.records import LARGEST_RAW, Checksums, Several

CHECKSUMS = {"type": "object", "additionalProperties": {"type": "string"}}
VERSIONS = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}
SCHEMA = {  # of a manifest
    "type": "object",
    "properties": {
        "made_with": VERSIONS,
        "settings": {},
        "inputs": {"type": "object", "additionalProperties": CHECKSUMS},
        "tables": CHECKSUMS | {"minProperties": 1},
    },
    "required": ["made_with", "settings", "inputs", "tables"],
}


def make(tables: Iterable[str | Path], raw: Mapping[str, Checksums], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest of some tables.

    Parameters
    ----------
    tables : paths
        CSV files with records.
    raw : mapping
        By dataset, the checksums of its raw files and folders, see `records.checksums`.
    settings : mapping, as JSON knows it
        The values that the tables were made with.

    Returns
    -------
    manifest : dict
        made_with: versions and properties of the machine, of all jobs that the tables rest on, as lists: a list of
        several is a mixture. settings. inputs: SHA-256 of the raw files by dataset. tables: SHA-256.

    Raises
    ------
    Damaged
        For a table without a record, or that is not as its record says.
    ValueError
        If the tables do not rest on these raw files.
    """
    known = records.read_inputs(tables)
    for name, digests in known["raw"].items():
        if digests != [records.digest(raw[name])]:
            raise ValueError(f"the tables must rest on the files of the dataset {name} that are there: run again")
    return {"made_with": known["made_with"], "settings": settings, "inputs": raw, "tables": known["files"]}


def verify(path: str | Path) -> tuple[int, list[str], list[str]]:
    """Compare the raw files and tables that a manifest names with their checksums, and all results with their records.

    Returns the number of files, a line for each that differs, and notes. These list mixtures of versions, and versions
    and properties of the machine that differ here. Raises ValueError for another file than a manifest.
    """
    manifest, root = _read(path), os.path.normpath(Path(path, *[os.pardir] * 4))
    raw = Checksums()
    for files in manifest["inputs"].values():
        raw |= _below(root, files)
    results = recorded(Path(root, "results")) | _below(root, manifest["tables"])
    now = {name: [value] for name, value in records.environment(whole=True).items()}
    notes = _notes_on_versions(manifest["made_with"], now, "{} when made, {} here")
    faults = different(raw, largest=LARGEST_RAW) | different(results)
    return len(raw) + len(results), [f"{fault}: {printable(name)}" for name, fault in faults.items()], notes


def _below(root: str, checksums: Checksums) -> Checksums:
    """Checksums by whole names, of files whose names are relative to a folder."""
    return {str(Path(root, name)): checksum for name, checksum in checksums.items()}


def recorded(results: Path) -> Checksums:
    """The checksums in the records of all results below a folder. What was deleted is made again or not needed."""
    files = (record.parent.parent / record.stem for record in results.rglob("records/*.json"))
    known = {str(file): records.read(file) for file in files if file.exists()}
    return {name: record["sha256"] for name, record in known.items() if "sha256" in record}


def different(expected: Checksums, cache: str | Path | None = None, largest: float = math.inf) -> dict[str, str]:
    """The files that have not the checksum expected, each with its fault. cache, largest: see `records.checksums`."""
    here = records.checksums(expected, cache, largest)
    wrong = [name for name in sorted(expected) if here.get(name) != expected[name]]
    return {name: "differs" if here.get(name) else "missing or not readable" for name in wrong}


def compare(path: str | Path, other: str | Path) -> tuple[int, list[str], list[str]]:
    """Compare the tables of two manifests, bit by bit. Returns as `verify`; the notes list what else differs."""
    first, second = _read(path), _read(other)
    one, two = first["tables"], second["tables"]
    differences = [f"only in {path if name in one else other}: {name}" for name in sorted(one.keys() ^ two.keys())]
    differences += [f"differs: {name}" for name in sorted(one.keys() & two.keys()) if one[name] != two[name]]
    notes = [f"{kind} are not the same" for kind in ("settings", "inputs") if first[kind] != second[kind]]
    notes += _notes_on_versions(first["made_with"], second["made_with"], "{} in the first, {} in the other")
    return len(one.keys() | two.keys()), differences, notes


def _notes_on_versions(first: Several, second: Several, words: str) -> list[str]:
    """A note for each mixture, and for each version and property of the machine that differs."""
    notes = []
    for name, values in sorted(first.items()):
        values_of_second = second.get(name, ["none"])
        if values != values_of_second or len(values) > 1:
            mixed = " (a mixture)" if len(values) > 1 or len(values_of_second) > 1 else ""
            notes.append(f"{name}: {words.format(' and '.join(values), ' and '.join(values_of_second))}{mixed}")
    return notes


def _read(path: str | Path) -> dict[str, Any]:
    """Read a manifest. Raises ValueError for any other file."""
    from jsonschema import ValidationError, validate  # here, as it takes a while

    try:
        manifest: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        validate(manifest, SCHEMA)
    except (OSError, ValueError, RecursionError, ValidationError) as error:
        why = getattr(error, "strerror", None) or getattr(error, "message", None) or error
        short = shorten(str(why), 200, placeholder=" …")  # as it may repeat the file
        raise ValueError(f"{path} is no manifest, or a damaged one ({short})") from None
    return manifest

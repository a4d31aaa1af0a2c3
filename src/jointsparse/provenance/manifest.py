"""The manifest of results: what they were made with, and checksums of every raw file and of every table.

It gathers the records that the jobs have left. The same results of the same code on the same kind of machine have the
same manifest, byte by byte. It holds no times, and names are relative to its folder.
"""

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jointsparse.provenance.records import Environment, Raw, entry, environment, of_folder, raw_files, read_record
from jointsparse.provenance.tables import Damaged


class Verdict(NamedTuple):
    """The result of a check.

    checked: number of files. differences: the files that differ. notes: whatever else differs.
    """

    checked: int
    differences: list[str]
    notes: list[str]


def make(
    folder: str | Path,
    *,
    tables: Sequence[str | Path],
    raw: Mapping[str, tuple[Sequence[str | Path], Raw]],
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """The manifest of some tables, to be kept in `folder`.

    Parameters
    ----------
    folder : path
        Names in the manifest are relative to it. Absolute names stay absolute.
    tables : paths
        CSV files with records.
    raw : mapping
        By dataset, its raw files and folders, and what they hold, see `records.raw_files`.
    settings : mapping, as JSON knows it
        The values that the tables were made with.

    Returns
    -------
    manifest : dict
        made_with: versions and properties of the machine, of all jobs that the tables rest on, as lists: a list of
        several is a mixture. settings. inputs: SHA-256 of the raw files by dataset. tables: SHA-256, job and code.

    Raises
    ------
    Damaged
        For a table that does not rest on these raw files, or of which this is not known.
    """
    made_with: dict[str, set[str]] = {}
    entries = {}
    for path in map(str, tables):
        record = read_record(path)
        without = [path] if record is None else record["without"]
        if record is None or without:
            raise Damaged(without[0], "there is no record of how it was made; --forceall makes everything anew")
        for name, digests in record["raw"].items():
            if digests != [raw[name][1].digest]:
                raise Damaged(path, f"it was made from other files of the dataset {name} than are there now")
        for name, values in record["made_with"].items():
            made_with.setdefault(name, set()).update(values)
        entries[_name(path, folder)] = {key: record[key] for key in ("sha256", "job", "code")}
    return {
        "made_with": {name: sorted(values) for name, values in made_with.items()},
        "settings": dict(settings),
        "inputs": {name: _inputs(*of_dataset, folder) for name, of_dataset in raw.items()},
        "tables": entries,
    }


def _inputs(paths: Sequence[str | Path], raw: Raw, folder: str | Path) -> dict[str, Any]:
    """The checksum of each raw file, and one for each folder of them, of those that are there."""
    result = {}
    for path in map(str, paths):
        if path in raw.files:
            result[_name(path, folder)] = {"sha256": raw.files[path]["sha256"]}
        elif os.path.isdir(path):
            inside, below = os.path.join(path, ""), raw.files.items()
            checksums = {name.removeprefix(inside): file["sha256"] for name, file in below if name.startswith(inside)}
            result[_name(path, folder)] = of_folder({name: digest for name, digest in checksums.items() if digest})
    return result


def dumps(manifest: Mapping[str, Any]) -> str:
    """A manifest as JSON, the same text for the same manifest."""
    return json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def verify(path: str | Path) -> Verdict:
    """Compare the raw files and tables that a manifest names with their checksums, and all results with their records.

    The notes list mixtures of versions, and versions and properties of the machine that differ here. Raises ValueError
    for another file than a manifest.
    """
    recorded, folder = _read(path), Path(path).parent
    blocks = [recorded["tables"], *recorded["inputs"].values()]
    expected = {name: found for block in blocks for name, found in block.items()}
    n_others, others = changed(folder, recorded["inputs"], whole=True, known=recorded["tables"])
    differences = [f"differs: {_shown(name)}" for name in others]
    for name, found in sorted(expected.items()):
        try:
            there = (folder / name).is_file() or (folder / name).is_dir()
            here = entry(folder / name, raw=name not in recorded["tables"]) if there else None
        except (OSError, ValueError) as error:  # no right to read it, or a name that no file can have
            differences.append(f"not readable ({getattr(error, 'strerror', None) or error}): {_shown(name)}")
            continue
        if here is None:
            differences.append(f"missing: {_shown(name)}")
        elif here != {key: value for key, value in found.items() if key in ("sha256", "files")}:
            both = "files" in found and "files" in here
            counts = f" ({found['files']} files when made, {here['files']} here)" if both else ""
            differences.append(f"differs: {_shown(name)}{counts}")
    now = {name: [value] for name, value in environment(whole=True).items()}
    notes = _others(recorded["made_with"], now, "{} when made, {} here")
    return Verdict(len(expected) + n_others, sorted(differences, key=lambda text: text.partition(": ")[2]), notes)


def changed(
    folder: str | Path, datasets: Iterable[str], *, whole: bool = False, known: Iterable[str] = ()
) -> tuple[int, list[str]]:
    """Count the results of datasets that have a record, and name those that are not as it says.

    Parameters
    ----------
    folder : path
        Of the manifest: `claims/<datasets>` in the folder of results. Names are relative to it.
    datasets : names
        The datasets.
    whole : bool
        True to read every file, not only those that look changed since they were read.
    known : names
        Results that are passed over.
    """
    results, recorded = Path(folder).parent.parent, {}
    places = [(results, "records/*"), *((results / name, "**/records/*") for name in (*datasets, "kernels"))]
    for place, pattern in [*places, (Path(folder), "**/records/*")]:
        for kept in sorted(place.glob(f"{pattern}.json")):
            file, record = kept.parent.parent / kept.stem, read_record(kept.parent.parent / kept.stem)
            name = Path(os.path.relpath(file, folder)).as_posix()
            # Whatever is deleted is made again, or was only needed on the way.
            if record is not None and name not in known and (file.is_file() or file.is_dir()):
                recorded[name] = (file, record["sha256"])
    cache = None if whole else results / "records" / "seen.json"
    seen = raw_files((file for file, _ in recorded.values()), cache, math.inf)
    here = {name: _inputs([file], seen, folder)[_name(file, folder)] for name, (file, _) in recorded.items()}
    return len(recorded), [name for name, (_, digest) in recorded.items() if here[name]["sha256"] != digest]


def compare(path: str | Path, other: str | Path) -> Verdict:
    """Compare the tables of two manifests, bit by bit. The notes list what else differs."""
    one, two = _read(path), _read(other)
    names = sorted(one["tables"].keys() | two["tables"].keys())
    differences = []
    for name in names:
        shown = _shown(name)
        if name not in one["tables"] or name not in two["tables"]:
            differences.append(f"only in {path if name in one['tables'] else other}: {shown}")
        elif one["tables"][name]["sha256"] != two["tables"][name]["sha256"]:
            differences.append(f"differs: {shown}")
    notes = [f"{kind} are not the same" for kind in ("settings", "inputs") if one[kind] != two[kind]]
    notes += _others(one["made_with"], two["made_with"], "{} in the first, {} in the other")
    return Verdict(len(names), differences, notes)


def _others(one: Environment, two: Environment, words: str) -> list[str]:
    """A note for each mixture, and for each version and property of the machine that differs."""
    shown = [{name: " and ".join(values) for name, values in each.items()} for each in (one, two)]
    names = sorted(name for name in one if one[name] != two.get(name) or len(one[name]) > 1)
    mixed = {name for name in names if max(len(one[name]), len(two.get(name, ()))) > 1}
    return [
        f"{name}: {words.format(shown[0][name], shown[1].get(name))}{' (a mixture)' if name in mixed else ''}"
        for name in names
    ]


def _read(path: str | Path) -> dict[str, Any]:
    """Read a manifest. Raises ValueError for any other file."""
    try:
        manifest = json.loads(Path(path).read_text(encoding="utf-8"))
        for kind in ("made_with", "settings", "inputs", "tables"):
            if not isinstance(manifest[kind], dict):
                raise TypeError(f"{kind} must be a block")
        lists = manifest["made_with"].values()
        if not all(isinstance(values, list) and all(isinstance(one, str) for one in values) for values in lists):
            raise TypeError("made_with must hold lists of texts")
        files = [manifest["tables"], *manifest["inputs"].values()]
        if not all(isinstance(found, dict) and "sha256" in found for block in files for found in block.values()):
            raise TypeError("each file must have its sha256")
        if not manifest["tables"]:
            raise TypeError("it names no table")
    except FileNotFoundError:
        raise ValueError(f"expected a manifest, got no file at {path}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} is no manifest, or a damaged one ({type(error).__name__}: {error})") from None
    return dict(manifest)


def _shown(name: str) -> str:
    """A name in a form that prints on one line."""
    return name if name.isprintable() else ascii(name)


def _name(path: str | Path, folder: str | Path) -> str:
    return str(path) if os.path.isabs(path) else Path(os.path.relpath(path, folder)).as_posix()

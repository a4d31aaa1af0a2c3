"""Records of where results come from: of a dataset's raw files, and of the job that made a file.

A job leaves a record of each file or folder that it makes, in the folder `records` beside it. This says what it was
made with, and has the checksums of what was read for it. It also holds what the records of the files read say, back to
the raw files. So the record of a table is enough to say where it comes from, also when the files in between are
deleted.
"""

import hashlib
import json
import os
import platform
import stat
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from jointsparse import __version__
from jointsparse.provenance.tables import Damaged, sha256, written

PACKAGE = Path(__file__).parent
# Modules whose version may change a number, and the names of their packages.
PACKAGES = {
    "PIL": "pillow",
    "llvmlite": "llvmlite",
    "numba": "numba",
    "numpy": "numpy",
    "pandas": "pandas",
    "pi_heif": "pi-heif",
    "pyarrow": "pyarrow",
    "scipy": "scipy",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "snowballstemmer": "snowballstemmer",
}
COMMIT = "JOINTSPARSE_COMMIT"  # environment variable: the commit of the code, for jobs
LARGEST_RAW = 2**30  # bytes: size and time stand for the content of a larger raw file, as no picture may be larger

Environment = dict[str, list[str]]  # versions and properties of the machine by name


class Raw(NamedTuple):
    """The raw files of a dataset.

    files : dict
        By name, what each file is: real (its place without links), size (bytes), modified, changed (nanoseconds), and
        sha256. This is None for what is no file, or cannot be read; size and time stand for a file above `LARGEST_RAW`.
    digest : str
        SHA-256 of names and contents, "" without files.
    """

    files: dict[str, dict[str, Any]]
    digest: str


def raw_files(paths: Iterable[str | Path], cache: str | Path | None, largest: float = LARGEST_RAW) -> Raw:
    """Checksums of raw files, and of all files below raw folders.

    Files that are as they were when `cache` was written, in place, size and times, are not read again. It is written
    anew after a change, if that can be done.

    Parameters
    ----------
    paths : paths
        Files and folders, or names of nothing.
    cache : path or None
        JSON file of what was found last time. None: every file is read.
    largest : number
        Bytes of a file. Size and time stand for the content of a larger one.

    Returns
    -------
    raw : Raw
    """
    try:
        known = dict(json.loads(Path(cache).read_bytes())) if cache else {}
    except (OSError, ValueError, TypeError):
        known = {}
    here = os.path.realpath(".") + os.sep
    files: dict[str, dict[str, Any]] = {}
    for path in map(str, paths):
        for name, place in _files(path):
            found, before = _seen(name, place.removeprefix(here)), known.get(name)
            if isinstance(before, dict) and before == found | {"sha256": before.get("sha256")}:
                files[name] = before
            else:
                files[name] = found | {"sha256": _checksum_or_none(name, found, largest)}
    if cache and files != known:
        with suppress(OSError), written(cache) as temporary:  # a folder that may not be written to
            temporary.write_text(json.dumps(files, indent=0, sort_keys=True), encoding="utf-8")
    contents = json.dumps({name: file["sha256"] for name, file in files.items()}, sort_keys=True)
    return Raw(files, hashlib.sha256(contents.encode()).hexdigest() if files else "")


def _files(path: str) -> Iterator[tuple[str, str]]:
    """Name and real place of a file, or of everything below a folder. Links are followed, but not in a circle."""
    if not os.path.isdir(path):
        if os.path.lexists(path):
            yield path, os.path.realpath(path)
        return
    seen = set()
    for here, subfolders, names in os.walk(path, followlinks=True):
        place = os.path.realpath(here)
        if place in seen:
            subfolders.clear()
            yield here, place
            continue
        seen.add(place)
        subfolders.sort()
        for name in sorted(names):
            file = os.path.join(here, name)
            yield file, os.path.realpath(file) if os.path.islink(file) else os.path.join(place, name)


def _seen(name: str, place: str) -> dict[str, Any]:
    """Look at a file, without reading it."""
    try:
        status = os.stat(name)
    except OSError:
        return {"real": place, "size": None}
    if not stat.S_ISREG(status.st_mode):
        return {"real": place, "size": None}
    # The time of change also sees a file replaced by one of the same size and time.
    return {"real": place, "size": status.st_size, "modified": status.st_mtime_ns, "changed": status.st_ctime_ns}


def _checksum_or_none(name: str, found: Mapping[str, Any], largest: float) -> str | None:
    if found["size"] is None:
        return None
    with suppress(PermissionError, FileNotFoundError):
        return _raw_sha256(name, largest)
    return None


def _raw_sha256(name: str | Path, largest: float = LARGEST_RAW) -> str:
    """The checksum of a raw file, or of size and time of one that would take long to read: it may hold nothing."""
    status = os.stat(name)
    if status.st_size <= largest:
        return sha256(name)
    return hashlib.sha256(f"{status.st_size} bytes of {status.st_mtime_ns}".encode()).hexdigest()


class Inputs(NamedTuple):
    """Origins of the files that a job reads.

    files: SHA-256 by name. raw: digests of raw files by dataset, made_with: see `environment`, of all jobs before this
    one. without: files that have no record, or rest on such.
    """

    files: dict[str, str]
    raw: dict[str, list[str]]
    made_with: Environment
    without: list[str]


def read_inputs(files: Iterable[str | Path]) -> Inputs:
    """Look at the files that a job is going to read, and at their records.

    Raises Damaged for a file that is not as the job that made it has left it.
    """
    known = Inputs({}, {}, {}, [])
    for name in map(str, files):
        record = read_record(name)
        if record is None:
            known.files[name] = entry(name)["sha256"]
            known.without.append(name)
            continue
        known.files[name] = entry(name)["sha256"]
        if known.files[name] != record["sha256"]:
            raise Damaged(name, "it was changed after it was made")
        _add(known.raw, record["raw"])
        _add(known.made_with, record["made_with"])
        known.without.extend(record["without"])
    return known


def write_records(
    files: Iterable[str | Path],
    inputs: Inputs,
    *,
    job: str,
    code: Iterable[str],
    values: Mapping[str, Any],
    raw: Mapping[str, str],
) -> None:
    """Write the record of each file that a job has made.

    Parameters
    ----------
    files : paths
        Files and folders.
    inputs : Inputs
        What the job has read.
    job : str
        Its name.
    code : lines
        The files of code that decide its numbers, each with a hash of its content.
    values : mapping
        The values of the configuration that it used.
    raw : mapping
        Digest by dataset of the raw files that it read.
    """
    digests, made_with = {name: list(found) for name, found in inputs.raw.items()}, dict(inputs.made_with)
    _add(digests, {name: [digest] for name, digest in raw.items() if digest})
    _add(made_with, {name: [value] for name, value in environment().items()})
    made = {
        "job": job,
        "code": hashlib.sha256("\n".join(code).encode()).hexdigest(),
        "values": values,
        "inputs": inputs.files,
        "raw": digests,
        "made_with": made_with,
        "without": sorted(set(inputs.without)),
    }
    for name in map(str, files):
        record = made | {"sha256": entry(name)["sha256"]}
        with written(_record_file(name)) as path:
            path.write_text(json.dumps(record, indent=1, sort_keys=True, default=str) + "\n", encoding="utf-8")


def read_record(file: str | Path) -> dict[str, Any] | None:
    """The record of a file; None if there is none, or a damaged one."""
    try:
        record = json.loads(_record_file(file).read_bytes())
        return record if {"sha256", "job", "code", "raw", "made_with", "without"} <= record.keys() else None
    except (OSError, ValueError, AttributeError):
        return None


def _record_file(file: str | Path) -> Path:
    return Path(file).parent / "records" / f"{Path(file).name}.json"


def _add(lists: dict[str, list[str]], more: Mapping[str, Iterable[str]]) -> None:
    """Add more values to lists by name, each once and sorted."""
    for name, values in more.items():
        lists[name] = sorted({*lists.get(name, ()), *values})


def entry(path: str | Path, *, raw: bool = False) -> dict[str, Any]:
    """The checksum of a file, or of all files below a folder with their number. raw: the file is, or all are, raw."""
    checksum = _raw_sha256 if raw else sha256
    if not Path(path).is_dir():
        return {"sha256": checksum(path)}
    files = [name for name, _ in _files(str(path)) if os.path.isfile(name)]
    return of_folder({os.path.relpath(file, path): checksum(file) for file in files})


def of_folder(checksums: Mapping[str, str]) -> dict[str, Any]:
    """One checksum of the names and checksums of the files below a folder, and their number."""
    whole = hashlib.sha256()
    for name in sorted(checksums, key=os.fsencode):
        if name.startswith(".") and name.endswith("_timestamp"):  # of the run, which stamps a folder after its job
            continue
        whole.update(os.fsencode(name) + b"\0" + bytes.fromhex(checksums[name]))
    return {"sha256": whole.hexdigest(), "files": len(checksums)}


def environment(*, whole: bool = False) -> dict[str, str]:
    """Versions, and properties of the machine, that may change a number, of what this process has loaded.

    whole: True to load all that a job may load before.
    """
    if whole:
        import llvmlite.binding  # noqa: F401
        import scipy.linalg  # noqa: F401, so that its BLAS is loaded
    found = {"python": platform.python_version(), "jointsparse": __version__}
    found |= {"system": platform.system(), "machine": platform.machine()}
    found["commit"] = os.environ.get(COMMIT) or (commit() if whole else "") or "unknown"
    for module, package in PACKAGES.items():
        with suppress(metadata.PackageNotFoundError):
            if whole or module in sys.modules:
                found[package] = metadata.version(package)
    if "llvmlite.binding" in sys.modules:
        found["processor"] = sys.modules["llvmlite.binding"].get_host_cpu_name()
    return found | _blas()


def _blas() -> dict[str, str]:
    """The BLAS of NumPy and that of SciPy, as far as they are loaded, with the kernel for this processor."""
    from threadpoolctl import threadpool_info

    found = defaultdict(set)
    for one in threadpool_info():
        if one["user_api"] == "blas":
            # Wheels of NumPy and SciPy keep theirs in these folders.
            owner = {"numpy.libs": "numpy's BLAS", "scipy.libs": "scipy's BLAS"}.get(Path(one["filepath"]).parent.name)
            name = f"{one['internal_api']} {one.get('version')} {one.get('architecture', '')}".strip()
            found[owner or "BLAS"].add(name)
    if len(found) > 1:
        found.pop("BLAS", None)  # of another package
    return {owner: ", ".join(sorted(names)) for owner, names in found.items()}


def commit() -> str:
    """The commit of the git work tree that tracks this file, "" if there is none. It ends with -dirty after edits."""
    for command in (
        ["ls-files", "--error-unmatch", Path(__file__).name],  # fails for a copy installed inside another work tree
        ["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
    ):
        try:
            done = subprocess.run(["git", *command], cwd=PACKAGE, capture_output=True, text=True, check=False)
        except OSError:
            return ""
        if done.returncode:
            return ""
    return done.stdout.strip()

"""Records of where results come from, and the one checksum of every file.

A job leaves a record of each file or folder that it makes, in the folder `records` beside it. This says what it was
made with, and has the checksums of the result and of what was read for it. It also holds what the records of the files
read say, back to the raw files. So the record of a table is enough to say where it comes from, also when the files in
between are deleted. A job refuses a file that has no record, or is not as its record says.
"""

import hashlib
import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from jointsparse import __version__
from jointsparse.pipeline.provenance.tables import Damaged
from jointsparse.written import written

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

Checksums = dict[str, str | None]  # by name; None for what is no regular file, or may not be read
Several = dict[str, list[str]]  # by name, values of which more than one is a mixture


def checksums(paths: Iterable[str | Path], cache: str | Path | None = None, largest: float = math.inf) -> Checksums:
    """SHA-256 of each file, and one of the names and contents of all files below each folder.

    Nothing is returned for what is not there. Files that look as they did when `cache` was written, by inode, size and
    times, are not read again.

    Parameters
    ----------
    paths : paths
        Files and folders.
    cache : path or None
        JSON file of what was found last time, written anew if that can be done. None: every file is read.
    largest : number
        Bytes of a file. Size and time stand for the content of a larger one.
    """
    known, seen, result = read_json(cache) if cache else {}, {}, Checksums()
    for path in map(str, paths):
        below: Checksums = {}
        for name in files_below(path):
            looks = look(name)
            seen[looks] = known.get(looks) or (_sha256(name, largest) if looks else None)
            below[os.path.relpath(name, path)] = seen[looks]
        if os.path.lexists(path):
            result[path] = below["."] if below.keys() == {"."} else digest(below)
    if cache and seen != known:
        with suppress(OSError):  # a folder that may not be written to
            write_json(cache, seen)
    return result


def files_below(path: Any) -> Iterator[str]:
    """A file itself, or every file below a folder in a fixed order.

    Links are followed, but a folder that is met again is not entered: it stands as one entry, ending in a slash.
    Hidden files are no data: systems and editors write them, and a run stamps a folder with one after its job.
    """
    if os.path.lexists(path) and not os.path.isdir(path):
        yield path
    places = set()
    for here, subfolders, names in os.walk(path, followlinks=True):
        if (place := os.path.realpath(here)) in places:
            subfolders.clear()
            names = [""]  # the folder itself
        places.add(place)
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        yield from (os.path.join(here, name) for name in sorted(names) if not name.startswith("."))


def look(name: str) -> str:
    """A text that changes with the content of a file, made without reading it. "" if it is none that may be read."""
    if not (os.path.isfile(name) and os.access(name, os.R_OK)):
        return ""
    status = os.stat(name)
    # The time of change also sees a file replaced by one of the same size and time.
    return f"{name} {status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def _sha256(name: str, largest: float) -> str:
    """SHA-256 of a file, or of the size and time of one that would take long to read. It may be sparse, of any size."""
    status = os.stat(name)
    if status.st_size > largest:
        return digest([status.st_size, status.st_mtime_ns])
    with open(name, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(value: Any) -> str:
    """SHA-256 of a value of JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def write_json(path: str | Path, value: Any) -> None:
    """Write a value of JSON, the same bytes for the same value."""
    with written(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1, sort_keys=True, default=str) + "\n", encoding="utf-8")


def read_json(path: str | Path) -> dict[str, Any]:
    """The mapping in a file of JSON; an empty one if there is none."""
    with suppress(OSError, ValueError, TypeError):
        return dict(json.loads(Path(path).read_bytes()))
    return {}


def read_inputs(files: Iterable[str | Path]) -> dict[str, Any]:
    """Look at the files that a job is going to read, and at their records.

    Returns the part of a record that says what was read. files: checksums. raw: digests of the raw files by dataset,
    and made_with: see `environment`, of all jobs before this one. Raises Damaged for a file that has no record, or is
    not as the job that made it has left it.
    """
    known: dict[str, Any] = {"files": checksums(files), "raw": {}, "made_with": {}}
    for name, checksum in known["files"].items():
        record = read(name)
        if checksum != record.get("sha256", ""):
            why = "it was changed after it was made" if record else "there is no record of how it was made"
            raise Damaged(name, why)
        _add(known["raw"], record["raw"])
        _add(known["made_with"], record["made_with"])
    return known


def write(
    files: Iterable[str | Path],
    inputs: dict[str, Any],
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
    inputs : mapping
        What the job has read, see `read_inputs`.
    job : str
        Its name.
    code : lines
        The files of code that decide its numbers, each with a hash of its content.
    values : mapping
        The values of the configuration that it used.
    raw : mapping
        Digest by dataset of the checksums of the raw files that it read.
    """
    _add(inputs["raw"], {name: [checksum] for name, checksum in raw.items()})
    _add(inputs["made_with"], {name: [value] for name, value in environment().items()})
    made = inputs | {"job": job, "code": digest(list(code)), "values": values}
    for name, checksum in checksums(files).items():
        write_json(_record_file(name), made | {"sha256": checksum})


def read(file: str | Path) -> dict[str, Any]:
    """The record of a file; an empty one if there is none, or a damaged one."""
    return read_json(_record_file(file))


def _record_file(file: str | Path) -> Path:
    return Path(file).parent / "records" / f"{Path(file).name}.json"


def _add(several: Several, more: Mapping[str, Iterable[str]]) -> None:
    """Add more values by name, each once and sorted."""
    for name, values in more.items():
        several[name] = sorted({*several.get(name, ()), *values})


def environment(*, whole: bool = False) -> dict[str, str]:
    """Versions, and properties of the machine, that may change a number, of what this process has loaded.

    whole: True for all that a job may load.
    """
    from threadpoolctl import threadpool_info

    if whole:
        import llvmlite.binding  # noqa: F401
        import scipy.linalg  # noqa: F401, so that its BLAS is loaded
    versions = {
        "python": platform.python_version(),
        "jointsparse": __version__,
        "commit": (os.environ[COMMIT] if COMMIT in os.environ else commit()) or "unknown",
        "system": platform.system(),
        "machine": platform.machine(),
    }
    for module, package in PACKAGES.items():
        with suppress(metadata.PackageNotFoundError):
            versions |= {package: metadata.version(package)} if whole or module in sys.modules else {}
    if "llvmlite.binding" in sys.modules:
        versions["processor"] = sys.modules["llvmlite.binding"].get_host_cpu_name()
    # Wheels of NumPy and SciPy keep theirs in these folders.
    owners = {"numpy.libs": "numpy's BLAS", "scipy.libs": "scipy's BLAS"}
    for library in threadpool_info():
        if library["user_api"] == "blas":
            parts = library["internal_api"], library.get("version"), library.get("architecture", "")
            owner = owners.get(Path(library["filepath"]).parent.name, "BLAS")
            versions[owner] = " ".join(map(str, parts)).strip()
    if "numpy's BLAS" in versions:
        versions.pop("BLAS", None)  # of another package
    return versions


def commit() -> str:
    """The commit of the git work tree that tracks this file, "" if there is none. It ends with -dirty after edits."""
    git = partial(subprocess.run, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    with suppress(OSError, subprocess.CalledProcessError):
        git(["git", "ls-files", "--error-unmatch", Path(__file__).name])  # fails for a copy inside another work tree
        return git(["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]).stdout.strip()
    return ""

"""Records of how results were made, and the checksums of files.

For each file or folder that a job makes, it writes a record into the folder `records` next to the result. The record
holds the versions and settings that the job used, and the checksums of the result and of the files that the job read.
It also includes the versions and the checksums of raw files that the records of these input files hold. The record of a
table is therefore enough to say how the table was made, even when the intermediate files have been deleted. A job
refuses to read a file that has no record or does not match its record.
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
from jointsparse.pipeline.provenance.folders import walk
from jointsparse.pipeline.provenance.tables import Damaged
from jointsparse.written import written

# Modules whose version may change a result, and the names of their packages.
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
COMMIT = "JOINTSPARSE_COMMIT"  # environment variable that tells jobs the commit of the code
# Size in bytes above which raw files are compared only by size and modification time. Larger pictures are left out.
LARGEST_RAW = 2**30

Checksums = dict[str, str | None]  # by path; None for a path that is not a regular file or cannot be read
Several = dict[str, list[str]]  # by name, the distinct values; several if they differed between jobs


def checksums(paths: Iterable[str | Path], cache: str | Path | None = None, largest: float = math.inf) -> Checksums:
    """Return the SHA-256 checksums of files and folders.

    The checksum of a folder covers the names and contents of all files below it. Paths that do not exist are left out.
    A file whose inode, size and times have not changed since `cache` was written is not read again.

    Parameters
    ----------
    paths : paths
        Files and folders.
    cache : path or None
        JSON file with the checksums of the last call. It is updated if its folder is writable. If None, all files are
        read.
    largest : number
        Files of more than this many bytes are not read: their checksum covers only the size and the modification time.
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
        with suppress(OSError):  # the folder may be read-only
            write_json(cache, seen)
    return result


def files_below(path: Any) -> Iterator[str]:
    """Yield the path itself if it is a file. If it is a folder, yield every file below it that `folders.walk` finds.

    Files and folders that `walk` does not read are yielded as paths that end in a slash, so that they have no checksum.
    """
    if os.path.lexists(path) and not os.path.isdir(path):
        yield path
    elif os.path.lexists(path):
        for item in walk(path):
            if item.fault or not item.is_folder:
                yield os.path.join(path, item.name) + "/" * bool(item.fault)


def look(name: str) -> str:
    """Return a string of a file's inode, size and times, or "" if the file cannot be read.

    The string changes whenever the content of the file changes, so that equal strings mean that nothing has changed.
    """
    if not (os.path.isfile(name) and os.access(name, os.R_OK)):
        return ""
    status = os.stat(name)
    # ctime also reveals that a file was replaced by another one of the same size and modification time.
    return f"{name} {status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def _sha256(name: str, largest: float) -> str:
    """Return the SHA-256 checksum of a file's content.

    If the file has more than `largest` bytes, return the checksum of its size and modification time instead.
    """
    status = os.stat(name)
    if status.st_size > largest:
        return digest([status.st_size, status.st_mtime_ns])
    with open(name, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(value: Any) -> str:
    """Return the SHA-256 checksum of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def write_json(path: str | Path, value: Any) -> None:
    """Write a value to a JSON file. Equal values always give files with the same bytes."""
    with written(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1, sort_keys=True, default=str) + "\n", encoding="utf-8")


def read_json(path: str | Path) -> dict[str, Any]:
    """Return the JSON object in a file as a dictionary, which is empty if the file is missing or damaged."""
    with suppress(OSError, ValueError, TypeError):
        return dict(json.loads(Path(path).read_bytes()))
    return {}


def read_inputs(files: Iterable[str | Path]) -> dict[str, Any]:
    """Check each input file of a job against its record.

    Parameters
    ----------
    files : paths
        The files that the job is going to read.

    Returns
    -------
    inputs : dict
        The part of the job's own record that describes its inputs, with the keys

        - `files`: the checksum of each file;
        - `raw`: for each dataset, the digests of the raw files from which the files were made, according to the records
          of the files;
        - `made_with`: the versions and machine properties with which the files were made, also according to their
          records; see `environment`.

    Raises
    ------
    Damaged
        If a file has no record or does not match its record.
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
    """Write a record for each file that a job has made.

    Parameters
    ----------
    files : paths
        Files and folders that the job has made.
    inputs : mapping
        What `read_inputs` returned for the files that the job has read.
    job : str
        Name of the job.
    code : lines
        The source files that affect the results of the job, one per line, each with a hash of its content.
    values : mapping
        The values from the configuration that the job used.
    raw : mapping
        For each dataset, the digest of the checksums of the raw files that the job read.
    """
    _add(inputs["raw"], {name: [checksum] for name, checksum in raw.items()})
    _add(inputs["made_with"], {name: [value] for name, value in environment().items()})
    made = inputs | {"job": job, "code": digest(list(code)), "values": values}
    for name, checksum in checksums(files).items():
        write_json(_record_file(name), made | {"sha256": checksum})


def read(file: str | Path) -> dict[str, Any]:
    """Return the record of a file, or an empty dictionary if the record is missing or damaged."""
    return read_json(_record_file(file))


def _record_file(file: str | Path) -> Path:
    return Path(file).parent / "records" / f"{Path(file).name}.json"


def _add(several: Several, more: Mapping[str, Iterable[str]]) -> None:
    """Add the values in `more` to the sorted lists of distinct values in `several`, name by name."""
    for name, values in more.items():
        several[name] = sorted({*several.get(name, ()), *values})


def environment(*, whole: bool = False) -> dict[str, str]:
    """Return the versions of packages and the properties of the machine that may affect numerical results.

    If `whole` is True, include all packages that a job may load, otherwise only those that this process has loaded.
    """
    from threadpoolctl import threadpool_info

    if whole:
        import llvmlite.binding  # noqa: F401
        import scipy.linalg  # noqa: F401, which loads SciPy's BLAS
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
    # The folders in which the wheels of NumPy and SciPy install their BLAS.
    owners = {"numpy.libs": "numpy's BLAS", "scipy.libs": "scipy's BLAS"}
    for library in threadpool_info():
        if library["user_api"] == "blas":
            parts = library["internal_api"], library.get("version"), library.get("architecture", "")
            owner = owners.get(Path(library["filepath"]).parent.name, "BLAS")
            versions[owner] = " ".join(map(str, parts)).strip()
    if "numpy's BLAS" in versions:
        versions.pop("BLAS", None)  # belongs to another package
    return versions


def commit() -> str:
    """Return the current commit of the git work tree that tracks this file, or "" if git does not track it.

    If the work tree has uncommitted changes, "-dirty" is appended.
    """
    git = partial(subprocess.run, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    with suppress(OSError, subprocess.CalledProcessError):
        # This fails for a copy of the package inside the work tree of another project.
        git(["git", "ls-files", "--error-unmatch", Path(__file__).name])
        return git(["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]).stdout.strip()
    return ""

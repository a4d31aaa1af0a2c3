"""The manifest of results: versions, settings, and checksums of every file that was read and of every table.

The same results of the same code on the same kind of machine have the same manifest, byte by byte. It holds no times,
and names are relative to its folder.
"""

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from jointsparse import __version__
from jointsparse.tables import read_table, sha256

PACKAGE = Path(__file__).parent


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
    inputs: Mapping[str, Sequence[str | Path]],
    settings: Mapping[str, Any],
    packages: Iterable[str] = (),
) -> dict[str, Any]:
    """The manifest of some tables, to be kept in `folder`.

    Parameters
    ----------
    folder : path
        Names in the manifest are relative to it. Absolute names stay absolute.
    tables : paths
        CSV files.
    inputs : paths by dataset
        Files and folders. The names and contents of all files below a folder make one checksum.
    settings : mapping, as JSON knows it
        The values that the tables were made with.
    packages : names
        Packages whose versions may change a number.

    Returns
    -------
    manifest : dict
        versions: of Python, the packages and this one, with its commit in a git work tree and a checksum of its files.
        platform: processor and BLAS, which may change the last bits. settings. inputs, tables: SHA-256 by name.

    Raises
    ------
    ValueError
        For a table that is not whole.
    """
    for path in tables:
        read_table(path)
    return {
        "versions": _versions(packages),
        "platform": _platform(),
        "settings": dict(settings),
        "inputs": {name: {_name(path, folder): _entry(path) for path in paths} for name, paths in inputs.items()},
        "tables": {_name(path, folder): _entry(path) for path in tables},
    }


def dumps(manifest: Mapping[str, Any]) -> str:
    """A manifest as JSON, the same text for the same manifest."""
    return json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def verify(path: str | Path) -> Verdict:
    """Compare the files that a manifest names with their checksums.

    The notes list versions and properties of the platform that differ here. Raises ValueError for another file than a
    manifest.
    """
    recorded, folder = _read(path), Path(path).parent
    blocks = [recorded["tables"], *recorded["inputs"].values()]
    expected = {name: entry for block in blocks for name, entry in block.items()}
    differences = []
    for name, entry in sorted(expected.items()):
        try:
            there = (folder / name).is_file() or (folder / name).is_dir()
            here = _entry(folder / name) if there else None
        except (OSError, ValueError) as error:  # no right to read it, or a name that no file can have
            differences.append(f"not readable ({getattr(error, 'strerror', None) or error}): {_shown(name)}")
            continue
        if here is None:
            differences.append(f"missing: {_shown(name)}")
        elif here != entry:
            both = "files" in entry and "files" in here
            counts = f" ({entry['files']} files when made, {here['files']} here)" if both else ""
            differences.append(f"differs: {_shown(name)}{counts}")
    now = {"versions": _versions(recorded["versions"]), "platform": _platform()}
    return Verdict(len(expected), differences, _others(recorded, now, "{} when made, {} here"))


def compare(path: str | Path, other: str | Path) -> Verdict:
    """Compare the tables of two manifests, bit by bit. The notes list what else differs."""
    one, two = _read(path), _read(other)
    names = sorted(one["tables"].keys() | two["tables"].keys())
    differences = []
    for name in names:
        shown = _shown(name)
        if name not in one["tables"] or name not in two["tables"]:
            differences.append(f"only in {path if name in one['tables'] else other}: {shown}")
        elif one["tables"][name] != two["tables"][name]:
            differences.append(f"differs: {shown}")
    notes = [f"{kind} are not the same" for kind in ("settings", "inputs") if one[kind] != two[kind]]
    return Verdict(len(names), differences, notes + _others(one, two, "{} in the first, {} in the other"))


def _others(one: dict[str, Any], two: dict[str, Any], words: str) -> list[str]:
    """A note for each version and property of the platform that differs."""
    notes = []
    for kind in ("versions", "platform"):
        for name in sorted(one[kind].keys() | two[kind].keys()):
            first, second = one[kind].get(name), two[kind].get(name)
            if first != second:
                notes.append(f"{name}: {words.format(first, second)}")
    return notes


def _read(path: str | Path) -> dict[str, Any]:
    """Read a manifest. Raises ValueError for any other file."""
    try:
        manifest = json.loads(Path(path).read_text(encoding="utf-8"))
        for kind in ("versions", "platform", "settings", "inputs", "tables"):
            if not isinstance(manifest[kind], dict):
                raise TypeError(f"{kind} must be a block")
        files = [manifest["tables"], *manifest["inputs"].values()]
        if not all(isinstance(entry, dict) and "sha256" in entry for block in files for entry in block.values()):
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


def _entry(path: str | Path) -> dict[str, Any]:
    """The checksum of a file, or of all files below a folder with their number."""
    if not Path(path).is_dir():
        return {"sha256": sha256(path)}
    whole = hashlib.sha256()
    files = sorted(_files(Path(path)), key=os.fsencode)
    for file in files:
        whole.update(os.fsencode(os.path.relpath(file, path)) + b"\0" + bytes.fromhex(sha256(file)))
    return {"sha256": whole.hexdigest(), "files": len(files)}


def _files(folder: Path) -> Iterator[Path]:
    """Every regular file below a folder. Links are followed, but not in a circle."""
    seen = set()
    for here, subfolders, names in os.walk(folder, followlinks=True):
        if os.path.realpath(here) in seen:
            subfolders.clear()
            continue
        seen.add(os.path.realpath(here))
        yield from (path for name in names if (path := Path(here) / name).is_file())


def _versions(packages: Iterable[str]) -> dict[str, str | None]:
    own = {"python", "jointsparse", "commit", "code"}
    found: dict[str, str | None] = {}
    for name in sorted(set(packages) - own):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    code = hashlib.sha256()
    for file in sorted(PACKAGE.rglob("*.py")):
        code.update(f"{file.relative_to(PACKAGE).as_posix()}\0{sha256(file)}".encode())
    return found | {
        "python": platform.python_version(),
        "jointsparse": __version__,
        "commit": _commit(),
        "code": code.hexdigest(),
    }


def _commit() -> str | None:
    """The commit of the git work tree that tracks this file, if any. It ends with -dirty after edits."""
    for command in (
        ["ls-files", "--error-unmatch", Path(__file__).name],  # fails for a copy installed inside another work tree
        ["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
    ):
        try:
            done = subprocess.run(["git", *command], cwd=PACKAGE, capture_output=True, text=True, check=False)
        except OSError:
            return None
        if done.returncode:
            return None
    return done.stdout.strip()


def _platform() -> dict[str, str]:
    """Properties of the machine that may change the last bits of a number."""
    import llvmlite.binding as llvm
    import scipy.linalg  # noqa: F401, so that its BLAS is loaded
    from threadpoolctl import threadpool_info

    loaded = [one for one in threadpool_info() if one["user_api"] == "blas"]
    # Other packages may have loaded one of their own; wheels of NumPy and SciPy keep theirs in these folders.
    used = [one for one in loaded if Path(one["filepath"]).parent.name in ("numpy.libs", "scipy.libs")] or loaded
    blas = {f"{one['internal_api']} {one.get('version')} {one.get('architecture', '')}".strip() for one in used}
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": llvm.get_host_cpu_name(),
        "blas": ", ".join(sorted(blas)),
    }

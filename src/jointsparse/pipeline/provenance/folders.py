"""Walk through the files in a folder of data: the same files, whether they are read or their checksums are computed."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

# Files and folders that systems, archives and photo servers leave behind, in lower case, by program. Names that begin
# with a dot need no entry. Sources: the collection github/gitignore (Global: macOS, Windows, Linux, Synology, CVS), and
# the manuals of QNAP, NetApp, FrontPage, CKFinder, Android, Picasa, digiKam and ownCloud.
LEFT_BEHIND = {
    "macOS": ("__macosx", "icon\r", "network trash folder", "temporary items"),
    "Windows": (
        *("thumbs.db", "thumbs.db:encryptable", "ehthumbs.db", "ehthumbs_vista.db", "desktop.ini"),
        *("$recycle.bin", "recycler", "recycled", "system volume information", "$trash"),
        *(f"found.{i:03}" for i in range(100)),  # written by chkdsk
    ),
    "Linux": ("lost+found",),
    "Android": ("lost.dir",),
    "FrontPage": ("_vti_bin", "_vti_cnf", "_vti_log", "_vti_pvt", "_vti_script", "_vti_txt"),
    "CVS": ("cvs",),
    "CKFinder": ("_thumbs",),
    "NetApp": ("~snapshot",),
    "Synology": ("@eadir", "#recycle", "#snapshot", "@tmp", "@sharebin"),
    "QNAP": ("@__thumb", "@recycle", "@recently-snapshot", "@transcode"),
    "Picasa": ("picasa.ini", "picasaoriginals"),
    "digiKam": ("digikam4.db", "thumbnails-digikam.db"),
    "Python": ("__pycache__",),
}
_LEFT_BEHIND = {name for names in LEFT_BEHIND.values() for name in names}
STARTS, ENDS = (".", "~$"), ("~", ".crdownload", ".part", ".tmp", ".lrdata")  # locks, backups, unfinished downloads
RESULTS = "results"  # the folder in the working directory to which a run writes; its other folders are hidden
# Errors of `listdir` that mean that a path is no folder.
NO_FOLDER = {errno.EINVAL, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR}


class Item(NamedTuple):
    """A file or folder below a folder of data.

    Attributes
    ----------
    name
        The path relative to the folder, with slashes.
    is_folder
        True for a folder whose items follow.
    fault
        The reason why the file or folder is not read, or "".
    """

    name: str
    is_folder: bool = False
    fault: str = ""


def is_no_data(name: str) -> bool:
    """Return True if a file or folder in a path is hidden or is one that operating systems and programs leave behind.

    >>> [is_no_data(name) for name in ("cat/1.jpg", "cat/.ipynb_checkpoints/1.jpg", "__MACOSX/cat/1.jpg", "Thumbs.db")]
    [False, True, True, True]
    """
    parts = (part.lower() for part in PurePosixPath(name).parts if part not in (".", ".."))
    return any(part in _LEFT_BEHIND or part.startswith(STARTS) or part.endswith(ENDS) for part in parts)


def walk(folder: str | Path) -> Iterator[Item]:
    """Iterate over the files and folders below a folder, and over the folder itself as ".".

    Items for which `is_no_data` is True are skipped. Links are followed, except links to

    - a folder that is read anyway, so that every folder is read only once, under its own name if it lies below
      `folder`, and otherwise under the name of the first link to it;
    - a folder that contains a folder that is read, because such links lead in circles or to the whole disk;
    - a folder that holds results of a run in the working directory, because they change during the run.

    Raises OSError if a folder cannot be read because of a failure of the machine.
    """
    results = os.path.realpath(RESULTS)
    above = {*_parents(results)}
    read = set[str]()
    waiting, links = ["."], list[str]()
    while waiting or links:
        is_link = not waiting
        name = waiting.pop() if waiting else links.pop(0)
        path = os.path.join(folder, name)
        if name.encode(errors="ignore").decode() != name:  # no table could hold such a name
            yield Item(name, fault="the name is not UTF-8 text")
            continue
        try:
            inside = sorted(item for item in os.listdir(path) if not is_no_data(item))
        except PermissionError as error:
            yield Item(name, fault=f"cannot be read: {error.strerror}")
            continue
        except OSError as error:
            if error.errno not in NO_FOLDER:
                raise
            yield Item(name)
            continue
        place = os.path.realpath(path)
        if place in read:
            yield Item(name, fault="a link to a folder that is read already")
        elif is_link and place in above:
            yield Item(name, fault="a link to a folder above a folder of data or of results")
        elif is_link and _is_of_a_run(Path(place), Path(results)):
            yield Item(name, fault="a link to results of a run")
        else:
            yield Item(name, is_folder=True)
            read.add(place)
            above.update(_parents(place))
            for item in inside:
                below = item if name == "." else f"{name}/{item}"
                (links if os.path.islink(os.path.join(folder, below)) else waiting).append(below)


def _is_of_a_run(place: Path, results: Path) -> bool:
    """Return True if a folder lies in the folder of results, or in a hidden folder beside it."""
    beside = place.relative_to(results.parent) if place.is_relative_to(results.parent) else Path()
    return place.is_relative_to(results) or is_no_data(str(beside))


def _parents(place: str) -> Iterator[str]:
    """Return the paths of all folders that contain a folder."""
    return map(str, Path(place).parents)

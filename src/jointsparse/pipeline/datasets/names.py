"""Names of files: find the file that a name in a table refers to, and list the files that an option names."""

import posixpath
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

SPLITS = ("train", "validation", "test", "unlabelled")
Files = str | Sequence[str] | Mapping[Any, str | Sequence[str]]  # see `files_of`


def composed(text: str) -> str:
    """Return text in the composed Unicode form (NFC). File names from macOS are often in the decomposed form (NFD)."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def finder(files: Iterable[str], beside: str = "") -> Callable[[str], str]:
    """Return a function that maps a name in a table to the one of `files` that the name refers to.

    The function first looks for the name in `beside`, the folder of the table. If there is no such file, it looks for
    files whose path ends with the name, and takes the file if there is exactly one. Any other name is returned
    unchanged. The name and the file may be in different Unicode forms (NFC and NFD).

    >>> find = finder(["a/cafe\u0301.jpg", "a/tea.jpg", "b/tea.jpg"])
    >>> find("caf\u00e9.jpg") == "a/cafe\u0301.jpg", find("tea.jpg"), find("no.jpg")
    (True, 'tea.jpg', 'no.jpg')
    >>> finder(["a/caf\u00e9.jpg", "b/caf\u00e9.jpg"], beside="b")("cafe\u0301.jpg") == "b/caf\u00e9.jpg"
    True
    """
    ends: dict[str, list[str]] = {}
    whole: dict[str, str] = {}
    files = sorted(files)
    for name in files:
        form = composed(name)
        whole.setdefault(form, name)
        parts = form.split("/")
        for i in range(1, len(parts)):
            ends.setdefault("/".join(parts[i:]), []).append(name)
    only = {end: names[0] for end, names in ends.items() if len(names) == 1}
    whole |= {name: name for name in files}
    meant = only | whole

    def find(name: str) -> str:
        path = posixpath.normpath(posixpath.join(beside, name))
        return whole.get(path) or whole.get(composed(path)) or meant.get(name) or meant.get(composed(name), name)

    return find


def files_of(option: Files) -> list[tuple[str | None, str]]:
    """Return pairs of a split and a file for all files that an option names, in the order of `SPLITS`.

    The option is a file, a list of files, or a mapping from splits to a file or a list of files. Without a mapping, the
    split is None.

    >>> files_of("a.npy"), files_of({"test": "c.npy", "train": ["a.npy", "b.npy"]})
    ([(None, 'a.npy')], [('train', 'a.npy'), ('train', 'b.npy'), ('test', 'c.npy')])
    """
    by_split: Mapping[Any, Any] = option if isinstance(option, Mapping) else {None: option}
    lists = {split: [files] if isinstance(files, str) else list(files) for split, files in by_split.items()}
    return [(split, file) for split in sorted(lists, key=[None, *SPLITS].index) for file in lists[split]]

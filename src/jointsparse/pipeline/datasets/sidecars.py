"""Write tags into XMP sidecars beside photographs. The photographs themselves are never written.

Tags are written into `dc:subject` of the sidecar that is there, `a.jpg.xmp` or `a.xmp` for `a.jpg`, or of a new
`a.jpg.xmp`. If `a.xmp` could also belong to another picture, such as `a.png`, it is left alone. A new sidecar begins
with the tags of the photograph, because some programs ignore these as soon as there is a sidecar.

Two more properties remember what a model has predicted:

- `jointsparse:predicted` lists the tags in `dc:subject` that a model has predicted and that nobody has confirmed.
  Readers ignore them, so that no model learns from predictions;
- `jointsparse:rejected` lists the tags that are not predicted again.

Everything else in a sidecar keeps its bytes, because only the text of these three properties is edited. Libraries such
as lxml would write the whole document anew, and change quotes, line ends, and white space within tags.
"""

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape, quoteattr

from jointsparse.checks import require
from jointsparse.pipeline.datasets.checker import ask
from jointsparse.pipeline.datasets.folder import SUFFIXES
from jointsparse.pipeline.datasets.metadata import (
    MOST_BYTES,
    PREDICTED,
    RDF,
    SUBJECT,
    decoded,
    descriptions,
    parsed,
    plain,
    sidecars_of,
    values,
)
from jointsparse.pipeline.datasets.picture_check import of_machine
from jointsparse.written import written

MOST_MARKUP = 200_000  # tags and attributes of a sidecar; more would take a minute and gigabytes of memory
REJECTED = PREDICTED.replace("predicted", "rejected")
NAMES = {SUBJECT: "dc:subject", PREDICTED: "jointsparse:predicted", REJECTED: "jointsparse:rejected"}
NEW = """<?xml version="1.0" encoding="UTF-8"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
 </rdf:RDF>
</x:xmpmeta>
"""
ARRAYS = {f"{RDF}{kind}" for kind in ("Bag", "Seq", "Alt")}
UNUSUAL = "its tags are not a list of texts"
# Markup of well-formed XML without a document type. The groups are the slashes at the ends of a tag.
MARKUP = re.compile(
    r"""<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>|<(/?)[^\s/>]+(?:\s+[^\s=]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*(/?)>""",
    re.DOTALL,
)
ATTRIBUTE = re.compile(r"""\s+([^\s=]+)\s*=\s*(?:"[^"]*"|'[^']*')""")


class Tags(NamedTuple):
    """The tags of a sidecar, in the order of `NAMES`."""

    subject: tuple[str, ...] = ()
    predicted: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()

    def deleted(self) -> tuple[str, ...]:
        """Return the predicted tags that somebody has deleted from `dc:subject`."""
        return _without(self.predicted, self.subject)


class Change(NamedTuple):
    """A sidecar that changes.

    Attributes
    ----------
    file
        The sidecar.
    content
        Its new content.
    added, removed
        Tags that `dc:subject` gains and loses.
    rejected
        Tags that are not predicted again.
    """

    file: Path
    content: bytes
    added: tuple[str, ...]
    removed: tuple[str, ...]
    rejected: tuple[str, ...]


class Update(NamedTuple):
    """The sidecars that change, and for each photograph whose sidecar cannot be changed, the reason."""

    changes: list[Change]
    left_out: dict[str, str]


Rule = Callable[[list[Tags], tuple[str, ...], set[str]], list[Tags]]


def predict(tags: Mapping[Path, Iterable[str]], folders: Sequence[Path], *, dry_run: bool = False) -> Update:
    """Write predicted tags into sidecars, in place of earlier predictions that nobody has confirmed.

    A tag that a person has set, in the photograph or in a sidecar, stays and is not marked as predicted. A predicted
    tag that a person has deleted from `dc:subject` counts as rejected: it is never predicted for this photograph again.

    Parameters
    ----------
    tags : mapping
        For each photograph, the predicted tags. Without tags, only earlier predictions are removed.
    folders : list of path
        Folders in which sidecars may be written. Behind links that lead out of these folders, nothing is written.
    dry_run : bool
        If True, write nothing.

    Returns
    -------
    update : Update
        A sidecar is left out if it is damaged, too large, read-only, a link, neither UTF-8 nor UTF-16, or has entities
        or a document type.
    """

    def rule(before: list[Tags], predicted: tuple[str, ...], present: set[str]) -> list[Tags]:
        never = {tag for state in before for tag in (*state.rejected, *state.deleted())}
        after = []
        for state, now in zip(before, (predicted, *[()] * len(before)), strict=False):
            kept = tuple(tag for tag in state.predicted if tag in state.subject and tag in now)
            new = _without(now, {*state.subject, *present, *never})
            subject = _without(state.subject, _without(state.predicted, kept))
            after.append(Tags(subject + new, kept + new, state.rejected + _without(state.deleted(), state.rejected)))
        return after

    return _update(tags, folders, rule, dry_run)


def confirm(tags: Mapping[Path, Iterable[str]], folders: Sequence[Path], *, dry_run: bool = False) -> Update:
    """Mark tags as set by a person: they are in `dc:subject`, and neither predicted nor rejected.

    A tag that the photograph has already, in any field, is not added to `dc:subject`.

    Parameters and results are those of `predict`.
    """

    def rule(before: list[Tags], confirmed: tuple[str, ...], present: set[str]) -> list[Tags]:
        after = [
            state._replace(predicted=_without(state.predicted, confirmed), rejected=_without(state.rejected, confirmed))
            for state in before
        ]
        first = after[0]
        return [first._replace(subject=first.subject + _without(confirmed, {*first.subject, *present})), *after[1:]]

    return _update(tags, folders, rule, dry_run)


def reject(tags: Mapping[Path, Iterable[str]], folders: Sequence[Path], *, dry_run: bool = False) -> Update:
    """Remove tags from `dc:subject` of the sidecars, and do not predict them again. Tags in the photograph stay.

    Parameters and results are those of `predict`.
    """

    def rule(before: list[Tags], wrong: tuple[str, ...], present: set[str]) -> list[Tags]:
        after = [
            state._replace(subject=_without(state.subject, wrong), predicted=_without(state.predicted, wrong))
            for state in before
        ]
        first = after[0]
        return [first._replace(rejected=first.rejected + _without(wrong, first.rejected)), *after[1:]]

    return _update(tags, folders, rule, dry_run)


def _without(tags: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    left_out = set(others)
    return tuple(tag for tag in tags if tag not in left_out)


def _update(tags: Mapping[Path, Iterable[str]], folders: Sequence[Path], rule: Rule, dry_run: bool) -> Update:
    """Change the sidecars of photographs. The rule maps the tags in the sidecars of a photograph to new ones."""
    names = [str(path) for path in tags]
    left_out, present = ask(Path(), names, "levels")
    roots = [folder.resolve() for folder in folders]
    changes = []
    for path, given in tags.items():
        name = str(path)
        if name in left_out:
            continue
        try:
            inside = any(path.parent.resolve().is_relative_to(root) for root in roots)
            require(inside, "its folder is behind a link that leads out of the given folders")
            wanted = tuple(dict.fromkeys(filter(None, map(plain, given))))
            every, last = present[name]
            found = _changes(path, rule, wanted, {*every}, tuple(last))
            for change in found if not dry_run else ():
                _write(change)
        except OSError as error:
            if of_machine(error):
                raise
            left_out[name] = f"its sidecar cannot be written: {error.strerror}"
        except ValueError as error:
            left_out[name] = str(error)
        else:
            changes += found
    return Update(changes, left_out)


def _changes(path: Path, rule: Rule, given: tuple[str, ...], present: set[str], own: tuple[str, ...]) -> list[Change]:
    """Return the sidecars of a photograph that change. A new sidecar begins with the photograph's own tags.

    Of hierarchical tags, a new sidecar gets the last levels alone, because readers may ask for these.
    """
    changes, files = [], _files(path)
    texts = [_read(file) for file in files]
    states = [_tags(parsed(text)) for text, _ in texts]
    for file, (text, encoding), before, after in zip(files, texts, states, rule(states, given, present), strict=True):
        if after == before:
            continue
        if text == NEW:
            kept = _without(own, after.rejected)
            after = after._replace(subject=kept + _without(after.subject, kept))
        try:
            content = _edited(text, after).encode(encoding)
        except ValueError as error:
            raise ValueError(f"{file.name} cannot be changed: {error}") from None
        require(len(content) <= MOST_BYTES, f"{file.name} would be larger than {MOST_BYTES:,} bytes")
        gained = (_without(after.subject, (*before.subject, *own)), _without(before.subject, after.subject))
        changes.append(Change(file, content, *gained, _without(after.rejected, before.rejected)))
    return changes


def _files(path: Path) -> list[Path]:
    """Return the sidecars of a photograph that are there, the one that gets new tags first, or a new one."""
    of_stem, of_name = sidecars_of(path)
    files = [file for file in (of_name, of_stem) if os.path.lexists(file)]
    others = (path.with_suffix(suffix) for lower in SUFFIXES for suffix in (lower, lower.upper()))
    if of_stem in files and any(other.exists() and not other.samefile(path) for other in others):
        files.remove(of_stem)
    return files or [of_name]


def _read(file: Path) -> tuple[str, str]:
    """Return the text of a sidecar and its encoding. Raises ValueError if the sidecar must not be changed."""
    if not os.path.lexists(file):
        return NEW, "utf-8"
    status = file.lstat()
    try:
        require(stat.S_ISREG(status.st_mode), "it is a link or not a regular file")
        require(status.st_size <= MOST_BYTES, f"it is larger than {MOST_BYTES:,} bytes")
        require(status.st_mode & 0o222 and os.access(file, os.W_OK), "it is read-only")
        text, encoding = decoded(file.read_bytes())
        require(
            text.count("<") + text.count("=") <= MOST_MARKUP, f"it has more than {MOST_MARKUP:,} tags and attributes"
        )
        require(next(parsed(text).iter(f"{RDF}RDF"), None) is not None, "it has no element rdf:RDF")
    except ValueError as error:
        raise ValueError(f"{file.name} cannot be changed: {error}") from None
    return text, encoding


def _write(change: Change) -> None:
    with written(change.file) as temporary:
        with temporary.open("xb") as file:
            file.write(change.content)
        if change.file.exists():
            shutil.copymode(change.file, temporary)


def _tags(root: Element) -> Tags:
    return Tags(*(tuple(dict.fromkeys(filter(None, map(plain, values(root, name))))) for name in NAMES))


class _Span(NamedTuple):
    """The places of an element in a text: its start tag, and its end tag, which is empty in `<a/>`."""

    start: int
    head: int
    tail: int
    end: int


Edit = tuple[int, int, str]  # a part of a text, and what replaces it


def _edited(text: str, tags: Tags) -> str:
    """Return the text of a sidecar with other tags. Tags that stay keep their bytes."""
    root = parsed(text)
    spans = _spans(text, root)
    edits, new = list[Edit](), dict[str, tuple[str, ...]]()
    for (name, before), wanted in zip(zip(NAMES, _tags(root), strict=True), tags, strict=True):
        if {*before} == {*wanted}:
            continue
        elements = [element for each in descriptions(root) for element in each.iterfind(name)]
        edits += [_cut_attribute(text, each, spans[each], name) for each in descriptions(root) if name in each.attrib]
        if not elements:
            new[name] = wanted
        for element, more in zip(elements, (_without(wanted, before), *[()] * len(elements)), strict=False):
            edits += _edits(text, element, spans, wanted, more)
    if new:
        edits.append(_description(text, root, spans, new))
    for start, end, content in sorted(edits, reverse=True):
        text = text[:start] + content + text[end:]
    try:
        after = _tags(parsed(text))
    except ValueError:
        raise ValueError("a tag has a character that XML does not allow") from None
    same = all({*got} == {*wanted} for got, wanted in zip(after, tags, strict=True))
    require(same, UNUSUAL)
    return text


def _spans(text: str, root: Element) -> dict[Element, _Span]:
    """Return the places of all elements. The tags in the text have the order of the elements."""
    spans, opened, elements = dict[Element, _Span](), list[tuple[Element, int, int]](), root.iter()
    for match in MARKUP.finditer(text):
        closing, empty = match.groups()
        if closing is None:  # a comment, a processing instruction, or CDATA
            continue
        if closing:
            element, start, head = opened.pop()
            spans[element] = _Span(start, head, *match.span())
        elif empty:
            spans[next(elements)] = _Span(*match.span(), match.end(), match.end())
        else:
            opened.append((next(elements), *match.span()))
    return spans


def _edits(
    text: str, element: Element, spans: Mapping[Element, _Span], wanted: tuple[str, ...], more: tuple[str, ...]
) -> list[Edit]:
    """Return the edits after which a property has the wanted values that it has already, and more values."""
    if not len(element) and not element.attrib:
        kept = tuple(tag for tag in (plain(element.text or ""),) if tag in wanted)
        return [_filled(text, spans[element], _bag(kept + more, declared=f' xmlns:rdf="{RDF[1:-1]}"'))]
    require(len(element) == 1 and element[0].tag in ARRAYS, UNUSUAL)
    array = element[0]
    cut = [spans[item] for item in array if (tag := plain(item.text or "")) and tag not in wanted]
    edits = [(_before(text, span.start), span.end, "") for span in cut]
    if more:
        space = text[_before(text, start := spans[array[-1]].start) : start] if len(array) else ""
        prefix = _name(text, spans[array]).rpartition(":")[0]
        li = f"{prefix}:li" if prefix else "li"
        edits.append(_filled(text, spans[array], "".join(f"{space}<{li}>{escape(tag)}</{li}>" for tag in more), False))
    return edits


def _cut_attribute(text: str, element: Element, span: _Span, name: str) -> Edit:
    attributes = ATTRIBUTE.finditer(text, span.start, span.head)
    visible = (match for match in attributes if not re.match("xmlns(:|$)", match[1]))
    start, end = next(match.span() for match, key in zip(visible, element.attrib, strict=True) if key == name)
    return start, end, ""


def _description(text: str, root: Element, spans: Mapping[Element, _Span], new: Mapping[str, tuple[str, ...]]) -> Edit:
    """Return the edit that adds a description with new properties at the end of the XMP."""
    rdf = next(root.iter(f"{RDF}RDF"))
    about = next((each.get(f"{RDF}about", "") for each in descriptions(root)), "")
    line = "\r\n" if "\r\n" in text else "\n"
    declared = {"rdf": RDF[1:-1]} | {NAMES[name].partition(":")[0]: name[1:].partition("}")[0] for name in new}
    if _name(text, spans[rdf]) == "rdf:RDF":
        del declared["rdf"]
    spaces = "".join(f"{line}    xmlns:{prefix}={quoteattr(uri)}" for prefix, uri in declared.items())
    properties = "".join(
        f"{line}   <{NAMES[name]}>{_bag(values, line + '    ')}{line}   </{NAMES[name]}>"
        for name, values in new.items()
    )
    added = f"{line}  <rdf:Description rdf:about={quoteattr(about)}{spaces}>{properties}{line}  </rdf:Description>"
    return _filled(text, spans[rdf], added, False)


def _bag(tags: Iterable[str], space: str = "", declared: str = "") -> str:
    inner = f"{space} " if space else ""
    items = "".join(f"{inner}<rdf:li>{escape(tag)}</rdf:li>" for tag in tags)
    return f"{space}<rdf:Bag{declared}>{items}{space}</rdf:Bag>"


def _filled(text: str, span: _Span, content: str, replace: bool = True) -> Edit:
    """Return the edit that replaces the content of an element, or adds to its end before white space."""
    if span.head == span.end:  # <a/>
        return span.head - 2, span.head, f">{content}</{_name(text, span)}>"
    return (span.head, span.tail, content) if replace else (end := _before(text, span.tail), end, content)


def _before(text: str, end: int) -> int:
    """Return the place of the white space before a place."""
    while end and text[end - 1] in " \t\r\n":
        end -= 1
    return end


def _name(text: str, span: _Span) -> str:
    """Return the name of an element with its prefix, as the text has it."""
    match = re.compile(r"[^\s/>]+").match(text, span.start + 1)
    assert match
    return match[0]

"""Load photographs that carry their tags themselves, as Lightroom, digiKam, darktable and Apple Photos write them.

These fields are read, in the picture or in a sidecar beside it (`a.xmp` or `a.jpg.xmp` for `a.jpg`):

- XMP `dc:subject`: a tag in each item (Adobe, XMP Specification Part 1, 2012);
- hierarchical tags: XMP `lr:hierarchicalSubject` and `mediapro:CatalogSets`, with levels separated by |, and
  `digiKam:TagsList` and `MicrosoftPhoto:LastKeywordXMP`, with levels separated by / (names as ExifTool documents them);
- IPTC `Keywords`, data set 2:25 (IPTC-NAA Information Interchange Model 4.2).

Pillow finds the fields in a picture. XMP is parsed by defusedxml, which refuses entities and document types.
"""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal
from xml.etree.ElementTree import Element, ParseError

import pandas as pd
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring
from PIL import Image, IptcImagePlugin

from jointsparse.checks import require
from jointsparse.pictures import FORMATS
from jointsparse.pipeline.datasets.folder import Annotations, file, picture, read_folder, thumbnail
from jointsparse.pipeline.datasets.names import composed
from jointsparse.pipeline.datasets.samples import Photographs

SHOWS = "pictures"
LABELS = "tags"

MOST_BYTES = 2**24  # size limit of XMP; darktable stores masks in it
MOST_TAGS = 1000  # tags of a picture
RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
SEPARATORS = {  # the separator of levels, or "", by the name of the element
    "{http://purl.org/dc/elements/1.1/}subject": "",
    "{http://ns.adobe.com/lightroom/1.0/}hierarchicalSubject": "|",
    "{http://ns.iview-multimedia.com/mediapro/1.0/}CatalogSets": "|",
    "{http://www.digikam.org/ns/1.0/}TagsList": "/",
    "{http://ns.microsoft.com/photo/1.0/}LastKeywordXMP": "/",
}
INTERNAL = ("_digikam", "darktable")  # beginnings of the first level of tags that programs set for themselves
XMP_OF_TIFF = 700

__all__ = ["file", "picture", "read", "thumbnail"]


def read(
    root: str | Path, *, levels: Literal["all", "last"] = "all", images: str = "images", **options: Any
) -> Photographs:
    """Read and check photographs that carry their tags.

    Parameters
    ----------
    root, images : as in `folder.read_folder`
        See there.
    levels : "all" or "last"
        The levels of a hierarchical tag, such as "animal|cat", that are tags.
    **options : any
        The other options of `folder.read_folder`. A picture without any tag is left out, because nobody may have tagged
        it yet.

    Raises
    ------
    ValueError
        As in `folder.read_folder`. A picture or sidecar whose metadata cannot be read has no tags.
    """

    def annotated(names: Sequence[str]) -> Annotations:
        tags = {name: tags_of(Path(root) / images / name, levels) for name in names}
        rows = [(name, tag) for name in names for tag in tags[name]]
        captions = pd.DataFrame(rows, columns=["image", "caption"], dtype=str)
        tagged = {name for name, own in tags.items() if own}
        return Annotations(captions, tagged, lacking="no tag in it or its sidecar", beside=[".xmp"])

    return read_folder(root, annotated, images=images, **options)


def tags_of(path: Path, levels: Literal["all", "last"] = "all") -> list[str]:
    """Return the distinct tags of a picture and of its sidecars."""
    found = dict[str, None]()
    packets, keywords = _inside(path)
    for sidecar in (path.with_suffix(".xmp"), path.with_name(f"{path.name}.xmp")):
        if sidecar.is_file() and sidecar.stat().st_size <= MOST_BYTES:
            packets.append(sidecar.read_bytes())
    for tag, separator in (tag for packet in packets for tag in _tags_in(packet)):
        parts = [part.strip() for part in tag.split(separator)] if separator else [tag]
        if not parts[0].lower().startswith(INTERNAL):
            found.update(dict.fromkeys(parts if levels == "all" else parts[-1:]))
    tags = (composed(" ".join(tag.split())) for tag in [*found, *keywords])
    return list(dict.fromkeys(tag for tag in tags if tag and not tag.lower().startswith(INTERNAL)))[:MOST_TAGS]


def _inside(path: Path) -> tuple[list[bytes], list[str]]:
    """Return the XMP and the IPTC keywords in a picture. A picture that cannot be read has none."""
    try:
        require(path.is_file(), "a pipe would block")
        with warnings.catch_warnings(action="ignore"), Image.open(path, formats=FORMATS) as opened:
            packet: Any = opened.info.get("xmp") or opened.info.get("XML:com.adobe.xmp")
            if opened.format == "TIFF":
                packet = packet or opened.tag_v2.get(XMP_OF_TIFF)  # type: ignore[attr-defined]
            words: Any = (IptcImagePlugin.getiptcinfo(opened) or {}).get((2, 25), [])
    except Exception:  # `check_pictures` reports the picture
        return [], []
    packet = packet.encode() if isinstance(packet, str) else packet
    packets = [packet] if isinstance(packet, bytes) and len(packet) <= MOST_BYTES else []
    return packets, [_decoded(word) for word in (words if isinstance(words, list) else [words])]


def _decoded(word: bytes) -> str:
    """Return a keyword of IPTC as text: in UTF-8 or, in old files, in Latin-1."""
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError:
        return word.decode("latin-1")


def _tags_in(packet: bytes) -> Iterator[tuple[str, str]]:
    """Yield the tags in XMP, each with the separator of its levels."""
    try:
        root: Element = fromstring(packet.strip(b"\0 \r\n\t"), forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, LookupError):
        return
    for name, separator in SEPARATORS.items():
        for element in root.iter(name):
            yield from ((item.text, separator) for item in element.iter(f"{RDF}li") if item.text)

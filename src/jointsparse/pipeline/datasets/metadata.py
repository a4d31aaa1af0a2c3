"""Read what pictures carry besides pixels: tags, and the time at which they were taken.

These fields give tags, in the picture or in a sidecar beside it (`a.xmp` or `a.jpg.xmp` for `a.jpg`):

- XMP `dc:subject`: a tag in each item (Adobe, XMP Specification Part 1, 2012);
- hierarchical tags: XMP `lr:hierarchicalSubject` and `mediapro:CatalogSets`, with levels separated by |, and
  `digiKam:TagsList` and `MicrosoftPhoto:LastKeywordXMP`, with levels separated by / (names as ExifTool documents them);
- IPTC `Keywords`, data set 2:25 (IPTC-NAA Information Interchange Model 4.2).

Pillow finds the fields in a picture. XMP is parsed by defusedxml, which refuses entities and document types. The module
`checker` calls these functions in a separate process.
"""

import warnings
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring
from PIL import Image, IptcImagePlugin

from jointsparse.checks import require
from jointsparse.pictures import FORMATS
from jointsparse.pipeline.datasets.names import composed

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
MAKE, MODEL, EXIF = 271, 272, 0x8769  # tags of EXIF 2.32; the others are in the directory EXIF
SERIAL, TIME, SUBSECONDS = 42033, 36867, (37521, 37520)


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


def taken(path: Path) -> tuple[str, float] | None:
    """Return the camera and the time in seconds, or None if the picture has no time or cannot be read."""
    try:
        require(path.is_file(), "a pipe would block")
        with warnings.catch_warnings(action="ignore"), Image.open(path, formats=FORMATS) as picture:
            exif = Image.Image.getexif(picture)  # the method of a PNG would decode the pixels
            more: Mapping[int, object] = exif.get_ifd(EXIF)
        time = datetime.strptime(str(more[TIME]).strip("\0 "), "%Y:%m:%d %H:%M:%S")
        part = next((str(more[tag]).strip("\0 ") for tag in SUBSECONDS if tag in more), "")
    except Exception:  # `check_pictures` reports the picture
        return None
    camera = "\n".join(str(each).strip("\0 ") for each in (exif.get(MAKE), exif.get(MODEL), more.get(SERIAL)))
    return camera, (time - datetime(1970, 1, 1)).total_seconds() + (float(f"0.{part}") if part.isdecimal() else 0)

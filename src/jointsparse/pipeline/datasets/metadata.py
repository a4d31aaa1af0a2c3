"""Read what pictures carry besides pixels: tags, and the time at which they were taken.

These fields give tags, in the picture or in a sidecar beside it (`a.xmp` or `a.jpg.xmp` for `a.jpg`):

- XMP `dc:subject`: a tag in each item (Adobe, XMP Specification Part 1, 2012);
- hierarchical tags: XMP `lr:hierarchicalSubject` and `mediapro:CatalogSets`, with levels separated by |, and
  `digiKam:TagsList` and `MicrosoftPhoto:LastKeywordXMP`, with levels separated by / (names as ExifTool documents them);
- IPTC `Keywords`, data set 2:25 (IPTC-NAA Information Interchange Model 4.2).

The tags of a picture are those of all fields, in the picture and in its sidecars, without the tags that a sidecar lists
as predicted and that nobody has confirmed yet, see `sidecars`.

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
SUBJECT = "{http://purl.org/dc/elements/1.1/}subject"
PREDICTED = "{urn:x-jointsparse:tags/1.0/}predicted"  # tags that a model has predicted, see `sidecars`
SEPARATORS = {  # the separator of levels, or "", by the name of the property
    SUBJECT: "",
    "{http://ns.adobe.com/lightroom/1.0/}hierarchicalSubject": "|",
    "{http://ns.iview-multimedia.com/mediapro/1.0/}CatalogSets": "|",
    "{http://www.digikam.org/ns/1.0/}TagsList": "/",
    "{http://ns.microsoft.com/photo/1.0/}LastKeywordXMP": "/",
}
INTERNAL = ("_digikam", "darktable")  # beginnings of the first level of tags that programs set for themselves
XMP_OF_TIFF = 700
# Encodings of XMP by the first bytes: a byte order mark, or a "<" of two bytes.
ENCODINGS = {
    b"\xef\xbb\xbf": "utf-8",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
    b"<\0": "utf-16-le",
    b"\0<": "utf-16-be",
}
MAKE, MODEL, EXIF = 271, 272, 0x8769  # tags of EXIF 2.32; the others are in the directory EXIF
SERIAL, TIME, SUBSECONDS = 42033, 36867, (37521, 37520)


def tags_of(path: Path, levels: Literal["all", "last"] = "all", *, beside: bool = True) -> list[str]:
    """Return the distinct tags of a picture that no model has predicted. beside: whether to read its sidecars, too."""
    found, predicted = dict[str, None](), set[str]()
    packets, keywords = _inside(path)
    for sidecar in sidecars_of(path) if beside else ():
        if sidecar.is_file() and sidecar.stat().st_size <= MOST_BYTES:
            packets.append(sidecar.read_bytes())
    for root in filter(None, map(_root, packets)):
        predicted.update(map(plain, values(root, PREDICTED)))
        for name, separator in SEPARATORS.items():
            for tag in values(root, name):
                parts = [part.strip() for part in tag.split(separator)] if separator else [tag]
                if not parts[0].lower().startswith(INTERNAL):
                    found.update(dict.fromkeys(parts if levels == "all" else parts[-1:]))
    tags = dict.fromkeys(map(plain, [*found, *keywords]))
    kept = [tag for tag in tags if tag and tag not in predicted and not tag.lower().startswith(INTERNAL)]
    return kept[:MOST_TAGS]


def sidecars_of(path: Path) -> tuple[Path, Path]:
    """Return the two names that a sidecar of a picture may have."""
    return path.with_suffix(".xmp"), path.with_name(f"{path.name}.xmp")


def plain(tag: str) -> str:
    """Return a tag with single spaces and composed characters, so that equal tags are equal strings."""
    return composed(" ".join(tag.split()))


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


def _root(packet: bytes) -> Element | None:
    """Return the root of XMP, or None if it cannot be read."""
    try:
        return parsed(decoded(packet)[0])
    except ValueError:
        return None


def decoded(packet: bytes) -> tuple[str, str]:
    """Return XMP as text, and the name of its encoding: UTF-8 or UTF-16, with or without a byte order mark."""
    encoding = next((name for mark, name in ENCODINGS.items() if packet.startswith(mark)), "utf-8")
    try:
        return packet.decode(encoding), encoding
    except UnicodeDecodeError:
        raise ValueError("it is neither UTF-8 nor UTF-16") from None


def parsed(text: str) -> Element:
    """Return the root of XMP. Raises ValueError if the text is not XML, or has entities or a document type."""
    try:
        root: Element = fromstring(text.strip("\0 \r\n\t\ufeff"), forbid_dtd=True)
    except DefusedXmlException:
        raise ValueError("it has a document type or entities") from None
    except (ParseError, ValueError, LookupError):
        raise ValueError("it is not well-formed XML") from None
    return root


def values(root: Element, name: str) -> Iterator[str]:
    """Yield the values of a property: the items of an array, or a simple value, which an attribute may hold."""
    for description in descriptions(root):
        if name in description.attrib:
            yield description.attrib[name]
        for element in description.iterfind(name):
            items = element.findall(f"*/{RDF}li")
            yield from (item.text or "" for item in items) if items else [element.text or ""]


def descriptions(root: Element) -> list[Element]:
    """Return the elements that hold the properties of XMP."""
    return [each for rdf in root.iter(f"{RDF}RDF") for each in rdf.iterfind(f"{RDF}Description")]


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

"""Write tags into random sidecars, and read them back with ExifTool.

    python trials/sidecars.py --cases 60

Sidecars have random properties, prefixes, quotes, white space, encodings and line ends; others are written by ExifTool
or are damaged at random. After tags have been written, ExifTool must report the new tags and otherwise the same
properties, and the XML must be the same but for the tags. Then ExifTool copies the tags into the photographs, with the
command in docs/sidecars.md. Needs the program exiftool, which is in Debian's package libimage-exiftool-perl. A case has
ten sidecars. The ways in which a case can end are listed in `harness.py`.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, canonicalize, fromstring, tostring

import harness
import numpy as np
from harness import mutated, require
from PIL import Image

from jointsparse.pipeline.datasets import picture_check, sidecars
from jointsparse.pipeline.datasets.metadata import RDF, SUBJECT, decoded, descriptions, plain, tags_of

DC, LR, XMP = SUBJECT[1:-8], "http://ns.adobe.com/lightroom/1.0/", "http://ns.adobe.com/xap/1.0/"
WORDS = ["cat", "dog", "old & grey", 'a "b"', "<c>", "été", "日本", "'", "]]>", "a|b"]
PIECES = [b" ", b"a", b"'", b'"', b"<a/>", b"<rdf:li>x</rdf:li>", b"<!--<-->", b"<![CDATA[<]]>", b"&amp;", b"\0"]
EMBED = ["exiftool", "-r", "-ext", "jpg", "-overwrite_original", "-addtagsfromfile", "%d%f.%e.xmp"]
EMBED += ["-xmp-dc:subject-<xmp-dc:subject", "-xmp-dc:subject+<xmp-dc:subject"]
N = 10  # sidecars in a case
Rng = np.random.Generator


def sidecar(rng: Rng, tags: list[str]) -> str:
    """Return a sidecar with the given tags."""
    pick: Any = lambda *choices: choices[rng.integers(len(choices))]  # noqa: E731
    rdf, dc, quote, space = pick("rdf", "R"), pick("dc", "x"), pick('"', "'"), pick("", " ", "\n", "\n   ", "\t")
    escape = pick(lambda tag: sidecars.escape(tag), lambda tag: "".join(f"&#{ord(sign)};" for sign in tag))
    items = space.join(f"<{rdf}:li>{escape(tag)}</{rdf}:li>" for tag in tags)
    kind = pick("Bag", "Seq")
    subject = f"<{dc}:subject>{space}<{rdf}:{kind}>{space}{items}{space}</{rdf}:{kind}></{dc}:subject>"
    if not tags:
        subject = pick("", f"<{dc}:subject/>", f"<{dc}:subject><{rdf}:Bag/></{dc}:subject>")
    other = f"<lr:hierarchicalSubject><{rdf}:Bag><{rdf}:li>animal|cat</{rdf}:li></{rdf}:Bag></lr:hierarchicalSubject>"
    about = f"{rdf}:about={quote}{quote}"
    comment, label = f"<!-- <{dc}:subject> -->", "<xmp:Label>a &gt; b</xmp:Label>"
    inner = rng.permutation([subject, pick("", other), pick("", comment), pick("", label)])
    rating = pick("", f"{space or ' '}xmp:Rating={quote}3{quote}")
    body = f"<{rdf}:Description {about}{rating}>{space}{space.join(inner)}{space}</{rdf}:Description>"
    body = pick("", f"<{rdf}:Description {about}/>") + body + pick("", f"{space}<{rdf}:Description {about}/>")
    spaces = {rdf: RDF[1:-1], dc: DC, "lr": LR, "xmp": XMP}
    declared = " ".join(f"xmlns:{prefix}={quote}{name}{quote}" for prefix, name in spaces.items())
    text = f"<{rdf}:RDF {declared}>{space}{body}{space}</{rdf}:RDF>"
    text = pick(text, f"<x:xmpmeta xmlns:x={quote}adobe:ns:meta/{quote}>{space}{text}{space}</x:xmpmeta>")
    packet = f'<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>{text}{" " * 50}\n<?xpacket end="w"?>'
    return str(pick(text, packet, text.replace("\n", "\r\n")))


def by_exiftool(files: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the properties of XMP that ExifTool reads, without those of the file."""
    command = ["exiftool", "-j", "-struct", "-G1", "-XMP:all", "-FileType", *map(str, files)]
    printed = subprocess.run(command, capture_output=True, check=False).stdout
    return [{key: value for key, value in row.items() if key != "SourceFile"} for row in json.loads(printed)]


def listed(value: Any) -> set[str]:
    return {plain(str(item)) for item in (value if isinstance(value, list) else [value])} - {""}


def rest(content: bytes) -> str:
    """Return the XML without the properties that may change, and without descriptions that are empty."""
    root: Element = fromstring(decoded(content)[0].strip("\ufeff\0 \r\n\t"))
    for rdf in root.iter(f"{RDF}RDF"):
        for each in descriptions(root):
            each.attrib.pop(SUBJECT, None)
            for element in [element for name in sidecars.NAMES for element in each.findall(name)]:
                each.remove(element)
            if not len(each) and each.attrib.keys() <= {f"{RDF}about"}:
                rdf.remove(each)
    return canonicalize(tostring(root, encoding="unicode"), strip_text=True)


def photographs(rng: Rng, folder: Path, n: int) -> dict[Path, Path]:
    """Write photographs and their sidecars, and return the sidecar of each."""
    sidecars.ask = lambda folder, names, task: (  # in this process, which takes less time
        {},
        {name: picture_check.TASKS[task](folder / name).value for name in names},
    )
    files = {folder / f"{i}.jpg": folder / f"{i}.jpg.xmp" for i in range(n)}
    for photo, file in files.items():
        Image.new("RGB", (8, 8)).save(photo)
        text = sidecar(rng, list(rng.choice(WORDS, rng.integers(4), replace=False)))
        file.write_bytes(text.encode(("utf-8", "utf-8-sig", "utf-16")[rng.integers(3)]))
    return files


def written(rng: Rng, folder: Path) -> None:
    """Write tags into sidecars, some of which are by ExifTool, and then into the photographs."""
    files = photographs(rng, folder, N)
    told = [f"-XMP-dc:Subject+={word}" for word in WORDS[:3]]
    subprocess.run(
        ["exiftool", "-q", "-overwrite_original", *told, *[*files.values()][:2]], capture_output=True, check=False
    )
    before, contents = by_exiftool(files.values()), [file.read_bytes() for file in files.values()]
    labels, new = [tags_of(photo) for photo in files], [list(rng.choice(WORDS, 3, replace=False)) for _ in files]
    tags = dict(zip(files, new, strict=True))
    update = sidecars.predict(tags, [folder])
    require(not sidecars.predict(tags, [folder]).changes, "the same predictions change sidecars again")
    after = by_exiftool(files.values())
    subprocess.run([*EMBED, str(folder)], capture_output=True, check=False)
    embedded = by_exiftool(files)
    subprocess.run([*EMBED, str(folder)], capture_output=True, check=False)
    require(embedded == by_exiftool(files), "photographs change when tags are copied again")
    for i, (photo, file) in enumerate(files.items()):
        require(tags_of(photo) == labels[i], f"{photo.name}: labels have changed")
        if str(photo) in update.left_out:
            continue
        require(rest(file.read_bytes()) == rest(contents[i]), f"{file.name}: other XML has changed")
        # ExifTool does not find RDF with another prefix outside of x:xmpmeta, and UTF-16 only in packets.
        if before[i]["File:FileType"] == "XMP" and not contents[i].startswith(b"\xff\xfe"):
            compare(before[i], after[i], embedded[i], {*new[i]} - {*labels[i]}, {*labels[i]})


def compare(before: dict, after: dict, embedded: dict, new: set[str], labels: set[str]) -> None:
    """Compare what ExifTool reads before and after `new` tags were written beside `labels`."""
    old, got = (listed(row.pop("XMP-dc:Subject", [])) for row in (before, after))
    predicted = listed(after.pop("XMP-jointsparse:Predicted", []))
    require(
        got == old | new and before == after, f"{before} became {after}, with the tags {got} instead of {old | new}"
    )
    require(predicted == (old | new) - listed([*labels]), f"predicted: {predicted}")
    require(new <= listed(embedded["XMP-dc:Subject"]), f"the photograph has {embedded}, expected {new}")


def damaged(rng: Rng, folder: Path) -> str | None:
    """Write tags into a damaged sidecar. Either the file is left as it is, or nothing but the tags changes."""
    ((photo, file),) = photographs(rng, folder, 1).items()
    content = mutated(file.read_bytes(), rng, PIECES, header=file.stat().st_size, most=1)
    file.write_bytes(content)
    update = sidecars.predict({photo: ["new"]}, [folder])
    if update.left_out:
        require(file.read_bytes() == content, f"{content!r}: refused, but changed")
        harness.refuse(ValueError(*update.left_out.values()))
    require(rest(file.read_bytes()) == rest(content), f"{content!r}: other XML has changed")
    return None


if __name__ == "__main__":
    sys.exit(
        harness.run({"written": written, "damaged": damaged}, harness.parser(__doc__, 60).parse_args(), seconds=120)
    )

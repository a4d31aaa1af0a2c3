"""Write tags into random sidecars, and read them back with ExifTool.

    .venv/bin/python trials/sidecars.py 300

Sidecars have random properties, prefixes, quotes, white space, encodings and line ends; others are written by ExifTool
or are damaged at random. After tags have been written, ExifTool must report the new tags and otherwise the same
properties, and the XML must be the same but for the tags. Then ExifTool copies the tags into the photographs, with the
command in docs/sidecars.md. Needs the program exiftool, which is in Debian's package libimage-exiftool-perl.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, canonicalize, fromstring, tostring

import numpy as np
from mutations import mutated
from PIL import Image

from jointsparse.pipeline.datasets import picture_check, sidecars
from jointsparse.pipeline.datasets.metadata import RDF, SUBJECT, decoded, descriptions, plain, tags_of

DC, LR, XMP = SUBJECT[1:-8], "http://ns.adobe.com/lightroom/1.0/", "http://ns.adobe.com/xap/1.0/"
WORDS = ["cat", "dog", "old & grey", 'a "b"', "<c>", "été", "日本", "'", "]]>", "a|b"]
PIECES = [b" ", b"a", b"'", b'"', b"<a/>", b"<rdf:li>x</rdf:li>", b"<!--<-->", b"<![CDATA[<]]>", b"&amp;", b"\0"]
EMBED = ["exiftool", "-r", "-ext", "jpg", "-overwrite_original", "-addtagsfromfile", "%d%f.%e.xmp"]
EMBED += ["-xmp-dc:subject-<xmp-dc:subject", "-xmp-dc:subject+<xmp-dc:subject"]
DAMAGED = 3  # for each sidecar


def sidecar(rng: np.random.Generator, tags: list[str]) -> str:
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
    inner = [
        subject,
        pick("", other),
        pick("", f"<!-- <{dc}:subject> -->"),
        pick("", "<xmp:Label>a &gt; b</xmp:Label>"),
    ]
    rng.shuffle(inner)
    rating = pick("", f"{space or ' '}xmp:Rating={quote}3{quote}")
    body = f"<{rdf}:Description {about}{rating}>{space}{space.join(inner)}{space}</{rdf}:Description>"
    body = pick("", f"<{rdf}:Description {about}/>") + body + pick("", f"{space}<{rdf}:Description {about}/>")
    declared = [f"xmlns:{rdf}={quote}{RDF[1:-1]}{quote}", f"xmlns:{dc}={quote}{DC}{quote}"]
    declared += [f"xmlns:lr={quote}{LR}{quote}", f"xmlns:xmp={quote}{XMP}{quote}"]
    text = f"<{rdf}:RDF {' '.join(declared)}>{space}{body}{space}</{rdf}:RDF>"
    text = pick(text, f"<x:xmpmeta xmlns:x={quote}adobe:ns:meta/{quote}>{space}{text}{space}</x:xmpmeta>")
    packet = f'<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>{text}{" " * 50}\n<?xpacket end="w"?>'
    return str(pick(text, packet, text.replace("\n", "\r\n")))


def by_exiftool(files: list[Path]) -> list[dict[str, Any]]:
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
            for name in sidecars.NAMES:
                for element in each.findall(name):
                    each.remove(element)
            if not len(each) and each.attrib.keys() <= {f"{RDF}about"}:
                rdf.remove(each)
    return canonicalize(tostring(root, encoding="unicode"), strip_text=True)


def main() -> int:
    """Write tags into random sidecars, and return 1 if anything else has changed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("n", type=int, help="number of sidecars")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    sidecars.ask = lambda folder, names, task: (  # in this process, which takes less time
        {},
        {name: picture_check.TASKS[task](folder / name).value for name in names},
    )
    faults, refused = list[str](), 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        tags = [list(rng.choice(WORDS, rng.integers(4), replace=False)) for _ in range(given.n)]
        photos = [folder / f"{i}.jpg" for i in range(given.n)]
        files = [photo.with_name(f"{photo.name}.xmp") for photo in photos]
        for photo, file, own in zip(photos, files, tags, strict=True):
            Image.new("RGB", (8, 8)).save(photo)
            encoding = ("utf-8", "utf-8-sig", "utf-16")[rng.integers(3)]
            file.write_bytes(sidecar(rng, own).encode(encoding))
        told = [f"-XMP-dc:Subject+={word}" for word in WORDS[:3]]  # a fifth is written by ExifTool
        subprocess.run(["exiftool", "-q", "-overwrite_original", *told, *files[::5]], capture_output=True, check=False)
        before, contents = by_exiftool(files), [file.read_bytes() for file in files]
        # ExifTool does not find RDF with another prefix outside of x:xmpmeta, and UTF-16 only in packets.
        readable = [
            row["File:FileType"] == "XMP" and not content.startswith(b"\xff\xfe")
            for row, content in zip(before, contents, strict=True)
        ]
        labels = [tags_of(photo) for photo in photos]
        new = [list(rng.choice(WORDS, 3, replace=False)) for _ in photos]
        update = sidecars.predict(dict(zip(photos, new, strict=True)), [folder])
        print(*(f"{name}: {reason}" for name, reason in update.left_out.items()), sep="\n")
        after = by_exiftool(files)
        for i, (photo, file) in enumerate(zip(photos, files, strict=True)):
            if str(photo) in update.left_out:
                continue
            expected = listed(before[i].pop("XMP-dc:Subject", [])) | {*new[i]} - {*labels[i]}
            got = listed(after[i].pop("XMP-dc:Subject", []))
            predicted = listed(after[i].pop("XMP-jointsparse:Predicted", []))
            if readable[i] and (got != expected or predicted != expected - listed(labels[i]) or before[i] != after[i]):
                faults.append(f"{file.name}: {contents[i]!r} became {file.read_bytes()!r}: {got}, {after[i]}")
            if rest(file.read_bytes()) != rest(contents[i]):
                faults.append(f"{file.name}: other XML has changed")
            if tags_of(photo) != labels[i]:
                faults.append(f"{file.name}: labels have changed")
        if sidecars.predict(dict(zip(photos, new, strict=True)), [folder]).changes:
            faults.append("the same predictions change sidecars again")
        subprocess.run([*EMBED, str(folder)], capture_output=True, check=False)
        embedded = by_exiftool(photos)
        subprocess.run([*EMBED, str(folder)], capture_output=True, check=False)
        if embedded != by_exiftool(photos):
            faults.append("photographs change when tags are copied again")
        for i, (photo, row) in enumerate(zip(photos, embedded, strict=True)):
            if tags_of(photo) != labels[i]:
                faults.append(f"{photo.name}: labels have changed")
            expected = {*new[i]} - {*labels[i]}
            if readable[i] and str(photo) not in update.left_out and not expected <= listed(row["XMP-dc:Subject"]):
                faults.append(f"{photo.name}: ExifTool reads {row}, expected {expected}")
        for photo, file, content in zip(photos * DAMAGED, files * DAMAGED, contents * DAMAGED, strict=True):
            damaged = mutated(content, rng, PIECES, header=len(content), most=1)
            file.write_bytes(damaged)
            update = sidecars.predict({photo: ["new"]}, [folder])
            refused += bool(update.left_out)
            if update.left_out and file.read_bytes() != damaged:
                faults.append(f"{damaged!r}: refused, but changed")
            if not update.left_out and rest(file.read_bytes()) != rest(damaged):
                faults.append(f"{damaged!r}: other XML has changed")
    print(*faults, sep="\n")
    print(f"{given.n} sidecars, of which ExifTool reads {sum(readable)}; {len(faults)} faults")
    print(f"{DAMAGED * given.n} damaged sidecars, of which {refused} were refused")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""Tags in photographs and XMP sidecars: what is read and written, what stays, and what readers make of predictions."""

import os
import re
import unicodedata
from functools import partial

import numpy as np
import pandas as pd
import pytest
from albums import carrying, iptc, lay, xmp
from PIL import Image

from jointsparse.pipeline.datasets import keywords, metadata, sidecars
from jointsparse.pipeline.datasets.metadata import tags_of
from jointsparse.pipeline.datasets.sidecars import confirm, predict, reject

pytestmark = pytest.mark.usefixtures("checked_here")

NAMESPACES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "lr": "http://ns.adobe.com/lightroom/1.0/",
    "xmp": "http://ns.adobe.com/xap/1.0/",
    "xmpMM": "http://ns.adobe.com/xap/1.0/mm/",
    "digiKam": "http://www.digikam.org/ns/1.0/",
    "darktable": "http://darktable.sf.net/",
}
DECLARED = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in NAMESPACES.items())


def of(inside, attributes=""):
    return f'<rdf:RDF {DECLARED}><rdf:Description rdf:about=""{attributes}>{inside}</rdf:Description></rdf:RDF>'


LIGHTROOM = f"""<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="Adobe XMP Core 7.0-c000 1.000000, 0000/00/00        ">
 <rdf:RDF xmlns:rdf="{NAMESPACES["rdf"]}">
  <rdf:Description rdf:about=""
    xmlns:xmp="{NAMESPACES["xmp"]}"
    xmlns:dc="{NAMESPACES["dc"]}"
    xmlns:lr="{NAMESPACES["lr"]}"
   xmp:Rating="3"
   xmp:Label='a "red" &gt; one'>
   <dc:subject>
    <rdf:Bag>
     <rdf:li>cat</rdf:li>
     <rdf:li>old  &amp;  grey</rdf:li>
    </rdf:Bag>
   </dc:subject>
   <lr:hierarchicalSubject>
    <rdf:Bag>
     <rdf:li>animal|cat</rdf:li>
    </rdf:Bag>
   </lr:hierarchicalSubject>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
"""
DARKTABLE = f"""<?xml version="1.0" encoding="UTF-8"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="XMP Core 4.4.0-Exiv2">
 <rdf:RDF xmlns:rdf="{NAMESPACES["rdf"]}">
  <rdf:Description rdf:about=""
    xmlns:darktable="{NAMESPACES["darktable"]}"
   darktable:xmp_version="5">
   <darktable:history>
    <rdf:Seq>
     <rdf:li
      darktable:num="0"
      darktable:params="gz02eJxjYGBgYAFiCQYYOOHEgAZY0QVwggZ7CB6pfOygYtaVAyCMi08IAAB/xiOk"/>
    </rdf:Seq>
   </darktable:history>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
"""
DIGIKAM = f"""<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="XMP Core 4.4.0-Exiv2">
 <rdf:RDF xmlns:rdf="{NAMESPACES["rdf"]}">
  <rdf:Description rdf:about="" xmlns:digiKam="{NAMESPACES["digiKam"]}" xmlns:dc="{NAMESPACES["dc"]}">
   <digiKam:TagsList><rdf:Seq><rdf:li>animal/cat</rdf:li></rdf:Seq></digiKam:TagsList>
   <dc:subject><rdf:Bag><rdf:li>cat</rdf:li></rdf:Bag></dc:subject>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
{" " * 99}
<?xpacket end="w"?>"""
OTHER_PREFIXES = f"""<R:RDF xmlns:R="{NAMESPACES["rdf"]}"><R:Description R:about="">
<s:subject xmlns:s="{NAMESPACES["dc"]}"><Bag xmlns="{NAMESPACES["rdf"]}"><li>cat</li></Bag></s:subject>
</R:Description></R:RDF>"""
TRAPS = "<!-- <dc:subject><rdf:Bag> --><?x <rdf:li> ?>" + of(
    "<dc:title><![CDATA[<dc:subject>]]></dc:title><xmpMM:Pantry><rdf:Bag><rdf:li><rdf:Description>"
    "<dc:subject><rdf:Bag><rdf:li>another</rdf:li></rdf:Bag></dc:subject></rdf:Description></rdf:li></rdf:Bag>"
    "</xmpMM:Pantry><dc:subject><rdf:Bag><!-- > --><rdf:li>cat</rdf:li></rdf:Bag></dc:subject>",
    " xmp:Label='</rdf:Bag>'".replace("<", "&lt;"),
)
SEVERAL = of('</rdf:Description><rdf:Description rdf:about=""/><rdf:Description rdf:about="" xmp:Rating="1">').replace(
    'about=""', 'about="uuid:1"'
)
FORMS = {  # sidecars, and their tags
    "Lightroom": (LIGHTROOM, ["cat", "old & grey", "animal"]),
    "darktable": (DARKTABLE, []),
    "digiKam": (DIGIKAM, ["cat", "animal"]),
    "other prefixes": (OTHER_PREFIXES, ["cat"]),
    "comments, CDATA and structures": (TRAPS, ["cat"]),
    "several descriptions": (SEVERAL, []),
    "an empty element": (of("").replace("></rdf:Description>", "/>"), []),
    "a sequence": (of("<dc:subject><rdf:Seq><rdf:li>cat</rdf:li></rdf:Seq></dc:subject>"), ["cat"]),
    "Windows": (LIGHTROOM.replace("\n", "\r\n"), ["cat", "old & grey", "animal"]),
}
CONVERTED = {  # dc:subject in other forms, which becomes an array
    "no description": (f"<rdf:RDF {DECLARED}/>", []),
    "an attribute": (of("", ' xmlns:a="b" xmp:Rating="1" dc:subject="cat" xmp:Label="x"'), ["cat"]),
    "a text": (of("<dc:subject>cat</dc:subject>"), ["cat"]),
    "a text, and other prefixes": (re.sub(r"<Bag.*Bag>", "cat", OTHER_PREFIXES), ["cat"]),
    "an empty text": (of("<dc:subject/>"), []),
    "an array of white space": (of("<dc:subject><rdf:Bag>\n</rdf:Bag></dc:subject>"), []),
}
HARD = ["dog", "été", 'a "b" & <c>', "]]>"]


@pytest.fixture
def photo(tmp_path):
    Image.new("RGB", (40, 40)).save(tmp_path / "a.jpg")
    return tmp_path / "a.jpg"


def beside(photo):
    return photo.with_name("a.jpg.xmp")


# the reason why the sidecar of a photograph was not changed, or nothing
def change(verb, photo, *tags):
    return "".join(verb({photo: tags}, [photo.parent]).left_out.values())


# the sets of tags in the sidecar of a photograph
def state(photo):
    text, _ = metadata.decoded(beside(photo).read_bytes())
    tags = sidecars._tags(metadata.parsed(text))
    return tuple({*getattr(tags, name)} for name in ("subject", "predicted", "rejected"))


def with_dog(folder):
    return sorted(file.name for file in folder.iterdir() if file.is_file() and b"dog" in file.read_bytes())


# The text without what `predict` may add: items of dc:subject, and a description with our properties.
def without_ours(text):
    for tag in HARD:
        escaped = re.escape(tag.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
        text = re.sub(rf"\s*<(?P<li>(\w+:)?li)>{escaped}</(?P=li)>", "", text, count=1)
    return re.sub(r"\s*<rdf:Description[^>]*xmlns:jointsparse=.*?</rdf:Description>", "", text, flags=re.DOTALL)


ENCODED = {encoding: DARKTABLE.replace("UTF-8", encoding[:6]) for encoding in ("utf-8-sig", "utf-16", "utf-16-be")}


@pytest.mark.parametrize(
    ("text", "tags", "encoding", "kept"),
    [
        *((*form, "utf-8", True) for form in FORMS.values()),
        *((*form, "utf-8", False) for form in CONVERTED.values()),
        *((text, [], encoding, True) for encoding, text in ENCODED.items()),
    ],
    ids=[*FORMS, *CONVERTED, *ENCODED],
)
def test_everything_but_the_added_tags_keeps_its_bytes(photo, text, tags, encoding, kept):
    beside(photo).write_bytes(text.encode(encoding))
    assert tags_of(photo) == tags and not change(predict, photo, *HARD) and tags_of(photo) == tags
    assert state(photo)[0] >= {*tags, *HARD} - {"animal"} and state(photo)[1] == {*HARD}
    after = beside(photo).read_bytes().decode(encoding)
    assert after[:1] == text[:1] and ("\r\n" not in text or "\n" not in after.replace("\r\n", ""))
    assert len({*re.findall(r"\w+:about=(\S+?)[\s/>]", after)}) == 1 and ("Rating" in text) == ("Rating" in after)
    assert not change(predict, photo) and tags_of(photo) == tags and not state(photo)[1]
    if kept:
        assert without_ours(after) == without_ours(beside(photo).read_bytes().decode(encoding)) == text


# as another program would that does not know the marks of predicted tags
def edit(photo, tags):
    bag = "".join(f"<rdf:li>{tag}</rdf:li>" for tag in tags)
    text = beside(photo).read_text()
    beside(photo).write_text(re.sub("(?s)(?<=<dc:subject>).*(?=</dc:subject>)", f"<rdf:Bag>{bag}</rdf:Bag>", text))


# what a change makes of the sets of tags in a sidecar
def twin(verb, tags, subject, predicted, rejected):
    if verb is confirm:
        return subject | tags, predicted - tags, rejected - tags
    if verb is reject:
        return subject - tags, predicted - tags, rejected | tags
    if verb is edit:
        return tags, predicted, rejected
    rejected = rejected | predicted - subject
    by_person = subject - predicted
    now = (tags - by_person - rejected) | (tags & predicted & subject)
    return by_person | now, now, rejected


@pytest.mark.parametrize("seed", range(4))
def test_any_sequence_of_changes_gives_the_sets_of_a_twin_and_repeating_a_change_writes_nothing(photo, seed):
    rng = np.random.default_rng(seed)
    for _ in range(8):
        beside(photo).unlink(missing_ok=True)
        expected = (set(), set(), set())
        for verb in (predict, edit, predict, *rng.choice([predict, confirm, reject, edit], 3)):
            tags = {tag for tag in ("dog", "sea", "sky", "été") if rng.random() < 0.5} or {"dog"}
            decomposed = [unicodedata.normalize("NFD", tag) for tag in sorted(tags)]
            assert not (edit(photo, decomposed) if verb is edit else change(verb, photo, *decomposed))
            expected = twin(verb, tags, *expected)
            assert state(photo) == expected and {*tags_of(photo)} == expected[0] - expected[1]
            assert verb is edit or verb({photo: tags}, [photo.parent]) == ([], {})


@pytest.mark.parametrize("levels", ["all", "last"])
def test_a_new_sidecar_begins_with_the_tags_of_the_photograph_and_changes_no_label(photo, levels):
    bag, levels_of = ("<{0}><rdf:Bag><rdf:li>{1}</rdf:li></rdf:Bag></{0}>".format, "lr:hierarchicalSubject")
    photo.write_bytes(carrying(of(bag("dc:subject", "sea") + bag(levels_of, "animal|cat")).encode()))
    content, tags = photo.read_bytes(), {*tags_of(photo, levels)}
    assert not change(predict, photo, "dog", "animal") and photo.read_bytes() == content
    assert state(photo) == ({"sea", "cat", "dog"}, {"dog"}, set()) and {*tags_of(photo, levels)} == tags
    beside(photo).unlink()
    assert not change(reject, photo, "cat") and state(photo)[0] == {"sea"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [([], "a.jpg.xmp"), (["a.xmp"], "a.xmp"), (["a.xmp", "a.jpg.xmp"], "a.jpg.xmp"), (["a.xmp", "a.PNG"], "a.jpg.xmp")],
)
def test_the_sidecar_that_is_there_is_used_unless_two_pictures_share_its_name(photo, files, expected):
    lay(photo.parent, dict.fromkeys(files, LIGHTROOM))
    assert not change(predict, photo, "dog") and with_dog(photo.parent) == [expected]


def test_a_sidecar_keeps_its_permissions_and_a_dry_run_writes_nothing(photo):
    beside(photo).write_text(LIGHTROOM)
    beside(photo).chmod(0o640)
    assert predict({photo: ["dog"]}, [photo.parent], dry_run=True).changes[0].added == ("dog",)
    assert beside(photo).read_text() == LIGHTROOM
    assert not change(predict, photo, "dog") and beside(photo).stat().st_mode & 0o777 == 0o640
    assert {file.name for file in photo.parent.iterdir()} == {"a.jpg", "a.jpg.xmp"}


UNUSABLE = {  # the content of a sidecar, or the function that makes it, and the reason
    "damaged": ("<x:xmpmeta", "it is not well-formed XML"),
    "no XMP": ("<html/>", "it has no element rdf:RDF"),
    "an entity": ('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "it has a document type or entities"),
    "Latin-1": (LIGHTROOM.replace("grey", "gr\xe9y"), "it is neither UTF-8 nor UTF-16"),
    "too large": (LIGHTROOM + " " * metadata.MOST_BYTES, "it is larger than 16,777,216 bytes"),
    "nearly too large": (LIGHTROOM + " " * (metadata.MOST_BYTES - len(LIGHTROOM)), "would be larger than"),
    "too many elements": (of("<a/>" * sidecars.MOST_MARKUP), "it has more than 200,000 tags and attributes"),
    "a structure": (
        of("<dc:subject><rdf:Description><rdf:li>1</rdf:li></rdf:Description></dc:subject>"),
        "are not a list of texts",
    ),
    "a resource": (of('<dc:subject rdf:resource="x"/>'), "its tags are not a list of texts"),
    "an attribute and an array": (
        of("<dc:subject><rdf:Bag/></dc:subject>", ' dc:subject="cat"'),
        "its tags are not a list of texts",
    ),
    "two arrays": (of("<dc:subject><rdf:Bag/><rdf:Bag/></dc:subject>"), "its tags are not a list of texts"),
    "a link": (
        lambda file: file.symlink_to(lay(file.parent, {"x": LIGHTROOM}) or "x"),
        "it is a link or not a regular",
    ),
    "a pipe": (os.mkfifo, "it is a link or not a regular file"),
    "read-only": (lambda file: file.write_text(LIGHTROOM) and file.chmod(0o444), "it is read-only"),
}


@pytest.mark.parametrize("fault", UNUSABLE)
def test_a_sidecar_that_cannot_be_changed_is_left_out_and_others_are_written(photo, fault):
    content, said = UNUSABLE[fault]
    content(beside(photo)) if callable(content) else beside(photo).write_text(content, encoding="latin-1")
    lay(photo.parent, {"b.jpg": photo.read_bytes(), "x.xmp": LIGHTROOM})
    update = predict({photo: ["dog"], photo.with_name("b.jpg"): ["dog"]}, [photo.parent])
    assert [*update.left_out] == [str(photo)] and said in update.left_out[str(photo)]
    assert [change.file.name for change in update.changes] == with_dog(photo.parent) == ["b.jpg.xmp"]


@pytest.mark.parametrize("tag", ["do\x00g", "do\ud800g"], ids=ascii)
def test_tags_that_xml_cannot_hold_are_not_written(photo, tag):
    assert "a tag has a character that XML does not allow" in change(predict, photo, tag)
    assert not beside(photo).exists()


def test_no_sidecar_is_written_through_a_link_out_of_the_given_folders(photo):
    inside = photo.parent / "in"
    inside.mkdir()
    (inside / "out").symlink_to(photo.parent)
    update = predict({inside / "out" / "a.jpg": ["dog"]}, [inside])
    assert [*update.left_out.values()] == ["its folder is behind a link that leads out of the given folders"]


def test_a_full_disk_ends_the_run_and_leaves_the_old_sidecar(photo, monkeypatch):
    beside(photo).write_text(LIGHTROOM)
    monkeypatch.setattr("shutil.copymode", lambda *args: (_ for _ in ()).throw(OSError(28, "No space")))
    with pytest.raises(OSError, match="No space"):
        predict({photo: ["dog"]}, [photo.parent])
    assert beside(photo).read_text() == LIGHTROOM and len([*photo.parent.iterdir()]) == 2


# What readers make of tags


BAD_XMP = {
    "an entity": xmp(["&x;"]).replace(b"<x:", b"<!DOCTYPE a [<!ENTITY x 'cat'>]><x:", 1),
    "no XML": "<x:xmpmeta",
    "another encoding": '<?xml version="1.0" encoding="nope"?><a/>',
    "too large": xmp(["cat"]) + b" " * metadata.MOST_BYTES,
}
LATIN = iptc(["été"]).replace("été".encode(), "été__".encode("latin-1")).replace(b"__", b"  ")  # as old programs write
OWL, OWLS = xmp(["animal/bird/owl"], "digiKam:TagsList", "Seq"), ["animal", "bird", "owl", "été"]


@pytest.mark.parametrize(
    ("segment", "sidecar", "levels", "expected"),
    [
        *((iptc(["dog"]), sidecar, "all", ["dog"]) for sidecar in BAD_XMP.values()),
        (iptc(["dog"]), xmp(["cat"]), "all", ["cat", "dog"]),
        (iptc(["été"]), OWL, "all", OWLS),
        (LATIN, OWL, "last", OWLS[2:]),
    ],
    ids=[*BAD_XMP, "good", "all levels", "the last level, and Latin-1"],
)
def test_a_photograph_has_its_own_tags_and_those_of_its_sidecar(tmp_path, segment, sidecar, levels, expected):
    lay(tmp_path, {"a.jpg": carrying(segment=segment), "a.xmp": sidecar})
    assert tags_of(tmp_path / "a.jpg", levels) == expected


def test_a_device_or_pipe_instead_of_a_picture_or_sidecar_is_not_opened(tmp_path):
    for name in ("a.jpg", "a.xmp"):
        os.mkfifo(tmp_path / name)
    assert tags_of(tmp_path / "a.jpg") == []


def test_sidecars_move_no_photograph_of_a_group_to_another_split(tmp_path):
    tags = {f"{i % 20}/{i:02}.jpg": [("cat", "dog", "owl")[i % 7 % 3]] for i in range(60)}
    lay(tmp_path, {name: carrying(xmp(own), seed=i) for i, (name, own) in enumerate(tags.items())})
    read = partial(keywords.read, tmp_path, images=".", smallest_side=None, group_by="folder")
    before = read().images
    confirm({tmp_path / name: ["sea"] for name in [*tags][::3]}, [tmp_path])
    reject({tmp_path / name: own for name, own in [*tags.items()][9::3]}, [tmp_path])
    pd.testing.assert_frame_equal(read().images, before)

"""Tags in XMP sidecars: what is written, what stays, and what readers make of predicted tags."""

import os
import re
from types import SimpleNamespace

import pandas as pd
import pytest
from albums import make_tagged
from PIL import Image

from jointsparse.pipeline.datasets import keywords, metadata, sidecars
from jointsparse.pipeline.datasets.metadata import tags_of
from jointsparse.pipeline.datasets.picture_check import TASKS
from jointsparse.pipeline.datasets.sidecars import confirm, predict, reject

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
CONVERTED = {  # dc:subject in other forms
    "no description": (f"<rdf:RDF {DECLARED}/>", []),
    "an attribute": (of("", ' xmlns:a="b" xmp:Rating="1" dc:subject="cat" xmp:Label="x"'), ["cat"]),
    "a text": (of("<dc:subject>cat</dc:subject>"), ["cat"]),
    "a text, and other prefixes": (re.sub(r"<Bag.*Bag>", "cat", OTHER_PREFIXES), ["cat"]),
    "an empty text": (of("<dc:subject/>"), []),
    "an empty array": (of("<dc:subject><rdf:Bag/></dc:subject>"), []),
    "an array of white space": (of("<dc:subject><rdf:Bag>\n</rdf:Bag></dc:subject>"), []),
}
HARD = ["dog", "été", 'a "b" & <c>', "]]>"]


@pytest.fixture
def photo(tmp_path):
    """The path of a photograph without tags."""
    Image.new("RGB", (40, 40)).save(tmp_path / "a.jpg")
    return tmp_path / "a.jpg"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Read photographs in this process, because to start another one takes longer than a test."""
    told = lambda folder, names, task: ({}, {name: TASKS[task](folder / name).value for name in names})  # noqa: E731
    monkeypatch.setattr(sidecars, "ask", told)


def beside(photo):
    return photo.with_name("a.jpg.xmp")


def change(verb, photo, *tags):
    """Change the sidecar of a photograph, and return the reason if that fails."""
    return "".join(verb({photo: tags}, [photo.parent]).left_out.values())


def state(photo):
    text, _ = metadata.decoded(beside(photo).read_bytes())
    return SimpleNamespace(**{k: set(v) for k, v in sidecars._tags(metadata.parsed(text))._asdict().items()})


def without_ours(text):
    """Undo what `predict` may add: items of dc:subject, and a description with our properties."""
    for tag in HARD:
        escaped = re.escape(tag.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
        text = re.sub(rf"\s*<(?P<li>(\w+:)?li)>{escaped}</(?P=li)>", "", text, count=1)
    return re.sub(r"\s*<rdf:Description[^>]*xmlns:jointsparse=.*?</rdf:Description>", "", text, flags=re.DOTALL)


def assert_only_tags_change(photo, text, tags, encoding="utf-8"):
    beside(photo).write_bytes(text.encode(encoding))
    assert tags_of(photo) == tags
    assert not change(predict, photo, *HARD)
    got = state(photo)
    assert got.predicted == {*HARD} and got.subject >= {*HARD} and tags_of(photo) == tags
    written = beside(photo).read_bytes().decode(encoding)
    assert without_ours(written) == text and ("\r\n" not in text or "\n" not in written.replace("\r\n", ""))
    assert len({*re.findall(r"\w+:about=(\S+?)[\s/>]", written)}) == 1
    assert not change(predict, photo)
    assert tags_of(photo) == tags and not state(photo).predicted
    assert without_ours(beside(photo).read_bytes().decode(encoding)) == text


@pytest.mark.parametrize("form", FORMS)
def test_everything_but_the_added_tags_keeps_its_bytes(photo, form):
    assert_only_tags_change(photo, *FORMS[form])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_sidecar_keeps_its_encoding_and_byte_order_mark(photo, encoding):
    text = DARKTABLE.replace("UTF-8", encoding[: len("utf-8")].upper())
    assert_only_tags_change(photo, text, [], encoding)
    assert beside(photo).read_bytes()[:2] == text.encode(encoding)[:2]


@pytest.mark.parametrize("form", CONVERTED)
def test_tags_in_other_forms_become_an_array(photo, form):
    text, tags = CONVERTED[form]
    beside(photo).write_text(text)
    assert tags_of(photo) == tags and not change(predict, photo, *HARD) and tags_of(photo) == tags
    assert state(photo).subject == {*tags, *HARD}
    after = beside(photo).read_text()
    assert (
        len(re.findall(r"</\w+:subject>", after)) == 1
        and ("Rating" in text) == ("Rating" in after)
        and "subject=" not in after
    )


def test_predicting_again_replaces_predictions_and_nothing_else(photo):
    beside(photo).write_text(LIGHTROOM)
    assert not change(predict, photo, "cat", "dog", "sea")
    written = beside(photo).read_bytes()
    assert state(photo).predicted == {"dog", "sea"}  # a person has set "cat"
    assert predict({photo: ["sea", "dog"]}, [photo.parent]) == ([], {}) and beside(photo).read_bytes() == written
    assert not change(predict, photo, "sea", "sky", "e\u0301te\u0301")
    assert state(photo).predicted == {"sea", "sky", "été"}
    assert state(photo).subject == {"cat", "old & grey", *state(photo).predicted}
    beside(photo).write_text(beside(photo).read_text("utf-8").replace("été", "e\u0301te\u0301"), "utf-8")
    assert tags_of(photo) == ["cat", "old & grey", "animal"]
    assert not change(predict, photo)
    assert state(photo).subject == {"cat", "old & grey"} and not state(photo).predicted


def test_a_predicted_tag_that_a_person_deletes_is_not_predicted_again(photo):
    assert not change(predict, photo, "dog", "sea")
    beside(photo).write_text(re.sub("<rdf:li>dog</rdf:li>", "", beside(photo).read_text(), count=1))
    for predicted in ({"dog", "sea"}, {"sea"}, {"dog", "sea"}):
        assert not change(predict, photo, *predicted)
        assert state(photo) == SimpleNamespace(subject={"sea"}, predicted={"sea"}, rejected={"dog"})
    beside(photo).write_text(beside(photo).read_text().replace("<rdf:li>", "<rdf:li>dog</rdf:li><rdf:li>", 1))
    assert not change(predict, photo, "sea") and tags_of(photo) == ["dog"]  # a person has set it again


def test_confirmed_tags_are_tags_and_rejected_ones_are_not_predicted_again(photo):
    assert not change(predict, photo, "dog", "sea", "sky") and tags_of(photo) == []
    assert not change(confirm, photo, "dog", "owl")
    assert state(photo) == SimpleNamespace(
        subject={"dog", "sea", "sky", "owl"}, predicted={"sea", "sky"}, rejected=set()
    )
    assert not change(reject, photo, "sea", "owl") and tags_of(photo) == ["dog"]
    assert not change(predict, photo, "dog", "sea", "sky", "owl")
    assert state(photo) == SimpleNamespace(subject={"dog", "sky"}, predicted={"sky"}, rejected={"sea", "owl"})
    assert not change(confirm, photo, "sea") and {*tags_of(photo)} == {"dog", "sea"}
    assert state(photo).rejected == {"owl"}


@pytest.mark.parametrize("levels", ["all", "last"])
def test_a_new_sidecar_begins_with_the_tags_of_the_photograph_and_changes_no_label(photo, levels):
    packet = of(
        "<dc:subject><rdf:Bag><rdf:li>sea</rdf:li></rdf:Bag></dc:subject>"
        "<lr:hierarchicalSubject><rdf:Bag><rdf:li>animal|cat</rdf:li></rdf:Bag></lr:hierarchicalSubject>"
    )
    Image.new("RGB", (40, 40)).save(photo, xmp=packet.encode())
    content, tags = photo.read_bytes(), tags_of(photo, levels)
    assert not change(predict, photo, "dog", "animal")
    assert state(photo) == SimpleNamespace(subject={"sea", "cat", "dog"}, predicted={"dog"}, rejected=set())
    assert photo.read_bytes() == content and {*tags_of(photo, levels)} == {*tags}
    beside(photo).unlink()
    assert not change(reject, photo, "cat") and state(photo).subject == {"sea"}


def test_the_sidecar_that_is_there_is_used_unless_two_pictures_share_its_name(photo):
    of_stem = photo.with_suffix(".xmp")
    of_stem.write_text(LIGHTROOM)
    assert not change(predict, photo, "dog") and b"dog" in of_stem.read_bytes() and not beside(photo).exists()
    beside(photo).write_text(DARKTABLE)
    assert not change(predict, photo, "dog") and b"dog" in beside(photo).read_bytes()
    assert b"dog" not in of_stem.read_bytes()
    beside(photo).unlink()
    of_stem.write_text(LIGHTROOM)
    photo.with_suffix(".PNG").touch()
    assert not change(predict, photo, "dog") and b"dog" in beside(photo).read_bytes()
    assert of_stem.read_text() == LIGHTROOM


def test_a_sidecar_keeps_its_permissions(photo):
    beside(photo).write_text(LIGHTROOM)
    beside(photo).chmod(0o640)
    assert not change(predict, photo, "dog") and beside(photo).stat().st_mode & 0o777 == 0o640
    assert {file.name for file in photo.parent.iterdir()} == {"a.jpg", "a.jpg.xmp"}


UNUSABLE = {
    "damaged": ("<x:xmpmeta", "it is not well-formed XML"),
    "empty": ("", "it is not well-formed XML"),
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
}


@pytest.mark.parametrize("fault", UNUSABLE)
def test_a_sidecar_that_cannot_be_changed_is_left_out_and_others_are_written(photo, fault):
    text, said = UNUSABLE[fault]
    beside(photo).write_text(text, encoding="latin-1")
    other = photo.with_name("b.jpg")
    other.write_bytes(photo.read_bytes())
    update = predict({photo: ["dog"], other: ["dog"]}, [photo.parent])
    assert [*update.left_out] == [str(photo)] and said in update.left_out[str(photo)]
    assert [change.file.name for change in update.changes] == ["b.jpg.xmp"]
    assert beside(photo).read_text(encoding="latin-1") == text


def test_tags_that_xml_cannot_hold_are_not_written(photo):
    assert "a tag has a character that XML does not allow" in change(predict, photo, "do\x00g")
    assert "a tag has a character that XML does not allow" in change(predict, photo, "do\ud800g")
    assert not beside(photo).exists()


def test_links_pipes_and_read_only_files_are_not_written(photo, tmp_path_factory):
    target = tmp_path_factory.mktemp("outside") / "x.xmp"
    target.write_text(LIGHTROOM)
    for make in (lambda file: file.symlink_to(target), lambda file: file.symlink_to("nowhere"), os.mkfifo):
        make(beside(photo))
        assert "it is a link or not a regular file" in change(predict, photo, "dog")
        beside(photo).unlink()
    beside(photo).write_text(LIGHTROOM)
    beside(photo).chmod(0o444)
    assert "it is read-only" in change(predict, photo, "dog")
    assert target.read_text() == beside(photo).read_text() == LIGHTROOM
    (photo.parent / "in").mkdir()
    (photo.parent / "in" / "out").symlink_to(photo.parent)
    linked = photo.parent / "in" / "out" / "a.jpg"
    update = predict({linked: ["dog"]}, [photo.parent / "in"])
    assert update.left_out == {str(linked): "its folder is behind a link that leads out of the given folders"}


def test_a_dry_run_writes_nothing(photo):
    update = predict({photo: ["dog"]}, [photo.parent], dry_run=True)
    assert update.changes[0].added == ("dog",) and not beside(photo).exists()


def test_a_full_disk_ends_the_run_and_leaves_the_old_sidecar(photo, monkeypatch):
    beside(photo).write_text(LIGHTROOM)
    monkeypatch.setattr(sidecars.shutil, "copymode", lambda *args: (_ for _ in ()).throw(OSError(28, "No space")))
    with pytest.raises(OSError, match="No space"):
        predict({photo: ["dog"]}, [photo.parent])
    assert beside(photo).read_text() == LIGHTROOM and len([*photo.parent.iterdir()]) == 2


def test_a_model_never_learns_from_predicted_tags(tmp_path):
    for i in range(8):
        Image.new("RGB", (40, 40), (i, 0, 0)).save(tmp_path / f"{i}.jpg")
    read = lambda: keywords.read(tmp_path, images=".", smallest_side=40)  # noqa: E731
    paths = [tmp_path / f"{i}.jpg" for i in range(8)]
    confirm({path: [("cat", "dog")[i % 2]] for i, path in enumerate(paths[:6])}, [tmp_path])
    before = read()
    predict({path: ["cat", "owl"] for path in paths}, [tmp_path])
    after = read()
    assert before.captions.equals(after.captions) and before.images.equals(after.images)
    confirm({paths[7]: ["owl"]}, [tmp_path])
    assert read().captions["caption"].value_counts().to_dict() == {"cat": 3, "dog": 3, "owl": 1}


@pytest.mark.parametrize("inside", [True, False], ids=["tags inside", "tags in sidecars"])
def test_sidecars_move_no_photograph_of_a_group_to_another_split(tmp_path, checked_here, inside):
    tags = {f"{i:02}.jpg": [("cat", "dog", "owl")[i % 7 % 3]] for i in range(60)}
    make_tagged(tmp_path / "a", tags if inside else dict.fromkeys(tags, ()))
    for i, name in enumerate(tags):
        (tmp_path / "a" / f"{i % 20}").mkdir(exist_ok=True)
        (tmp_path / "a" / name).rename(tmp_path / "a" / f"{i % 20}" / name)
    paths = sorted((tmp_path / "a").rglob("*.jpg"))
    confirm({path: tags[path.name] for path in paths[1:]}, [tmp_path])
    read = lambda: keywords.read(tmp_path, images="a", smallest_side=None, group_by="folder").images  # noqa: E731
    before = read()
    confirm({path: ["sea"] for path in paths[::3]}, [tmp_path])  # the first one had no sidecar
    reject({path: tags[path.name] for path in paths[9::3]}, [tmp_path])
    after = read()
    assert len(before) == 60 - (not inside) and len(after) == 60
    pd.testing.assert_frame_equal(after[after["image"].isin(before["image"])].reset_index(drop=True), before)

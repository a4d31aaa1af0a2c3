"""Hostile pictures, names, links and tables are read correctly or listed with the reason, and nothing hangs or runs."""

import errno
import json
import os
import re
import shutil
import sys
import unicodedata
from itertools import product
from pathlib import Path

import pandas as pd
import psutil
import pytest
from albums import failing, lay, make_tagged, read_album
from common import run_python
from PIL import Image
from test_pictures import PICTURES, READABLE

from jointsparse.pipeline.datasets import checker, folder, keywords, picture_check
from jointsparse.pipeline.provenance import records
from jointsparse.pipeline.provenance.tables import read_table, write_table

NO_PICTURE = "does not open as a picture: "


def check(path):
    return picture_check.check_picture(path, 32, 320)


def check_all(album, **options):
    return folder.check_pictures(album / "images", sorted(os.listdir(album / "images")), 32, 320, **options)[:2]


def left_out(album):
    return dict(read_album(album).left_out.to_numpy().tolist())


# Files that are not read as pictures


def linked(target):
    return lambda path: path.symlink_to(target)


MADE = {  # by a function
    "pipe.jpg": (os.mkfifo, "^not a regular file$"),
    "device.jpg": (linked("/dev/zero"), "^not a regular file$"),
    "link-to-itself.jpg": (linked("link-to-itself.jpg"), f"^{NO_PICTURE}Too many levels of symbolic links$"),
    "link-to-nothing.jpg": (linked("nowhere"), f"^{NO_PICTURE}No such file or directory$"),
    "empty.jpg": (Path.touch, "^a picture file must hold 1 to 1,073,741,824 bytes, got 0$"),
    "folder.jpg": (Path.mkdir, "^a folder, not a picture file$"),
    "large.jpg": (  # takes no room on disk
        lambda path: (path.touch(), os.truncate(path, 2**30 + 1)),
        "^a picture file must hold 1 to 1,073,741,824 bytes, got 1,073,741,825$",
    ),
}
TOO_MANY = f"^{NO_PICTURE}.* pixels"
CONVERT = ": save it as a JPEG, or as a PNG with 8 bits per channel$"
LISTED = {
    "text.jpg": f"^{NO_PICTURE}none of",
    "beginning.jpg": NO_PICTURE,
    "eps.jpg": f"^{NO_PICTURE}none of BMP, GIF, JPEG, PNG, PPM, TIFF, WEBP(, AVIF)?(, HEIF)?$",
    **{f"too-many-pixels.{suffix}": TOO_MANY for suffix in ("bmp", "gif", "jpg", "png", "ppm", "tif")},
    "a-few-too-many-pixels.png": TOO_MANY,
    "wrong-checksum.png": "broken PNG file",
    "arithmetic-beyond-64-KiB.jpg": f"^{NO_PICTURE}broken data stream",
    "uint16.tif": f"I;16 levels{CONVERT}",
    "int32.tif": f"I levels{CONVERT}",
    "int16.tif": f"(I;16S|I) levels{CONVERT}",
    "float32.tif": f"F levels{CONVERT}",
    "of-10-bits.heic": f"I;16 levels{CONVERT}",
    **{f"without-its-last-{cut}-bytes.png": NO_PICTURE for cut in (8, 12, 20)},
    **{f"half.{suffix}": NO_PICTURE for suffix in ("avif", "bmp", "gif", "heic", "jpg", "png", "ppm", "tif", "webp")},
}


@pytest.mark.usefixtures("checked_here")
def test_a_file_that_cannot_be_read_is_listed_with_the_reason(album):
    expected = {path.name: LISTED[path.name] for path in READABLE if path.parent.name == "listed"}
    expected |= {name: reason for name, (_, reason) in MADE.items()}
    shutil.copytree(PICTURES / "listed", album / "images", dirs_exist_ok=True)
    for name, (make, _) in MADE.items():
        make(album / "images" / name)
    reasons = left_out(album)
    assert {name: reasons.get(name) for name in expected if not re.search(expected[name], reasons.get(name, ""))} == {}
    assert reasons.keys() == {*MADE, *LISTED}


# tests/test_pictures.py tests the pixels that are read.
def test_pictures_of_unusual_kinds_are_accepted():
    reasons = {str(path): check(path).reason for path in READABLE if path.parent.name != "listed"}
    assert reasons and {*reasons.values()} == {""}


@pytest.mark.usefixtures("checked_here")
@pytest.mark.parametrize(
    ("owner", "function", "name", "expected"),
    [
        (Path, "open", "003.jpg", "does not open as a picture: Permission denied"),
        (os, "listdir", "closed", "cannot be read: Permission denied"),
    ],
)
def test_a_file_or_folder_without_permission_to_read_is_listed(album, monkeypatch, owner, function, name, expected):
    (album / "images" / "closed").mkdir()
    failing(monkeypatch, owner, function, name, errno.EACCES)
    assert left_out(album) == {name: expected}


# Processes that open pictures, and failures of the machine

PROGRAM = """
import json, os, signal, sys
from jointsparse.pipeline.datasets import picture_check

task, read = sys.argv[1], picture_check.TASKS[sys.argv[1]]

def end(path, *arguments):
    if path.name.endswith("1.jpg"):
        {}
    return read(path, *arguments)

picture_check.TASKS[task] = end
picture_check.main(task, json.loads(sys.argv[2]), float(sys.argv[3]))
"""
CRASH = "os.kill(os.getpid(), signal.SIGSEGV)"


# The process that opens pictures ends at 001.jpg and at the last one, 011.jpg.
def let_end(monkeypatch, folder, how):
    lay(folder, {"program.py": PROGRAM.format(how)})
    monkeypatch.setattr(picture_check, "__file__", str(folder / "program.py"))
    monkeypatch.setattr(checker, "MOST_SECONDS", 0.3)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (CRASH, "the decoder crashed (SIGSEGV)"),
        ("os.abort()", "the decoder crashed (SIGABRT)"),
        ("while True: pass", "decoding takes more than 0.3 s of CPU time"),
    ],
)
def test_pictures_that_end_the_process_are_listed_and_all_others_are_read(album, monkeypatch, how, reason):
    let_end(monkeypatch, album, how)
    assert check_all(album)[0] == dict.fromkeys(["001.jpg", "011.jpg"], f"{NO_PICTURE}{reason}")


@pytest.mark.parametrize(
    ("how", "failure"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "the process that decodes it ended with SIGKILL"),
        ("os._exit(1)", "the process that decodes it ended with status 1"),
        ("raise picture_check.MachineError(path, 'no disk')", "no disk"),
    ],
)
def test_a_failure_of_the_machine_ends_the_reading(album, monkeypatch, how, failure):
    let_end(monkeypatch, album, how)
    with pytest.raises(
        picture_check.MachineError, match=rf"001\.jpg could not be read: {failure}\. The file itself may"
    ):
        check_all(album)


def test_a_picture_whose_metadata_crash_the_decoder_is_left_out(tmp_path, monkeypatch):
    make_tagged(tmp_path / "mine", {f"{i}.jpg": ["cat"] for i in range(3)})
    let_end(monkeypatch, tmp_path, CRASH)
    read = keywords.read(tmp_path / "mine", images=".", smallest_side=None, fractions={"train": 1.0}, group_by="burst")
    assert read.captions.to_numpy().tolist() == [["0.jpg", "cat"], ["2.jpg", "cat"]]
    assert read.left_out.to_numpy().tolist() == [["1.jpg", f"{NO_PICTURE}the decoder crashed (SIGSEGV)"]]


def test_two_processes_give_the_same_results_as_one(album, monkeypatch):
    (album / "images" / "004.jpg").write_bytes(b"text")
    expected, done = check_all(album), []
    monkeypatch.setattr(checker, "PICTURES_PER_PROCESS", 1)
    assert check_all(album, progress=lambda *progress: done.append(progress)) == expected
    assert done == [(i + 1, 12) for i in range(12)] and [*expected[0]] == ["004.jpg"]


def test_no_process_stays_behind_when_the_reading_is_interrupted(album, monkeypatch):
    monkeypatch.setattr(checker, "PICTURES_PER_PROCESS", 1)
    before, begun = psutil.Process().children(), []  # other tests may have left processes of joblib

    def interrupt(done, total):
        begun[:] = [child for child in psutil.Process().children() if child not in before]
        if len(begun) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_all(album, progress=interrupt)
    assert not any(process.is_running() for process in begun)


@pytest.mark.parametrize(
    ("owner", "function", "name", "code", "read"),
    [
        (Path, "stat", "003.jpg", errno.EIO, check),
        (Path, "open", "003.jpg", errno.EMFILE, check),
        (Path, "open", "003.jpg", errno.ENOMEM, check),
        (os, "listdir", "deep", errno.ESTALE, lambda path: folder.list_pictures(path.parent)),
    ],
)
def test_an_error_of_the_machine_is_raised_instead_of_leaving_out_the_picture_or_folder(
    album, monkeypatch, owner, function, name, code, read
):
    (album / "images" / "deep").mkdir()
    failing(monkeypatch, owner, function, name, code)
    with pytest.raises(picture_check.MachineError, match=rf"{name} could not be read: {os.strerror(code)}\."):
        read(album / "images" / name)


# Decoders in C report "broken data stream" for damage and for lack of memory.
def test_damage_is_due_to_the_picture_if_there_was_enough_memory_to_decode_it(album, monkeypatch):
    path = album / "images" / "003.jpg"
    path.write_bytes(path.read_bytes()[:1500])
    assert check_all(album)[0]["003.jpg"].startswith(f"{NO_PICTURE}image file is trunc")
    assert check(path).n_bytes == 48 * 64 * picture_check.BYTES_PER_PIXEL and not checker._has_room(2**60)
    monkeypatch.setattr(checker, "_has_room", lambda n_bytes: False)
    with pytest.raises(picture_check.MachineError, match=r"003\.jpg could .* may take 1 MiB, more memory than is free"):
        check_all(album)


LIMITED = """
import resource, sys
from jointsparse.pipeline.datasets import picture_check
ours, machines = map(int, sys.argv[1:])
picture_check.MOST_MEMORY = ours
resource.setrlimit(resource.RLIMIT_AS, (machines, machines))
picture_check.main("check", [32, 320], 20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
@pytest.mark.parametrize(("ours", "machines"), [(300, 10_000), (3072, 300)])
def test_lack_of_memory_is_due_to_the_picture_if_the_limit_on_memory_was_reached(tmp_path, ours, machines):
    Image.new("L", (5000, 5000)).save(tmp_path / "large.png")  # takes 400 MiB
    limits, paths = (str(ours * 2**20), str(machines * 2**20)), json.dumps(str(tmp_path / "large.png")) + "\n"
    outcome = run_python("-c", LIMITED, *limits, input=paths, variables={"OPENBLAS_NUM_THREADS": "1"})
    reason = f"{NO_PICTURE}decoding takes more than {ours:,} MiB of memory"
    assert json.loads(outcome) == [reason, None, ours * 2**20, "", ""]


# Names, links and tables


def test_the_suffix_does_not_decide_the_format_and_a_name_that_is_not_utf8_is_listed(tmp_path):
    names = [f"a{suffix.upper()}" for suffix in folder.SUFFIXES]
    names += [unicodedata.normalize(form, "é.jpg") for form in ("NFC", "NFD")]
    for name in (*names, os.fsdecode(b"caf\xe9.jpg")):
        Image.new("L", (40, 40)).save(tmp_path / name, "PNG")
    assert folder.list_pictures(tmp_path) == (sorted(names), {r"caf\xe9.jpg": "the name is not UTF-8 text"})
    assert {check(tmp_path / name).reason for name in names} == {""}


@pytest.mark.usefixtures("checked_here")
def test_names_in_captions_open_no_file_outside_the_folder(album, monkeypatch):
    Image.new("L", (40, 40)).save(album / "secret.jpg")
    names = ["../secret.jpg", "./000.jpg", "images/000.jpg", "000.jpg/", str(album / "secret.jpg")]
    lay(album, {"captions.csv": "image,caption\n000.jpg,A dog.\n" + "".join(f"{name},A cat.\n" for name in names)})
    opened, look = set(), Path.open
    monkeypatch.setattr(Path, "open", lambda path, *how, **options: opened.add(path) or look(path, *how, **options))
    reasons = {name: reason for name, reason in left_out(album).items() if reason != "no caption"}
    assert reasons == dict.fromkeys(names, "captions.csv names an image that is not there")
    assert {path.parent for path in opened} == {album, album / "images"}


READ, ABOVE = "a link to a folder that is read already", "a link to a folder above a folder of data or of results"
LINKS = {  # from a folder of pictures beside the folder of a run
    "a": ("deep", READ),
    "b": ("../outside", ""),
    "b/deep/up": ("../..", ABOVE),
    "b/self": (".", READ),
    "c": ("../outside", READ),
    "d": ("..", ABOVE),
    "e": ("../far/away", ""),
    "f": ("../far", ABOVE),
    "deep/up": ("..", READ),
    "figures": ("../run/results/figures", "a link to results of a run"),
    "hidden": ("../run/.snakemake", "a link to results of a run"),
    "root": ("/", ABOVE),
    "run": ("../run", ABOVE),
}


def test_a_folder_is_read_once_whatever_links_lead_to_it_and_checksums_cover_what_is_read(tmp_path, monkeypatch):
    files = (
        "images/deep/real/in.png",
        "images/Thumbs.db",
        "images/notes.txt",
        "outside/out.png",
        "outside/deep/x.png",
        "far/away/y.png",
    )
    lay(tmp_path, dict.fromkeys([*files, "run/results/figures/a.png", "run/.snakemake/b.png"], ""))
    for link, (target, _) in LINKS.items():
        (tmp_path / "images" / link).symlink_to(target)
    monkeypatch.chdir(tmp_path / "run")
    names, other = folder.list_pictures(Path("../images"))
    assert names == ["b/deep/x.png", "b/out.png", "deep/real/in.png", "e/y.png"]
    assert other == {link: reason for link, (_, reason) in LINKS.items() if reason} | {"notes.txt": other["notes.txt"]}
    covered = [os.path.relpath(name, "../images") for name in records.files_below("../images")]
    assert sorted(covered) == sorted([*names, *other])


# Some programs end cells at any of these characters and ignore quotes.
def test_no_part_of_a_cell_is_a_formula_in_programs_with_other_separators(tmp_path):
    texts = ["".join(some) for n in range(1, 5) for some in product("a'=-,;\t\r\n \"", repeat=n)]
    texts += [f"{sign}{text}" for sign in "+@＝" for text in texts[:50]]
    table = pd.DataFrame({"number": -0.5, "word": texts, "file": texts[::-1]})
    write_table(table, tmp_path / "table.csv")
    cells = pd.read_csv(tmp_path / "table.csv", dtype=str, lineterminator="\n")
    assert not cells["word"].str.match(r"[=+\-@＝]|[\t\r\n][ \"]*([^ \"']|$)").any()
    written = re.sub(r"^-0\.5(?=,)", "", (tmp_path / "table.csv").read_bytes().decode(), flags=re.MULTILINE)
    assert not re.search(r'(^|[,;\t\r\n])[ "]*[=\-+@＝]', written)
    pd.testing.assert_frame_equal(read_table(tmp_path / "table.csv"), table)

"""Records: when files are read again, and which record a job writes beside each of its outputs."""

import json
import os
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from jointsparse.pipeline.datasets.folder import list_pictures
from jointsparse.pipeline.provenance import records
from jointsparse.pipeline.provenance.tables import Damaged

CACHE = "results/raw_files.json"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder of raw files, in which the test runs: captions and two pictures, of which one is behind a link."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "2.jpg").write_bytes(b"two")
    (tmp_path / "run" / "data" / "images").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "run")
    Path("data/images/1.jpg").write_bytes(b"one")
    Path("data/images/more").symlink_to("../../../elsewhere")
    Path("data/captions.csv").write_text("image,caption\n", encoding="utf-8")


def raw(largest=records.LARGEST_RAW):
    return records.checksums(["data/images", "data/captions.csv", "data/splits.csv"], CACHE, largest)


def read_again(monkeypatch):
    """Return the names of the files that are read again to find out whether they have changed."""
    read = []
    with monkeypatch.context() as patch:
        patch.setattr(records, "_sha256", lambda name, largest: read.append(name) or "0" * 64)
        raw()
    return read


def replaced_by_an_older_file(path):
    """Replace a file by another of the same size and time, as `cp -p` does."""
    status = path.stat()
    path.write_bytes(path.read_bytes().swapcase())
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def link_to(target):
    Path("data/images/more").unlink()
    Path("data/images/more").symlink_to(f"../../../{target}")


CHANGES = {
    "edited": (lambda: Path("data/captions.csv").write_bytes(b"image,caption\n1.jpg,dog\n"), "data/captions.csv"),
    "older": (lambda: replaced_by_an_older_file(Path("data/captions.csv")), "data/captions.csv"),
    "added": (lambda: Path("data/images/3.jpg").write_bytes(b"three"), "data/images/3.jpg"),
    "new splits": (lambda: Path("data/splits.csv").write_text("image,split\n", encoding="utf-8"), "data/splits.csv"),
    "renamed": (lambda: Path("data/images/1.jpg").rename("data/images/3.jpg"), "data/images/3.jpg"),
    "gone": (lambda: Path("data/images/1.jpg").unlink(), None),
    "linked elsewhere": (lambda: link_to("data"), None),
    "pipe": (lambda: os.mkfifo("data/images/pipe.jpg"), None),  # a pipe is not opened
    "broken link": (lambda: Path("data/images/broken.jpg").symlink_to("nowhere"), None),
    "circle": (lambda: Path("data/images/circle").symlink_to("."), None),
}


@pytest.mark.parametrize(("change", "name"), CHANGES.values(), ids=CHANGES)
def test_a_change_of_content_or_name_changes_the_checksum_and_only_changed_files_are_read(change, name, monkeypatch):
    before = raw()
    assert before["data/captions.csv"] == records.hashlib.sha256(b"image,caption\n").hexdigest()
    assert before.keys() == {"data/images", "data/captions.csv"}
    change()
    assert read_again(monkeypatch) == ([name] if name else [])
    Path(CACHE).unlink()
    assert raw() != before


def hide(name):
    Path("data/images", name).parent.mkdir(exist_ok=True)
    Path("data/images", name).write_bytes(b"three")


def copy_and_touch():
    shutil.copytree("../elsewhere", "../copy")
    link_to("copy")
    os.utime("data/captions.csv", (0, 0))


@pytest.mark.parametrize(
    "change",
    [copy_and_touch, *(partial(hide, name) for name in (".DS_Store", ".3.jpg", ".ipynb_checkpoints/captions.csv"))],
)
def test_copied_touched_and_hidden_files_change_no_checksum(change):
    before = raw()
    change()
    assert raw() == before


@pytest.mark.parametrize("target", ["..", "../..", "../../results", "../../results/figures", "/", "../../.snakemake"])
def test_the_disk_and_the_results_of_the_run_are_not_read_through_a_link(target):
    Path("results/figures").mkdir(parents=True)
    Path(".snakemake").mkdir()
    Path("data/images/link").symlink_to(target)
    before = raw()
    for name in ("results/figures/a.png", "results/raw.parquet", ".snakemake/log.txt"):
        Path(name).write_text("one", encoding="utf-8")
    assert raw() == before
    names, left_out = list_pictures(Path("data/images"))
    assert names == ["1.jpg", "more/2.jpg"] and left_out["link"].startswith("a link to ")


def test_checksums_cover_the_same_files_as_the_reader_takes():
    for name in ("cat/1.jpg", "cat/Thumbs.db", "__MACOSX/1.jpg", "cat/notes.txt"):
        Path("data/images", name).parent.mkdir(exist_ok=True)
        Path("data/images", name).write_text(name, encoding="utf-8")
    links = {"cat/up": "..", "a": "../cat", "z": "cat", "cat/more": "../more", "outside": "../../../elsewhere/.."}
    for name, target in links.items():
        Path("data/images", name).symlink_to(target)
    names, left_out = list_pictures(Path("data/images"))
    files = [os.path.relpath(name, "data/images") for name in records.files_below("data/images")]
    assert sorted(files) == sorted([*names, *left_out])


def test_the_checksum_of_a_huge_file_covers_only_its_size_and_time():
    seen = [raw()]
    for time in (1, 2):
        with open("data/images/sparse.jpg", "wb") as file:
            file.truncate(2**43)  # 8 TiB that take no room on the disk
        os.utime("data/images/sparse.jpg", ns=(time, time))
        seen.append(raw())
    assert len({checksums["data/images"] for checksums in seen}) == 3


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"data/captions.csv": 3}'])
def test_a_damaged_cache_is_rewritten(text):
    before, kept = raw(), Path(CACHE).read_bytes()
    Path(CACHE).write_text(text, encoding="utf-8")
    assert raw() == before
    assert Path(CACHE).read_bytes() == kept


def made(name, inputs=(), **values):
    """Make a file and the record of its job."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    known = records.read_inputs(inputs)
    Path(name).write_text(f"{name} of {known['files']}", encoding="utf-8")
    values = {"job": f"make {name}", "code": ["a.py 1"], "values": {"rank": 3}, "raw": {}} | values
    records.write([name], known, **values)
    return name


def test_a_record_holds_inputs_values_code_and_versions_of_a_file():
    read = made("results/a/images.parquet", raw={"mine": "12"})
    made("results/a/W.npz", [read])
    record = json.loads(Path("results/a/records/W.npz.json").read_text(encoding="utf-8"))
    assert record["files"] == records.checksums([read])
    assert (record["job"], record["values"]) == ("make results/a/W.npz", {"rank": 3})
    assert record["code"] == records.digest(["a.py 1"])
    assert record["raw"] == {"mine": ["12"]}  # from the job before
    assert record["made_with"]["numpy"] == [records.metadata.version("numpy")]
    assert any("openblas" in name for name in record["made_with"]["numpy's BLAS"])


def test_a_digest_changes_with_a_value_and_not_with_the_order_of_keys():
    digests = [
        records.digest(value) for value in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2, "b": 1}, [1, 2], [2, 1])
    ]
    assert digests[0] == digests[1] and len(set(digests)) == 4


def test_a_folder_has_a_record_beside_it():
    for name in ("results/figures", "results/thumbnails"):  # the second is empty
        Path(name).mkdir(parents=True)
    Path("results/figures/a.png").write_bytes(b"a")
    folders = ["results/figures", "results/thumbnails"]
    records.write(folders, records.read_inputs([]), job="", code=[], values={}, raw={})
    Path("results/figures/.snakemake_timestamp").touch()  # as Snakemake does after the job
    assert records.read_inputs(folders)["files"] == records.checksums(folders)
    Path("results/figures/a.png").unlink()
    with pytest.raises(Damaged, match=r"^results/figures is damaged"):
        records.read_inputs(folders)


SPOILT = {  # by reason
    "it was changed after it was made": ("words.csv", lambda path: path.write_bytes(path.read_bytes()[:-1])),
    "there is no record of how it was made": ("records/words.csv.json", lambda path: path.unlink()),
    "there is no record of how": ("records/words.csv.json", lambda path: path.write_text("[]")),
}


@pytest.mark.parametrize("reason", SPOILT)
def test_a_file_that_does_not_match_its_record_is_refused_and_a_touched_file_is_not(reason):
    name, (spoilt, spoil) = made("results/a/words.csv"), SPOILT[reason]
    os.utime(name, (0, 0))
    assert records.read_inputs([name])["files"].keys() == {name}
    spoil(Path("results/a", spoilt))
    with pytest.raises(Damaged, match=f"^{name} is damaged .{reason}"):
        records.read_inputs([name])


def test_the_commit_is_read_from_the_work_tree_and_marked_after_edits(tmp_path, monkeypatch):
    package = tmp_path / "package"
    package.mkdir()
    monkeypatch.setattr(records, "__file__", str(package / "records.py"))
    assert records.commit() == ""
    git = ["git", "-C", str(package), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    (package / "records.py").write_text("")
    assert records.commit() == ""  # not tracked
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    assert records.commit() == head
    (package / "records.py").write_text("edited")
    assert records.commit() == f"{head}-dirty"

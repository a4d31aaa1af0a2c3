"""Records: what is known of raw files without reading them again, and what each job leaves beside its outputs."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from jointsparse.provenance import records
from jointsparse.provenance.tables import Damaged


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder of raw files: two pictures, one behind a link, and captions."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "2.jpg").write_bytes(b"two")
    (tmp_path / "run" / "data" / "images").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "run")
    Path("data/images/1.jpg").write_bytes(b"one")
    Path("data/images/more").symlink_to("../../../elsewhere")
    Path("data/captions.csv").write_text("image,caption\n", encoding="utf-8")


def raw():
    return records.raw_files(["data/images", "data/captions.csv", "data/splits.csv"], "results/raw_files.json")


def read_again(monkeypatch):
    """The names of the files that are read to know whether they have changed."""
    read = []
    monkeypatch.setattr(records, "sha256", lambda name: read.append(name) or "0" * 64)
    raw()
    return read


def test_every_file_has_its_place_size_times_and_checksum():
    files = raw().files
    assert list(files) == ["data/images/1.jpg", "data/images/more/2.jpg", "data/captions.csv"]
    assert files["data/images/1.jpg"]["real"] == "data/images/1.jpg"
    linked = files["data/images/more/2.jpg"]
    assert (linked["real"], linked["size"]) == (os.path.realpath("../elsewhere/2.jpg"), 3)
    assert linked["modified"] == os.stat("../elsewhere/2.jpg").st_mtime_ns
    assert linked["sha256"] == records.sha256("../elsewhere/2.jpg")
    assert json.loads(Path("results/raw_files.json").read_text(encoding="utf-8")) == files


def test_files_that_look_the_same_are_not_read_again(monkeypatch):
    raw()
    assert read_again(monkeypatch) == []


def replaced_by_an_older_file(path):
    """Another file of the same size and time, as `cp -p` leaves it."""
    status = path.stat()
    path.with_name("new").write_bytes(path.read_bytes().swapcase())
    path.with_name("new").replace(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


CHANGES = {
    "edited": (lambda: Path("data/captions.csv").write_bytes(b"image,caption\n1.jpg,dog\n"), "data/captions.csv"),
    "older": (lambda: replaced_by_an_older_file(Path("data/captions.csv")), "data/captions.csv"),
    "added": (lambda: Path("data/images/3.jpg").write_bytes(b"three"), "data/images/3.jpg"),
    "new splits": (lambda: Path("data/splits.csv").write_text("image,split\n", encoding="utf-8"), "data/splits.csv"),
}


@pytest.mark.parametrize(("change", "name"), CHANGES.values(), ids=CHANGES)
def test_a_changed_file_is_read_again_and_changes_the_digest(change, name, monkeypatch):
    before = raw().digest
    change()
    assert raw().digest != before
    shutil.rmtree("results")
    raw()
    change()
    assert read_again(monkeypatch) in ([name], [])


def test_a_link_that_points_elsewhere_changes_the_digest_unless_the_contents_are_the_same():
    before = raw().digest
    shutil.copytree("../elsewhere", "../copy")
    for target, same in (("copy", True), ("other", False)):
        (Path("..") / target).mkdir(exist_ok=True)
        Path("data/images/more").unlink()
        Path("data/images/more").symlink_to(f"../../../{target}")
        assert (raw().digest == before) == same


def test_what_is_no_file_counts_by_its_name_and_is_not_opened():
    before = raw().digest
    os.mkfifo("data/images/pipe.jpg")
    Path("data/images/broken.jpg").symlink_to("nowhere")
    Path("data/images/circle").symlink_to(".")
    files = raw().files
    assert raw().digest != before
    assert {files[f"data/images/{name}"]["sha256"] for name in ("pipe.jpg", "broken.jpg", "circle")} == {None}


def test_size_and_time_stand_for_a_file_that_would_take_hours_to_read():
    before = raw().digest
    with open("data/images/sparse.jpg", "wb") as file:
        file.truncate(2**43)  # 8 TiB, of which none is on the disk
    os.utime("data/images/sparse.jpg", ns=(1, 1))
    first = raw().digest
    checksum = records.entry("data/images", raw=True)
    os.utime("data/images/sparse.jpg", ns=(2, 2))
    assert len({before, first, raw().digest}) == 3
    assert records.entry("data/images", raw=True) != checksum


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"data/captions.csv": 3}'])
def test_a_damaged_note_of_what_was_seen_is_made_anew(text):
    before = raw()
    Path("results/raw_files.json").write_text(text, encoding="utf-8")
    assert raw() == before
    assert json.loads(Path("results/raw_files.json").read_text(encoding="utf-8")) == before.files


def test_no_files_have_no_digest():
    assert records.raw_files([], "results/raw_files.json") == ({}, "")


def made(name, inputs=(), **values):
    """Make a file, and leave the record of its job."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    known = records.read_inputs(inputs)
    Path(name).write_text(f"{name} of {known.files}", encoding="utf-8")
    values = {"job": f"make {name}", "code": ["a.py 1"], "values": {"rank": 3}, "raw": {}} | values
    records.write_records([name], known, **values)
    return name


def test_a_record_holds_what_a_file_was_made_with():
    read = made("results/a/images.parquet", raw={"mine": "12"})
    made("results/a/W.npz", [read])
    record = json.loads(Path("results/a/records/W.npz.json").read_text(encoding="utf-8"))
    assert record["inputs"] == {read: records.sha256(read)}
    assert (record["job"], record["values"]) == ("make results/a/W.npz", {"rank": 3})
    assert record["raw"] == {"mine": ["12"]}  # of the job before
    assert record["made_with"]["numpy"] == [records.metadata.version("numpy")]
    assert record["without"] == []


@pytest.mark.parametrize(
    ("folders", "owners"), [(["numpy.libs", "other.libs"], ["numpy's BLAS"]), (["other.libs"], ["BLAS"])]
)
def test_the_blas_of_other_packages_counts_only_where_numpy_has_none_of_its_own(folders, owners, monkeypatch):
    one = {"user_api": "blas", "internal_api": "openblas", "version": "0.3", "architecture": "Haswell"}
    loaded = [one | {"filepath": f"/site-packages/{folder}/libopenblas.so"} for folder in folders]
    monkeypatch.setattr("threadpoolctl.threadpool_info", lambda: [*loaded, {"user_api": "openmp"}])
    found = records.environment()
    assert {name: value for name, value in found.items() if "BLAS" in name} == dict.fromkeys(
        owners, "openblas 0.3 Haswell"
    )


def test_a_folder_has_a_record_beside_it():
    Path("results/figures").mkdir(parents=True)
    Path("results/figures/a.png").write_bytes(b"a")
    made("results/table.csv")
    records.write_records(["results/figures"], records.read_inputs([]), job="", code=[], values={}, raw={})
    assert records.read_record("results/figures")["sha256"] == records.entry("results/figures")["sha256"]


@pytest.mark.parametrize("name", ["results/a/words.csv", "results/a/W.npz"])
def test_a_file_that_was_changed_after_it_was_made_is_refused(name):
    made(name)
    Path(name).write_text("other", encoding="utf-8")
    with pytest.raises(Damaged, match=f"^{name} is damaged .it was changed after it was made"):
        records.read_inputs([name])


def test_a_file_with_another_time_and_the_same_content_is_accepted():
    """Of copied results."""
    name = made("results/a/W.npz")
    os.utime(name, (0, 0))
    assert records.read_inputs([name]).files == {name: records.sha256(name)}


@pytest.mark.parametrize("spoil", [lambda path: path.unlink(), lambda path: path.write_text("[]")])
def test_a_file_without_a_record_is_accepted_and_said_by_all_that_rest_on_it(spoil):
    first = made("results/a/images.parquet")
    spoil(Path("results/a/records/images.parquet.json"))
    second = made("results/a/W.npz", [first])
    third = made("results/a/words.csv", [second])
    assert records.read_record(third)["without"] == [first]


def test_the_commit_is_that_of_the_work_tree_with_a_mark_after_edits(tmp_path, monkeypatch):
    package = tmp_path / "package"
    package.mkdir()
    monkeypatch.setattr(records, "PACKAGE", package)
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

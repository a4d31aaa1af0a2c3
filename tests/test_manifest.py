"""The manifest: the same bytes for the same results, and every difference from it is found."""

import hashlib
import json
import os
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from unittest.mock import ANY

import pytest

from jointsparse.app.command_line import main
from jointsparse.provenance import manifest, records
from jointsparse.provenance.tables import Damaged

SETTINGS = {"seed": 1, "sizes": [5, 10]}
TABLES = [f"results/mine/tables/{name}.csv" for name in ("words", "chosen")]
RAW = ["data/images", "data/captions.csv", "data/splits.csv"]  # there is none of the last
CACHE = "results/mine/records/raw_files.json"
MADE_FROM_THEM = ": the tables come from the recorded inputs"


@pytest.fixture
def results(tmp_path, monkeypatch):
    """The manifest of a folder of results and of the files that they were made from."""
    monkeypatch.setenv(records.COMMIT, "0123abc")
    return make(tmp_path / "here")


def make(root: Path, settings=SETTINGS) -> Path:
    (root / "data" / "images" / "a b").mkdir(parents=True)
    for name, content in {"1.jpg": b"one", "a b/é\n2.jpg": b"two"}.items():
        (root / "data" / "images" / name).write_bytes(content)
    (root / "data" / "captions.csv").write_text("image,caption\n")
    for name in TABLES:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{path.stem},auc\ndog,0.5\n\n")
    with chdir(root):
        job(raw={"mine": records.raw_files(RAW, CACHE).digest})
        return gather(settings)


def job(*inputs, raw=None):
    """Leave the records of a job that made the tables."""
    known = records.read_inputs(inputs)
    records.write_records(TABLES, known, job="evaluate mine", code=["scores.py 12"], values={}, raw=raw or {})


def gather(settings=SETTINGS) -> Path:
    path = Path("results/claims/mine/manifest.json").absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = {"mine": (RAW, records.raw_files(RAW, CACHE))}
    path.write_text(manifest.dumps(manifest.make("results/claims/mine", tables=TABLES, raw=raw, settings=settings)))
    return path


def test_files_that_are_as_recorded_are_counted_from_any_folder(results):
    assert manifest.verify(results) == manifest.Verdict(4, [], [])
    command = [sys.executable, "-m", "jointsparse", "verify", str(results)]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"4 files as recorded{MADE_FROM_THEM}\n"), done.stderr


def test_a_table_without_a_record_gets_no_manifest(results):
    with chdir(results.parents[3]):
        Path("results/mine/tables/records/words.csv.json").unlink()
        with pytest.raises(Damaged, match=r"^results/mine/tables/words\.csv is damaged \(there is no record of how it"):
            gather()


def test_a_table_that_rests_on_a_file_without_a_record_gets_no_manifest(results):
    with chdir(results.parents[3]):
        Path("results/mine/W.npz").write_text("fit", encoding="utf-8")
        job("results/mine/W.npz")
        with pytest.raises(Damaged, match=r"^results/mine/W\.npz is damaged \(there is no record of how it was made"):
            gather()


def test_a_table_of_other_raw_files_gets_no_manifest(results):
    with chdir(results.parents[3]):
        Path("data/captions.csv").write_text("image,caption\n1.jpg,dog\n", encoding="utf-8")
        with pytest.raises(Damaged, match=r"words\.csv is damaged \(it was made from other files of the dataset mine"):
            gather()


def test_versions_are_those_of_the_jobs_and_a_mixture_is_said(results, monkeypatch, capsys):
    """Also of jobs before those that made the tables."""
    with chdir(results.parents[3]):
        monkeypatch.setattr(records.metadata, "version", lambda name: f"of the first job: {name}")
        Path("results/mine/W.npz").write_text("fit", encoding="utf-8")
        records.write_records(["results/mine/W.npz"], records.read_inputs([]), job="", code=[], values={}, raw={})
        monkeypatch.undo()
        job("results/mine/W.npz", raw={"mine": records.raw_files(RAW, CACHE).digest})
        path = gather()
    version = records.metadata.version("numpy")
    assert json.loads(path.read_text())["made_with"]["numpy"] == [version, "of the first job: numpy"]
    assert main(["verify", str(path)]) == 0
    said = f"note: numpy: {version} and of the first job: numpy when made, {version} here (a mixture)"
    assert said in capsys.readouterr().out.splitlines()


def test_the_same_results_have_the_same_manifest_wherever_they_lie(results, tmp_path):
    other = make(tmp_path / "elsewhere")
    assert other.read_bytes() == results.read_bytes()
    assert str(tmp_path) not in results.read_text()


def test_it_holds_versions_settings_and_checksums_by_relative_name(results):
    python = ".".join(map(str, sys.version_info[:3]))
    captions, table = (hashlib.sha256(text).hexdigest() for text in (b"image,caption\n", b"words,auc\ndog,0.5\n\n"))
    made, of_table = json.loads(results.read_text()), {"job": "evaluate mine", "code": ANY}
    assert {"jointsparse", "numpy", "numpy's BLAS", "system", "machine"} <= made["made_with"].keys()
    assert made | {"made_with": made["made_with"]["python"]} == {
        "made_with": [python],
        "settings": SETTINGS,
        "inputs": {
            "mine": {
                "../../../data/images": {"files": 2, "sha256": ANY},
                "../../../data/captions.csv": {"sha256": captions},
            }
        },
        "tables": {
            "../../mine/tables/chosen.csv": of_table | {"sha256": ANY},
            "../../mine/tables/words.csv": of_table | {"sha256": table},
        },
    }


@pytest.mark.parametrize("file", ["results/mine/tables/words.csv", "data/captions.csv"])
def test_every_flipped_bit_is_found_and_the_command_says_what_to_do(results, file, capsys):
    path = results.parents[3] / file
    whole = path.read_bytes()
    for place in range(len(whole)):
        spoilt = bytearray(whole)
        spoilt[place] ^= 1 << place % 8
        path.write_bytes(spoilt)
        assert manifest.verify(results).differences == [f"differs: {os.path.relpath(path, results.parent)}"]
    assert main(["verify", str(results)]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("A result that was changed by hand is made again once")


READ = ["mine/index.html", "mine/tables/figures", "claims/mine/made_with.csv", "claims/mine/claims.md", "index.html"]


@pytest.mark.parametrize("name", READ)
def test_what_people_read_is_compared_with_its_record_too(results, name, capsys):
    folder = results.parents[2]
    for each in READ:
        file = folder / each / "auc.png" if each.endswith("figures") else folder / each
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"<p>Level.</p>")
    records.write_records([folder / each for each in READ], records.read_inputs([]), job="", code=[], values={}, raw={})
    (folder / "mine/tables/figures/.snakemake_timestamp").touch()  # Snakemake does this after the job
    assert manifest.verify(results) == manifest.Verdict(9, [], [])
    assert manifest.changed(results.parent, ["mine"]) == (7, [])
    file = folder / name / "auc.png" if name.endswith("figures") else folder / name
    file.write_bytes(b"<p>Ahead.</p>")
    os.utime(file, ns=(0, 0))
    shown = os.path.relpath(folder / name, results.parent)
    assert manifest.changed(results.parent, ["mine"]) == (7, [shown])
    assert main(["verify", str(results)]) == 1
    assert capsys.readouterr().out.startswith(f"differs: {shown}\n1 of 9 files not as recorded\n")


def test_a_job_of_an_unknown_commit_does_not_take_that_of_others(results, monkeypatch):
    monkeypatch.setenv(records.COMMIT, "")
    with chdir(results.parents[3]):
        Path("results/mine/W.npz").write_bytes(b"fit")
        records.write_records(["results/mine/W.npz"], records.read_inputs([]), job="", code=[], values={}, raw={})
        monkeypatch.setenv(records.COMMIT, "0123abc")
        job("results/mine/W.npz", raw={"mine": records.raw_files(RAW, CACHE).digest})
        assert json.loads(gather().read_text())["made_with"]["commit"] == ["0123abc", "unknown"]


@pytest.mark.parametrize("replaced", [lambda path: None, os.mkfifo])
@pytest.mark.parametrize("file", ["results/mine/tables/words.csv", "data/captions.csv", "data/images"])
def test_a_missing_file_is_found_and_a_pipe_in_its_place_is_none(results, file, replaced, capsys):
    path = results.parents[3] / file
    path.rename(path.with_name("away"))
    replaced(path)
    assert main(["verify", str(results)]) == 1
    expected = f"missing: {os.path.relpath(path, results.parent)}\n1 of 4 files not as recorded\n"
    assert capsys.readouterr().out == expected


def test_a_file_that_cannot_be_read_is_one_line(results, capsys):
    recorded = json.loads(results.read_text())
    entry = next(iter(recorded["tables"].values()))
    recorded["tables"] |= {"x" * 5000: entry, "two\nlines": entry, "\ud800": entry}
    results.write_text(json.dumps(recorded))
    assert main(["verify", str(results)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 4 and out[-1] == "3 of 7 files not as recorded"
    assert any(line.startswith("not readable (File name too long)") for line in out)
    assert "missing: 'two\\nlines'" in out


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        (lambda images: (images / "1.jpg").write_bytes(b"0ne"), "2 files when made, 2 here"),
        (lambda images: (images / "1.jpg").rename(images / "3.jpg"), "2 files when made, 2 here"),
        (lambda images: (images / "1.jpg").unlink(), "2 files when made, 1 here"),
        (lambda images: (images / "3.jpg").write_bytes(b""), "2 files when made, 3 here"),
        (lambda images: (images / "up").symlink_to(images), None),  # a circle
        (lambda images: os.mkfifo(images / "pipe.jpg"), None),
    ],
)
def test_a_picture_changed_renamed_removed_or_added_is_found(results, change, counts):
    change(results.parents[3] / "data" / "images")
    expected = [f"differs: ../../../data/images ({counts})"] if counts else []
    assert manifest.verify(results).differences == expected


def test_another_version_is_said_and_is_no_difference(results, capsys):
    recorded = json.loads(results.read_text())
    recorded["made_with"] |= {"numpy": ["1.0"], "commit": ["0000"], "scipy's BLAS": ["mkl 1"]}
    results.write_text(manifest.dumps(recorded))
    assert main(["verify", str(results)]) == 0
    out = capsys.readouterr().out.splitlines()
    notes = ["note: commit: 0000", "note: numpy: 1.0", "note: scipy's BLAS: mkl 1"]
    assert [line.split(" when made, ")[0] for line in out] == [*notes, f"4 files as recorded{MADE_FROM_THEM}"]


def test_two_runs_are_compared_by_their_tables(results, tmp_path, capsys):
    other = make(tmp_path / "elsewhere", settings={"seed": 2})
    assert main(["verify", str(results), "--against", str(other)]) == 0
    assert capsys.readouterr().out == "note: settings are not the same\n2 files the same in both\n"
    changed = json.loads(other.read_text())
    changed["tables"]["../../mine/tables/words.csv"]["sha256"] = "0"
    changed["tables"]["../../mine/tables/more.csv"] = {"sha256": "0"}
    other.write_text(manifest.dumps(changed))
    assert main(["verify", str(results), "--against", str(other)]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        f"only in {other}: ../../mine/tables/more.csv",
        "differs: ../../mine/tables/words.csv",
        "2 of 3 files not the same in both",
    ]


BLOCKS = '"made_with": {}, "settings": {}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        "[" * 100_000,
        "{}",
        '{"made_with": []}',
        '{"made_with": {"numpy": "1.0"}, "settings": {}, "inputs": {}, "tables": {"a.csv": {"sha256": "0"}}}',
        '{"made_with": {"numpy": [{}]}, "settings": {}, "inputs": {}, "tables": {"a.csv": {"sha256": "0"}}}',
        f'{{{BLOCKS}, "inputs": {{"mine": 3}}, "tables": {{}}}}',
        f'{{{BLOCKS}, "inputs": {{}}, "tables": {{"a.csv": "0"}}}}',
        f'{{{BLOCKS}, "inputs": {{}}, "tables": {{}}}}',  # names no table
    ],
)
def test_another_file_than_a_manifest_is_one_line(tmp_path, text, capsys):
    path = tmp_path / "manifest.json"
    path.write_text(text)
    assert main(["verify", str(path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {path} is no manifest, or a damaged one (") and error.count("\n") == 1


def test_a_manifest_cut_off_anywhere_is_one_line(results, capsys):
    whole = results.read_text()
    for length in range(0, len(whole) - 1, 7):
        results.write_text(whole[:length])
        assert main(["verify", str(results)]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_an_absent_manifest_is_one_line(tmp_path, capsys):
    assert main(["verify", str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().err == f"error: expected a manifest, got no file at {tmp_path / 'none.json'}\n"

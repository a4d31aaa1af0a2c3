"""Records and manifests: which files are read again, what records and manifests hold, and what changes they reveal."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest
from albums import lay
from common import run_python

from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.app.progress import verified
from jointsparse.pipeline.provenance import manifest, records
from jointsparse.pipeline.provenance.tables import Damaged

SETTINGS = {"seed": 1, "sizes": [5, 10]}
RAW = ["data/images", "data/captions.csv", "data/splits.csv"]  # the last one does not exist
CACHE = "results/raw_files.json"
CAPTIONS = "image,caption\n"
TABLES = ["results/mine/tables/chosen.csv", "results/mine/tables/words.csv"]
PAGE, FIGURES, EMPTY = "results/index.html", "results/mine/figures", "results/mine/thumbnails"
RESULTS = [*TABLES, PAGE, FIGURES, EMPTY]
MANIFEST = "results/claims/mine/manifest.json"
N_FILES = 2 + len(RESULTS)
ALL_MATCH = f"{N_FILES} of {N_FILES} files match the manifest"


# All tests run in a folder with raw files, results, their records and their manifest.
@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.setenv(records.COMMIT, "0123abc")
    lay(tmp_path, {"elsewhere/2.jpg": "two"})
    make(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def make(root, settings=SETTINGS):
    lay(root, {"data/images/1.jpg": "one", "data/images/a b/é\n2.jpg": "two", RAW[1]: CAPTIONS})
    lay(root, {name: f"{name}\n\n" for name in (*TABLES, PAGE, f"{FIGURES}/auc.png")})
    (root / EMPTY).mkdir()
    (root / "data/images/more").symlink_to("../../../elsewhere")
    with chdir(root):
        job(RESULTS)
        gather(settings)


def job(files, inputs=(), raw=None):
    known, digest = records.read_inputs(inputs), raw or records.digest(records.checksums(RAW))
    records.write(files, known, job="fit mine", code=["a.py 12"], values={"rank": 3}, raw={"mine": digest})


def gather(settings=SETTINGS):
    records.write_json(MANIFEST, manifest.make(TABLES, {"mine": records.checksums(RAW)}, settings))


def read(path=MANIFEST):
    return json.loads(Path(path).read_text(encoding="utf-8"))


def rewrite(path=MANIFEST, **blocks):
    made = read(path)
    more = {name: made[name] | block for name, block in blocks.items()}
    Path(path).write_text(json.dumps(made | more), encoding="utf-8")


def verify(capsys, path=MANIFEST, *options):
    return main(["verify", str(path), *options]), capsys.readouterr().out.splitlines()


def write(name, text):
    return lambda: Path(name).write_text(text, encoding="utf-8")


def older():  # another file of the same size and time, as `cp -p` leaves it
    status = os.stat(RAW[1])
    Path(RAW[1]).write_text(CAPTIONS.swapcase(), encoding="utf-8")
    os.utime(RAW[1], ns=(status.st_atime_ns, status.st_mtime_ns))


# read: the files that are read again, or None if no checksum changes
@pytest.mark.parametrize(
    ("change", "read"),
    [
        pytest.param(write(RAW[1], CAPTIONS * 2), [RAW[1]], id="edited"),
        pytest.param(older, [RAW[1]], id="replaced by an older file"),
        pytest.param(write("data/images/3.jpg", "three"), ["data/images/3.jpg"], id="added"),
        pytest.param(
            lambda: Path("data/images/1.jpg").rename("data/images/3.jpg"), ["data/images/3.jpg"], id="renamed"
        ),
        pytest.param(lambda: Path("data/images/1.jpg").unlink(), [], id="gone"),
        pytest.param(
            lambda: (os.unlink("data/images/more"), os.symlink("../../../data", "data/images/more")),
            [],
            id="linked elsewhere",
        ),
        pytest.param(lambda: os.mkfifo("data/images/pipe.jpg"), [], id="a pipe, which is not opened"),
        pytest.param(lambda: (shutil.copy(RAW[1], "copy"), os.replace("copy", RAW[1])), None, id="copied"),
        pytest.param(lambda: os.utime(RAW[1], (0, 0)), None, id="touched"),
        pytest.param(
            lambda: lay(Path(RAW[0]), {".DS_Store": "", ".ipynb_checkpoints/1.jpg": ""}), None, id="hidden files"
        ),
        pytest.param(write(CACHE, "null"), None, id="a damaged cache"),
        pytest.param(write(CACHE, "{"), None, id="a truncated cache"),
    ],
)
def test_a_checksum_changes_with_names_and_contents_alone_and_only_changed_files_are_read(change, read, monkeypatch):
    before, again, sha256 = records.checksums(RAW, CACHE), [], records._sha256
    monkeypatch.setattr(records, "_sha256", lambda name, largest: again.append(name) or sha256(name, largest))
    change()
    assert (records.checksums(RAW, CACHE) == before) == (read is None) and read in (None, again)


def test_a_record_holds_inputs_values_code_and_versions_of_a_file_and_the_raw_files_of_earlier_jobs():
    job([PAGE], [TABLES[0]], raw="0" * 64)
    assert records.read(PAGE) == {
        "sha256": records.checksums([PAGE])[PAGE],
        "files": {TABLES[0]: records.hashlib.sha256(Path(TABLES[0]).read_bytes()).hexdigest()},
        "job": "fit mine",
        "code": records.digest(["a.py 12"]),
        "values": {"rank": 3},
        "raw": {"mine": sorted(["0" * 64, records.digest(records.checksums(RAW))])},
        "made_with": {name: [value] for name, value in records.environment().items()},
    }


CHANGED, UNKNOWN = "it was changed after it was made", "there is no record of how it was made"


@pytest.mark.parametrize(
    ("name", "spoil", "reason"),
    [
        pytest.param(TABLES[0], write(TABLES[0], "\n"), CHANGED, id="a shorter table"),
        pytest.param(FIGURES, lambda: Path(FIGURES, "auc.png").unlink(), CHANGED, id="a folder without its file"),
        pytest.param(EMPTY, write(f"{EMPTY}/a.png", ""), CHANGED, id="a folder with a file"),
        pytest.param(PAGE, lambda: Path("results/records/index.html.json").unlink(), UNKNOWN, id="no record"),
        pytest.param(PAGE, write("results/records/index.html.json", "[]"), UNKNOWN, id="a damaged record"),
    ],
)
def test_a_result_that_does_not_match_its_record_is_refused_and_a_touched_one_is_not(name, spoil, reason):
    os.utime(name, (0, 0))
    Path(FIGURES, ".snakemake_timestamp").touch()  # as Snakemake does after a job
    assert records.read_inputs([name])["files"].keys() == {name}
    spoil()
    with pytest.raises(Damaged, match=rf"^{name} is damaged \({reason}"):
        records.read_inputs([name])


def test_the_commit_is_that_of_a_work_tree_which_tracks_the_package_and_is_marked_after_edits(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "__file__", str(tmp_path / "elsewhere" / "records.py"))
    git = ["git", "-C", str(tmp_path / "elsewhere"), "-c", "user.name=a", "-c", "user.email=a@b"]
    commits = []
    for command in ("init -q", "commit -q --allow-empty -m first", "add .", "commit -q -m second"):
        subprocess.run([*git, *command.split()], check=True)
        commits.append(records.commit())
        Path(records.__file__).touch()  # so far the work tree is of another project
    Path(records.__file__).write_text("edited", encoding="utf-8")
    head = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()
    assert [*commits[:2], commits[3], records.commit()] == ["", "", head, f"{head}-dirty"]


def test_the_manifest_holds_versions_settings_and_checksums_and_does_not_depend_on_its_folder(tmp_path):
    made = read()
    make(tmp_path / "another")
    assert (tmp_path / "another" / MANIFEST).read_bytes() == Path(MANIFEST).read_bytes()
    assert {"jointsparse", "numpy", "numpy's BLAS", "system", "machine"} <= made["made_with"].keys()
    assert made | {"made_with": made["made_with"]["python"]} == {
        "made_with": [".".join(map(str, sys.version_info[:3]))],
        "settings": SETTINGS,
        "inputs": {"mine": records.checksums(RAW)},
        "tables": records.checksums(TABLES),
    }


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(write(RAW[1], CAPTIONS * 2), id="all tables"),
        pytest.param(lambda: job(TABLES[:1], raw="0" * 64), id="one table"),
        pytest.param(lambda: (job([PAGE], raw="f" * 64), job(TABLES[:1], inputs=[PAGE])), id="an earlier job"),
    ],
)
def test_tables_made_from_other_raw_files_get_no_manifest(change):
    change()
    with pytest.raises(ValueError, match=r"^the tables must be made from the present raw files of the dataset mine"):
        gather()


def test_a_new_process_finds_that_unchanged_files_match_the_manifest_from_any_folder():
    assert run_python("-m", "jointsparse", "verify", "manifest.json", cwd=Path(MANIFEST).parent) == f"{ALL_MATCH}\n"


def test_the_manifest_lists_versions_and_commits_of_all_jobs_and_verify_reports_a_mixture(monkeypatch, capsys):
    version = records.metadata.version("numpy")
    with monkeypatch.context() as patch:
        patch.setattr(records.metadata, "version", lambda name: f"old {name}")
        patch.setenv(records.COMMIT, "")
        job([PAGE])
    job(TABLES, inputs=[PAGE])
    gather()
    assert read()["made_with"]["commit"] == ["0123abc", "unknown"]
    assert f"note: numpy: {version} and old numpy when made, {version} here (a mixture)" in verify(capsys)[1]


def test_large_raw_files_are_known_by_size_and_time(monkeypatch, capsys):
    monkeypatch.setattr(manifest, "LARGEST_RAW", 1)
    rewrite(inputs={"mine": records.checksums(RAW, largest=1)})
    older()  # other content, which is not read
    assert verify(capsys) == (0, [ALL_MATCH])
    os.utime(RAW[1], (0, 0))
    assert verify(capsys)[0] == 1


REMADE = "All 5 results match their records."
EDITED = "Some results were changed after they were made. Remove them and run again: rm -r {}"
DELETED = "Some results have been deleted. To make those of this run, run again: {}"


# what verify says about a file, and what a run says at its end about its results
@pytest.mark.parametrize(
    ("change", "fault", "name", "at_end"),
    [
        pytest.param(write(TABLES[1], "0.4"), "differs", TABLES[1], EDITED, id="a table"),
        pytest.param(
            lambda: (write(TABLES[1], "0.4")(), job(TABLES[1:])), "differs", TABLES[1], REMADE, id="a table made again"
        ),
        pytest.param(write(f"{FIGURES}/auc.png", "Ahead."), "differs", FIGURES, EDITED, id="a figure"),
        pytest.param(lambda: Path(PAGE).unlink(), "missing or not readable", PAGE, DELETED, id="no page"),
        pytest.param(lambda: shutil.rmtree(FIGURES), "missing or not readable", FIGURES, DELETED, id="no figures"),
        pytest.param(write(RAW[1], "image,captino\n"), "differs", RAW[1], REMADE, id="captions"),
        pytest.param(
            lambda: (Path(RAW[1]).unlink(), os.mkfifo(RAW[1])), "missing or not readable", RAW[1], REMADE, id="a pipe"
        ),
        pytest.param(
            lambda: Path("data/images/1.jpg").rename("data/images/3.jpg"), "differs", RAW[0], REMADE, id="pictures"
        ),
        pytest.param(
            lambda: rewrite(tables={"a\nb": "0"}), "missing or not readable", "a\\nb", REMADE, id="no line of its own"
        ),
        pytest.param(
            lambda: rewrite(tables={"x" * 5000: "0"}),
            "missing or not readable",
            "x" * 5000,
            REMADE,
            id="a name too long",
        ),
    ],
)
def test_verify_prints_one_line_per_change_and_a_run_names_changed_and_deleted_results(
    here, change, fault, name, at_end, capsys
):
    change()
    n = N_FILES + name.startswith(("a\\", "x"))
    assert verify(capsys, here / MANIFEST) == (
        1,
        [f"{fault}: {here}/{name}", f"{n - 1} of {n} files match the manifest"],
    )
    assert verified(Path("results")) == at_end.format(name)


def test_two_manifests_are_compared_by_their_tables_and_other_differences_are_noted(here, tmp_path, capsys):
    other = tmp_path / "another" / MANIFEST
    make(tmp_path / "another", settings={"seed": 2})
    rewrite(made_with={"numpy": ["1"], "numba": ["1", "2"], "old": ["3"]})
    rewrite(other, made_with={"numpy": ["1", "2"], "numba": ["1", "2"]}, inputs={"mine": {}})
    notes = [
        "note: the settings differ",
        "note: the inputs differ",
        "note: numba: 1 and 2 in the first, 1 and 2 in the other (a mixture)",
        "note: numpy: 1 in the first, 1 and 2 in the other (a mixture)",
        "note: old: 3 in the first, none in the other",
    ]
    against = [MANIFEST, "--against", str(other)]
    assert verify(capsys, *against) == (0, [*notes, "2 of 2 files are the same in both manifests"])
    rewrite(tables={"few.csv": "0"})
    rewrite(other, tables={TABLES[1]: "0", "more.csv": "0"})
    differences = [f"only in {MANIFEST}: few.csv", f"only in {other}: more.csv", f"differs: {TABLES[1]}"]
    assert verify(capsys, *against) == (1, [*notes, *differences, "1 of 4 files are the same in both manifests"])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(None, id="no file"),
        pytest.param('{"made_with": {}', id="truncated"),
        pytest.param("[" * 100_000, id="too deep for the parser"),
        pytest.param('{"made_with": {}, "settings": {}, "inputs": {}, "tables": {}}', id="no table"),
        pytest.param(json.dumps({"made_with": {"x" * 5000: 3}}), id="too long for a message"),
    ],
)
def test_the_error_about_a_file_that_is_not_a_manifest_is_one_short_line(text, capsys):
    if text:
        Path("no.json").write_text(text, encoding="utf-8")
    assert main(["verify", "no.json"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(
        "error: no.json is not a manifest, or is " if text else "error: there is no manifest no.json"
    )
    assert error.count("\n") == 1 and len(error) < 350

"""The manifest is the same for the same results, byte by byte, and `verify` finds every difference from it."""

import json
import os
import shutil
import sys
from contextlib import chdir
from pathlib import Path
from unittest.mock import ANY

import pytest
from common import run_python

from jointsparse.pipeline.app.command_line import main
from jointsparse.pipeline.provenance import manifest, records

SETTINGS = {"seed": 1, "sizes": [5, 10]}
TABLES = [f"results/mine/tables/{name}.csv" for name in ("chosen", "words")]
READ = ["results/index.html", "results/mine/figures", "results/claims/mine/claims.md"]  # results that people read
RAW = ["data/images", "data/captions.csv", "data/splits.csv"]  # the last one does not exist
N_FILES = 2 + len(TABLES) + len(READ)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder with raw files, results and their manifest, in which the test runs."""
    monkeypatch.setenv(records.COMMIT, "0123abc")
    make(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def make(root: Path, settings=SETTINGS) -> Path:
    """Write raw files, results and a manifest, and return the path of the manifest."""
    (root / "data" / "images" / "a b").mkdir(parents=True)
    for name, content in {"1.jpg": b"one", "a b/é\n2.jpg": b"two"}.items():
        (root / "data" / "images" / name).write_bytes(content)
    (root / "data" / "captions.csv").write_text("image,caption\n")
    for name in (*TABLES, *READ):
        path = root / name / "auc.png" if name.endswith("figures") else root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{path.stem},auc\ndog,0.5\n\n")
    with chdir(root):
        job(TABLES + READ, raw={"mine": records.digest(records.checksums(RAW))})
        return gather(settings)


def job(files=TABLES, inputs=(), raw=()):
    """Write the records of a job that made the files."""
    known = records.read_inputs(inputs)
    records.write(files, known, job="evaluate mine", code=["scores.py 12"], values={}, raw=dict(raw))


def gather(settings=SETTINGS) -> Path:
    path = Path("results/claims/mine/manifest.json").absolute()
    records.write_json(path, manifest.make(TABLES, {"mine": records.checksums(RAW)}, settings))
    return path


def verified(root, capsys, *arguments):
    """Return the exit status of `jointsparse verify` and the lines that it prints."""
    status = main(["verify", str(root / "results/claims/mine/manifest.json"), *arguments])
    return status, capsys.readouterr().out.splitlines()


def test_unchanged_files_are_verified_from_any_folder(root):
    for cwd, path in (
        ("/", root / "results/claims/mine/manifest.json"),
        (root / "results/claims/mine", "manifest.json"),
    ):
        said = run_python("-m", "jointsparse", "verify", path, cwd=cwd)
        assert said == f"{N_FILES} of {N_FILES} files match the manifest\n"


def fit_before_a_change_of_raw_files():
    """Make a fit from old raw files, and a table from this fit and the present raw files."""
    Path("results/mine/W.npz").write_text("fit", encoding="utf-8")
    job(["results/mine/W.npz"], raw={"mine": "0" * 64})
    job(TABLES[:1], inputs=["results/mine/W.npz"], raw={"mine": records.digest(records.checksums(RAW))})


OTHER_RAW_FILES = {
    "all tables": lambda: Path(RAW[1]).write_text("image,caption\n1.jpg,dog\n", encoding="utf-8"),
    "one table": lambda: job(TABLES[:1], raw={"mine": "0" * 64}),
    "one table, with a digest that sorts last": lambda: job(TABLES[:1], raw={"mine": "f" * 64}),
    "an earlier job": fit_before_a_change_of_raw_files,
}


@pytest.mark.parametrize("change", OTHER_RAW_FILES.values(), ids=OTHER_RAW_FILES)
def test_tables_made_from_other_raw_files_get_no_manifest(root, change):
    change()
    with pytest.raises(ValueError, match=r"^the tables must be made from the present raw files of the dataset mine"):
        gather()


def test_a_table_that_was_remade_differs_from_the_manifest(root, capsys):
    Path(TABLES[1]).write_bytes(b"words,auc\ndog,0.4\n\n")
    job(TABLES[1:])
    assert verified(root, capsys)[1] == [
        f"differs: {root}/{TABLES[1]}",
        f"{N_FILES - 1} of {N_FILES} files match the manifest",
    ]


def test_large_raw_files_are_verified_by_size_and_time(root, monkeypatch, capsys):
    monkeypatch.setattr(manifest, "LARGEST_RAW", 1)
    found = records.checksums(RAW, largest=1)
    rewritten(root / "results/claims/mine/manifest.json", lambda kept: kept["inputs"].update(mine=found))
    assert verified(root, capsys) == (0, [f"{N_FILES} of {N_FILES} files match the manifest"])


def test_the_manifest_lists_versions_and_commits_of_all_jobs_and_verify_reports_a_mixture(root, monkeypatch, capsys):
    """Earlier jobs than those that made the tables count, too. An unknown commit stays in the list as "unknown"."""
    Path("results/mine/W.npz").write_text("fit", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(records.metadata, "version", lambda name: f"of the first job: {name}")
        patch.setenv(records.COMMIT, "")
        job(["results/mine/W.npz"], raw={"mine": records.digest(records.checksums(RAW))})
    job(inputs=["results/mine/W.npz"])
    version, made_with = records.metadata.version("numpy"), json.loads(gather().read_text())["made_with"]
    assert made_with["numpy"] == [version, "of the first job: numpy"]
    assert made_with["commit"] == ["0123abc", "unknown"]
    status, said = verified(root, capsys)
    note = f"note: numpy: {version} and of the first job: numpy when made, {version} here (a mixture)"
    assert status == 0 and note in said


def test_the_manifest_holds_versions_settings_and_checksums_and_does_not_depend_on_its_folder(root, tmp_path):
    text = Path("results/claims/mine/manifest.json").read_text(encoding="utf-8")
    assert text == make(tmp_path / "elsewhere").read_text() and str(tmp_path) not in text
    made = json.loads(text)
    assert {"jointsparse", "numpy", "numpy's BLAS", "system", "machine"} <= made["made_with"].keys()
    assert made | {"made_with": made["made_with"]["python"]} == {
        "made_with": [".".join(map(str, sys.version_info[:3]))],
        "settings": SETTINGS,
        "inputs": {"mine": {"data/images": ANY, "data/captions.csv": records.checksums(RAW)["data/captions.csv"]}},
        "tables": records.checksums(TABLES),
    }


CHANGES = {
    "table": (lambda: Path(TABLES[1]).write_bytes(b"words,auc\ndog,0.4\n\n"), f"differs: {TABLES[1]}"),
    "captions": (lambda: Path(RAW[1]).write_bytes(b"image,captino\n"), f"differs: {RAW[1]}"),
    "page": (lambda: Path(READ[0]).write_bytes(b"Ahead."), f"differs: {READ[0]}"),
    "figure": (lambda: Path(READ[1], "auc.png").write_bytes(b"Ahead."), f"differs: {READ[1]}"),
    "claims": (lambda: Path(READ[2]).write_bytes(b"Ahead."), f"differs: {READ[2]}"),
    "no table": (lambda: Path(TABLES[1]).unlink(), f"missing or not readable: {TABLES[1]}"),
    "no captions": (lambda: Path(RAW[1]).unlink(), f"missing or not readable: {RAW[1]}"),
    "a pipe": (lambda: (Path(RAW[1]).unlink(), os.mkfifo(RAW[1])), f"missing or not readable: {RAW[1]}"),
    "a picture less": (lambda: Path("data/images/1.jpg").unlink(), f"differs: {RAW[0]}"),
    "a picture more": (lambda: Path("data/images/3.jpg").touch(), f"differs: {RAW[0]}"),
    "pictures of other names": (lambda: Path("data/images/1.jpg").rename("data/images/3.jpg"), f"differs: {RAW[0]}"),
    "no page": (lambda: Path(READ[0]).unlink(), f"missing or not readable: {READ[0]}"),
    "no figures": (lambda: shutil.rmtree(READ[1]), f"missing or not readable: {READ[1]}"),
}


@pytest.mark.parametrize(("change", "said"), CHANGES.values(), ids=CHANGES)
def test_verify_prints_one_line_per_change(root, change, said, capsys):
    change()
    status, lines = verified(root, capsys)
    assert (status, lines[:-1]) == (1, [said.replace(": ", f": {root}/")])
    assert lines[-1] == f"{N_FILES - 1} of {N_FILES} files match the manifest"
    # At its end, a run compares the results only with their records, in another process.
    results = manifest.recorded(Path("results"))
    fault, _, name = said.partition(": ")
    of_result = {name: fault} if name.startswith("results") else {}
    assert manifest.different(results, "results/seen.json") == manifest.different(results) == of_result


def rewritten(path, change):
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))


def test_impossible_file_names_are_reported_in_one_line_each(root, capsys):
    strange = dict.fromkeys(("x" * 5000, "two\nlines"), "0")
    rewritten(root / "results/claims/mine/manifest.json", lambda found: found["tables"].update(strange))
    status, lines = verified(root, capsys)
    assert (status, len(lines)) == (1, 3)
    assert f"missing or not readable: {root}/two\\nlines" in lines


def test_another_version_is_noted_but_is_no_difference(root, capsys):
    others = {"numpy": ["1.0"], "commit": ["0000"], "scipy's BLAS": ["mkl 1"]}
    rewritten(root / "results/claims/mine/manifest.json", lambda found: found["made_with"].update(others))
    status, lines = verified(root, capsys)
    notes = ["note: commit: 0000", "note: numpy: 1.0", "note: scipy's BLAS: mkl 1"]
    assert (status, [line.split(" when made, ")[0] for line in lines[:-1]]) == (0, notes)


def test_two_runs_are_compared_by_their_tables(root, tmp_path, capsys):
    other = make(tmp_path / "elsewhere", settings={"seed": 2})
    for path in (root / "results/claims/mine/manifest.json", other):
        rewritten(path, lambda found: found["made_with"].update(numpy=["1", "2"]))
    mixed = "note: numpy: 1 and 2 in the first, 1 and 2 in the other (a mixture)"
    same = ["note: the settings differ", mixed, "2 of 2 files are the same in both manifests"]
    assert verified(root, capsys, "--against", str(other)) == (0, same)
    rewritten(other, lambda found: found["tables"].update({TABLES[1]: "0", "more.csv": "0"}))
    rewritten(root / "results/claims/mine/manifest.json", lambda found: found["tables"].update({"few.csv": "0"}))
    status, lines = verified(root, capsys, "--against", str(other))
    here = root / "results/claims/mine/manifest.json"
    expected = [f"only in {here}: few.csv", f"only in {other}: more.csv", f"differs: {TABLES[1]}"]
    assert (status, lines[2:]) == (1, [*expected, "1 of 4 files are the same in both manifests"])


def test_a_comparison_of_two_runs_notes_other_raw_files_and_other_versions(root, tmp_path, capsys):
    other = make(tmp_path / "elsewhere")
    rewritten(
        root / "results/claims/mine/manifest.json", lambda found: found["made_with"].update(numpy=["1"], old=["3"])
    )
    rewritten(other, lambda found: found["made_with"].update(numpy=["1", "2"]))
    rewritten(other, lambda found: found["inputs"]["mine"].update({RAW[1]: "0"}))
    assert verified(root, capsys, "--against", str(other))[1] == [
        "note: the inputs differ",
        "note: numpy: 1 in the first, 1 and 2 in the other (a mixture)",
        "note: old: 3 in the first, none in the other",
        "2 of 2 files are the same in both manifests",
    ]


BLOCKS = '"made_with": {"numpy": ["1"]}, "settings": {}'
NO_MANIFESTS = [
    None,  # no file
    *("", "[]", "null", "{", "[" * 100_000, "{}", '{"made_with": []}'),
    f'{{{BLOCKS}, "inputs": {{}}, "tables": {{}}}}',  # no table
    f'{{{BLOCKS}, "inputs": {{"mine": 3}}, "tables": {{"a.csv": "0"}}}}',
    f'{{{BLOCKS}, "inputs": {{}}, "tables": {{"a.csv": {{"sha256": "0"}}}}}}',  # no text
    '{"made_with": {"numpy": [{}]}, "settings": {}, "inputs": {}, "tables": {"a.csv": "0"}}',
    '{"made_with": {}, "inputs": {}, "tables": {"a.csv": "0"}}',
    f'{{{BLOCKS}, "inputs": {{}}, "tables": {{"a.csv": "0"}}',  # truncated
    str([0] * 1000),
]


@pytest.mark.parametrize("text", NO_MANIFESTS)
def test_the_error_about_a_file_that_is_not_a_manifest_is_one_line(tmp_path, text, capsys):
    path = tmp_path / "manifest.json"
    if text is not None:
        path.write_text(text)
    assert main(["verify", str(path)]) == 2
    error = capsys.readouterr().err
    said = f"there is no manifest {path}: " if text is None else f"{path} is not a manifest, or is damaged"
    assert error.startswith(f"error: {said}") and error.count("\n") == 1
    assert len(error) < len(str(path)) + 300

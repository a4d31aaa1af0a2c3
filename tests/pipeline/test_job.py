"""The frame of a script: its messages if it works and if it fails, in a separate process as in a run."""

import os
import pty
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from job import key_of, left_by, parts
from snakemake.iocontainers import Params

from jointsparse.pipeline.app import disk
from jointsparse.pipeline.app.terminal import ERASE
from jointsparse.pipeline.provenance import records
from jointsparse.pipeline.provenance.tables import write_arrays

SCRIPT = """
import itertools
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
import job
from jointsparse.checks import Misfit
from jointsparse.pipeline.provenance import records
from jointsparse.pipeline.provenance.tables import Damaged
from snakemake.iocontainers import Params
params = Params(toclone=["basis.py 12"], fromdict={"where": "studies.annotation.basis"})
files = ["results/a/words.csv", "results/a/it's.npz", "tasks.py"]
records.write(files, records.read_inputs([]), job="", code=[], values={}, raw={})
snakemake = SimpleNamespace(
    rule="fit_basis", wildcards=["collage", "1"], params=params, log=["job.log"], input=files, output=["made.csv"]
)
warnings.simplefilter("always")
if "edited" in sys.argv:
    Path(files[0]).write_text("edited")
ticks = itertools.count(10**9, 4)
if "slow" in sys.argv:  # a clock that advances by four seconds whenever it is read
    job.time.monotonic = lambda: next(ticks)
with job.job(snakemake) as progress:
"""


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a body inside a job, and returns exit status, stdout, stderr and the log."""
    (tmp_path / "results" / "a").mkdir(parents=True)
    for name in ("results/a/words.csv", "results/a/it's.npz", "tasks.py", "made.csv"):
        (tmp_path / name).touch()

    def run(body, *arguments, stderr=subprocess.PIPE, log="job.log"):
        code = SCRIPT.replace("job.log", log) + "\n".join(f"    {line}" for line in body.splitlines())
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=stderr, env=environment, cwd=tmp_path, text=True)
        log = (tmp_path / "job.log").read_text()
        return SimpleNamespace(status=done.returncode, out=done.stdout, err=done.stderr, log=log)

    return run


FAILURES = {
    "raise ValueError('rank must be at most 300,\\n    got 900')": (
        "rank must be at most 300, got 900 (config.yaml: studies.annotation.basis)"
    ),
    "raise Damaged(\"results/a/it's.npz\", 'cut\\noff')": (
        "results/a/it's.npz is damaged (cut off): delete it and run again "
        "(rm 'results/a/it'\"'\"'s.npz'; then the same command as before)"
    ),
    "raise Misfit('Y must have 3 rows')": (
        "Y must have 3 rows. One of its inputs is from another run "
        "(rm results/a/words.csv 'results/a/it'\"'\"'s.npz'; then the same command as before)"
    ),
    "raise TypeError('first\\n    second')": "TypeError: first second (the traceback is in job.log)",
    "raise ValueError('no \\x1b[2J\\u202e')": "no \\x1b[2J\\u202e (config.yaml: studies.annotation.basis)",
}


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ({"studies": {"annotation": {"runs": 2}}}, "studies.annotation"),
        ({}, "final"),
        ({"studies": {"d": {}}}, "final"),
    ],
)
def test_the_places_of_a_value_are_places_in_the_users_config(run, entry, place):
    studies = {"c": {"like": "b"}, "b": {"like": "annotation"}, "annotation": {}}
    config = {"quick": True, "studies": studies, "datasets": {"mine": entry}}
    done = run(
        "snakemake.wildcards = SimpleNamespace(dataset='mine-quick', study='c')\n"
        "snakemake.params.where = 'studies.c.basis'\n"
        f"snakemake.config = {config}\n"
        "print(job._place(snakemake))"
    )
    places = [f"studies.{name}.basis" for name in studies] + [f"datasets.mine.{place}"]
    assert done.out == ", or ".join(places) + "\n"


@pytest.mark.parametrize(("body", "said"), FAILURES.items())
def test_a_failure_is_one_line_with_what_to_do_and_has_its_traceback_in_the_log(run, body, said):
    done = run(body)
    assert (done.status, done.err) == (1, f"error: fit_basis collage 1: {said}\n")
    assert done.err.strip() in done.log and "Traceback" in done.log
    assert "first" not in run("pass").log  # the log has only this job


FULL_DISKS = {
    "raise OSError(28, 'No space left on device', 'results/a/made.csv')": "results/a",
    "raise OSError(122, 'Disk quota exceeded', 'made.csv')": "",
    "try:\n    raise OSError(28, 'Full', 'results/made')\nexcept OSError:\n    raise ValueError": "results",
}


@pytest.mark.parametrize(("body", "folder"), FULL_DISKS.items())
def test_a_job_on_a_full_disk_leaves_the_message_to_the_run(run, tmp_path, body, folder):
    done = run(body)
    assert (done.status, done.err) == (disk.STATUS, "")
    assert f"error: fit_basis collage 1: {disk.SENTENCE.format(tmp_path / folder)}\nTraceback" in re.sub(
        r"\n\S+ \S+ (?=Traceback)", "\n", done.log
    )


def test_a_log_on_a_full_disk_ends_a_job_without_any_output(run):
    assert run("pass").status == 0
    done = run("pass", log="/dev/full")
    assert (done.status, done.err) == (disk.STATUS, "")


def test_a_log_that_cannot_be_written_is_one_line(run, tmp_path):
    (tmp_path / "job.log").touch()
    done = run("pass", log="results/a")
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert done.err.startswith("error: fit_basis collage 1: IsADirectoryError: [Errno 21] Is a directory: 'results/a'")


@pytest.mark.parametrize(
    ("n", "more"), [(5, "the same command as before)"), (6, "the same command as before, or one of 1 more in job.log)")]
)
def test_many_files_that_do_not_belong_together_are_listed_latest_stage_first(run, n, more):
    files = [f"results/a/{i}.csv" for i in range(n)]
    done = run(f"snakemake.input = {[*files, 'tasks.py', 'results/a/tables/last.csv']}\nraise Misfit('Other rows')")
    shown = " ".join(["results/a/tables/last.csv", *files[:5]])
    assert done.err.endswith(f": Other rows. One of its inputs is from another run (rm {shown}; then {more}\n")


def test_a_record_holds_the_code_and_the_inputs_of_its_job(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("pass")
    record = records.read("made.csv")
    assert record["code"] == records.digest(["basis.py 12"])
    assert record["files"] == records.checksums(["results/a/words.csv", "results/a/it's.npz", "tasks.py"])


def test_a_table_that_was_changed_later_is_refused_before_it_is_read(run):
    done = run("print('read')", "edited")
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        "error: fit_basis collage 1: results/a/words.csv is damaged (it was changed after it was made): delete it and "
        "run again (rm results/a/words.csv; then the same command as before)\n"
    )


def test_progress_and_warnings_are_logged_and_a_long_job_reports_its_progress_every_minute(run):
    done = run("warnings.warn('mind the gap')\nfor i in range(20):\n    progress(i + 1, 20)", "slow")
    assert done.status == 0
    assert re.findall(r" (\d+) of 20$", done.log, re.MULTILINE) == ["16"]
    assert re.findall(r"^fit_basis \w.*: (\d+) of 20$", done.err, re.MULTILINE) == ["16"]
    assert "mind the gap" in done.log and "gap" not in done.err
    logged = [line.split(" ", 2)[2] for line in done.log.splitlines() if line.startswith("2")]
    assert (logged[0], logged[-1]) == ("fit_basis collage 1 begins", "fit_basis collage 1 ends")


def test_a_search_says_every_minute_which_fit_begins_and_its_log_has_all(run):
    search = "logger = logging.getLogger('jointsparse.estimators.search')"
    done = run(f"import logging\n{search}\nfor i in range(20):\n    logger.info('l1, radius %d', i + 1)", "slow")
    assert re.findall(r"^fit_basis \w.*: l1, radius (\d+)$", done.err, re.MULTILINE) == ["16"]
    assert len(re.findall(r" l1, radius \d+$", done.log, re.MULTILINE)) == 21


def test_a_job_that_works_or_is_interrupted_says_nothing(run):
    assert [run("progress(1, 5)").err, run("raise KeyboardInterrupt").err] == ["", ""]


def test_a_line_on_a_terminal_overwrites_the_line_of_the_run(run):
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)  # reading fails if nothing was written, instead of waiting forever
    run("raise ValueError", stderr=theirs)
    got = os.read(ours, 10_000).decode()
    os.close(ours)
    os.close(theirs)
    assert got.startswith(f"{ERASE}error: fit_basis")


# What a job reads, and what an earlier job has left

WITH_RAW_FILES = """
snakemake.wildcards = SimpleNamespace(dataset="collage")
raw = {{"name": "collage", "paths": ["raw.csv", "more.csv"], "cache": "seen.json", "digest": {digest!r}}}
snakemake.params = Params(fromdict={{"where": "datasets.collage.options", "raw": raw, "rank": 3}})
"""


@pytest.mark.parametrize("change", ["", "Path('raw.csv').write_text('other')", "Path('more.csv').touch()"])
def test_raw_files_that_change_while_a_job_reads_them_end_it_without_a_record(run, tmp_path, monkeypatch, change):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw.csv").write_text("image,caption")
    digest = records.digest(records.checksums(["raw.csv", "more.csv"], "seen.json"))
    done = run(WITH_RAW_FILES.format(digest=digest) + change)
    record = records.read("made.csv")
    if change:
        said = (
            "raw files must not change while they are read, "
            "but the contents of raw.csv, more.csv have changed: run again"
        )
        assert done.err == f"error: fit_basis collage 1: {said} (config.yaml: datasets.collage.options)\n"
        assert (done.status, record) == (1, {})
    else:
        assert (done.status, record["raw"]) == (0, {"collage": [digest]})
        assert record["values"] == {"where": "datasets.collage.options", "rank": 3}


PARAMS = {
    "where": "features.options",
    "keep": False,
    "loader": "photos",
    "options": {"root": "mine", "seed": 0},
    "longest_side": 320,
    "extractor": "dense_sift",
    "extractor_options": {"step": 8},
    "sample": {"images": 100},
    "vocabularies": {"tree": {"depth": 2}},
    "seed": 1,
}


@pytest.mark.parametrize("name", PARAMS)
def test_results_of_an_earlier_job_are_reused_only_with_the_same_values(name):
    before, after = (key_of(Params(["a.py 12"], fromdict=values)) for values in (PARAMS, PARAMS | {name: ["another"]}))
    assert (before == after) == (name in ("where", "keep"))  # these do not affect what is computed from an image


def test_results_of_an_earlier_job_are_reused_only_with_the_same_code_and_inputs():
    keys = [
        key_of(Params(["a.py 12"], fromdict=PARAMS | {"options": {"seed": 0, "root": "mine"}}), "one", "two"),
        key_of(Params(["a.py 12"], fromdict=PARAMS), "one", "two"),
        key_of(Params(["a.py 13"], fromdict=PARAMS), "one", "two"),
        key_of(Params([], fromdict=PARAMS), "one", "two"),
        key_of(Params(["a.py 12"], fromdict=PARAMS), "two", "two"),
        key_of(Params(["a.py 12"], fromdict=PARAMS), "one"),
    ]
    assert keys[0] == keys[1] and len(set(keys)) == 5


def test_arrays_of_an_earlier_job_are_read_if_they_are_intact_and_have_the_key(tmp_path):
    path = str(tmp_path / "left.npz")
    assert left_by(path, "a") == {}
    write_arrays(path, key="a", names=["x"], more=[1])
    assert left_by(path, "a") == {}  # the job was not finished
    records.write([path], records.read_inputs([]), job="", code=[], values={}, raw={})
    assert [set(left_by(path, "a", *names)) for names in ((), ("names",))] == [
        {"key", "names", "more"},
        {"key", "names"},
    ]
    assert left_by(path, "b") == left_by(path, "a", "digests") == {}  # other settings, another version


def test_parts_of_a_job_share_its_progress():
    fractions = []
    for _, tell in parts("abc", lambda done, total: fractions.append(done / total)):
        tell(1, 4)
        tell(4, 4)
    assert fractions == pytest.approx([1 / 12, 4 / 12, 5 / 12, 8 / 12, 9 / 12, 1])

"""The frame of a script: its messages if it works and if it fails, its record, and the results that it reuses."""

import logging
import re
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
from albums import lay
from job import ERASE, SEARCHING, Damaged, Misfit, disk, job, key_of, parts, records
from snakemake.iocontainers import Params

pytestmark = pytest.mark.filterwarnings("ignore:unclosed file")  # the log is open until a process ends
INPUTS = TABLE, ARRAYS, CODE = ["results/a/words.csv", "results/a/it's.npz", "tasks.py"]
MANY = [CODE, *(f"results/a/{i}.csv" for i in range(6)), "results/a/tables/last.csv"]
NAME, AGAIN = "fit_basis mine-quick c", "the same command as before"


# Runs a job, which ends by an error if there is one, in a folder with its inputs.
@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lay(tmp_path, dict.fromkeys([*INPUTS, *MANY, "raw.csv", "made.csv", "job.log"], "from an earlier job"))
    records.write([*INPUTS, *MANY], records.read_inputs([]), job="", code=[], values={}, raw={})

    def run(error=None, body=lambda progress: None, *, log="job.log", inputs=INPUTS, entry=(), **params):
        snakemake = SimpleNamespace(
            rule="fit_basis",
            wildcards=type("Wildcards", (list,), {"dataset": "mine-quick", "study": "c"})(["mine-quick", "c"]),
            params=Params(toclone=["basis.py 12"], fromdict={"where": "studies.c.basis"} | params),
            config={"quick": True, "studies": {"c": {"like": "b"}, "b": {}}, "datasets": {"mine": dict(entry)}},
            log=[log],
            input=inputs,
            output=["made.csv"],
        )
        with monkeypatch.context() as patch, pytest.raises(SystemExit) as ended:
            for name in ("", *SEARCHING):  # pytest, too, handles logs
                patch.setattr(logging.getLogger(name), "handlers", [])
            patch.setattr(logging, "raiseExceptions", True)
            logging.getLogger().setLevel(logging.WARNING)
            with job(snakemake) as progress:
                body(progress)
                if error:
                    raise error
            sys.exit(0)
        logging.captureWarnings(False)
        return SimpleNamespace(
            status=ended.value.code, err=capsys.readouterr().err, log=(tmp_path / "job.log").read_text("utf-8")
        )

    return run


def caused_by_a_full_disk():
    """Return an error that was raised while an error was handled that a full disk had caused."""
    error, handled = ValueError("not written"), ValueError("not closed")
    error.__context__, handled.__cause__ = handled, OSError(28, "Full", "results/a/made.csv")
    return error


@pytest.mark.parametrize(
    ("error", "given", "said"),
    [
        pytest.param(
            ValueError("rank must be 3,\n    got \x1b[2J"),
            {},
            "rank must be 3, got \\x1b[2J (config.yaml: studies.c.basis, or studies.b.basis, or datasets.mine.final)",
            id="a value",
        ),
        pytest.param(
            ValueError("No"),
            {"entry": {"studies": {"b": {"runs": 2}}}},
            "No (config.yaml: studies.c.basis, or studies.b.basis, or datasets.mine.studies.b)",
            id="a value of a dataset's study",
        ),
        pytest.param(ValueError("No"), {"where": "seed"}, "No (config.yaml: seed)", id="a value of no study"),
        pytest.param(
            Damaged(ARRAYS, "cut\noff"),
            {},
            f"{ARRAYS} is damaged (cut off): delete it and run again (rm 'results/a/it'\"'\"'s.npz'; then {AGAIN})",
            id="a damaged file",
        ),
        pytest.param(
            None,
            {"inputs": ["raw.csv"]},
            "raw.csv is damaged (there is no record of how it was made): delete it and run again "
            f"(rm raw.csv; then {AGAIN})",
            id="an input without a record",
        ),
        pytest.param(
            Misfit("No"),
            {},
            f"No. One of its inputs is from another run (rm {TABLE} 'results/a/it'\"'\"'s.npz'; then {AGAIN})",
            id="files of several runs",
        ),
        pytest.param(
            Misfit("No"),
            {"inputs": MANY},
            f"No. One of its inputs is from another run (rm {MANY[-1]} {' '.join(MANY[1:6])}; then {AGAIN}, or one of "
            "1 more in job.log)",
            id="many files, of which those of the last stage come first",
        ),
        pytest.param(
            OSError(122, "Disk quota exceeded", "made.csv"), {}, disk.SENTENCE.format("HERE"), id="a full disk"
        ),
        pytest.param(
            caused_by_a_full_disk(), {}, disk.SENTENCE.format("HERE/results/a"), id="an error because of a full disk"
        ),
        pytest.param(
            TypeError("a\n  b"), {}, "TypeError: a b (the traceback is in job.log)", id="a mistake in the code"
        ),
    ],
)
def test_a_failure_is_one_line_with_what_to_do_and_its_traceback_is_in_the_log(run, tmp_path, error, given, said):
    line, read = f"error: {NAME}: {said.replace('HERE', str(tmp_path))}\n", []
    done = run(error, read.append, **given)
    # Whatever job finds a full disk, only the run says so.
    assert (done.status, done.err) == ((disk.STATUS, "") if disk.AGAIN in said else (1, line))
    assert line in done.log and "Traceback" in done.log and "earlier" not in done.log
    assert records.read("made.csv") == {} and bool(read) == bool(error)  # no job begins with damaged inputs


@pytest.mark.parametrize(
    ("log", "status", "said"),
    [("/dev/full", disk.STATUS, ""), ("results/a", 1, f"error: {NAME}: IsADirectoryError: .*: 'results/a' .*\n")],
)
def test_a_log_that_cannot_be_written_ends_a_job(run, log, status, said):
    done = run(log=log)
    assert done.status == status and re.fullmatch(said, done.err)


@pytest.mark.filterwarnings("always:mind")
def test_a_long_job_says_once_a_minute_how_far_it_is_or_which_fit_begins_and_its_log_has_more(run, monkeypatch):
    logger, seconds = logging.getLogger("jointsparse.estimators.search"), [10**9]
    monkeypatch.setattr("job.time", SimpleNamespace(monotonic=lambda: seconds[0]))

    def body(progress):
        warnings.warn("mind the gap", stacklevel=1)
        for i in range(40):
            seconds[0] += 4
            if i < 20:
                progress(i + 1, 20)
            else:
                logger.info("l1, radius %d", i - 19)

    done = run(body=body)
    # With 4 s per step, a minute has passed at the steps 16 and 32.
    assert (done.status, done.err) == (0, f"{NAME}: 16 of 20\n{NAME}: l1, radius 12\n")
    lines = [line.split(" ", 2)[2] for line in done.log.splitlines() if line.startswith("2")]
    assert (lines[0], lines[-1], lines.count(f"{NAME}: 16 of 20")) == (f"{NAME} begins", f"{NAME} ends", 1)
    assert "mind the gap" in done.log and len(re.findall(r" l1, radius \d+$", done.log, re.MULTILINE)) == 21


def test_a_job_that_is_interrupted_says_nothing():
    interrupted = [sys.executable, "-c", f"import sys; sys.path = {sys.path}; import job; raise KeyboardInterrupt"]
    assert subprocess.run(interrupted, capture_output=True, check=False).stderr == b""


def test_a_line_on_a_terminal_overwrites_the_line_of_the_run(run, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert run(ValueError()).err.startswith(f"{ERASE}error: {NAME}")


def test_a_record_holds_code_values_inputs_and_raw_files_unless_these_change_during_the_job(run):
    digest = records.digest(records.checksums(["raw.csv", "more.csv"]))
    raw = {"name": "mine", "paths": ["raw.csv", "more.csv"], "cache": "seen.json", "digest": digest}
    done = run(body=lambda _: Path("more.csv").touch(), raw=raw)
    assert "but the contents of raw.csv, more.csv have changed: run again" in done.err
    assert records.read("made.csv") == {}
    Path("more.csv").unlink()
    assert run(raw=raw, rank=3).status == 0
    assert {
        "job": NAME,
        "code": records.digest(["basis.py 12"]),
        "files": records.checksums(INPUTS),
        "values": {"where": "studies.c.basis", "rank": 3},
        "raw": {"mine": [digest]},
    }.items() <= records.read("made.csv").items()


PARAMS = {"where": "features", "keep": False, "options": {"root": "mine", "seed": 0}, "step": 8, "seed": 1}


def test_results_of_an_earlier_job_are_reused_only_with_the_same_code_values_and_inputs():
    def key(*inputs, code=("a.py 12",), **values):
        return key_of(Params([*code], fromdict=PARAMS | values), *inputs)

    assert {name: key(**{name: "another"}) == key() for name in PARAMS} == {
        "where": True,  # `where` and `keep` do not affect what is computed from an image
        "keep": True,
        "options": False,
        "step": False,
        "seed": False,
    }
    others = [key(), key(code=["a.py 13"]), key(code=[]), key("one"), key("two"), key("one", "two"), key("two", "one")]
    assert len({*others}) == 7 and key(options={"seed": 0, "root": "mine"}) == key()


def test_parts_of_a_job_share_its_progress():
    told = []
    for _, progress in parts("ab", lambda *done: told.append(done)):
        progress(1, 4)
    assert told == [(1, 8), (5, 8)]

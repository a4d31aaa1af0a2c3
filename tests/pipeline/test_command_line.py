"""The command `jointsparse`: what `init` writes, what `run` starts, how it ends and unlocks, and what is refused."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest
import yaml
from albums import lay
from test_configuration import SHIPPED

from jointsparse.pipeline.app import command_line, disk, lock
from jointsparse.pipeline.app.command_line import WORKFLOW, main
from jointsparse.pipeline.app.interrupt import RESUME
from jointsparse.pipeline.settings import read
from jointsparse.pipeline.settings.inheritance import merged

PICTURES = dict.fromkeys((f"{i:02}.jpg" for i in range(40)), "")
CAPTIONS = "image,caption\n" + "".join(f"{name},A {('cat', 'dog')[i % 2]}.\n" for i, name in enumerate(PICTURES))
ALBUM = PICTURES | {"captions.csv": CAPTIONS, "notes.txt": "No table."}
TABLE = {
    "clip features.csv": "a,b,c\n" + "".join(f"{i // 2}.5,{i % 3}.5,{i % 7}e-3\n" for i in range(40)),
    "labels.csv": "dog,cat,split\n"
    + "".join(f"{i % 2},{1 - i % 2},{('train', 'val', 'test', 'train')[i // 10]}\n" for i in range(40)),
}
OF_TABLE = {
    "loader": "arrays",
    "options": {"features": "clip features.csv", "labels": "labels.csv", "split": "split", "columns": ["dog", "cat"]},
    "final": {"words": {"n_words": 2}},
}
OF_ALBUM = {
    "loader": "photos",
    "options": {"images": ".", "captions": "captions.csv", "pictures": "image", "caption": "caption"}
    | {"near_duplicates": True},
    "features": {"extractor": "onnx", "options": {"model": "efficientnet-lite0"}},
    "final": {"basis": None, "words": {"n_words": 2}},
}


SET_HANDLER = signal.signal  # which a process that a test starts needs


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # a run would handle the signals of pytest


def entry_of(root, entry):
    return entry | {"options": {"root": root} | entry["options"]}


@pytest.mark.parametrize(
    ("root", "name", "files", "entry", "said"),
    [
        (
            "My data: 1",
            "My-data-1",
            ALBUM,
            OF_ALBUM,
            "Found 40 pictures with captions in captions.csv.\nThe model will",
        ),
        ("collage", "my-collage", TABLE, OF_TABLE, "Found 40 samples with 3 features.\nThe model will learn 2 labels"),
    ],
)
def test_init_writes_a_config_for_the_folder(tmp_path, monkeypatch, capsys, root, name, files, entry, said):
    lay(tmp_path / root, files)
    lay(tmp_path / "my workflow", {"config.yaml": (WORKFLOW / "config.yaml").read_bytes()})
    monkeypatch.setattr(command_line, "WORKFLOW", tmp_path / "my workflow")
    assert main(["init", root]) == 0 and capsys.readouterr().out.startswith(said)
    text = Path("config.yaml").read_text(encoding="utf-8")
    assert text.startswith(f"# yaml-language-server: $schema=file://{tmp_path}/my%20workflow/config/schema.json\n")
    written = yaml.safe_load(text)
    assert (written["dataset"], written["datasets"]) == (name, {name: entry_of(root, entry)})
    for whole in (text, re.sub("^( +)# ", r"\1", text, flags=re.MULTILINE)):  # without and with the suggestions
        read(merged(SHIPPED, yaml.safe_load(whole)))


X = {f"x/{name}": content for name, content in TABLE.items()}
FIRST, KEY, LAST = (WORKFLOW / "config.yaml").read_text(encoding="utf-8").partition("\nfeatures:\n")


# a config.yaml, cut where init adds an entry
@pytest.mark.parametrize(
    ("first", "last"),
    [
        pytest.param("seed: 2", "\n", id="no dataset"),
        pytest.param("datasets:  # none yet\n", "\nseed: 2\n", id="no dataset yet"),
        pytest.param(
            "datasets:\n    a:\n        loader: digits\n        # note: b\n", "\n# the seed\nseed: 2\n", id="comments"
        ),
        pytest.param("datasets:\n  a:\n    loader: digits # the last line", "", id="no end of line"),
        pytest.param("\ufeffdatasets:\r\n  a: {loader: digits}\r\n", "seed: 2\r\n", id="Windows"),
        pytest.param(FIRST, KEY + LAST, id="a checkout"),
    ],
)
def test_init_adds_an_entry_and_keeps_every_other_byte(tmp_path, monkeypatch, capsys, first, last):
    lay(tmp_path, X | {"config.yaml": first + last})
    # In a checkout, the config.yaml of the folder is that of the package.
    monkeypatch.setattr(command_line, "WORKFLOW", tmp_path if first == FIRST else WORKFLOW)
    assert main(["init", "x", "--add"]) == 0 and "jointsparse run --dataset x\n" in capsys.readouterr().out
    new, old = Path("config.yaml").read_bytes().decode(), yaml.safe_load(first + last)
    assert new.startswith(first) and new.endswith(last) and new.count("\r\n") == ("\r\n" in first) * new.count("\n")
    assert yaml.safe_load(new) == old | {"datasets": (old.get("datasets") or {}) | {"x": entry_of("x", OF_TABLE)}}


@pytest.mark.parametrize(
    ("files", "arguments", "said"),
    [
        ({}, "init x", "init expects a folder of data, got 'x'"),
        ({"x/a.doc": ""}, "init x", "init expects x to hold pictures with captions.csv (image,caption), another table"),
        (
            {f"x/{name}": text.replace("dog", "cat") for name, text in ALBUM.items()},
            "init x",
            "x must hold at least 2 words that 5 training images and a test image have, and as many lack, got 'A cat.'",
        ),
        (ALBUM, "init .", "must not be written into the folder of the pictures"),
        (
            {"config.yaml": ""},
            "init x",
            "this folder already has a config.yaml, and init does not overwrite it: add an",
        ),
        ({}, "init x --add", "this folder has no config.yaml to which --add could add: leave --add out"),
        (
            X | {"config.yaml": "datasets: {a: {}}"},
            "init x --add",
            "must have the entries of `datasets:` on lines of their own",
        ),
        (X | {"config.yaml": "[a]"}, "init x --add", "must have the entries of `datasets:` on lines of their own"),
        (X | {"config.yaml": "datasets:\n  X: {}"}, "init x --add", "already has a dataset x: choose another name"),
        (X | {"config.yaml": "a: 1\na: 2"}, "init x --add", "the key 'a' occurs twice in one block"),
        (X, "init x --name collage", "already has a dataset collage: choose another name with --name NAME"),
        (X, "init x --name a/b", "--name must be at most 90 letters, digits, _ and -, got 'a/b'"),
        ({}, "init \x1b[2J\u202e\x9b", r"\x1b[2J"),
        ({}, "verify \x1b[2J\u202e\x9b", r"\x1b[2J"),
        ({}, "run", "this folder has no config.yaml: write one with jointsparse init FOLDER"),
        *(
            ({}, f"{command} --cores {cores}", f"--cores must be a whole number of at least 1, or all, got {cores!r}\n")
            for command, cores in (("run", "0"), ("run", "-1"), ("report", "1.5"), ("run", ""))
        ),
        (
            {},
            "run --quick --dataset d -- -C seed=2",
            'this command already sets dataset="d" quick=True: write these settings after your --config',
        ),
        (
            {"config.yaml": "", "results/d/logs": ""},
            "run",
            "results/d/logs: File exists. A run must be able to write there\n",
        ),
        (
            {"config.yaml": "", "results/d/a/logs": ""},
            "run",
            "results/d/a/logs: File exists. A run must be able to write",
        ),
        ({}, "run --unlock", "Write options of Snakemake after --: jointsparse run -- --unlock\n"),
        ({}, "run --quick --config a=1 -n", "no option --config. Write options of Snakemake after --: jointsparse"),
        ({}, "open", "results/ has no page yet: make it with jointsparse run"),
        (
            {"results/index.html": "", "results/a/index.html": "", "results/b/index.html": ""},
            "open --dataset c",
            "results/ has no page of the dataset 'c', only of: a, b",
        ),
        (
            {"config.yaml": "", "results/claims/d-quick/manifest.json": ""},
            "report",
            "a report needs a finished run, and results/ has none: start one with jointsparse run\n",
        ),
        ({}, "warmup l3", "norm must be one of l1, l12, l1inf"),
    ],
)
def test_the_error_of_a_command_is_one_line(tmp_path, capsys, files, arguments, said):
    lay(tmp_path, files)
    assert main(arguments.split(" ")) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and said in error and error.endswith("\n") and error[:-1].isprintable()


# The options in profiles/default/config.yaml.
PROFILE = (
    "--workflow-profile none --cores all --rerun-incomplete --scheduler greedy --rerun-triggers mtime params input "
    "--max-checksum-file-size 100000000000"
)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("run", f"{{}} {PROFILE} --cores all"),
        ("run --cores 2 -- -n -C seed=2", f"{{}} {PROFILE} --cores 2 -n -C seed=2"),
        ("run --quick --compare", f"--config quick=True compare=True {{}} {PROFILE} --cores all"),
        ("run -- --workflow-profile slurm", "{} --cores all --workflow-profile slurm"),
        ("report --dataset d", f'--config dataset="d" {{}} {PROFILE} --cores all --report report.html'),
    ],
)
def test_a_run_or_report_calls_snakemake_once_and_returns_its_status(
    tmp_path, monkeypatch, capsys, arguments, expected
):
    called, ends = [], subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    monkeypatch.setattr(subprocess, "Popen", lambda command: called.append(command) or ends)
    lay(tmp_path, {"config.yaml": "", "results/claims/d/manifest.json": ""})
    assert main(arguments.split()) == 3
    (command,) = called
    assert command[1:4] == ["-P", "-c", command_line.SNAKEMAKE]
    assert " ".join(command[4:]) == expected.format(f"--snakefile {WORKFLOW / 'Snakefile'}")
    assert ("Quick run" in capsys.readouterr().err) == ("--quick" in arguments)


@pytest.mark.parametrize(
    ("number", "advice"), [(errno.ENOSPC, disk.AGAIN), (errno.EROFS, "A run must be able to write there")]
)
def test_a_run_that_cannot_write_to_its_folder_starts_nothing(tmp_path, monkeypatch, capsys, number, advice):
    lay(tmp_path, {"config.yaml": ""})
    monkeypatch.setattr(subprocess, "Popen", None)
    monkeypatch.setattr(disk.tempfile, "TemporaryFile", Mock(side_effect=OSError(number, os.strerror(number))))
    assert main(["run"]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path}: {os.strerror(number)}. {advice}\n"


def test_open_shows_the_page_that_was_written_last_or_the_list_if_no_model_was_kept(tmp_path, monkeypatch, capsys):
    shown = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    pages = ["results/new/index.html", "results/old/index.html", "results/index.html"]
    lay(tmp_path, dict.fromkeys([*pages, "results/mine/study/tables/means.csv"], ""))
    os.utime("results/old/index.html", (0, 0))
    assert [main(["open", *of]) for of in ([], ["--dataset", "old"], ["--dataset", "mine"])] == [0, 0, 0]
    assert capsys.readouterr().out.splitlines() == pages
    assert shown == [Path(page).resolve().as_uri() for page in pages]


def test_a_quick_run_of_an_embedded_dataset_needs_only_a_config_of_one_line(tmp_path, capfd):
    lay(tmp_path, {"config.yaml": "seed: 2\n"})
    assert main(["run", "--quick", "--dataset", "collage", "--", "--dry-run"]) == 0
    out, err = capfd.readouterr()
    assert re.search(r"^write_page +1$", out, re.MULTILINE)
    assert "profile" not in err, "Snakemake does not speak of the profile that we choose"


def test_an_unknown_dataset_is_refused_with_the_users_own_datasets_first(tmp_path, capfd):
    lay(tmp_path, {"config.yaml": "datasets: {mine: {loader: photos, options: {root: x}}}\n"})
    assert main(["run", "--dataset", "nosuch", "--", "--dry-run"]) == 1
    assert "dataset must be one of mine, " in capfd.readouterr().err


@pytest.mark.parametrize("command", ["", *command_line.COMMANDS])
def test_the_help_has_an_example_of_each_command(capsys, command):
    with pytest.raises(SystemExit):
        main([*filter(None, [command]), "--help"])
    examples = re.findall(r"^ +jointsparse (\w+)", capsys.readouterr().out, re.MULTILINE)
    assert examples == ([command] if command else [*command_line.COMMANDS])


# The lock of a folder, and the end of a run

LOCKS = Path(".snakemake/locks")
RUN = """
import sys
from pathlib import Path
from jointsparse.pipeline.app import command_line
command_line.WORKFLOW = Path("workflow").absolute()
sys.exit(command_line.main(["run", "--cores", "1"]))
"""
SNAKEFILE = """
from jointsparse.pipeline.app import lock, progress
progress.attach(workflow, str)
onstart:
    lock.sign()
rule all:
    output: "made"
    shell: "echo part > {output}; test -e go || sleep 99; echo whole > {output}"
"""


def change(**values):
    lock.HOLDER.write_text(json.dumps(json.loads(lock.HOLDER.read_text(encoding="utf-8")) | values), encoding="utf-8")


BEGUN, GONE = lock._begun(os.getpid()), 2**22 + 1  # no process has this number
UNKNOWN = "another run is at work in it or was killed. If no run is at work, run jointsparse run -- --unlock"
NO_RUN = f"a run is at work in it (process {os.getpid()}). Wait until it has finished. If that process is not a run"


# what becomes of a lock of this process, and the message if the lock stays
@pytest.mark.parametrize(
    ("alter", "said"),
    [
        pytest.param(lambda: None, NO_RUN, id="the process is alive"),
        pytest.param(lambda: change(process=GONE), "", id="it has ended"),
        pytest.param(lambda: change(begun=[0, 0]), "", id="its number was given to another process"),
        pytest.param(lambda: change(begun=[0, BEGUN[1]]), NO_RUN, id="the clock was changed"),
        pytest.param(lambda: change(begun=[BEGUN[0], 0]), NO_RUN, id="the clock was changed, not on Linux"),
        pytest.param(
            lambda: change(process=GONE, place=["elsewhere", ""]),
            "a run on elsewhere is at work in it or was killed",
            id="another machine",
        ),
        pytest.param(
            lambda: (change(process=GONE), (LOCKS / "1.output.lock").touch()), UNKNOWN, id="an additional lock"
        ),
        pytest.param(lambda: (change(process=GONE), os.utime(LOCKS / "0.input.lock")), UNKNOWN, id="a replaced lock"),
        pytest.param(lock.HOLDER.unlink, UNKNOWN, id="no record"),
        pytest.param(lambda: lock.HOLDER.write_text("{", encoding="utf-8"), UNKNOWN, id="a truncated record"),
        pytest.param(lambda: lock.HOLDER.write_text("null", encoding="utf-8"), UNKNOWN, id="an empty record"),
    ],
)
def test_a_lock_is_removed_if_its_holder_is_gone_and_in_doubt_a_message_says_who_it_may_be(tmp_path, alter, said):
    lay(tmp_path, {".snakemake/locks/0.input.lock": "results/a", ".snakemake/locks/0.output.lock": "results/a"})
    lock.sign()
    alter()
    before = sorted(LOCKS.iterdir())
    assert said in lock.sentence() and lock.release() == (not said)
    assert sorted(LOCKS.iterdir()) == (before if said else [])


@pytest.fixture
def workflow(tmp_path):
    shutil.copytree(WORKFLOW / "profiles", tmp_path / "workflow" / "profiles")
    lay(tmp_path, {"workflow/Snakefile": SNAKEFILE, "config.yaml": ""})


def begin():
    return subprocess.Popen(
        [sys.executable, "-c", RUN],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell's background jobs ignore SIGINT, and nohup ignores SIGHUP.
        preexec_fn=lambda: [SET_HANDLER(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGHUP)],
    )


def wait_for_job(run):
    while run.poll() is None and not (Path("made").exists() and Path("made").stat().st_size):
        time.sleep(0.05)


@pytest.mark.usefixtures("workflow")
@pytest.mark.parametrize(
    "signals",
    [(signal.SIGINT, signal.SIGINT), (signal.SIGHUP, signal.SIGTERM)],
    ids=["Ctrl-C twice", "a closed terminal, then SIGTERM"],
)
def test_signals_end_a_run_and_its_jobs_and_the_folder_is_free(signals):
    wait_for_job(run := begin())
    tree = psutil.Process(run.pid).children(recursive=True)
    for number in signals:
        os.killpg(run.pid, number) if number == signal.SIGINT else os.kill(run.pid, number)
        time.sleep(0.1)
    assert run.communicate()[1].splitlines()[-1] == RESUME and run.returncode == 1
    assert tree and not any(process.is_running() for process in tree) and not list(LOCKS.glob("*"))


@pytest.mark.usefixtures("workflow")
def test_a_run_does_not_start_beside_a_live_run_and_after_a_kill_unlocks_and_remakes_partial_files():
    wait_for_job(run := begin())
    holder = json.loads(lock.HOLDER.read_text(encoding="utf-8"))["process"]
    assert f"a run is at work in it (process {holder})" in begin().communicate()[1]
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    assert Path("made").read_text(encoding="utf-8") == "part\n"
    Path("go").touch()
    assert "Unlocked this folder, which a killed run had left locked.\n" in begin().communicate()[1]
    assert Path("made").read_text(encoding="utf-8") == "whole\n"

"""The command `jointsparse`: what `init` writes, which Snakemake command `run` starts, and what is refused."""

import errno
import os
import re
import signal
import subprocess
import webbrowser
from pathlib import Path

import pytest
import yaml
from raw import raw_files
from test_configuration import SHIPPED

from jointsparse.norms import NORMS
from jointsparse.pipeline.app import command_line, disk
from jointsparse.pipeline.app.command_line import WORKFLOW, main
from jointsparse.pipeline.app.plain_yaml import check_file
from jointsparse.pipeline.settings import read
from jointsparse.pipeline.settings.datasets import Pictures
from jointsparse.pipeline.settings.inheritance import merged

NAMES = [f"{i:02}.jpg" for i in range(40)]
TEXTS = ["A dog." if i % 2 else "A cat." for i in range(40)]
CAPTIONS = "image,caption\n" + "".join(f"{name},{text}\n" for name, text in zip(NAMES, TEXTS, strict=True))
SPLITS = ["train"] * 20 + ["val"] * 10 + ["test"] * 10
CLASSES = {f"images/{text[2:5]}/{name}": split for name, text, split in zip(NAMES, TEXTS, SPLITS, strict=True)}


def pictures(folder=""):
    return dict.fromkeys((f"{folder}{name}" for name in NAMES), "")


NEAR = {"near_duplicates": True}
# by kind: files of a folder, the loader, its options except root, and the beginning of the output
KINDS = {
    "captions beside pictures": (
        pictures() | {"captions.csv": CAPTIONS, "notes.txt": "No table."},
        "photos",
        {"images": ".", "captions": "captions.csv", "pictures": "image", "caption": "caption"} | NEAR,
        "Found 40 pictures with captions in captions.csv.\nThe model will learn 2 words (cat, dog), each with ",
    ),
    "classes": (
        CLASSES | {"splits.csv": "image,split\n" + "".join(f"{name[7:]},{split}\n" for name, split in CLASSES.items())},
        "scenes",
        {"images": "images", "splits": "splits.csv"} | NEAR,
        "Found 40 pictures in 2 folders, one per class.\nThe model will learn 2 scenes (cat, dog), each with 10 pos",
    ),
    "features and labels": (
        {
            "clip features.csv": "a,b,c\n" + "".join(f"{i},{i % 2}.5,1e-3\n" for i in range(40)),
            "labels.csv": "dog,cat,split\n"
            + "".join(f"{i % 2},{1 - i % 2},{split}\n" for i, split in enumerate(SPLITS)),
            "names.txt": "a\nb\nc\n",
        },
        "arrays",
        {"features": "clip features.csv", "labels": "labels.csv", "split": "split"}
        | {"columns": ["dog", "cat"], "names": "names.txt"},
        "Found 40 samples with 3 features.\nThe model will learn 2 labels",
    ),
    "libsvm": (
        dict.fromkeys(("a_train.libsvm", "a_test.libsvm"), "".join(f"{i % 2} 1:{i}\n" for i in range(40))),
        "libsvm",
        {"train": "a_train.libsvm", "test": "a_test.libsvm"},
        "Found 80 samples with 1 feature.\nThe model will learn 2 topics (0, 1)",
    ),
}


TABLE = {
    "x/X.csv": "a\n" + "".join(f"{i}.5\n" for i in range(40)),
    "x/y.csv": "cat,dog\n" + "".join(f"{i % 2},{1 - i % 2}\n" for i in range(40)),
}
LEARN_BOTH = {"final": {"words": {"n_words": 2}}}
BY_NETWORK = {
    "features": {"extractor": "onnx", "options": {"model": "efficientnet-lite0"}},
    "final": {"basis": None, "words": {"n_words": 2}},
}


def lay(root, files):
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)


@pytest.mark.parametrize(("root", "name"), [("My data: 1", "My-data-1"), ("collage", "my-collage")])
@pytest.mark.parametrize(("files", "loader", "options", "said"), KINDS.values(), ids=KINDS)
def test_init_writes_a_config_for_the_folder(tmp_path, monkeypatch, capsys, files, loader, options, said, root, name):
    workflow = {"my workflow/config.yaml": (WORKFLOW / "config.yaml").read_text(encoding="utf-8")}
    lay(tmp_path, workflow | {f"{root}/{file}": content for file, content in files.items()})
    monkeypatch.setattr(command_line, "WORKFLOW", tmp_path / "my workflow")
    monkeypatch.chdir(tmp_path)
    assert main(["init", root]) == 0
    assert capsys.readouterr().out.startswith(said)
    check_file(Path("config.yaml"))
    lines = Path("config.yaml").read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"# yaml-language-server: $schema=file://{tmp_path}/my%20workflow/config/schema.json"
    config = merged(SHIPPED, yaml.safe_load("\n".join(lines)))
    dataset = read(config).datasets[name]
    assert len(lines) <= 40 and max(map(len, lines[1:])) <= 120 and raw_files(name, dataset)
    assert (config["dataset"], dataset.loader, dataset.options.given()) == (name, loader, {"root": root} | options)
    learnt = BY_NETWORK if isinstance(dataset, Pictures) else LEARN_BOTH
    assert config["datasets"][name] == {"loader": loader, "options": {"root": root} | options} | learnt
    (line,) = [line for line in lines if "    final:" in line]
    assert line.split(" in the")[0].split()[-1] == dataset.final.study
    final = yaml.safe_load("\n".join(re.sub("^( *)# ", r"\1", line) for line in lines[lines.index(line) :]))
    read(merged(config, {"datasets": {name: final}}))


OLD = {  # a config.yaml, cut where init adds an entry
    "nothing": ("", ""),
    "no dataset": ("seed: 2", "\n"),
    "no dataset yet": ("datasets:  # none yet\n", "\nseed: 2\n"),
    "comments": ("datasets:\n    a:\n        loader: digits\n        # note: b\n", "\n# the seed\nseed: 2\n"),
    "no end of line": ("datasets:\n  a:\n    loader: digits # the last line", ""),
    "Windows": ("\ufeffdatasets:\r\n  a: {loader: digits}\r\n", "seed: 2\r\n"),
    "a checkout": None,
}


@pytest.mark.parametrize("kind", OLD)
def test_init_adds_an_entry_and_keeps_every_other_byte(tmp_path, monkeypatch, capsys, kind):
    lay(tmp_path, TABLE)
    monkeypatch.chdir(tmp_path)
    text = (WORKFLOW / "config.yaml").read_text(encoding="utf-8")
    first, last = OLD[kind] or text.partition("\nfeatures:\n")[0::2]
    between = "" if OLD[kind] else "\nfeatures:\n"
    if not OLD[kind]:  # in a checkout, the config.yaml of the folder is that of the package
        monkeypatch.setattr(command_line, "WORKFLOW", tmp_path)
    Path("config.yaml").write_bytes(f"{first}{between}{last}".encode())
    for name in ("x", "y"):
        assert main(["init", "x", "--add", *(["--name", "y"] if name == "y" else [])]) == 0
        assert f"jointsparse run --dataset {name}\n" in capsys.readouterr().out
    new = Path("config.yaml").read_bytes().decode()
    assert new.startswith(first) and new.endswith(between + last)
    check_file(Path("config.yaml"))
    old = yaml.safe_load(f"{first}{between}{last}") or {}
    options = {"root": "x", "features": "X.csv", "labels": "y.csv", "columns": ["cat", "dog"]}
    entry = {"loader": "arrays", "options": options} | LEARN_BOTH
    assert yaml.safe_load(new) == old | {"datasets": (old.get("datasets") or {}) | {"x": entry, "y": entry}}
    assert ("\r\n" in new) == (kind == "Windows") and len(re.findall("(?<!\r)\n", new)) * (kind == "Windows") == 0


@pytest.mark.parametrize(
    ("files", "arguments", "said"),
    [
        ({}, "init x", "init expects a folder of data, got 'x'"),
        (
            {"x/a.doc": ""},
            "init x",
            "init expects x to hold pictures with captions.csv (image,caption), another table that names them, or",
        ),
        (
            pictures("x/test/") | pictures("x/train/"),
            "init x",
            "every folder must be a class, but of the folders test, train some are named after splits",
        ),
        (
            pictures("x/") | {"x/c.csv": CAPTIONS.replace("dog", "cat")},
            "init x",
            "x must hold at least 2 words that 5 training images and a test image have, and as many lack, got 'A cat.'",
        ),
        (pictures() | {"captions.csv": CAPTIONS}, "init .", "must not be written into the folder of the pictures"),
        (
            {"config.yaml": ""},
            "init x",
            "this folder already has a config.yaml, and init does not overwrite it: add an entry with --add",
        ),
        ({}, "init x --add", "this folder has no config.yaml to which --add could add: leave --add out"),
        (
            TABLE | {"config.yaml": "datasets: {a: {}}"},
            "init x --add",
            "must have the entries of `datasets:` on lines of their own",
        ),
        (TABLE | {"config.yaml": "[a]"}, "init x --add", "must have the entries of `datasets:` on lines of their own"),
        (TABLE | {"config.yaml": "datasets:\n  X: {}"}, "init x --add", "already has a dataset x: choose another name"),
        (TABLE | {"config.yaml": "a: 1\na: 2"}, "init x --add", "the key 'a' occurs twice in one block"),
        (TABLE, "init x --name collage", "already has a dataset collage: choose another name with --name NAME"),
        (TABLE, "init x --name a/b", "--name must be at most 90 letters, digits, _ and -, got 'a/b'"),
        ({}, "run", "this folder has no config.yaml: write one with jointsparse init FOLDER"),
        (
            {},
            "run --quick --dataset d -- -C seed=2",
            'this command already sets dataset="d" quick=True: write these settings after your --config',
        ),
        ({}, "run --unlock", "Write options of Snakemake after --: jointsparse run -- --unlock\n"),
        (
            {},
            "run --quick --config a=1 -n",
            "no option --config. Write options of Snakemake after --: jointsparse",
        ),
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
        ({}, "warmup l3", f"norm must be one of {', '.join(sorted(NORMS))}, got 'l3'"),
    ],
)
def test_the_error_of_a_command_is_one_line(tmp_path, monkeypatch, capsys, files, arguments, said):
    lay(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    assert main(arguments.split()) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and said in error and error.count("\n") == 1


# The options in profiles/default/config.yaml.
PROFILE = (
    "--workflow-profile none --cores all --rerun-incomplete --scheduler greedy --rerun-triggers mtime params input"
)
PROFILE += " --max-checksum-file-size 100000000000"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("run", f"{{}} {PROFILE} --cores all"),
        ("run --cores 2 -- -n -C seed=2", f"{{}} {PROFILE} --cores 2 -n -C seed=2"),
        ("run --quick", f"--config quick=True {{}} {PROFILE} --cores all"),
        ("run --compare", f"--config compare=True {{}} {PROFILE} --cores all"),
        ("run -- --workflow-profile slurm", "{} --cores all --workflow-profile slurm"),
        ("report --dataset d", f'--config dataset="d" {{}} {PROFILE} --cores all --report report.html'),
    ],
)
def test_a_run_calls_snakemake_once_and_returns_its_status(tmp_path, monkeypatch, capsys, arguments, expected):
    called, ends = [], subprocess.Popen("false")
    monkeypatch.setattr(subprocess, "Popen", lambda command: called.append(command) or ends)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    lay(tmp_path, {"config.yaml": "", "results/claims/d/manifest.json": ""})
    assert main(arguments.split()) == 1
    assert called[0][1:3] == ["-P", "-c"] and "snakemake" in called[0][3]
    assert " ".join(called[0][4:]) == expected.format(f"--snakefile {WORKFLOW / 'Snakefile'}")
    assert ("Quick run" in capsys.readouterr().err) == ("--quick" in arguments)


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.ENOSPC, disk.AGAIN), (errno.EDQUOT, disk.AGAIN), (errno.EROFS, "A run must be able to write there")],
)
def test_a_run_that_cannot_write_to_its_folder_starts_nothing(tmp_path, monkeypatch, capsys, number, advice):
    def fail(**_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(disk.tempfile, "TemporaryFile", fail)
    monkeypatch.setattr(subprocess, "Popen", None)
    monkeypatch.chdir(tmp_path)
    lay(tmp_path, {"config.yaml": ""})
    assert main(["run"]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path}: {os.strerror(number)}. {advice}\n"


@pytest.mark.parametrize("logs", ["results/d/logs", "results/d/study/logs"])
def test_a_run_whose_logs_cannot_be_written_starts_nothing(tmp_path, monkeypatch, capsys, logs):
    monkeypatch.setattr(subprocess, "Popen", None)
    monkeypatch.chdir(tmp_path)
    lay(tmp_path, {"config.yaml": "", logs: ""})
    assert main(["run"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {tmp_path / logs}: ") and error.endswith("must be able to write there\n")


def test_open_shows_the_page_that_was_written_last(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "open", lambda address: print(address))
    lay(tmp_path, {f"results/{name}/index.html": "" for name in ("old", "new")} | {"results/index.html": ""})
    os.utime("results/old/index.html", (0, 0))
    assert main(["open"]) == main(["open", "--dataset", "old"]) == 0
    assert [Path(line).parent.name for line in capsys.readouterr().out.splitlines()] == ["new", "new", "old", "old"]


def test_open_shows_the_list_of_datasets_if_no_model_was_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "open", lambda address: None)
    lay(tmp_path, {"results/index.html": "", "results/mine/study/tables/means.csv": ""})
    assert main(["open", "--dataset", "mine"]) == 0 and capsys.readouterr().out == "results/index.html\n"


def test_a_quick_run_of_an_embedded_dataset_needs_only_a_config_of_one_line(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    lay(tmp_path, {"config.yaml": "seed: 2\n"})
    assert main(["run", "--quick", "--dataset", "collage", "--", "--dry-run"]) == 0
    out, err = capfd.readouterr()
    assert re.search(r"^total +22$", out, re.MULTILINE) and "profile" not in err


def test_the_help_has_an_example_of_each_command(capsys):
    for command in ("", *command_line.COMMANDS):
        with pytest.raises(SystemExit):
            main([*filter(None, [command]), "--help"])
        examples = re.findall(r"^ +jointsparse (\w+)", capsys.readouterr().out, re.MULTILINE)
        assert examples == ([command] if command else [*command_line.COMMANDS])


def test_an_unknown_dataset_is_answered_with_the_datasets_of_the_user_first():
    config = merged(SHIPPED, {"dataset": "c", "datasets": dict.fromkeys("ab", SHIPPED["datasets"]["collage"])})
    with pytest.raises(ValueError, match="dataset must be one of b, a, "):
        read(config)

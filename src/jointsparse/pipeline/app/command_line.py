"""The command `jointsparse`: from a folder of data to its page, and what a kept model is good for."""

import argparse
import json
import re
import shlex
import signal
import subprocess
import sys
import warnings
import webbrowser
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from jointsparse.checks import printable, require, require_extra
from jointsparse.pipeline.app.terminal import ERASE, say

PIPELINE = Path(__file__).parents[1]
INSTALLED = PIPELINE / "_workflow"  # where a wheel has the files that lie at the top of a checkout
WORKFLOW = INSTALLED if INSTALLED.is_dir() else PIPELINE.parents[2]

# Its imports take seconds, which Ctrl-C ends with a line as the rest of a run.
SNAKEMAKE = (
    "from jointsparse.pipeline.app.interrupt import end_interrupts_with; end_interrupts_with('error: interrupted\\n'); "
    "from snakemake.cli import main; main()"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns its exit status: 2 for an error, 1 if something differs or is left out, else 0."""
    parser = _parser()
    given, unknown = parser.parse_known_args(arguments)
    if unknown and "options" not in given:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    format_of_warnings, warnings.formatwarning = warnings.formatwarning, _format_warning
    try:
        require(
            not unknown,
            f"jointsparse {given.command} has no option {''.join(unknown[:1])}; options of Snakemake go behind --: "
            f"jointsparse {given.command} -- {shlex.join([*unknown, *vars(given).get('options', [])])}",
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"PIL\.")  # which do not name the file, as the log of checks does
            status: int = given.run(given)
    except (ImportError, OSError, ValueError) as error:
        say(f"error: {error}", to=sys.stderr)
        return 2
    finally:
        warnings.formatwarning = format_of_warnings
    return status


def _format_warning(message: Warning | str, *place: Any, **more: Any) -> str:
    return f"warning: {printable(str(message))}\n"


class _Parser(argparse.ArgumentParser):
    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        if message:  # which may repeat names of files
            say(message.rstrip("\n"), to=sys.stderr)
        super().exit(status)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="jointsparse", description="Jointly sparse multi-task learning.")
    parser.add_argument("--version", action="version", version=f"jointsparse {version('jointsparse')}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (run, summary, more, arguments) in COMMANDS.items():
        added = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}. {more}")
        added.set_defaults(run=run)
        either = added.add_mutually_exclusive_group() if arguments.keys() >= EITHER else added
        for argument, options in arguments.items():
            (either if argument in EITHER else added).add_argument(argument, **options)
    return parser


def _init(given: argparse.Namespace) -> int:
    from jointsparse.pipeline.app import config

    file = Path("config.yaml")
    require(not file.exists(), "init writes no config.yaml over another, and there is one: run it in another folder")
    choices = {name: value for name, value in vars(given).items() if name in config.CHOICES}
    seen = config.write(given.folder, file, WORKFLOW / file, choices)
    say(*seen, "see config.yaml, then jointsparse run")
    return 0


def _snakemake(given: argparse.Namespace) -> int:
    """Run Snakemake with the workflow of this package, as a process of its own."""
    require_extra(f"jointsparse {given.command}", "snakemake")
    from jointsparse.pipeline.app.lock import release

    cores = re.fullmatch(r"all|0*[1-9]\d*", given.cores)
    require(cores, f"cores must be a whole number of at least 1, or all, got {given.cores!r}")
    here = given.dataset or Path("config.yaml").is_file()
    require(here, "config.yaml must lie in this folder, got none: write one by jointsparse init FOLDER")
    settings = [f'dataset="{given.dataset}"'] * bool(given.dataset)  # in quotes, as one may be called 2024
    settings += ["quick=True"] * given.quick + ["compare=True"] * given.compare
    twice = settings and any(re.match("--config(=|$)|-C", option) for option in given.options)
    require(not twice, f"--config must be given once, got it beside {' '.join(settings)}: write these after --config")
    ended = given.command != "report" or any(
        run.parent.name.endswith("-quick") == given.quick
        for run in Path("results/claims").glob(f"{given.dataset or '*'}{'-quick' * given.quick}/manifest.json")
    )
    require(
        ended, f"a report is of a run that has ended, got none in results: jointsparse run{' --quick' * given.quick}"
    )
    command = [sys.executable, "-P", "-c", SNAKEMAKE]  # -P: no module of the user's folder
    options = [*(["--config"] * bool(settings)), *settings, "--snakefile", str(WORKFLOW / "Snakefile")]
    options += ["--cores", given.cores, *(["--report", given.file] if given.command == "report" else [])]
    if given.quick:
        say("A glance at 500 samples at most.", to=sys.stderr)
    if given.command == "run" and release():
        say("A run that was killed had left this folder locked. It is unlocked.", to=sys.stderr)
    with subprocess.Popen([*command, *options, *given.options]) as process:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Snakemake has got it, too, and ends its jobs
        status = process.wait()
    if given.command == "report" and not status:
        say(given.file)
    return status


def _open(given: argparse.Namespace) -> int:
    pages = sorted(Path("results").glob(f"{given.dataset or '*'}/index.html"), key=lambda page: page.stat().st_mtime)
    require(pages, f"results must hold the page of {given.dataset or 'a dataset'}, got none: jointsparse run makes it")
    say(str(pages[-1]))
    webbrowser.open(pages[-1].resolve().as_uri())
    return 0


def _warmup(given: argparse.Namespace) -> int:
    from jointsparse.learning.warmup import warmup

    warmup(*given.norms)
    return 0


def _annotate(given: argparse.Namespace) -> int:
    from jointsparse import files as file
    from jointsparse.features.explain import is_of_pictures
    from jointsparse.pipeline.models import annotator
    from jointsparse.pipeline.provenance.tables import write_table

    model = file.load(given.model)
    _require_outside(given)
    limits = {"n_words": given.words, "precision": given.precision}
    of_pictures = is_of_pictures(model)
    require(of_pictures or not given.html, f"--html is for models of pictures, and {given.model} reads tables")
    if of_pictures:
        paths, other = annotator.pictures_below(given.pictures)
        progress = _progress if sys.stderr.isatty() else None
        found = annotator.annotate(model, paths, **limits, progress=progress)
        table, left_out = found.table, other | found.left_out
    else:
        table, left_out = annotator.annotate_rows(model, given.pictures, **limits), {}
    if given.csv:
        write_table(table, given.csv)
    else:
        say(*(_lines_of(table) if len(table) else ["no words"]))
    if given.html:
        from jointsparse.pipeline.explorer.annotated import write

        not_shown = write(given.html, model, found._replace(left_out=left_out), given.known)
        say(*(f"not shown: {name}: {reason}" for name, reason in not_shown.items()), to=sys.stderr)
    for name, reason in left_out.items():
        say(f"left out: {name}: {reason}", to=sys.stderr)
    return 1 if left_out else 0


def _require_outside(given: argparse.Namespace) -> None:
    """Raise ValueError where results would be written over pictures, or over what is no file or folder of results."""
    table, page = Path(given.csv or ""), Path(given.html or "page").resolve()
    usual = table.suffix == ".csv" and (table.is_file() or not table.exists())
    usual &= table.resolve() not in [Path(file).resolve() for file in given.pictures]
    usual |= not given.csv
    require(usual, f"--csv must name a file that ends with .csv, and none that is read, got {str(table)!r}")
    known = given.known is None or (given.html and Path(given.known).is_dir())
    require(known, f"--known must name a folder, for the page of --html, got {given.known!r}")
    inside = [folder for folder in given.pictures if given.html and page.is_relative_to(Path(folder).resolve())]
    require(not inside, f"--html must name a folder outside of the pictures, got {given.html!r} in {inside}")


def _progress(done: int, total: int) -> None:
    sys.stderr.write(f"{ERASE}{100 * done // total} %" if done < total else ERASE)


def _lines_of(table: Any) -> list[str]:
    """The lines of a table, each row in one."""
    shown = table.map(lambda cell: printable(cell) if isinstance(cell, str) else cell)
    return str(shown.to_string(index=False, float_format="{:.3f}".format)).split("\n")


def _show(given: argparse.Namespace) -> int:
    import pandas as pd

    from jointsparse.files import load

    model = load(given.model)
    card: Any = getattr(model, "card_", {"model": repr(model)})
    card = dict(card) if isinstance(card, dict) else {"card": card}
    numbers: Any = card.get("numbers")
    as_table = isinstance(numbers, list) and all(isinstance(row, dict) and row.keys() >= {*SHOWN} for row in numbers)
    if as_table:
        del card["numbers"]
    say(*(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in card.items()))
    if as_table and numbers:
        say(*_lines_of(pd.DataFrame(numbers)[SHOWN]))
    return 0


def _verify(given: argparse.Namespace) -> int:
    from jointsparse.pipeline.provenance import manifest  # needs the extra "pipeline", which --version does not

    checked, differences, notes = (
        manifest.compare(given.manifest, given.against) if given.against else manifest.verify(given.manifest)
    )
    same = "the same in both" if given.against else "as recorded"
    counted = f"{checked - len(differences)} of {checked} files {same}"
    say(*(f"note: {note}" for note in notes), *differences, counted)
    return 1 if differences else 0


OF_FILES = ("features", "labels", "captions")  # of which `init` takes a choice, and columns
OF_COLUMNS = (
    ("index", "names of the samples"),
    ("split", "their splits"),
    ("pictures", "paths of pictures"),
    ("text", "text for the page"),
    ("tags", "lists of labels"),
)
MODEL: dict[str, Any] = {"help": "a file that a run has kept: results/<dataset>/model.skops"}
OF_RUN: dict[str, dict[str, Any]] = {
    "--dataset": {"metavar": "D", "help": "an entry of datasets (default: that of config.yaml)"},
    "--quick": {"action": "store_true", "help": "a glance at few samples; results in results/<dataset>-quick"},
    "--compare": {"action": "store_true", "help": "also compare the norms over sizes of training sets, in two runs"},
    "--cores": {"metavar": "N", "default": "all", "help": "processes side by side (default: all cores)"},
    "options": {"nargs": "*", "help": "after --: options of Snakemake, such as -- --dry-run"},
}
# By name: the function, what it does, more on that, and its arguments.
COMMANDS: dict[str, tuple[Callable[[argparse.Namespace], int], str, str, dict[str, dict[str, Any]]]] = {
    "init": (
        _init,
        "write a config.yaml that fits a folder of data",
        "Looks at what lies in the folder, and says what it saw. Writes into the current folder, never over a file.",
        {
            "folder": {"type": Path, "help": "of pictures with captions or in folders, or of features with labels"},
            **{f"--{name}": {"metavar": "FILE", "help": f"the file of {name}, in the folder"} for name in OF_FILES},
            **{
                f"--{name}": {"metavar": "COLUMN", "help": f"the column of labels with {said}"}
                for name, said in OF_COLUMNS
            },
            "--ignore": {
                "action": "append",
                "metavar": "NAME",
                "help": "a file or a column that is left out; repeatable",
            },
        },
    ),
    "run": (_snakemake, "learn, and end with the page", "Makes what is missing or out of date.", OF_RUN),
    "report": (
        _snakemake,
        "write Snakemake's report of a run",
        "One file with settings, tables and figures.",
        OF_RUN | {"--file": {"default": "report.html", "help": "the file to write (default report.html)"}},
    ),
    "open": (
        _open,
        "show a page in the browser",
        "Prints where it lies.",
        {"--dataset": {"metavar": "D", "help": "its page (default: the page that was written last)"}},
    ),
    "warmup": (
        _warmup,
        "compile what training needs",
        "So that nobody waits for it later. Takes a minute, once.",
        {"norms": {"nargs": "*", "metavar": "NORM", "help": "names of norms (default l1inf)"}},
    ),
    "annotate": (
        _annotate,
        "name what is on photographs, or what rows of a table have",
        "Prints a table: picture, word, probability, its rank among the known pictures, and whether it is above the "
        "word's threshold, that of the largest F1 on known pictures. Exit status 1: some pictures were left out.",
        {
            "model": MODEL,
            "pictures": {"nargs": "+", "help": "picture files, or folders of them, or tables"},
            "--words": {
                "type": int,
                "default": 5,
                "metavar": "N",
                "help": "the N most probable words of each (default 5)",
            },
            "--precision": {
                "type": float,
                "metavar": "P",
                "help": "all words above the lowest threshold at which a fraction P of the known pictures above it "
                "have the word",
            },
            "--csv": {"metavar": "FILE", "help": "write the table into a file instead"},
            "--html": {"metavar": "FOLDER", "help": "write a page with pictures and what speaks for each word"},
            "--known": {"metavar": "FOLDER", "help": "of the pictures that the model knows: the page shows them"},
        },
    ),
    "show": (
        _show,
        "show what a kept model is",
        "Prints its words, its origin, and numbers of each word; a model in Python has all in `card_`.",
        {"model": MODEL},
    ),
    "verify": (
        _verify,
        "compare files with the checksums in a manifest",
        "Proves that tables come from the inputs that a manifest names, and that no result was changed. Notes versions "
        "that differ here.",
        {
            "manifest": {"help": "the file manifest.json; names in it are relative to the folder of the run"},
            "--against": {
                "metavar": "OTHER",
                "help": "another manifest: compare the tables of the two, read no other file",
            },
        },
    ),
}
SHOWN = ["word", "images", "test_images", "auc", "auc_low", "auc_high", "average_precision"]  # of a model's numbers
EITHER = {"--words", "--precision"}  # of which a command takes one

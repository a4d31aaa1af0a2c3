"""The command `jointsparse`, which trains a model on a folder of data, writes its page, and uses saved models."""

import argparse
import json
import re
import shlex
import signal
import subprocess
import sys
import time
import warnings
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from textwrap import fill
from types import FrameType
from typing import Any, NoReturn

from jointsparse.checks import require, require_extra
from jointsparse.messages import printable
from jointsparse.pipeline.app.disk import require_room
from jointsparse.pipeline.app.interrupt import INTERRUPTS
from jointsparse.pipeline.app.terminal import ERASE, say

PIPELINE = Path(__file__).parents[1]
INSTALLED = PIPELINE / "_workflow"  # where a wheel keeps the files from the top level of a checkout
PATIENCE_SECONDS = 10  # between telling jobs to end and killing them
WORKFLOW = INSTALLED if INSTALLED.is_dir() else PIPELINE.parents[2]

# Importing Snakemake takes seconds. The hook is set first, so that Ctrl-C prints one line during the imports, too.
SNAKEMAKE = (
    "from jointsparse.pipeline.app.interrupt import RESUME, end_interrupts_with; end_interrupts_with(RESUME + '\\n'); "
    "from snakemake.cli import main; main()"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 2 after an error, 1 if files differ or were left out, otherwise 0."""
    parser = _parser()
    given, unknown = parser.parse_known_args(arguments)
    if unknown and "options" not in given:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    format_of_warnings, warnings.formatwarning = warnings.formatwarning, _format_warning
    try:
        require(
            not unknown,
            f"jointsparse {given.command} has no option {''.join(unknown[:1])}. Write options of Snakemake after --: "
            f"jointsparse {given.command} -- {shlex.join([*unknown, *vars(given).get('options', [])])}",
        )
        with warnings.catch_warnings():
            # Pillow's warnings do not name the file. The log of the picture check does.
            warnings.filterwarnings("ignore", module=r"PIL\.")
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
        if message:  # goes through `say`, because it may contain file names with control characters
            say(message.rstrip("\n"), to=sys.stderr)
        super().exit(status)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="jointsparse",
        description="Learn to recognise the labels of photographs or tables, find wrong labels, and label new data.\n"
        "The first commands are in the order in which they are used, each with an example.",
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"jointsparse {version('jointsparse')}")
    commands = parser.add_subparsers(dest="command", required=True, title="commands", metavar="COMMAND")
    for name, (run, summary, more, arguments) in COMMANDS.items():
        added = commands.add_parser(
            name,
            help=f"{summary}\n  {EXAMPLES[name]}",
            description=fill(f"{summary[0].upper()}{summary[1:]}. {more}", COLUMNS),
            epilog=f"example:\n  {EXAMPLES[name]}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        added.set_defaults(run=run)
        either = added.add_mutually_exclusive_group() if arguments.keys() >= EITHER else added
        for argument, options in arguments.items():
            (either if argument in EITHER else added).add_argument(argument, **options)
    return parser


def _init(given: argparse.Namespace) -> int:
    from jointsparse.pipeline.app import config, estimate

    file = Path("config.yaml")
    require(
        given.add or not file.exists(),
        "this folder already has a config.yaml, and init does not overwrite it: add an entry with --add, or run init "
        "in another folder",
    )
    require(not given.add or file.is_file(), "this folder has no config.yaml to which --add could add: leave --add out")
    choices = {name: value for name, value in vars(given).items() if name in config.CHOICES}
    written = config.write(given.folder, file, WORKFLOW, choices, name=given.name, add=given.add)
    run = f"jointsparse run{f' --dataset {written.name}' * given.add}"
    done = f"Added the dataset {written.name} to" if given.add else "Wrote"
    say(*written.lines, *estimate.lines(written.work, written.n_learnable))
    say(f"{done} config.yaml. Check it, then start the training with: {run}")
    return 0


def _snakemake(given: argparse.Namespace) -> int:
    """Run the workflow of this package with Snakemake, in a separate process."""
    require_extra(f"jointsparse {given.command}", "snakemake")
    from platformdirs import user_cache_dir  # comes with Snakemake

    from jointsparse.pipeline.app.lock import release

    cores = re.fullmatch(r"all|0*[1-9]\d*", given.cores)
    require(cores, f"--cores must be a whole number of at least 1, or all, got {given.cores!r}")
    here = given.dataset or Path("config.yaml").is_file()
    require(here, "this folder has no config.yaml: write one with jointsparse init FOLDER")
    # In quotes, because a dataset named 2024 would otherwise be read as a number.
    settings = [f'dataset="{given.dataset}"'] * bool(given.dataset)
    settings += ["quick=True"] * given.quick + ["compare=True"] * given.compare
    twice = settings and any(re.match("--config(=|$)|-C", option) for option in given.options)
    require(
        not twice,
        f"--config may be given only once, and this command already sets {' '.join(settings)}: write these settings "
        "after your --config instead",
    )
    ended = given.command != "report" or any(
        run.parent.name.endswith("-quick") == given.quick
        for run in Path("results/claims").glob(f"{given.dataset or '*'}{'-quick' * given.quick}/manifest.json")
    )
    require(
        ended,
        "a report needs a finished run, and results/ has none: start one with jointsparse run"
        f"{' --quick' * given.quick}",
    )
    command = [sys.executable, "-P", "-c", SNAKEMAKE]  # -P: do not import modules from the user's folder
    options = [*(["--config"] * bool(settings)), *settings, "--snakefile", str(WORKFLOW / "Snakefile")]
    if not any(option.startswith("--workflow-profile") for option in given.options):
        options += _options_of_profile()
    options += ["--cores", given.cores, *(["--report", given.file] if given.command == "report" else [])]
    if given.quick:
        say("Quick run: uses at most 500 samples.", to=sys.stderr)
    if given.command == "run" and release():
        say("Unlocked this folder, which a killed run had left locked.", to=sys.stderr)
    logs = [folder for depth in ("*", "*/*") for folder in Path("results").glob(f"{depth}/logs")]
    require_room(Path(), Path(user_cache_dir("snakemake")), *logs)
    status = _status_of([*command, *options, *given.options])
    if given.command == "report" and not status:
        say(given.file)
    return status


def _options_of_profile() -> list[str]:
    """Return the options in the profile of the workflow. If Snakemake reads the profile, it prints a line about it."""
    import yaml  # comes with the extra that `run` needs

    text = (WORKFLOW / "profiles" / "default" / "config.yaml").read_text(encoding="utf-8")
    options = ["--workflow-profile", "none"]
    for name, value in yaml.safe_load(text).items():
        values = value if isinstance(value, list) else [] if value is True else [value]
        options += [f"--{name}", *map(str, values)]
    return options


class _Ended(BaseException):
    """Raised when this process gets a signal that tells it to end."""


def _status_of(command: Sequence[str]) -> int:
    """Run Snakemake and return its exit status. If this process is told to end, end Snakemake and its jobs.

    Ctrl-C reaches only this process: Snakemake and its jobs inherit the mask that blocks it. Otherwise each of them
    would print a traceback if it is interrupted at a bad moment.
    """
    ends = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ends = [number for number in ends if signal.getsignal(number) is not signal.SIG_IGN]  # as nohup ignores SIGHUP
    posix = hasattr(signal, "pthread_sigmask")

    def end(number: int, frame: FrameType | None) -> NoReturn:
        for other in ends:
            signal.signal(other, signal.SIG_IGN)
        raise _Ended

    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]) if posix else set()
    with subprocess.Popen(command) as process:
        for number in ends:
            signal.signal(number, end if posix else signal.SIG_IGN)
        try:
            if posix:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            return process.wait()
        except _Ended:
            return _end(process)


def _end(process: subprocess.Popen[bytes]) -> int:
    """Interrupt Snakemake, end its jobs, and return its exit status. Jobs that do not end are killed."""
    import psutil  # comes with the extra that `run` needs

    begun = time.monotonic()
    jobs = dict[psutil.Process, None]()  # parents first: a shell whose command is ended before it says "Terminated"

    def find_jobs() -> None:
        with suppress(psutil.Error):
            jobs.update(dict.fromkeys(psutil.Process(process.pid).children(recursive=True)))

    find_jobs()  # Snakemake may end before its jobs do
    process.send_signal(INTERRUPTS[-1])
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.2)
        find_jobs()
        for job in jobs:
            with suppress(psutil.Error):
                job.terminate() if time.monotonic() - begun < PATIENCE_SECONDS else job.kill()
        for ended in psutil.wait_procs(jobs, timeout=0.2)[0]:
            del jobs[ended]
        if process.returncode is not None and not jobs:
            return process.returncode


def _open(given: argparse.Namespace) -> int:
    pages = sorted(Path("results").glob("*/index.html"), key=lambda page: page.stat().st_mtime)
    of_dataset = [page for page in pages if given.dataset in (None, page.parent.name)]
    known = ", ".join(sorted(page.parent.name for page in pages)) or "none"
    require(
        of_dataset or given.dataset is None or Path("results", given.dataset).is_dir(),
        f"results/ has no page of the dataset {given.dataset!r}, only of: {known}",
    )
    page = of_dataset[-1] if of_dataset else Path("results/index.html")
    require(page.is_file(), "results/ has no page yet: make it with jointsparse run")
    say(str(page))
    webbrowser.open(page.resolve().as_uri())
    return 0


def _warmup(given: argparse.Namespace) -> int:
    from jointsparse.learning.warmup import warmup

    warmup(*given.norms)
    return 0


def _annotate(given: argparse.Namespace) -> int:
    from jointsparse.features.explain import is_of_pictures
    from jointsparse.pipeline.models import annotator, model_file
    from jointsparse.pipeline.provenance.tables import write_table

    model = model_file.load(given.model, network=given.network)
    _require_outside(given)
    precision = PRECISION_OF_SIDECARS if given.xmp and given.precision is None else given.precision
    limits: dict[str, Any] = {"n_words": LISTED if given.words is None else given.words, "precision": precision}
    of_pictures = is_of_pictures(model)
    for option in ("html", "xmp"):
        require(
            of_pictures or not getattr(given, option),
            f"--{option} works only with models of pictures, and {given.model} is a model of tables: leave it out",
        )
    require(given.xmp or not given.dry_run, "--dry-run works only with --xmp: add --xmp, or leave --dry-run out")
    if of_pictures:
        _require_network(model[0], given.model)
        paths, other = annotator.pictures_below(given.pictures)
        progress = _progress if sys.stderr.isatty() else None
        found = annotator.annotate(model, paths, **limits, progress=progress)
        table, left_out = found.table, other | found.left_out
        if given.words:
            table = table.groupby("image").head(given.words)
    else:
        table, left_out = annotator.annotate_rows(model, given.pictures, **limits), {}
    if given.csv:
        write_table(table, given.csv)
    elif not given.xmp:
        say(*(_lines_of(table) if len(table) else ["No words were assigned."]))
    not_written = (
        _write_sidecars(given, [path for path in paths if str(path) not in left_out], table) if given.xmp else 0
    )
    if given.html:
        from jointsparse.pipeline.page.annotated import write

        shown = found._replace(left_out=left_out)
        not_shown = write(given.html, model, shown, precision=precision, known=given.known)
        say(*(f"not shown: {name}: {reason}" for name, reason in not_shown.items()), to=sys.stderr)
    for name, reason in left_out.items():
        say(f"left out: {name}: {reason}", to=sys.stderr)
    return 1 if left_out or not_written else 0


def _write_sidecars(given: argparse.Namespace, pictures: Sequence[Path], table: Any) -> int:
    """Write the words that reach their thresholds into sidecars, and return the number of sidecars left out."""
    from jointsparse.pipeline.datasets.sidecars import predict

    words = dict[Path, list[str]]((path, []) for path in pictures)
    for row in table[table["above"]].itertuples():
        words[Path(row.image)].append(row.word)
    folders = [path if path.is_dir() else path.parent for path in map(Path, given.pictures)]
    return _say_changes(predict(words, folders, dry_run=given.dry_run), len(pictures), given.dry_run)


def _say_changes(update: Any, n_pictures: int, dry_run: bool) -> int:
    """Say which sidecars of pictures change, and return the number of sidecars left out."""
    for change in update.changes if dry_run else ():
        parts = (("adds", change.added), ("removes", change.removed), ("rejects", change.rejected))
        did = [f"{verb} {_counted(tags)}" for verb, tags in parts if tags]
        say(f"{change.file}: {', '.join(did) or 'confirms tags'}")
    verb = "would change" if dry_run else "changed"
    say(f"{len({change.file for change in update.changes}):,} sidecars of {n_pictures:,} pictures {verb}.")
    say(*(f"not written: {name}: {reason}" for name, reason in update.left_out.items()), to=sys.stderr)
    return len(update.left_out)


def _correct(given: argparse.Namespace) -> int:
    from jointsparse.pipeline.app.correct import correct

    options = {"dataset": given.dataset, "xmp": given.xmp, "dry_run": given.dry_run}
    done = correct(given.file, Path("config.yaml"), WORKFLOW, **options)
    changes = done.n_new + done.n_changed
    said = f"{done.n_new:,} new, {done.n_changed:,} changed, {done.n - changes:,} known already"
    say(f"{done.n:,} decision{'s' * (done.n != 1)}: {said}.")
    if done.n_unseen:
        are, shown = "is about a tag" if done.n_unseen == 1 else "are about tags", _shown(done.unseen)
        say(f"{done.n_unseen:,} decision{'s' * (done.n_unseen != 1)} {are} that no sample has yet: {shown}")
    did, would = ("Would write", "would name") if given.dry_run else ("Wrote", "names")
    if changes:
        say(f"{did} {done.file}.")
    if done.names_file:
        say(f"config.yaml {would} {done.file} in the entry of {done.dataset}, with the key corrections.")
    left_out = _say_changes(done.update, done.n_samples, given.dry_run) if done.update else 0
    if (changes or done.names_file) and not given.dry_run:
        say(f"Learn from them with: jointsparse run{done.again}")
    return 1 if left_out else 0


def _counted(tags: Sequence[str]) -> str:
    """Return the number of tags and the first few of them."""
    return f"{len(tags)} ({_shown(tags)})"


def _shown(tags: Sequence[str]) -> str:
    return ", ".join(tags[:LISTED]) + ", …" * (len(tags) > LISTED)


def _require_network(describe: Any, model: str) -> None:
    """Raise ValueError if the model describes pictures by a network whose file is not there."""
    from jointsparse.features.embedding import Embedding
    from jointsparse.features.network_files import is_built_in

    file = describe.model if isinstance(describe, Embedding) else None
    said = f"{model} needs its network, an ONNX file, got {file!r}, which is not there: name it with --network"
    require(file is None or is_built_in(file) or Path(file).is_file(), said)


def _require_outside(given: argparse.Namespace) -> None:
    """Raise ValueError if the output would overwrite an input file, or the page would lie in a folder of pictures."""
    table, page = Path(given.csv or ""), Path(given.html or "page").resolve()
    usual = table.suffix == ".csv" and (table.is_file() or not table.exists())
    usual &= table.resolve() not in [Path(file).resolve() for file in given.pictures]
    usual |= not given.csv
    require(usual, f"--csv must name a file that ends in .csv and is not one of the inputs, got {str(table)!r}")
    known = given.known is None or (given.html and Path(given.known).is_dir())
    require(known, f"--known must name an existing folder and be used together with --html, got {given.known!r}")
    inside = [folder for folder in given.pictures if given.html and page.is_relative_to(Path(folder).resolve())]
    require(not inside, f"--html must name a folder outside the pictures, got {given.html!r}, which is in {inside}")


def _progress(done: int, total: int) -> None:
    sys.stderr.write(f"{ERASE}{100 * done // total} %" if done < total else ERASE)


def _lines_of(table: Any) -> list[str]:
    """Format a table as lines of text, one line per row."""
    shown = table.map(lambda cell: printable(cell) if isinstance(cell, str) else cell)
    return str(shown.to_string(index=False, float_format="{:.3f}".format)).split("\n")


def _show(given: argparse.Namespace) -> int:
    from jointsparse.features.explain import is_of_pictures
    from jointsparse.metrics import STATISTICS
    from jointsparse.pipeline.models.model_file import load

    shown = ["word", "images", "test_images", *STATISTICS, "auc_low", "auc_high"]
    model = load(given.model)
    names = {} if is_of_pictures(model) else {"images": "samples", "test_images": "test_samples", "word": "label"}
    names |= {} if is_of_pictures(model) else {"known_images": "known_samples", "words": "labels"}
    origin = model.card_.model_dump(mode="json", exclude={"thresholds", "statistics"})
    say(*(f"{names.get(key, key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in origin.items()))
    say(*_lines_of(model.card_.table().filter(shown).rename(columns=names)))  # a file may have other statistics
    return 0


def _export(given: argparse.Namespace) -> int:
    from jointsparse.pipeline.models.model_file import load
    from jointsparse.pipeline.models.onnx_file import export

    require(given.onnx.endswith(".onnx"), f"--onnx must name a file that ends in .onnx, got {given.onnx!r}")
    export(load(given.model), given.onnx)
    say(given.onnx)
    return 0


def _verify(given: argparse.Namespace) -> int:
    from jointsparse.pipeline.provenance import manifest  # imported here, so that --version works without the extra

    checked, differences, notes = (
        manifest.compare(given.manifest, given.against) if given.against else manifest.verify(given.manifest)
    )
    same = "are the same in both manifests" if given.against else "match the manifest"
    counted = f"{checked - len(differences)} of {checked} files {same}"
    say(*(f"note: {note}" for note in notes), *differences, counted)
    return 1 if differences else 0


def _schema(given: argparse.Namespace) -> int:
    from jointsparse.pipeline.settings.schema import schema

    say(*json.dumps(schema(), indent=1, ensure_ascii=False).split("\n"))
    return 0


PRECISION_OF_SIDECARS = 0.5  # Choice: words are written into files if more of them are right than wrong
LISTED = 5  # number of words that annotate lists for a picture, and of tags for a sidecar
COLUMNS = 79  # width of the text of a help
OF_FILES = ("features", "labels", "captions")  # options of `init` that choose a file
OF_COLUMNS = (  # options of `init` that choose a column, and what the column holds
    ("caption", "captions, which are sentences"),
    ("index", "the names of the samples"),
    ("split", "the splits of the samples"),
    ("group", "the groups of samples that no split divides, such as patients"),
    ("pictures", "the names or paths of pictures"),
    ("text", "a text that the page shows"),
    ("tags", "the list of labels of each sample"),
    ("not-tags", "the list of labels that each sample is known not to have"),
    ("confidence", "1 in rows whose labels are there and 0 in rows whose labels are not"),
)
OF_VALUES = (  # options of `init` that say what values mean, and may be repeated
    ("positive", "a value of label columns that means yes"),
    ("negative", "a value of label columns that means no"),
    ("unknown", "a value of label columns, or a tag, that means that labels are unknown"),
    ("none", "a tag that means that a sample has no label"),
)
MODEL: dict[str, Any] = {"help": "the model file that a run saved: results/<dataset>/model.jointsparse"}
OF_RUN: dict[str, dict[str, Any]] = {
    "--dataset": {"metavar": "D", "help": "name of the dataset to use (default: the one that config.yaml names)"},
    "--quick": {
        "action": "store_true",
        "help": "use at most 500 samples and write to results/<dataset>-quick",
    },
    "--compare": {
        "action": "store_true",
        "help": "also compare the norms at several training set sizes, in two runs",
    },
    "--cores": {"metavar": "N", "default": "all", "help": "number of processes at a time (default: all cores)"},
    "options": {"nargs": "*", "help": "options of Snakemake, written after --, for example -- --dry-run"},
}
# For each command: its function, a summary, further sentences of its help, and its arguments.
COMMANDS: dict[str, tuple[Callable[[argparse.Namespace], int], str, str, dict[str, dict[str, Any]]]] = {
    "init": (
        _init,
        "write a config.yaml for a folder of data",
        "Looks at the files in the folder, reports what each one was taken for, and how long a run will take, and "
        "writes config.yaml into the current folder. Never overwrites a file; --add adds an entry to it.",
        {
            "folder": {
                "type": Path,
                "help": "a folder of pictures (with a file of captions, or in one folder per class), or of files with "
                "features and labels",
            },
            **{f"--{name}": {"metavar": "FILE", "help": f"the file that holds the {name}"} for name in OF_FILES},
            **{
                f"--{name}": {"metavar": "COLUMN", "help": f"the column of the labels file that holds {said}"}
                for name, said in OF_COLUMNS
            },
            "--label-columns": {
                "action": "append",
                "dest": "columns",
                "metavar": "PATTERN",
                "help": "the label columns of a table, such as 'Class*'; may be repeated",
            },
            "--separator": {"metavar": "SIGN", "help": "the string between two tags; '' if a cell is one tag"},
            **{f"--{name}": {"action": "append", "metavar": "VALUE", "help": said} for name, said in OF_VALUES},
            "--group-by": {
                "choices": ["folder", "burst"],
                "help": "which photographs no split divides: those of a folder, or those that one camera took "
                "less than three seconds apart",
            },
            "--layout": {"metavar": "NAME", "help": "the layout of the folder, if it could have several"},
            "--add": {"action": "store_true", "help": "add an entry to the config.yaml of the current folder"},
            "--name": {"metavar": "NAME", "help": "name of the entry (default: the name of the folder)"},
            "--model": {
                "metavar": "FILE",
                "help": "an ONNX file of a network that describes the pictures, instead of the built-in network",
            },
            "--visual-words": {
                "action": "store_true",
                "help": "describe the pictures by visual words, without a network",
            },
            "--ignore": {
                "action": "append",
                "metavar": "NAME",
                "help": "a file or a column to leave out; may be repeated",
            },
        },
    ),
    "run": (
        _snakemake,
        "train a model and write its page",
        "Makes only results that are missing or out of date. Rerun an interrupted run to resume it.",
        OF_RUN,
    ),
    "open": (
        _open,
        "open the page of a model in the browser",
        "Opens the list of datasets if no model was kept. Also prints the path of the page.",
        {
            "--dataset": {
                "metavar": "D",
                "help": "the dataset whose page to open (default: the page written last)",
            }
        },
    ),
    "annotate": (
        _annotate,
        "predict the labels of new photographs, or of the rows of a table",
        "Prints a table with picture, word, probability, the rank of the probability among the pictures that the model "
        "knows, and whether it reaches the threshold of the word, which maximises F1 on these pictures. The exit "
        "status is 1 if some inputs were left out.",
        {
            "model": MODEL,
            "pictures": {"nargs": "+", "help": "picture files, folders of pictures, or tables of features"},
            "--words": {
                "type": int,
                "metavar": "N",
                "help": f"list the N most probable words of each picture (default: {LISTED}; with --xmp all that reach "
                "their thresholds)",
            },
            "--precision": {
                "type": float,
                "metavar": "P",
                "help": "list the words that reach the lowest threshold with a precision of at least P on the pictures "
                "that the model knows",
            },
            "--csv": {"metavar": "FILE", "help": "write the table into this file instead of printing it"},
            "--html": {
                "metavar": "FOLDER",
                "help": "write a page into this folder that shows the pictures, with maps of the evidence for each "
                "word; it also lists less probable words",
            },
            "--xmp": {
                "action": "store_true",
                "help": "write the words that reach a threshold with a precision of at least P into .xmp files beside "
                f"the pictures (default: {PRECISION_OF_SIDECARS}), in place of words that an earlier annotation wrote "
                "and nobody has confirmed",
            },
            "--dry-run": {
                "action": "store_true",
                "help": "with --xmp, say what would change in each sidecar, and write nothing",
            },
            "--network": {
                "metavar": "FILE",
                "help": "the ONNX file of the network that describes the pictures, if not built in or beside the model",
            },
            "--known": {
                "metavar": "FOLDER",
                "help": "folder of the pictures that the model was fitted on, which the page then shows for comparison",
            },
        },
    ),
    "correct": (
        _correct,
        "add decisions about labels, which the next run learns from",
        "Adds the decisions in a table, such as the corrections.csv that the page saves, to the corrections of a "
        "dataset, and names these in config.yaml. The table has the columns sample, tag and has, which is yes or no.",
        {
            "file": {"type": Path, "help": "the table of decisions"},
            "--dataset": OF_RUN["--dataset"],
            "--xmp": {
                "action": "store_true",
                "help": "also write the decisions into .xmp files beside the photographs",
            },
            "--dry-run": {"action": "store_true", "help": "say what would change, and write nothing"},
        },
    ),
    "report": (
        _snakemake,
        "write Snakemake's report of a run",
        "The report is one HTML file with the settings, tables and figures.",
        OF_RUN | {"--file": {"default": "report.html", "help": "the file to write (default: report.html)"}},
    ),
    "verify": (
        _verify,
        "compare files with the checksums in a manifest",
        "Checks that the inputs of a run and its tables are the files that the manifest recorded, and lists installed "
        "versions that differ.",
        {
            "manifest": {"help": "the file manifest.json; the paths in it are relative to the folder of the run"},
            "--against": {
                "metavar": "OTHER",
                "help": "compare the tables of two manifests with each other, without reading any other file",
            },
        },
    ),
    "show": (
        _show,
        "show the description of a saved model",
        "Prints the words of the model, its origin, and the test scores of each word. In Python, the attribute "
        "`card_` of the model holds all of them.",
        {"model": MODEL},
    ),
    "export": (
        _export,
        "write a saved model of tables as an ONNX file",
        "The input of the ONNX file is a matrix of doubles with the features of each row, in the order of the training "
        "data, and its output is a matrix with the probability of each label. Models of pictures cannot be exported.",
        {
            "model": MODEL,
            "--onnx": {"metavar": "FILE", "required": True, "help": "the file to write; an existing file is replaced"},
        },
    ),
    "schema": (
        _schema,
        "print the JSON Schema of config.yaml",
        "Editors complete and check a config.yaml by it. The file that init writes names it already.",
        {},
    ),
    "warmup": (
        _warmup,
        "compile the code that training uses",
        "Later runs then start without waiting for the compiler. Takes about a minute, once.",
        {"norms": {"nargs": "*", "metavar": "NORM", "help": "names of norms (default: l1inf)"}},
    ),
}
EXAMPLES = {  # of each command
    "init": "jointsparse init ~/photos",
    "run": "jointsparse run",
    "open": "jointsparse open",
    "annotate": "jointsparse annotate results/photos/model.jointsparse NEW --html page",
    "correct": "jointsparse correct corrections.csv",
    "report": "jointsparse report --file report.html",
    "verify": "jointsparse verify results/claims/photos/manifest.json",
    "show": "jointsparse show results/photos/model.jointsparse",
    "export": "jointsparse export results/table/model.jointsparse --onnx table.onnx",
    "schema": "jointsparse schema > schema.json",
    "warmup": "jointsparse warmup",
}
EITHER = {"--words", "--precision"}  # mutually exclusive options

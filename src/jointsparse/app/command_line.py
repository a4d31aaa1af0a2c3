"""The command `jointsparse`: annotate pictures with a kept model, show what a model is, verify results."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from jointsparse.app.terminal import ERASE
from jointsparse.checks import printable, require


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns its exit status: 2 for an error, 1 if something differs or is left out, else 0."""
    given = _parser().parse_args(arguments)
    try:
        status: int = given.run(given)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="jointsparse", description="Jointly sparse multi-task learning.")
    parser.add_argument("--version", action="version", version=f"jointsparse {version('jointsparse')}")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(run: Callable[[argparse.Namespace], int], summary: str, more: str) -> argparse.ArgumentParser:
        name = run.__name__.removeprefix("_")
        added = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}. {more}")
        added.set_defaults(run=run)
        return added

    annotate = command(
        _annotate,
        "name what is on photographs",
        "Prints a table: picture, word, probability, its rank among the known pictures, and whether it is above the "
        "word's threshold, that of the largest F1 on known pictures. Exit status 1: some pictures were left out.",
    )
    annotate.add_argument("model", help="a file that a run has kept: results/<dataset>/model.skops")
    annotate.add_argument("pictures", nargs="+", help="picture files, or folders of them")
    which = annotate.add_mutually_exclusive_group()
    which.add_argument(
        "--words", type=int, default=5, metavar="N", help="the N most probable words of each (default 5)"
    )
    which.add_argument(
        "--precision",
        type=float,
        metavar="P",
        help="all words above the lowest threshold at which a fraction P of the known pictures above it have the word",
    )
    annotate.add_argument("--csv", metavar="FILE", help="write the table into a file instead")
    annotate.add_argument("--html", metavar="FOLDER", help="write a page with pictures and what speaks for each word")
    annotate.add_argument("--known", metavar="FOLDER", help="of the pictures that the model knows: the page shows them")
    show = command(_show, "show what a kept model is", "Prints its words, numbers and origin as JSON.")
    show.add_argument("model", help="a file that a run has kept: results/<dataset>/model.skops")
    verify = command(
        _verify,
        "compare files with the checksums in a manifest",
        "Proves that tables come from the inputs that a manifest names, and that no result was changed. Notes versions "
        "that differ here.",
    )
    verify.add_argument("manifest", help="the file manifest.json; names in it are relative to the folder of the run")
    verify.add_argument(
        "--against", metavar="OTHER", help="another manifest: compare the tables of the two, read no other file"
    )
    return parser


def _annotate(given: argparse.Namespace) -> int:
    from jointsparse.kept import annotator, file
    from jointsparse.provenance.tables import write_table

    model = file.load(given.model)
    _require_outside(given)
    paths, other = annotator.pictures_below(given.pictures)
    found = annotator.annotate(
        model,
        paths,
        n_words=given.words,
        precision=given.precision,
        progress=_progress if sys.stderr.isatty() else None,
    )
    table, left_out = found.table, other | found.left_out
    if given.csv:
        write_table(table, given.csv)
    else:
        shown = table.assign(image=table["image"].map(printable))
        print(shown.to_string(index=False, float_format="{:.3f}".format) if len(table) else "no words")
    if given.html:
        from jointsparse.explorer.annotated import write

        write(given.html, model, found._replace(left_out=left_out), given.known)
    for name, reason in left_out.items():
        print(f"left out: {printable(name)}: {printable(reason)}", file=sys.stderr)
    return 1 if left_out else 0


def _require_outside(given: argparse.Namespace) -> None:
    """Raise ValueError where results would be written over pictures, or over what is no file or folder of results."""
    table, page = Path(given.csv or "table.csv"), Path(given.html or "page").resolve()
    usual = table.suffix == ".csv" and (table.is_file() or not table.exists())
    require(usual, f"--csv must name a file that ends with .csv, got {str(table)!r}")
    known = given.known is None or (given.html and Path(given.known).is_dir())
    require(known, f"--known must name a folder, for the page of --html, got {given.known!r}")
    inside = [folder for folder in given.pictures if given.html and page.is_relative_to(Path(folder).resolve())]
    require(not inside, f"--html must name a folder outside of the pictures, got {given.html!r} in {inside}")


def _progress(done: int, total: int) -> None:
    sys.stderr.write(f"{ERASE}{100 * done // total} %" if done < total else ERASE)


def _show(given: argparse.Namespace) -> int:
    from jointsparse.kept.file import load

    model = load(given.model)
    card = getattr(model, "card_", {"model": repr(model)})
    print(json.dumps(card, indent=1, ensure_ascii=False))
    return 0


def _verify(given: argparse.Namespace) -> int:
    from jointsparse.provenance import manifest  # needs the extra "pipeline", which --version does not

    checked, differences, notes = (
        manifest.compare(given.manifest, given.against) if given.against else manifest.verify(given.manifest)
    )
    same = "the same in both" if given.against else "as recorded"
    counted = f"{checked - len(differences)} of {checked} files {same}"
    print(*(f"note: {note}" for note in notes), *differences, counted, sep="\n")
    return 1 if differences else 0

"""The command `python -m jointsparse verify MANIFEST`: compare results with their manifest."""

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns its exit status: 1 if something differs, 2 if there is no manifest, else 0."""
    parser = argparse.ArgumentParser(prog="python -m jointsparse", description="Jointly sparse multi-task learning.")
    parser.add_argument("--version", action="version", version=f"jointsparse {version('jointsparse')}")
    verify = parser.add_subparsers(dest="command", required=True).add_parser(
        "verify",
        help="compare files with the checksums in a manifest",
        description="Prove that tables come from the inputs that a manifest names, and that no result was changed. "
        "Note versions that differ here.",
    )
    verify.add_argument("manifest", help="the file manifest.json; names in it are relative to the folder of the run")
    verify.add_argument(
        "--against", metavar="OTHER", help="another manifest: compare the tables of the two, read no other file"
    )
    given = parser.parse_args(arguments)
    from jointsparse.provenance import manifest  # needs the extra "pipeline", which --version does not

    try:
        checked, differences, notes = (
            manifest.compare(given.manifest, given.against) if given.against else manifest.verify(given.manifest)
        )
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    same = "the same in both" if given.against else "as recorded"
    counted = f"{checked - len(differences)} of {checked} files {same}"
    print(*(f"note: {note}" for note in notes), *differences, counted, sep="\n")
    return 1 if differences else 0

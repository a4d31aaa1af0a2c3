"""Draw every figure of the catalogue, from published tables, to look at, and describe them for the tests.

    python trials/figures.py FOLDER

Writes a picture of each figure into FOLDER, and tests/pipeline/figures.txt, with which the tests compare. Look at the
pictures whose part of this file has changed before you commit it.
"""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "pipeline")]

from drawings import FILE, described, drawn  # noqa: E402

from jointsparse.pipeline.papers import catalogue  # noqa: E402

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name in catalogue.FIGURES:
    drawn(name).savefig(folder / f"{name}.png", dpi=100)
FILE.write_text("\n\n".join(f"# {name}\n{described(drawn(name))}" for name in catalogue.FIGURES) + "\n")
